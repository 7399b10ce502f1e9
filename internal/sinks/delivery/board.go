package delivery

import (
	"context"
	"fmt"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/retry"
	"freshet/internal/sinks"
)

// A board reads a stream once for all sinks that want only part of it, and wakes those that
// want what came. So what an entry costs grows with the sinks that want it, and not with
// those that there are.
type board struct {
	store  Store
	stream sinks.Stream

	mu            sync.Mutex
	at            freshet.Cursor // the sinks that want entries up to here have been woken
	place         freshet.Place  // of that, for readers outside; zero if it is not known
	kept          time.Time      // when all subscriptions were last woken to put their places on record
	subscriptions map[string]*subscription
	wants         map[want]map[*subscription]bool
}

// A want is what some sinks wait for: a tag, a source or a query.
type want struct {
	kind wantKind
	name string
}

type wantKind int

const (
	wantTag wantKind = iota
	wantSource
	wantQuery
)

// keepIdle is how often the place is put on record of a sink that wants nothing of what comes.
// After a crash it looks at that again, which changes nothing.
const keepIdle = time.Minute

// newBoard returns a board of a stream, which begins where that ends.
func newBoard(ctx context.Context, store Store, stream sinks.Stream) (*board, error) {
	b := &board{store: store, stream: stream, kept: time.Now(), subscriptions: map[string]*subscription{}, wants: map[want]map[*subscription]bool{}}
	end, err := b.end(ctx)
	b.at = end
	return b, err
}

func (b *board) end(ctx context.Context) (freshet.Cursor, error) {
	if b.stream == sinks.StreamBatches {
		return b.store.Queries.LastBatch(ctx)
	}
	return b.store.LastChange(ctx)
}

// run wakes sinks until ctx is done.
func (b *board) run(ctx context.Context) error {
	for {
		err := retry.Run(ctx, func() error { return b.step(ctx) }, func(error) {}) // sinks say so
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what sinks wait for: %w", err)
		}
	}
}

// step waits for what comes next and wakes those who want it.
func (b *board) step(ctx context.Context) error {
	wait := b.store.Wait
	if b.stream == sinks.StreamBatches {
		wait = b.store.Queries.WaitBatch
	}
	if err := wait(ctx, b.at); err != nil { // only this goroutine moves it
		return err
	}
	end, err := b.end(ctx)
	if err != nil {
		return err
	}
	p := streamPart{}
	if b.hasSubscriptions() {
		if p, err = b.read(ctx); err != nil {
			return err
		}
	}
	if p.to == 0 { // nobody waits, or what there was has been purged
		p.to = end
	}
	b.notify(p)
	return nil
}

// hasSubscriptions reports whether a sink waits.
func (b *board) hasSubscriptions() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subscriptions) > 0
}

// A streamPart is part of a stream, with what its entries are wanted for.
type streamPart struct {
	to      freshet.Cursor
	place   freshet.Place
	entries []entry
}

// An entry is wanted by the sinks with one of the wants.
type entry struct {
	at    freshet.Cursor
	wants []want
}

// read returns what comes next.
func (b *board) read(ctx context.Context) (p streamPart, err error) {
	if b.stream == sinks.StreamBatches {
		batches, err := b.store.Queries.Batches(ctx, queries.MatchQuery{After: b.at, Limit: readLimit})
		for _, one := range batches {
			p.to, p.place = one.Cursor, one.End
			p.entries = append(p.entries, entry{one.Cursor, []want{{wantQuery, string(one.Query)}}})
		}
		return p, err
	}
	changes, err := b.store.Changes(ctx, freshet.ChangeQuery{After: b.at, Limit: readLimit})
	for _, c := range changes {
		wants := []want{{wantSource, string(c.Source)}}
		for _, tag := range c.Label.Tags {
			wants = append(wants, want{wantTag, tag})
		}
		p.to, p.place = c.Cursor, c.Place()
		p.entries = append(p.entries, entry{c.Cursor, wants})
	}
	return p, err
}

// notify wakes the sinks that want new entries.
func (b *board) notify(p streamPart) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range p.entries {
		for _, w := range one.wants {
			for e := range b.wants[w] {
				e.notify(one.at)
			}
		}
	}
	b.at, b.place = p.to, p.place
	if time.Since(b.kept) < keepIdle {
		return
	}
	b.kept = time.Now()
	for _, e := range b.subscriptions {
		e.wake()
	}
}

// A subscription is a sink that waits at a board. The board guards all of it but woken.
type subscription struct {
	board *board
	name  string
	wants []want
	woken chan struct{}

	at          freshet.Cursor // everything up to here has been read or is not wanted
	first, last freshet.Cursor // what is wanted after that begins and ends here, as far as it is known; last is not after at if there is none
}

// subscribe has a sink wait for what it wants after a place. No other of its name may wait.
func (b *board) subscribe(to sinks.Sink, at freshet.Cursor) *subscription {
	e := &subscription{board: b, name: to.Name, woken: make(chan struct{}, 1), at: at}
	for _, tag := range to.Tags {
		e.wants = append(e.wants, want{wantTag, tag})
	}
	for _, id := range to.Sources {
		e.wants = append(e.wants, want{wantSource, string(id)})
	}
	for _, id := range to.Queries {
		e.wants = append(e.wants, want{wantQuery, string(id)})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if at < b.at { // it reads by itself what the board has read already
		e.first, e.last = at+1, b.at
	}
	b.subscriptions[e.name] = e
	for _, w := range e.wants {
		if b.wants[w] == nil {
			b.wants[w] = map[*subscription]bool{}
		}
		b.wants[w][e] = true
	}
	return e
}

// cancel ends the subscription.
func (e *subscription) cancel() {
	b := e.board
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subscriptions, e.name)
	for _, w := range e.wants {
		if delete(b.wants[w], e); len(b.wants[w]) == 0 {
			delete(b.wants, w)
		}
	}
}

// notify notes that an entry is wanted.
func (e *subscription) notify(at freshet.Cursor) {
	if at <= e.at {
		return
	}
	if e.last <= e.at {
		e.first = at
	}
	e.last = at
	e.wake()
}

func (e *subscription) wake() {
	select {
	case e.woken <- struct{}{}:
	default: // it has been woken already
	}
}

// wait returns when there may be something to read, or a place to put on record.
func (e *subscription) wait(ctx context.Context) error {
	select {
	case <-e.woken:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// advance moves the sink on over what it does not want, and reports whether there is something
// after that which it wants.
func (e *subscription) advance() (at freshet.Cursor, more bool) {
	e.board.mu.Lock()
	defer e.board.mu.Unlock()
	if more = e.last > e.at; more {
		e.at = max(e.at, e.first-1)
	} else {
		e.at = max(e.at, e.board.at)
	}
	return e.at, more
}

// read notes that the sink has read up to a place.
func (e *subscription) read(to freshet.Cursor) {
	e.board.mu.Lock()
	defer e.board.mu.Unlock()
	e.at, e.first = max(e.at, to), to+1
}

// placeOf returns how far a sink is that waits because nothing that it wants is before it, and
// where that is for those outside; zero if that is not known. What is on record can be older.
func (b *board) placeOf(name string) (at freshet.Cursor, place freshet.Place, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.subscriptions[name]; e == nil || e.last > e.at || e.at > b.at {
		return 0, place, false
	}
	return b.at, b.place, true
}
