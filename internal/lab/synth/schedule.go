package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"
)

// A Schedule says when a page changes.
type Schedule interface {
	// Follow returns a function that gives one moment of change after
	// another, all after start and each later than the one before, and the
	// zero time when there are no more. Chance is the page's own: the same
	// seed gives the same moments.
	Follow(start time.Time, chance *rand.Rand) func() time.Time
}

// A history is the changes of a schedule, computed as far as was asked. It only grows, so a
// prefix may be shared.
type history struct {
	mu    sync.Mutex
	next  func() time.Time
	known []time.Time
	over  bool
}

func newHistory(s Schedule, start time.Time, chance *rand.Rand) *history {
	return &history{next: s.Follow(start, chance), known: make([]time.Time, 0, 16)}
}

// reach works the history out until it holds a moment after t, or all there
// are, and returns it with the number of moments at or before t.
func (h *history) reach(t time.Time) (known []time.Time, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.over && (len(h.known) == 0 || !h.known[len(h.known)-1].After(t)) {
		h.grow()
	}
	n = sort.Search(len(h.known), func(i int) bool { return h.known[i].After(t) })
	return h.known, n
}

// nth returns the moment of the nth change, counted from 0.
func (h *history) nth(n int) (time.Time, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for !h.over && len(h.known) <= n {
		h.grow()
	}
	if n < 0 || n >= len(h.known) {
		return time.Time{}, false
	}
	return h.known[n], true
}

// grow adds one moment. Two changes at the same moment would be one, so a
// schedule that stands still is pushed on.
func (h *history) grow() {
	t := h.next()
	if t.IsZero() {
		h.over = true
		return
	}
	if n := len(h.known); n > 0 && !t.After(h.known[n-1]) {
		t = h.known[n-1].Add(time.Millisecond)
	}
	h.known = append(h.known, t)
}

func noMore() time.Time { return time.Time{} }

// Regular changes at equal distances.
type Regular struct {
	Every  time.Duration // not positive means never
	Offset time.Duration // of the first change from the start; zero means Every
}

// Follow implements [Schedule].
func (r Regular) Follow(start time.Time, _ *rand.Rand) func() time.Time {
	if r.Every <= 0 {
		return noMore
	}
	at := start.Add(r.Offset)
	for !at.After(start) {
		at = at.Add(r.Every)
	}
	return func() time.Time {
		now := at
		at = at.Add(r.Every)
		return now
	}
}

// Poisson changes without memory: how long ago the last change was says
// nothing about the next.
type Poisson struct {
	Mean time.Duration // between changes; not positive means never
}

// Follow implements [Schedule].
func (p Poisson) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if p.Mean <= 0 {
		return noMore
	}
	at := start
	return func() time.Time {
		at = at.Add(gap(p.Mean, chance))
		return at
	}
}

// gap draws an exponentially distributed time in whole milliseconds, so that
// moments survive being written down and read again.
func gap(mean time.Duration, chance *rand.Rand) time.Duration {
	d := time.Duration(chance.ExpFloat64() * float64(mean))
	return max(d.Round(time.Millisecond), time.Millisecond)
}

// Burst is silent for long and then changes several times in quick succession,
// so that one change makes the next more likely.
type Burst struct {
	Quiet time.Duration // mean silence before a burst; not positive means never
	Count int           // changes in a burst; less than 1 means 1
	Gap   time.Duration // mean time between them
}

// Follow implements [Schedule].
func (b Burst) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if b.Quiet <= 0 {
		return noMore
	}
	at, left := start, 0
	return func() time.Time {
		if left == 0 {
			at, left = at.Add(gap(b.Quiet, chance)), max(b.Count, 1)
		} else {
			at = at.Add(gap(b.Gap, chance))
		}
		left--
		return at
	}
}

// Cycle is busy and idle by turns, as a newsroom is by day and by night. Its
// day begins at the start and is busiest after a quarter of it.
type Cycle struct {
	Mean  time.Duration // between changes, over a whole day; not positive means never
	Day   time.Duration // zero means a minute
	Depth float64       // from 0, no cycle at all, to 1, asleep at night
}

// Follow implements [Schedule].
func (c Cycle) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if c.Mean <= 0 {
		return noMore
	}
	day := c.Day
	if day <= 0 {
		day = time.Minute
	}
	depth := min(max(c.Depth, 0), 1)
	// Thinning: draw at the busiest rate, and keep what the hour allows.
	busiest := time.Duration(float64(c.Mean) / (1 + depth))
	at := start
	return func() time.Time {
		for {
			at = at.Add(gap(busiest, chance))
			hour := 2 * math.Pi * at.Sub(start).Seconds() / day.Seconds()
			if chance.Float64()*(1+depth) < 1+depth*math.Sin(hour) {
				return at
			}
		}
	}
}

// Clockwork changes at the same marks of every turn of the clock, as a weather
// bulletin does that comes at five and thirty-five past.
type Clockwork struct {
	Turn  time.Duration   // zero means a minute; turns begin at multiples of it in UTC
	Marks []time.Duration // within the turn; none means never
	Late  time.Duration   // each change comes late by up to this much
}

// Follow implements [Schedule].
func (c Clockwork) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	if len(c.Marks) == 0 {
		return noMore
	}
	turn := c.Turn
	if turn <= 0 {
		turn = time.Minute
	}
	marks := slices.Sorted(slices.Values(c.Marks))
	at, mark := start.Truncate(turn), 0
	return func() time.Time {
		for {
			if mark == len(marks) {
				at, mark = at.Add(turn), 0
			}
			now := at.Add(marks[mark])
			if c.Late > 0 {
				now = now.Add(time.Duration(chance.Int64N(int64(c.Late))).Round(time.Millisecond))
			}
			mark++
			if now.After(start) {
				return now
			}
		}
	}
}

// Never does not change.
type Never struct{}

// Follow implements [Schedule].
func (Never) Follow(time.Time, *rand.Rand) func() time.Time { return noMore }

// Until follows another schedule for a while and then changes no more.
type Until struct {
	Schedule Schedule
	Stop     time.Duration // from the start
}

// Follow implements [Schedule].
func (u Until) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	next, end := u.Schedule.Follow(start, chance), start.Add(u.Stop)
	return func() time.Time {
		if t := next(); !t.After(end) {
			return t
		}
		return time.Time{}
	}
}

// Together changes when others do: all pages with the same Seed follow the same
// moments of a schedule, as the pages of a site do when it is published again.
type Together struct {
	Schedule Schedule
	Seed     uint64
	Late     time.Duration // each page comes late by up to this much of its own
}

// Follow implements [Schedule].
func (t Together) Follow(start time.Time, chance *rand.Rand) func() time.Time {
	next := t.Schedule.Follow(start, rand.New(rand.NewPCG(t.Seed, 0)))
	return func() time.Time {
		at := next()
		if at.IsZero() || t.Late <= 0 {
			return at
		}
		return at.Add(time.Duration(chance.Int64N(int64(t.Late))).Round(time.Millisecond))
	}
}
