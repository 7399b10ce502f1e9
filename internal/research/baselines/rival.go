// Package baselines has the rules that ours are measured against and that only
// experiments poll by: those of other crawlers (miniflux, nutch, stormcrawler),
// cam of the WIC paper, those of
// the literature on crawling since (azar, lambdacrawl, explore-commit, avrachenkov,
// ncis), and yardstick, the simplest rule that learns. The daemon does not offer them.
package baselines

import (
	"fmt"
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/sched/policy"
)

// Names returns the rules that New knows: the daemon's policies, and the rivals.
func Names() []string { return slices.Concat(policy.Names, policy.Experimental) }

// New returns the rule called name, which is a rival or one of the daemon's
// policies. What is particular to a rule follows a colon, as in "cam:slip=3".
func New(name string, at policy.Setting) (freshet.Policy, error) {
	base, args, _ := strings.Cut(name, ":")
	switch {
	case slices.Contains(policy.Names, base):
		return policy.New(name, at)
	case !slices.Contains(policy.Experimental, base):
		return nil, &invalid.Error{
			Field:  "policy",
			Reason: fmt.Sprintf("unknown policy %q; use one of %s", base, strings.Join(Names(), ", ")),
		}
	}
	o, err := policy.ReadOptions(args)
	if err != nil {
		return nil, err
	}
	p := build(base, at, o)
	if err := o.Finish(base); err != nil {
		return nil, err
	}
	return p, nil
}

// build returns the rival called name.
func build(name string, at policy.Setting, o *policy.Options) freshet.Policy {
	switch name {
	case "cam":
		return NewCAM(CAMConfig{
			Start: at.Start, Instant: at.Instant, Polls: at.Polls, Estimator: at.Estimator,
			Epoch: o.Count("epoch", 0), Slip: o.Count("slip", 0),
		})
	case "yardstick":
		return NewYardstick(YardstickConfig{Start: at.Start, Instant: at.Instant, Polls: at.Polls})
	case "miniflux":
		return NewMiniflux(at.Revisit(o))
	case "nutch":
		return NewNutch(at.Revisit(o))
	case "azar", "lambdacrawl", "explore-commit", "avrachenkov":
		return newRefresher(schemeOf(name), at, o)
	case "ncis":
		return newNoisy(at, o)
	}
	return NewStormCrawler(at.Revisit(o))
}

// evenChance is the chance of a change in an instant where no estimator says
// otherwise. Only that it is the same for all matters.
const evenChance = 1.0 / 64
