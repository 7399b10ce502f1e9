package store

import (
	"context"
	"fmt"
	"iter"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// A stateStore keeps the state of log readers and of what is learnt, as keys and values.
type stateStore struct{ *committer }

// SaveState implements [freshet.StateStore]. State of sources that are no
// longer known is not saved.
func (s *stateStore) SaveState(ctx context.Context, states []freshet.State) error {
	for len(states) > 0 {
		part := states[:min(len(states), statePage)]
		states = states[len(part):]
		err := s.write(ctx, "saving state", func(b *batch) error {
			for _, state := range part {
				if err := b.saveState(state); err != nil {
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

// statePage is how many values are read or written at once, so that polls do
// not wait for all of them.
const statePage = 1000

func (b *batch) saveState(f freshet.State) error {
	if f.Source == "" {
		return b.put(&commonStatesTable, f.Key, int64(f.Upto), Blob(f.Value))
	}
	e := b.store.entries[f.Source]
	if staged, ok := b.staged[f.Source]; ok {
		e = staged
	}
	if e == nil {
		return nil
	}
	switch f.Key {
	case freshet.NoiseState, freshet.ItemState:
		b.stated = append(b.stated, newState{stateOf{f.Key, e.key}, keptState{f.Upto, f.Value, true}})
	case imported.HistoryState, imported.ForecastState: // imported, and not derived from the log
		b.told = true
	}
	return b.put(&statesTable, f.Key, e.key, int64(f.Upto), Blob(f.Value))
}

// States implements [freshet.StateStore].
func (s *stateStore) States(ctx context.Context, key string) iter.Seq2[freshet.State, error] {
	return func(yield func(freshet.State, error) bool) {
		common, err := s.readStates(ctx, key, "SELECT '', upto, memory FROM common_beliefs WHERE estimator = ?", key)
		if err != nil {
			yield(freshet.State{}, err)
			return
		}
		for _, f := range common {
			if !yield(f, nil) {
				return
			}
		}
		last := freshet.SourceID("")
		for {
			page, err := s.readStates(ctx, key, `SELECT s.id, f.upto, f.memory FROM sources s CROSS JOIN beliefs f ON f.source = s.key AND f.estimator = ?
				WHERE s.id > ? AND s.removed = 0 ORDER BY s.id LIMIT ?`, key, last, statePage)
			if err != nil {
				yield(freshet.State{}, err)
				return
			}
			for _, f := range page {
				if !yield(f, nil) {
					return
				}
			}
			if len(page) < statePage {
				return
			}
			last = page[len(page)-1].Source
		}
	}
}

// State implements [freshet.StateStore]. The value must not be changed.
func (s *stateStore) State(ctx context.Context, key string, id freshet.SourceID) (freshet.State, error) {
	query, args := "SELECT ?, upto, memory FROM beliefs WHERE estimator = ? AND source = (SELECT key FROM sources WHERE id = ?)", []any{id, key, id}
	if id == "" {
		query, args = "SELECT '', upto, memory FROM common_beliefs WHERE estimator = ?", []any{key}
	}
	kept := stateOf{key: key}
	if (key == freshet.NoiseState || key == freshet.ItemState) && !s.cfg.ReadOnly { // then nobody else writes it
		s.mu.RLock()
		if e := s.entries[id]; e != nil {
			kept.source = e.key
		}
		s.mu.RUnlock()
	}
	state, known, when := s.states.get(kept)
	if !known {
		found, err := s.readStates(brief(ctx), key, query, args...)
		if err != nil {
			return freshet.State{}, err
		}
		if len(found) > 0 {
			state = keptState{found[0].Upto, found[0].Value, true}
		}
		if kept.source != 0 {
			s.states.add(kept, state, when)
		}
	}
	if !state.there {
		return freshet.State{}, fmt.Errorf("state %s of source %s: %w", key, id, freshet.ErrNotFound)
	}
	return freshet.State{Source: id, Key: key, Upto: state.upto, Value: state.value}, nil
}

// readStates reads the values of a key that a query selects.
func (s *stateStore) readStates(ctx context.Context, key, query string, args ...any) (page []freshet.State, err error) {
	err = EachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		f := freshet.State{Key: key}
		err := scan(&f.Source, &f.Upto, &f.Value)
		page = append(page, f)
		return err
	})
	return page, s.fault("reading state", err)
}
