package lab

import (
	"fmt"

	"freshet/internal/lab/plot"
)

// ComparedHead are the columns of the table.
var ComparedHead = []string{"TRACE", "BUDGET", "POLICY", "RECALL", "UTILITY", "OF LIMIT", "DELAY", "FRESHNESS", "AGE", "POLLS"}

// Rows returns the figures of a contest, for people.
func (k *Contest) Rows() (rows [][]string) {
	add := func(r Trial) {
		of := ""
		if r.TrialLimit != nil {
			of = fmt.Sprintf("%.1f%%", 100*r.OfLimit)
		}
		rows = append(rows, []string{k.Name(), FormatNumber(r.Budget), r.Policy, fmt.Sprintf("%.4f", r.Recall), fmt.Sprintf("%.4f", r.UtilityNormalized), of,
			fmt.Sprintf("%.2f", r.MeanDelay), fmt.Sprintf("%.4f", r.Freshness), plot.Brief(r.AgeSeconds) + "s", fmt.Sprint(r.Polls)})
	}
	if k.Recorded != nil {
		add(k.Recorded.Trial(k.Case))
	}
	for b, row := range k.Trials {
		for _, r := range row {
			add(r)
		}
		if k.Limits != nil {
			rows = append(rows, []string{k.Name(), FormatNumber(row[0].Budget), "(limit)", "", k.limitText(b), "100.0%", "", "", "", ""})
		}
	}
	return rows
}

// limitText writes the limit of a budget, and whether it is one that can be
// reached.
func (k *Contest) limitText(b int) string {
	text := fmt.Sprintf("%.4f", k.share(b))
	if !k.Limits[b].Exact {
		text = "<=" + text
	}
	return text
}

// share returns the limit of a budget as a share of the weight of all changes.
func (k *Contest) share(b int) float64 { return Ratio(k.Limits[b].Value, k.Weight, 1) }
