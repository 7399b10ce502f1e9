package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A logReader reads the logs of outcomes and changes.
type logReader struct{ *mirror }

const outcomeColumns = `o.cursor, o.began, o.began - o.gap, o.began + o.took, o.cause, o.result, o.version, o.status,
	o.requests, coalesce(o.route, ''), o.bytes, o.modified, o.not_before, coalesce(o.failure, ''), coalesce(o.err, ''),
	coalesce(o.suspect, ''), coalesce(o.landed, ''), coalesce(o.fresh, 0), coalesce(o.quiet, ''), coalesce(o.look_again, 0)`

// saidColumn is what the source said at an outcome; NULL if nothing.
const saidColumn = "(SELECT said FROM evidence e WHERE e.outcome = o.cursor), "

// scanOutcome reads outcomeColumns.
func scanOutcome(scan func(...any) error) (o freshet.Outcome, err error) {
	var began, since, ended, modified, notBefore Moment
	err = scan(&o.Cursor, &began, &since, &ended, &o.Cause, &o.Result, &o.Version, &o.Status,
		&o.Requests, &o.Route, &o.Bytes, &modified, &notBefore, &o.Failure, &o.Err, &o.Suspect, &o.Landed, &o.FreshFor, &o.Quiet, &o.LookAgain)
	o.Began, o.Since, o.Ended = began.Time(), since.Time(), ended.Time()
	o.Modified, o.NotBefore = modified.Time(), notBefore.Time()
	return o, err
}

// selectOwnOutcomes follows the outcomes of one source from the newest back to
// a place. One leads to the next, so a limit stops it early.
const selectOwnOutcomes = `WITH RECURSIVE own (cursor, prev) AS (
		SELECT cursor, prev FROM outcomes WHERE cursor = ?
		UNION ALL
		SELECT o.cursor, o.prev FROM own JOIN outcomes o ON o.cursor = own.prev WHERE own.prev > ?
	) SELECT ?, ` + saidColumn + outcomeColumns + ` FROM (SELECT cursor FROM own WHERE cursor < ? LIMIT (SELECT ?)) n CROSS JOIN outcomes o ON o.cursor = n.cursor `

// saidAtOnce is how much of what sources said is read at once: some ten times as much
// in memory.
const saidAtOnce = 4 << 20

// errEnough ends a query whose rest is left for the next.
var errEnough = errors.New("enough for now")

// Outcomes implements [freshet.OutcomeLog]. No limit means all.
func (s *logReader) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	if q.Source == "" && !q.Newest {
		if found, ok := s.latest(q.After, q.Limit); ok {
			return found, ctx.Err()
		}
	}
	query, args, err := s.outcomeQuery(ctx, q)
	if err != nil || query == "" {
		return nil, err
	}
	var found []freshet.Outcome
	read := 0
	err = EachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		var id freshet.SourceID
		var said []byte
		o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&id, &said}, dst...)...) })
		o.Source = id
		if read += len(said); read > saidAtOnce && q.Limit > 0 && len(found) > 0 {
			return errEnough
		}
		if err == nil && said != nil && decodeSaid(said, &o) != nil {
			s.log.ErrorContext(ctx, "what a source said when it was polled cannot be read; it is left out", "source", id, "outcome", o.Cursor, "hint", s.cfg.Database.Hint())
		}
		found = append(found, o)
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	end := s.applied().outcome
	return slices.DeleteFunc(found, func(o freshet.Outcome) bool { return o.Cursor > end }), s.fault("reading outcomes", err)
}

// outcomeQuery returns the statement that answers q, or "" if nothing does.
func (s *logReader) outcomeQuery(ctx context.Context, q freshet.OutcomeQuery) (string, []any, error) {
	limit := Limited(q.Limit)
	before := freshet.Cursor(1<<63 - 1)
	if q.Newest && q.After > 0 {
		before = q.After
	}
	if q.Source == "" {
		const all = "SELECT coalesce(s.id, ''), " + saidColumn + outcomeColumns + " FROM outcomes o LEFT JOIN sources s ON s.key = o.source "
		if q.Newest {
			return all + "WHERE o.cursor < ? ORDER BY o.cursor DESC LIMIT (SELECT ?)", []any{before, limit}, nil
		}
		return all + "WHERE o.cursor > ? ORDER BY o.cursor LIMIT (SELECT ?)", []any{q.After, limit}, nil
	}
	e, err := s.remembered(ctx, q.Source)
	if err != nil {
		return "", nil, err
	}
	if q.Newest {
		return selectOwnOutcomes + "ORDER BY o.cursor DESC", []any{e.last, 0, q.Source, before, limit}, nil
	}
	return selectOwnOutcomes + "WHERE o.cursor > ? ORDER BY o.cursor LIMIT (SELECT ?)", []any{e.last, q.After, q.Source, before, math.MaxInt, q.After, limit}, nil
}

// CountOutcomes implements [freshet.OutcomeLog]. The marks say where in the log a time is,
// about.
func (s *logReader) CountOutcomes(ctx context.Context, after freshet.Cursor, since time.Time, length time.Duration) (counts []freshet.OutcomeCount, upto freshet.Cursor, err error) {
	end, err := s.LastOutcome(ctx)
	if err != nil {
		return nil, 0, err
	}
	from := int64(MomentOf(since))
	err = EachRow(ctx, s.reader, `SELECT o.began / ?, count(*), sum(CASE WHEN o.result = ? THEN 1 ELSE 0 END), sum(CASE WHEN o.result = ? THEN 1 ELSE 0 END)
		FROM outcomes o WHERE o.cursor > ? AND o.cursor <= ? AND o.cursor > (SELECT coalesce(max(upto), 0) FROM marks WHERE latest < ?) AND o.began >= ?
		GROUP BY 1 ORDER BY 1`,
		[]any{int64(length), int64(freshet.Changed), int64(freshet.Failed), after, end, from, from}, func(scan func(...any) error) error {
			var stretch int64
			var c freshet.OutcomeCount
			err := scan(&stretch, &c.Polls, &c.Changed, &c.Failed)
			c.At = Moment(stretch * int64(length)).Time()
			counts = append(counts, c)
			return err
		})
	return counts, end, s.fault("counting outcomes", err)
}

// Limited returns a limit for SQL.
func Limited(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}

// Attempts implements [freshet.Archive]. Those that have ended are taken from
// the log of outcomes, of which no more is read than may be late enough.
func (s *logReader) Attempts(ctx context.Context, since time.Time) ([]freshet.Attempt, error) {
	return s.attempts(ctx, `SELECT s.id, o.began, o.began + o.took, o.requests, coalesce(o.route, '') FROM outcomes o JOIN sources s ON s.key = o.source
		WHERE o.cursor > (SELECT coalesce(max(upto), 0) FROM marks WHERE latest < ?1) AND o.began >= ?1 AND o.cause <> ?2
		UNION ALL `+unlogged, int64(MomentOf(since)), int64(freshet.BySharing))
}

// unlogged are the attempts that have not ended, or whose sources are purged.
const unlogged = `SELECT coalesce(s.id, ''), a.at, a.ended, a.requests, coalesce(a.route, '')
	FROM attempts a LEFT JOIN sources s ON s.key = a.source WHERE a.at >= ?1`

// Unlogged implements [freshet.Archive].
func (s *logReader) Unlogged(ctx context.Context, since time.Time) ([]freshet.Attempt, error) {
	return s.attempts(ctx, unlogged, int64(MomentOf(since)))
}

// attempts returns those that a statement finds, oldest first.
func (s *logReader) attempts(ctx context.Context, query string, args ...any) ([]freshet.Attempt, error) {
	var found []freshet.Attempt
	err := EachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		var a freshet.Attempt
		var began, ended Moment
		err := scan(&a.Source, &began, &ended, &a.Requests, &a.Route)
		a.Began, a.Ended, a.Requests = began.Time(), ended.Time(), max(a.Requests, 1)
		found = append(found, a)
		return err
	})
	if err != nil {
		return nil, s.fault("reading attempts", err)
	}
	slices.SortFunc(found, func(a, b freshet.Attempt) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Source, b.Source))
	})
	return found, nil
}

const changeColumns = `c.cursor, s.id, c.seq, c.number, c.from_hash, c.to_hash, c.after, c.before, c.modified, c.summary,
	coalesce(l.url, ''), coalesce(l.name, ''), coalesce(l.tags, '[]'),
	coalesce(c.suspect, ''), coalesce(c.landed, ''), coalesce(c.details, ''), c.packed`

// changeJoins are the tables of changeColumns, besides changes as c.
const changeJoins = " JOIN sources s ON s.key = c.source LEFT JOIN labels l ON l.id = c.label "

// scanChange reads changeColumns. The epoch is left to withEpochs.
func scanChange(scan func(...any) error) (c freshet.Change, err error) {
	var from, to, packed []byte
	var after, before, modified Moment
	var tags, details string
	err = scan(&c.Cursor, &c.Source, &c.Seq, &c.Number, &from, &to, &after, &before, &modified, &c.Summary,
		&c.Label.URL, &c.Label.Name, &tags, &c.Suspect, &c.Landed, &details, &packed)
	if err != nil {
		return c, err
	}
	if err := readDetails(details, packed, &c.Details); err != nil {
		return c, err
	}
	copy(c.From[:], from)
	copy(c.To[:], to)
	c.After, c.Before, c.Modified = after.Time(), before.Time(), modified.Time()
	c.Label.Tags, err = scanTags(tags)
	return c, err
}

// selectOwnChanges follows the changes of one source from the newest back to a
// place.
const selectOwnChanges = `WITH RECURSIVE own (cursor, prev) AS (
		SELECT cursor, prev FROM changes WHERE cursor = ?
		UNION ALL
		SELECT c.cursor, c.prev FROM own JOIN changes c ON c.cursor = own.prev WHERE own.prev > ?
	) SELECT ` + changeColumns + ` FROM own JOIN changes c ON c.cursor = own.cursor ` + changeJoins + `
	WHERE ` + changeBounds

// changeBounds are the conditions of a query on a change c. The time is hidden from the
// planner, which must go by the order of the log.
const changeBounds = "c.cursor > ? AND c.cursor <= ? AND c.number > ? AND c.number <= ? AND coalesce(c.before, 0) >= ? AND coalesce(c.before, 0) < ?"

// Changes implements [freshet.ChangeLog]. No limit means all.
func (s *logReader) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	query := "SELECT " + changeColumns + " FROM changes c" + changeJoins + "WHERE " + changeBounds
	// A page that is gone before it was captured has a change without a version.
	above, upto := cmp.Or(q.Above, -1), cmp.Or(q.Upto, math.MaxInt)
	after, last, order := q.After, s.applied().change, " ORDER BY c.cursor"
	if q.Newest {
		after, last, order = 0, min(last, cmp.Or(q.After, math.MaxInt64)-1), " ORDER BY c.cursor DESC"
	}
	if !q.Seen.IsZero() {
		first, end, err := s.seenIn(ctx, q.Seen)
		if err != nil || end == 0 {
			return nil, err
		}
		after, last = max(after, first-1), min(last, end)
	}
	since, until := bounds(q.Seen)
	args := []any{after, last, above, upto, since, until, Limited(q.Limit)}
	if q.Source != "" {
		e, err := s.remembered(ctx, q.Source)
		if err != nil {
			return nil, err
		}
		query, args = selectOwnChanges, append([]any{e.changed, after}, args...)
	}
	var found []freshet.Change
	err := EachRow(ctx, s.reader, query+order+" LIMIT (SELECT ?)", args, func(scan func(...any) error) error {
		c, err := scanChange(scan)
		found = append(found, c)
		return err
	})
	if err != nil {
		return nil, s.fault("reading changes", err)
	}
	return s.withEpochs(ctx, found)
}

// seenIn returns the places of the first and the last change of a span of time; zeros if
// there is none.
func (s *logReader) seenIn(ctx context.Context, in freshet.Between) (first, last freshet.Cursor, err error) {
	since, until := bounds(in)
	err = EachRow(ctx, s.reader, "SELECT coalesce(min(cursor), 0), coalesce(max(cursor), 0) FROM changes WHERE before >= ? AND before < ?", []any{since, until},
		func(scan func(...any) error) error { return scan(&first, &last) })
	return first, last, s.fault("reading changes", err)
}

// FirstChange returns the place in the log before the first change that was seen at a time or later; the end if
// there is none.
func (s *logReader) FirstChange(ctx context.Context, since time.Time) (freshet.Cursor, error) {
	first, _, err := s.seenIn(ctx, freshet.Between{Since: since})
	if err == nil && first == 0 {
		return s.LastChange(ctx)
	}
	return max(0, first-1), err
}

// ChangesByDay counts the changes between two places of the log that were seen at a time or later, by source and
// day of UTC.
func (s *logReader) ChangesByDay(ctx context.Context, after, upto freshet.Cursor, since time.Time) (counts []freshet.DayCount, err error) {
	const day = int64(24 * time.Hour)
	err = EachRow(ctx, s.reader, `SELECT s.id, c.before / ?, count(*) FROM changes c JOIN sources s ON s.key = c.source
		WHERE c.cursor > ? AND c.cursor <= ? AND c.before >= ? GROUP BY 1, 2 ORDER BY 1, 2`,
		[]any{day, after, upto, int64(MomentOf(since))}, func(scan func(...any) error) error {
			var n int64
			var c freshet.DayCount
			err := scan(&c.Source, &n, &c.Changes)
			c.Day = Moment(n * day).Time()
			counts = append(counts, c)
			return err
		})
	return counts, s.fault("counting changes", err)
}

// Wait implements [freshet.ChangeLog]. On a store opened for reading only it hears
// of nothing.
func (s *mirror) Wait(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.changed, after, func() freshet.Cursor { return s.next.change })
}

// LastChange implements [freshet.ChangeLog].
func (s *mirror) LastChange(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.change })
}

// tailLength is how many outcomes the tail holds at least: more than are logged
// while a reader that follows the log takes in those before.
const tailLength = 4096

// mostTold is how many pages the outcomes of the tail may mention: each takes 40 bytes.
const mostTold = 500_000

// A tail is the end of the log of outcomes in memory. Readers that follow the log read from it
// what was committed a moment ago, without a query.
type tail struct {
	outcomes []freshet.Outcome // in the order of the log
	told     int               // pages that they mention
	notifier notifier          // rung when there is a new one
}

// add appends outcomes that have been committed.
func (t *tail) add(logged []freshet.Outcome) {
	if len(logged) == 0 {
		return
	}
	for _, o := range logged {
		t.told += told(o)
	}
	drop := 0
	if len(t.outcomes)+len(logged) > 2*tailLength {
		drop = max(0, len(t.outcomes)-tailLength)
	}
	for at := 0; at < len(t.outcomes) && (at < drop || t.told > mostTold); at++ {
		t.told -= told(t.outcomes[at])
		drop = max(drop, at+1)
	}
	t.outcomes = slices.Delete(t.outcomes, 0, drop)
	t.outcomes = append(t.outcomes, logged...)
	t.notifier.ring()
}

// told returns how many pages an outcome mentions.
func told(o freshet.Outcome) int {
	if o.Word == nil {
		return 0
	}
	return len(o.Word.Pages)
}

// clear forgets all outcomes: some of them are no longer in the log.
func (t *tail) clear() { t.outcomes, t.told = nil, 0 }

// after returns up to limit outcomes after a place, and whether the tail reaches
// back that far.
func (t *tail) after(place freshet.Cursor, limit int) ([]freshet.Outcome, bool) {
	if len(t.outcomes) == 0 || place+1 < t.outcomes[0].Cursor {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(t.outcomes, place+1, func(o freshet.Outcome, c freshet.Cursor) int { return int(o.Cursor - c) })
	found := t.outcomes[at:]
	if limit > 0 && limit < len(found) {
		found = found[:limit]
	}
	return slices.Clone(found), true
}

// latest returns outcomes after a place from the tail, and whether they are
// there.
func (s *mirror) latest(after freshet.Cursor, limit int) ([]freshet.Outcome, bool) {
	if s.cfg.ReadOnly { // another process writes
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if after >= s.next.outcome {
		return nil, true
	}
	return s.tail.after(after, limit)
}

// WaitOutcome implements [freshet.OutcomeLog]. On a store opened for reading only
// it hears of nothing.
func (s *mirror) WaitOutcome(ctx context.Context, after freshet.Cursor) error {
	return s.await(ctx, &s.tail.notifier, after, func() freshet.Cursor { return s.next.outcome })
}

// LastOutcome implements [freshet.OutcomeLog].
func (s *mirror) LastOutcome(ctx context.Context) (freshet.Cursor, error) {
	return s.end(ctx, func() freshet.Cursor { return s.next.outcome })
}

// A notifier wakes readers that wait for a log to grow. It is used under the
// store's lock.
type notifier struct {
	rung chan struct{} // closed by the next ring; nil while nobody waits
}

// ring wakes all that wait.
func (b *notifier) ring() {
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// hear returns what is closed by the next ring.
func (b *notifier) hear() <-chan struct{} {
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// await returns when a log goes on after a place, or with the cause when ctx is
// done. It hears of what this process writes.
func (s *mirror) await(ctx context.Context, b *notifier, after freshet.Cursor, end func() freshet.Cursor) error {
	for {
		s.mu.Lock()
		there, rung, unread := end() > after, b.hear(), s.unread
		s.mu.Unlock()
		if there {
			return nil
		}
		if unread {
			if err := s.Refresh(ctx); err != nil {
				return err
			}
			continue
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end returns where a log ends.
func (s *mirror) end(ctx context.Context, of func() freshet.Cursor) (freshet.Cursor, error) {
	if s.cfg.ReadOnly { // another process may have written since
		if err := s.Refresh(ctx); err != nil {
			return 0, err
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return of(), nil
}

// applied returns the ends of the logs as this process knows them. A transaction
// can be read a moment before it is applied: what it wrote lies past these ends, and is not
// visible yet.
func (s *mirror) applied() counter {
	if s.cfg.ReadOnly { // whose ends are read when they are asked for
		ends := counter{change: math.MaxInt64, outcome: math.MaxInt64}
		for i := range ends.logs {
			ends.logs[i] = math.MaxInt64
		}
		return ends
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.next
}

// Heard notes that another process has written. If a reader waits for a log to grow, it calls
// Refresh; otherwise the next reader does.
func (s *mirror) Heard(ctx context.Context) error {
	s.mu.Lock()
	waited := s.tail.notifier.rung != nil || s.changed.rung != nil || s.derived.rung != nil
	s.unread = !waited
	s.mu.Unlock()
	if !waited {
		return nil
	}
	return s.Refresh(ctx)
}

// Refresh looks where the logs end that another process writes, and wakes those who wait for
// them to grow.
func (s *mirror) Refresh(ctx context.Context) error {
	var ends counter
	err := EachRow(ctx, s.reader, s.schema.readEnds, nil, func(scan func(...any) error) error {
		return scan(append([]any{&ends.outcome, &ends.change}, ends.logEnds(s.schema)...)...)
	})
	if err != nil {
		return s.fault("reading the ends of the logs", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = false
	s.ring(&ends)
	s.next.outcome, s.next.change = max(ends.outcome, s.next.outcome), max(ends.change, s.next.change)
	for i := range s.next.logs {
		s.next.logs[i] = max(ends.logs[i], s.next.logs[i])
	}
	return nil
}

// ring wakes those who wait for logs to grow that end further on than was known.
func (s *mirror) ring(ends *counter) {
	if ends.outcome > s.next.outcome {
		s.tail.notifier.ring()
	}
	if ends.change > s.next.change {
		s.changed.ring()
	}
	for i := range ends.logs {
		if ends.logs[i] > s.next.logs[i] {
			s.derived.ring()
		}
	}
}

// epochs are the epochs of the logs of changes and outcomes, and of the log of a feature that has
// them. All three begin together.
type epochs struct {
	changes, outcomes, derived freshet.Epochs
}

// add appends an epoch that begins after these entries of the logs.
func (e *epochs) add(name freshet.Epoch, change, outcome, derived freshet.Cursor) {
	e.changes = append(e.changes, freshet.EpochStart{Epoch: name, After: change})
	e.outcomes = append(e.outcomes, freshet.EpochStart{Epoch: name, After: outcome})
	e.derived = append(e.derived, freshet.EpochStart{Epoch: name, After: derived})
}

// last returns the name of the newest epoch.
func (e *epochs) last() freshet.Epoch { return e.changes[len(e.changes)-1].Epoch }

// randomEpoch returns a name that no other epoch has. Those of a store and of its
// copies are few, so forty bits are enough.
func randomEpoch() freshet.Epoch { return freshet.Epoch(strings.ToLower(rand.Text()[:8])) }

// readEpochs returns the epochs that are on record, the oldest first.
func readEpochs(ctx context.Context, q Querier) (found epochs, err error) {
	err = EachRow(ctx, q, "SELECT name, change, outcome, coalesce(match, 0) FROM epochs ORDER BY number", nil, func(scan func(...any) error) error {
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
		s.epochs.add(s.cfg.Epoch, s.next.change, s.next.outcome, s.next.derived(s.schema))
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
		CountOrNull(int64(e.derived[last].After)))
}

// epochsNow returns the epochs. Rows that were read before are of one of them.
func (s *mirror) epochsNow(ctx context.Context) (epochs, error) {
	if s.cfg.ReadOnly { // another process may have written since
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
