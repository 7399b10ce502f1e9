package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A cutoff is what of the versions of a source would go.
type cutoff struct {
	first    int64 // that stays
	versions int64 // that go
}

// cutoffs are what would go, by the keys of the sources.
type cutoffs map[int64]cutoff

func (c cutoffs) versions() (n int64) {
	for _, one := range c {
		n += one.versions
	}
	return n
}

// WouldPrune implements [freshet.Archive]. It goes the way of Prune: the bounds of sources,
// those of all together, then the log.
func (s *pruner) WouldPrune(ctx context.Context, now time.Time, overall freshet.Keep, logs time.Duration) (would freshet.Pruned, err error) {
	gone := cutoffs{}
	if overall.Age > 0 {
		if err := s.olderThan(ctx, MomentOf(now.Add(-overall.Age)), gone); err != nil {
			return would, err
		}
	}
	if err := s.beyondOwn(ctx, now, gone); err != nil {
		return would, err
	}
	if err := s.beyondOverall(ctx, overall, gone); err != nil {
		return would, err
	}
	would.Versions = int(gone.versions())
	if would.Bytes, err = s.weigh(ctx, gone); err != nil {
		return would, err
	}
	if logs > 0 {
		err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM outcomes WHERE coalesce(began, 0) < ?", int64(MomentOf(now.Add(-logs)))).Scan(&would.Outcomes)
	}
	return would, s.fault("counting what would be pruned", err)
}

// superseded are the versions, each with when the next one came.
const superseded = `(SELECT source, number, text, raw, picture, lead(seen) OVER (PARTITION BY source ORDER BY number) AS superseded FROM versions)`

// olderThan notes the versions that were superseded before a moment, of all sources.
func (s *pruner) olderThan(ctx context.Context, oldest Moment, gone cutoffs) error {
	err := EachRow(ctx, s.reader, `SELECT c.source, c.first, count(*) FROM (
			SELECT v.source, max(v.number) + 1 AS first FROM `+superseded+` v JOIN standings t ON t.source = v.source
			WHERE v.superseded < ? AND v.number < t.head GROUP BY v.source
		) c JOIN versions w ON w.source = c.source AND w.number < c.first GROUP BY c.source, c.first`, []any{int64(oldest)}, func(scan func(...any) error) error {
		var key int64
		var c cutoff
		err := scan(&key, &c.first, &c.versions)
		gone[key] = c
		return err
	})
	return s.fault("counting old versions", err)
}

// beyondOwn notes the versions that the bounds of the sources themselves let go.
func (s *pruner) beyondOwn(ctx context.Context, now time.Time, gone cutoffs) error {
	sources, err := s.bounded(ctx, 0)
	if err != nil {
		return err
	}
	for _, b := range sources {
		first, err := s.firstKept(ctx, now, b)
		if err != nil {
			return err
		}
		if first <= gone[b.key].first {
			continue
		}
		var head, n int64
		err = s.reader.QueryRowContext(ctx, `SELECT t.head, (SELECT count(*) FROM versions WHERE source = t.source AND number < t.head AND number < ?)
			FROM standings t WHERE t.source = ?`, first, b.key).Scan(&head, &n)
		if err != nil {
			return s.fault("counting the versions of "+string(b.id), err)
		}
		gone[b.key] = cutoff{min(first, head), n}
	}
	return nil
}

// An excess is how much more there is than bounds on all sources together allow.
type excess struct{ versions, bytes int64 }

// beyondOverall notes the versions, the oldest first, that have to go until the bounds on
// all sources together hold.
func (s *pruner) beyondOverall(ctx context.Context, keep freshet.Keep, gone cutoffs) error {
	over, err := s.excess(ctx, keep, gone)
	if err != nil || over.versions <= 0 && over.bytes <= 0 {
		return err
	}
	size := "0"
	if over.bytes > 0 {
		size = sizeOfVersion
	}
	enough := errors.New("enough")
	err = EachRow(ctx, s.reader, `SELECT v.source, v.number, `+size+` FROM `+superseded+` v JOIN standings t ON t.source = v.source
		WHERE v.number < t.head ORDER BY v.superseded, v.source, v.number`, nil, func(scan func(...any) error) error {
		if over.versions <= 0 && over.bytes <= 0 {
			return enough
		}
		var key, number, size int64
		if err := scan(&key, &number, &size); err != nil {
			return err
		}
		c := gone[key]
		if number < c.first {
			return nil
		}
		gone[key] = cutoff{number + 1, c.versions + 1}
		over.versions--
		over.bytes -= size
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return s.fault("looking for old versions", err)
}

// excess measures the store against bounds on all sources together, less what goes anyway.
func (s *pruner) excess(ctx context.Context, keep freshet.Keep, gone cutoffs) (over excess, err error) {
	if keep.Versions == 0 && keep.Bytes == 0 && keep.Total == 0 {
		return over, nil
	}
	var versions, bytes int64
	err = s.reader.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM versions), (SELECT coalesce(sum(length(frame)), 0) FROM bodies)").Scan(&versions, &bytes)
	if err != nil {
		return over, s.fault("measuring the store", err)
	}
	freed, err := s.weigh(ctx, gone)
	if err != nil {
		return over, err
	}
	if keep.Versions > 0 {
		over.versions = versions - gone.versions() - int64(keep.Versions)
	}
	if keep.Bytes > 0 {
		over.bytes = bytes - freed - keep.Bytes
	}
	if keep.Total > 0 {
		held, err := s.held(ctx)
		if err != nil {
			return over, err
		}
		over.bytes = max(over.bytes, held-freed-keep.Total)
	}
	return over, nil
}

// weigh returns how many bytes of bodies no version would have any more.
func (s *pruner) weigh(ctx context.Context, gone cutoffs) (bytes int64, err error) {
	keys := slices.Sorted(maps.Keys(gone))
	step := len(keys)/weighAtMost + 1
	var weighed, versions int64
	for i := 0; i < len(keys); i += step {
		key, c := keys[i], gone[keys[i]]
		var freed int64
		err := s.reader.QueryRowContext(ctx, `SELECT coalesce(sum(length(frame)), 0) FROM bodies WHERE source = ? AND id NOT IN (
			SELECT text FROM versions WHERE source = ? AND number >= ? UNION SELECT raw FROM versions WHERE source = ? AND number >= ?
			UNION SELECT coalesce(picture, 0) FROM versions WHERE source = ? AND number >= ?)`, key, key, c.first, key, c.first, key, c.first).Scan(&freed)
		if err != nil {
			return 0, s.fault("weighing what would be pruned", err)
		}
		weighed, versions = weighed+freed, versions+c.versions
	}
	if versions == 0 {
		return 0, nil
	}
	return int64(float64(weighed) * float64(gone.versions()) / float64(versions)), nil
}
