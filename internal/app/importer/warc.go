package importer

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"

	"freshet/client"
	"freshet/internal/warc"
)

// isWARC reports whether a text is a WARC file, compressed or not.
func isWARC(text string) bool {
	if zip, err := gzip.NewReader(strings.NewReader(text)); err == nil {
		head := make([]byte, 5)
		n, _ := io.ReadFull(zip, head)
		text = string(head[:n])
	}
	return strings.HasPrefix(text, "WARC/")
}

// A capture is a response in a WARC file.
type capture struct {
	url string
	Snapshot
}

// eachCapture reads a WARC file: each URL with a response is an entry.
func eachCapture(text string, _ Options, yield func(Entry)) error {
	captures, err := readWARC(text)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range captures {
		if seen[c.url] {
			continue
		}
		seen[c.url] = true
		yield(Entry{Path: c.url, Source: client.NewSource{URL: c.url}, location: c.url})
	}
	return nil
}

// WARCHistory returns the history in a WARC file.
func WARCHistory(text string) (History, error) {
	captures, err := readWARC(text)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(captures, func(a, b capture) int { return a.At.Compare(b.At) })
	return func(_ context.Context, e Entry) (all []Snapshot, err error) {
		for _, c := range captures {
			if c.url == e.location {
				all = append(all, c.Snapshot)
			}
		}
		return all, nil
	}, nil
}

// readWARC returns the successful responses of a WARC file. A revisit has the body of the response
// with the same digest.
func readWARC(text string) (captures []capture, err error) {
	r, err := warc.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	bodies := map[string][]byte{} // by digest
	for n := 1; ; n++ {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return captures, nil
		}
		if err != nil {
			return captures, fmt.Errorf("record %d: %w", n, err)
		}
		if c, ok := captureOf(record, bodies); ok {
			captures = append(captures, c)
		}
	}
}

// captureOf returns the response of a record, if it is one that a version can be made of.
func captureOf(record *warc.Record, bodies map[string][]byte) (c capture, ok bool) {
	if record.Get(warc.FieldType) != warc.Response && record.Get(warc.FieldType) != warc.Revisit {
		return c, false
	}
	at, dated := record.Date()
	m, err := warc.ReadResponse(record.Block)
	if cmp.Or(dated, err) != nil || m.Status != http.StatusOK {
		return c, false
	}
	if digest := record.Get(warc.FieldPayload); record.Get(warc.FieldType) == warc.Revisit {
		if m.Body, ok = bodies[digest]; !ok {
			return c, false
		}
	} else if m.Body, err = decoded(m); err != nil {
		return c, false
	} else if digest != "" {
		bodies[digest] = m.Body
	}
	return capture{strings.Trim(record.Get(warc.FieldTarget), "<>"), Snapshot{At: at, Body: m.Body, MediaType: m.Header.Get("Content-Type")}}, true
}

// decoded returns the body of a message without its content coding.
func decoded(m *warc.Message) ([]byte, error) {
	body := strings.NewReader(string(m.Body))
	var in io.Reader = body
	var err error
	switch coding := m.Header.Get("Content-Encoding"); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		if in, err = gzip.NewReader(body); errors.Is(err, gzip.ErrHeader) { // archives keep decoded bodies under this header, too
			in, err = body, nil
			body.Reset(string(m.Body))
		}
	case "br":
		in = brotli.NewReader(body)
	default:
		err = fmt.Errorf("the content coding %q is not known", coding)
	}
	if err != nil {
		return nil, err
	}
	return readSnapshot(in)
}

// readSnapshot reads a snapshot to its end.
func readSnapshot(in io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, longestSnapshot+1))
	if err == nil && len(b) > longestSnapshot {
		err = fmt.Errorf("it is longer than %d MB", longestSnapshot>>20)
	}
	return b, err
}
