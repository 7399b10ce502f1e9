package store

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
)

const (
	cutAtOnce    = 100  // versions of a source dropped in one transaction
	oldestAtOnce = 5000 // versions looked for among those of all sources
	logAtOnce    = 5000 // outcomes
	vacuumAtOnce = 2000 // pages given back to the file system
)

// A pruner drops history that the bounds do not allow.
type pruner struct{ *committer }

// Prune implements [freshet.Archive]. It works in many small transactions, so
// that polls go on beside it; a Prune that is interrupted has done part of the
// work and nothing wrong.
//
// A bound on all sources together drops what was superseded longest ago,
// whichever source it is of. Changes stay when their versions go.
func (s *pruner) Prune(ctx context.Context, now time.Time, overall freshet.Keep, logs time.Duration) (done freshet.Pruned, err error) {
	sources, err := s.bounded(ctx, overall.Age)
	if err != nil {
		return done, err
	}
	for _, b := range sources {
		if err := s.pruneSource(ctx, now, b, &done); err != nil {
			return done, err
		}
	}
	if err := s.pruneOverall(ctx, overall, &done); err != nil {
		return done, err
	}
	if overall.Total > 0 {
		if err := s.pruneTotal(ctx, overall.Total, &done); err != nil {
			return done, err
		}
	}
	if logs > 0 {
		if err := s.pruneLogs(ctx, MomentOf(now.Add(-logs)), &done); err != nil {
			return done, err
		}
	}
	return done, s.shrink(ctx)
}

// A bound is how much of a source's history is to be kept.
type bound struct {
	id   freshet.SourceID
	key  int64
	keep freshet.Keep
}

// bounded returns the sources that some bound applies to, removed ones too.
func (s *pruner) bounded(ctx context.Context, age time.Duration) (found []bound, err error) {
	all := 2 // more than there is
	if age > 0 {
		all = 0
	}
	err = EachRow(ctx, s.reader, `SELECT `+sourceColumns+`, s.key FROM sources s
		WHERE s.removed >= ? OR s.definition LIKE '%"keep"%' OR s.site IS NOT NULL`, []any{all}, func(scan func(...any) error) error {
		var row sourceRow
		var b bound
		if err := scan(append(row.places(), &b.key)...); err != nil {
			return err
		}
		src, err := row.source(s.site(row.site))
		b.id, b.keep = src.ID, src.Keep
		if age > 0 && (b.keep.Age == 0 || b.keep.Age > age) {
			b.keep.Age = age
		}
		if b.keep != (freshet.Keep{}) {
			found = append(found, b)
		}
		return err
	})
	return found, s.fault("reading the bounds of sources", err)
}

// pruneSource drops the oldest versions of a source until its bounds hold.
func (s *pruner) pruneSource(ctx context.Context, now time.Time, k bound, done *freshet.Pruned) error {
	for {
		first, err := s.firstKept(ctx, now, k)
		if err != nil || first == 0 {
			return err
		}
		n, err := s.cut(ctx, k.id, first, done)
		if err != nil || n == 0 {
			return err
		}
	}
}

// sizeOfVersion is how many bytes the bodies of a version v take.
const sizeOfVersion = `(SELECT length(frame) FROM bodies WHERE id = v.text) + (SELECT CASE WHEN v.raw = v.text THEN 0 ELSE length(frame) END FROM bodies WHERE id = v.raw)
	+ coalesce((SELECT length(frame) FROM bodies WHERE id = v.picture), 0)`

// firstKept returns the number of the oldest version that the bounds of a
// source let stay, or zero if all may.
func (s *pruner) firstKept(ctx context.Context, now time.Time, k bound) (first int64, err error) {
	oldest := never
	if k.keep.Age > 0 {
		oldest = MomentOf(now.Add(-k.keep.Age))
	}
	size := "0"
	if k.keep.Bytes > 0 {
		size = sizeOfVersion
	}
	var count int
	var bytes int64
	seenNext := Moment(1<<63 - 1) // when the version was superseded
	err = EachRow(ctx, s.reader, `SELECT v.number, v.seen, `+size+` FROM versions v WHERE v.source = ? ORDER BY v.number DESC`, []any{k.key}, func(scan func(...any) error) error {
		var number, size int64
		var seen Moment
		if err := scan(&number, &seen, &size); err != nil {
			return err
		}
		count++
		bytes += size
		tooMany := k.keep.Versions > 0 && count > k.keep.Versions
		tooLarge := k.keep.Bytes > 0 && bytes > k.keep.Bytes
		if count > 1 && first == 0 && (tooMany || tooLarge || seenNext < oldest) {
			first = number + 1
		}
		seenNext = seen
		return nil
	})
	return first, s.fault("reading the versions of "+string(k.id), err)
}

// pruneOverall drops what was superseded longest ago until the bounds on all
// sources together hold.
func (s *pruner) pruneOverall(ctx context.Context, keep freshet.Keep, done *freshet.Pruned) error {
	if keep.Versions == 0 && keep.Bytes == 0 {
		return nil
	}
	var versions, bytes int64
	err := s.reader.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM versions), (SELECT coalesce(sum(length(frame)), 0) FROM bodies)").Scan(&versions, &bytes)
	if err != nil {
		return s.fault("measuring the store", err)
	}
	for {
		var excess int64
		if keep.Versions > 0 {
			excess = versions - int64(keep.Versions)
		}
		if keep.Bytes > 0 && bytes > keep.Bytes {
			// Half as many as would do if all were of one size: the rest is
			// seen to when it is known what these have freed.
			excess = max(excess, 1+int64(float64(versions)*float64(bytes-keep.Bytes)/float64(bytes)/2))
		}
		if excess <= 0 {
			return nil
		}
		before := *done
		n, err := s.cutOldest(ctx, min(excess, oldestAtOnce), done)
		if err != nil || n == 0 {
			return err
		}
		versions -= int64(n)
		bytes -= done.Bytes - before.Bytes
	}
}

// pruneTotal drops the versions that were superseded longest ago until the store
// holds no more than so many bytes. Pages that have become free do not count:
// they are used again, or given back to the file system.
func (s *pruner) pruneTotal(ctx context.Context, most int64, done *freshet.Pruned) error {
	for {
		held, err := s.held(ctx)
		if err != nil || held <= most {
			return err
		}
		var versions int64
		if err := s.reader.QueryRowContext(ctx, "SELECT count(*) FROM versions").Scan(&versions); err != nil {
			return s.fault("measuring the store", err)
		}
		// Half as many as would do if the store held nothing else: the rest is
		// seen to when it is known what these have freed.
		excess := 1 + int64(float64(versions)*float64(held-most)/float64(held)/2)
		n, err := s.cutOldest(ctx, min(excess, oldestAtOnce), done)
		if err != nil {
			return err
		}
		if n == 0 {
			s.log.WarnContext(ctx, "the data is larger than keep.total, although only the newest versions are left", "bytes", held, "most", most)
			return nil
		}
	}
}

// held returns how many bytes the database has in use. No write waits for that.
func (s *pruner) held(ctx context.Context) (bytes int64, err error) {
	w, err := s.cfg.Database.Snapshot(ctx)
	if err != nil {
		return 0, s.fault("measuring the store", err)
	}
	bytes, err = s.cfg.Database.Held(w)
	return bytes, s.fault("measuring the store", errors.Join(err, w.Close()))
}

// cutOldest drops the n versions that were superseded first, and returns how
// many it dropped.
func (s *pruner) cutOldest(ctx context.Context, n int64, done *freshet.Pruned) (dropped int, err error) {
	first := map[freshet.SourceID]int64{}
	var order []freshet.SourceID
	err = EachRow(ctx, s.reader, `SELECT s.id, v.number FROM (
			SELECT source, number, lead(seen) OVER (PARTITION BY source ORDER BY number) AS superseded FROM versions
		) v JOIN sources s ON s.key = v.source JOIN standings t ON t.source = v.source
		WHERE v.number < t.head ORDER BY v.superseded, v.source, v.number LIMIT ?`, []any{n},
		func(scan func(...any) error) error {
			var id freshet.SourceID
			var number int64
			err := scan(&id, &number)
			if first[id] == 0 {
				order = append(order, id)
			}
			first[id] = max(first[id], number+1)
			return err
		})
	if err != nil {
		return 0, s.fault("looking for old versions", err)
	}
	for _, id := range order {
		n, err := s.cut(ctx, id, first[id], done)
		if err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}

// pruneLogs drops outcomes and attempts that began before a moment. What they
// add up to is written first.
func (s *pruner) pruneLogs(ctx context.Context, before Moment, done *freshet.Pruned) error {
	if err := s.write(ctx, "pruning the log", (*batch).flush); err != nil {
		return err
	}
	for {
		var n int64
		err := s.write(ctx, "pruning the log", func(b *batch) (err error) {
			s.pruned = max(s.pruned, before)
			if err := b.remove(&attemptsTable, "at < ?", int64(before)); err != nil {
				return err
			}
			if n, err = b.cutOldest(int64(before)); err != nil {
				return err
			}
			b.unlogged = b.unlogged || n > 0
			if err := b.keepCounters(); err != nil {
				return err
			}
			return b.remove(&marksTable, `upto < (SELECT max(upto) FROM marks)
				AND upto < (SELECT coalesce(min(cursor), 0) FROM outcomes)`)
		})
		done.Outcomes += n
		if err != nil || n == 0 {
			return err
		}
	}
}

// shrink gives room that has become free back.
func (s *pruner) shrink(ctx context.Context) error {
	return s.cfg.Database.Shrink(ctx, func(job func(*Writer) error) error {
		return s.Write(ctx, "shrinking the store", job)
	})
}

// weighAtMost is of how many sources it is measured what dropping versions frees; the
// others are taken to be alike.
const weighAtMost = 500
