package cyclic

// Misses says how many changes of a history are missed by the best plans.
type Misses struct{ window *linkWindow }

// NewMisses returns the misses of plans for a history.
func NewMisses(h Timeline, period int) *Misses { return &Misses{newLinkWindow(h, period)} }

// Fewest returns how many changes of the history are missed at the least with so
// many polls a period, of which there has to be one.
func (m *Misses) Fewest(polls int) int {
	w := m.window
	if polls >= len(w.stops) {
		return 0
	}
	_, cost := cheapest[int64](w, len(w.stops), polls, 0)
	return int(cost / w.miss)
}
