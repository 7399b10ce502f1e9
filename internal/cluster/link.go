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

// A link is the leader's end of the stream to a worker.
type link struct {
	pool     *Pool
	stream   *stream
	hello    helloMessage
	nameHash uint64 // hash of the name
	address  string
	token    string // the token that it joined with
	trusted  bool   // it may see URLs with secrets
	since    time.Time

	busy     int  // running tasks without slow ones; guarded by Pool.mu
	slow     int  // running tasks that wait for slow servers; guarded by Pool.mu
	draining bool // guarded by Pool.mu

	lastReceived atomic.Int64 // when the last bytes came, in nanoseconds since the link was made
	lastPong     atomic.Int64 // when the last pong was sent, likewise
	leaseUntil   atomic.Int64 // end of the lease, likewise
	answering    atomic.Int64 // questions being answered
	awaitingRoom atomic.Bool  // its next frame waits for memory
	refusing     atomic.Bool  // it refused a task since its last ping: it has no lease or is draining
	gone         chan struct{}
	definitions  sentDefinitions // guarded by stream.mu

	backoffs backoffs // of hosts other than those of its sources

	mu            sync.Mutex
	lastID        uint64
	running       map[uint64]*runningTask
	extraRequests int // quota of requests beyond the first of each task
}

// A runningTask is an assignment that was sent to a worker.
type runningTask struct {
	*assignment
	ctx   context.Context
	ended chan error // capacity 1
}

var (
	errRefused = errors.New("the worker did not begin the task")
)

// clock returns the time since the link was made.
func (l *link) clock() int64 { return int64(time.Since(l.since)) }

func (l *link) touch() { l.lastReceived.Store(l.clock()) }

// progressed records that part of a large frame was transferred. The worker's pings queue behind
// such a frame, so the leader sends pongs unprompted.
func (l *link) progressed() {
	l.touch()
	if now := l.clock(); now-l.lastPong.Load() > int64(l.pool.cfg.Lease/4) {
		l.lastPong.Store(now)
		go l.send(pong, 0, pongMessage{}) // extends no lease
	}
}

// accepts reports whether the worker can poll a source. Hidden means that the URL has a secret.
func (l *link) accepts(s *freshet.Source, hidden bool) bool {
	return !l.draining && runsAnywhere(s) && (l.trusted || !hidden) && (s.From == "" || s.From == l.hello.Place) && (l.hello.Renders || !s.Recipe.Render.On)
}

// ready reports whether the worker takes tasks now. A worker whose lease is over would refuse.
func (l *link) ready(now time.Time) bool {
	return int64(now.Sub(l.since)) < l.leaseUntil.Load() && !l.refusing.Load() && l.busy < l.hello.Slots && l.slow < slowFactor*l.hello.Slots
}

// send sends a frame with the payload v.
func (l *link) send(k kind, id uint64, v any, blobs ...[]byte) error {
	f, err := newFrame(k, id, v, blobs...)
	if err != nil {
		return err
	}
	return l.stream.send(f)
}

// watchSilence closes the link when nothing was received for the length of a lease.
func (l *link) watchSilence() {
	tick := time.NewTicker(l.pool.cfg.Lease / 10)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return
		case <-tick.C:
		}
		if !l.awaitingRoom.Load() && time.Duration(l.clock()-l.lastReceived.Load()) > l.pool.cfg.Lease {
			l.stream.close()
			return
		}
	}
}

// watchToken closes the link when its token is revoked or changed. The worker stays connected while
// the token cannot be verified.
func (l *link) watchToken() {
	cfg := &l.pool.cfg
	for {
		select {
		case <-l.gone:
			return
		case <-time.After(2 * cfg.Lease):
		}
		ctx, cancel := context.WithTimeout(context.Background(), cfg.Lease)
		good, err := validToken(ctx, l.token, cfg.Token(), cfg.Admit)
		cancel()
		if err == nil && !good {
			cfg.Log.Warn("token of a worker is no longer valid; disconnecting the worker", "worker", l.hello.Name, "address", l.address)
			l.stream.close()
			return
		}
	}
}

// readFrames handles the frames of the worker until it is gone.
func (l *link) readFrames() error {
	for {
		f, err := l.stream.receive(l.reserve)
		if err != nil && !errors.Is(err, errNoRoom) {
			return err
		}
		l.touch()
		switch f.Kind {
		case ping:
			err = l.answerPing(f)
		case ask:
			err = l.answerQuestion(f)
		case slow:
			l.handleSlow(f)
		case done:
			l.handleDone(f, err)
			err = nil
		case refused:
			l.refusing.Store(true)
			l.finish(f.ID, errRefused)
		case drain:
			l.pool.mu.Lock()
			l.draining = true
			l.pool.mu.Unlock()
			l.pool.slotsChanged()
		default: // from a newer version
		}
		if err != nil {
			return err
		}
	}
}

// answerPing renews the worker's lease. The leader counts the lease from before it sends the pong,
// and the worker from before it sent the ping, so it ends earlier at the worker.
func (l *link) answerPing(f frame) error {
	var p pingMessage
	if err := f.decode(&p); err != nil {
		return err
	}
	right := min(l.pool.cfg.LeaseLeft(), l.pool.cfg.Lease)
	if right <= 0 {
		return l.send(pong, 0, pongMessage{At: p.At})
	}
	until := l.clock() + int64(right)
	fresh := l.refusing.Swap(false) || l.clock() >= l.leaseUntil.Load()
	l.leaseUntil.Store(max(until, l.leaseUntil.Load()))
	if fresh {
		l.pool.mu.Lock()
		l.pool.wakeLocked()
		l.pool.mu.Unlock()
	}
	return l.send(pong, 0, pongMessage{At: p.At, Right: right})
}

// runningTask returns the running task with an ID, or nil.
func (l *link) runningTask(id uint64) *runningTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// maxAnswering bounds the questions of a worker that are answered at once. A browser requests some
// hundred subresources for each page.
const maxAnswering = 20_000

// answerQuestion answers a question in a goroutine of its own.
func (l *link) answerQuestion(f frame) error {
	var q question
	if err := f.decode(&q); err != nil {
		return err
	}
	u := l.runningTask(f.ID)
	if u == nil {
		return nil // canceled
	}
	if l.answering.Add(1) > maxAnswering {
		return errors.New("the worker asks too many questions at once")
	}
	go func() {
		defer l.answering.Add(-1)
		message, blob := u.reply(u.ctx, q)
		reply, err := newFrame(answer, f.ID, message, blob)
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

func (l *link) handleSlow(f frame) {
	u := l.runningTask(f.ID)
	var seen bool
	if u == nil || u.task.Slow == nil || f.decode(&seen) != nil {
		return
	}
	l.pool.setSlow(l, u.assignment, seen)
	u.task.Slow(seen)
}

// minBytesPerSecond is the transfer rate of a result over the slowest supported network.
const minBytesPerSecond = 16 << 10

// errNoRoom reports that there was no memory for the blobs of a frame.
var errNoRoom = errors.New("no room")

// reserve reserves memory for the blobs of a result. It refuses results of canceled tasks.
func (l *link) reserve(f frame, size int64) error {
	u := l.runningTask(f.ID)
	if f.Kind != done {
		return errTooLarge
	}
	if u == nil {
		return errNoRoom
	}
	u.deadline.Reset(l.pool.requestTimeout() + time.Duration(size/minBytesPerSecond)*time.Second)
	if u.task.Room == nil {
		return nil
	}
	l.awaitingRoom.Store(true)
	defer l.awaitingRoom.Store(false)
	if err := u.task.Room(u.ctx, size); err != nil {
		return fmt.Errorf("%w: %w", errNoRoom, err)
	}
	return nil
}

// handleDone reads the result of a task.
func (l *link) handleDone(f frame, noRoom error) {
	u := l.runningTask(f.ID)
	if u == nil {
		return
	}
	if noRoom != nil {
		l.finish(f.ID, noRoom)
		return
	}
	err := f.decodeDone(&u.done)
	switch {
	case err != nil:
	case u.robotsOrigin != "" && u.done.Robots == nil, u.robotsOrigin == "" && u.done.Result == nil:
		err = errBlobs
	case u.done.Robots != nil && len(f.blobs) == 1:
		u.done.Robots.Answer.Body = f.blobs[0]
	case u.done.Result != nil:
		if _, err = joinResult(u.done.Result, f.blobs); err == nil && len(u.done.Result.Shared) > len(u.task.Shared) {
			err = errBlobs
		}
	}
	if err != nil {
		err = &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s: %w", l.hello.Name, err)}
	}
	l.finish(f.ID, err)
}

// finish ends a running task, once.
func (l *link) finish(id uint64, err error) {
	l.mu.Lock()
	u := l.running[id]
	delete(l.running, id)
	l.mu.Unlock()
	if u != nil {
		u.ended <- err
	}
}

// run has the worker carry out an assignment.
func (l *link) run(ctx context.Context, e *assignment) error {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	u := &runningTask{assignment: e, ctx: asking, ended: make(chan error, 1)}
	l.mu.Lock()
	l.lastID++
	l.extraRequests = min(l.extraRequests+extraRequestsPerTask, maxExtraRequests)
	id := l.lastID
	l.running[id] = u
	l.mu.Unlock()
	defer l.finish(id, nil)
	e.deadline = time.NewTimer(l.pool.requestTimeout())
	defer e.deadline.Stop()
	l.sendTask(id, e)
	select {
	case err := <-u.ended:
		return err
	case <-ctx.Done():
		_ = l.send(cancel, id, nil)
		return context.Cause(ctx)
	case <-e.deadline.C:
		_ = l.send(cancel, id, nil)
		return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s did not finish the poll in time", l.hello.Name)}
	case <-l.gone:
		return l.awaitLost(ctx, u)
	}
}

// sendTask sends an assignment to the worker. A task may arrive although sending it failed.
func (l *link) sendTask(id uint64, e *assignment) {
	m := newTaskMessage(e.task)
	m.Granted, m.Robots = e.firstURL, e.robotsOrigin
	head := frame{Kind: assign, ID: id}
	_ = l.stream.write(func(b []byte) []byte { return m.appendTo(head.appendBinary(b), &l.definitions) }, nil)
}

// awaitLost waits until a lost worker can make no more requests: its lease is over, and so is any
// fetch that it had begun.
func (l *link) awaitLost(ctx context.Context, u *runningTask) error {
	select {
	case err := <-u.ended: // it came before the connection broke
		return err
	default:
	}
	late := time.NewTimer(time.Duration(max(0, l.leaseUntil.Load()-l.clock())) + l.pool.cfg.Total)
	defer late.Stop()
	select {
	case <-late.C:
		return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s was lost during the poll", l.hello.Name)}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
