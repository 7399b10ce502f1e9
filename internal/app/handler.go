package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"freshet/internal/api"
)

// A switchableHandler passes requests to a handler that can be replaced: that of a standby, then
// that of a leader, and back.
type switchableHandler struct {
	mu      sync.Mutex
	current *handlerTerm // nil while there is none
}

// A handlerTerm is the time during which one handler is current, with its running requests.
type handlerTerm struct {
	http.Handler
	parent   *switchableHandler
	requests sync.WaitGroup
	ctx      context.Context // parent of the contexts of its requests
	cancel   context.CancelFunc
}

// serve makes h the current handler. The returned term must be closed.
func (d *switchableHandler) serve(h http.Handler) *handlerTerm {
	ctx, end := context.WithCancel(context.Background())
	r := &handlerTerm{Handler: h, parent: d, ctx: ctx, cancel: end}
	d.mu.Lock()
	d.current = r
	d.mu.Unlock()
	return r
}

// stopAccepting rejects new requests, unless a later term has begun.
func (r *handlerTerm) stopAccepting() {
	r.parent.mu.Lock()
	defer r.parent.mu.Unlock()
	if r.parent.current == r {
		r.parent.current = nil
	}
}

// stop rejects new requests and cancels running ones.
func (d *switchableHandler) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != nil {
		d.current.cancel()
		d.current = nil
	}
}

// close rejects new requests, waits for running ones and cancels those that take longer than the
// grace. The handler is not used afterwards.
func (r *handlerTerm) close(grace time.Duration) {
	r.stopAccepting()
	late := time.AfterFunc(grace, r.cancel)
	r.requests.Wait()
	late.Stop()
	r.cancel()
}

// awaitRequests waits until all requests are answered, at most for the time limit.
func (r *handlerTerm) awaitRequests(limit time.Duration) {
	answered := make(chan struct{})
	go func() { r.requests.Wait(); close(answered) }()
	select {
	case <-answered:
	case <-time.After(limit):
	}
}

// ServeHTTP implements [http.Handler].
func (d *switchableHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.mu.Lock()
	r := d.current
	if r != nil {
		r.requests.Add(1)
	}
	d.mu.Unlock()
	if r == nil {
		api.NoLeader(w, http.StatusServiceUnavailable, "this node is changing its role", "try again in a moment, or ask another node")
		return
	}
	defer r.requests.Done()
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.Handler.ServeHTTP(w, req.WithContext(ctx))
}
