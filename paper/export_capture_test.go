package paper

import "freshet/policy"

// CaptureWith returns the experiments with other ways of planning under the
// same labels.
func CaptureWith(plan func(h policy.History, period, polls int, m policy.Method) ([]int, error), model func(m policy.Model, polls int) []float64) []Experiment {
	return captureMeans{plan, model}.experiments()
}
