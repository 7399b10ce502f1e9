package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
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
	err = eachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
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
	err = eachRow(ctx, s.reader, `SELECT o.began / ?, count(*), sum(CASE WHEN o.result = ? THEN 1 ELSE 0 END), sum(CASE WHEN o.result = ? THEN 1 ELSE 0 END)
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
	err := eachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
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
