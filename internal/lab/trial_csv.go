package lab

import (
	"encoding/csv"
	"io"
	"strconv"
)

// trialColumns are the columns of the CSV, named as in the JSON.
var trialColumns = []struct {
	name string
	of   func(Trial) string
}{
	{"trace", func(t Trial) string { return t.Trace }},
	{"policy", func(t Trial) string { return t.Policy }},
	{"budget", func(t Trial) string { return FormatNumber(t.Budget) }},
	{"life", func(t Trial) string { return t.Life }},
	{"urgency", func(t Trial) string { return t.Urgency }},
	{"estimate", func(t Trial) string { return t.Estimate }},
	{"evidence", func(t Trial) string { return t.Evidence }},
	{"seed", func(t Trial) string { return strconv.FormatUint(t.Seed, 10) }},
	{"start", func(t Trial) string { return t.Start }},
	{"end", func(t Trial) string { return t.End }},
	{"instant_seconds", func(t Trial) string { return FormatNumber(t.Instant) }},
	{"pages", func(t Trial) string { return strconv.Itoa(t.Pages) }},
	{"instants", func(t Trial) string { return strconv.Itoa(t.Instants) }},
	{"changes", func(t Trial) string { return strconv.Itoa(t.Changes) }},
	{"captured", func(t Trial) string { return strconv.Itoa(t.Captured) }},
	{"zero_delay", func(t Trial) string { return strconv.Itoa(t.ZeroDelay) }},
	{"polls", func(t Trial) string { return strconv.Itoa(t.Polls) }},
	{"index_polls", func(t Trial) string { return strconv.Itoa(t.IndexPolls) }},
	{"found", func(t Trial) string { return strconv.Itoa(t.Found) }},
	{"recall", func(t Trial) string { return FormatNumber(t.Recall) }},
	{"utility", func(t Trial) string { return FormatNumber(t.Utility) }},
	{"utility_normalized", func(t Trial) string { return FormatNumber(t.UtilityNormalized) }},
	{"change_ratio", func(t Trial) string { return FormatNumber(t.ChangeRatio) }},
	{"weighted_change_ratio", func(t Trial) string { return FormatNumber(t.WeightedChangeRatio) }},
	{"freshness", func(t Trial) string { return FormatNumber(t.Freshness) }},
	{"weighted_freshness", func(t Trial) string { return FormatNumber(t.WeightedFreshness) }},
	{"age_seconds", func(t Trial) string { return FormatNumber(t.AgeSeconds) }},
	{"weighted_age_seconds", func(t Trial) string { return FormatNumber(t.WeightedAge) }},
	{"fairness", func(t Trial) string { return FormatNumber(t.Fairness) }},
	{"mean_delay_instants", func(t Trial) string { return FormatNumber(t.MeanDelay) }},
	{"delay_p50_instants", func(t Trial) string { return strconv.Itoa(t.DelayP50) }},
	{"delay_p90_instants", func(t Trial) string { return strconv.Itoa(t.DelayP90) }},
	{"delay_p99_instants", func(t Trial) string { return strconv.Itoa(t.DelayP99) }},
	{"limit", ofLimit(func(l *TrialLimit) string { return FormatNumber(l.Limit) })},
	{"limit_normalized", ofLimit(func(l *TrialLimit) string { return FormatNumber(l.LimitNormalized) })},
	{"limit_exact", ofLimit(func(l *TrialLimit) string { return strconv.FormatBool(l.LimitExact) })},
	{"utility_of_limit", ofLimit(func(l *TrialLimit) string { return FormatNumber(l.OfLimit) })},
}

// ofLimit leaves a column empty where no limit was asked for.
func ofLimit(of func(*TrialLimit) string) func(Trial) string {
	return func(t Trial) string {
		if t.TrialLimit == nil {
			return ""
		}
		return of(t.TrialLimit)
	}
}

// WriteTrials writes trials as CSV.
func WriteTrials(w io.Writer, trials []Trial) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range trialColumns {
		head = append(head, c.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range trials {
		row := make([]string, len(trialColumns))
		for i, c := range trialColumns {
			row[i] = c.of(r)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
