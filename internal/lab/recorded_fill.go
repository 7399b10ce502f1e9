package lab

import (
	"math"
	"math/rand/v2"
)

// A window is the time between two looks at a source, of which the later one
// found it changed.
type window struct {
	since, ended int64 // nanoseconds since 1970
	dated        bool  // the source says when it changed
}

// fill puts in the changes that are thought to have happened unseen in windows
// of which one was seen, and returns how many. A source that dates a change
// dates the latest, so that the others came before it.
func (l *logReader) fill(rates []float64) (filled int) {
	salt := hashOf("fill") // so that they fall elsewhere than what was placed
	for c, w := range l.hiding {
		page, last := l.found.page[c], w.ended-1
		if w.dated {
			last = l.found.times[c]
		}
		chance := rand.New(rand.NewPCG(l.reading.Seed^salt^hashOf(string(l.found.pages[page])), uint64(w.ended)))
		for range atLeastOne(rates[page]*float64(l.widths[c]), chance.Float64()) - 1 {
			at := w.since + 1
			if last > at {
				at += chance.Int64N(last - at)
			}
			l.found.page, l.found.times = append(l.found.page, page), append(l.found.times, at)
			filled++
		}
	}
	return filled
}

// atLeastOne returns a number of events, of which x are expected and at least
// one has come: the one that a draw from 0 to 1 stands for.
func atLeastOne(x, draw float64) int {
	term := math.Exp(-x) // the chance of none
	wanted := term + draw*(1-term)
	sum := term
	for n := 1; n < 1000; n++ {
		term *= x / float64(n)
		sum += term
		if sum >= wanted {
			return n
		}
	}
	return 1000
}
