package paper

import "freshet/cycle"

// CaptureWith returns the experiments with other ways of planning under the
// same labels.
func CaptureWith(plan func(h cycle.Timeline, period, polls int, m cycle.Method) ([]int, error), model func(m cycle.Model, polls int) []float64) []Experiment {
	return captureMeans{plan, model}.experiments()
}

// CaptureProgramme returns so many polls by the dynamic programme as printed, and
// with the circle closed.
func CaptureProgramme(h cycle.Timeline, period, polls int) (printed, closed []int) {
	p := newCaptureProgramme(h, period, polls-1)
	return p.printed(polls), p.closed(polls)
}
