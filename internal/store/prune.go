package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// cut drops versions of a source with numbers below first, the oldest first
// and not more than a transaction should hold, and returns how many. The
// newest version stays whatever first is.
func (s *pruner) cut(ctx context.Context, id freshet.SourceID, first int64, done *freshet.Pruned) (int, error) {
	var n int
	var freed int64
	err := s.write(ctx, "pruning source "+string(id), func(b *batch) (err error) {
		e := b.entry(id)
		if e == nil {
			n, freed = 0, 0
			return nil
		}
		n, freed, err = b.cut(e, min(first, e.head))
		return err
	})
	if err != nil {
		return 0, err
	}
	done.Versions += n
	done.Bytes += freed
	return n, nil
}

func (b *batch) cut(e *entry, first int64) (n int, freed int64, err error) {
	oldest, err := b.Number("SELECT min(number) FROM versions WHERE source = ?", e.key)
	if err != nil {
		return 0, 0, err
	}
	first = min(first, oldest+cutAtOnce)
	dropped, err := b.Exec("DELETE FROM versions WHERE source = ? AND number < ?", e.key, first)
	if err != nil || dropped == 0 {
		return 0, 0, err
	}
	if err := b.keepCounters(); err != nil {
		return 0, 0, err
	}
	if err := b.dropEnvelopes(e.key); err != nil {
		return 0, 0, err
	}
	if err := b.remove(&truncationsTable, "log = 'versions' AND source = ? AND last < ?", e.key, first); err != nil {
		return 0, 0, err
	}
	if e.first, err = b.Number("SELECT min(number) FROM versions WHERE source = ?", e.key); err != nil {
		return 0, 0, err
	}
	if err := b.writeHead(e); err != nil {
		return 0, 0, err
	}
	freed, err = b.dropBodies(e.key)
	return int(dropped), freed, err
}

// dropEnvelopes deletes the envelopes of a source that no version has any more.
func (b *batch) dropEnvelopes(key int64) error {
	return b.Do("DELETE FROM envelopes WHERE source = ?1 AND id NOT IN (SELECT envelope FROM versions WHERE source = ?1)", key)
}

// dropBodies deletes the bodies of a source that no version has any more, and
// returns the stored bytes that makes. Those encoded against one of them are
// encoded anew.
func (b *batch) dropBodies(key int64) (freed int64, err error) {
	bodies, err := b.readBodies(key)
	if err != nil {
		return 0, err
	}
	for id, l := range bodies {
		if l.wanted && l.base != 0 && !bodies[l.base].wanted {
			grown, err := b.rebase(id, bodies)
			if err != nil {
				return 0, err
			}
			freed -= grown
		}
	}
	for id, l := range bodies {
		if l.wanted {
			continue
		}
		if err := b.Do("DELETE FROM bodies WHERE id = ?", id); err != nil {
			return 0, err
		}
		b.forget = append(b.forget, id)
		freed += l.bytes
	}
	return freed, nil
}

// A rowOfBody is what has to be known of a body to drop it or not.
type rowOfBody struct {
	base, bytes int64
	wanted      bool // some version has it
}

// readBodies returns the bodies of a source by number.
func (b *batch) readBodies(key int64) (map[int64]rowOfBody, error) {
	wanted := map[int64]bool{}
	err := b.Query("SELECT text, raw, coalesce(picture, 0) FROM versions WHERE source = ?", []driver.Value{key}, func(v []driver.Value) error {
		wanted[v[0].(int64)], wanted[v[1].(int64)], wanted[v[2].(int64)] = true, true, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	bodies := map[int64]rowOfBody{}
	err = b.Query("SELECT id, base, length(frame) FROM bodies WHERE source = ?", []driver.Value{key}, func(v []driver.Value) error {
		id := v[0].(int64)
		bodies[id] = rowOfBody{base: v[1].(int64), bytes: v[2].(int64), wanted: wanted[id]}
		return nil
	})
	return bodies, err
}

// rebase encodes a body whose base is to go against the nearest of those it
// rests on that stays, or alone. It returns by how many bytes that is longer.
func (b *batch) rebase(id int64, bodies map[int64]rowOfBody) (grown int64, err error) {
	base := bodies[id].base
	for base != 0 && !bodies[base].wanted {
		base = bodies[base].base
	}
	own, err := b.body(id)
	if err != nil {
		return 0, err
	}
	var history cachedBody
	if base != 0 {
		if history, err = b.body(base); err != nil {
			return 0, err
		}
	}
	frame, alone, err := b.store.codec.encode(own.body, history.body)
	if err != nil {
		return 0, fmt.Errorf("compressing: %w", err)
	}
	depth := history.depth + 1
	if alone {
		base, depth = 0, 0
	}
	err = b.Do("UPDATE bodies SET base = ?, depth = ?, frame = ? WHERE id = ?", base, depth, frame, id)
	b.forget = append(b.forget, id) // from the cache, which knows the old depth
	return int64(len(frame)) - bodies[id].bytes, err
}

// body returns a body as this transaction has it.
func (b *batch) body(id int64) (cachedBody, error) {
	if c, ok := b.store.cache.get(id); ok {
		return c, nil
	}
	var chain []link
	err := b.Query(selectChain, []driver.Value{id, int64(0)}, func(v []driver.Value) error {
		l := link{id: v[0].(int64), sum: v[1].(int64), size: v[2].(int64), base: v[3].(int64), depth: v[4].(int64)}
		l.frame = append(l.frame, v[5].([]byte)...)
		chain = append(chain, l)
		return nil
	})
	if err != nil {
		return cachedBody{}, err
	}
	return b.store.unchain(id, chain, cachedBody{})
}

// DropBodies drops the bodies of all sources that no version has.
func (s *pruner) DropBodies(ctx context.Context) error {
	for _, e := range s.entries {
		err := s.write(ctx, "repairing source "+string(e.id), func(b *batch) error {
			_, err := b.dropBodies(e.key)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// An entryOf is what has to be known of an entry of a log to take it out.
type entryOf struct {
	cursor int64
	sum    checksum
}

// cutLog takes the entries for which a condition holds out of a log, and
// returns how many. The log can still be verified: what the entries around them
// cover is noted as a cut.
func (b *batch) cutLog(t *table, where string, args ...driver.Value) (int64, error) {
	var gone []entryOf
	err := b.Query("SELECT cursor, "+t.sum+" FROM "+t.Name+" WHERE "+where+" ORDER BY cursor", args, func(v []driver.Value) error {
		sum, _ := v[1].(int64)
		gone = append(gone, entryOf{v[0].(int64), sum})
		return nil
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	for from := 0; from < len(gone); {
		upto := from
		for upto+1 < len(gone) && gone[upto+1].cursor == gone[upto].cursor+1 {
			upto++
		}
		if err := b.noteCut(t, gone[from].cursor, gone[upto]); err != nil {
			return 0, err
		}
		if t == &outcomesTable {
			if err := b.remove(&evidenceTable, "outcome BETWEEN ? AND ?", gone[from].cursor, gone[upto].cursor); err != nil {
				return 0, err
			}
		}
		from = upto + 1
	}
	return int64(len(gone)), b.Do("DELETE FROM "+t.Name+" WHERE "+where, args...)
}

// cutOldest takes the oldest outcomes out of the log that began before a moment, not more
// than a transaction should hold, and returns how many: a part that the database can drop
// at once, or else one by one.
func (b *batch) cutOldest(before int64) (int64, error) {
	database := b.store.cfg.Database
	part, err := database.Stale(b.Writer, before)
	if err != nil {
		return 0, err
	}
	if part == (Stretch{}) {
		return b.cutLog(&outcomesTable, "cursor IN (SELECT cursor FROM outcomes ORDER BY cursor LIMIT ?) AND coalesce(began, 0) < ?", int64(logAtOnce), before)
	}
	n, err := b.Number("SELECT count(*) FROM outcomes WHERE cursor BETWEEN ? AND ?", part.First, part.Last)
	if err != nil {
		return 0, err
	}
	sum, err := b.Number("SELECT checksum FROM outcomes WHERE cursor = ?", part.Last)
	if err != nil {
		return 0, err
	}
	if err := b.remove(&truncationsTable, "log = ? AND source = 0 AND first BETWEEN ? AND ?", outcomesTable.Name, part.First, part.Last); err != nil {
		return 0, err
	}
	if err := b.noteCut(&outcomesTable, part.First, entryOf{part.Last, sum}); err != nil {
		return 0, err
	}
	if err := b.remove(&evidenceTable, "outcome BETWEEN ? AND ?", part.First, part.Last); err != nil {
		return 0, err
	}
	return n, database.DropOutcomes(b.Writer, part)
}

// noteCut notes that the entries from first to last go. Cuts that meet become
// one.
func (b *batch) noteCut(t *table, first int64, last entryOf) error {
	var before driver.Value
	err := b.Query("SELECT first, last, before FROM cuts WHERE log = ? AND source = 0 AND first < ? ORDER BY first DESC LIMIT 1",
		[]driver.Value{t.Name, first}, func(v []driver.Value) error {
			if v[1].(int64) == first-1 {
				first, before = v[0].(int64), v[2]
			}
			return nil
		})
	if err == nil && before == nil {
		before, err = b.Number("SELECT "+t.sum+" FROM "+t.Name+" WHERE cursor = ?", first-1)
	}
	if err != nil {
		return err
	}
	following := last.cursor + 1
	err = b.Query("SELECT last, after FROM cuts WHERE log = ? AND source = 0 AND first = ?", []driver.Value{t.Name, following},
		func(v []driver.Value) error {
			last = entryOf{v[0].(int64), v[1].(int64)}
			return nil
		})
	if err != nil {
		return err
	}
	if err := b.remove(&truncationsTable, "log = ? AND source = 0 AND first = ?", t.Name, following); err != nil {
		return err
	}
	return b.put(&truncationsTable, t.Name, int64(0), first, last.cursor, before, last.sum)
}

// unlog takes all entries of one source out of a log, from the newest back.
func (b *batch) unlog(t *table, last freshet.Cursor) error {
	for at := int64(last); at != 0; {
		prev, err := b.Number("SELECT prev FROM "+t.Name+" WHERE cursor = ?", at)
		if err != nil {
			return err
		}
		if t == &changesTable {
			if err := b.purgeChange(freshet.Cursor(at)); err != nil {
				return err
			}
		}
		if _, err := b.cutLog(t, "cursor = ?", at); err != nil {
			return err
		}
		at = prev
	}
	return nil
}

// purgeChange has the features delete what they keep of a change.
func (b *batch) purgeChange(at freshet.Cursor) error {
	for _, f := range b.schema.features {
		if f.PurgeChange == nil {
			continue
		}
		if err := f.PurgeChange(&Tx{b}, at); err != nil {
			return err
		}
	}
	return nil
}
