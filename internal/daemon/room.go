package daemon

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/daemon/membudget"
	"freshet/internal/freshet"
)

// Need returns how many bytes of memory a poll takes for a body of a size, from
// the first byte to the commit. It is what was measured on pages, plain text,
// feeds, JSON and binary data, with a little to spare: the body and its text are
// there twice while they grow and are stored, beside the version before and the
// tables of the compressor. Up to a few megabytes, a tree, or a list of lines to
// compare, can take much more than the body.
func Need(size int64) int64 {
	const times, tree, treeTimes = 6, 4 << 20, 14
	return times*size + treeTimes*min(size, tree)
}

// A room is what one poll holds of the memory for polls. Without a budget there
// is always room.
type room struct{ share *membudget.Share }

func (d *Daemon) openRoom() room { return openRoom(d.cfg.Memory) }

func openRoom(b *membudget.Budget) room {
	if b == nil {
		return room{}
	}
	return room{b.Share()}
}

// OpenRoom returns how a look makes room in a budget, as in [worker.Order], and how it gives
// it back.
func OpenRoom(b *membudget.Budget) (hold func(context.Context, int64) error, free func()) {
	r := openRoom(b)
	return r.hold, r.close
}

// hold makes room for a body of a size.
func (r room) hold(ctx context.Context, size int64) error {
	if r.share == nil {
		return nil
	}
	err := r.share.Hold(ctx, Need(size))
	if errors.Is(err, membudget.ErrFull) {
		return &freshet.FetchError{
			Class: freshet.FailLocalMemory, Err: fmt.Errorf("a body of up to %s: %w", freshet.FormatSize(size), err),
			Hint: "allow polls more memory with --memory, or watch fewer large pages",
		}
	}
	return err
}

// close gives the room back.
func (r room) close() {
	if r.share != nil {
		r.share.Close()
	}
}
