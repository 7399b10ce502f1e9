package live

import (
	"context"

	"freshet"
)

// followAtOnce is how many outcomes are read from the log at once.
const followAtOnce = 1000

// A follower reads the log of outcomes from a place on, in the order of the
// record: first what is there, then what comes.
type follower struct {
	log   freshet.OutcomeLog
	place freshet.Cursor // of the last outcome that was read
}

// next returns the outcomes that follow the place, and moves the place behind
// them. At the end of the log there are none.
func (f *follower) next(ctx context.Context) ([]freshet.Outcome, error) {
	end, err := f.log.LastOutcome(ctx)
	if err != nil {
		return nil, err
	}
	found, err := f.log.Outcomes(ctx, freshet.OutcomeQuery{After: f.place, Limit: followAtOnce})
	if err != nil {
		return nil, err
	}
	if n := len(found); n > 0 {
		f.place = found[n-1].Cursor
	} else {
		f.place = max(f.place, end) // the last ones may have been purged
	}
	return found, nil
}

// run tells of all outcomes as they come, until ctx is done.
func (f *follower) run(ctx context.Context, tell func([]freshet.Outcome)) error {
	for {
		found, err := f.next(ctx)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			tell(found)
			continue
		}
		if err := f.log.WaitOutcome(ctx, f.place); err != nil {
			return err
		}
	}
}
