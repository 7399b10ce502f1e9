package exporter

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"freshet/client"
	"freshet/internal/freshet"
)

// A ChangeRow is a change as a row of a table.
type ChangeRow struct {
	Cursor   string     `parquet:"cursor" json:"cursor"`
	Source   string     `parquet:"source,dict" json:"source"`
	Seq      int64      `parquet:"seq" json:"seq"`
	Version  int64      `parquet:"version" json:"version"`
	URL      string     `parquet:"url,dict" json:"url"`
	Name     string     `parquet:"name,dict" json:"name"`
	Tags     []string   `parquet:"tags,list" json:"tags"`
	After    time.Time  `parquet:"after,timestamp(microsecond)" json:"after"`
	Before   time.Time  `parquet:"before,timestamp(microsecond)" json:"before"`
	Modified *time.Time `parquet:"modified,optional,timestamp(microsecond)" json:"modified"`
	Summary  string     `parquet:"summary" json:"summary"`
	From     string     `parquet:"from" json:"from"`
	To       string     `parquet:"to" json:"to"`
	Suspect  string     `parquet:"suspect,dict" json:"suspect"`
	Fields   string     `parquet:"fields" json:"fields"` // JSON; "" if there are none
	Items    string     `parquet:"items" json:"items"`
	Text     string     `parquet:"text" json:"text"`
}

// A ValueRow is a named value of a version as a row of a table.
type ValueRow struct {
	Source  string    `parquet:"source,dict" json:"source"`
	URL     string    `parquet:"url,dict" json:"url"`
	Name    string    `parquet:"name,dict" json:"name"`
	Version int64     `parquet:"version" json:"version"`
	Seen    time.Time `parquet:"seen,timestamp(microsecond)" json:"seen"`
	Field   string    `parquet:"field,dict" json:"field"`
	Text    *string   `parquet:"text,optional" json:"text"`     // nil where there was none
	Number  *float64  `parquet:"number,optional" json:"number"` // if the value is one
}

func changeRow(c client.Change) ChangeRow {
	r := ChangeRow{
		Cursor: c.Cursor.String(), Source: string(c.Source), Seq: int64(c.Seq), Version: int64(c.Number), URL: c.URL, Name: c.Name, Tags: c.Tags,
		After: c.After.UTC(), Before: c.Before.UTC(), Summary: c.Summary, From: c.From, To: c.To,
	}
	if !c.Modified.IsZero() {
		at := c.Modified.UTC()
		r.Modified = &at
	}
	if c.Suspect != nil {
		r.Suspect = string(c.Suspect.Class)
	}
	if len(c.Fields) > 0 {
		r.Fields = compact(c.Fields)
	}
	if c.Items != nil {
		r.Items = compact(c.Items)
	}
	if c.Text != nil {
		r.Text = compact(c.Text)
	}
	return r
}

// compact returns what came as JSON as JSON again.
func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came as JSON
	}
	return string(text)
}

// valueRows returns the rows of a version, in the order of the names of its values.
func valueRows(of source, v client.Version) (rows []ValueRow) {
	for _, name := range sortedKeys(v.Fields) {
		r := ValueRow{Source: string(of.id), URL: of.url, Name: of.name, Version: int64(v.Number), Seen: v.SeenAt.UTC(), Field: name}
		switch value := v.Fields[name].(type) {
		case nil:
		case string:
			r.Text = &value
		case float64:
			text := strconv.FormatFloat(value, 'f', -1, 64)
			r.Text, r.Number = &text, &value
		default:
			text := compact(value)
			r.Text = &text
		}
		rows = append(rows, r)
	}
	return rows
}

// cells returns a row as it is in a CSV file, with times as in JSON.
func (r ChangeRow) cells() []string {
	modified := ""
	if r.Modified != nil {
		modified = r.Modified.Format(time.RFC3339Nano)
	}
	return []string{
		r.Cursor, r.Source, strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.Version, 10), r.URL, r.Name, strings.Join(r.Tags, " "),
		r.After.Format(time.RFC3339Nano), r.Before.Format(time.RFC3339Nano), modified, r.Summary, r.From, r.To, r.Suspect, r.Fields, r.Items, r.Text,
	}
}

func (r ValueRow) cells() []string {
	text := ""
	if r.Text != nil {
		text = *r.Text
	}
	return []string{r.Source, r.URL, r.Name, strconv.FormatInt(r.Version, 10), r.Seen.Format(time.RFC3339Nano), r.Field, text}
}

// A Format is how a table is written.
type Format string

// The formats of tables.
const (
	JSONL   Format = "jsonl"
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// A table is an export of rows. No export can go on with a Parquet file, because its metadata is at the end: until then the
// rows are in a file of JSON lines beside it.
type table[R interface{ cells() []string }] struct {
	*output
	write func([]R) error
	close func() error
}

// atOnce is how many rows are written together. It is the length of a row group of Parquet, which is in memory.
const atOnce = 10_000

// rowsSuffix ends the name of the file with the rows of a Parquet file that is not complete.
const rowsSuffix = ".rows"

// newTable opens a table for the rows of an export.
func newTable[R interface{ cells() []string }](s *Selection, what string, format Format, path string, stream io.Writer, head []string) (*table[R], error) {
	file := path
	if format == Parquet && path != "" {
		file += rowsSuffix
	}
	o, err := s.create(what+" "+string(format), file, stream)
	if err != nil {
		return nil, err
	}
	t := &table[R]{output: o, close: func() error { return nil }}
	switch {
	case format == CSV:
		c := csv.NewWriter(o)
		if o.wrote == 0 {
			err = c.Write(head)
		}
		t.write = func(rows []R) error {
			for _, r := range rows {
				if err := c.Write(safeCells(r.cells())); err != nil {
					return err
				}
			}
			c.Flush()
			return c.Error()
		}
	case format == Parquet && path == "":
		w := newParquet[R](o, s.Program)
		t.write, t.close = func(rows []R) error { _, err := w.Write(rows); return err }, w.Close
	default:
		lines := jsonLines(o)
		t.write = func(rows []R) error {
			for _, r := range rows {
				if err := lines.Encode(r); err != nil {
					return err
				}
			}
			return nil
		}
		if format == Parquet {
			t.close = func() error { return errors.Join(o.Flush(), toParquet[R](path, s.Program)) }
		}
	}
	return t, err
}

// newParquet returns a writer of a Parquet file. A row group is in memory until it is written.
func newParquet[R any](to io.Writer, program string) *parquet.GenericWriter[R] {
	return parquet.NewGenericWriter[R](to, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("freshet", program, ""), parquet.MaxRowsPerRowGroup(10_000))
}

// toParquet writes a Parquet file of the rows beside it.
func toParquet[R any](path, program string) error {
	rows, err := os.Open(path + rowsSuffix)
	if err != nil {
		return err
	}
	defer rows.Close()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := newParquet[R](file, program)
	for lines := json.NewDecoder(rows); err == nil; {
		var one [1]R
		if err = lines.Decode(&one[0]); err == nil {
			_, err = w.Write(one[:])
		}
	}
	if errors.Is(err, io.EOF) {
		err = w.Close()
	}
	return errors.Join(err, file.Sync(), file.Close())
}

// safeCells returns cells that a spreadsheet does not take for formulas.
func safeCells(cells []string) []string {
	for i, c := range cells {
		if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) {
			if _, err := strconv.ParseFloat(c, 64); err != nil {
				cells[i] = "'" + c
			}
		}
	}
	return cells
}

// end closes the table.
func (t *table[R]) end(err error) error {
	if err == nil {
		err = t.close()
	}
	if err = t.output.end(err); err == nil && strings.HasSuffix(t.path, rowsSuffix) {
		err = os.Remove(t.path)
	}
	return err
}

var changeHead = []string{"cursor", "source", "seq", "version", "url", "name", "tags", "after", "before", "modified", "summary", "from", "to", "suspect", "fields", "items", "text"}

// Changes writes the log of changes, the oldest first, and returns how many. JSON lines are as the API has them.
func (s *Selection) Changes(ctx context.Context, format Format, path string, stream io.Writer) (n int, err error) {
	t, err := newTable[ChangeRow](s, "changes", format, path, stream, changeHead)
	if err != nil {
		return 0, err
	}
	lines := jsonLines(t.output)
	err = s.eachChange(ctx, t.After, func(page []client.Change, next freshet.Place) error {
		rows := make([]ChangeRow, 0, len(page))
		for _, c := range page {
			if format != JSONL {
				rows = append(rows, changeRow(c))
			} else if err := lines.Encode(c); err != nil {
				return err
			}
		}
		if err := t.write(rows); err != nil {
			return err
		}
		s.Step(len(page))
		t.After, t.Lines = next, t.Lines+len(page)-1
		return t.reached()
	})
	return t.Lines, t.end(err)
}

// eachChange calls do for each page of the log of changes after a place.
func (s *Selection) eachChange(ctx context.Context, after freshet.Place, do func(page []client.Change, next freshet.Place) error) error {
	for {
		page, err := s.Client.Changes(ctx, client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: s.Source, Tag: s.Tag, Seen: s.Seen}, After: after, Limit: 1000})
		if err != nil || len(page.Items) == 0 {
			return err
		}
		if err := do(page.Items, page.Next); err != nil {
			return err
		}
		after = page.Next
	}
}

var valueHead = []string{"source", "url", "name", "version", "seen", "field", "value"}

// Values writes the named values of versions, source by source, and returns how many versions have one.
func (s *Selection) Values(ctx context.Context, format Format, path string, stream io.Writer) (n int, err error) {
	t, err := newTable[ValueRow](s, "values", format, path, stream, valueHead)
	if err != nil {
		return 0, err
	}
	err = s.eachVersion(ctx, t.Place, func(of source, v client.Version) error {
		if len(v.Fields) == 0 {
			return nil
		}
		if err := t.write(valueRows(of, v)); err != nil {
			return err
		}
		t.Place = place{of.id, v.Number}
		return t.reached()
	})
	return t.Lines, t.end(err)
}
