package queries

import (
	"context"
	"errors"
	"sort"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A Trial says how a query is tried on what is stored.
type Trial struct {
	Store Archive
	Read  func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error) // as in RunnerConfig

	Since time.Time // zero means from the beginning
	Until time.Time // up to when time passes; what is silent until then counts
	Limit int       // matches to return, the newest; 0 means all

	// Progress, if set, is called with how many changes have been looked at.
	Progress func(scanned int)
}

// A Finding is what a query would have matched.
type Finding struct {
	Matches []Match
	Changes map[freshet.Cursor]freshet.Change // those that made the matches
	Found   int                               // matches in all
	Scanned int                               // changes that were looked at
	Tally   Tally
}

// Try holds a query, which has been through Check, against what is stored.
func Try(ctx context.Context, q Query, t Trial) (f Finding, err error) {
	e, err := NewEngine()
	if err != nil {
		return f, err
	}
	q.ID, q.Last, q.Paused = "trial", 0, false
	if err := e.Put(q); err != nil {
		return f, err
	}
	r := NewRunner(RunnerConfig{Store: t.Store, Read: t.Read})
	l := &lane{engine: e}
	if err := r.seek(ctx, l, t.Since); err != nil {
		return f, err
	}
	f.Changes = map[freshet.Cursor]freshet.Change{}
	recent := map[freshet.Cursor]freshet.Change{}
	take := func(matches []Match) {
		for _, m := range matches {
			f.Found++
			f.Matches = append(f.Matches, m)
			for _, ref := range m.Changes {
				if c, ok := recent[ref.Cursor]; ok {
					f.Changes[ref.Cursor] = c
				}
			}
		}
		if t.Limit > 0 && len(f.Matches) > 2*t.Limit {
			f.Matches = append(f.Matches[:0], f.Matches[len(f.Matches)-t.Limit:]...)
		}
	}
	for whole := false; !whole; {
		var events []Event
		if events, whole, err = r.events(ctx, l, place{endless, endless}); err != nil {
			return f, err
		}
		for _, event := range events {
			if event.Change != nil {
				f.Scanned++
				recent[event.Change.Cursor] = *event.Change
			}
			matches, err := r.happen(ctx, l, event)
			if err != nil {
				return f, err
			}
			take(matches)
		}
		if t.Progress != nil {
			t.Progress(f.Scanned)
		}
		clear(recent)
	}
	take(e.Tick(t.Until))
	if t.Limit > 0 && len(f.Matches) > t.Limit {
		f.Matches = f.Matches[len(f.Matches)-t.Limit:]
	}
	f.Tally = e.Tally(q.ID)
	return f, r.complete(ctx, &f)
}

// seek has a lane begin at a time.
func (r *Runner) seek(ctx context.Context, l *lane, since time.Time) error {
	if since.IsZero() {
		return nil
	}
	changes, err := ChangeBefore(ctx, r.cfg.Store, since)
	if err != nil {
		return err
	}
	outcomes, err := outcomeBefore(ctx, r.cfg.Store, since)
	if err != nil {
		return err
	}
	l.engine.Begin(changes, outcomes)
	return nil
}

// complete reads the changes of matches that came before those in hand when they matched.
func (r *Runner) complete(ctx context.Context, f *Finding) error {
	for _, m := range f.Matches {
		for _, ref := range m.Changes {
			if _, ok := f.Changes[ref.Cursor]; ok {
				continue
			}
			found, err := r.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: ref.Cursor - 1, Limit: 1})
			if err != nil {
				return err
			}
			if len(found) > 0 && found[0].Cursor == ref.Cursor {
				f.Changes[ref.Cursor] = found[0]
			}
		}
	}
	return nil
}

// ChangeBefore returns the place in the log of changes of the last one that was seen
// before a time. Changes stand there in the order in which they were seen, nearly.
func ChangeBefore(ctx context.Context, log freshet.ChangeLog, t time.Time) (freshet.Cursor, error) {
	end, err := log.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(end), func(n int) bool {
		found, e := log.Changes(ctx, freshet.ChangeQuery{After: freshet.Cursor(n), Limit: 1})
		err = errors.Join(err, e)
		return e != nil || len(found) == 0 || !found[0].Before.Before(t)
	})
	return freshet.Cursor(n), err
}

// outcomeBefore returns the place in the log of outcomes of the last poll that ended
// before a time. Polls stand there in the order in which they ended, nearly.
func outcomeBefore(ctx context.Context, log Archive, t time.Time) (freshet.Cursor, error) {
	end, err := log.LastOutcome(ctx)
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(end), func(n int) bool {
		found, e := log.Outcomes(ctx, freshet.OutcomeQuery{After: freshet.Cursor(n), Limit: 1})
		if e != nil {
			err = e
		}
		return e != nil || len(found) == 0 || !found[0].Ended.Before(t)
	})
	return freshet.Cursor(n), err
}
