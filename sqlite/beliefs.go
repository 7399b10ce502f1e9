package sqlite

import (
	"context"
	"iter"

	"freshet"
)

// SaveBeliefs implements [freshet.BeliefStore]. Beliefs of sources that are no
// longer known are passed over.
func (s *Store) SaveBeliefs(ctx context.Context, beliefs []freshet.Belief) error {
	for len(beliefs) > 0 {
		part := beliefs[:min(len(beliefs), beliefPage)]
		beliefs = beliefs[len(part):]
		err := s.write(ctx, "saving beliefs", func(b *batch) error {
			for _, belief := range part {
				e := b.store.entries[belief.Source]
				if staged, ok := b.staged[belief.Source]; ok {
					e = staged
				}
				if e == nil {
					continue
				}
				_, err := b.exec("INSERT OR REPLACE INTO beliefs (estimator, source, upto, memory) VALUES (?, ?, ?, ?)",
					belief.Estimator, e.key, int64(belief.Upto), blob(belief.Memory))
				if err != nil {
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

// Beliefs implements [freshet.BeliefStore]. It yields those about watched
// sources, in the order of their IDs.
func (s *Store) Beliefs(ctx context.Context, estimator string) iter.Seq2[freshet.Belief, error] {
	return func(yield func(freshet.Belief, error) bool) {
		last := freshet.SourceID("")
		for {
			var page []freshet.Belief
			err := eachRow(ctx, s.reader, `SELECT s.id, f.upto, f.memory FROM sources s CROSS JOIN beliefs f ON f.source = s.key AND f.estimator = ?
				WHERE s.id > ? AND s.removed = 0 ORDER BY s.id LIMIT ?`, []any{estimator, last, beliefPage},
				func(scan func(...any) error) error {
					f := freshet.Belief{Estimator: estimator}
					err := scan(&f.Source, &f.Upto, &f.Memory)
					page = append(page, f)
					return err
				})
			if err != nil {
				yield(freshet.Belief{}, fault(s.path, "reading beliefs", err))
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
