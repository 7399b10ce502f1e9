package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// A Learner is an estimator, too: what it forecasts of any stretch of time, where others
// only say how much is expected since a source was last seen. A source changes at its
// rate, more or less by the hour, the weekday and the minutes in which it and its site
// tend to, or as the chances that were given of it have it. What goes on elsewhere at the
// moment says nothing of another time, and does not count.

// mostStretches is in how many parts of one phase a stretch of time is cut. Of a longer
// one so many moments stand for all; they lie so that no cycle meets them always at the
// same place.
const mostStretches = 48

// Expect implements [freshet.Estimator].
func (l *Learner) Expect(slot freshet.Slot, from, to time.Time) float64 {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return 0
	}
	a, b := l.clock.at(from), l.clock.at(to)
	if !(a < b) {
		return 0
	}
	n := l.foreseen(slot, a, b)
	if g := l.overrides.of[slot]; g != nil {
		_, n = g.overlay(a, b, n)
	}
	return n
}

// foreseen returns how many changes of a source are expected from a to b by what was
// learned.
func (l *Learner) foreseen(slot freshet.Slot, a, b float64) float64 {
	if minuteRhythm := l.minutely.get(slot); minuteRhythm != nil {
		minutes := l.clock.minute(b) - l.clock.minute(a)
		if minutes <= 7*24*hour {
			return minuteRhythm.between(l.clock.minute(a), l.clock.minute(b), l.plainly(slot, a, b))
		}
	}
	return l.plainly(slot, a, b)
}

// plainly returns the same without the minute rhythm.
func (l *expectations) plainly(slot freshet.Slot, a, b float64) (n float64) {
	rate, step := l.know(slot), l.stretch()
	if part := (b - a) / mostStretches; part > step {
		for i := range mostStretches {
			_, within := math.Modf(float64(i) * math.Phi)
			n += part * rate * l.bend(slot, a+(float64(i)+within)*part)
		}
		return n
	}
	for k := math.Floor(a/step) + 1; a < b; k++ { // a counter, because k*step may round to a
		end := min(b, max(a, k*step))
		n += (end - a) * rate * l.bend(slot, (a+end)/2)
		a = end
	}
	return n
}

// stretch returns for how many ticks a phase lasts about.
func (l *timeline) stretch() float64 {
	length := 60.0 * 60
	if l.clock.shape[byMinute] > 0 {
		length = 5 * 60
	}
	return max(1, length/l.clock.seconds())
}

// get returns the minute rhythm of a source that keeps to certain minutes, or nil.
func (l *minuteRhythms) get(slot freshet.Slot) *minuteRhythm {
	if b := l.of[slot]; b != nil && b.good && l.ownShape[byMinute] > 0 {
		return b
	}
	return nil
}

// between returns how many changes are expected between two moments, in minutes, if so
// many are without the minute rhythm.
func (b *minuteRhythm) between(from, to, plain float64) float64 {
	n := 0.0
	for at := math.Floor(from); at < to; at++ {
		m := int64(at) % hour
		n += (min(to, at+1) - max(from, at)) * (float64(b.by[(m+hour-1)%hour])/4 + float64(b.by[m])/2 + float64(b.by[(m+1)%hour])/4)
	}
	return (n + plainHours*plain) / (float64(b.span) + plainHours)
}

// A foresight is the chances of all sources within one stretch of time, as long as
// that is nearly the same: policies ask at every instant.
type foresight struct {
	from, to float64 // in ticks; one that was asked for
	span     time.Duration
	at       phase
	open     int64
	chances  []float64 // by slot; by what was learned of hours and rates
}

// Chances implements [freshet.Estimator].
func (l *Learner) Chances(dst []float64, from, to time.Time) {
	a, b := l.clock.at(from), l.clock.at(to)
	f := &l.foresight
	ph := l.clock.phase(int64(math.Floor((a + b) / 2)))
	if span := to.Sub(from); f.span != span || f.at != ph || f.open != l.open || len(f.chances) != l.pages.Len() {
		*f = foresight{from: a, to: b, span: span, at: ph, open: l.open, chances: append(f.chances[:0], make([]float64, l.pages.Len())...)}
		for slot := range f.chances {
			l.foresee(freshet.Slot(slot))
		}
	}
	clear(dst[copy(dst, f.chances):])
	for slot := range l.minutely.of {
		if slot < len(dst) && l.minutely.get(freshet.Slot(slot)) != nil {
			dst[slot] = -math.Expm1(-l.foreseen(freshet.Slot(slot), a, b))
		}
	}
	for slot, g := range l.overrides.of {
		if int(slot) < len(dst) {
			mass, _ := g.overlay(a, b, -math.Log1p(-min(1-tiny, dst[slot])))
			dst[slot] = -math.Expm1(-mass)
		}
	}
}

// foresee works out the chance of a source again, after something was learned of it.
func (l *Learner) foresee(slot freshet.Slot) {
	f := &l.foresight
	if int(slot) >= len(f.chances) {
		return
	}
	f.chances[slot] = 0
	if l.pages.At(slot).site != nil {
		f.chances[slot] = -math.Expm1(-l.plainly(slot, f.from, f.to))
	}
}
