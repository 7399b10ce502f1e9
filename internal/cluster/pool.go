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

// A Config says how a leader works with workers.
type Config struct {
	Own   worker.Looker // the worker of this process; nil if it has none
	Slots int           // looks that it makes at once, but for those that no other worker can make

	// Token returns what workers show by now. It must not be empty. A worker that has shown another one is
	// cut off in some leases.
	Token func() string

	// Admit reports whether a worker may join that shows another token, or that this cannot be
	// told now; nil means that none may.
	Admit func(ctx context.Context, token string) (bool, error)

	// Trusts reports whether workers that show a token are given URLs with secrets; nil means that none are.
	Trusts func(ctx context.Context, token string) (bool, error)

	// LeaseLeft returns for how long from now this process is sure to be the leader; nil means
	// for a Lease, as for one that has its store to itself.
	LeaseLeft func() time.Duration
	Lease     time.Duration // after so long without a word a worker is lost; 0 means 5 s
	Epoch     int64         // of this leader

	Total time.Duration // the longest that a worker fetches, as in fetch.Config; 0 means 60 s

	Redirects int    // that a look follows at most, as in fetch.Config; 0 means 5, less means none
	Parts     int    // requests that a page in a browser makes at most; 0 means 200
	Body      int64  // the most bytes that come with one result; 0 means 256 MiB
	Agent     string // the User-Agent of workers

	Changed func(slots int) // is called with the new number of slots of all workers; may be nil
	Log     *slog.Logger    // nil means silence
}

// A Pool is the workers of a leader: its own, and those that have come over the network. It
// implements [worker.Looker].
type Pool struct {
	cfg Config

	mu    sync.Mutex
	links []*link
	own   int           // looks of the own worker under way
	news  chan struct{} // closed when a slot is free or a worker comes or goes; nil if nobody waits for that

	closed bool // nobody is let in any more
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

// Look has a worker look at a source.
func (h *Pool) Look(ctx context.Context, o worker.Task) worker.Result {
	began := time.Now()
	e := &assignment{task: &o, first: o.URL()}
	own, err := h.send(ctx, e)
	if own {
		defer h.free(nil, e)
		return h.cfg.Own.Look(ctx, o)
	}
	if err == nil {
		err = h.implausible(e, e.validate(e.found.Finding, time.Since(began)))
	}
	if err != nil {
		found := o.Fail(err)
		found.Took, found.Requests = time.Since(began), e.granted()
		return found
	}
	return *e.found.Finding
}

// implausible returns how a look ends of which a worker said what cannot be true.
func (h *Pool) implausible(e *assignment, why error) error {
	if why == nil {
		return nil
	}
	h.cfg.Log.Warn("a worker says what cannot be true; the poll counts as failed", "worker", e.by.hello.Name, "source", e.task.Source.ID, "err", why)
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("worker %s says what cannot be true: %w", e.by.hello.Name, why)}
}

// Robots has a worker read the robots.txt of an origin.
func (h *Pool) Robots(ctx context.Context, o worker.Task, origin string) (worker.RobotsResult, error) {
	e := &assignment{task: &o, first: robots.URL(origin), robots: origin}
	// What another host's says would count for sources that no worker is given.
	e.stays = freshet.HostOf(origin) != o.Source.Host()
	own, err := h.send(ctx, e)
	switch {
	case own:
		defer h.free(nil, e)
		return h.cfg.Own.Robots(ctx, o, origin)
	case err != nil:
		return worker.RobotsResult{Requests: e.granted()}, err
	}
	m := e.found.Manners
	e.validateRobots(m)
	return worker.RobotsResult{Answer: m.Answer, RetryAfter: m.RetryAfter, Requests: m.Requests, Bytes: m.Bytes}, m.Err.error()
}

// mostRefusals is how often a task is given to workers that refuse it.
const mostRefusals = 20

// send gives an assignment to a worker, and to another if that refuses. It reports whether the
// worker of this process is to do it, which then has a slot for it.
func (h *Pool) send(ctx context.Context, e *assignment) (own bool, err error) {
	for refusals := 0; ; refusals++ {
		if refusals == mostRefusals {
			return false, &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("workers refused the task %d times, the last of them %s", refusals, e.by.hello.Name)}
		}
		l, err := h.choose(ctx, e)
		if err != nil {
			return false, err
		}
		if l == nil {
			if e.asked {
				e.grantAgain()
			}
			return true, nil
		}
		if err := e.ask(ctx); err != nil {
			h.free(l, e)
			return false, err
		}
		e.by = l
		err = l.do(ctx, e)
		h.free(l, e)
		if !errors.Is(err, errRefused) {
			return false, err
		}
	}
}

// plain reports whether any worker can make a look. What needs a secret, a file or a command
// of the leader's machine stays there.
func plain(s *freshet.Source) bool {
	return s.Request == nil && s.Expect == nil && freshet.MediumOf(s.URL) == freshet.OnWeb
}

// secret reports whether a URL of a task is one that is shown only in part.
func secret(o *worker.Task) bool {
	hides := func(url string) bool { return mask.URL(url) != url }
	return hides(o.Source.URL) || hides(o.Head.Moved.URL)
}

// choose takes a slot of the worker that is to make a look: of those that can, the one that
// knows the host best, so that connections stay warm. Nil means the worker of this process.
func (h *Pool) choose(ctx context.Context, e *assignment) (*link, error) {
	o := e.task
	host, hidden := markOf(freshet.HostOf(o.URL())), secret(o)
	for {
		h.mu.Lock()
		best, found, can := (*link)(nil), false, false
		var most uint64
		if stays := h.stays(e, hidden); h.cfg.Own != nil && (o.Source.From == "" || stays) {
			can = true
			if h.own < h.cfg.Slots || stays {
				found, most = true, score(host, markOf(""))
			}
		}
		now := time.Now()
		for _, l := range h.links { // of many workers few are the best so far
			s := score(host, l.mark)
			if found && s <= most || e.stays && h.cfg.Own != nil || !l.can(&o.Source, hidden) {
				continue
			}
			can = true
			if l.ready(now) {
				best, found, most = l, true, s
			}
		}
		if found {
			if best == nil {
				h.own++
			} else {
				best.busy++
			}
			e.at = best
			h.mu.Unlock()
			return best, nil
		}
		if !can {
			err := h.errNoWorkerLocked(&o.Source)
			h.mu.Unlock()
			return nil, err
		}
		if h.news == nil {
			h.news = make(chan struct{})
		}
		news := h.news
		h.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// stays reports whether only the worker of this process can do an assignment, of which it is known
// whether its URL is hidden.
func (h *Pool) stays(e *assignment, hidden bool) bool {
	s := &e.task.Source
	if e.stays || !plain(s) {
		return true
	}
	return hidden && s.From == "" && !slices.ContainsFunc(h.links, func(l *link) bool { return l.can(s, true) })
}

// errNoWorkerLocked says why a source cannot be looked at.
func (h *Pool) errNoWorkerLocked(s *freshet.Source) error {
	e := &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("no worker is connected that can look at the source"), Hint: "start one with freshet worker --join URL"}
	if s.From == "" {
		return e
	}
	e.Err = fmt.Errorf("no worker at %q is connected that can look at the source", s.From)
	e.Hint = fmt.Sprintf("start one with freshet worker --join URL --place %s, or let the source be looked at from anywhere", s.From)
	if slices.ContainsFunc(h.links, func(l *link) bool { return l.can(s, false) }) {
		e.Err = fmt.Errorf("no worker at %q is trusted with the secret in the URL of the source", s.From)
		e.Hint = "give a worker there a token of its own and name the token in hands.trusted, or let the source be looked at from anywhere: then the leader does it"
	}
	return e
}

// markOf returns a number for the name of a host or a worker.
func markOf(name string) uint64 {
	f := fnv.New64a()
	f.Write([]byte(name))
	return f.Sum64()
}

// score is by how much a worker is the one for a host, by their marks: of any number of workers the one
// with the highest score stays the same when others come and go.
func score(host, name uint64) uint64 {
	x := host ^ bits.RotateLeft64(name, 31)
	for range 2 {
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
	}
	return x ^ x>>29
}

// free gives a slot back; nil is the own worker.
func (h *Pool) free(l *link, e *assignment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.at = nil
	switch {
	case l == nil:
		h.own--
	case e.slow:
		l.slow, e.slow = l.slow-1, false
	default:
		l.busy--
	}
	h.tellLocked()
}

// slowTimes is how many times as many looks at slow servers as others a worker may have under
// way, as in package sched.
const slowTimes = 8

// setSlow gives the slot of a look back whose server is slow, or takes it again.
func (h *Pool) setSlow(l *link, e *assignment, slow bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.at != l || e.slow == slow { // it may be over
		return
	}
	if e.slow = slow; slow {
		l.busy, l.slow = l.busy-1, l.slow+1
		h.tellLocked()
	} else {
		l.busy, l.slow = l.busy+1, l.slow-1
	}
}

// tellLocked wakes those who wait for a worker.
func (h *Pool) tellLocked() {
	if h.news != nil {
		close(h.news)
		h.news = nil
	}
}

// add adds a worker, or returns where another one is that has its name and is at work: two such workers
// would take each other's place for ever. One that comes back, which is of the same run, takes the place of
// what is left of the old one.
func (h *Pool) add(l *link) (taken string) {
	h.mu.Lock()
	i := slices.IndexFunc(h.links, func(o *link) bool { return o.hello.Name == l.hello.Name })
	var old *link
	if i >= 0 {
		old = h.links[i]
		again := old.hello.Run != "" && old.hello.Run == l.hello.Run
		alive := time.Duration(old.clock()-old.heard.Load()) < h.cfg.Lease/2 // it says something much more often
		if alive && !again {
			h.mu.Unlock()
			return old.address
		}
		h.links = slices.Delete(h.links, i, i+1)
	}
	h.links = append(h.links, l)
	h.tellLocked()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		l.stream.close()
	}
	if old != nil {
		old.stream.close()
	}
	h.changed()
	return ""
}

// drop removes a worker that is gone.
func (h *Pool) drop(l *link) {
	close(l.gone)
	h.mu.Lock()
	h.links = slices.DeleteFunc(h.links, func(o *link) bool { return o == l })
	h.tellLocked()
	h.mu.Unlock()
	h.changed()
}

// changed tells how many slots there are.
func (h *Pool) changed() {
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

// Close ends the streams of all workers. They come back when there is a leader again.
func (h *Pool) Close() {
	h.mu.Lock()
	links := slices.Clone(h.links)
	h.closed = true
	h.mu.Unlock()
	for _, l := range links {
		l.stream.close()
	}
}

// A Status says the state of a worker.
type Status struct {
	Name     string
	Address  string // that it came from
	Place    string
	Slots    int
	Busy     int // looks under way
	Renders  bool
	Draining bool
	Trusted  bool      // it is given URLs with secrets
	Since    time.Time // when it came
}

// Status returns the state of the workers that have come, by their names.
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

// Drain has a worker take no more tasks, or returns freshet.ErrNotFound. It leaves when
// what it has begun is over.
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
	h.changed()
	return l.say(drain, 0, nil)
}
