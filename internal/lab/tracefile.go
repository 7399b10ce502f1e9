package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/invalid"
)

// A TraceError says where a trace file is wrong, and how.
type TraceError struct {
	File         string
	Line, Column int // Counted from 1, the column in bytes; 0 if not known
	Reason       string
	Err          error // underneath, if anything is
}

// Is reports whether target is [invalid.ErrInput].
func (e *TraceError) Is(target error) bool { return target == invalid.ErrInput }

// Error names the place and the reason.
func (e *TraceError) Error() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(": line %d, column %d", e.Line, max(e.Column, 1))
	}
	return at + ": " + e.Reason
}

// Unwrap returns the underlying error.
func (e *TraceError) Unwrap() error { return e.Err }

// OpenHistory reads a trace file: CSV with the header "page,time", the time in
// Unix seconds, plain or compressed with gzip. A third column, "failure", may
// say how a page fails from then on.
func OpenHistory(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening trace: %w", err)
	}
	defer f.Close()
	return ReadHistory(f, path)
}

// ReadHistory reads a trace as OpenHistory does. Errors call it name.
func ReadHistory(r io.Reader, name string) (*History, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, &TraceError{File: name, Reason: "reading what looks like gzip: " + err.Error(), Err: err}
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		in.Discard(len(mark)) // some spreadsheets begin with a byte order mark
	}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	rows.FieldsPerRecord = -1
	t := traceReader{name: name, rows: rows}
	if err := t.header(); err != nil {
		return nil, err
	}
	for {
		switch err := t.row(); {
		case errors.Is(err, io.EOF):
			return t.found.history(), nil
		case err != nil:
			return nil, err
		}
	}
}

// A traceReader reads one trace row by row.
type traceReader struct {
	name     string
	rows     *csv.Reader
	line     int  // of the last row that could be read
	failures bool // there is a column for them
	found    gatherer
}

// fault returns an error at a field of the row just read.
func (t *traceReader) fault(field int, format string, args ...any) error {
	line, column := t.rows.FieldPos(field)
	return &TraceError{File: t.name, Line: line, Column: column, Reason: fmt.Sprintf(format, args...)}
}

// next returns the next row, or io.EOF itself at the end.
func (t *traceReader) next() ([]string, error) {
	row, err := t.rows.Read()
	switch {
	case err == nil:
		t.line, _ = t.rows.FieldPos(len(row) - 1)
		return row, nil
	case err == io.EOF:
		return row, err
	}
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, &TraceError{File: t.name, Line: p.Line, Column: p.Column, Reason: p.Err.Error(), Err: err}
	}
	return nil, &TraceError{File: t.name, Line: t.line + 1, Reason: "reading on: " + err.Error(), Err: err}
}

func (t *traceReader) header() error {
	row, err := t.next()
	if err == io.EOF {
		return &TraceError{File: t.name, Line: 1, Reason: `is empty; the first line has to be "page,time"`}
	}
	if err != nil {
		return err
	}
	for i, want := range []string{"page", "time"} {
		switch {
		case i >= len(row):
			return t.fault(len(row)-1, `the header is %q and has to be "page,time"`, strings.Join(row, ","))
		case row[i] != want:
			return t.fault(i, `the header names %q where it has to name %q; it has to be "page,time"`, row[i], want)
		}
	}
	switch {
	case len(row) > 2 && row[2] != "failure":
		return t.fault(2, `the header goes on with %q; it has to be "page,time" or "page,time,failure"`, row[2])
	case len(row) > 3:
		return t.fault(3, `the header goes on with %q; it has to be "page,time,failure"`, row[3])
	}
	t.failures = len(row) == 3
	return nil
}

func (t *traceReader) row() error {
	row, err := t.next()
	columns := 2
	if t.failures {
		columns = 3
	}
	switch {
	case err != nil:
		return err
	case len(row) < 2:
		return t.fault(0, "there is no time; a row is a page and a time")
	case len(row) > columns && t.failures:
		return t.fault(columns, "there is %q after the failure; a row is a page, a time and a failure", row[columns])
	case len(row) > columns:
		return t.fault(columns, "there is %q after the time; a row is a page and a time", row[columns])
	case row[0] == "":
		return t.fault(0, "the page has no name")
	}
	at, err := parseSeconds(row[1])
	if err != nil {
		return t.fault(1, "the time %q %v", row[1], err)
	}
	if len(row) < 3 || row[2] == "" {
		t.found.add(row[0], at)
		return nil
	}
	failure, retryAfter, err := ParseFailure(row[2])
	if err != nil {
		return t.fault(2, "%q %v", row[2], err)
	}
	t.found.mark(row[0], outage{from: at, failure: failure, retryAfter: retryAfter})
	return nil
}

// farthest is how many seconds from 1970 a time can be and still be counted in
// nanoseconds, with room for arithmetic.
const farthest = 9_000_000_000

// parseSeconds reads Unix seconds, with a fraction or without, as nanoseconds.
func parseSeconds(s string) (int64, error) {
	whole, fraction, _ := strings.Cut(strings.TrimSpace(s), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, errors.New("is not a number of Unix seconds")
	}
	if n < -farthest || n > farthest {
		return 0, errors.New("is out of range; times are Unix seconds between the years 1684 and 2255")
	}
	if fraction == "" {
		return n * 1e9, nil
	}
	if strings.Trim(fraction, "0123456789") != "" {
		return 0, errors.New("is not a number of Unix seconds")
	}
	fraction = (fraction + "000000000")[:9]
	f, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return 0, errors.New("is not a number of Unix seconds")
	}
	if strings.HasPrefix(whole, "-") {
		f = -f
	}
	return n*1e9 + f, nil
}

// A traceRow is one row of a trace.
type traceRow struct {
	at      int64
	page    int32
	failure string // "" where the page changed
}

// traceRows returns the rows of a trace, by time and then by page.
func (h *History) traceRows() []traceRow {
	rows := make([]traceRow, 0, len(h.times))
	for i := range h.pages {
		for _, at := range h.of(i) {
			rows = append(rows, traceRow{at, int32(i), ""})
		}
	}
	for i, list := range h.outages {
		for _, o := range list {
			rows = append(rows, traceRow{o.from, int32(i), o.formatFailure()})
			if _, down := h.outageAt(i, o.to); !down && o.to < math.MaxInt64 {
				rows = append(rows, traceRow{o.to, int32(i), answersAgain})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b traceRow) int { return cmp.Compare(a.at, b.at) })
	return rows
}

// Write writes the history as a trace, by time and then by page.
func (h *History) Write(w io.Writer) error {
	out := csv.NewWriter(w)
	row := []string{"page", "time", "failure"}
	columns := 2
	if h.outages != nil {
		columns = 3
	}
	if err := out.Write(row[:columns]); err != nil {
		return fmt.Errorf("writing trace: %w", err)
	}
	for _, r := range h.traceRows() {
		row[0], row[1], row[2] = string(h.pages[r.page]), formatSeconds(r.at), r.failure
		if err := out.Write(row[:columns]); err != nil {
			return fmt.Errorf("writing trace: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing trace: %w", err)
	}
	return nil
}

// formatSeconds writes nanoseconds as parseSeconds reads them.
func formatSeconds(at int64) string {
	sign := ""
	if at < 0 {
		sign, at = "-", -at
	}
	s := sign + strconv.FormatInt(at/1e9, 10)
	if f := at % 1e9; f != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%09d", f), "0")
	}
	return s
}

// WriteFile writes the history as a trace file, compressed if the path ends in
// ".gz".
func (h *History) WriteFile(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing trace: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = fmt.Errorf("writing trace: %w", e)
		}
	}()
	if !strings.HasSuffix(path, ".gz") {
		return h.Write(f)
	}
	z := gzip.NewWriter(f)
	if err := h.Write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("writing trace: %w", err)
	}
	return nil
}
