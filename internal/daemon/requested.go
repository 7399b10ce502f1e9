package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A requester asks the loop for polls.
type requester struct {
	store   freshet.Store
	loop    *loop
	waiting waitList
}

// Poll asks for a poll of a source as soon as the budget and its host allow,
// and returns how it ended.
func (r *requester) Poll(ctx context.Context, id freshet.SourceID) (freshet.Outcome, error) {
	if _, err := r.store.Source(ctx, id); err != nil {
		return freshet.Outcome{}, err
	}
	if !r.loop.running.Load() {
		return freshet.Outcome{}, ErrNotRunning
	}
	answer := r.waiting.add(id)
	defer r.waiting.remove(id, answer)
	return r.await(ctx, sched.PollRequested{Source: id}, answer)
}

// First waits for the first poll of a source, which the daemon makes by itself as soon as the budget and
// the host allow, and returns how it ended; if it was made already, how the latest poll ended.
func (r *requester) First(ctx context.Context, id freshet.SourceID) (freshet.Outcome, error) {
	answer := r.waiting.add(id) // before looking whether there was one
	defer r.waiting.remove(id, answer)
	w, err := r.store.Source(ctx, id)
	if err != nil {
		return freshet.Outcome{}, err
	}
	if w.Status.Polls > 0 {
		past, err := r.store.Outcomes(ctx, freshet.OutcomeQuery{Source: id, Newest: true, Limit: 1})
		if err != nil || len(past) > 0 {
			return append(past, freshet.Outcome{})[0], err
		}
	}
	if !r.loop.running.Load() {
		return freshet.Outcome{}, ErrNotRunning
	}
	return r.await(ctx, sched.PollRequested{Source: id, First: true}, answer)
}

// await asks the loop for a poll and waits for its outcome.
func (r *requester) await(ctx context.Context, asked sched.PollRequested, answer <-chan freshet.Outcome) (freshet.Outcome, error) {
	r.loop.post(asked)
	select {
	case o := <-answer:
		return o, nil
	case <-ctx.Done():
		return freshet.Outcome{}, context.Cause(ctx)
	}
}

// Ask asks for a poll of a source and does not wait for it.
func (r *requester) Ask(ctx context.Context, id freshet.SourceID) error {
	if _, err := r.store.Source(ctx, id); err != nil {
		return err
	}
	if !r.loop.running.Load() {
		return ErrNotRunning
	}
	r.loop.post(sched.PollRequested{Source: id})
	return nil
}

// Hurry exempts the next requested poll of a source from the source's min_gap.
func (r *requester) Hurry(ctx context.Context, id freshet.SourceID) error {
	return r.inspect(ctx, id, func(_ time.Time, s *sched.Scheduler) { s.Hurry(id) })
}

// HoldAsked returns what would keep back a poll of a source requested now.
func (r *requester) HoldAsked(ctx context.Context, id freshet.SourceID) (h sched.Hold, err error) {
	err = r.inspect(ctx, id, func(now time.Time, s *sched.Scheduler) { h, _ = s.HoldAsked(now, id) })
	h.Until = r.loop.dates.Date(h.Until)
	return h, err
}

// inspect runs a function in the loop if the source exists and the daemon runs.
func (r *requester) inspect(ctx context.Context, id freshet.SourceID, look func(now time.Time, s *sched.Scheduler)) error {
	if _, err := r.store.Source(ctx, id); err != nil {
		return err
	}
	if !r.loop.running.Load() {
		return ErrNotRunning
	}
	return r.loop.call(ctx, look)
}

// Push notes that a hook or a hub says that a source has changed. The source is polled
// soon, unless its pushes have rarely come with a change: then it is polled as scheduled,
// and the poll shows whether the push was right.
func (r *requester) Push(ctx context.Context, id freshet.SourceID) error {
	if _, err := r.store.Source(ctx, id); err != nil {
		return err
	}
	if !r.loop.running.Load() {
		return ErrNotRunning
	}
	past, err := r.store.Outcomes(ctx, freshet.OutcomeQuery{Source: id, Newest: true, Limit: pushesLately})
	if err != nil {
		return err
	}
	p := sched.Push{Source: id}
	p.Right, p.Times = pushesBorneOut(past)
	p.Urgent = (p.Right+priorRight)/(p.Times+priorTimes) >= leastUrgent
	r.loop.post(p)
	return nil
}

const (
	pushesLately = 200 // outcomes that are looked at for pushes
	pushesFade   = 0.9 // what a push counts for when there was one more after it

	// Pushes are believed at first. It takes five in a row that bring nothing until they
	// are not, and one or two that do until they are again.
	priorRight, priorTimes = 1.5, 2
	leastUrgent            = 0.27
)

// pushesBorneOut returns how many pushes of late came with a change, and how many there
// were, from the outcomes of a source, the newest first. What is long past counts for less.
func pushesBorneOut(past []freshet.Outcome) (right, times float64) {
	weight := 1.0
	for _, o := range past {
		if o.Pushed.IsZero() || !o.Result.Seen() || o.Since.IsZero() {
			continue
		}
		times += weight
		if o.Result == freshet.Changed {
			right += weight
		}
		weight *= pushesFade
	}
	return right, times
}

// A Held is a source whose poll is wanted, and what keeps it back.
type Held struct {
	Source freshet.SourceID
	Hold   sched.Hold
}

// A Round is what asking for polls of many sources brought.
type Round struct {
	After freshet.Cursor // the outcomes of the round come after this one
	Asked []Held
	Left  []Held // not asked for, to spare them
}

// A RoundConfig says how many sources are asked for at once.
type RoundConfig struct {
	Hurry bool // do not wait for their MinGap
	Spare bool // leave out those that the daemon itself would not poll now
}

// Round asks for polls of many sources, to be made in this order.
func (r *requester) Round(ctx context.Context, ids []freshet.SourceID, cfg RoundConfig) (round Round, err error) {
	if !r.loop.running.Load() {
		return round, ErrNotRunning
	}
	if round.After, err = r.store.LastOutcome(ctx); err != nil {
		return round, err
	}
	for part := range slices.Chunk(ids, askAtOnce) {
		var asks []sched.Event
		err := r.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, id := range part {
				if h, ok := s.Hold(now, id); ok && cfg.Spare && spared(h) {
					round.Left = append(round.Left, r.held(id, h))
					continue
				}
				if cfg.Hurry {
					s.Hurry(id)
				}
				if h, ok := s.HoldAsked(now, id); ok {
					round.Asked = append(round.Asked, r.held(id, h))
					asks = append(asks, sched.PollRequested{Source: id})
				}
			}
		})
		if err != nil {
			return round, err
		}
		r.loop.post(asks...)
	}
	return round, nil
}

// spared reports whether a source is best left alone for now: it failed, was just
// polled, or is said to be as it was.
func spared(h sched.Hold) bool {
	switch h.Kind {
	case sched.HoldHours, sched.HoldBackoff, sched.HoldMinGap, sched.HoldSourceGap, sched.HoldHint:
		return true
	}
	return false
}

func (r *requester) held(id freshet.SourceID, h sched.Hold) Held {
	h.Until = r.loop.dates.Date(h.Until)
	return Held{id, h}
}

// Wanted returns the requested polls that have not been made and the polls under way,
// with what they wait for.
func (r *requester) Wanted(ctx context.Context) (all []Held, err error) {
	if !r.loop.running.Load() {
		return nil, ErrNotRunning
	}
	var ids []freshet.SourceID
	if err := r.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) { ids = s.Requested() }); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(ids, askAtOnce) {
		err := r.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, id := range part {
				if h, ok := s.Hold(now, id); ok && (h.Asked || h.Kind == sched.HoldUnderWay) {
					all = append(all, r.held(id, h))
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// A waitList is who waits for the outcome of a requested poll.
type waitList struct {
	mu      sync.Mutex
	waiting map[freshet.SourceID][]chan freshet.Outcome
}

func (a *waitList) add(id freshet.SourceID) chan freshet.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		a.waiting = map[freshet.SourceID][]chan freshet.Outcome{}
	}
	c := make(chan freshet.Outcome, 1)
	a.waiting[id] = append(a.waiting[id], c)
	return c
}

func (a *waitList) remove(id freshet.SourceID, c chan freshet.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := a.waiting[id][:0]
	for _, other := range a.waiting[id] {
		if other != c {
			rest = append(rest, other)
		}
	}
	if a.waiting[id] = rest; len(rest) == 0 {
		delete(a.waiting, id)
	}
}

func (a *waitList) answer(o freshet.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.waiting[o.Source] {
		select {
		case c <- o:
		default: // answered already
		}
	}
}
