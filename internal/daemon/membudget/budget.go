package membudget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Config says how much memory there is to share, and how.
type Config struct {
	Bytes int64 // that all shares together may hold
	Worst int64 // that one share may need
	Small int64 // up to this, a share need not wait for larger ones

	// Waiters is how many shares may wait at once; 0 means any number. One more
	// is refused: a waiting request keeps others from working too.
	Waiters int
	Wait    time.Duration // that a share waits at most; 0 means without end
}

// A Budget is memory that many share. It may be used by many goroutines at once.
//
// Part of it is kept back for turns. A share that waits gets a turn, the one that
// has waited longest first, and with it all that it will ever need: so it can
// finish, whatever the others hold. Without turns, shares that each hold a part
// could all wait for more for ever.
type Budget struct {
	cfg    Config
	common int64 // that shares without a turn may hold together
	turns  int   // that can be had at once

	mu      sync.Mutex
	used    int64 // held by shares without a turn
	large   int64 // of that, by those that are not small
	taken   int   // turns
	waiting []*waiter
}

// A waiter is a share that waits to grow.
type waiter struct {
	share *Share
	to    int64
	grown chan struct{} // closed when it has
}

// ErrFull is returned for a share that cannot grow, because too many wait or it
// has waited too long.
var ErrFull = errors.New("no memory left for polls")

// New returns a Budget.
func New(cfg Config) *Budget {
	b := &Budget{cfg: cfg}
	b.turns = int(max(1, cfg.Bytes/2/max(1, cfg.Worst)))
	b.common = max(cfg.Bytes-int64(b.turns)*cfg.Worst, cfg.Bytes/4)
	return b
}

// A Share is what one poll holds of a Budget. It belongs to one goroutine.
type Share struct {
	budget *Budget
	held   int64
	turn   bool
}

// Share returns a share that holds nothing yet. It must be closed.
func (b *Budget) Share() *Share { return &Share{budget: b} }

// Hold makes the share hold n bytes, no more and no less. It waits until there
// is room. Errors are ErrFull or the cause of ctx; the share then holds what it
// held before.
func (s *Share) Hold(ctx context.Context, n int64) error {
	b := s.budget
	b.mu.Lock()
	if n <= s.held || b.fits(s, n) {
		b.set(s, n)
		b.mu.Unlock()
		return nil
	}
	if b.cfg.Waiters > 0 && len(b.waiting) >= b.cfg.Waiters {
		b.mu.Unlock()
		return fmt.Errorf("%w: %d other polls are waiting for it", ErrFull, b.cfg.Waiters)
	}
	w := &waiter{share: s, to: n, grown: make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.serve()
	b.mu.Unlock()
	return b.await(ctx, w)
}

// await returns when a waiter has grown, or must wait no longer.
func (b *Budget) await(ctx context.Context, w *waiter) error {
	var late <-chan time.Time
	if b.cfg.Wait > 0 {
		timer := time.NewTimer(b.cfg.Wait)
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-w.grown:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-late:
		err = fmt.Errorf("%w: none became free within %v", ErrFull, b.cfg.Wait)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, w)
	if i < 0 {
		return nil // it has grown in the meantime
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return err
}

// Close gives back all that the share holds.
func (s *Share) Close() {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(s, 0)
}

// fits reports whether a share can hold n bytes without waiting. Those that are
// not small leave a quarter to those that are.
func (b *Budget) fits(s *Share, n int64) bool {
	if s.turn {
		return true
	}
	used, large := b.used-s.held+n, b.large-b.ifLarge(s.held)+b.ifLarge(n)
	return used <= b.common && large <= b.common-b.common/4
}

// ifLarge returns what counts as large of a share that holds n bytes.
func (b *Budget) ifLarge(n int64) int64 {
	if n > b.cfg.Small {
		return n
	}
	return 0
}

// set makes a share hold n bytes and lets others have what is free now.
func (b *Budget) set(s *Share, n int64) {
	if s.turn {
		shrinks := n < s.held
		s.held = n
		if shrinks && b.joins(s) {
			b.taken--
			s.turn = false
			b.count(n)
		}
	} else {
		b.count(-s.held)
		s.held = n
		b.count(n)
	}
	b.serve()
}

// joins reports whether a share with a turn would find room without it.
func (b *Budget) joins(s *Share) bool {
	used, large := b.used+s.held, b.large+b.ifLarge(s.held)
	return used <= b.common && large <= b.common-b.common/4
}

// count adds a share that holds n bytes to those without a turn, or takes one
// that holds -n away.
func (b *Budget) count(n int64) {
	b.used += n
	if n < 0 {
		b.large -= b.ifLarge(-n)
	} else {
		b.large += b.ifLarge(n)
	}
}

// serve grows the shares that can grow. The one that has waited longest takes a turn if one is
// free.
func (b *Budget) serve() {
	for i := 0; i < len(b.waiting); {
		w := b.waiting[i]
		switch {
		case b.fits(w.share, w.to):
			b.count(-w.share.held)
			b.count(w.to)
		case b.taken < b.turns:
			b.taken++
			w.share.turn = true
			b.count(-w.share.held)
			i = -1 // what it held is free for those before it; none of them has a turn
		default:
			i++
			continue
		}
		w.share.held = w.to
		close(w.grown)
		b.waiting = slices.DeleteFunc(b.waiting, func(other *waiter) bool { return other == w })
		i = max(i, 0)
	}
}

// Use is how a Budget stands.
type Use struct {
	Bytes   int64 // that all shares may hold together
	Held    int64 // by shares without a turn
	Turns   int   // taken
	Waiting int   // shares
}

// Use returns how the budget stands.
func (b *Budget) Use() Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Use{Bytes: b.cfg.Bytes, Held: b.used, Turns: b.taken, Waiting: len(b.waiting)}
}
