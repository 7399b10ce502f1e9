package learn

import (
	"math"
	"time"
)

// A clock counts time in ticks, the stretches by which profiles and activity
// are told apart. Tick k runs from k to k+1.
type clock struct {
	start  int64 // nanoseconds since 1970, where tick 0 begins
	length int64 // nanoseconds
	shape  shape
}

func newClock(start time.Time, length time.Duration) clock {
	c := clock{length: int64(length), shape: shape{24, 7, 0}}
	if !start.IsZero() {
		c.start = start.UnixNano()
	}
	if length > time.Hour {
		c.shape[byHour] = max(1, int(24*time.Hour/length))
	}
	if length < 30*time.Minute {
		c.shape[byMinute] = 12
	}
	return c
}

// at returns a moment in ticks. Those more than some three hundred years from
// the start are taken to be no further than that.
func (c clock) at(t time.Time) float64 {
	d := int64(t.Sub(time.Unix(0, c.start)))
	whole := d / c.length
	return float64(whole) + float64(d-whole*c.length)/float64(c.length)
}

// time returns the moment at x ticks.
func (c clock) time(x float64) time.Time {
	whole := math.Floor(x)
	return time.Unix(0, c.start+int64(whole)*c.length+int64((x-whole)*float64(c.length))).UTC()
}

// seconds returns the length of a tick.
func (c clock) seconds() float64 { return float64(c.length) / 1e9 }

// The cycles of a profile.
const (
	byHour    = iota // of the day
	byWeekday        // of the week
	byMinute         // of the hour, by fives
	cycles
)

// A shape says into how many bins each cycle is divided. Ticks that are longer
// than a bin would leave some empty, so then there are fewer, or none.
type shape [cycles]int

// mostBins is as many as there are in all cycles together.
const mostBins = 24 + 7 + 12

// first says where the bins of each cycle begin.
var first = [cycles]int{0, 24, 24 + 7}

// A phase is the bin of each cycle into which a tick falls, by its beginning.
type phase [cycles]uint8

// phase returns where a tick falls. Days are those of UTC.
func (c clock) phase(tick int64) phase {
	sec := floorDiv(c.start+tick*c.length, 1e9)
	day := floorDiv(sec, 86400)
	inDay := sec - day*86400
	return phase{
		uint8(int64(c.shape[byHour]) * inDay / 86400),
		uint8(first[byWeekday] + int((day%7+7)%7)),
		uint8(first[byMinute] + int(inDay%3600/300)),
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A turn is the time in which the budget is enough to poll every source once.
// These are about how many ticks it has: as few as tell what came early in it
// from what came late, more where those would be longer than longestTick, and
// never more than a learner looks back.
const (
	fewestTicks = 16
	mostTicks   = 384
	longestTick = time.Hour // or hours of the day could not be told apart
)

// tickLengths are how many instants a tick can have: lengths that people count
// in, where an instant is a second.
var tickLengths = [...]int{1, 2, 5, 10, 30, 60, 2 * 60, 5 * 60, 10 * 60, 30 * 60, 60 * 60}

// TickFor returns the tick to learn by where a budget of so many polls an
// instant is spent on so many sources. The daemon, the demo and the lab all take
// their tick from here.
func TickFor(sources int, polls float64, instant time.Duration) time.Duration {
	if !(polls > 0) {
		return instant
	}
	turn, length := float64(sources)/polls, 1 // both in instants
	for _, n := range tickLengths {
		if float64(n)*fewestTicks <= turn && time.Duration(n)*instant <= longestTick {
			length = n
		}
	}
	for turn > mostTicks*float64(length) && time.Duration(length)*instant <= math.MaxInt64/2 { // which is 146 years
		length *= 2
	}
	return time.Duration(length) * instant
}
