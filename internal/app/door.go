package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"freshet/internal/api"
)

// A door is what a server serves while what is behind it changes: a node that stands by, then
// one that decides, and perhaps the other way round.
type door struct {
	mu sync.Mutex
	in *room // nil while there is none
}

// A room is one handler behind a door, with the requests that it is answering.
type room struct {
	http.Handler
	door   *door
	guests sync.WaitGroup
	ctx    context.Context // of all requests in it
	end    context.CancelFunc
}

// open has requests answered by a handler from now on. The room must be closed.
func (d *door) open(h http.Handler) *room {
	ctx, end := context.WithCancel(context.Background())
	r := &room{Handler: h, door: d, ctx: ctx, end: end}
	d.mu.Lock()
	d.in = r
	d.mu.Unlock()
	return r
}

// leave lets nobody in any more, if nobody else has opened another room meanwhile.
func (r *room) leave() {
	r.door.mu.Lock()
	defer r.door.mu.Unlock()
	if r.door.in == r {
		r.door.in = nil
	}
}

// shut lets nobody in, and ends what is being answered.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in != nil {
		d.in.end()
		d.in = nil
	}
}

// close waits until all requests are answered, and ends those that take longer than the grace.
// Nothing of the room is used after that.
func (r *room) close(grace time.Duration) {
	r.leave()
	late := time.AfterFunc(grace, r.end)
	r.guests.Wait()
	late.Stop()
	r.end()
}

// ServeHTTP implements [http.Handler].
func (d *door) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d.mu.Lock()
	r := d.in
	if r != nil {
		r.guests.Add(1)
	}
	d.mu.Unlock()
	if r == nil {
		api.NoBrain(w, http.StatusServiceUnavailable, "this node is changing its role", "try again in a moment, or ask another node")
		return
	}
	defer r.guests.Done()
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	r.Handler.ServeHTTP(w, req.WithContext(ctx))
}
