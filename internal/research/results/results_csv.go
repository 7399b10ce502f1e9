package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"freshet/internal/lab"
)

// WriteCSV writes one row for each setting and contender.
func (r *Results) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"part", "recording", "budget", "limit", "limit_exact", "policy", "utility", "fresh", "age_seconds", "deviation"}}
	for _, part := range []struct {
		name string
		list []Result
	}{
		{"reference", r.Reference}, {"share", r.Shares}, {"share, urgent", r.Decayed},
		{"held out", r.HeldOut}, {"held out, urgent", r.HeldOutDecayed},
		{"literature", r.Literature}, {"literature, held out", r.LiteratureHeldOut},
	} {
		for _, x := range part.list {
			name := part.name
			if x.Share > 0 {
				name = fmt.Sprintf("%s %.1f", name, x.Share)
			}
			for _, f := range x.Feats {
				rows = append(rows, append([]string{name, x.Trace, lab.FormatNumber(x.Budget), figure(x.Limit), strconv.FormatBool(x.Exact)}, f.cells()...))
			}
		}
	}
	return out.WriteAll(rows)
}

// cells returns what a contender did; the deviation is "" if it ran once.
func (f Feat) cells() []string {
	deviation := ""
	if len(f.Reruns) > 0 {
		deviation = figure(runsOf(append([]float64{f.Utility}, f.Reruns...)).Deviation)
	}
	return []string{f.Name, figure(f.Utility), figure(f.Fresh), strconv.FormatFloat(f.Age, 'f', 0, 64), deviation}
}

// figure writes a number with four places.
func figure(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
