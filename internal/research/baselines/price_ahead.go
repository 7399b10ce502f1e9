package baselines

import (
	"math"

	"freshet/internal/sched/policy"
)

// A foresight is the time around the present of one source, cut into cells: of
// one instant each in the near past and future, and longer ones further away. It
// is scratch, filled again for each look.
type foresight struct {
	ends  []int64   // of cells, and before all the beginning of the first: at 0, the last poll
	mass  []float64 // expected changes of cells, from 1
	now   int       // the cell that ends now
	own   []float64 // what a cell's changes are worth at its end
	keep  []float64 // what a cell leaves of the worth of older changes
	best  []float64 // by cell: what a source gains after a poll at its end, price deducted
	next  []int     // by cell: the next poll after one at its end; 0 if none
	gains []float64 // from one cell's end to that of another, where there is no recursion
}

// Cells of the past are single instants up to nearPast; further away, in both
// directions, a cell is as long as a share of its distance.
const (
	nearPast  = 32
	cellShare = 0.06
	mostAhead = 1 << 16
)

// lay cuts the time from since on into cells, as far ahead as the horizon, or as
// two gaps if they are longer.
func (f *foresight) lay(since, at, horizon int64, gap float64, expect func(from, to int64) float64) {
	f.ends = append(f.ends[:0], at)
	for t := at; t > since; {
		t -= cellLength(at-t, nearPast)
		t = max(t, since)
		f.ends = append(f.ends, t)
	}
	for i, j := 0, len(f.ends)-1; i < j; i, j = i+1, j-1 {
		f.ends[i], f.ends[j] = f.ends[j], f.ends[i]
	}
	f.now = len(f.ends) - 1
	end := horizon
	if !math.IsInf(gap, 1) {
		end = max(end, int64(min(2*gap, mostAhead)))
	}
	for t := int64(0); t < end; {
		t = min(end, t+cellLength(t, horizon))
		f.ends = append(f.ends, at+t)
	}
	f.mass = append(f.mass[:0], 0)
	for i := 1; i < len(f.ends); i++ {
		f.mass = append(f.mass, expect(f.ends[i-1], f.ends[i]))
	}
}

// cellLength returns how long the cell is that begins at a distance.
func cellLength(distance, near int64) int64 {
	if distance < near {
		return 1
	}
	return max(1, int64(cellShare*float64(distance)))
}

// length returns how long a cell is.
func (f *foresight) length(cell int) float64 { return float64(f.ends[cell] - f.ends[cell-1]) }

// solve finds the best polls of a source at a price.
func (f *foresight) solve(v *policy.Value, factor, price float64, s steadyPlan) view {
	last := len(f.ends) - 1
	f.best, f.next = resized(f.best, last+1), resized(f.next, last+1)
	end := func(cell int) float64 { return s.worth(float64(f.ends[last] - f.ends[cell])) }
	if decay, ok := v.Recursive(); ok {
		f.lengthen(decay, v.Replaced())
	} else {
		f.tabulate(v)
	}
	upto := last // a poll after an earlier one is best no later than after a later one
	for a := last; a >= f.now; a-- {
		f.best[a], f.next[a] = f.after(a, a+1, upto, factor, price, end(a))
		if f.next[a] > 0 {
			upto = f.next[a]
		}
	}
	later, due := f.best[0], f.next[0]
	gain := 0.0 // if it was seen at this very instant
	if f.now > 0 {
		later, due = f.after(0, f.now+1, max(upto, min(f.now+1, last)), factor, price, end(0))
		gain = factor * f.gain(0, f.now)
	}
	w := view{gain: gain, advantage: gain - price + f.best[f.now] - later}
	w.wake = max(f.ends[f.nearer(factor, price, later, w.advantage)], f.ends[f.now]+1)
	w.polls = f.polls(due, w.advantage >= 0)
	return w
}

// nearer returns the cell at the end of which the advantage of a poll will have
// come half way to nothing, if there is none until then; the last, if it does
// not; and the present one, if it has.
func (f *foresight) nearer(factor, price, later, advantage float64) int {
	if advantage >= 0 {
		return f.now
	}
	gain := f.gain(0, f.now)
	for b := f.now + 1; b < len(f.ends); b++ {
		if len(f.gains) > 0 {
			gain = f.gains[b]
		} else {
			gain = f.keep[b]*gain + f.own[b]
		}
		if factor*gain-price+f.best[b]-later >= advantage/2 {
			return b
		}
	}
	return len(f.ends) - 1
}

// polls returns how many polls an instant the best plan has, of which the first
// is now, or else at the end of cell due.
func (f *foresight) polls(due int, now bool) float64 {
	n := 0
	if now {
		n, due = 1, f.next[f.now]
	}
	for ; due > 0; due = f.next[due] {
		n++
	}
	return float64(n) / float64(max(1, f.ends[len(f.ends)-1]-f.ends[f.now]))
}

// resized returns s with a length of n; what it holds does not matter.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// lengthen works out the recursion of exponential urgency: what a cell adds, and
// what it leaves of what was before.
func (f *foresight) lengthen(decay float64, replaced bool) {
	f.gains = f.gains[:0]
	f.own, f.keep = resized(f.own, len(f.mass)), resized(f.keep, len(f.mass))
	fall := math.Exp(-decay)
	for i := 1; i < len(f.mass); i++ {
		n := f.length(i)
		p := min(1, f.mass[i]/n)
		keep := fall
		if replaced {
			keep *= 1 - p
		}
		f.own[i], f.keep[i] = p, keep
		if n > 1 {
			f.keep[i] = math.Pow(keep, n)
			if keep < 1 {
				f.own[i] = p * (1 - f.keep[i]) / (1 - keep)
			} else {
				f.own[i] = p * n
			}
		}
	}
}

// after returns the most that is gained by polls of which the first is at the end
// of a cell between from and upto, when the one before was at the end of cell a,
// and that first one; none is worth otherwise.
func (f *foresight) after(a, from, upto int, factor, price, otherwise float64) (most float64, first int) {
	most = otherwise
	if len(f.gains) > 0 {
		row := f.gains[a*len(f.ends):]
		for b := from; b <= upto; b++ {
			if x := factor*row[b] - price + f.best[b]; x > most {
				most, first = x, b
			}
		}
		return most, first
	}
	gain := f.gain(a, from-1)
	own, keep, best := f.own[:upto+1], f.keep[:upto+1], f.best[:upto+1]
	for b := from; b < len(own); b++ {
		gain = keep[b]*gain + own[b]
		if x := factor*gain - price + best[b]; x > most {
			most, first = x, b
		}
	}
	return most, first
}

// gain returns what a poll at the end of cell b gains after one at that of a.
func (f *foresight) gain(a, b int) (gain float64) {
	if len(f.gains) > 0 {
		return f.gains[a*len(f.ends)+b]
	}
	for i := a + 1; i <= b; i++ {
		gain = f.keep[i]*gain + f.own[i]
	}
	return gain
}

// tabulate works out the gains of a life and an urgency without a recursion: a
// cell's changes count as if they all came in its middle.
func (f *foresight) tabulate(v *policy.Value) {
	n := len(f.ends)
	f.gains = resized(f.gains, n*n)
	for b := range n {
		f.gains[b*n+b] = 0
		sum, pushed, stays := 0.0, 0.0, 1.0 // stays is the chance that no change comes after
		for c := b; c >= 1; c-- {
			length := f.length(c)
			p := min(1, f.mass[c]/length)
			age := float64(f.ends[b]-f.ends[c]) + (length-1)/2
			if v.Counts(age) {
				left := stays
				if length > 1 {
					left *= math.Pow(1-p, (length-1)/2)
				}
				if !v.Replaced() {
					left = v.Survival(-math.Log1p(-min(1, (pushed+p*(length-1)/2)/max(1, age))), age)
				}
				sum += p * length * v.Urgency(age) * left
			}
			pushed += f.mass[c]
			stays *= math.Pow(1-p, length)
			f.gains[(c-1)*n+b] = sum
		}
	}
}
