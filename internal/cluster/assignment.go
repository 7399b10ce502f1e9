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

// An assignment is a task that is given to a worker.
type assignment struct {
	task         *worker.Task
	firstURL     string
	robotsOrigin string // fetch the robots.txt of this origin; "" means a poll
	localOnly    bool   // only the local worker may do it, if there is one

	firstPermitted bool        // the first request is permitted
	slow           bool        // the server is slow; guarded by Pool.mu
	slotOf         *link       // whose slot it occupies, nil for the local worker; guarded by Pool.mu
	deadline       *time.Timer // expires if the worker takes too long after its last permit
	done           doneMessage
	link           *link // the last worker that it was given to

	questionMu sync.Mutex // serializes questions, except permits of subresources

	mu      sync.Mutex
	permits int          // permitted requests
	hosts   []string     // hosts of permitted requests
	chain   requestChain // without subresources
	parts   int          // subresources that the worker asked to request
}

// permitFirst requests the permit for the first request before the task is sent, which saves the
// worker a round trip.
func (e *assignment) permitFirst(ctx context.Context) error {
	if e.firstPermitted {
		return nil
	}
	e.firstPermitted = true
	e.chain = requestChain{url: e.firstURL}
	return e.permit(ctx, freshet.Hop{URL: e.firstURL})
}

// permit waits until a request may be sent, and counts it.
func (e *assignment) permit(ctx context.Context, hop freshet.Hop) error {
	if e.task.Permit != nil {
		if err := e.task.Permit(ctx, hop); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.permits++
	if host := freshet.HostOf(hop.URL); !slices.Contains(e.hosts, host) {
		e.hosts = append(e.hosts, host)
	}
	return nil
}

// permitted returns the number of permitted requests. A lost worker may have sent any of them.
func (e *assignment) permitted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.permits
}

// reusePermit lets the local worker make the first request with the permit that was obtained for
// another worker.
func (e *assignment) reusePermit() {
	permit := e.task.Permit
	if permit == nil {
		return
	}
	var once sync.Once
	e.task.Permit = func(ctx context.Context, hop freshet.Hop) error {
		reuse := false
		if hop.URL == e.firstURL && !hop.Part && !hop.Aside {
			once.Do(func() { reuse = true })
		}
		if reuse {
			return nil
		}
		return permit(ctx, hop)
	}
}

// taskOf returns the task that a question is about: the task of the assignment if shared is 0,
// otherwise one of its shared tasks.
func (e *assignment) taskOf(shared int) *worker.Task {
	if shared >= 1 && shared <= len(e.task.Shared) {
		return &e.task.Shared[shared-1]
	}
	return e.task
}

// reply answers a question of the worker.
func (e *assignment) reply(ctx context.Context, q question) (reply answerMessage, blob []byte) {
	if q.What != askPermit || q.Hop == nil || !q.Hop.Part {
		e.questionMu.Lock()
		defer e.questionMu.Unlock()
	}
	var err error
	history := e.taskOf(q.Shared).History
	switch q.What {
	case askPermit:
		if q.Hop != nil {
			err = e.permitNext(ctx, *q.Hop)
		}
	case askText:
		blob, err = history.Text(ctx)
	case askBody:
		blob, err = history.Body(ctx)
	case askPicture:
		blob, err = history.Picture(ctx)
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
		reply.Fields, err = history.Fields(ctx)
	case askVersions:
		reply.Recent, err = history.VersionsWith(ctx, q.Text)
	case askKeys:
		if e.taskOf(q.Shared).Hints != nil {
			reply.Keys, err = history.PageKeys(ctx, q.URLs)
		}
	}
	reply.Err = newErrorMessage(err)
	return reply, blob
}
