package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
	"freshet/internal/suggest"
)

// A momentFlag is a time as RFC 3339 or in Unix seconds.
type momentFlag struct{ time.Time }

// String returns the moment, or "" if there is none.
func (f *momentFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Type returns what the flag takes, for its help.
func (f *momentFlag) Type() string { return "T" }

// Set reads a moment.
func (f *momentFlag) Set(v string) (err error) {
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

// A lifeFlag says how long changes can be captured. A number without a unit
// counts instants, which are known only once all flags are.
type lifeFlag string

// String returns the life as it was written.
func (f *lifeFlag) String() string { return cmp.Or(string(*f), freshet.Life{}.String()) }

// in returns the life, for instants of a length.
func (f *lifeFlag) in(instant time.Duration) (freshet.Life, error) {
	return freshet.ParseLifeIn(instant, f.String())
}

// Type returns what the flag takes, for its help.
func (f *lifeFlag) Type() string { return "LIFE" }

// Set reads a life.
func (f *lifeFlag) Set(v string) (err error) {
	*f = lifeFlag(v)
	_, err = f.in(time.Second)
	return meant(err, v, "overwrite", "append", "window", "last")
}

// An urgencyFlag says how the worth of a capture falls with its delay. A number
// without a unit counts instants.
type urgencyFlag string

// String returns the urgency as it was written.
func (f *urgencyFlag) String() string { return cmp.Or(string(*f), freshet.Urgency{}.String()) }

// in returns the urgency, for instants of a length.
func (f *urgencyFlag) in(instant time.Duration) (freshet.Urgency, error) {
	return freshet.ParseUrgencyIn(instant, f.String())
}

// Type returns what the flag takes, for its help.
func (f *urgencyFlag) Type() string { return "URGENCY" }

// Set reads an urgency.
func (f *urgencyFlag) Set(v string) (err error) {
	*f = urgencyFlag(v)
	_, err = f.in(time.Second)
	return meant(err, v, "uniform", "exp", "half-life", "window", "poly", "polyexp", "chordal", "table")
}

// An estimateFlag says who tells a policy how likely changes are.
type estimateFlag struct{ estimate.Spec }

// Type returns what the flag takes, for its help.
func (f *estimateFlag) Type() string { return "ESTIMATE" }

// Set reads the name of an estimator.
func (f *estimateFlag) Set(v string) (err error) {
	f.Spec, err = estimate.Parse(v)
	return meant(err, v, each(estimate.Names, baseName)...)
}

// An evidenceFlag says how much of the truth a poll shows.
type evidenceFlag struct{ lab.Evidence }

// Type returns what the flag takes, for its help.
func (f *evidenceFlag) Type() string { return "EVIDENCE" }

// Set reads the name of a kind of evidence.
func (f *evidenceFlag) Set(v string) (err error) {
	f.Evidence, err = lab.ParseEvidence(v)
	kind, _, _ := strings.Cut(v, ",")
	return meant(err, kind, "bits", "dated", "feed", "index")
}

// An evidencesFlag lists kinds of evidence.
type evidencesFlag []lab.Evidence

// String returns the list.
func (f *evidencesFlag) String() string { return strings.Join(each(*f, lab.Evidence.String), ",") }

// Type returns what the flag takes, for its help.
func (f *evidencesFlag) Type() string { return "EVIDENCE" }

// Set adds kinds of evidence, with commas between them. An option belongs to the one
// before.
func (f *evidencesFlag) Set(v string) error {
	for item := range strings.SplitSeq(strings.ReplaceAll(v, ",every=", ";every="), ",") {
		var one evidenceFlag
		if err := one.Set(strings.ReplaceAll(strings.TrimSpace(item), ";", ",")); err != nil {
			return err
		}
		*f = append(*f, one.Evidence)
	}
	return nil
}

// baseName returns what stands before the colon.
func baseName(s string) string {
	base, _, _ := strings.Cut(s, ":")
	return base
}

// meant adds to an error about a name what was probably meant.
func meant(err error, written string, known ...string) error {
	base := baseName(written)
	if err == nil || slices.Contains(known, base) {
		return freshet.ReasonOf(err)
	}
	return fmt.Errorf("%w%s", freshet.ReasonOf(err), suggest.DidYouMean(base, known))
}

// A policiesFlag lists policies, with their options.
type policiesFlag []string

// String returns the list.
func (f *policiesFlag) String() string { return strings.Join(*f, ",") }

// Type returns what the flag takes, for its help.
func (f *policiesFlag) Type() string { return "POLICY" }

// Set adds policies. A comma can stand between two of them, and between the
// options of one: what looks like an option and names no policy belongs to the
// one before.
func (f *policiesFlag) Set(v string) error {
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
		if _, err := baselines.New(name, policy.Setting{}); err != nil {
			return meant(err, name, baselines.Names()...)
		}
	}
	*f = append(*f, names...)
	return nil
}

// A numbersFlag lists numbers above zero.
type numbersFlag struct {
	list []float64
	most float64
	what string
}

// String returns the list.
func (f *numbersFlag) String() string { return strings.Join(each(f.list, number), ",") }

// Type returns what the flag takes, for its help.
func (f *numbersFlag) Type() string { return "NUMBER" }

// Set adds numbers, with commas between them.
func (f *numbersFlag) Set(v string) error {
	for item := range strings.SplitSeq(v, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil || !(x > 0) || x > f.most {
			return fmt.Errorf("%q is not %s", item, f.what)
		}
		f.list = append(f.list, x)
	}
	return nil
}

// budgets is a flag for polls an instant.
func budgets() numbersFlag {
	return numbersFlag{most: 1e9, what: "a budget; use the number of polls per instant, such as 8 or 0.5"}
}

// number writes a number as short as it can be without loss.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// tracesFlag adds the flag that names trace files.
func tracesFlag(set *pflag.FlagSet, to *[]string) {
	set.StringArrayVar(to, "trace", nil, "trace to replay: CSV or CSV.gz with the header page,time and times in Unix seconds")
}
