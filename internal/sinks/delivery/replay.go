package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

func (s *Sinks) replay(ctx context.Context, to sinks.Sink, r Replay) (int, error) {
	if r.After == nil && r.Since.IsZero() {
		return s.revive(ctx, to.Name, r.Letters)
	}
	at, err := s.begin(ctx, to, r)
	if err != nil {
		return 0, err
	}
	return 0, s.cfg.Store.Advance(ctx, to.Name, at, nil)
}

// revive makes dead letters due again, all if none is named.
func (s *Sinks) revive(ctx context.Context, name string, ids []string) (int, error) {
	if len(ids) == 0 {
		return s.cfg.Store.Revive(ctx, name)
	}
	at, err := s.letters(ctx, name, ids)
	if err != nil {
		return 0, err
	}
	return s.cfg.Store.Revive(ctx, name, at...)
}

// letters returns the entries of letters, by their ids or places.
func (s *Sinks) letters(ctx context.Context, name string, ids []string) (at []sinks.Position, err error) {
	letters, err := s.cfg.Store.DeadLetters(ctx, name, sinks.Position{}, 0)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(letters, func(d sinks.PendingDelivery) bool { return d.ID() == id || tellsOf(d).String() == id })
		if i < 0 {
			return nil, freshet.WithHint(fmt.Errorf("event %s was not given up by sink %s: %w", id, name, freshet.ErrNotFound), "freshet sink letters "+name+" shows what was")
		}
		at = append(at, letters[i].Position())
	}
	return at, nil
}

// tellsOf returns the place of the content of a delivery, in the log of changes or of matches.
func tellsOf(d sinks.PendingDelivery) freshet.Place {
	if d.Batch.Cursor > 0 {
		return d.Batch.End
	}
	return d.Change.Place()
}

// findChange returns the cursor of a place in the log of changes.
func (s *Sinks) findChange(ctx context.Context, p freshet.Place) (freshet.Cursor, error) {
	end, err := s.cfg.Store.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	epochs, err := s.cfg.Store.ChangeEpochs(ctx)
	if err != nil {
		return 0, err
	}
	return s.find(epochs, p, end)
}

// find returns the cursor of a place in a log. A process that is not sure to know the end of the log
// does not say of a place that it is gone: another may have given it out since.
func (s *Sinks) find(epochs freshet.Epochs, p freshet.Place, end freshet.Cursor) (freshet.Cursor, error) {
	at, err := epochs.Find(p, end)
	if err != nil && s.cfg.HoldsLease != nil && !s.cfg.HoldsLease() {
		return 0, freshet.WithHint(fmt.Errorf("cursor %s: %w: another node may have taken over", p, freshet.ErrBusy), "try again in a few seconds, or ask another node")
	}
	return at, err
}

// changesBefore returns the place of the last change before a time. Dates of changes grow
// with their places, but for a clock that was set.
func (s *Sinks) changesBefore(ctx context.Context, t time.Time) (freshet.Cursor, error) {
	end, err := s.cfg.Store.LastChange(ctx)
	if err != nil {
		return 0, err
	}
	var failed error
	n := sort.Search(int(end), func(i int) bool { // the first place whose next change is not before t
		next, err := s.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: freshet.Cursor(i), Limit: 1})
		if err != nil {
			failed = err
		}
		return err != nil || len(next) == 0 || !next[0].Before.Before(t)
	})
	return freshet.Cursor(n), failed
}

// batchesBefore returns the place in the log of batches after which a replay begins: all batches
// that have a match after a place in the log of matches, or were sent since a time, come after it.
func (s *Sinks) batchesBefore(ctx context.Context, to sinks.Sink, r Replay) (freshet.Cursor, error) {
	after := freshet.Cursor(0)
	if r.After != nil {
		end, err := s.cfg.Store.Queries.LastMatch(ctx)
		if err != nil {
			return 0, err
		}
		epochs, err := s.cfg.Store.Queries.MatchEpochs(ctx)
		if err != nil {
			return 0, err
		}
		if after, err = s.find(epochs, *r.After, end); err != nil {
			return 0, err
		}
	}
	at, err := s.cfg.Store.Queries.LastBatch(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range to.Queries {
		first, err := s.firstBatch(ctx, id, after, r.Since)
		if err != nil {
			return 0, err
		}
		if first > 0 {
			at = min(at, first-1)
		}
	}
	return at, nil
}

// firstBatch returns the place of the first batch of a query with a match after a place that was
// sent since a time; zero if there is none.
func (s *Sinks) firstBatch(ctx context.Context, id queries.ID, after freshet.Cursor, since time.Time) (freshet.Cursor, error) {
	next, err := s.cfg.Store.Queries.Matches(ctx, queries.MatchQuery{Query: id, After: after, Limit: 1})
	if errors.Is(err, freshet.ErrNotFound) || err == nil && len(next) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for at := freshet.Cursor(0); ; {
		batches, err := s.cfg.Store.Queries.Batches(ctx, queries.MatchQuery{Query: id, After: at, First: next[0].Number, Limit: readLimit})
		if err != nil {
			return 0, err
		}
		for _, p := range batches {
			if at = p.Cursor; !p.At.Before(since) {
				return p.Cursor, nil
			}
		}
		if len(batches) < readLimit {
			return 0, nil
		}
	}
}

// Unpack returns a batch with what is known of its matches, or ErrNotFound if its query was
// removed.
func Unpack(ctx context.Context, store Store, p queries.Batch) (sinks.Batch, error) {
	whole := sinks.Batch{Batch: p}
	matches, err := store.Queries.Matches(ctx, queries.MatchQuery{Query: p.Query, First: p.From, Last: p.To, Limit: sinks.MostMatches})
	if err == nil && len(matches) == 0 {
		err = fmt.Errorf("matches %d to %d of query %s: %w", p.From, p.To, p.Query, freshet.ErrNotFound)
	}
	if err != nil {
		return whole, err
	}
	q, err := store.Queries.Query(ctx, p.Query)
	if err != nil {
		return whole, err
	}
	whole.Repeats = q.Repeat > 0
	if whole.Topics, err = q.Topics(); err != nil {
		return whole, err
	}
	for _, m := range matches {
		known, err := Known(ctx, store, m)
		if err != nil {
			return whole, err
		}
		whole.Matches = append(whole.Matches, known)
	}
	return whole, nil
}

// Known returns a match with what is known of it.
func Known(ctx context.Context, store Archive, m queries.Match) (sinks.Match, error) {
	known := sinks.Match{Match: m}
	if n := len(m.Changes); n > 0 {
		at := m.Changes[n-1].Cursor
		found, err := store.Changes(ctx, freshet.ChangeQuery{After: at - 1, Limit: 1})
		if err != nil {
			return known, err
		}
		if len(found) > 0 && found[0].Cursor == at {
			c, texts, err := Shown(ctx, store, found[0])
			known.Change, known.Texts = &c, texts
			return known, err
		}
	}
	if m.Source == "" {
		return known, nil
	}
	w, err := store.Source(ctx, m.Source)
	if errors.Is(err, freshet.ErrNotFound) {
		w, err = store.RemovedSource(ctx, m.Source)
	}
	if errors.Is(err, freshet.ErrNotFound) {
		return known, nil
	}
	known.Label = freshet.Label{URL: w.URL, Name: w.Name, Tags: w.Tags, Title: w.Status.Head.Title}
	return known, err
}
