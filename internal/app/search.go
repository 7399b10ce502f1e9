package app

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
)

const (
	indexBatch    = 2000             // versions in a transaction
	indexEnough   = 2000             // unindexed versions that start indexing
	indexInterval = 2 * time.Second  // between checks for unindexed versions
	indexMaxDelay = 2 * time.Minute  // longest delay of indexing
	indexMaxWait  = 4000             // most versions that a search waits for
	indexSweep    = 10 * time.Minute // how often pruned versions are removed from the index if nothing is polled
	indexRetry    = time.Minute
)

// maintainIndex indexes new versions until ctx is done, in batches, which cost less per version.
// Polls and searches never wait for it: see indexNewest. It sleeps as long as it works, so that it
// uses at most half of a processor.
func (n *Node) maintainIndex(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		end, err := n.Store.LastOutcome(ctx)
		left := 0
		if err == nil {
			left, err = n.stored.Index(ctx, indexBatch)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			n.log.Warn("indexing versions for freshet search failed; retrying in a minute", "err", err, "hint", freshet.HintOf(err))
			sleep(ctx, indexRetry)
		case left > 0:
			sleep(ctx, time.Since(began))
		default:
			waiting, cancel := context.WithTimeout(ctx, indexSweep)
			err := n.Store.WaitOutcome(waiting, end)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				return
			}
			n.awaitVersions(ctx)
		}
	}
}

// awaitVersions waits until there are enough unindexed versions, or for indexMaxDelay.
func (n *Node) awaitVersions(ctx context.Context) {
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < indexMaxDelay; {
		sleep(ctx, indexInterval)
		if waiting, err := n.stored.Unindexed(ctx); err != nil || waiting >= indexEnough {
			return
		}
	}
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// indexNewest brings the index up to date before a search, unless so many versions are missing that
// the search would take too long. The result of the search then gives their number.
func (n *Node) indexNewest(ctx context.Context) error {
	if missing, err := n.stored.Unindexed(ctx); err == nil && missing > indexMaxWait {
		return nil // without waiting for a transaction in progress
	}
	for done := 0; done < indexMaxWait; done += indexBatch {
		if left, err := n.stored.Index(ctx, indexBatch); err != nil || left == 0 {
			return err
		}
	}
	return nil
}

// IndexAll brings the index up to date, if there is to be one.
func (n *Node) IndexAll(ctx context.Context) error {
	if n.settings.NoSearch {
		return nil
	}
	for {
		left, err := n.stored.Index(ctx, indexBatch)
		if err != nil || left == 0 {
			return err
		}
	}
}
