package demo

import (
	"time"

	"freshet/internal/lab/plot"
)

// A Course is how both sides of a demo fared as time went on: whether one of
// them learns shows in the share that it captures of late.
type Course struct{ marks []mark }

// A mark is how things stood at a moment.
type mark struct {
	clock         float64 // seconds since the start
	policy, rival count
}

// A count counts the changes that are decided.
type count struct{ captured, decided int }

func countOf(s Score) count { return count{s.Captured, s.Captured + s.Missed} }

// since returns the share captured of what was decided after an earlier count.
func (c count) since(earlier count) (float64, bool) {
	if c.decided == earlier.decided {
		return 0, false
	}
	return float64(c.captured-earlier.captured) / float64(c.decided-earlier.decided), true
}

const step = 5.0 // seconds between two marks

// Late is how many seconds count as of late.
const Late = 60.0

// Add notes how things stand in a scene.
func (c *Course) Add(s Scene) {
	if n := len(c.marks); n > 0 && s.Clock-c.marks[n-1].clock < step && !s.Final {
		return
	}
	c.marks = append(c.marks, mark{s.Clock, countOf(s.Score), countOf(s.Rival)})
}

// lately returns what both captured in the time before the ith mark, and whether
// there was anything to capture.
func (c *Course) lately(i int) (policy, rival float64, ok bool) {
	now, from := c.marks[i], mark{}
	for _, m := range c.marks[:i] {
		if m.clock > now.clock-Late {
			break
		}
		from = m
	}
	policy, ok = now.policy.since(from.policy)
	rival, other := now.rival.since(from.rival)
	return policy, rival, ok && other
}

// Curves returns what both captured of late, over the time in minutes.
func (c *Course) Curves() (policy, rival [][2]float64) {
	for i, m := range c.marks {
		if p, r, ok := c.lately(i); ok {
			policy = append(policy, [2]float64{m.clock / 60, p})
			rival = append(rival, [2]float64{m.clock / 60, r})
		}
	}
	return policy, rival
}

// A Minute is what both captured in a part of the demo.
type Minute struct {
	End           float64 // seconds since the start
	Policy, Rival float64
}

// Minutes returns minute by minute what both captured; the last one may be
// short.
func (c *Course) Minutes() (minutes []Minute) {
	from, n := mark{}, 0
	for i, m := range c.marks {
		last := i == len(c.marks)-1
		if m.clock < float64(n+1)*60 && !last || m.clock-from.clock < Late/4 {
			continue
		}
		n = int(m.clock / 60)
		p, ok := m.policy.since(from.policy)
		r, other := m.rival.since(from.rival)
		if from = m; ok && other {
			minutes = append(minutes, Minute{m.clock, p, r})
		}
	}
	return minutes
}

// Chart draws both curves.
func (s *Stage) Chart(title string, length time.Duration) plot.Chart {
	policy, rival := s.Course.Curves()
	return plot.Chart{
		Title: title,
		X:     plot.Linear("minutes", 0, length.Minutes()),
		Y:     plot.Linear("captured", 0, 1),
		Lines: []plot.Line{{Name: s.Policy, Points: policy}, {Name: "uniform rival", Points: rival}},
	}
}
