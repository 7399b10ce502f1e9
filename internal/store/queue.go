package store

import (
	"context"
	"sync"
)

// A queue gathers the work of concurrent callers into batches. It has no
// goroutine of its own: the first caller to find nobody at work leads, and
// performs one batch of what has been queued. Whoever is queued behind it then
// leads the next. So a caller alone waits for nobody, and under load the work
// that arrives during one sync shares the next.
type queue struct {
	most    int // jobs in a batch
	perform func([]job) []error

	mu      sync.Mutex
	leading bool
	waiting []*ticket
}

// A ticket is one job in the queue.
type ticket struct {
	job  job
	turn chan bool // says whether the caller has to lead, or else that the job has been performed
	err  error
}

// do performs j in a batch and returns its error. If ctx is done before the
// job has been taken into a batch it is not performed; from then on it is not
// abandoned.
func (q *queue) do(ctx context.Context, j job) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := &ticket{job: j}
	q.mu.Lock()
	if !q.leading {
		q.leading = true
		q.mu.Unlock()
		return q.serve(t)
	}
	t.turn = make(chan bool, 1)
	q.waiting = append(q.waiting, t)
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
	q.mu.Lock()
	n := min(len(q.waiting), q.most-1)
	tickets := append(make([]*ticket, 0, n+1), t)
	tickets = append(tickets, q.waiting[:n]...)
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	q.mu.Unlock()

	jobs := make([]job, len(tickets))
	for i, t := range tickets {
		jobs[i] = t.job
	}
	for i, err := range q.perform(jobs) {
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
