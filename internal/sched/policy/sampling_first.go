package policy

import (
	"time"

	"freshet/internal/freshet"
)

// A firstCopy is what is there to do before pages can be found changed: to see
// each of them once.
type firstCopy struct {
	slots []freshet.Slot // of pages that were never seen, in the order in which they were put
	open  int            // of them, those that nobody has tried yet, or whose first poll is under way
	fly   int            // polls under way
	shut  int64          // since when none of the others may be polled; 0 if not so
	given bool           // that has lasted too long, and the cycles began without them
}

// firstPatience is how long the cycles wait for pages none of which may be polled,
// such as those of a host that is down.
const firstPatience = time.Hour

// put takes note of whether a page has been seen.
func (f *firstCopy) put(slot freshet.Slot, page *sampledPage, blank bool) {
	if blank && !page.blank {
		f.slots = append(f.slots, slot)
		page.tried = false
	}
	page.blank = blank
}

// observe takes in that a poll of a page ended, and reports whether it is the
// first that saw the page.
func (f *firstCopy) observe(page *sampledPage, seen bool) bool {
	if !page.blank {
		return false
	}
	page.tried, page.blank = true, !seen
	return seen
}

// copyFirst takes up to n pages that were never seen. One of which the first poll
// failed is tried again once a cycle.
func (p *Sampling) copyFirst(at int64, n int, take func(freshet.Slot, float64) bool) (taken int) {
	f := &p.first
	if len(f.slots) == 0 {
		return 0
	}
	kept := f.slots[:0]
	f.open, f.fly = 0, 0
	for _, slot := range f.slots {
		page := &p.pages[slot]
		if !page.blank {
			continue
		}
		kept = append(kept, slot)
		if p.ids[slot] == "" { // paused
			continue
		}
		due := page.flight == grounded && page.last < at && (!page.tried || page.cycle != p.cycle)
		if taken < n && due && p.take(at, slot, asFirst, float64(page.weight), take) {
			taken++
		}
		if page.flight != grounded {
			f.fly++
		}
		if !page.tried {
			f.open++
		}
	}
	f.slots = kept
	switch {
	case taken > 0 || f.fly > 0 || f.open == 0:
		f.shut = 0
	case f.shut == 0:
		f.shut = at
	case at-f.shut >= int64(firstPatience):
		f.given = true
	}
	return taken
}

// waits reports whether the cycles wait for the first copy. Pages that come later
// do not hold up those that are there.
func (p *Sampling) waits() bool { return p.cycle == 0 && p.first.open > 0 && !p.first.given }

// again returns when to ask again while the cycles wait.
func (f *firstCopy) again() time.Time {
	if f.shut == 0 { // there will be news
		return time.Time{}
	}
	return time.Unix(0, f.shut).Add(firstPatience)
}
