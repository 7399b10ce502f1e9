// Package labflag has the flags with which commands of the lab name a trace, the
// part of it that counts, what captures are worth, policies and budgets.
package labflag

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/lab"
	"freshet/internal/suggest"
)

// Traces adds the flag that names trace files.
func Traces(set *pflag.FlagSet, to *[]string) {
	set.StringArrayVar(to, "trace", nil, "trace to replay: CSV or CSV.gz with the header page,time and times in Unix seconds")
}

// One returns the only item that was given with a flag.
func One[T any](cmd *cobra.Command, flag, example string, list []T) (item T, err error) {
	switch len(list) {
	case 0:
		return item, cli.MissingFlag(cmd, flag, example)
	case 1:
		return list[0], nil
	}
	return item, freshet.WithHint(cli.Usagef("%s: --%s takes one value, but %d were given", cmd.Name(), flag, len(list)), "freshet lab compare takes several values")
}

// Meant adds to an error about a name which of the known names was probably meant.
func Meant(err error, written string, known ...string) error {
	base, _, _ := strings.Cut(written, ":")
	if err == nil || slices.Contains(known, base) {
		return invalid.ReasonOf(err)
	}
	return fmt.Errorf("%w%s", invalid.ReasonOf(err), suggest.DidYouMean(base, known))
}

// A Moment is a time as RFC 3339 or in Unix seconds.
type Moment struct{ time.Time }

// String returns the moment, or "" if there is none.
func (f *Moment) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Type returns what the flag takes, for its help.
func (f *Moment) Type() string { return "T" }

// Set reads a moment.
func (f *Moment) Set(v string) (err error) {
	if f.Time, err = time.Parse(time.RFC3339, v); err == nil {
		f.Time = f.UTC()
		return nil
	}
	seconds, err := strconv.ParseFloat(v, 64)
	if err != nil || !(math.Abs(seconds) <= 9e9) {
		return fmt.Errorf("%q is not a time; use a form such as 2025-01-31T00:00:00Z, or Unix seconds", v)
	}
	whole, part := math.Modf(seconds)
	f.Time = time.Unix(int64(whole), int64(math.Round(part*1e6))*1e3).UTC()
	return nil
}

// Numbers is a list of numbers above zero.
type Numbers struct {
	List []float64
	most float64
	what string
}

// Budgets returns a flag for polls per instant.
func Budgets() Numbers {
	return Numbers{most: 1e9, what: "a budget; use the number of polls per instant, such as 8 or 0.5"}
}

// Shares returns a flag for shares of all changes.
func Shares() Numbers {
	return Numbers{most: 1, what: "a share; use a number above 0 and up to 1"}
}

// String returns the list.
func (f *Numbers) String() string {
	var list []string
	for _, x := range f.List {
		list = append(list, lab.FormatNumber(x))
	}
	return strings.Join(list, ",")
}

// Type returns what the flag takes, for its help.
func (f *Numbers) Type() string { return "NUMBER" }

// Set adds numbers, with commas between them.
func (f *Numbers) Set(v string) error {
	for item := range strings.SplitSeq(v, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil || !(x > 0) || x > f.most {
			return fmt.Errorf("%q is not %s", item, f.what)
		}
		f.List = append(f.List, x)
	}
	return nil
}

// Policies is a list of policies, with their options.
type Policies struct {
	List  []string
	Known []string           // names, for suggestions
	Check func(string) error // reports what is wrong with a policy
}

// String returns the list.
func (f *Policies) String() string { return strings.Join(f.List, ",") }

// Type returns what the flag takes, for its help.
func (f *Policies) Type() string { return "POLICY" }

// Set adds policies. A comma can stand between two of them, and between the
// options of one: what looks like an option and names no policy belongs to the
// one before.
func (f *Policies) Set(v string) error {
	var names []string
	for item := range strings.SplitSeq(v, ",") {
		name, _, option := strings.Cut(item, "=")
		if option && !strings.Contains(name, ":") && len(names) > 0 {
			names[len(names)-1] += "," + item
			continue
		}
		names = append(names, strings.TrimSpace(item))
	}
	for _, name := range names {
		if err := f.Check(name); err != nil {
			return Meant(err, name, f.Known...)
		}
	}
	f.List = append(f.List, names...)
	return nil
}

// Evidence says how much of the truth a poll shows.
type Evidence struct{ lab.Evidence }

// Type returns what the flag takes, for its help.
func (f *Evidence) Type() string { return "EVIDENCE" }

// Set reads the name of a kind of evidence.
func (f *Evidence) Set(v string) (err error) {
	f.Evidence, err = lab.ParseEvidence(v)
	kind, _, _ := strings.Cut(v, ",")
	return Meant(err, kind, "bits", "dated", "feed", "index")
}

// A Period is the part of a trace that counts, and how finely.
type Period struct {
	Start, End Moment
	Instant    time.Duration
}

// Register adds the flags of the period.
func (l *Period) Register(set *pflag.FlagSet) {
	l.Instant = time.Minute
	set.Var((*cli.Length)(&l.Instant), "instant", "length of an instant; several changes of a page in one instant count as one")
	set.Var(&l.Start, "start", "where to begin: RFC 3339 or Unix seconds (default: the first change)")
	set.Var(&l.End, "end", "where to end (default: the last change)")
}

// Grid reads a trace and lays it on the instants of the period.
func (l *Period) Grid(trace string) (*lab.Grid, error) {
	h, err := lab.OpenHistory(trace)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, freshet.WithHint(err, "freshet-lab gen simulates a trace to try things with")
	case err != nil:
		return nil, err
	}
	if l.Instant <= 0 {
		return nil, cli.Usagef("--instant must be longer than 0s")
	}
	g, err := h.Quantise(lab.Period{Start: l.Start.Time, End: l.End.Time, Instant: l.Instant})
	if field, ok := invalid.FieldOf(err); ok && field == "trace" {
		return nil, freshet.WithHint(invalid.Input(fmt.Errorf("%s: %w", trace, invalid.ReasonOf(err))), freshet.HintOf(err))
	}
	return g, cli.WrongField(err)
}

// Weights says what captures are worth.
type Weights struct {
	life    life
	urgency urgency
	weights string // file
}

// Register adds the flags of the weights.
func (l *Weights) Register(set *pflag.FlagSet) {
	set.Var(&l.life, "life", "how long a change can be captured: overwrite, append, window:10m or last:5; times without a unit are instants")
	set.Var(&l.urgency, "urgency", "how the value of a change falls with time: uniform, exp:0.9/1m, half-life:1h, window:10m, poly:A, polyexp:K,L, chordal:10m or table:1,...; times without a unit are instants")
	set.StringVar(&l.weights, "weights", "", "CSV file with the header page,weight; pages not in it have weight 1")
}

// On returns the weights on a grid.
func (l *Weights) On(g *lab.Grid) (lab.Weights, error) {
	var k lab.Weights
	var wrongLife, wrongUrgency error
	k.Life, wrongLife = l.life.in(g.Instant)
	k.Urgency, wrongUrgency = l.urgency.in(g.Instant)
	if err := errors.Join(wrongLife, wrongUrgency); err != nil || l.weights == "" {
		return k, cli.WrongField(err)
	}
	weights, err := lab.ReadWeights(l.weights, g)
	if err != nil {
		return k, err
	}
	k.Adjust = func(page int, s *freshet.Source) { s.Weight = weights[page] }
	return k, nil
}

// OpenCase reads a trace, and what captures of its pages are worth.
func OpenCase(trace string, l *Period, k *Weights) (*lab.Case, error) {
	g, err := l.Grid(trace)
	if err != nil {
		return nil, err
	}
	weights, err := k.On(g)
	if err != nil {
		return nil, err
	}
	return lab.NewCase(trace, g, weights), nil
}

// A life says how long changes can be captured. A number without a unit
// counts instants, which are known only once all flags are.
type life string

// String returns the life as it was written.
func (f *life) String() string { return cmp.Or(string(*f), objective.Visibility{}.String()) }

// in returns the life, for instants of a length.
func (f *life) in(instant time.Duration) (objective.Visibility, error) {
	return objective.ParseVisibilityIn(instant, f.String())
}

// Type returns what the flag takes, for its help.
func (f *life) Type() string { return "LIFE" }

// Set reads a life.
func (f *life) Set(v string) (err error) {
	*f = life(v)
	_, err = f.in(time.Second)
	return Meant(err, v, "overwrite", "append", "window", "last")
}

// An urgency says how the worth of a capture falls with its delay. A number
// without a unit counts instants.
type urgency string

// String returns the urgency as it was written.
func (f *urgency) String() string { return cmp.Or(string(*f), objective.Urgency{}.String()) }

// in returns the urgency, for instants of a length.
func (f *urgency) in(instant time.Duration) (objective.Urgency, error) {
	return objective.ParseUrgencyIn(instant, f.String())
}

// Type returns what the flag takes, for its help.
func (f *urgency) Type() string { return "URGENCY" }

// Set reads an urgency.
func (f *urgency) Set(v string) (err error) {
	*f = urgency(v)
	_, err = f.in(time.Second)
	return Meant(err, v, "uniform", "exp", "half-life", "window", "poly", "polyexp", "chordal", "table")
}
