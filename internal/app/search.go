package app

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
)

const (
	indexAtOnce = 50               // versions
	indexGather = 500              // new versions that are enough to be indexed
	indexLook   = 2 * time.Second  // after which it is seen whether there are
	indexPause  = 30 * time.Second // after which they are indexed though they are fewer
	indexBefore = 1000             // most versions that a search waits for
	indexSweep  = 10 * time.Minute // after which what was pruned goes, if nothing is polled
	indexRetry  = time.Minute
)

// keepIndex keeps the index of what versions say up to date, as a reader of the record:
// polls never wait for it. It indexes many versions at once, which costs less for each, and a search does not wait for
// that: see indexNewest. While there is much to do it rests as long as it works, so that
// it takes half of a processor at most.
func (n *Node) keepIndex(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		end, err := n.Store.LastOutcome(ctx)
		left := 0
		if err == nil {
			left, err = n.stored.Index(ctx, indexAtOnce)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			n.log.Warn("cannot index versions for freshet search; trying again in a minute", "err", err, "hint", freshet.HintOf(err))
			rest(ctx, indexRetry)
		case left > 0:
			rest(ctx, time.Since(began))
		default:
			waiting, cancel := context.WithTimeout(ctx, indexSweep)
			err := n.Store.WaitOutcome(waiting, end)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return
			}
			n.gather(ctx)
		}
	}
}

// gather waits until enough versions are not in the index yet, or until they have waited long enough.
func (n *Node) gather(ctx context.Context) {
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < indexPause; {
		rest(ctx, indexLook)
		if waiting, err := n.stored.Unindexed(ctx); err != nil || waiting >= indexGather {
			return
		}
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// indexNewest brings the index up to date before a search, unless so many versions are missing that the search
// would take too long. It then says how many.
func (n *Node) indexNewest(ctx context.Context) error {
	for done := 0; done < indexBefore; done += indexAtOnce {
		if left, err := n.stored.Index(ctx, indexAtOnce); err != nil || left == 0 || left > indexBefore {
			return err
		}
	}
	return nil
}

// indexAll brings the index up to date.
func (n *Node) indexAll(ctx context.Context) error {
	for {
		left, err := n.stored.Index(ctx, 10*indexAtOnce)
		if err != nil || left == 0 {
			return err
		}
	}
}
