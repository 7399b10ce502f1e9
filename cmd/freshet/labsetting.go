package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet"
	"freshet/estimate"
	"freshet/lab"
	"freshet/policy"
	"freshet/rival"
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
	if field, ok := invalidField(err); ok && field == "trace" {
		return nil, freshet.WithHint(fmt.Errorf("%s: %w", trace, reason(err)), freshet.HintOf(err))
	}
	return g, flagFault(err)
}

// flagFault turns an error about a field into one about the flag of that name.
func flagFault(err error) error {
	field, ok := invalidField(err)
	if !ok {
		return err
	}
	wrong := wrongFlag(strings.ReplaceAll(field, " ", "-"), reason(err))
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
	set.Var(&l.life, "life", "how long a change can be captured: overwrite, append, window:W or last:Z")
	set.Var(&l.urgency, "urgency", "how its worth falls with the delay: uniform, exp:R, window:W, poly:A, polyexp:K,L, chordal:W or table:1,...")
	set.StringVar(&l.weights, "weights", "", "file with the importance of pages: CSV with the header page,weight; other pages have 1")
}

// on returns the stakes on a grid.
func (l *labStakes) on(g *lab.Grid) (lab.Stakes, error) {
	k := lab.Stakes{Life: l.life.Life, Urgency: l.urgency.Urgency}
	if l.weights == "" {
		return k, nil
	}
	weights, err := readWeights(l.weights, g)
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
	estimate estimateFlag
	evidence evidenceFlag
	seed     uint64
	scale    bool
	limit    bool
}

func (l *labSetting) register(set *pflag.FlagSet) {
	l.labPeriod.register(set)
	l.labStakes.register(set)
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

// A labTrace is a trace with what is at stake, ready to be replayed.
type labTrace struct {
	file     string
	grid     *lab.Grid
	stakes   lab.Stakes
	weight   float64        // of all changes
	recorded *recordedTrace // nil if it is from a file
}

// openTrace reads a trace.
func openTrace(file string, l *labPeriod, k *labStakes) (*labTrace, error) {
	g, err := l.grid(file)
	if err != nil {
		return nil, err
	}
	t := &labTrace{file: file, grid: g}
	if t.stakes, err = k.on(g); err != nil {
		return nil, err
	}
	t.weigh()
	return t, nil
}

// weigh adds up what all changes are worth.
func (t *labTrace) weigh() {
	for page := range t.grid.Pages() {
		t.weight += t.importance(page) * float64(len(t.grid.Of(page)))
	}
}

// name returns the trace's name for tables and pictures.
func (t *labTrace) name() string {
	return harmless(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(t.file), ".gz"), ".csv"))
}

// policy returns a new policy for a replay of the trace.
func (l *labSetting) policy(t *labTrace, name string, budget float64) (freshet.Policy, error) {
	g := t.grid
	truth := estimate.Truth{Start: g.Start, Instant: g.Instant, Instants: g.Instants, Changes: func(id freshet.SourceID) []int32 {
		if page, ok := g.Page(id); ok {
			return g.Of(page)
		}
		return nil
	}}
	e, err := l.estimate.New(truth, l.seed)
	if err != nil {
		return nil, flagFault(err)
	}
	p, err := rival.New(name, policy.Setting{
		Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(g.Pages()), Estimator: e, Scale: l.scale, Seed: l.seed,
	})
	return p, flagFault(err)
}

// share returns a of b, or 1 if there is nothing to have a share of.
func share(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

// importance returns the weight of a page.
func (t *labTrace) importance(page int) float64 { return t.source(page).Importance() }

// life returns how long changes of a page can be captured.
func (t *labTrace) life(page int) freshet.Life { return t.source(page).Life }

// source returns what is at stake with a page.
func (t *labTrace) source(page int) freshet.Source {
	s := freshet.Source{Life: t.stakes.Life, Urgency: t.stakes.Urgency}
	if t.stakes.Adjust != nil {
		t.stakes.Adjust(page, &s)
	}
	return s
}
