package sched

import (
	"time"

	"freshet/internal/freshet/timetable"
)

// A source with active hours is polled in them alone, whatever the policy, a strategy, its
// MaxGap or a push want; only a poll by hand does not wait. What falls due outside of them is
// due when they begin.

// hoursTable has the active hours of all sources.
type hoursTable struct {
	ahead  time.Duration // of the clock that they go by
	byName map[string]*openHours
}

// openHours are active hours that sources share.
type openHours struct {
	*timetable.Openings
	table       *hoursTable
	from, until time.Time // of the stretch that was looked at last, by the clock; zero until if it does not end
	open        bool      // in that stretch
}

// of returns the active hours, the same for the same; nil if they are all hours.
func (t *hoursTable) of(hours timetable.Hours) *openHours {
	if hours.IsZero() {
		return nil
	}
	name := hours.String()
	if h := t.byName[name]; h != nil {
		return h
	}
	openings, err := hours.Openings()
	if err != nil { // its zone was there when it was read
		return nil
	}
	h := &openHours{Openings: openings, table: t}
	t.byName[name] = h
	return h
}

// isOpen reports whether a moment is within the hours.
func (h *openHours) isOpen(at time.Time) bool {
	if h == nil {
		return true
	}
	clock := at.Add(h.table.ahead)
	if h.from.IsZero() || clock.Before(h.from) || !h.until.IsZero() && !clock.Before(h.until) {
		h.from, h.until, h.open = clock, h.Turn(clock), h.Open(clock)
	}
	return h.open
}

// opens returns the first moment at or after one that is within the hours.
func (h *openHours) opens(at time.Time) time.Time {
	if h == nil || at.IsZero() || h.isOpen(at) {
		return at
	}
	return h.until.Add(-h.table.ahead)
}

// wake returns when hours begin next that are over at now; zero if there are none.
func (t *hoursTable) wake(now time.Time) (wake time.Time) {
	for _, h := range t.byName {
		if at := h.opens(now); at.After(now) {
			wake = sooner(wake, at)
		}
	}
	return wake
}
