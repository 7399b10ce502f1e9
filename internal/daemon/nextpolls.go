package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// nextPolls are when next polls are expected, as the loop last said. Lists of sources ask
// for all of them, often and a page at a time: an answer counts for a while, so that the
// loop is asked once and all pages agree.
type nextPolls struct {
	loop    *loop
	explain func(now time.Time, s *sched.Scheduler, id freshet.SourceID) (Why, bool)
	log     *slog.Logger
	wanted  chan struct{} // a caller sorts by next polls

	mu       sync.Mutex
	answers  map[freshet.SourceID]answeredNext
	lastUsed time.Time          // when a caller last sorted by next polls
	oldest   []answeredAt       // what to renew, the oldest first; some of it was renewed since
	moved    []freshet.SourceID // sources that were polled since their answer, likewise
}

// An answeredNext is what the loop said of the next poll of a source, and when.
type answeredNext struct {
	next, at time.Time
	polled   bool // the source was, since then
}

// An answeredAt is when the loop said something of which source.
type answeredAt struct {
	id freshet.SourceID
	at time.Time
}

const (
	// expectedFor is how long an answer counts.
	expectedFor = 5 * time.Second

	// foreseenFor is how long answers are kept and renewed after a caller sorted by them.
	foreseenFor = 2 * time.Minute

	// renewAtOnce is how many of them are renewed in a second at most, and renewAfter
	// the age from which on they are. So the loop spends a few hundredths of its time on
	// it: with 100,000 sources an answer is up to 40 s old.
	renewAtOnce = 2500
	renewAfter  = 10 * time.Second
)

// recallAtOnce is how many sources are looked up in one go. Polls wait meanwhile.
const recallAtOnce = 4096

// recall fills in the answers that are good enough at their age, and returns the places of
// the other sources.
func (e *nextPolls) recall(now time.Time, ids []freshet.SourceID, next []time.Time, good func(s answeredNext, age time.Duration) bool) (unknown []int) {
	for from := 0; from < len(ids); from += recallAtOnce {
		unknown = e.recallSome(now, ids, next, good, from, unknown)
	}
	return unknown
}

func (e *nextPolls) recallSome(now time.Time, ids []freshet.SourceID, next []time.Time, good func(s answeredNext, age time.Duration) bool, from int, unknown []int) []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := from; i < min(from+recallAtOnce, len(ids)); i++ {
		s, ok := e.answers[ids[i]]
		if !ok || !good(s, now.Sub(s.at)) {
			unknown = append(unknown, i)
			continue
		}
		next[i] = s.next
	}
	return unknown
}

// note keeps the answers of now of some of the sources.
func (e *nextPolls) note(now time.Time, ids []freshet.SourceID, next []time.Time, of []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answers == nil {
		e.answers = map[freshet.SourceID]answeredNext{}
	}
	for _, i := range of {
		e.answers[ids[i]] = answeredNext{next: next[i], at: now}
		if !e.lastUsed.IsZero() { // a caller sorts by them
			e.oldest = append(e.oldest, answeredAt{ids[i], now})
		}
	}
}

// forget has the loop asked again after a source that was edited.
func (e *nextPolls) forget(id freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.answers, id)
}

// polled notes that a source was polled. The last answer is good enough to sort by until the
// loop is asked again.
func (e *nextPolls) polled(id freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.answers[id]; ok && !s.polled {
		s.polled = true
		e.answers[id] = s
		if !e.lastUsed.IsZero() {
			e.moved = append(e.moved, id)
		}
	}
}

// again has sources renewed that were due, and were not.
func (e *nextPolls) again(ids []freshet.SourceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if s, ok := e.answers[id]; ok {
			s.polled = true
			e.answers[id], e.moved = s, append(e.moved, id)
		}
	}
}

// want notes that a caller sorts by next polls, and reports whether none did for long.
func (e *nextPolls) want(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	idle := e.idle(now)
	if idle { // earlier answers are not in the list to renew
		e.forgetAll()
	}
	e.lastUsed = now
	return idle
}

// reset forgets all.
func (e *nextPolls) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forgetAll()
}

func (e *nextPolls) forgetAll() {
	e.answers, e.oldest, e.moved, e.lastUsed = nil, nil, nil, time.Time{}
}

func (e *nextPolls) idle(now time.Time) bool {
	since := now.Sub(e.lastUsed)
	return e.lastUsed.IsZero() || since < 0 || since > foreseenFor
}

// due returns the sources to ask the loop for again: those that were polled, and those with
// the oldest answers. If no caller has sorted for long it forgets all.
func (e *nextPolls) due(now time.Time) (ids []freshet.SourceID, idle bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle(now) {
		e.forgetAll()
		return nil, true
	}
	n := 0
	for ; n < len(e.moved) && len(ids) < renewAtOnce; n++ {
		if e.answers[e.moved[n]].polled {
			ids = append(ids, e.moved[n])
		}
	}
	e.moved = slices.Delete(e.moved, 0, n)
	for n = 0; n < len(e.oldest) && len(ids) < renewAtOnce; n++ {
		old := e.oldest[n]
		if age := now.Sub(old.at); 0 <= age && age <= renewAfter {
			break
		}
		if s, ok := e.answers[old.id]; ok && !s.polled && s.at.Equal(old.at) {
			ids = append(ids, old.id)
		}
	}
	e.oldest = slices.Delete(e.oldest, 0, n)
	return ids, false
}

// NextPolls returns when the next polls of sources are expected, as Why says it or
// said it a few seconds ago; zero where that is not known.
func (e *nextPolls) NextPolls(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	return e.lookUp(ctx, ids, func(s answeredNext, age time.Duration) bool { return !s.polled && 0 <= age && age <= expectedFor })
}

// Foreseen is NextPolls for callers that sort all sources often: it returns the last answers,
// however old, and waits for the loop only for sources without one. While it is called, Run
// renews the answers.
func (e *nextPolls) Foreseen(ctx context.Context, ids []freshet.SourceID) ([]time.Time, error) {
	if e.want(e.loop.dates.Now()) {
		signal(e.wanted)
	}
	return e.lookUp(ctx, ids, func(answeredNext, time.Duration) bool { return true })
}

// lookUp returns the answers that are good enough, and asks the loop after the others.
func (e *nextPolls) lookUp(ctx context.Context, ids []freshet.SourceID, good func(answeredNext, time.Duration) bool) ([]time.Time, error) {
	next := make([]time.Time, len(ids))
	if !e.loop.running.Load() {
		return next, notRunning()
	}
	unknown := e.recall(e.loop.dates.Now(), ids, next, good)
	for part := range slices.Chunk(unknown, lookAtOnce) {
		if err := e.ask(ctx, ids, next, part); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// ask asks the loop after some of the sources.
func (e *nextPolls) ask(ctx context.Context, ids []freshet.SourceID, next []time.Time, part []int) error {
	now := e.loop.dates.Now()
	err := e.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
		for _, i := range part {
			w, _ := e.explain(now, s, ids[i])
			next[i] = w.Next
		}
	})
	if err != nil {
		return fmt.Errorf("look at the sources: %w", err)
	}
	e.note(now, ids, next, part)
	return nil
}

// lookAtOnce is after how many sources the loop is asked in one go. It takes a few
// milliseconds, in which nothing else happens.
const lookAtOnce = 250

// Run renews the answers for as long as a caller sorts by them, until ctx is done.
func (e *nextPolls) Run(ctx context.Context) error {
	e.reset() // the answers of an earlier run
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.wanted:
		}
		for e.renew(ctx) {
		}
	}
}

// renew waits for a second and renews what is due. It reports whether to go on.
func (e *nextPolls) renew(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
	}
	ids, idle := e.due(e.loop.dates.Now())
	if idle {
		return false
	}
	never := func(answeredNext, time.Duration) bool { return false }
	if _, err := e.lookUp(ctx, ids, never); err != nil && ctx.Err() == nil {
		e.log.Debug("the loop is too busy to say when it polls what", "err", err)
		e.again(ids)
	}
	return ctx.Err() == nil
}
