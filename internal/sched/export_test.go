package sched

import (
	"time"

	"freshet/internal/freshet"
)

// InOrder returns times in the order in which deadlines for them come up, some
// of which are taken out between others that are put in.
func InOrder(times []time.Time, between int) (sorted []time.Time) {
	var d deadlines
	for i, at := range times {
		d.push(deadline{at, freshet.Slot(i)})
		if i%2 == 1 && i/2 < between {
			d.push(d.pop())
		}
	}
	for !d.first().IsZero() {
		sorted = append(sorted, d.pop().at)
	}
	return sorted
}

// Packed packs sources, and returns what comes out again, and how many different things
// are said of them.
func Packed(sources ...freshet.Source) (again []freshet.Source, said int) {
	c := newCommons()
	var kept []packed
	for _, s := range sources {
		kept = append(kept, c.pack(s))
	}
	for i := range kept {
		again = append(again, kept[i].whole())
	}
	for _, x := range c.bySum {
		for ; x != nil; x = x.next {
			said++
		}
	}
	for _, p := range kept {
		c.drop(p)
	}
	if len(c.bySum) > 0 {
		panic("what is said of no source is kept")
	}
	return again, said
}

// Stamped returns a time as it is after it was kept in short.
func Stamped(t time.Time) time.Time { return stampOf(t).time() }

// StampsInOrder reports whether the first of two times comes before the other in short.
func StampsInOrder(a, b time.Time) bool { return stampOf(a) < stampOf(b) }

// A HardLimit counts requests against a budget.
type HardLimit struct{ hardLimit }

// NewHardLimit returns the hard limit of a budget: one that keeps each request, or as it is used.
func NewHardLimit(b Budget, exact bool) *HardLimit {
	c := &HardLimit{newHardLimit(b)}
	if exact {
		c.bucket = 0
	}
	return c
}

// Begin begins a request if there is room for it at now.
func (c *HardLimit) Begin(now time.Time) bool {
	c.forget(now)
	if !c.room(1) {
		return false
	}
	c.begin(1)
	return true
}

// Used returns how many requests are counted at now.
func (c *HardLimit) Used(now time.Time) int {
	c.forget(now)
	return c.used()
}

// End ends a request.
func (c *HardLimit) End(now time.Time) { c.end(now, 1, 1) }

// Remember tells of requests that ended before, in any order.
func (c *HardLimit) Remember(ends []time.Time) {
	for _, at := range ends {
		c.end(at, 0, 1)
	}
	c.sort()
}

// Opens returns when the next request is forgotten.
func (c *HardLimit) Opens() time.Time { return c.opens() }

// Kept returns for how many entries there is room.
func (c *HardLimit) Kept() int { return cap(c.landed) }

// A Lookup finds slots by texts.
type Lookup struct {
	*lookup
	texts []string
}

// NewLookup returns a Lookup of slots with such texts, none of which it knows.
func NewLookup(texts []string) *Lookup {
	l := &Lookup{texts: texts}
	l.lookup = newLookup(func(slot freshet.Slot) string { return l.texts[slot] })
	return l
}

// Put, Drop and Get are those of a lookup.
func (l *Lookup) Put(slot freshet.Slot)                { l.put(l.texts[slot], slot) }
func (l *Lookup) Drop(slot freshet.Slot)               { l.drop(l.texts[slot]) }
func (l *Lookup) Get(text string) (freshet.Slot, bool) { return l.get(text) }

// AllRobots returns what is known of the robots.txt files of hosts, in no order.
func AllRobots(s *Scheduler) (all []RobotsRead) {
	for name, h := range s.hosts.byName {
		if !h.robotsRead.IsZero() {
			all = append(all, RobotsRead{Host: name, Delay: h.crawlDelay, Read: h.robotsRead})
		}
	}
	return all
}
