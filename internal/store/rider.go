package store

import (
	"context"
	"sync"
)

// A Rider is written in the transaction that does the work of a request, so that after a crash
// either both are there or neither is. It goes with the last of several transactions that do one
// piece of work, and with one piece of work only.
type Rider struct {
	write func(tx *Tx, result any) error
	outer *Rider // of the context that it was made with

	mu   sync.Mutex
	over bool // it has been committed, or is not to be any more
	done bool
}

type riderKey struct{}

// WithRider returns a context whose next write is committed together with what write writes. It is
// called in the transaction, perhaps more than once, with what the work has set by [Tx.SetResult]. A
// Rider that ctx has already is written after it.
func WithRider(ctx context.Context, write func(tx *Tx, result any) error) (context.Context, *Rider) {
	r := &Rider{write: write}
	r.outer, _ = ctx.Value(riderKey{}).(*Rider)
	return context.WithValue(ctx, riderKey{}, r), r
}

// End has nothing more committed with the rider, and reports whether something was.
func (r *Rider) End() (done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.done
}

// riding returns a job together with the rider of its context, and what to call when it is committed.
func riding(ctx context.Context, j job) (job, func()) {
	r, _ := ctx.Value(riderKey{}).(*Rider)
	if r == nil {
		return j, func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return j, func() {}
	}
	rode := false
	ride := func(b *batch) error {
		b.result, b.more, rode = nil, false, false
		defer func() { b.result, b.more = nil, false }()
		if err := j(b); err != nil || b.more {
			return err
		}
		rode = true
		return r.ride(&Tx{b}, b.result)
	}
	return ride, func() {
		for one := r; one != nil && rode; one = one.outer {
			one.mu.Lock()
			one.over, one.done = true, one.done || !one.over
			one.mu.Unlock()
		}
	}
}

// ride writes what rides, and then what rides outside of it.
func (r *Rider) ride(tx *Tx, result any) error {
	if err := r.write(tx, result); err != nil || r.outer == nil {
		return err
	}
	r.outer.mu.Lock()
	over := r.outer.over
	r.outer.mu.Unlock()
	if over {
		return nil
	}
	return r.outer.ride(tx, result)
}

// SetResult tells the rider of the transaction what the work has come to.
func (tx *Tx) SetResult(v any) { tx.batch.result = v }
