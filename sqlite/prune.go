package sqlite

import (
	"context"
	"time"

	"freshet"
)

// Prune implements [freshet.Archive].
func (s *Store) Prune(ctx context.Context, now time.Time, overall freshet.Keep, logs time.Duration) (freshet.Pruned, error) {
	return freshet.Pruned{}, nil
}

var _ freshet.Store = (*Store)(nil)
