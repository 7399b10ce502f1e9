package fetch

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Room for a body is asked for in steps: what nearly every page needs, what most
// large ones need, and then all that this one can become. There are few steps, so
// that few polls hold a part while they wait for more.
var roomSteps = [...]int64{256 * kib, 2 * mib}

// A grant is the room that the body of a response has.
type grant struct {
	watch *watch
	most  int64 // bytes that the body can have
	size  int64 // bytes that it may have so far
}

// most returns how many bytes the body of a response can have, by what its header
// says and the limits.
func (b *bodyReader) most(code coding, wire int64) int64 {
	if code == identity {
		if wire < 0 {
			return b.limits.WireBytes
		}
		return wire
	}
	if wire < 0 {
		return b.limits.DecodedBytes
	}
	return min(b.limits.DecodedBytes, max(ratioFloor, wire*b.limits.Ratio))
}

// cover makes sure that there is room for a body of so many bytes.
func (g *grant) cover(size int64) *freshet.FetchError {
	if size <= g.size || g.watch.room == nil || g.size == g.most {
		return nil
	}
	next := g.most
	for _, step := range roomSteps {
		if size <= step {
			next = min(step, g.most)
			break
		}
	}
	if e := g.watch.makeRoom(next); e != nil {
		return e
	}
	g.size = next
	return nil
}

// makeRoom asks for room.
func (w *watch) makeRoom(size int64) *freshet.FetchError {
	waited, e := w.rest("no memory for the body", func() error { return w.room(w.ctx, size) })
	w.waited += waited
	return e
}

// blame returns e as our own fault if the server hung up while we made it wait.
func (w *watch) blame(e *freshet.FetchError) *freshet.FetchError {
	const patience = time.Second // that any server has
	if e == nil || w.waited < patience || !e.Class.Is(failure.Truncated) && !e.Class.Is(failure.Protocol) {
		return e
	}
	return fail(failure.LocalMemory, "the server closed the connection while the body waited %v for memory: %w", w.waited.Round(time.Millisecond), e.Err)
}
