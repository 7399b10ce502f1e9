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

	mu    sync.Mutex
	at    freshet.Cursor // who wants what comes up to here has been woken
	told  freshet.Place  // of that, as those outside count; zero if it is not known
	kept  time.Time      // when all ears were last woken to put their places on record
	ears  map[string]*ear
	wants map[want]map[*ear]bool
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
	b := &board{store: store, stream: stream, kept: time.Now(), ears: map[string]*ear{}, wants: map[want]map[*ear]bool{}}
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
	p := posting{}
	if b.heard() {
		if p, err = b.read(ctx); err != nil {
			return err
		}
	}
	if p.to == 0 { // nobody waits, or what there was has been purged
		p.to = end
	}
	b.ring(p)
	return nil
}

// heard reports whether anybody waits.
func (b *board) heard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.ears) > 0
}

// A posting is part of a stream, with who wants it.
type posting struct {
	to      freshet.Cursor
	told    freshet.Place
	entries []posted
}

// A posted entry is wanted by whoever has one of the wants.
type posted struct {
	at    freshet.Cursor
	wants []want
}

// read returns what comes next.
func (b *board) read(ctx context.Context) (p posting, err error) {
	if b.stream == sinks.StreamBatches {
		batches, err := b.store.Queries.Batches(ctx, queries.MatchQuery{After: b.at, Limit: readLimit})
		for _, one := range batches {
			p.to, p.told = one.Cursor, one.End
			p.entries = append(p.entries, posted{one.Cursor, []want{{wantQuery, string(one.Query)}}})
		}
		return p, err
	}
	changes, err := b.store.Changes(ctx, freshet.ChangeQuery{After: b.at, Limit: readLimit})
	for _, c := range changes {
		wants := []want{{wantSource, string(c.Source)}}
		for _, tag := range c.Label.Tags {
			wants = append(wants, want{wantTag, tag})
		}
		p.to, p.told = c.Cursor, c.Place()
		p.entries = append(p.entries, posted{c.Cursor, wants})
	}
	return p, err
}

// ring wakes those who want what came.
func (b *board) ring(p posting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range p.entries {
		for _, w := range one.wants {
			for e := range b.wants[w] {
				e.hear(one.at)
			}
		}
	}
	b.at, b.told = p.to, p.told
	if time.Since(b.kept) < keepIdle {
		return
	}
	b.kept = time.Now()
	for _, e := range b.ears {
		e.wake()
	}
}

// An ear is a sink that waits at a board. All but its bell is guarded by the board.
type ear struct {
	board *board
	name  string
	wants []want
	bell  chan struct{}

	at          freshet.Cursor // everything up to here has been read or is not wanted
	first, last freshet.Cursor // what is wanted after that begins and ends here, as far as it is known; last is not after at if there is none
}

// join has a sink wait for what it wants after a place. Nobody of its name may wait yet.
func (b *board) join(to sinks.Sink, at freshet.Cursor) *ear {
	e := &ear{board: b, name: to.Name, bell: make(chan struct{}, 1), at: at}
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
	b.ears[e.name] = e
	for _, w := range e.wants {
		if b.wants[w] == nil {
			b.wants[w] = map[*ear]bool{}
		}
		b.wants[w][e] = true
	}
	return e
}

// leave ends the waiting.
func (e *ear) leave() {
	b := e.board
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ears, e.name)
	for _, w := range e.wants {
		if delete(b.wants[w], e); len(b.wants[w]) == 0 {
			delete(b.wants, w)
		}
	}
}

// hear notes that an entry is wanted.
func (e *ear) hear(at freshet.Cursor) {
	if at <= e.at {
		return
	}
	if e.last <= e.at {
		e.first = at
	}
	e.last = at
	e.wake()
}

func (e *ear) wake() {
	select {
	case e.bell <- struct{}{}:
	default: // it has been rung already
	}
}

// wait returns when there may be something to read, or a place to put on record.
func (e *ear) wait(ctx context.Context) error {
	select {
	case <-e.bell:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass moves the sink on over what it does not want, and reports whether there is something
// after that which it wants.
func (e *ear) pass() (at freshet.Cursor, more bool) {
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
func (e *ear) read(to freshet.Cursor) {
	e.board.mu.Lock()
	defer e.board.mu.Unlock()
	e.at, e.first = max(e.at, to), to+1
}

// place returns how far a sink is that waits because nothing that it wants is before it, and
// where that is for those outside; zero if that is not known. What is on record can be older.
func (b *board) place(name string) (at freshet.Cursor, told freshet.Place, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.ears[name]; e == nil || e.last > e.at || e.at > b.at {
		return 0, told, false
	}
	return b.at, b.told, true
}
