package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet"
	"freshet/estimate"
	"freshet/lab"
)

// A labPeriod is the part of a trace that a verb looks at, and how finely.
type labPeriod struct {
	start, end momentFlag
	instant    time.Duration
}

func (l *labPeriod) register(set *pflag.FlagSet) {
	l.instant = time.Minute
	set.Var((*lengthFlag)(&l.instant), "instant", "how finely time is cut; changes of a page in one instant count as one")
	set.Var(&l.start, "start", "begin here: RFC 3339 or Unix seconds (default: the first change, aligned to the instant)")
	set.Var(&l.end, "end", "end here (default: the last change, aligned to the instant)")
}

// grid reads a trace and lays it on the instants of the period.
func (l *labPeriod) grid(trace string) (*lab.Grid, error) {
	h, err := lab.OpenHistory(trace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, freshet.WithHint(err, "freshet lab gen writes a trace to try things with")
	case err != nil:
		return nil, err
	}
	if l.instant <= 0 {
		return nil, usagef("--instant: it takes a length of time above 0")
	}
	g, err := h.Quantise(lab.Period{Start: l.start.Time, End: l.end.Time, Instant: l.instant})
	if field, ok := freshet.FieldOf(err); ok && field == "trace" {
		return nil, freshet.WithHint(fmt.Errorf("%s: %w", trace, freshet.ReasonOf(err)), freshet.HintOf(err))
	}
	return g, flagFault(err)
}

// flagFault turns an error about a field into one about the flag of that name.
func flagFault(err error) error {
	field, ok := freshet.FieldOf(err)
	if !ok {
		return err
	}
	wrong := wrongFlag(strings.ReplaceAll(field, " ", "-"), freshet.ReasonOf(err))
	if hint := freshet.HintOf(err); hint != "" {
		return freshet.WithHint(wrong, hint)
	}
	return wrong
}

// A labStakes says what captures are worth.
type labStakes struct {
	life    lifeFlag
	urgency urgencyFlag
	weights string // file
}

func (l *labStakes) register(set *pflag.FlagSet) {
	set.Var(&l.life, "life", "how long a change can be captured: overwrite, append, window:10m or last:5; a number without a unit counts instants")
	set.Var(&l.urgency, "urgency", "how its worth falls with the delay: uniform, exp:0.9/1m, half-life:1h, window:10m, poly:A, polyexp:K,L, chordal:10m or table:1,...; without a unit time counts in instants")
	set.StringVar(&l.weights, "weights", "", "file with the importance of pages: CSV with the header page,weight; other pages have 1")
}

// on returns the stakes on a grid.
func (l *labStakes) on(g *lab.Grid) (lab.Stakes, error) {
	var k lab.Stakes
	var wrongLife, wrongUrgency error
	k.Life, wrongLife = l.life.in(g.Instant)
	k.Urgency, wrongUrgency = l.urgency.in(g.Instant)
	if err := errors.Join(wrongLife, wrongUrgency); err != nil || l.weights == "" {
		return k, flagFault(err)
	}
	weights, err := lab.ReadWeights(l.weights, g)
	if err != nil {
		return k, err
	}
	k.Adjust = func(page int, s *freshet.Source) { s.Weight = weights[page] }
	return k, nil
}

// A labSetting is what the verbs that replay a trace have in common.
type labSetting struct {
	labPeriod
	labStakes
	labConditions
	estimate estimateFlag
	evidence evidenceFlag
	seed     uint64
	scale    bool
	limit    bool
}

func (l *labSetting) register(set *pflag.FlagSet) {
	l.labPeriod.register(set)
	l.labStakes.register(set)
	l.labConditions.register(set)
	l.estimate.Spec = estimate.Spec{Name: "poisson"}
	set.Var(&l.estimate, "estimate", "who tells wic, price and cam how likely changes are: "+strings.Join(estimate.Names, ", "))
	set.Var(&l.evidence, "evidence", "what a poll shows: bits (whether the page has changed), or dated (also when it last did)")
	set.Uint64Var(&l.seed, "seed", 1, "of what is drawn by chance; the same seed gives the same result")
	set.BoolVar(&l.scale, "scale", false, "fit the intervals of fixed, miniflux, nutch and stormcrawler to the instant")
}

// estimateHelp is for the verbs that replay.
const estimateHelp = `The policies wic, price and cam ask an estimator how likely changes are. Of these
"poisson", the default, learns from the outcomes of polls alone, as a daemon
must. The others are for experiments: "exact" reads the trace itself,
"noisy:FPN,SIGMA" reads it with the share FPN of the changes misplaced and each
spread over SIGMA instants, and "constant:P" takes all pages for alike.
`

// evidenceHelp is for the same.
const evidenceHelp = `
A poll shows whether the page has changed since it was last seen: bits. With
--evidence dated it also shows when the page last changed, as Last-Modified or
the newest item of a feed does: the middle of the instant of the latest change, or
the date of the last one before the start if the trace reaches back so far.
`

// openTrace reads a trace.
func openTrace(file string, l *labPeriod, k *labStakes) (*lab.Case, error) {
	g, err := l.grid(file)
	if err != nil {
		return nil, err
	}
	stakes, err := k.on(g)
	if err != nil {
		return nil, err
	}
	return lab.NewCase(file, g, stakes), nil
}

// terms returns how trials are made.
func (l *labSetting) terms() (lab.Terms, error) {
	met, err := l.conditions(l.seed)
	return lab.Terms{Estimate: l.estimate.Spec, Evidence: l.evidence.Evidence, Seed: l.seed, Scale: l.scale, Conditions: met}, err
}
