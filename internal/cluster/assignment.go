package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// An assignment is a task on its way to a worker.
type assignment struct {
	task   *worker.Task
	first  string // URL of the first request
	robots string // the origin whose robots.txt is read; "" means a look
	stays  bool   // only the worker of this process may do it, if there is one

	asked bool        // leave for the first request has been given
	slow  bool        // its server is slow, guarded by the pool
	at    *link       // the worker that is at it, likewise; nil if it is the own one, or none
	late  *time.Timer // the worker has had longer than a look takes after its last request
	found doneMessage
	by    *link // the worker that it was given to last

	asking sync.Mutex // held while a question is answered that is not about a part: a look asks one after the other

	mu     sync.Mutex
	grants int      // requests that were permitted
	hosts  []string // that they go to
	hops   hops     // but for parts
	parts  int      // requests of a page in a browser that a permit was asked for
}

// ask asks for the permit of the first request before the task is sent. So a worker need not ask for
// it, which would cost every poll the way there and back.
func (e *assignment) ask(ctx context.Context) error {
	if e.asked {
		return nil
	}
	e.asked = true
	e.hops = hops{at: e.first}
	return e.permit(ctx, freshet.Hop{URL: e.first})
}

// permit returns when a request may be sent, and counts it.
func (e *assignment) permit(ctx context.Context, hop freshet.Hop) error {
	if e.task.Permit != nil {
		if err := e.task.Permit(ctx, hop); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grants++
	if host := freshet.HostOf(hop.URL); !slices.Contains(e.hosts, host) {
		e.hosts = append(e.hosts, host)
	}
	return nil
}

// granted returns how many requests were permitted: of a worker that is lost nobody knows which of
// them it made.
func (e *assignment) granted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.grants
}

// grantAgain lets the worker of this process make the first request, which is permitted already
// because another worker was to make it.
func (e *assignment) grantAgain() {
	leave := e.task.Permit
	if leave == nil {
		return
	}
	var once sync.Once
	e.task.Permit = func(ctx context.Context, hop freshet.Hop) error {
		had := false
		if hop.URL == e.first && !hop.Part && !hop.Aside {
			once.Do(func() { had = true })
		}
		if had {
			return nil
		}
		return leave(ctx, hop)
	}
}

// of returns the task that a question is about: that of the assignment, or one that is read
// along.
func (e *assignment) of(along int) *worker.Task {
	if along >= 1 && along <= len(e.task.Shared) {
		return &e.task.Shared[along-1]
	}
	return e.task
}

// reply answers a question of the worker.
func (e *assignment) reply(ctx context.Context, q question) (say answerMessage, blob []byte) {
	if q.What != askPermit || q.Hop == nil || !q.Hop.Part {
		e.asking.Lock()
		defer e.asking.Unlock()
	}
	var err error
	history := e.of(q.Shared).History
	switch q.What {
	case askPermit:
		if q.Hop != nil {
			err = e.permitNext(ctx, *q.Hop)
		}
	case askText:
		blob, err = history.Text(ctx)
	case askBody:
		blob, err = history.Body(ctx)
	case askQuarantinedText:
		blob, err = history.QuarantinedText(ctx)
	case askItems:
		blob, err = history.Items(ctx)
	case askNoise:
		blob, err = history.Noise(ctx)
	case askLearnNoise:
		var m *noise.Memory
		if m, err = history.LearnNoise(ctx); err == nil {
			blob, err = m.MarshalBinary()
		}
	case askFields:
		say.Fields, err = history.Fields(ctx)
	case askVersions:
		say.Recent, err = history.VersionsWith(ctx, q.Text)
	case askKeys:
		if e.of(q.Shared).Hints != nil {
			say.Keys, err = history.PageKeys(ctx, q.URLs)
		}
	}
	say.Err = newErrorMessage(err)
	return say, blob
}
