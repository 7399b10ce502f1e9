package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A link is a worker, as the leader sees it.
type link struct {
	pool    *Pool
	stream  *stream
	hello   helloMessage
	mark    uint64 // of its name
	address string
	token   string // that it has shown
	trusted bool   // with URLs that have secrets
	since   time.Time

	busy     int  // looks but for slow ones, guarded by the pool
	slow     int  // looks at servers that are slow, likewise: they hardly do anything
	draining bool // likewise

	heard  atomic.Int64 // when it last said something, as nanoseconds since the link was made
	said   atomic.Int64 // when it was last told that what it says is heard, likewise
	until  atomic.Int64 // until when it may begin requests, likewise
	asking atomic.Int64 // questions that are being answered
	filled atomic.Bool  // its next frame waits for memory
	shy    atomic.Bool  // it has refused a task since its last ping: it has no right, or is about to leave
	gone   chan struct{}
	told   sentDefinitions // guarded by the stream

	backoffs backoffs // of hosts that are not its sources' own

	mu      sync.Mutex
	next    uint64
	errands map[uint64]*underway
	extra   int // requests that it may ask for beyond the first of each task
}

// An underway is an assignment that a worker has been given.
type underway struct {
	*assignment
	ctx  context.Context
	over chan error // holds one
}

var (
	errRefused = errors.New("the worker did not begin the task")
)

// clock returns how long the link has been there.
func (l *link) clock() int64 { return int64(time.Since(l.since)) }

func (l *link) hear() { l.heard.Store(l.clock()) }

// moved notes that some of what is large has come or gone. While it comes, the pings of the worker
// wait behind it, so it is told now and then that it is heard.
func (l *link) moved() {
	l.hear()
	if now := l.clock(); now-l.said.Load() > int64(l.pool.cfg.Lease/4) {
		l.said.Store(now)
		go l.say(pong, 0, pongMessage{}) // which gives no right
	}
}

// can reports whether the worker can look at a source, whose URL may be one to hide.
func (l *link) can(s *freshet.Source, hidden bool) bool {
	return !l.draining && plain(s) && (l.trusted || !hidden) && (s.From == "" || s.From == l.hello.Place) && (l.hello.Renders || !s.Recipe.Render.On)
}

// ready reports whether the worker takes tasks at now. One that was silent for a while may have
// no right any more, and would only refuse.
func (l *link) ready(now time.Time) bool {
	return int64(now.Sub(l.since)) < l.until.Load() && !l.shy.Load() && l.busy < l.hello.Slots && l.slow < slowTimes*l.hello.Slots
}

// say sends something.
func (l *link) say(k kind, id uint64, v any, blobs ...[]byte) error {
	f, err := newFrame(k, id, v, blobs...)
	if err != nil {
		return err
	}
	return l.stream.send(f)
}

// watch ends a link that is silent for a lease.
func (l *link) watch() {
	tick := time.NewTicker(l.pool.cfg.Lease / 10)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		if !l.filled.Load() && time.Duration(l.clock()-l.heard.Load()) > l.pool.cfg.Lease {
			l.stream.close()
			return
		}
	}
}

// guard ends a link whose token is not good any more, because it was revoked or changed. While that
// cannot be told, the worker stays.
func (l *link) guard() {
	cfg := &l.pool.cfg
	for {
		select {
		case <-l.gone:
			return
		case <-time.After(2 * cfg.Lease):
		}
		ctx, cancel := context.WithTimeout(context.Background(), cfg.Lease)
		good, err := isGood(ctx, l.token, cfg.Token(), cfg.Admit)
		cancel()
		if err == nil && !good {
			cfg.Log.Warn("the token of a worker is not good any more; the worker is cut off", "worker", l.hello.Name, "address", l.address)
			l.stream.close()
			return
		}
	}
}

// listen hears what the worker says until it is gone.
func (l *link) listen() error {
	for {
		f, err := l.stream.receive(l.room)
		if err != nil && !errors.Is(err, errNoRoom) {
			return err
		}
		l.hear()
		switch f.Kind {
		case ping:
			err = l.answerPing(f)
		case ask:
			err = l.answerAsk(f)
		case slow:
			l.tellSlow(f)
		case done:
			l.end(f, err)
			err = nil
		case refused:
			l.shy.Store(true)
			l.finish(f.ID, errRefused)
		case drain:
			l.pool.mu.Lock()
			l.draining = true
			l.pool.mu.Unlock()
			l.pool.changed()
		default: // of a later version
		}
		if err != nil {
			return err
		}
	}
}

// answerPing gives the worker its right. It is counted from before the answer, and by the worker
// from before the question: so it ends there before it ends here.
func (l *link) answerPing(f frame) error {
	var p pingMessage
	if err := f.hear(&p); err != nil {
		return err
	}
	right := min(l.pool.cfg.LeaseLeft(), l.pool.cfg.Lease)
	if right <= 0 {
		return l.say(pong, 0, pongMessage{At: p.At})
	}
	until := l.clock() + int64(right)
	fresh := l.shy.Swap(false) || l.clock() >= l.until.Load()
	l.until.Store(max(until, l.until.Load()))
	if fresh {
		l.pool.mu.Lock()
		l.pool.tellLocked()
		l.pool.mu.Unlock()
	}
	return l.say(pong, 0, pongMessage{At: p.At, Right: right})
}

// underway returns an assignment of the worker has.
func (l *link) underway(id uint64) *underway {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errands[id]
}

// mostAsking is how many questions of a worker are answered at once. One that shows pages in browsers asks
// for some hundred parts of each.
const mostAsking = 20_000

// answerAsk answers a question beside what else is said.
func (l *link) answerAsk(f frame) error {
	var q question
	if err := f.hear(&q); err != nil {
		return err
	}
	u := l.underway(f.ID)
	if u == nil {
		return nil // it is not wanted any more
	}
	if l.asking.Add(1) > mostAsking {
		return errors.New("it asks too much at once")
	}
	go func() {
		defer l.asking.Add(-1)
		say, blob := u.reply(u.ctx, q)
		reply, err := newFrame(answer, f.ID, say, blob)
		if err != nil {
			reply, _ = newFrame(answer, f.ID, answerMessage{Err: newErrorMessage(err)})
		}
		reply.Ask = f.Ask
		if l.stream.send(reply) != nil {
			l.stream.close()
		}
	}()
	return nil
}

func (l *link) tellSlow(f frame) {
	u := l.underway(f.ID)
	var seen bool
	if u == nil || u.task.Slow == nil || f.hear(&seen) != nil {
		return
	}
	l.pool.setSlow(l, u.assignment, seen)
	u.task.Slow(seen)
}

// slowestBytes of a result come in a second over the slowest network.
const slowestBytes = 16 << 10

// errNoRoom says that there was no memory for what came with a frame.
var errNoRoom = errors.New("no room")

// room makes room for what an assignment found. What nobody waits for any more gets none.
func (l *link) room(f frame, size int64) error {
	u := l.underway(f.ID)
	if f.Kind != done {
		return errTooLarge
	}
	if u == nil {
		return errNoRoom
	}
	u.late.Reset(l.pool.longest() + time.Duration(size/slowestBytes)*time.Second)
	if u.task.Room == nil {
		return nil
	}
	l.filled.Store(true)
	defer l.filled.Store(false)
	if err := u.task.Room(u.ctx, size); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	return nil
}

// end takes in what an assignment found.
func (l *link) end(f frame, noRoom error) {
	u := l.underway(f.ID)
	if u == nil {
		return
	}
	if noRoom != nil {
		l.finish(f.ID, noRoom)
		return
	}
	err := f.hearDone(&u.found)
	switch {
	case err != nil:
	case u.robots != "" && u.found.Manners == nil, u.robots == "" && u.found.Finding == nil:
		err = errBlobs
	case u.found.Manners != nil && len(f.blobs) == 1:
		u.found.Manners.Answer.Body = f.blobs[0]
	case u.found.Finding != nil:
		if _, err = joinResult(u.found.Finding, f.blobs); err == nil && len(u.found.Finding.Shared) > len(u.task.Shared) {
			err = errBlobs
		}
	}
	if err != nil {
		err = &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s: %w", l.hello.Name, err)}
	}
	l.finish(f.ID, err)
}

// finish ends an assignment, once.
func (l *link) finish(id uint64, err error) {
	l.mu.Lock()
	u := l.errands[id]
	delete(l.errands, id)
	l.mu.Unlock()
	if u != nil {
		u.over <- err
	}
}

// do has the worker do an assignment.
func (l *link) do(ctx context.Context, e *assignment) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	u := &underway{assignment: e, ctx: asking, over: make(chan error, 1)}
	l.mu.Lock()
	l.next++
	l.extra = min(l.extra+taskExtra, mostExtra)
	id := l.next
	l.errands[id] = u
	l.mu.Unlock()
	defer l.finish(id, nil)
	e.late = time.NewTimer(l.pool.longest())
	defer e.late.Stop()
	l.send(id, e)
	select {
	case err := <-u.over:
		return err
	case <-ctx.Done():
		_ = l.say(cancel, id, nil)
		return context.Cause(ctx)
	case <-e.late.C:
		_ = l.say(cancel, id, nil)
		return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s did not finish the poll in time", l.hello.Name)}
	case <-l.gone:
		return l.endLost(ctx, u)
	}
}

// send sends an assignment to the worker. A task that could not be sent may have arrived all the same.
func (l *link) send(id uint64, e *assignment) {
	say := newTaskMessage(e.task)
	say.Granted, say.Robots = e.first, e.robots
	head := frame{Kind: order, ID: id}
	_ = l.stream.write(func(b []byte) []byte { return say.appendTo(head.appendBinary(b), &l.told) }, nil)
}

// endLost waits until a worker that is gone can make no request any more: its right is over, and
// so is any fetch that it had begun.
func (l *link) endLost(ctx context.Context, u *underway) error {
	select {
	case err := <-u.over: // it came with the last frames
		return err
	default:
	}
	late := time.NewTimer(time.Duration(max(0, l.until.Load()-l.clock())) + l.pool.cfg.Total)
	defer late.Stop()
	select {
	case <-late.C:
		return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s was lost during the poll", l.hello.Name)}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
