package lab

import (
	"context"
	"iter"
	"sort"
	"time"

	"freshet"
)

// logPage is how many outcomes are read at once: many enough that asking costs
// nothing, and few enough to be held in memory beside all else.
const logPage = 4096

// A Log is a part of the log of outcomes in a store, which may grow meanwhile.
type Log struct {
	archive     freshet.OutcomeLog
	first, last freshet.Cursor // outcomes after first, up to last
	from        time.Time      // outcomes that ended earlier are left out
}

// OpenLog finds where the log of a store ends now and, if only its last part is
// wanted, where that begins. Zero means all of it.
func OpenLog(ctx context.Context, archive freshet.OutcomeLog, last time.Duration) (*Log, error) {
	l := &Log{archive: archive}
	return l, l.bound(ctx, last)
}

// Len returns about how many outcomes there are.
func (l *Log) Len() int { return int(l.last - l.first) }

func (l *Log) bound(ctx context.Context, last time.Duration) error {
	newest, err := l.archive.Outcomes(ctx, freshet.OutcomeQuery{Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	l.last = newest[0].Cursor
	if last > 0 {
		l.from = newest[0].Ended.Add(-last)
	}
	oldest, err := l.archive.Outcomes(ctx, freshet.OutcomeQuery{Limit: 1})
	if err != nil || len(oldest) == 0 {
		return err
	}
	l.first = oldest[0].Cursor - 1
	if l.from.IsZero() {
		return nil
	}
	// Outcomes stand in the log in the order in which they ended, nearly: a
	// little earlier is early enough.
	lead := l.from.Add(-time.Hour)
	skip := sort.Search(int(l.last-l.first), func(n int) bool {
		found, e := l.archive.Outcomes(ctx, freshet.OutcomeQuery{After: l.first + freshet.Cursor(n), Limit: 1})
		if e != nil {
			err = e
			return true
		}
		return len(found) == 0 || !found[0].Ended.Before(lead)
	})
	l.first += freshet.Cursor(skip)
	return err
}

// Outcomes yields the outcomes, the oldest first. Progress is told of outcomes
// that were read.
func (l *Log) Outcomes(ctx context.Context, progress func(int)) iter.Seq2[freshet.Outcome, error] {
	return func(yield func(freshet.Outcome, error) bool) {
		for at := l.first; at < l.last; {
			page, err := l.archive.Outcomes(ctx, freshet.OutcomeQuery{After: at, Limit: logPage})
			if err != nil {
				yield(freshet.Outcome{}, err)
				return
			}
			for _, o := range page {
				if o.Cursor > l.last {
					return
				}
				if !o.Ended.Before(l.from) && !yield(o, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			progress(int(page[len(page)-1].Cursor - at))
			at = page[len(page)-1].Cursor
		}
	}
}
