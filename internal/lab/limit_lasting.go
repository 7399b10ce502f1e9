package lab

import (
	"cmp"
	"slices"
)

// Where changes stay and late is as good as early, one poll of a page is as
// good as many, and the later the better. What is left to decide is how much of
// each page's history its poll comes after.

// keepers returns the utility of a schedule for changes that stay. It takes
// pages with most changes to capture first, and polls each as soon as they have
// happened and there is room, which leaves the later instants to those that can
// use no others.
func (b *board) keepers(budget int) (sum float64) {
	type wish struct {
		page, level int32 // to capture so many changes
		worth       float64
	}
	var wishes []wish
	for page := range b.grid.pages {
		s, _ := b.page(page)
		for i := range b.grid.Of(page) {
			wishes = append(wishes, wish{int32(page), int32(i + 1), s.weight * float64(i+1)})
		}
	}
	slices.SortStableFunc(wishes, func(x, y wish) int { return cmp.Compare(y.worth, x.worth) })
	done := make([]bool, len(b.grid.pages))
	rooms := newRooms(b.grid.Instants, budget)
	for _, w := range wishes {
		if done[w.page] {
			continue
		}
		changes := b.grid.Of(int(w.page))
		at, ok := rooms.take(changes[w.level-1])
		if !ok {
			continue
		}
		done[w.page] = true
		s, _ := b.page(int(w.page))
		for _, k := range changes {
			if k <= at {
				sum += s.weight
			}
		}
	}
	return sum
}

// rooms hand out places at instants.
type rooms struct {
	left []int32 // by instant
	next []int32 // by instant: one not before it that may have room; beyond the last if none
}

func newRooms(instants, each int) rooms {
	r := rooms{left: make([]int32, instants+1), next: make([]int32, instants+2)}
	for j := range r.next {
		r.next[j] = int32(j)
	}
	for j := range r.left {
		r.left[j] = int32(min(each, 1<<30))
	}
	return r
}

// take takes a place at the first instant not before from that has one.
func (r rooms) take(from int32) (at int32, ok bool) {
	at = from
	for r.next[at] != at {
		r.next[at] = r.next[r.next[at]] // halve the way for those who follow
		at = r.next[at]
	}
	if int(at) >= len(r.left) {
		return 0, false
	}
	if r.left[at]--; r.left[at] == 0 {
		r.next[at] = at + 1
	}
	return at, true
}

// level makes prices rise with time, where pages gain by waiting: a page that would pay more now
// than later waits, so the higher price bounds nothing.
func level(prices []float64) {
	for j := len(prices) - 2; j >= 1; j-- {
		prices[j] = min(prices[j], prices[j+1])
	}
}

// cheapest sets when[j] to the cheapest instant not before j.
func cheapest(when []int32, prices []float64) {
	for j := len(prices) - 1; j >= 1; j-- {
		when[j] = int32(j)
		if j+1 < len(prices) && prices[when[j+1]] < prices[j] {
			when[j] = when[j+1]
		}
	}
}

// waiting returns the most that a page gains when changes stay and late is as
// good as early: one poll then captures all changes that it comes after, and
// happens at the cheapest such instant.
func waiting(changes []int32, s *pageWeight, prices, demand []float64, when []int32, work *int) float64 {
	best, at := 0.0, int32(0)
	for i, k := range changes {
		if gain := s.weight*float64(i+1) - prices[when[k]]; gain > best {
			best, at = gain, when[k]
		}
	}
	*work += len(changes)
	if at > 0 {
		demand[at]++
	}
	return best
}
