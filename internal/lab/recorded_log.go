package lab

import (
	"context"
	"iter"
	"sort"
	"time"

	"freshet/internal/freshet"
)

// logPage is how many outcomes are read at once: many enough that asking costs
// nothing, and few enough to be held in memory beside all else.
const logPage = 4096

// A Log is a part of the log of outcomes in a store, which may grow meanwhile.
type Log struct {
	archive     freshet.OutcomeLog
	first, last freshet.Cursor  // outcomes after first, up to last
	ended       freshet.Between // the others are left out
	cut         bool            // and so are older ones, of which there are too many
}

// A LogPart says which part of a log is wanted. The zero LogPart is all of it.
type LogPart struct {
	Ended freshet.Between // only polls that ended in it
	Last  time.Duration   // or so long before the end of the log; zero means no bound
	Most  int             // only about so many, the newest; zero means all
}

// OpenLog finds where the log of a store ends now and where the part begins that is
// wanted.
func OpenLog(ctx context.Context, archive freshet.OutcomeLog, part LogPart) (*Log, error) {
	l := &Log{archive: archive, ended: part.Ended}
	if err := l.bound(ctx, part.Last); err != nil {
		return nil, err
	}
	if part.Most > 0 && l.Len() > part.Most {
		l.first, l.cut = l.last-freshet.Cursor(part.Most), true
	}
	return l, nil
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
		l.ended.Since = newest[0].Ended.Add(-last)
	}
	oldest, err := l.archive.Outcomes(ctx, freshet.OutcomeQuery{Limit: 1})
	if err != nil || len(oldest) == 0 {
		return err
	}
	l.first = oldest[0].Cursor - 1
	// Outcomes stand in the log in the order in which they ended, nearly: a
	// little earlier is early enough, and a little later late enough.
	const slack = time.Hour
	if since := l.ended.Since; !since.IsZero() {
		if l.first, err = l.place(ctx, since.Add(-slack)); err != nil {
			return err
		}
	}
	if until := l.ended.Until; !until.IsZero() {
		l.last, err = l.place(ctx, until.Add(slack))
	}
	return err
}

// place returns the last place before the outcomes that ended at a moment or later.
func (l *Log) place(ctx context.Context, at time.Time) (_ freshet.Cursor, err error) {
	skip := sort.Search(int(l.last-l.first), func(n int) bool {
		found, e := l.archive.Outcomes(ctx, freshet.OutcomeQuery{After: l.first + freshet.Cursor(n), Limit: 1})
		if e != nil {
			err = e
			return true
		}
		return len(found) == 0 || !found[0].Ended.Before(at)
	})
	return l.first + freshet.Cursor(skip), err
}

// Outcomes yields the outcomes, the oldest first. Progress is called with the outcomes
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
				if l.ended.Has(o.Ended) && !yield(o, nil) {
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
