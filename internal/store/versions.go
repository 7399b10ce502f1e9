package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

const (
	versionColumns = `coalesce(v.number, 0), v.hash, v.seen, coalesce(text.size, 0), coalesce(raw.size, 0), coalesce(n.media_type, ''), coalesce(n.title, ''),
		coalesce(n.url, ''), coalesce(v.suspect, ''), coalesce(v.quiet, ''), coalesce(picture.size, 0), coalesce(v.fields, '')`
	versionJoins = `LEFT JOIN bodies text ON text.id = v.text LEFT JOIN bodies raw ON raw.id = v.raw LEFT JOIN envelopes n ON n.id = v.envelope
		LEFT JOIN bodies picture ON picture.id = v.picture`
	selectVersions = `SELECT ` + versionColumns + ` FROM versions v ` + versionJoins + ` WHERE v.source = (SELECT key FROM sources WHERE id = ?) `
)

// A versionReader reads versions.
type versionReader struct {
	*mirror
	*bodies
}

// scanVersion reads versionColumns.
func scanVersion(scan func(...any) error) (v freshet.Version, err error) {
	var hash []byte
	var seen Moment
	var fields string
	err = scan(&v.Number, &hash, &seen, &v.TextBytes, &v.RawBytes, &v.MediaType, &v.Title, &v.URL, &v.Suspect, &v.Quiet, &v.Picture, &fields)
	copy(v.Hash[:], hash)
	v.SeenAt = seen.Time()
	if err == nil {
		err = ReadJSON(fields, &v.Fields)
	}
	return v, err
}

// Versions implements [freshet.Archive]. No limit means all.
func (s *versionReader) Versions(ctx context.Context, id freshet.SourceID, in freshet.Between, before, limit int) ([]freshet.Version, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	query, args := selectVersions+"AND v.number < ? ", []any{id, before}
	if !in.IsZero() {
		since, until := bounds(in)
		query, args = query+"AND v.seen >= (SELECT ?) AND v.seen < (SELECT ?) ", append(args, since, until)
	}
	return s.versions(ctx, id, query+"ORDER BY v.number DESC LIMIT (SELECT ?)", append(args, Limited(limit))...)
}

// bounds returns a span of time as it is compared with what is stored.
func bounds(in freshet.Between) (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	if !in.Since.IsZero() {
		since = int64(MomentOf(in.Since))
	}
	if !in.Until.IsZero() {
		until = int64(MomentOf(in.Until))
	}
	return since, until
}

// VersionWith implements [freshet.Archive]. A parameter beside a column without an
// index would be SQLite's reason to plan the query anew each time; a SELECT hides it.
func (s *versionReader) VersionWith(ctx context.Context, id freshet.SourceID, text freshet.Hash, above int) (number int, err error) {
	if !s.cfg.ReadOnly {
		e, err := s.remembered(ctx, id)
		if seen := e.recent.get(); err != nil || seen.lacks(text, int64(above)+1, e.lastVersion()) {
			return 0, err
		}
	}
	err = EachRow(brief(ctx), s.reader, "SELECT number FROM versions WHERE source = (SELECT key FROM sources WHERE id = ?) AND number > (SELECT ?) AND hash = (SELECT ?) ORDER BY number DESC LIMIT 1",
		[]any{id, above, text[:]}, func(scan func(...any) error) error { return scan(&number) })
	return number, s.fault("reading versions", err)
}

// Version implements [freshet.Archive].
func (s *versionReader) Version(ctx context.Context, id freshet.SourceID, number int) (freshet.Version, error) {
	found, err := s.versions(ctx, id, selectVersions+"AND v.number = ?", id, number)
	if err != nil {
		return freshet.Version{}, err
	}
	if len(found) == 0 {
		return freshet.Version{}, noVersion(id, number)
	}
	return found[0], nil
}

func (s *versionReader) versions(ctx context.Context, id freshet.SourceID, query string, args ...any) ([]freshet.Version, error) {
	var found []freshet.Version
	err := EachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		v, err := scanVersion(scan)
		v.Source = id
		found = append(found, v)
		return err
	})
	return found, s.fault("reading versions", err)
}

func noVersion(id freshet.SourceID, number int) error {
	return fmt.Errorf("version %d of source %s: %w", number, id, freshet.ErrNotFound)
}

// Text implements [freshet.Archive].
func (s *versionReader) Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	text, hash, err := s.textOf(ctx, id, number)
	if err != nil {
		return nil, err
	}
	b, err := s.body(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("text of version %d of source %s: %w", number, id, err)
	}
	if b.hash == (freshet.Hash{}) || b.hash != hash {
		if freshet.HashOf(b.body) != hash {
			return nil, s.damaged(fmt.Sprintf("the text of version %d of source %s does not hash to its name", number, id))
		}
		b.hash = hash
		s.cache.put(b)
	}
	return slices.Clone(b.body), nil
}

// textOf returns the body that is the text of a version, and its hash. Those of
// the newest version, which every capture is compared with, are in memory unless
// another process writes.
func (s *versionReader) textOf(ctx context.Context, id freshet.SourceID, number int) (text int64, hash freshet.Hash, err error) {
	if !s.cfg.ReadOnly {
		e, err := s.remembered(ctx, id)
		if err != nil {
			return 0, hash, err
		}
		if e.head == int64(number) && e.text != 0 {
			return e.text, e.hash, nil
		}
	}
	row, err := s.versionRow(ctx, id, number)
	if err != nil {
		return 0, hash, err
	}
	text, _ = row["text"].(int64)
	named, _ := row["hash"].([]byte)
	copy(hash[:], named)
	return text, hash, nil
}

// Picture implements [freshet.Archive].
func (s *versionReader) Picture(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	var picture, found int64
	err := EachRow(ctx, s.reader, "SELECT 1, coalesce(v.picture, 0) FROM sources s JOIN versions v ON v.source = s.key WHERE s.id = ? AND v.number = ?",
		[]any{id, number}, func(scan func(...any) error) error { return scan(&found, &picture) })
	switch {
	case err != nil:
		return nil, s.fault("reading a version", err)
	case found == 0:
		return nil, noVersion(id, number)
	case picture == 0:
		return nil, fmt.Errorf("picture of version %d of source %s: %w", number, id, freshet.ErrNotFound)
	}
	b, err := s.body(ctx, picture)
	if err != nil {
		return nil, fmt.Errorf("picture of version %d of source %s: %w", number, id, err)
	}
	return slices.Clone(b.body), nil
}

// selectVersion finds the row of a version, with its checksum.
var selectVersion = "SELECT v." + strings.Join(append(slices.Clone(versionsTable.Columns), versionsTable.sum), ", v.") +
	" FROM sources s JOIN versions v ON v.source = s.key WHERE s.id = ? AND v.number = ?"

// versionRow returns the row of a version by the names of its columns. One that is not as
// it was written is damaged: it may be that of another version.
func (s *versionReader) versionRow(ctx context.Context, id freshet.SourceID, number int) (map[string]any, error) {
	t := &versionsTable
	row := map[string]any{}
	err := EachRow(brief(ctx), s.reader, selectVersion, []any{id, number}, func(scan func(...any) error) error {
		into := make([]any, len(t.Columns)+1)
		for i := range into {
			into[i] = new(any)
		}
		if err := scan(into...); err != nil {
			return err
		}
		values := make([]driver.Value, len(into))
		for i := range into {
			values[i] = *into[i].(*any)
		}
		sum, _ := sumRow(nil, t, 0, values[:len(t.Columns)])
		if kept := values[len(t.Columns)]; kept != nil && kept != driver.Value(sum) {
			return s.damaged(fmt.Sprintf("the record of version %d of source %s is not as it was written", number, id))
		}
		for i, name := range t.Columns {
			row[name] = values[i]
		}
		return nil
	})
	if err != nil {
		return nil, s.fault("reading a version", err)
	}
	if len(row) == 0 {
		return nil, noVersion(id, number)
	}
	return row, nil
}

// Raw implements [freshet.Archive].
func (s *versionReader) Raw(ctx context.Context, id freshet.SourceID, number int) (freshet.Raw, error) {
	var raw freshet.Raw
	row, err := s.versionRow(ctx, id, number)
	if err != nil {
		return freshet.Raw{}, err
	}
	body, _ := row["raw"].(int64)
	fresh, _ := row["header"].([]byte)
	var steady []byte
	err = EachRow(brief(ctx), s.reader, "SELECT status, url, header FROM envelopes WHERE id = ?", []any{row["envelope"]}, func(scan func(...any) error) error {
		return scan(&raw.Status, &raw.URL, &steady)
	})
	if err != nil {
		return freshet.Raw{}, s.fault("reading a version", err)
	}
	if err := s.codec.readHeader(steady, fresh, &raw); err != nil {
		return freshet.Raw{}, s.damaged(fmt.Sprintf("the header of version %d of source %s cannot be read", number, id))
	}
	b, err := s.body(ctx, body)
	if err != nil {
		return freshet.Raw{}, fmt.Errorf("response of version %d of source %s: %w", number, id, err)
	}
	raw.Body = slices.Clone(b.body)
	return raw, nil
}
