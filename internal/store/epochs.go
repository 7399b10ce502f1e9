package store

import (
	"context"
	"crypto/rand"
	"strings"

	"freshet/internal/freshet"
)

// epochs are the epochs of the logs; one of each belongs together.
type epochs struct {
	changes, outcomes, matches freshet.Epochs
}

// add appends an epoch that begins after these entries of the logs.
func (e *epochs) add(name freshet.Epoch, change, outcome, match freshet.Cursor) {
	e.changes = append(e.changes, freshet.EpochStart{Epoch: name, After: change})
	e.outcomes = append(e.outcomes, freshet.EpochStart{Epoch: name, After: outcome})
	e.matches = append(e.matches, freshet.EpochStart{Epoch: name, After: match})
}

// last returns the name of the newest epoch.
func (e *epochs) last() freshet.Epoch { return e.changes[len(e.changes)-1].Epoch }

// randomEpoch returns a name that no other epoch has. Those of a store and of its
// copies are few, so forty bits are enough.
func randomEpoch() freshet.Epoch { return freshet.Epoch(strings.ToLower(rand.Text()[:8])) }

// readEpochs returns the epochs that are on record, the oldest first.
func readEpochs(ctx context.Context, q querier) (found epochs, err error) {
	err = eachRow(ctx, q, "SELECT name, change, outcome, coalesce(match, 0) FROM epochs ORDER BY number", nil, func(scan func(...any) error) error {
		var name freshet.Epoch
		var change, outcome, match freshet.Cursor
		err := scan(&name, &change, &outcome, &match)
		found.add(name, change, outcome, match)
		return err
	})
	return found, err
}

// takeEpochs takes over the epochs on record, and begins that of this process unless
// it goes on with the last.
func (s *mirror) takeEpochs(found epochs) {
	s.epochs, s.begun = found, true
	if len(found.changes) == 0 || found.last() != s.cfg.Epoch {
		s.epochs.add(s.cfg.Epoch, s.next.change, s.next.outcome, s.next.match)
		s.begun = false
	}
}

// beginEpoch puts the epoch of this process on record, with the first number that
// it gives out. One that gives out none leaves no trace.
func (b *batch) beginEpoch() error {
	if b.store.begun || b.begun {
		return nil
	}
	b.begun = true
	e, last := b.store.epochs, len(b.store.epochs.changes)-1
	number, err := b.Number("SELECT max(number) FROM epochs")
	if err != nil {
		return err
	}
	return b.insert(&epochsTable, number+1, string(e.last()), int64(e.changes[last].After), int64(e.outcomes[last].After),
		CountOrNull(int64(e.matches[last].After)))
}

// epochsNow returns the epochs. Rows that were read before are of one of them.
func (s *mirror) epochsNow(ctx context.Context) (epochs, error) {
	if s.cfg.ReadOnly { // somebody else may have written since
		found, err := readEpochs(ctx, s.reader)
		return found, s.fault("reading the epochs", err)
	}
	return s.epochs, nil
}

// ChangeEpochs implements [freshet.ChangeLog].
func (s *mirror) ChangeEpochs(ctx context.Context) (freshet.Epochs, error) {
	found, err := s.epochsNow(ctx)
	return found.changes, err
}

// OutcomeEpochs implements [freshet.OutcomeLog].
func (s *mirror) OutcomeEpochs(ctx context.Context) (freshet.Epochs, error) {
	found, err := s.epochsNow(ctx)
	return found.outcomes, err
}

// withEpochs gives changes that have been read their epochs.
func (s *mirror) withEpochs(ctx context.Context, changes []freshet.Change) ([]freshet.Change, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	found, err := s.ChangeEpochs(ctx)
	for i := range changes {
		changes[i].Epoch = found.Of(changes[i].Cursor)
	}
	return changes, err
}
