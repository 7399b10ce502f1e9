package paper

import "freshet/internal/sched/policy"

// SamplingExperimentsWith are the experiments on sampling with other rules under
// the names of those that are tried; nil keeps a rule.
func SamplingExperimentsWith(
	greedy func([]policy.Site, float64) []float64,
	interval func(changed, sampled, size int, alpha float64) policy.Interval,
	size func(pages, ratio, density, threshold, below float64) float64,
) []Experiment {
	u := rulesOfPolicy()
	if greedy != nil {
		u.greedy = greedy
	}
	if interval != nil {
		u.interval = interval
	}
	if size != nil {
		u.sampleSize = size
	}
	return u.experiments()
}

// PrintedSampleSize and CorrectedSampleSize are theorem 2 of Cho and Ntoulas.
var (
	PrintedSampleSize   = printedSampleSize
	CorrectedSampleSize = correctedSampleSize
)
