package app

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
)

const (
	indexAtOnce = 50               // versions
	indexPause  = 2 * time.Second  // in which new ones gather
	indexSweep  = 10 * time.Minute // after which what was pruned goes, if nothing is polled
	indexRetry  = time.Minute
)

// keepIndex keeps the index of what versions say up to date, as a reader of the record:
// polls never wait for it. While there is much to do it rests as long as it works, so that
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
			rest(ctx, indexPause)
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

// indexAll brings the index up to date.
func (n *Node) indexAll(ctx context.Context) error {
	for {
		left, err := n.stored.Index(ctx, 10*indexAtOnce)
		if err != nil || left == 0 {
			return err
		}
	}
}
