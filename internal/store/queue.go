package store

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A queue gathers the work of concurrent callers into batches. It has no
// goroutine of its own: the first caller to find nobody at work leads, and
// performs one batch of what has been queued. The first caller queued behind it then leads the
// next. So a lone caller does not wait, and under load the work that arrives during one sync
// shares the next.
//
// A batch costs more than most of its jobs do. So after one that several callers
// shared, the next begins a little later, if all who wait can: others will come.
type queue struct {
	most    int           // jobs in a batch
	linger  time.Duration // from the beginning of a batch that was shared to that of the next
	perform func([]job) []error

	mu      sync.Mutex
	leading bool
	waiting []*ticket
	hurry   chan struct{} // closed when a leader that lingers is to begin; nil if none does

	// These belong to the leader.
	began  time.Time // the last batch
	shared bool      // by several callers
	jobs   []job     // room for those of a batch
}

// enoughJobs is how many jobs make a batch worthwhile: a leader waits for no more.
const enoughJobs = 32

// lull is for how long nobody joins a batch before it is taken to be complete.
const lull = 5 * time.Millisecond

// A ticket is one job in the queue.
type ticket struct {
	job   job
	hasty bool      // it cannot linger
	turn  chan bool // says whether the caller has to lead, or else that the job has been performed
	err   error
}

// do performs j in a batch and returns its error. If ctx is done before the
// job has been taken into a batch it is not performed; from then on it is not
// abandoned.
func (q *queue) do(ctx context.Context, j job, hasty bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := &ticket{job: j, hasty: hasty}
	q.mu.Lock()
	if !q.leading {
		q.leading = true
		q.mu.Unlock()
		return q.serve(t)
	}
	t.turn = make(chan bool, 1)
	q.join(t)
	q.mu.Unlock()

	select {
	case lead := <-t.turn:
		return q.end(t, lead)
	case <-ctx.Done():
	}
	if q.withdraw(t) {
		return context.Cause(ctx)
	}
	return q.end(t, <-t.turn)
}

// join adds a ticket to those that wait.
func (q *queue) join(t *ticket) {
	q.waiting = append(q.waiting, t)
	if q.hurry != nil && (t.hasty || len(q.waiting) >= enoughJobs-1) {
		close(q.hurry)
		q.hurry = nil
	}
}

// gather waits for others to join the batch of a leader, if that is likely and nobody is in haste. It ends early when nobody
// has joined for a while: all others may be waiting for this batch.
func (q *queue) gather(t *ticket) {
	if !q.shared || t.hasty {
		return
	}
	for before := -1; ; {
		rest := q.linger - time.Since(q.began)
		if rest <= 0 {
			return
		}
		q.mu.Lock()
		joined := len(q.waiting)
		if joined == before || joined >= enoughJobs-1 || slices.ContainsFunc(q.waiting, func(t *ticket) bool { return t.hasty }) {
			q.mu.Unlock()
			return
		}
		before = joined
		hurry := make(chan struct{})
		q.hurry = hurry
		q.mu.Unlock()
		q.lull(min(rest, lull), hurry)
	}
}

// lull waits for some time, or until a leader is to begin.
func (q *queue) lull(length time.Duration, hurry <-chan struct{}) {
	over := time.NewTimer(length)
	defer over.Stop()
	select {
	case <-hurry:
	case <-over.C:
	}
	q.mu.Lock()
	q.hurry = nil
	q.mu.Unlock()
}

// end ends the wait of a ticket whose turn has come.
func (q *queue) end(t *ticket, lead bool) error {
	if lead {
		return q.serve(t)
	}
	return t.err
}

// withdraw takes a ticket out of the queue, unless it is no longer there.
func (q *queue) withdraw(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting {
		if other == t {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// serve performs one batch that begins with t, then hands the lead on.
func (q *queue) serve(t *ticket) error {
	defer q.handOn()
	q.gather(t)
	q.mu.Lock()
	n := min(len(q.waiting), q.most-1)
	tickets := append(make([]*ticket, 0, n+1), t)
	tickets = append(tickets, q.waiting[:n]...)
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	q.mu.Unlock()

	if q.linger > 0 {
		q.began, q.shared = time.Now(), n > 0
	}
	q.jobs = q.jobs[:0]
	for _, t := range tickets {
		q.jobs = append(q.jobs, t.job)
	}
	errs := q.perform(q.jobs)
	clear(q.jobs)
	for i, err := range errs {
		tickets[i].err = err
		if tickets[i] != t {
			tickets[i].turn <- false
		}
	}
	return t.err
}

// handOn makes the first of those waiting the leader.
func (q *queue) handOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.leading = false
		return
	}
	next := q.waiting[0]
	q.waiting = append(q.waiting[:0], q.waiting[1:]...)
	next.turn <- true
}
