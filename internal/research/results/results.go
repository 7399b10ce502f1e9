// Package results holds policies against each other on a folder of recordings, and
// writes the page of it.
package results

import (
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// A Contender is a policy that takes part in a comparison, and what its polls
// show it.
type Contender struct {
	Name           string       `json:"name"`   // in tables
	Policy         string       `json:"policy"` // with its options
	Evidence       lab.Evidence `json:"-"`
	lab.Conditions `json:"-"`

	// Reseeded is the policy to run again with other seeds, to see how much of
	// a score is luck; "" if nothing about it is drawn by chance.
	Reseeded string `json:"-"`
}

// onEqualTerms reports whether a contender sees and meets what most do, so that
// it can be called the best of them.
func (c Contender) onEqualTerms() bool { return c.Evidence == lab.Evidence{} && !c.Continuous }

// rivals are the policies that are compared where none are named, as far as
// there are such policies. The first is the one that the others are held
// against.
var rivals = [...]string{
	"auto", "uniform", "round-robin", "wic", "yardstick", "miniflux", "nutch", "stormcrawler", "cyclic", "frequency",
}

// Contenders returns who takes part under these names, which may have options;
// all rivals without any.
func Contenders(names ...string) ([]Contender, error) {
	if len(names) == 0 {
		for _, name := range rivals {
			if slices.Contains(baselines.Names(), name) {
				names = append(names, name)
			}
		}
	}
	var list []Contender
	for _, name := range names {
		if _, err := baselines.New(name, policy.Setting{}); err != nil {
			return nil, err
		}
		list = append(list, Contender{Name: name, Policy: name, Reseeded: reseeded(name)})
	}
	return list, nil
}

// reseeded returns a policy as it is run again with other seeds, or "". What
// decides without chance is asked to decide a little at random where it can.
func reseeded(name string) string {
	base, options, _ := strings.Cut(name, ":")
	if base == "fixed" || strings.HasPrefix(base, "sample-") {
		return name
	}
	loose := name + ":jitter=0.01"
	if options != "" {
		loose = name + ",jitter=0.01"
	}
	if _, err := baselines.New(loose, policy.Setting{}); err != nil {
		return ""
	}
	return loose
}

// start returns a new policy for a replay of some pages of a grid, as all contenders
// have it: with the chances that the learner forecasts, and intervals that fit the
// instant.
func start(c lab.Conditions, name string, g *lab.Grid, pages int, budget float64, seed uint64) (freshet.Policy, error) {
	at := c.Setting(name, g, pages, budget)
	at.Estimator, at.Scale, at.Seed = learn.New(at.Learning()), true, seed
	return baselines.New(name, at)
}

// A Result is one setting, and how everybody did in it.
type Result struct {
	Trace   string  `json:"trace"`
	Instant float64 `json:"instant_seconds"`
	Start   string  `json:"start"`
	End     string  `json:"end"`
	Pages   int     `json:"pages"`
	Changes int     `json:"changes"`
	Life    string  `json:"life"`
	Urgency string  `json:"urgency"`
	Budget  float64 `json:"budget"`          // polls an instant
	Half    bool    `json:"half,omitempty"`  // only one half of the pages
	Share   float64 `json:"share,omitempty"` // that the budget was chosen for; 0 if it was given
	Limit   float64 `json:"limit"`           // utility that was possible, of all changes
	Exact   bool    `json:"limit_exact"`     // and not only an upper bound of it
	Feats   []Feat  `json:"results"`         // in the order of the contenders
}

// A Feat is what a contender did in one setting.
type Feat struct {
	Contender
	Evidence string    `json:"evidence"`
	Recall   float64   `json:"recall"`
	Utility  float64   `json:"utility_normalized"`
	OfLimit  float64   `json:"utility_of_limit"`
	Fresh    float64   `json:"freshness"`        // share of the time that copies were up to date
	Age      float64   `json:"age_seconds"`      // of copies, from the first change that they lacked
	Reruns   []float64 `json:"reruns,omitempty"` // utility with other seeds
}

// Results are the settings of a comparison, in parts.
type Results struct {
	Contenders []Contender `json:"-"`
	Informed   []Contender `json:"-"` // who took part in the reference settings once more, with other evidence
	Daemon     []Contender `json:"-"` // likewise, as the daemon runs
	Missing    []string    `json:"missing,omitempty"`

	Reference []Result `json:"reference"`         // at the budgets of the recordings
	Shares    []Result `json:"shares,omitempty"`  // at budgets that let the limit capture certain shares
	Decayed   []Result `json:"decayed,omitempty"` // at the same budgets, where changes stay and lose their worth

	Literature        []Result `json:"literature,omitempty"`          // the reference settings, by what the literature proposes
	LiteratureHeldOut []Result `json:"literature_held_out,omitempty"` // likewise, the held-out settings

	HeldOut        []Result `json:"held_out,omitempty"`         // other settings of the recordings
	HeldOutDecayed []Result `json:"held_out_decayed,omitempty"` // likewise, where changes stay and lose their worth
}

// MeanOfLimit returns the mean over settings of what a contender had of the
// limit.
func MeanOfLimit(list []Result, contender string) float64 {
	sum, n := 0.0, 0.0
	for _, r := range list {
		if f, ok := r.of(contender); ok {
			sum, n = sum+f.OfLimit, n+1
		}
	}
	return lab.Ratio(sum, n, 0)
}

// meanFresh returns the mean over settings of how fresh the copies of a contender were.
func meanFresh(list []Result, contender string) (mean float64) {
	for _, r := range list {
		f, _ := r.of(contender)
		mean += f.Fresh / float64(len(list))
	}
	return mean
}

// of returns what a contender did.
func (r *Result) of(contender string) (Feat, bool) {
	i := slices.IndexFunc(r.Feats, func(f Feat) bool { return f.Name == contender })
	if i < 0 {
		return Feat{}, false
	}
	return r.Feats[i], true
}

// AtShare returns the settings whose budget was chosen for a share.
func AtShare(list []Result, share float64) (some []Result) {
	for _, r := range list {
		if r.Share == share {
			some = append(some, r)
		}
	}
	return some
}
