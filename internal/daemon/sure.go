package daemon

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// What a poll does that is on record when this process is not sure any more that it decides, because the
// record took longer than the lease lasts.
const (
	unsureFor  = 3 * time.Minute // how long it waits at most; it counts as under way, see longestPoll
	unsureLook = 50 * time.Millisecond
)

// errUnsure is what a request gets that may not leave.
var errUnsure = &freshet.FetchError{
	Class: freshet.FailLocalUnsure, Err: errors.New("the request was not sent: this node is not sure any more that it decides"),
}

// sure returns when this process is sure that it decides, or why the poll is to wait no longer. Another one
// may decide meanwhile, and may poll: this one then stops.
func (w *passage) sure(ctx context.Context) error {
	right := w.daemon.cfg.Right
	if right == nil || right() > 0 {
		return nil
	}
	look := time.NewTicker(unsureLook)
	defer look.Stop()
	for right() <= 0 {
		if time.Now().After(w.patience) {
			return errUnsure
		}
		select {
		case <-look.C:
		case <-w.stop:
			w.givenUp.Store(true)
			return errUnsure
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// look has a hand look at the source. It returns what it found, and when the look began. An order of which
// nothing was sent, because this process was not sure any more that it decides, is given once more when it
// is: the source has done nothing wrong, and the request has leave and is on record.
func (w *passage) look(ctx context.Context) (found worker.Finding, began time.Time) {
	d, order := w.daemon, &w.order
	err := w.sure(ctx)
	order.At = w.now()
	if err == nil && w.robotsFirst(ctx) {
		order.At = w.now()
	}
	for err == nil {
		w.granted = 0
		if found = d.hand.Look(ctx, *order); !w.unsentOf(found) {
			return found, order.At
		}
		w.early = &answer{url: order.URL()}
		err = w.sure(ctx)
		order.At = w.now()
	}
	return order.Fail(err), order.At
}

// unsentOf reports whether of a look not even the first request was sent, because it was not sure that this
// process decides.
func (w *passage) unsentOf(found worker.Finding) bool {
	return found.Failure.Is(freshet.FailLocalUnsure) && found.Requests == 0 && w.granted == 1
}
