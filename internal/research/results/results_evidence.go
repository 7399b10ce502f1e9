package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"freshet/internal/invalid"
	"freshet/internal/lab"
)

// withEvidence returns each contender with each kind of evidence. All of its runs have
// what it ranks by moved a little, if that can be, so that their spread says what is luck.
func withEvidence(list []Contender, evidence []lab.Evidence) (all []Contender) {
	for _, c := range list {
		for _, e := range evidence {
			name := e.String()
			if len(list) > 1 {
				name = c.Name + ", " + name
			}
			one := Contender{Name: name, Policy: c.Policy, Evidence: e, Reseeded: c.Reseeded}
			if c.Reseeded != "" {
				one.Policy = c.Reseeded
			}
			all = append(all, one)
		}
	}
	return all
}

// chosen returns those of the traces that are to be looked at.
func (c Comparison) chosen(known []Recording, others []string, paths map[string]string) ([]Recording, []string, error) {
	for _, name := range c.Only {
		if paths[name] == "" {
			return nil, nil, invalid.Errorf("only", "there is no trace %q in %s", name, c.Traces)
		}
	}
	left := func(name string) bool { return !slices.Contains(c.Only, name) }
	known = slices.DeleteFunc(known, func(r Recording) bool { return left(r.Name) })
	return known, slices.DeleteFunc(others, left), nil
}

// Runs are what some runs had of the limit, on average, and how far they lie apart.
type Runs struct {
	Count     int
	Mean      float64
	Deviation float64 // of one from the mean
}

// OfLimit returns what the runs of a contender had of the limit in one setting.
func (r *Result) OfLimit(contender string) (s Runs, ok bool) {
	f, ok := r.of(contender)
	return runsOf(r.runs(f)), ok
}

// runs returns what each run of a contender had of the limit.
func (r *Result) runs(f Feat) (runs []float64) {
	for _, utility := range append([]float64{f.Utility}, f.Reruns...) {
		runs = append(runs, lab.Ratio(utility, r.Limit, 1))
	}
	return runs
}

func runsOf(runs []float64) Runs {
	mean, deviation := spread(runs)
	return Runs{Count: len(runs), Mean: mean, Deviation: deviation}
}

// MeanRuns returns the same for the mean over settings, of the first runs, the second
// ones and so on.
func MeanRuns(list []Result, contender string) Runs {
	var means []float64
	settings := 0
	for _, r := range list {
		f, ok := r.of(contender)
		if !ok {
			continue
		}
		settings++
		for i, x := range r.runs(f) {
			if i == len(means) {
				means = append(means, 0)
			}
			means[i] += x
		}
	}
	for i := range means {
		means[i] /= math.Max(1, float64(settings))
	}
	return runsOf(means)
}

// WriteEvidence writes a comparison of evidence as a table: for each trace what share of
// the limit was had, as the mean of all runs and their deviation in thousandths.
func (r *Results) WriteEvidence(w io.Writer) error {
	settings := slices.Concat(r.Reference, r.HeldOut)
	longest := len("trace")
	for _, x := range settings {
		longest = max(longest, len(x.Trace))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells []string) {
		cells[0] = fmt.Sprintf("%-*s", longest, cells[0])
		fmt.Fprintln(out, strings.Join(cells, "\t")+"\t")
	}
	head := []string{"trace", "limit"}
	for _, c := range r.Contenders {
		head = append(head, c.Name, "sd")
	}
	line(head)
	cells := func(s Runs) []string {
		return []string{fmt.Sprintf("%.4f", s.Mean), fmt.Sprintf("%.1f", 1000*s.Deviation)}
	}
	for _, x := range settings {
		row := []string{x.Trace, fmt.Sprintf("%.3f", x.Limit)}
		for _, c := range r.Contenders {
			s, _ := x.OfLimit(c.Name)
			row = append(row, cells(s)...)
		}
		line(row)
	}
	row := []string{"mean", ""}
	for _, c := range r.Contenders {
		row = append(row, cells(MeanRuns(settings, c.Name))...)
	}
	line(row)
	return out.Flush()
}
