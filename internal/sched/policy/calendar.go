package policy

import (
	"slices"
	"strings"
	"time"

	"freshet/internal/units"
)

// A Calendar says when cycles of downloads begin and at what times pages are polled,
// by the clock on the wall of a time zone. Days on which clocks are set are an hour
// shorter or longer, and cycles with them.
type Calendar struct {
	Zone *time.Location // nil means UTC

	// Begin is how long after midnight cycles of whole days begin, and those of whole
	// weeks how long after the midnight before Monday. Shorter cycles are counted from
	// midnight, whatever it says.
	Begin time.Duration

	// Open, if not zero, is when pages may be polled.
	Open Window
}

// A Window is a part of every day, or of every week, from one time to another. It can
// go over midnight, and over Sunday night. The zero Window is always open.
type Window struct {
	Weekly   bool
	From, To time.Duration // after midnight, or after the midnight before Monday
}

// IsZero reports whether the window is always open.
func (w Window) IsZero() bool { return w.From == w.To }

// week is how long one is by the clock on the wall.
const week = 7 * units.Day

// firstMonday is where cycles by the clock are counted from by default.
var firstMonday = time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC)

// wall returns what a clock on the wall of the zone shows: the time since the first
// Monday, if all days had 24 hours.
func (c *Calendar) wall(t time.Time) time.Duration {
	y, m, d := t.In(c.zone()).Date()
	hour, minute, second := t.In(c.zone()).Clock()
	days := time.Date(y, m, d, hour, minute, second, t.Nanosecond(), time.UTC)
	return days.Sub(firstMonday)
}

// when returns when a clock on the wall shows so much.
func (c *Calendar) when(wall time.Duration) time.Time {
	t := firstMonday.Add(wall)
	y, m, d := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(y, m, d, hour, minute, second, t.Nanosecond(), c.zone())
}

func (c *Calendar) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// floor returns how often length goes into x, rounded down.
func floor(x, length time.Duration) int64 {
	n := int64(x / length)
	if x%length < 0 {
		n--
	}
	return n
}

// cycle returns which cycle of a length a time is in, when it began and when it ends.
func (c *Calendar) cycle(t time.Time, length time.Duration) (number int64, began, ends time.Time) {
	begin := time.Duration(0)
	if length%units.Day == 0 {
		begin = c.Begin
	}
	number = floor(c.wall(t)-begin, length)
	return number, c.when(begin + time.Duration(number)*length), c.when(begin + time.Duration(number+1)*length)
}

// every returns how often the window opens.
func (w Window) every() time.Duration {
	if w.Weekly {
		return week
	}
	return units.Day
}

// opening returns when the window opens for the n-th time, and when it then shuts.
func (c *Calendar) opening(n int64) (opens, shuts time.Time) {
	start := time.Duration(n) * c.Open.every()
	end := start + c.Open.To
	if c.Open.To <= c.Open.From {
		end += c.Open.every()
	}
	return c.when(start + c.Open.From), c.when(end)
}

// open reports whether pages may be polled at a time, and if not, when they next may.
func (c *Calendar) open(t time.Time) (next time.Time, ok bool) {
	if c.Open.IsZero() {
		return time.Time{}, true
	}
	n := floor(c.wall(t), c.Open.every())
	for i := n - 1; ; i++ { // the one before may still be open
		opens, shuts := c.opening(i)
		if t.Before(opens) {
			return opens, false
		}
		if t.Before(shuts) {
			return time.Time{}, true
		}
	}
}

// openFor returns for how long pages may be polled between two times.
func (c *Calendar) openFor(from, to time.Time) (sum time.Duration) {
	if c.Open.IsZero() {
		return to.Sub(from)
	}
	for i := floor(c.wall(from), c.Open.every()) - 1; ; i++ {
		opens, shuts := c.opening(i)
		if !opens.Before(to) {
			return sum
		}
		if opens.Before(from) {
			opens = from
		}
		if shuts.After(to) {
			shuts = to
		}
		sum += max(0, shuts.Sub(opens))
	}
}

// A moment is a time of the day, or of the week.
type moment struct {
	at     time.Duration
	weekly bool
}

// weekdays are the days of a week, as options name them.
var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// parseMoment reads "22:00", or "sat 22:00".
func parseMoment(s string) (m moment, ok bool) {
	words := strings.Fields(s)
	if len(words) == 2 {
		day := slices.Index(weekdays, strings.ToLower(words[0]))
		if day < 0 {
			return m, false
		}
		m, words = moment{time.Duration(day) * units.Day, true}, words[1:]
	}
	if len(words) != 1 {
		return m, false
	}
	t, err := units.ParseTimeOfDay(words[0])
	m.at += time.Duration(t) * time.Minute
	return m, err == nil
}

// parseWindow reads "22:00-06:00", or "fri 22:00-mon 06:00".
func parseWindow(s string) (Window, bool) {
	begin, end, _ := strings.Cut(s, "-")
	from, ok := parseMoment(begin)
	to, fine := parseMoment(end)
	return Window{Weekly: from.weekly, From: from.at, To: to.at}, ok && fine && from.weekly == to.weekly && from.at != to.at
}

// calendar takes the options that say when cycles of a length begin and when pages
// are polled; nil means that cycles are counted from where time begins.
func (o *Options) calendar(length, offset time.Duration) *Calendar {
	var c Calendar
	c.Zone = read(o, "zone", "a time zone, such as Europe/Berlin", func(s string) (*time.Location, bool) {
		zone, err := time.LoadLocation(s)
		return zone, err == nil && s != "" && s != "Local"
	}, nil)
	begin := read(o, "begin", "a time of the day such as 02:00, or of the week such as sat 02:00", parseMoment, moment{})
	c.Open = read(o, "window", "a part of the day such as 22:00-06:00, or of the week such as fri 22:00-mon 06:00", parseWindow, Window{})
	c.Begin = begin.at + offset
	days := length > 0 && length%units.Day == 0
	switch {
	case begin.at != 0 && offset > 0:
		o.refuse("begin", "and offset say the same; give one of them")
	case begin.at != 0 && !days:
		o.refuse("begin", "is for cycles of whole days or weeks, such as cycle=7d")
	case begin.weekly && length%week != 0:
		o.refuse("begin", "names a day of the week, but cycles of "+units.FormatDuration(length)+" begin on other days, too")
	case c.Zone != nil && c.Open.IsZero() && length <= 0:
		o.refuse("zone", "is for a cycle or a window, and neither is given")
	case c.Zone != nil && length > 0 && !days && units.Day%length != 0:
		o.refuse("zone", "is for cycles of whole days, or of a length that goes into one")
	}
	if !days && c.Zone == nil && c.Open.IsZero() {
		return nil
	}
	return &c
}
