package lab

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/freshet/timetable"
	"freshet/internal/learn/imported"
	"freshet/internal/sched/cyclic"
)

// A StrategyRequest says what strategy is wanted of a history.
type StrategyRequest struct {
	Every  timetable.Period
	Zone   string // by whose clock the period is counted; "" means UTC
	Method cyclic.Method

	Announced Announced
}

// Announced are the times at which a source announces that it changes.
type Announced struct {
	At    time.Time // one of them
	Every time.Duration
	Right float64 // share of them at which it changed; zero if nothing is announced
}

// latest returns the last announced time that is not after t.
func (a Announced) latest(t time.Time) time.Time {
	past := t.Sub(a.At) % a.Every
	if past < 0 {
		past += a.Every
	}
	return t.Add(-past)
}

// date returns when a change came of which at is a time drawn at random: at an announced time, if
// it can have been one and another draw, between 0 and 1, says so.
func (a Announced) date(u imported.UpdateTime, at time.Time, draw float64) time.Time {
	if draw >= a.Right {
		return at
	}
	for _, t := range []time.Time{a.latest(at), a.latest(u.Until)} {
		if t.After(u.After) {
			return t
		}
	}
	return at
}

// A StrategyPlan is a strategy, and what it captures of the changes of a history.
type StrategyPlan struct {
	Strategy timetable.Strategy
	Changes  int           // of the history
	From, To time.Time     // the first and the last of them
	Width    time.Duration // how uncertain the time of a change is, the median

	// What is captured of the versions, each replaced by the next: by the strategy, by as
	// many polls at equal distances whatever their phase, and by the strategy that is in
	// force, if there is one.
	Planned, Uniform, InForce float64

	// HeldOut says that these are measured on the last third of the history, with a
	// strategy from the first two. Otherwise they are measured on the history that the
	// strategy was planned from, and flatter it.
	HeldOut bool
}

// A Chronicle is when a source changed, as far as that is known, in the order of time.
// Planning from it goes by the minute of a clock.
type Chronicle struct {
	request StrategyRequest
	table   *timetable.Timetable
	updates []imported.UpdateTime
	misses  *cyclic.Misses
}

// NewChronicle returns what is known of a source for a request. Updates may come in any
// order; duplicates count once.
func NewChronicle(updates []imported.UpdateTime, r StrategyRequest) (*Chronicle, error) {
	table, err := timetable.Strategy{Every: r.Every, Zone: r.Zone, Minutes: []int{0}}.Timetable()
	if err != nil {
		return nil, err
	}
	updates = slices.Clone(updates)
	slices.SortFunc(updates, imported.UpdateTime.Compare)
	updates = slices.CompactFunc(updates, func(a, b imported.UpdateTime) bool { return a.Compare(b) == 0 })
	return &Chronicle{request: r, table: table, updates: updates}, nil
}

// period returns how many minutes the period has.
func (c *Chronicle) period() int { return int(c.request.Every.Length() / time.Minute) }

const (
	// draws is how many histories that could have been are planned for together, where it
	// is not known to the minute when changes happened.
	draws = 8

	// A plan is tried on history that it has not seen if there are so many periods and
	// changes of it, and twice as many to plan from.
	heldPeriods = 4
	heldChanges = 10
)

// timeline returns histories that could have been, by the minute.
func (c *Chronicle) timeline(updates []imported.UpdateTime) (t cyclic.Timeline) {
	times := 1
	if width(updates) > time.Minute {
		times = draws
	}
	for n := range times {
		page := make([]int, len(updates))
		for i, u := range updates {
			at := u.Until
			if w := int64(u.Width()); w > 0 {
				draw := rand.New(rand.NewPCG(uint64(n), uint64(u.Until.UnixNano())))
				at = c.request.Announced.date(u, at.Add(-time.Duration(draw.Int64N(w))), draw.Float64())
			}
			page[i] = int(math.Floor(float64(c.table.Clock(at))/60)) + 1
		}
		slices.Sort(page)
		t.Pages = append(t.Pages, page)
	}
	return t
}

// width returns how uncertain update times are, the median.
func width(updates []imported.UpdateTime) time.Duration {
	if len(updates) == 0 {
		return 0
	}
	widths := make([]time.Duration, len(updates))
	for i, u := range updates {
		widths[i] = u.Width()
	}
	slices.Sort(widths)
	return widths[len(widths)/2]
}

// Saves returns how many changes a period more are captured by the k-th poll of it than
// by those before.
func (c *Chronicle) Saves(k int) float64 {
	if len(c.updates) == 0 || k > c.period() {
		return 0
	}
	t := c.timeline(c.updates)
	if c.misses == nil {
		c.misses = cyclic.NewMisses(t, c.period())
	}
	all := 0
	for _, page := range t.Pages {
		all += len(slices.Compact(slices.Clone(page)))
	}
	before := all
	if k > 1 {
		before = c.misses.Fewest(k - 1)
	}
	saved := float64(before-c.misses.Fewest(k)) / float64(len(t.Pages))
	return saved / max(1, c.periods(c.updates))
}

// periods returns over how many periods updates lie.
func (c *Chronicle) periods(updates []imported.UpdateTime) float64 {
	if len(updates) == 0 {
		return 0
	}
	return float64(updates[len(updates)-1].Until.Sub(updates[0].Until)) / float64(c.request.Every.Length())
}

// Plan returns a strategy of so many polls a period, and what it captures next to the
// one that is in force, if one is.
func (c *Chronicle) Plan(polls int, inForce timetable.Strategy) (p StrategyPlan, err error) {
	p.Changes, p.Width = len(c.updates), width(c.updates)
	if n := len(c.updates); n > 0 {
		p.From, p.To = c.updates[0].Until, c.updates[n-1].Until
	}
	all := c.timeline(c.updates)
	offsets, err := cyclic.Plan(all, c.period(), polls, c.request.Method)
	if err != nil {
		return p, err
	}
	p.Strategy = c.strategy(offsets)
	judged := all
	if cut := c.cut(); cut > 0 {
		p.HeldOut = true
		judged = c.timeline(c.updates[cut:])
		if offsets, err = cyclic.Plan(c.timeline(c.updates[:cut]), c.period(), polls, c.request.Method); err != nil {
			return p, err
		}
	}
	p.Planned = judged.Count(c.period(), offsets).Recall()
	p.Uniform = c.uniform(judged, polls)
	if !inForce.IsZero() {
		p.InForce, err = c.captures(inForce, p.HeldOut)
	}
	return p, err
}

// cut returns how many updates a plan is made from that is tried on the others; none if
// there are too few for that.
func (c *Chronicle) cut() int {
	if len(c.updates) == 0 {
		return 0
	}
	from, to := c.updates[0].Until, c.updates[len(c.updates)-1].Until
	at := from.Add(to.Sub(from) / 3 * 2)
	cut, _ := slices.BinarySearchFunc(c.updates, at, func(u imported.UpdateTime, at time.Time) int {
		return cmp.Or(u.Until.Compare(at), -1)
	})
	seen, held := c.updates[:cut], c.updates[cut:]
	if len(held) < heldChanges || len(seen) < 2*heldChanges || c.periods(held) < heldPeriods || c.periods(seen) < 2*heldPeriods {
		return 0
	}
	return cut
}

// strategy returns polls at offsets as a strategy: a poll comes at the end of its minute.
func (c *Chronicle) strategy(offsets []int) timetable.Strategy {
	s := timetable.Strategy{Every: c.request.Every, Zone: c.request.Zone}
	for _, b := range offsets {
		s.Minutes = append(s.Minutes, (b+1)%c.period())
	}
	slices.Sort(s.Minutes)
	return s
}

// uniform returns what so many polls at equal distances capture, on average over where
// they begin.
func (c *Chronicle) uniform(t cyclic.Timeline, polls int) float64 {
	const most = 60 // beginnings are tried
	step := max(1, (c.period()+polls-1)/polls)
	tried, sum := 0, 0.0
	for shift := 0; shift < step; shift += max(1, step/most) {
		sum += t.Count(c.period(), cyclic.Spaced(c.period(), polls, shift)).Recall()
		tried++
	}
	return sum / float64(tried)
}

// captures returns what a strategy captures, whatever its period and zone: of the last
// third, or of all.
func (c *Chronicle) captures(s timetable.Strategy, heldOut bool) (float64, error) {
	other, err := NewChronicle(c.updates, StrategyRequest{Every: s.Every, Zone: s.Zone, Announced: c.request.Announced})
	if err != nil {
		return 0, err
	}
	updates := c.updates
	if heldOut {
		updates = updates[c.cut():]
	}
	offsets := make([]int, len(s.Minutes))
	for i, minute := range s.Minutes {
		offsets[i] = minute - 1
	}
	return other.timeline(updates).Count(other.period(), offsets).Recall(), nil
}

// ShareStrategies shares so many polls a period out over sources, each to where it saves
// most, weighed by what each source matters. One that gets none is best left to a policy.
func ShareStrategies(all []*Chronicle, weights []float64, polls int) []int {
	shares, next := make([]int, len(all)), make([]float64, len(all))
	for i, c := range all {
		next[i] = weights[i] * c.Saves(1)
	}
	for range polls {
		best := -1
		for i, saves := range next {
			if saves > 0 && (best < 0 || saves > next[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		shares[best]++
		next[best] = weights[best] * all[best].Saves(shares[best]+1)
	}
	return shares
}
