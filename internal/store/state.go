package store

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"freshet/internal/freshet"
)

// A stateStore keeps the state of log readers and of what is learnt, as keys and values.
type stateStore struct{ *committer }

// SaveBeliefs implements [freshet.BeliefStore]. A belief without a source is one
// about all sources together; beliefs about sources that are no longer known are
// passed over.
func (s *stateStore) SaveBeliefs(ctx context.Context, beliefs []freshet.Belief) error {
	for len(beliefs) > 0 {
		part := beliefs[:min(len(beliefs), beliefPage)]
		beliefs = beliefs[len(part):]
		err := s.write(ctx, "saving beliefs", func(b *batch) error {
			for _, belief := range part {
				if err := b.saveBelief(belief); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beliefPage is how many beliefs are read or written at once, so that polls do
// not wait for all of them.
const beliefPage = 1000

func (b *batch) saveBelief(f freshet.Belief) error {
	if f.Source == "" {
		return b.put(&commonBeliefsTable, f.Estimator, int64(f.Upto), Blob(f.Memory))
	}
	e := b.store.entries[f.Source]
	if staged, ok := b.staged[f.Source]; ok {
		e = staged
	}
	if e == nil {
		return nil
	}
	switch f.Estimator {
	case freshet.ItemBelief:
		b.itemed = append(b.itemed, f.Source)
	case freshet.TaughtBelief, freshet.ChancesBelief: // said by somebody, and not by the log
		b.told = true
	}
	return b.put(&beliefsTable, f.Estimator, e.key, int64(f.Upto), Blob(f.Memory))
}

// Beliefs implements [freshet.BeliefStore]. It yields the one about all sources
// together first, then those about watched sources, in the order of their IDs.
func (s *stateStore) Beliefs(ctx context.Context, estimator string) iter.Seq2[freshet.Belief, error] {
	return func(yield func(freshet.Belief, error) bool) {
		common, err := s.readBeliefs(ctx, estimator, "SELECT '', upto, memory FROM common_beliefs WHERE estimator = ?", estimator)
		if err != nil {
			yield(freshet.Belief{}, err)
			return
		}
		for _, f := range common {
			if !yield(f, nil) {
				return
			}
		}
		last := freshet.SourceID("")
		for {
			page, err := s.readBeliefs(ctx, estimator, `SELECT s.id, f.upto, f.memory FROM sources s CROSS JOIN beliefs f ON f.source = s.key AND f.estimator = ?
				WHERE s.id > ? AND s.removed = 0 ORDER BY s.id LIMIT ?`, estimator, last, beliefPage)
			if err != nil {
				yield(freshet.Belief{}, err)
				return
			}
			for _, f := range page {
				if !yield(f, nil) {
					return
				}
			}
			if len(page) < beliefPage {
				return
			}
			last = page[len(page)-1].Source
		}
	}
}

// Belief implements [freshet.BeliefStore].
func (s *stateStore) Belief(ctx context.Context, estimator string, id freshet.SourceID) (freshet.Belief, error) {
	query, args := "SELECT ?, upto, memory FROM beliefs WHERE estimator = ? AND source = (SELECT key FROM sources WHERE id = ?)", []any{id, estimator, id}
	if id == "" {
		query, args = "SELECT '', upto, memory FROM common_beliefs WHERE estimator = ?", []any{estimator}
	}
	none := func() (freshet.Belief, error) {
		return freshet.Belief{}, fmt.Errorf("what %s thinks of source %s: %w", estimator, id, freshet.ErrNotFound)
	}
	about := estimator == freshet.ItemBelief && !s.cfg.ReadOnly // then nobody else writes it
	known, when := false, 0
	if about {
		if known, when = s.itemless.has(id); known {
			return none()
		}
	}
	found, err := s.readBeliefs(brief(ctx), estimator, query, args...)
	if err != nil {
		return freshet.Belief{}, err
	}
	if len(found) == 0 {
		if about {
			s.itemless.add(id, when)
		}
		return none()
	}
	return found[0], nil
}

// readBeliefs reads what an estimator thinks, as a query selects it.
func (s *stateStore) readBeliefs(ctx context.Context, estimator, query string, args ...any) (page []freshet.Belief, err error) {
	err = eachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		f := freshet.Belief{Estimator: estimator}
		err := scan(&f.Source, &f.Upto, &f.Memory)
		page = append(page, f)
		return err
	})
	return page, s.fault("reading beliefs", err)
}

// An itemless is which sources are known to have no belief about their items. Most have
// none, and are asked for it with every change; a query would take as long as all that is
// written for the change.
type itemless struct {
	mu      sync.Mutex
	of      map[freshet.SourceID]bool
	written int // how often beliefs about items were committed
}

// mostItemless bounds how many sources are known.
const mostItemless = 100_000

// has reports whether a source is known to have none, and when it was asked.
func (i *itemless) has(id freshet.SourceID) (known bool, when int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.of[id], i.written
}

// add notes that a source has none, unless one was written since it was asked for.
func (i *itemless) add(id freshet.SourceID, when int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.written != when {
		return
	}
	if i.of == nil || len(i.of) >= mostItemless {
		i.of = map[freshet.SourceID]bool{}
	}
	i.of[id] = true
}

// remove notes that beliefs about the items of sources were committed.
func (i *itemless) remove(ids []freshet.SourceID) {
	if len(ids) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.written++
	for _, id := range ids {
		delete(i.of, id)
	}
}
