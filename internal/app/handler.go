package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"freshet/internal/api"
)

// A switchableHandler is what a server serves while what is behind it changes: a node that stands by, then
// a leader, and perhaps the other way round.
type switchableHandler struct {
	mu sync.Mutex
	in *handlerTerm // nil while there is none
}

// A handlerTerm is the time in which one handler serves, with the requests that it is answering.
type handlerTerm struct {
	http.Handler
	of       *switchableHandler
	requests sync.WaitGroup
	ctx      context.Context // of all requests in it
	end      context.CancelFunc
}

// serve has requests answered by a handler from now on. The term must be closed.
func (d *switchableHandler) serve(h http.Handler) *handlerTerm {
	ctx, end := context.WithCancel(context.Background())
	r := &handlerTerm{Handler: h, of: d, ctx: ctx, end: end}
	d.mu.Lock()
	d.in = r
	d.mu.Unlock()
	return r
}

// stopAccepting refuses new requests, unless another term has begun meanwhile.
func (r *handlerTerm) stopAccepting() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if r.of.in == r {
		r.of.in = nil
	}
}

// stop refuses new requests, and ends those under way.
func (d *switchableHandler) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in != nil {
		d.in.end()
		d.in = nil
	}
}

// close waits until all requests are answered, and ends those that take longer than the grace.
// Nothing of the handler is used after that.
func (r *handlerTerm) close(grace time.Duration) {
	r.stopAccepting()
	late := time.AfterFunc(grace, r.end)
	r.requests.Wait()
	late.Stop()
	r.end()
}

// await returns when all requests are answered, or some time has passed.
func (r *handlerTerm) await(patience time.Duration) {
	answered := make(chan struct{})
	go func() { r.requests.Wait(); close(answered) }()
	select {
	case <-answered:
	case <-time.After(patience):
	}
}

// ServeHTTP implements [http.Handler].
func (d *switchableHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.mu.Lock()
	r := d.in
	if r != nil {
		r.requests.Add(1)
	}
	d.mu.Unlock()
	if r == nil {
		api.NoBrain(w, http.StatusServiceUnavailable, "this node is changing its role", "try again in a moment, or ask another node")
		return
	}
	defer r.requests.Done()
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.Handler.ServeHTTP(w, req.WithContext(ctx))
}
