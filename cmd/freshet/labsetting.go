package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/learn/estimate"
	"freshet/internal/learn/outlook"
)

// A labMeasures says what is measured beside what is always measured.
type labMeasures struct {
	divergence string // "changes", or a file of values
	relative   bool
	age        ageFlag
}

func (l *labMeasures) register(set *pflag.FlagSet) {
	set.StringVar(&l.divergence, "divergence", "", `measure how far copies are from their pages: "changes" counts the changes they lack, and a CSV file with the header page,time,value has the values of pages`)
	set.BoolVar(&l.relative, "relative", false, "with --divergence and a file: differences as a share of the larger value")
	set.Var(&l.age, "age", "count the age of a stale copy from the first change that it lacks, or from the last: first or last")
}

// on returns the measures on a grid.
func (l *labMeasures) on(g *lab.Grid) (m lab.Measures, err error) {
	m.Age = lab.Age(l.age)
	switch l.divergence {
	case "":
	case "changes":
		m.Divergence = lab.ChangesBehind
	default:
		differ := outlook.Absolute
		if l.relative {
			differ = outlook.Relative
		}
		m.Divergence, err = lab.ReadValues(l.divergence, g, differ)
	}
	return m, err
}

// An ageFlag says from which change the age of a copy is counted.
type ageFlag lab.Age

var ageNames = []string{lab.AgeFirst: "first", lab.AgeLast: "last"}

// String returns the flag as it is written.
func (a *ageFlag) String() string { return ageNames[*a] }

// Type returns what the flag takes, for its help.
func (a *ageFlag) Type() string { return "CHANGE" }

// Set reads the flag.
func (a *ageFlag) Set(v string) error {
	i := slices.Index(ageNames, v)
	if i < 0 {
		return fmt.Errorf("%q is neither first nor last", v)
	}
	*a = ageFlag(i)
	return nil
}

// A labSetting is what the verbs that replay a trace have in common.
type labSetting struct {
	labflag.Period
	labflag.Weights
	labMeasures
	labConditions
	estimate estimateFlag
	evidence labflag.Evidence
	seed     uint64
	scale    bool
	limit    bool
}

func (l *labSetting) register(set *pflag.FlagSet) {
	l.Period.Register(set)
	l.Weights.Register(set)
	l.labMeasures.register(set)
	l.labConditions.register(set)
	l.estimate.Spec = estimate.Spec{Name: estimate.Forecast}
	set.Var(&l.estimate, "estimate", "how wic estimates changes: "+strings.Join(estimate.Names, ", "))
	set.Var(&l.evidence, "evidence", "what a poll shows: bits (whether the page changed), dated (also when), feed:N (when, the last N times), or index[:N][,every=1h] (one poll shows a whole site)")
	set.Uint64Var(&l.seed, "seed", 1, "random seed; the same seed gives the same result")
	set.BoolVar(&l.scale, "scale", false, "scale the intervals of fixed to the instant")
}

// estimateHelp is for the verbs that replay.
const estimateHelp = `The policy wic uses an estimator of how likely changes are. The default, "forecast",
is what a daemon has: it learns from the results of polls how often each page changes
and at which hours and minutes. "poisson" learns a rate for each page and no more. The others are for experiments: "exact" reads the trace itself,
"noisy:FPN,SIGMA" reads it with the share FPN of the changes misplaced and each spread
over SIGMA instants, and "constant:P" treats all pages the same.
`

// evidenceHelp is for the same.
const evidenceHelp = `
A poll shows only whether the page changed since the last poll (--evidence bits).
With --evidence dated it also shows when the page last changed, like a
Last-Modified header or the newest item of a feed. With --evidence feed:5 it shows
the last five times that the page changed, like the items of a feed (at most 8).

With --evidence index each site has an index, such as a sitemap: one more source,
and a poll of it shows when each page of the site last changed. Those polls come out
of the budget, capture nothing, and are not scored. With index:20 the index shows only
the 20 pages that changed last, like a feed. The site of a page is the part of its
name before the first slash; pages without a slash are one site together. Only auto
uses indexes, and decides when to poll them; the other policies never see them. With
index,every=1h each index is polled every hour instead, as far as the budget goes.
`

// openTrace reads a trace.
func (l *labSetting) openTrace(file string) (*lab.Case, error) {
	c, err := labflag.OpenCase(file, &l.Period, &l.Weights)
	if err != nil {
		return nil, err
	}
	c.Measures, err = l.labMeasures.on(c.Grid)
	return c, err
}

// terms returns how trials are made.
func (l *labSetting) terms() (lab.Terms, error) {
	met, err := l.conditions(l.seed)
	return lab.Terms{Estimate: l.estimate.Spec, Evidence: l.evidence.Evidence, Seed: l.seed, Scale: l.scale, Conditions: met}, err
}
