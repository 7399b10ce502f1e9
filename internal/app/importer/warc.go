package importer

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/warc"
)

// isWARC reports whether a text is the beginning of a WARC file, compressed or not.
func isWARC(text string) bool {
	if zip, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		head := make([]byte, 5)
		n, _ := io.ReadFull(zip, head)
		text = string(head[:n])
	}
	return strings.HasPrefix(text, "WARC/")
}

// An Archive is a WARC file. It keeps in memory where its responses are.
type Archive struct {
	file     io.ReaderAt
	size     int64
	opened   *os.File // nil if the file is in memory
	unpacked *os.File // nil unless the file had to be unpacked
	urls     []string // with responses, in the order of the file
	pages    map[string][]capture
	broken   error // why the rest of the file cannot be read
}

// A place is where a record is in a file: as many records behind the beginning of a gzip member.
type place struct {
	begins int64
	skip   int
}

// A capture is a response in a WARC file. That of a revisit has the body of another.
type capture struct {
	at         int64 // in nanoseconds
	head, body place
}

// mostInMember is how many records a gzip member may have before the file is unpacked, because each record is reached
// from the beginning of its member.
const mostInMember = 100

// OpenArchive opens a WARC file. It returns nil if the file is none.
func OpenArchive(name string) (*Archive, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(file, head)
	info, err := file.Stat()
	if err != nil || !isWARC(string(head[:n])) {
		return nil, errors.Join(err, file.Close())
	}
	a, err := ReadArchive(file, info.Size())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	a.opened = file
	return a, nil
}

// ReadArchive finds the responses of a WARC file.
func ReadArchive(file io.ReaderAt, size int64) (*Archive, error) {
	a := &Archive{file: file, size: size}
	err := a.index()
	if errors.Is(err, errLongMember) {
		if err = a.unpack(); err == nil {
			err = a.index()
		}
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close closes the file, and removes what it was unpacked to.
func (a *Archive) Close() (err error) {
	if a.unpacked != nil {
		err = errors.Join(a.unpacked.Close(), os.Remove(a.unpacked.Name()))
	}
	if a.opened != nil {
		err = errors.Join(err, a.opened.Close())
	}
	return err
}

var errLongMember = errors.New("a gzip member has many records")

// unpack replaces a file that is one gzip member by a temporary file.
func (a *Archive) unpack() error {
	zip, err := gzip.NewReader(io.NewSectionReader(a.file, 0, a.size))
	if err != nil {
		return err
	}
	if a.unpacked, err = os.CreateTemp("", "freshet-import-*.warc"); err != nil {
		return err
	}
	a.size, err = io.Copy(a.unpacked, zip)
	if errors.Is(err, io.ErrUnexpectedEOF) { // what there is of it can be read
		err = nil
	}
	a.file = a.unpacked
	return err
}

// index finds the successful responses of the file. A revisit has the body of the response with the same digest.
func (a *Archive) index() error {
	r, err := warc.NewReader(io.NewSectionReader(a.file, 0, a.size))
	if err != nil {
		return err
	}
	a.urls, a.pages = nil, map[string][]capture{}
	bodies, seed := map[uint64]place{}, maphash.MakeSeed()
	for n := 1; ; n++ {
		record, err := r.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			a.broken = fmt.Errorf("record %d: %w", n, err)
		}
		if err != nil {
			break
		}
		head := place{}
		if head.begins, head.skip = r.Position(); head.skip > mostInMember {
			return errLongMember
		}
		digest, c := record.Get(warc.FieldPayload), capture{head: head, body: head}
		sum := maphash.String(seed, digest)
		switch known, ok := bodies[sum]; {
		case !isCapture(record, &c):
			continue
		case record.Get(warc.FieldType) == warc.Revisit && !ok:
			continue
		case record.Get(warc.FieldType) == warc.Revisit:
			c.body = known
		case digest != "":
			bodies[sum] = head
		}
		url := targetOf(record)
		if a.pages[url] == nil {
			a.urls = append(a.urls, url)
		}
		a.pages[url] = append(a.pages[url], c)
	}
	for _, captures := range a.pages {
		slices.SortStableFunc(captures, func(a, b capture) int { return cmp.Compare(a.at, b.at) })
	}
	if len(a.urls) == 0 {
		return a.broken
	}
	return nil
}

// isCapture reports whether a version can be made of a record, and notes when it was captured.
func isCapture(record *warc.Record, c *capture) bool {
	if kind := record.Get(warc.FieldType); kind != warc.Response && kind != warc.Revisit {
		return false
	}
	at, dated := record.Date()
	m, err := warc.ReadResponse(record.Block)
	c.at = at.UnixNano()
	return cmp.Or(dated, err) == nil && m.Status == http.StatusOK
}

// targetOf returns the URL of a record.
func targetOf(record *warc.Record) string { return strings.Trim(record.Get(warc.FieldTarget), "<>") }

// each calls yield for each URL with a response.
func (a *Archive) each(yield func(Entry)) {
	for _, url := range a.urls {
		yield(Entry{Path: url, Source: client.NewSource{URL: url}, location: url})
	}
	if a.broken != nil {
		yield(Entry{Path: "the rest of the file", Err: a.broken})
	}
}

// eachCapture reads a WARC file: each URL with a response is an entry.
func eachCapture(text string, _ Options, yield func(Entry)) error {
	a, err := ReadArchive(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	a.each(yield)
	return a.Close()
}

// History is the [History] of the file.
func (a *Archive) History(ctx context.Context, e Entry, after time.Time, yield func(Snapshot) error) error {
	for _, c := range a.pages[e.location] {
		at := time.Unix(0, c.at)
		if !at.After(after) {
			continue
		}
		head, err := a.response(c.head)
		m := head
		if err == nil && c.body != c.head {
			m, err = a.response(c.body)
		}
		if err != nil {
			return fmt.Errorf("the response of %s: %w", at.UTC().Format(time.DateTime), err)
		}
		head.Header.Set("Content-Type", cmp.Or(head.Header.Get("Content-Type"), m.Header.Get("Content-Type")))
		body, err := decoded(m)
		if err != nil {
			if err := yield(Snapshot{At: at, Missing: true}); err != nil {
				return err
			}
			continue
		}
		if err := cmp.Or(yield(Snapshot{At: at, Body: body, MediaType: head.Header.Get("Content-Type"), Header: linesOf(head.Header)}), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// response reads the response at a place.
func (a *Archive) response(p place) (*warc.Message, error) {
	r, err := warc.NewReader(io.NewSectionReader(a.file, p.begins, a.size-p.begins))
	if err != nil {
		return nil, err
	}
	for range p.skip {
		if _, err := r.Next(); err != nil {
			return nil, err
		}
	}
	record, err := r.Next()
	if err != nil {
		return nil, err
	}
	return warc.ReadResponse(record.Block)
}

// linesOf returns headers as lines.
func linesOf(header http.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

// decoded returns the body of a message without its content coding. Archives keep decoded bodies under this header, too.
func decoded(m *warc.Message) ([]byte, error) {
	if m.Decoded {
		return m.Body, nil
	}
	in, err := fetch.Decoded(m.Header, bytes.NewReader(m.Body))
	var body []byte
	if err == nil {
		body, err = readSnapshot(in)
	}
	coding := m.Header.Get("Content-Encoding")
	if err != nil && coding != "" && (utf8.Valid(m.Body) || strings.HasSuffix(coding, "gzip") && !bytes.HasPrefix(m.Body, []byte{0x1f, 0x8b})) {
		return m.Body, nil
	}
	return body, err
}

// readSnapshot reads a snapshot to its end.
func readSnapshot(in io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, longestSnapshot+1))
	if err == nil && len(b) > longestSnapshot {
		err = fmt.Errorf("it is longer than %d MB", longestSnapshot>>20)
	}
	return b, err
}
