package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// A clockRecovery converts dates of earlier runs into the steady time of this run. Nothing lies in
// the future. Where the age of an action is uncertain, it gets the latest possible time, so that no
// wait ends early. The time at which a source was last seen gets the earliest possible time
// instead: an unseen change then falls after it.
type clockRecovery struct {
	now     time.Time     // steady
	away    time.Duration // longest back-off of a host
	longest time.Duration // longest poll
	back    time.Duration // steady time minus date, from setting the wall clock in this run
	lost    time.Duration // most by which dates overstate the age of an action
	assumed time.Duration // the part of lost that was not observed

	up    time.Duration // uptime of the machine at now or slightly earlier
	apart time.Duration // how much earlier at most
	spans []clockSpan   // of this boot

	future int           // sources whose last poll is dated in the future
	ahead  time.Duration // the largest such difference
}

// slack is how far from its mark a date may lie.
const slack = time.Second

// date returns the earliest date that a steady time may have been given.
func (r *clockRecovery) date(t time.Time) time.Time { return t.Add(-r.back - r.lost) }

// shift returns by how much to move a date that was given while a mark was in force. Of several
// possible marks, the one that makes it latest counts.
func (r *clockRecovery) shift(date time.Time) time.Duration {
	latest, _, marked := r.uptimes(date)
	if !marked {
		return min(r.back+r.lost, r.now.Sub(date))
	}
	return min(r.now.Add(latest-r.up).Sub(date), r.now.Sub(date))
}

// shiftEarly is like shift, with the mark that makes the date earliest.
func (r *clockRecovery) shiftEarly(date time.Time) time.Duration {
	_, earliest, marked := r.uptimes(date)
	if !marked {
		return min(r.back+r.lost-r.assumed, r.now.Sub(date))
	}
	return min(r.now.Add(earliest-r.up-r.apart).Sub(date), r.now.Sub(date))
}

// uptimes returns the latest and the earliest uptime of a date, and whether any mark covers it.
func (r *clockRecovery) uptimes(date time.Time) (latest, earliest time.Duration, marked bool) {
	for _, m := range r.spans {
		up := date.Sub(time.Unix(0, 0)) - m.Ahead
		if up < m.From-m.Early-slack || up > m.until+slack {
			continue
		}
		late, early := up+markError, up-m.Apart-markError
		if !marked {
			latest, earliest = late, early
		}
		latest, earliest, marked = max(latest, late), min(earliest, early), true
	}
	return latest, earliest, marked
}

// notice counts sources that were polled in the future.
func (r *clockRecovery) notice(s freshet.Status) {
	if early := s.Begun.Add(r.back).Sub(r.now); !s.Begun.IsZero() && early > slack {
		r.future++
		r.ahead = max(r.ahead, early)
	}
}

// standing converts the dates of a status. A wait that the last poll was asked for keeps its
// length.
func (r *clockRecovery) standing(s *freshet.Status) {
	if !s.Begun.IsZero() {
		if s.NotBefore.Sub(s.Begun) > r.away+r.longest { // set by an earlier poll, when the clock was ahead
			s.NotBefore = time.Time{}
		}
		by := r.shift(s.Begun)
		s.Begun, s.NotBefore, s.Held.Again = s.Begun.Add(by), clock.Shift(s.NotBefore, by), clock.Shift(s.Held.Again, by)
	}
	if !s.Seen.IsZero() {
		by := r.shiftEarly(s.Seen)
		s.Seen, s.Fresh = s.Seen.Add(by), clock.Shift(s.Fresh, by)
	}
}

// attempts converts the dates of recent attempts.
func (r *clockRecovery) attempts(sent []freshet.Attempt) {
	for i := range sent {
		a := &sent[i]
		by := r.shift(a.Began)
		a.Began = a.Began.Add(by)
		if a.Ended = clock.Shift(a.Ended, by); a.Ended.After(r.now) {
			a.Ended = r.now
		}
	}
}

// report logs how the dates are wrong.
func (r *clockRecovery) report(b *clockKeeper) {
	switch {
	case r.future > 0:
		b.noteClock("set back since the last run",
			"sources_polled_in_the_future", r.future, "by_up_to", units.FormatDuration(r.ahead))
	case r.lost-r.assumed > slack:
		b.noteClock("set ahead since polls were last made", "by_up_to", units.FormatDuration(r.lost-r.assumed))
	}
}

// A clockKeeper stores how the wall clock was set and when the daemon ran, to convert the dates of
// this run later.
type clockKeeper struct {
	store  freshet.StateStore
	dates  *dates
	uptime func() (boot string, up time.Duration) // nil if unknown
	log    *slog.Logger

	observed *ObservedClock // may be nil

	lastSet atomic.Pointer[string] // how the wall clock was last set
}

// noteClock logs how the wall clock was set and keeps it for the status.
func (k *clockKeeper) noteClock(how string, args ...any) {
	k.log.Warn("the system clock was "+how+"; polls wait for the time that really passed", args...)
	for i := 0; i+1 < len(args); i += 2 {
		how += fmt.Sprintf(", %s: %v", strings.ReplaceAll(args[i].(string), "_", " "), args[i+1])
	}
	k.lastSet.Store(&how)
}

// A mark is the difference between the wall clock and the uptime of the machine, from some uptime
// on. It changes only when the clock is set.
type mark struct {
	Boot  string        // identifies the boot of the machine
	From  time.Duration // of uptime
	Ahead time.Duration // least difference
	Apart time.Duration // how much larger the difference can be
	Early time.Duration `json:",omitempty"` // how long before From it may have applied unobserved

	looked time.Duration // uptime at which it was last observed; only in an ObservedClock
}

// date returns the date of the mark.
func (m mark) date() time.Time { return time.Unix(0, 0).Add(m.From + m.Ahead) }

// clockKey is the estimator under which marks are kept.
const clockKey = "clock"

// marks returns the stored marks, oldest first. It ignores unreadable ones.
func (k *clockKeeper) marks(ctx context.Context) (kept []mark, err error) {
	for state, err := range k.store.States(ctx, clockKey) {
		if err != nil {
			return nil, err
		}
		if memory, err := verified(state.Value); err != nil || json.Unmarshal(memory, &kept) != nil {
			k.log.Warn("reading the clock marks failed", "err", err)
			return nil, nil
		}
	}
	return kept, nil
}

// mark returns the current mark, if the uptime is known. The machine may be busy between the
// readings of the two clocks, so the closest of several readings counts. The date is read first:
// the mark is then rather too low, and converted dates rather too late.
func (k *clockKeeper) mark() (m mark, ok bool) {
	if k.uptime == nil {
		return m, false
	}
	date := func() time.Time { return k.dates.Now().Add(k.dates.Ahead()) }
	for try := range 5 {
		before := date()
		boot, up := k.uptime()
		took := date().Sub(before)
		if try == 0 || took < m.Apart {
			m = mark{Boot: boot, From: up, Ahead: before.Sub(time.Unix(0, 0)) - up, Apart: took}
		}
		if m.Apart < markError {
			break
		}
	}
	return m, m.Boot != ""
}

// markError is the largest difference between marks of the same clock setting.
const markError = 5 * time.Millisecond

// clockRecoveryAt returns the conversion of dates of this run.
func (k *clockKeeper) clockRecoveryAt(now time.Time, l sched.Limits) *clockRecovery {
	return &clockRecovery{now: now, away: cmp.Or(l.Backoff.RetryAfter, units.Day), longest: longestPoll(l.Budget), back: -k.dates.Ahead()}
}

// newClockRecovery returns the conversion of dates at a start. It reads the uptime before the start
// time, so that no age is overstated.
func (k *clockKeeper) newClockRecovery(ctx context.Context, l sched.Limits) (*clockRecovery, error) {
	before := k.dates.Now()
	this, ok := k.mark()
	r := k.clockRecoveryAt(k.dates.Now(), l)
	r.apart = r.now.Sub(before)
	if !ok {
		return r, nil
	}
	kept, err := k.marks(ctx)
	r.up = this.From
	own, others := splitMarks(kept, this.Boot)
	own = append(own, k.observed.since(own)...)
	r.addSpans(own, this)
	r.lost += lostElsewhere(others, this, l)
	if k.observed != nil && len(others) > 0 && (len(own) == 0 || this.From-own[0].From < unseen) {
		r.assumed = mostUnseen
		r.lost += mostUnseen
	}
	return r, err
}

// splitMarks returns the marks since this boot last began to lead, and those before them.
func splitMarks(kept []mark, boot string) (own, others []mark) {
	n := len(kept)
	for n > 0 && kept[n-1].Boot == boot {
		n--
	}
	return kept[n:], kept[:n]
}

// A machine that takes over from another one cannot compare their uptimes. Its predecessor stored a
// mark whenever the wall clock was set, except in its last seconds. This process may have observed
// those.
const (
	unseen     = 2 * clockLook
	mostUnseen = 5 * time.Minute // assumed unobserved forward setting of the wall clock
)

// lostElsewhere returns by how much the wall clock was set ahead on other machines, for dates that
// can still matter.
func lostElsewhere(others []mark, this mark, l sched.Limits) (lost time.Duration) {
	for i := len(others) - 1; i > 0; i-- {
		before, after := others[i-1], others[i]
		if before.Boot == after.Boot && after.date().Add(lost+max(l.Budget.Per, units.Day)+longestPoll(l.Budget)).After(this.date()) {
			lost += max(0, after.Ahead-before.Ahead)
		}
	}
	return lost
}

// An ObservedClock records how the wall clock is set while its process does not lead, so that the
// process can convert the dates of the leader.
type ObservedClock struct {
	mu    sync.Mutex
	marks []mark
}

// Observe records the date at an uptime.
func (c *ObservedClock) Observe(boot string, up time.Duration, date time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := mark{Boot: boot, From: up, Ahead: date.Sub(time.Unix(0, 0)) - up}
	if n := len(c.marks); n > 0 {
		last := &c.marks[n-1]
		if (m.Ahead - last.Ahead).Abs() <= slack {
			last.looked = up
			return
		}
		m.Early = up - max(last.looked, last.From)
	}
	c.marks = append(c.marks[max(0, len(c.marks)-mostObserved+1):], m)
}

// mostObserved bounds the marks that are kept.
const mostObserved = 100

// since returns the marks observed after those in kept. It returns nil for a nil ObservedClock.
func (c *ObservedClock) since(kept []mark) []mark {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(kept) == 0 {
		return slices.Clone(c.marks)
	}
	last := kept[len(kept)-1]
	return slices.DeleteFunc(slices.Clone(c.marks), func(m mark) bool { return m.Boot != last.Boot || m.From <= last.From })
}

// A clockSpan is a span of uptime in which a mark applied.
type clockSpan struct {
	mark
	until time.Duration // of uptime
}

// addSpans adds the marks of earlier runs and the current one: the last run may have ended before
// it stored that.
func (r *clockRecovery) addSpans(kept []mark, this mark) {
	if n := len(kept); n > 0 {
		this.Early = this.From - kept[n-1].From
		kept = append(kept, this)
	}
	for i, m := range kept {
		until := r.up
		if i+1 < len(kept) {
			until = kept[i+1].From
		}
		r.spans = append(r.spans, clockSpan{m, until})
		r.lost = max(r.lost, this.Ahead-m.Ahead)
	}
}

// markClock stores the current mark for the next start. The clock was last observed the duration
// looked ago, or never if that is zero. Older marks stay while dates under them can matter, and so
// does what was assumed at the start.
func (k *clockKeeper) markClock(ctx context.Context, l sched.Limits, looked, assumed time.Duration) error {
	this, ok := k.mark()
	if !ok {
		return nil
	}
	before, err := k.marks(ctx)
	if err != nil {
		return err
	}
	own, others := splitMarks(before, this.Boot)
	kept := slices.Clone(others[max(0, len(others)-mostObserved):])
	if len(own) == 0 { // observations from before this machine led help the next leader
		own = k.observed.since(nil)
		if assumed > 0 {
			first := append(own, this)[0]
			own = slices.Insert(own, 0, mark{Boot: first.Boot, From: first.From, Ahead: first.Ahead - assumed})
		}
	}
	for i, m := range own {
		ended := this.From
		if i+1 < len(own) {
			ended = own[i+1].From
		}
		if this.From-ended < max(l.Budget.Per, units.Day)+longestPoll(l.Budget) {
			kept = append(kept, m)
		}
	}
	if n := len(kept); n > 0 && kept[n-1].Boot == this.Boot {
		if (this.Ahead-kept[n-1].Ahead).Abs() <= markError && len(before) > 0 && before[len(before)-1].Boot == this.Boot {
			return nil
		}
		this.Early = cmp.Or(looked, this.From-kept[n-1].From)
	}
	memory, err := json.Marshal(append(kept, this))
	if err != nil {
		return err
	}
	return k.store.SaveState(ctx, []freshet.State{{Key: clockKey, Value: withChecksum(memory)}})
}

// A clockWatch detects that the wall clock was set.
type clockWatch struct {
	loop    *loop
	keeper  *clockKeeper
	limits  *limits
	imports *imports
	log     *slog.Logger
}

// Run samples the wall clock every few seconds until ctx is done.
func (w *clockWatch) Run(ctx context.Context) error {
	before := w.loop.dates.Ahead()
	if before != 0 {
		w.loop.post(sched.ClockSet(w.loop.dates.Ahead))
	}
	var kept time.Duration
	var looked time.Time // steady time at which kept was last confirmed; zero if never
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(clockLook):
		}
		ahead := w.loop.dates.Ahead()
		if ahead != before {
			how := "ahead"
			if ahead < before {
				how = "back"
			}
			w.loop.post(sched.ClockSet(w.loop.dates.Ahead))
			w.imports.retellChances(ctx)
			w.keeper.noteClock("set "+how, "by", units.FormatDuration((ahead - before).Abs().Round(time.Second)))
			before = ahead
		}
		now := w.loop.dates.Now()
		if ahead == kept && !looked.IsZero() {
			looked = now
			continue
		}
		var since time.Duration
		if !looked.IsZero() {
			since = now.Sub(looked)
		}
		switch err := w.keeper.markClock(ctx, w.limits.Limits(), since, 0); {
		case err == nil:
			kept, looked = ahead, now
		case ctx.Err() == nil: // retried
			w.log.Error("saving the clock marks failed", "err", err)
		}
	}
}

// clockLook is the interval at which the wall clock is sampled.
const clockLook = 5 * time.Second

// Pruning by age is final, and setting the wall clock ahead makes everything old at once. Ages
// therefore count from a confirmed date: one at which the daemon had been running by the same clock
// for some time.
const (
	confirmAfter  = 12 * time.Hour
	confirmWithin = 48 * time.Hour
)

// heartbeatKey is the key of the times at which the daemon ran.
const heartbeatKey = "witness"

// confirmed returns the latest confirmed date: now, or the last earlier time at which the daemon
// ran. It is zero if there is none.
func confirmed(now time.Time, seen []time.Time) (date time.Time) {
	for _, t := range seen {
		switch {
		case t.After(now.Add(-confirmAfter)):
		case !t.Before(now.Add(-confirmWithin)):
			return now
		case t.After(date):
			date = t
		}
	}
	return date
}

// heartbeat returns the confirmed date and records that the daemon runs now.
func (k *clockKeeper) heartbeat(ctx context.Context) (time.Time, error) {
	now := k.dates.Date(k.dates.Now())
	date, seen, err := k.confirmedDate(ctx, now)
	if err != nil {
		return time.Time{}, err
	}
	seen = slices.DeleteFunc(seen, func(t time.Time) bool {
		return t.After(now) || t.Before(now.Add(-confirmWithin)) && !t.Equal(date)
	})
	memory, err := json.Marshal(append(seen, now))
	if err != nil {
		return time.Time{}, err
	}
	return date, k.store.SaveState(ctx, []freshet.State{{Key: heartbeatKey, Value: withChecksum(memory)}})
}

// confirmedDate returns the confirmed date and the times at which the daemon ran.
func (k *clockKeeper) confirmedDate(ctx context.Context, now time.Time) (date time.Time, seen []time.Time, err error) {
	for state, err := range k.store.States(ctx, heartbeatKey) {
		if err != nil {
			return time.Time{}, nil, err
		}
		if memory, err := verified(state.Value); err != nil || json.Unmarshal(memory, &seen) != nil {
			seen = nil // damaged: confirm again
		}
	}
	return confirmed(now, seen), seen, nil
}

// dates converts between the steady time of the loop and the wall-clock dates of the store. All
// dates of a poll use one reading of the difference, even if the wall clock is set during the poll.
type dates struct {
	*clock.Clock

	mu    sync.Mutex
	ahead map[freshet.SourceID]time.Duration // by source, of polls whose outcome has not reached the loop; absent means zero
}

func newDates(wall func() time.Time) *dates {
	return &dates{Clock: clock.New(wall), ahead: map[freshet.SourceID]time.Duration{}}
}

// begin returns a poll with dates, and a function for the current date. They also apply to sources
// of a shared fetch.
func (d *dates) begin(p freshet.Poll) (dated freshet.Poll, now func() time.Time) {
	ahead := d.Ahead()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(p.Source.ID, ahead)
	for _, c := range p.Along {
		d.keep(c.Source.ID, ahead)
	}
	return p.Shifted(ahead), func() time.Time { return d.Now().Add(ahead) }
}

// keep records the difference at the beginning of a poll.
func (d *dates) keep(id freshet.SourceID, ahead time.Duration) {
	if ahead == 0 {
		delete(d.ahead, id)
	} else {
		d.ahead[id] = ahead
	}
}

// tell returns an outcome from the log in steady time.
func (d *dates) tell(o freshet.Outcome) freshet.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	ahead := d.ahead[o.Source]
	delete(d.ahead, o.Source)
	return o.Shifted(-ahead)
}

// forget ends a poll without an outcome.
func (d *dates) forget(id freshet.SourceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ahead, id)
}
