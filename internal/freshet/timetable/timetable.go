package timetable

import (
	"time"

	"freshet/internal/invalid"
)

// A Timetable computes the poll times of a strategy.
//
// Where a clock is put forward, the times that it leaves out are kept at the moment of
// the jump, all of them by one poll. Where it is put back, the times that it shows
// twice are kept once, when it shows them first. A strategy for the hour goes by the
// minutes alone: a clock that is put back by an hour repeats none.
type Timetable struct {
	strategy Strategy
	zone     *time.Location
}

// Timetable returns the timetable of a strategy.
func (s Strategy) Timetable() (*Timetable, error) {
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return nil, invalid.Errorf("strategy", "%v", err)
	}
	return &Timetable{strategy: s, zone: zone}, nil
}

// Strategy returns the strategy of the timetable.
func (t *Timetable) Strategy() Strategy { return t.strategy }

// Next returns the first poll time after a moment.
func (t *Timetable) Next(after time.Time) time.Time {
	from := after.Unix() + 1 // all moments are whole seconds
	for at := time.Unix(from, 0); ; {
		at = at.In(t.zone)
		start, end := at.ZoneBounds() // between which the clock is not put forward or back
		_, ahead := at.Zone()
		bound := from
		if !start.IsZero() {
			_, before := start.Add(-1).Zone()
			shift := int64(ahead - before)
			if t.strategy.Every == EveryHour {
				shift %= 3600
			}
			began := start.Unix()
			if left := began + int64(ahead) - shift; shift > 0 && began >= from && t.next(left) < left+shift {
				return start.UTC()
			}
			bound = max(from, began, began-shift)
		}
		if next := t.next(bound+int64(ahead)) - int64(ahead); end.IsZero() || next < end.Unix() {
			return time.Unix(next, 0).UTC()
		}
		at = end
	}
}

// monday is when the first week of 1970 began that began in it, in seconds.
const monday = 4 * 24 * 3600

// next returns the first time of the strategy at or after one that a clock shows. Times
// are seconds that the clock has counted since it showed the beginning of 1970.
func (t *Timetable) next(wall int64) int64 {
	period := int64(t.strategy.Every.Length() / time.Second)
	past := ((wall-monday)%period + period) % period
	begin := wall - past
	for _, minute := range t.strategy.Minutes {
		if at := int64(minute) * 60; at >= past {
			return begin + at
		}
	}
	return begin + period + int64(t.strategy.Minutes[0])*60
}

// Clock returns how many seconds the clock of the strategy has counted at a moment since
// it showed the beginning of the first Monday of 1970. Whole periods are counted from
// there.
func (t *Timetable) Clock(at time.Time) int64 {
	_, ahead := at.In(t.zone).Zone()
	return at.Unix() + int64(ahead) - monday
}
