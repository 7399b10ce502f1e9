package lab

import (
	"cmp"
	"container/heap"
	"slices"
)

// A chance is a change as a job: it can be captured from its own instant until
// the one before the next change, by one poll that captures nothing else.
type chance struct {
	from, until int32
	weight      float64
}

// chances returns the changes of all pages as jobs.
func (b *board) chances() []chance {
	jobs := make([]chance, 0, b.grid.Changes())
	for page := range b.grid.pages {
		s, _ := b.page(page)
		if s.weight <= 0 {
			continue
		}
		changes := b.grid.Of(page)
		for i, at := range changes {
			until := int32(b.grid.Instants)
			if i+1 < len(changes) {
				until = changes[i+1] - 1
			}
			jobs = append(jobs, chance{at, until, s.weight})
		}
	}
	return jobs
}

// top returns the worth of the best changes of each instant.
func (b *board) top(budget int) (sum float64) {
	jobs := b.chances()
	slices.SortFunc(jobs, func(x, y chance) int {
		return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.weight, x.weight))
	})
	at, taken := int32(0), 0
	for _, j := range jobs {
		if j.from != at {
			at, taken = j.from, 0
		}
		if taken < budget {
			sum += j.weight
			taken++
		}
	}
	return sum
}

// matching returns the greatest worth of changes that can all be captured, when
// every change replaces the one before and late is as good as early.
func (b *board) matching(budget int) Limit {
	jobs := b.chances()
	if len(jobs) == 0 || budget == 0 {
		return exactly(0, MethodDeadline)
	}
	weight := jobs[0].weight
	if !slices.ContainsFunc(jobs, func(j chance) bool { return j.weight != weight }) {
		return exactly(weight*float64(deadlines(jobs, budget, b.grid.Instants)), MethodDeadline)
	}
	return exactly(heaviest(jobs, budget, b.grid.Instants, b.rest), MethodMatroid)
}

// An endings is a heap of the instants at which chances end.
type endings []int32

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h endings) Len() int           { return len(h) }
func (h endings) Less(i, j int) bool { return h[i] < h[j] }
func (h endings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endings) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *endings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// deadlines returns how many jobs can be done, by doing at every instant those
// that end first.
func deadlines(jobs []chance, budget, instants int) (done int) {
	slices.SortFunc(jobs, func(x, y chance) int { return cmp.Compare(x.from, y.from) })
	var open endings
	for at := int32(1); int(at) <= instants; at++ {
		for len(jobs) > 0 && jobs[0].from == at {
			heap.Push(&open, jobs[0].until)
			jobs = jobs[1:]
		}
		for left := budget; left > 0 && len(open) > 0; {
			if heap.Pop(&open).(int32) >= at {
				done++
				left--
			}
		}
	}
	return done
}

// heaviest returns the greatest weight of jobs that can all be done. It takes
// them by weight, and keeps each that the ones taken before leave room for.
func heaviest(jobs []chance, budget, instants int, rest func()) (sum float64) {
	slices.SortStableFunc(jobs, func(x, y chance) int { return cmp.Compare(y.weight, x.weight) })
	p := plan{budget: budget, slots: make([][]int32, instants+1)}
	for _, j := range jobs {
		rest()
		if p.admit(j) {
			sum += j.weight
		}
	}
	return sum
}

// A plan is a timetable in which, at every instant, those jobs are done that
// end first of those that could be.
type plan struct {
	budget int
	slots  [][]int32 // by instant: the ends of the jobs done then
	moves  []move    // made for the job that is being admitted
}

type move struct {
	at, place int
	was       int32
}

// admit puts a job in, if it and all others can then still be done. It displaces
// what ends latest, which displaces another in turn, until there is room.
func (p *plan) admit(j chance) bool {
	p.moves = p.moves[:0]
	until := j.until
	for at := int(j.from); at <= int(until); at++ {
		slot := p.slots[at]
		if len(slot) < p.budget {
			p.slots[at] = append(slot, until)
			return true
		}
		latest := 0
		for i := range slot {
			if slot[i] > slot[latest] {
				latest = i
			}
		}
		if slot[latest] > until {
			p.moves = append(p.moves, move{at, latest, slot[latest]})
			slot[latest], until = until, slot[latest]
		}
	}
	for _, m := range slices.Backward(p.moves) {
		p.slots[m.at][m.place] = m.was
	}
	return false
}
