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

// A clockRecovery reads the dates that earlier runs left behind as the steady time of
// this one. Nothing that was done lies in the future. Where it cannot be told how
// long ago something was, it is taken to have been as late as can be, so that no
// wait is cut short. When a source was last seen is taken to be as early as can be
// instead: a change that was not seen then came after that.
type clockRecovery struct {
	now     time.Time     // steady
	away    time.Duration // the longest that a host can send us away
	longest time.Duration // that a poll takes
	back    time.Duration // from dates to steady time, by how far the wall clock was set in this run
	lost    time.Duration // by its date, what was done seems to be longer ago than it is, by this much at most
	assumed time.Duration // of that, what nobody has seen

	up    time.Duration // of the machine, at now or a little before
	apart time.Duration // so much before at most
	spans []clockSpan   // of this boot

	future int           // sources that were polled in the future, by their dates
	ahead  time.Duration // at most so far
}

// slack is how far from its mark a date may lie.
const slack = time.Second

// date returns the earliest date that a steady time may have been given.
func (r *clockRecovery) date(t time.Time) time.Time { return t.Add(-r.back - r.lost) }

// shift returns how far a date is to be moved. It was given while one of the
// marks was in force; if it may have been several, the one that makes it latest.
func (r *clockRecovery) shift(date time.Time) time.Duration {
	latest, _, marked := r.uptimes(date)
	if !marked {
		return min(r.back+r.lost, r.now.Sub(date))
	}
	return min(r.now.Add(latest-r.up).Sub(date), r.now.Sub(date))
}

// shiftEarly is shift, by the mark that makes it earliest.
func (r *clockRecovery) shiftEarly(date time.Time) time.Duration {
	_, earliest, marked := r.uptimes(date)
	if !marked {
		return min(r.back+r.lost-r.assumed, r.now.Sub(date))
	}
	return min(r.now.Add(earliest-r.up-r.apart).Sub(date), r.now.Sub(date))
}

// uptimes returns the latest and the earliest uptime that a date may stand for, and
// whether a mark says so at all.
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

// notice counts what is dated in the future.
func (r *clockRecovery) notice(s freshet.Status) {
	if early := s.Begun.Add(r.back).Sub(r.now); !s.Begun.IsZero() && early > slack {
		r.future++
		r.ahead = max(r.ahead, early)
	}
}

// standing reads how things stand with a source. What it was asked for when it
// was last polled holds for as long from there as it did.
func (r *clockRecovery) standing(s *freshet.Status) {
	if !s.Begun.IsZero() {
		if s.NotBefore.Sub(s.Begun) > r.away+r.longest { // of an earlier poll, when the clock was ahead
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

// attempts reads what was sent of late.
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

// report says once what is wrong with the dates.
func (r *clockRecovery) report(b *clockKeeper) {
	switch {
	case r.future > 0:
		b.noteClock("set back since the last run",
			"sources_polled_in_the_future", r.future, "by_up_to", units.FormatDuration(r.ahead))
	case r.lost-r.assumed > slack:
		b.noteClock("set ahead since polls were last made", "by_up_to", units.FormatDuration(r.lost-r.assumed))
	}
}

// A clockKeeper keeps in the store how the wall clock was set and when the daemon ran, to
// read the dates of earlier runs by.
type clockKeeper struct {
	store  freshet.StateStore
	dates  *dates
	uptime func() (boot string, up time.Duration) // nil if that cannot be told
	log    *slog.Logger

	observed *ObservedClock // may be nil

	lastSet atomic.Pointer[string] // how the wall clock was last set, if it was
}

// noteClock logs that the wall clock was set, and keeps it for the status.
func (k *clockKeeper) noteClock(how string, args ...any) {
	k.log.Warn("the system clock was "+how+"; polls wait for the time that really passed", args...)
	for i := 0; i+1 < len(args); i += 2 {
		how += fmt.Sprintf(", %s: %v", strings.ReplaceAll(args[i].(string), "_", " "), args[i+1])
	}
	k.lastSet.Store(&how)
}

// A mark says by how much the wall clock was ahead of the machine's uptime from
// some moment on. It changes only when the clock is set.
type mark struct {
	Boot  string        // which time that the machine is up
	From  time.Duration // of uptime
	Ahead time.Duration // at least
	Apart time.Duration // how much more at most
	Early time.Duration `json:",omitempty"` // before From it may have been set like that, but was not looked at

	looked time.Duration // when it was last seen to be in force; only of an ObservedClock
}

// date returns the date of the mark.
func (m mark) date() time.Time { return time.Unix(0, 0).Add(m.From + m.Ahead) }

// clockBelief is the estimator under which marks are kept.
const clockBelief = "clock"

// marks returns the marks in the store, the oldest first. Those that cannot be
// read are none.
func (k *clockKeeper) marks(ctx context.Context) (kept []mark, err error) {
	for belief, err := range k.store.States(ctx, clockBelief) {
		if err != nil {
			return nil, err
		}
		if memory, err := verified(belief.Value); err != nil || json.Unmarshal(memory, &kept) != nil {
			k.log.Warn("cannot read how the clock was set before", "err", err)
			return nil, nil
		}
	}
	return kept, nil
}

// mark returns the mark of this moment, and whether there is one. The machine may
// be busy between the readings of two clocks. So the closest of some readings
// counts, and the date is read first: then the mark is rather too low, and what is
// dated by it is taken to be rather too late.
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

// markError is how much two marks may differ without the clock having been set.
const markError = 5 * time.Millisecond

// clockRecoveryAt returns how dates of this run are to be read.
func (k *clockKeeper) clockRecoveryAt(now time.Time, l sched.Limits) *clockRecovery {
	return &clockRecovery{now: now, away: cmp.Or(l.Backoff.RetryAfter, units.Day), longest: longestPoll(l.Budget), back: -k.dates.Ahead()}
}

// newClockRecovery returns how dates are to be read at a start. The uptime is read before
// the time of the start, so that nothing seems to be longer ago than it is.
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

// splitMarks returns the marks since this boot last began to lead, and those before.
func splitMarks(kept []mark, boot string) (own, others []mark) {
	n := len(kept)
	for n > 0 && kept[n-1].Boot == boot {
		n--
	}
	return kept[n:], kept[:n]
}

// A machine that takes over from another cannot compare their uptimes. The one before kept a mark whenever the
// wall clock was set, but for the last few seconds of it: if this process saw those, they are known, too.
const (
	unseen     = 2 * clockLook
	mostUnseen = 5 * time.Minute // that the wall clock is assumed to have been set ahead otherwise
)

// lostElsewhere returns by how much the wall clock was set ahead on other machines, as long as something that
// was dated before can matter.
func lostElsewhere(others []mark, this mark, l sched.Limits) (lost time.Duration) {
	for i := len(others) - 1; i > 0; i-- {
		before, after := others[i-1], others[i]
		if before.Boot == after.Boot && after.date().Add(lost+max(l.Budget.Per, units.Day)+longestPoll(l.Budget)).After(this.date()) {
			lost += max(0, after.Ahead-before.Ahead)
		}
	}
	return lost
}

// An ObservedClock notes how the wall clock is set while its process does not lead, so that the process can
// read the dates of the one that does.
type ObservedClock struct {
	mu    sync.Mutex
	marks []mark
}

// Observe notes what the wall clock says at an uptime.
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

// mostObserved is how often a clock can be set before the first time is forgotten.
const mostObserved = 100

// since returns what was observed after the marks that were kept. A nil ObservedClock has observed nothing.
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

// A clockSpan is a stretch of uptime in which dates may have been given by a mark.
type clockSpan struct {
	mark
	until time.Duration // of uptime
}

// addSpans takes over the marks of earlier runs, and how the clock is set now: the last
// run may have ended before it took note of that.
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

// markClock keeps for the next start how the wall clock is set now. It was looked at so
// long ago; never is zero. What was in force before is kept for as long as something
// that is dated by it can matter, and what was assumed of it at the start.
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
	if len(own) == 0 { // what this machine saw before it led is of use for the next one, too
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
	return k.store.SaveState(ctx, []freshet.State{{Key: clockBelief, Value: withChecksum(memory)}})
}

// A clockWatch notices when the wall clock is set.
type clockWatch struct {
	loop    *loop
	keeper  *clockKeeper
	limits  *limits
	imports *imports
	log     *slog.Logger
}

// Run looks at the wall clock every few seconds until ctx is done.
func (w *clockWatch) Run(ctx context.Context) error {
	before := w.loop.dates.Ahead()
	if before != 0 {
		w.loop.post(sched.ClockSet(w.loop.dates.Ahead))
	}
	var kept time.Duration
	var looked time.Time // steady, when kept was last true; zero if it was not looked at yet
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
		case ctx.Err() == nil: // a store that cannot be written now is tried again
			w.log.Error("cannot save how the clock is set", "err", err)
		}
	}
}

// clockLook is how often the wall clock is looked at.
const clockLook = 5 * time.Second

// What is pruned for its age is gone for good, and a wall clock that was set ahead
// makes everything old at once. So an age counts from a date that has been
// confirmed: the daemon was at work, by the same clock, well before it.
const (
	confirmAfter  = 12 * time.Hour
	confirmWithin = 48 * time.Hour
)

// heartbeatBelief is the estimator under which it is kept when the daemon was at
// work.
const heartbeatBelief = "witness"

// confirmed returns the latest date that is confirmed: now, or when the daemon
// was last at work before. It is zero if there is none.
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

// heartbeat returns the confirmed date, and stores that the daemon runs now.
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
	return date, k.store.SaveState(ctx, []freshet.State{{Key: heartbeatBelief, Value: withChecksum(memory)}})
}

// confirmedDate returns the date that is confirmed now, and when the daemon was at work.
func (k *clockKeeper) confirmedDate(ctx context.Context, now time.Time) (date time.Time, seen []time.Time, err error) {
	for belief, err := range k.store.States(ctx, heartbeatBelief) {
		if err != nil {
			return time.Time{}, nil, err
		}
		if memory, err := verified(belief.Value); err != nil || json.Unmarshal(memory, &seen) != nil {
			seen = nil // damaged: it is confirmed again
		}
	}
	return confirmed(now, seen), seen, nil
}

// dates stands between the loop, which goes by steady time, and the store, which
// keeps dates of the wall clock. A poll has its dates from one reading of how far
// the two are apart, however the wall clock is set while the poll is under way.
type dates struct {
	*clock.Clock

	mu    sync.Mutex
	ahead map[freshet.SourceID]time.Duration // of a poll that is not yet told to the loop; none if not at all
}

func newDates(wall func() time.Time) *dates {
	return &dates{Clock: clock.New(wall), ahead: map[freshet.SourceID]time.Duration{}}
}

// begin returns a poll with dates, and now as a date. They are the dates of the sources
// that are read from a shared fetch, too.
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

// keep notes how far ahead the wall clock was when a poll of a source began.
func (d *dates) keep(id freshet.SourceID, ahead time.Duration) {
	if ahead == 0 {
		delete(d.ahead, id)
	} else {
		d.ahead[id] = ahead
	}
}

// tell returns an outcome from the log as the loop is to be told of it.
func (d *dates) tell(o freshet.Outcome) freshet.Outcome {
	d.mu.Lock()
	defer d.mu.Unlock()
	ahead := d.ahead[o.Source]
	delete(d.ahead, o.Source)
	return o.Shifted(-ahead)
}

// forget ends a poll that leaves no outcome.
func (d *dates) forget(id freshet.SourceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ahead, id)
}
