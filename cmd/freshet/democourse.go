package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"freshet/plot"
)

// A demoCourse is how both sides of a demo fared as time went on: whether one of
// them learns shows in the share that it captures of late.
type demoCourse struct{ marks []demoMark }

// A demoMark is how things stood at a moment.
type demoMark struct {
	clock         float64 // seconds since the start
	policy, rival demoCount
}

// A demoCount counts the changes that are decided.
type demoCount struct{ captured, decided int }

func countOf(s demoScore) demoCount { return demoCount{s.Captured, s.Captured + s.Missed} }

// since returns the share captured of what was decided after an earlier count.
func (c demoCount) since(earlier demoCount) (float64, bool) {
	if c.decided == earlier.decided {
		return 0, false
	}
	return float64(c.captured-earlier.captured) / float64(c.decided-earlier.decided), true
}

const (
	demoStep = 5.0  // seconds between two marks
	demoLate = 60.0 // seconds that count as of late
)

// add notes how things stand in a scene.
func (c *demoCourse) add(s demoScene) {
	if n := len(c.marks); n > 0 && s.Clock-c.marks[n-1].clock < demoStep && !s.Final {
		return
	}
	c.marks = append(c.marks, demoMark{s.Clock, countOf(s.Score), countOf(s.Rival)})
}

// lately returns what both captured in the time before the ith mark, and whether
// there was anything to capture.
func (c *demoCourse) lately(i int) (policy, rival float64, ok bool) {
	now, from := c.marks[i], demoMark{}
	for _, m := range c.marks[:i] {
		if m.clock > now.clock-demoLate {
			break
		}
		from = m
	}
	policy, ok = now.policy.since(from.policy)
	rival, other := now.rival.since(from.rival)
	return policy, rival, ok && other
}

// curves returns what both captured of late, over the time in minutes.
func (c *demoCourse) curves() (policy, rival [][2]float64) {
	for i, m := range c.marks {
		if p, r, ok := c.lately(i); ok {
			policy = append(policy, [2]float64{m.clock / 60, p})
			rival = append(rival, [2]float64{m.clock / 60, r})
		}
	}
	return policy, rival
}

// strips draws the last points of both curves in the width there is.
func (c *demoCourse) strips(name string, width int, paint palette) []strip {
	policy, rival := c.curves()
	if len(policy) == 0 {
		return nil
	}
	const figures = 44 // room for what stands before and after the curve
	room := min(max(width-figures, 8), 60)
	draw := func(label string, points [][2]float64, words string, colour func(string) string) strip {
		last := points[len(points)-1][1]
		points = points[max(0, len(points)-room):]
		return strip{{fmt.Sprintf(" %-11s ", label), paint.dim}, {spark(points), colour}, plain(fmt.Sprintf(" %3.0f%%  ", 100*last)), {words, paint.dim}}
	}
	return []strip{draw("of late", policy, name+", in the last minute", paint.green), draw("", rival, "the rival", paint.cyan)}
}

// spark draws shares as a line of blocks.
func spark(points [][2]float64) string {
	blocks := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, p := range points {
		b.WriteRune(blocks[min(len(blocks)-1, max(0, int(p[1]*float64(len(blocks)))))])
	}
	return b.String()
}

// minutes says minute by minute what both captured; the last one may be short.
func (c *demoCourse) minutes(name string) string {
	policy, rival := fmt.Sprintf("%-11s", name), fmt.Sprintf("%-11s", "rival")
	head := fmt.Sprintf("%-11s", "minute")
	from, n := demoMark{}, 0
	for i, m := range c.marks {
		last := i == len(c.marks)-1
		if m.clock < float64(n+1)*60 && !last || m.clock-from.clock < demoLate/4 {
			continue
		}
		n = int(m.clock / 60)
		p, ok := m.policy.since(from.policy)
		r, other := m.rival.since(from.rival)
		if from = m; !ok || !other {
			continue
		}
		head += fmt.Sprintf(" %5s", stopwatch(m.clock))
		policy += fmt.Sprintf(" %4.0f%%", 100*p)
		rival += fmt.Sprintf(" %4.0f%%", 100*r)
		if len(head) > 72 {
			head, policy, rival = cutFirst(head), cutFirst(policy), cutFirst(rival)
		}
	}
	if len(strings.Fields(head)) < 3 {
		return "" // one minute shows no course
	}
	return "captured minute by minute:\n  " + head + "\n  " + policy + "\n  " + rival + "\n"
}

// cutFirst takes the oldest figure out of a row.
func cutFirst(row string) string { return row[:11] + row[17:] }

// writeChart draws both curves to a file.
func (t *demoStage) writeChart(file string, length time.Duration) error {
	policy, rival := t.course.curves()
	chart := plot.Chart{
		Title: fmt.Sprintf("Share of changes captured in the last minute, at %s", rate(t.limit)),
		X:     plot.Linear("minutes", 0, length.Minutes()),
		Y:     plot.Linear("captured", 0, 1),
		Lines: []plot.Line{{Name: t.policy, Points: policy}, {Name: "uniform rival", Points: rival}},
	}
	if err := os.WriteFile(file, []byte(chart.SVG()), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}
