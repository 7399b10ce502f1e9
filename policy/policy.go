package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet"
)

// Default is the policy that is used where none is named.
const Default = "auto"

// Names lists the policies that New knows.
var Names = []string{
	"auto", "uniform", "round-robin",
	"wic", "price", "cam",
	"yardstick",
	"cyclic",
	"frequency", "freshness", "age",
	"sample-greedy", "sample-proportional", "sample-adaptive", "sample-subset",
	"fixed", "miniflux", "nutch", "stormcrawler",
}

// Learns reports whether a policy's choices rest on what earlier polls found,
// so that after a restart it wants to be told of them again.
func Learns(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	return base != "uniform" && base != "round-robin"
}

// A Setting is what a policy may want to know of the place where it works. The
// zero Setting will do for all of them. [InDaemon] returns that of the daemon.
type Setting struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // how long an instant is; zero means each policy's own default
	Polls   float64       // budget an instant; zero means to be found out
	Sources int           // about how many there are; zero means not known

	// Tick is how finely the learner sees time. Zero means what [learn.TickFor]
	// says, and then auto ranks the sources at every instant; otherwise it does
	// so at every tick.
	Tick time.Duration

	// Estimator says how likely sources are to change, to wic, price and cam. Nil
	// means that all are taken for alike.
	Estimator freshet.Estimator

	// Scale fits the intervals of fixed, miniflux, nutch and stormcrawler to
	// the instant, as if it were the product's smallest interval.
	Scale bool

	Seed uint64 // of what is drawn by chance
}

// New returns the policy called name. What is particular to a policy follows a
// colon, as in "sample-greedy:samples=10,share=0.3".
func New(name string, at Setting) (freshet.Policy, error) {
	base, args, _ := strings.Cut(name, ":")
	o, err := readOptions(args)
	if err != nil {
		return nil, err
	}
	p := build(base, at, o)
	if p == nil {
		return nil, &freshet.InvalidError{
			Field:  "policy",
			Reason: fmt.Sprintf("there is no policy %q; there are %s", base, strings.Join(Names, ", ")),
		}
	}
	if err := o.finish(base); err != nil {
		return nil, err
	}
	return p, nil
}

// build returns the policy called name, or nil if there is none.
func build(name string, at Setting, o *options) freshet.Policy {
	switch name {
	case "uniform":
		return &Uniform{}
	case "round-robin":
		return &RoundRobin{}
	case "auto":
		return NewAuto(AutoConfig{
			Start: at.Start, Instant: at.Instant, Tick: at.tick(), Rank: cmp.Or(at.Tick, at.Instant), Polls: at.Polls,
			Jitter: o.number("jitter", 0), Seed: at.Seed,
		})
	case "wic":
		return NewWIC(WICConfig{Start: at.Start, Instant: at.Instant, Estimator: at.Estimator})
	case "price":
		return NewPriced(PricedConfig{
			Start: at.Start, Instant: at.Instant, Polls: at.Polls, Estimator: at.Estimator,
			Horizon: o.count("horizon", 0), Patience: o.number("patience", 0),
		})
	case "cam":
		return NewCAM(CAMConfig{
			Start: at.Start, Instant: at.Instant, Polls: at.Polls, Estimator: at.Estimator,
			Epoch: o.count("epoch", 0), Slip: o.count("slip", 0),
		})
	case "yardstick":
		return NewYardstick(YardstickConfig{Start: at.Start, Instant: at.Instant, Polls: at.Polls})
	case "cyclic":
		return NewCyclic(cyclicConfig(at, o))
	case "frequency", "freshness", "age":
		goal := []Objective{Recall, Freshness, Age}[slices.Index([]string{"frequency", "freshness", "age"}, name)]
		return NewFrequency(FrequencyConfig{Objective: goal, Instant: at.Instant, Rate: at.Polls, Floor: o.number("floor", 0), Memory: o.number("memory", 0)})
	case "sample-greedy", "sample-proportional", "sample-adaptive", "sample-subset":
		return NewSampling(samplingConfig(name, at, o))
	case "fixed", "miniflux", "nutch", "stormcrawler":
		return buildRevisit(name, at, o)
	}
	return nil
}

func cyclicConfig(at Setting, o *options) CyclicConfig {
	c := CyclicConfig{
		Start: at.Start, Instant: at.Instant, Polls: at.Polls,
		Method:  Method(o.choice("method", string(Optimal), string(Modeled), string(Even), string(BestPhase))),
		Explore: o.number("explore", 0), Memory: o.count("memory", 0),
	}
	if period := o.length("period"); period > 0 {
		c.Periods = []time.Duration{period}
	}
	return c
}

func samplingConfig(name string, at Setting, o *options) SamplingConfig {
	group := SiteOf
	if o.choice("group", "site", "directory") == "directory" {
		group = DirectoryOf
	}
	c := SamplingConfig{
		Group: group,
		Start: at.Start, Instant: at.Instant, Seed: at.Seed,
		Downloads: o.count("downloads", 0), Cycle: o.length("cycle"),
		Samples: o.count("samples", 0), Step: o.count("step", 0), Alpha: o.number("alpha", 0),
		SampleCost: o.number("cost", 0), High: o.number("high", 0), RoundRobin: o.number("share", 0),
	}
	switch name {
	case "sample-proportional":
		c.Method = SampleProportional
	case "sample-adaptive":
		c.Method = SampleAdaptive
	case "sample-subset":
		if c.High == 0 {
			c.High = 0.18 // the share of pages that change nearly always, as Cho and Ntoulas found it
		}
	}
	return c
}

func buildRevisit(name string, at Setting, o *options) freshet.Policy {
	c := RevisitConfig{Initial: o.length("initial"), Min: o.length("min"), Max: o.length("max"), Seed: at.Seed}
	if at.Scale {
		c.Instant = at.Instant
	}
	switch name {
	case "miniflux":
		return NewMiniflux(c)
	case "nutch":
		return NewNutch(c)
	case "stormcrawler":
		return NewStormCrawler(c)
	}
	if every := o.length("every"); every > 0 {
		c.Initial, c.Min, c.Max = every, every, every
	}
	return NewFixed(c)
}
