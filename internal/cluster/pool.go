package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/bits"
	"slices"
	"sync"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/mask"
	"freshet/internal/worker"
)

// A Config configures a Pool.
type Config struct {
	Own   worker.Looker // the local worker; nil if there is none
	Slots int           // concurrent polls of the local worker, except those that no other worker can make

	// Token returns the shared token of workers. It must not be empty. A worker that joined with
	// another token is disconnected within a few leases.
	Token func() string

	// Admit reports whether a worker may join with a token other than the shared one. An error
	// means that this is unknown at the moment; nil means that no other token is valid.
	Admit func(ctx context.Context, token string) (bool, error)

	// Trusts reports whether workers with a token may see URLs with secrets; nil means that none
	// may.
	Trusts func(ctx context.Context, token string) (bool, error)

	// LeaseLeft returns how much longer this process is certain to be the leader; nil means for a
	// Lease, which is right for a process with a store of its own.
	LeaseLeft func() time.Duration
	Lease     time.Duration // a worker that is silent for longer is lost; 0 means 5 s
	Epoch     int64         // of the leader's election

	Total time.Duration // longest fetch, as in fetch.Config; 0 means 60 s

	Redirects int    // most redirects of a poll, as in fetch.Config; 0 means 5, negative means none
	Parts     int    // most subresources of a rendered page; 0 means 200
	Body      int64  // most bytes of one result; 0 means 256 MiB
	Agent     string // User-Agent of workers

	Changed func(slots int) // called with the new number of slots of all workers; may be nil
	Log     *slog.Logger    // nil discards
}

// A Pool is the workers of a leader: the local one and those that joined over the network. It
// implements [worker.Looker].
type Pool struct {
	cfg Config

	mu      sync.Mutex
	links   []*link
	ownBusy int           // running polls of the local worker
	wake    chan struct{} // closed when a slot is released or a worker comes or goes; nil if nobody waits

	closed bool // no more workers may join
}

// New returns a Pool.
func New(cfg Config) *Pool {
	cfg.Lease = cmp.Or(cfg.Lease, 5*time.Second)
	cfg.Total = cmp.Or(cfg.Total, time.Minute)
	cfg.Body = cmp.Or(cfg.Body, 256<<20)
	cfg.Redirects, cfg.Parts = cmp.Or(cfg.Redirects, 5), cmp.Or(cfg.Parts, 200)
	if cfg.LeaseLeft == nil {
		cfg.LeaseLeft = func() time.Duration { return cfg.Lease }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Pool{cfg: cfg}
}

// Look has a worker poll a source.
func (h *Pool) Look(ctx context.Context, o worker.Task) worker.Result {
	began := time.Now()
	e := &assignment{task: &o, firstURL: o.URL()}
	own, err := h.dispatch(ctx, e)
	if own {
		defer h.release(nil, e)
		return h.cfg.Own.Look(ctx, o)
	}
	if err == nil {
		err = h.rejectResult(e, e.validate(e.done.Result, time.Since(began)))
	}
	if err != nil {
		found := o.Fail(err)
		found.Took, found.Requests = time.Since(began), e.permitted()
		return found
	}
	return *e.done.Result
}

// rejectResult returns the error of a poll whose result failed validation with the error why.
func (h *Pool) rejectResult(e *assignment, why error) error {
	if why == nil {
		return nil
	}
	h.cfg.Log.Warn("invalid result from a worker; the poll counts as failed", "worker", e.link.hello.Name, "source", e.task.Source.ID, "err", why)
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("invalid result from worker %s: %w", e.link.hello.Name, why)}
}

// Robots has a worker fetch the robots.txt of an origin.
func (h *Pool) Robots(ctx context.Context, o worker.Task, origin string) (worker.RobotsResult, error) {
	e := &assignment{task: &o, firstURL: robots.URL(origin), robotsOrigin: origin}
	// The robots.txt of another host would count for sources that this worker does not poll.
	e.localOnly = freshet.HostOf(origin) != o.Source.Host()
	own, err := h.dispatch(ctx, e)
	switch {
	case own:
		defer h.release(nil, e)
		return h.cfg.Own.Robots(ctx, o, origin)
	case err != nil:
		return worker.RobotsResult{Requests: e.permitted()}, err
	}
	m := e.done.Robots
	e.validateRobots(m)
	return worker.RobotsResult{Answer: m.Answer, RetryAfter: m.RetryAfter, Requests: m.Requests, Bytes: m.Bytes}, m.Err.error()
}

// maxRefusals is how many times a task is offered to workers that refuse it.
const maxRefusals = 20

// dispatch gives an assignment to a worker, and to another one if that refuses. It reports whether
// the local worker is to do it and has a slot for it.
func (h *Pool) dispatch(ctx context.Context, e *assignment) (own bool, err error) {
	for refusals := 0; ; refusals++ {
		if refusals == maxRefusals {
			return false, &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("workers refused the task %d times, most recently %s", refusals, e.link.hello.Name)}
		}
		l, err := h.choose(ctx, e)
		if err != nil {
			return false, err
		}
		if l == nil {
			if e.firstPermitted {
				e.reusePermit()
			}
			return true, nil
		}
		if err := e.permitFirst(ctx); err != nil {
			h.release(l, e)
			return false, err
		}
		e.link = l
		err = l.run(ctx, e)
		h.release(l, e)
		if !errors.Is(err, errRefused) {
			return false, err
		}
	}
}

// runsAnywhere reports whether any worker can poll a source. Sources that need a secret, a file or
// a command of the leader's machine are polled there.
func runsAnywhere(s *freshet.Source) bool {
	return s.Request == nil && s.Expect == nil && freshet.MediumOf(s.URL) == freshet.OnWeb
}

// hasSecretURL reports whether a URL of a task contains a secret, which is masked when shown.
func hasSecretURL(o *worker.Task) bool {
	hides := func(url string) bool { return mask.URL(url) != url }
	return hides(o.Source.URL) || hides(o.Head.Moved.URL)
}

// choose takes a slot of a worker for an assignment. Rendezvous hashing sends the same host to the
// same worker while it has free slots, so that connections are reused. A nil link means the local
// worker.
func (h *Pool) choose(ctx context.Context, e *assignment) (*link, error) {
	o := e.task
	host, hidden := hashName(freshet.HostOf(o.URL())), hasSecretURL(o)
	for {
		h.mu.Lock()
		best, found, can := (*link)(nil), false, false
		var most uint64
		if stays := h.localOnly(e, hidden); h.cfg.Own != nil && (o.Source.From == "" || stays) {
			can = true
			if h.ownBusy < h.cfg.Slots || stays {
				found, most = true, score(host, hashName(""))
			}
		}
		now := time.Now()
		for _, l := range h.links { // checked first: few workers beat the best so far
			s := score(host, l.nameHash)
			if found && s <= most || e.localOnly && h.cfg.Own != nil || !l.accepts(&o.Source, hidden) {
				continue
			}
			can = true
			if l.ready(now) {
				best, found, most = l, true, s
			}
		}
		if found {
			if best == nil {
				h.ownBusy++
			} else {
				best.busy++
			}
			e.slotOf = best
			h.mu.Unlock()
			return best, nil
		}
		if !can {
			err := h.errNoWorkerLocked(&o.Source)
			h.mu.Unlock()
			return nil, err
		}
		if h.wake == nil {
			h.wake = make(chan struct{})
		}
		news := h.wake
		h.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// localOnly reports whether only the local worker can do an assignment. Hidden means that its URL
// has a secret.
func (h *Pool) localOnly(e *assignment, hidden bool) bool {
	s := &e.task.Source
	if e.localOnly || !runsAnywhere(s) {
		return true
	}
	return hidden && s.From == "" && !slices.ContainsFunc(h.links, func(l *link) bool { return l.accepts(s, true) })
}

// errNoWorkerLocked returns the error of a poll that no worker can make.
func (h *Pool) errNoWorkerLocked(s *freshet.Source) error {
	e := &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("no connected worker can poll the source"), Hint: "start one with freshet cluster worker --join URL"}
	if s.From == "" {
		return e
	}
	e.Err = fmt.Errorf("no connected worker at %q can poll the source", s.From)
	e.Hint = fmt.Sprintf("start one with freshet cluster worker --join URL --place %s, or allow polls of the source from anywhere", s.From)
	if slices.ContainsFunc(h.links, func(l *link) bool { return l.accepts(s, false) }) {
		e.Err = fmt.Errorf("no worker at %q is trusted with the secret in the URL of the source", s.From)
		e.Hint = "give a worker there a token of its own and name the token in hands.trusted, or allow polls of the source from anywhere, so that the leader makes them"
	}
	return e
}

// hashName returns a hash of the name of a host or a worker.
func hashName(name string) uint64 {
	f := fnv.New64a()
	f.Write([]byte(name))
	return f.Sum64()
}

// score returns the rendezvous score of a worker for a host, by the hashes of their names. The
// worker with the highest score stays the same when others come and go.
func score(host, name uint64) uint64 {
	x := host ^ bits.RotateLeft64(name, 31)
	for range 2 {
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
	}
	return x ^ x>>29
}

// release releases the slot of an assignment; a nil link means the local worker.
func (h *Pool) release(l *link, e *assignment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.slotOf = nil
	switch {
	case l == nil:
		h.ownBusy--
	case e.slow:
		l.slow, e.slow = l.slow-1, false
	default:
		l.busy--
	}
	h.wakeLocked()
}

// slowFactor is how many tasks that wait for slow servers a worker may run for each of its slots,
// as in package sched.
const slowFactor = 8

// setSlow releases the slot of a task whose server is slow, or takes it again.
func (h *Pool) setSlow(l *link, e *assignment, slow bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.slotOf != l || e.slow == slow { // the task may have ended
		return
	}
	if e.slow = slow; slow {
		l.busy, l.slow = l.busy-1, l.slow+1
		h.wakeLocked()
	} else {
		l.busy, l.slow = l.busy+1, l.slow-1
	}
}

// wakeLocked wakes the callers of choose.
func (h *Pool) wakeLocked() {
	if h.wake != nil {
		close(h.wake)
		h.wake = nil
	}
}

// add adds a worker. If another worker of its name is connected and alive, add returns its address
// instead: two such workers would displace each other forever. A worker that reconnects has the
// same run ID and replaces its old link.
func (h *Pool) add(l *link) (taken string) {
	h.mu.Lock()
	i := slices.IndexFunc(h.links, func(o *link) bool { return o.hello.Name == l.hello.Name })
	var old *link
	if i >= 0 {
		old = h.links[i]
		reconnect := old.hello.Run != "" && old.hello.Run == l.hello.Run
		alive := time.Duration(old.clock()-old.lastReceived.Load()) < h.cfg.Lease/2 // pings come much more often
		if alive && !reconnect {
			h.mu.Unlock()
			return old.address
		}
		h.links = slices.Delete(h.links, i, i+1)
	}
	h.links = append(h.links, l)
	h.wakeLocked()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		l.stream.close()
	}
	if old != nil {
		old.stream.close()
	}
	h.slotsChanged()
	return ""
}

// remove removes a worker that is gone.
func (h *Pool) remove(l *link) {
	close(l.gone)
	h.mu.Lock()
	h.links = slices.DeleteFunc(h.links, func(o *link) bool { return o == l })
	h.wakeLocked()
	h.mu.Unlock()
	h.slotsChanged()
}

// slotsChanged reports the number of slots.
func (h *Pool) slotsChanged() {
	if h.cfg.Changed == nil {
		return
	}
	h.mu.Lock()
	slots := 0
	if h.cfg.Own != nil {
		slots = h.cfg.Slots
	}
	for _, l := range h.links {
		if !l.draining {
			slots += l.hello.Slots
		}
	}
	h.mu.Unlock()
	h.cfg.Changed(slots)
}

// Close closes the streams of all workers. They reconnect to the next leader.
func (h *Pool) Close() {
	h.mu.Lock()
	links := slices.Clone(h.links)
	h.closed = true
	h.mu.Unlock()
	for _, l := range links {
		l.stream.close()
	}
}

// A Status is the state of a worker.
type Status struct {
	Name     string
	Address  string // it connects from
	Place    string
	Slots    int
	Busy     int // running tasks
	Renders  bool
	Draining bool
	Trusted  bool      // it may see URLs with secrets
	Since    time.Time // when it connected
}

// Status returns the state of the connected workers, sorted by name.
func (h *Pool) Status() []Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []Status
	for _, l := range h.links {
		all = append(all, Status{
			Name: l.hello.Name, Address: l.address, Place: l.hello.Place, Slots: l.hello.Slots, Busy: l.busy + l.slow,
			Renders: l.hello.Renders, Draining: l.draining, Trusted: l.trusted, Since: l.since,
		})
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Drain gives a worker no more tasks, or returns freshet.ErrNotFound. The worker leaves when its
// running tasks are done.
func (h *Pool) Drain(name string) error {
	h.mu.Lock()
	i := slices.IndexFunc(h.links, func(l *link) bool { return l.hello.Name == name })
	if i < 0 {
		h.mu.Unlock()
		return freshet.ErrNotFound
	}
	l := h.links[i]
	l.draining = true
	h.mu.Unlock()
	h.slotsChanged()
	return l.send(drain, 0, nil)
}
