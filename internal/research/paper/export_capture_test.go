package paper

import "freshet/internal/sched/cyclic"

// CaptureWith returns the experiments with other ways of planning under the
// same labels.
func CaptureWith(plan func(h cyclic.Timeline, period, polls int, m cyclic.Method) ([]int, error), model func(m cyclic.Model, polls int) []float64) []Experiment {
	return captureMeans{plan, model}.experiments()
}

// CaptureProgramme returns so many polls by the dynamic programme as printed, and
// with the circle closed.
func CaptureProgramme(h cyclic.Timeline, period, polls int) (printed, closed []int) {
	p := newCaptureProgramme(h, period, polls-1)
	return p.printed(polls), p.closed(polls)
}
