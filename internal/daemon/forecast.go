package daemon

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// expected are the moments at which next polls are expected, as the loop last said.
// Whoever lists sources asks for all of them, again and again and a page at a time:
// an answer counts for a while, so that the loop is asked once and all pages agree.
type expected struct {
	mu     sync.Mutex
	said   map[freshet.SourceID]saying
	last   time.Time          // when somebody last asked for foreseen polls
	oldest []said             // what to renew, in the order in which it was said; some of it was said anew since
	moved  []freshet.SourceID // sources that were polled since something was said of them, likewise
}

// A saying is what the loop said of a source, and when.
type saying struct {
	next, at time.Time
	polled   bool // the source was, since then
}

// A said is of which source something was said, and when.
type said struct {
	id freshet.SourceID
	at time.Time
}

const (
	// expectedFor is how long an answer counts.
	expectedFor = 5 * time.Second

	// foreseenFor is how long answers are kept and renewed after somebody sorted by them.
	foreseenFor = 2 * time.Minute

	// renewAtOnce is how many of them are renewed in a second at most, and renewAfter
	// the age from which on they are. So the loop spends a few hundredths of its time on
	// it: with 100,000 sources an answer is up to 40 s old.
	renewAtOnce = 2500
	renewAfter  = 10 * time.Second
)

// recallAtOnce is how many sources are looked up in one go. Polls wait meanwhile.
const recallAtOnce = 4096

// recall fills in what was said and is good enough at its age, and returns the places of
// sources of which nothing was.
func (e *expected) recall(now time.Time, ids []freshet.SourceID, next []time.Time, good func(s saying, age time.Duration) bool) (unknown []int) {
	for from := 0; from < len(ids); from += recallAtOnce {
		unknown = e.recallSome(now, ids, next, good, from, unknown)
	}
	return unknown
}

func (e *expected) recallSome(now time.Time, ids []freshet.SourceID, next []time.Time, good func(s saying, age time.Duration) bool, from int, unknown []int) []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := from; i < min(from+recallAtOnce, len(ids)); i++ {
		s, ok := e.said[ids[i]]
		if !ok || !good(s, now.Sub(s.at)) {
			unknown = append(unknown, i)
			continue
		}
		next[i] = s.next
	}
	return unknown
}

// note keeps what was said at now of some of the sources.
func (e *expected) note(now time.Time, ids []freshet.SourceID, next []time.Time, of []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == nil {
		e.said = map[freshet.SourceID]saying{}
	}
	for _, i := range of {
		e.said[ids[i]] = saying{next: next[i], at: now}
		if !e.last.IsZero() { // somebody sorts by it
			e.oldest = append(e.oldest, said{ids[i], now})
		}
	}
}

// forget has the loop asked again after a source that was edited.
func (e *expected) forget(id freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.said, id)
}

// polled notes that a source was. What was said before is good enough to sort by until the
// loop is asked again.
func (e *expected) polled(id freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.said[id]; ok && !s.polled {
		s.polled = true
		e.said[id] = s
		if !e.last.IsZero() {
			e.moved = append(e.moved, id)
		}
	}
}

// again has sources renewed that were due, and were not.
func (e *expected) again(ids []freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if s, ok := e.said[id]; ok {
			s.polled = true
			e.said[id], e.moved = s, append(e.moved, id)
		}
	}
}

// want notes that somebody asks for foreseen polls, and reports whether nobody did for long.
func (e *expected) want(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	idle := e.idle(now)
	if idle { // what was said to others is nowhere to be renewed
		e.forgetAll()
	}
	e.last = now
	return idle
}

// reset forgets all.
func (e *expected) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetAll()
}

func (e *expected) forgetAll() { e.said, e.oldest, e.moved, e.last = nil, nil, nil, time.Time{} }

func (e *expected) idle(now time.Time) bool {
	since := now.Sub(e.last)
	return e.last.IsZero() || since < 0 || since > foreseenFor
}

// due returns the sources after which the loop is to be asked again: those that were polled,
// and those of which it said something longest ago. If nobody has asked for long it forgets all.
func (e *expected) due(now time.Time) (ids []freshet.SourceID, idle bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle(now) {
		e.forgetAll()
		return nil, true
	}
	n := 0
	for ; n < len(e.moved) && len(ids) < renewAtOnce; n++ {
		if e.said[e.moved[n]].polled {
			ids = append(ids, e.moved[n])
		}
	}
	e.moved = slices.Delete(e.moved, 0, n)
	for n = 0; n < len(e.oldest) && len(ids) < renewAtOnce; n++ {
		old := e.oldest[n]
		if age := now.Sub(old.at); 0 <= age && age <= renewAfter {
			break
		}
		if s, ok := e.said[old.id]; ok && !s.polled && s.at.Equal(old.at) {
			ids = append(ids, old.id)
		}
	}
	e.oldest = slices.Delete(e.oldest, 0, n)
	return ids, false
}

// NextPolls returns when the next polls of sources are expected, as Why says it or
// said it a few seconds ago; zero where that cannot be told.
func (d *Daemon) NextPolls(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	return d.nextPolls(ctx, ids, func(s saying, age time.Duration) bool { return !s.polled && 0 <= age && age <= expectedFor })
}

// Foreseen is NextPolls for those who sort all sources again and again: it goes by what was
// said before, however long ago, and waits for the loop only for sources of which nothing was.
// While somebody asks, what was said is renewed beside.
func (d *Daemon) Foreseen(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	if d.expected.want(d.dates.Now()) {
		select {
		case d.foreseen <- struct{}{}:
		default: // it is renewed already
		}
	}
	return d.nextPolls(ctx, ids, func(saying, time.Duration) bool { return true })
}

// nextPolls returns what was said and is good enough, and asks the loop after the others.
func (d *Daemon) nextPolls(ctx context.Context, ids []freshet.SourceID, good func(saying, time.Duration) bool) ([]time.Time, error) {
	next := make([]time.Time, len(ids))
	if !d.running.Load() {
		return next, notRunning()
	}
	unknown := d.expected.recall(d.dates.Now(), ids, next, good)
	for part := range slices.Chunk(unknown, lookAtOnce) {
		if err := d.look(ctx, ids, next, part); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// look asks the loop after some of the sources.
func (d *Daemon) look(ctx context.Context, ids []freshet.SourceID, next []time.Time, part []int) error {
	now := d.dates.Now()
	err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
		for _, i := range part {
			w, _ := d.explain(now, s, ids[i])
			next[i] = w.Next
		}
	})
	if err != nil {
		return fmt.Errorf("look at the sources: %w", err)
	}
	d.expected.note(now, ids, next, part)
	return nil
}

// lookAtOnce is after how many sources the loop is asked in one go. It takes a few
// milliseconds, in which nothing else happens.
const lookAtOnce = 250

// keepForeseen renews what was said of next polls for as long as somebody sorts by it.
func (d *Daemon) keepForeseen(ctx context.Context) {
	d.expected.reset() // what an earlier run said
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.foreseen:
		}
		for d.renewForeseen(ctx) {
		}
	}
}

// renewForeseen waits for a second and renews what is due. It reports whether to go on.
func (d *Daemon) renewForeseen(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
	}
	ids, idle := d.expected.due(d.dates.Now())
	if idle {
		return false
	}
	never := func(saying, time.Duration) bool { return false }
	if _, err := d.nextPolls(ctx, ids, never); err != nil && ctx.Err() == nil {
		d.cfg.Log.Debug("the loop is too busy to say when it polls what", "err", err)
		d.expected.again(ids)
	}
	return ctx.Err() == nil
}

// Prospects returns what is expected of every source that is polled, with the
// service level that holds for it. How often each changes is what the policy has
// learned. If the policy does not learn, or the daemon does not run, it is what
// the store says of the sources' polls.
func (d *Daemon) Prospects(ctx context.Context) ([]forecast.Prospect, error) {
	return d.ProspectsUnder(ctx, d.Limits())
}

// ProspectsUnder is Prospects as it would be under other limits.
func (d *Daemon) ProspectsUnder(ctx context.Context, l sched.Limits) ([]forecast.Prospect, error) {
	levels, strategies, gap := d.levels.tags(), d.strategies.tags(), l.SourceGap
	timed := map[freshet.SourceID]bool{} // that are polled by a strategy
	var all []forecast.Prospect
	var standings learn.Standings
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Paused {
			continue
		}
		p := forecast.ProspectOf(w.Source, freshet.Range{})
		if stake, matters := d.weights.get(w.ID); matters {
			p.Weight *= stake.Factor
		}
		p.Level = freshet.LevelOf(w.Source, levels)
		p.Requests = float64(max(1, w.Standing.Requests))
		p.Cost = w.PriceAt(w.Standing.Requests)
		if s := freshet.StrategyOf(w.Source, strategies); !s.IsZero() {
			timed[w.ID] = true
			p.MinGap, p.MaxGap = s.Gap(), s.Gap()
		}
		if p.MinGap == 0 {
			p.MinGap, p.SharedGap = gap, gap > 0
			if p.MaxGap > 0 { // which comes before the gap of all sources
				p.MinGap = min(gap, p.MaxGap)
			}
		}
		all = append(all, p)
		standings.Add(w)
	}
	for i, rate := range standings.Rates() {
		all[i].Rate = rate
	}
	if from, ok := d.leader.outlooks(); ok && d.running.Load() {
		tick := time.Duration(0)
		if d.cfg.Learner != nil {
			tick = d.cfg.Learner.Tick()
		}
		return all, d.askOutlooks(ctx, from, tick, all, timed)
	}
	return all, nil
}

// askAtOnce is how many sources are asked after in one go. In the meantime the
// loop can do nothing else.
const askAtOnce = 500

// askOutlooks completes prospects by what the policy has learned. When those are polled
// that have a strategy is not for the policy to say.
func (d *Daemon) askOutlooks(ctx context.Context, from outlooker, tick time.Duration, all []forecast.Prospect, timed map[freshet.SourceID]bool) error {
	auto, _ := d.plans().(*policy.Auto)
	for part := range slices.Chunk(all, askAtOnce) {
		outlooks := make([]freshet.Outlook, len(part))
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for i := range part {
				if slot, ok := s.Slot(part[i].ID); ok {
					outlooks[i] = from.Outlook(now, slot)
				}
				part[i].Requests /= float64(1 + len(s.Mates(part[i].ID))) // one poll is for all of them
			}
		})
		if err != nil {
			return err
		}
		for i, o := range outlooks {
			learned(&part[i], o, tick)
			if auto != nil && !timed[part[i].ID] { // which polls as whatif expects, and follows a new budget at once
				part[i].Rest, part[i].Gap = auto.Rest(o), 0
			}
		}
	}
	return nil
}

// inLoop has the loop run a function while nothing else happens, and returns
// when it has.
func (d *Daemon) inLoop(ctx context.Context, f func(now time.Time, s *sched.Scheduler)) error {
	done := make(chan struct{})
	d.inbox.post(sched.Call(func(now time.Time, s *sched.Scheduler) {
		defer close(done)
		f(now, s)
	}))
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// learned completes a prospect by what the policy has learned of its source.
func learned(p *forecast.Prospect, o freshet.Outlook, tick time.Duration) {
	if !(o.Rate.Mean > 0) {
		return
	}
	p.Rate = learn.ToldApart(learn.LongRun(o), tick)
	if o.Polls > 0 && o.Watched > 0 {
		p.Pace = o.Polls / o.Watched
		if o.Captured > 0 {
			p.Seen = learn.Share(o.Tally)
		}
	}
	const few = 3 // polls do not tell how far apart they are
	if o.Polls >= few {
		p.Gap = time.Duration(o.Watched / o.Polls * float64(time.Second))
	}
}

// plans returns the policy whose polls are foreseen: the one at work, or the one
// that would be.
func (d *Daemon) plans() freshet.Policy {
	if d.cfg.Plans != nil {
		return d.cfg.Plans
	}
	return d.cfg.Policy
}

// Terms returns the terms that the present limits set.
func (d *Daemon) Terms() forecast.Terms { return d.TermsUnder(d.Limits()) }

// TermsUnder returns the terms that limits would set.
func (d *Daemon) TermsUnder(l sched.Limits) forecast.Terms {
	t := forecast.Terms{HostGap: l.Hosts.Delay, SourceShare: l.SourceShare, HostShare: l.Hosts.Share}
	if _, ok := d.plans().(*policy.Auto); ok {
		t.Curiosity, t.LevelShare = policy.Curiosity, policy.LevelShare
	}
	if l.Budget.Polls > 0 && l.Budget.Per > 0 {
		t.Budget = l.Budget.PerSecond()
	}
	return t
}
