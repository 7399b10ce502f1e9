package importer

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/client"
)

// IsWARC reports whether a text is a WARC file, compressed or not.
func IsWARC(text string) bool {
	if strings.HasPrefix(text, "\x1f\x8b") {
		r, err := gzip.NewReader(strings.NewReader(text))
		if err != nil {
			return false
		}
		head := make([]byte, 5)
		_, err = io.ReadFull(r, head)
		return err == nil && string(head) == "WARC/"
	}
	return strings.HasPrefix(text, "WARC/")
}

// A warcRecord is a response in a WARC file.
type warcRecord struct {
	url string
	Snapshot
}

// eachCapture reads a WARC file: each URL with a response is an entry.
func eachCapture(text string, _ Options, yield func(Entry) error) error {
	records, err := readWARC(text)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range records {
		if seen[r.url] {
			continue
		}
		seen[r.url] = true
		if err := yield(Entry{Path: r.url, Source: client.NewSource{URL: r.url}, location: r.url}); err != nil {
			return err
		}
	}
	return nil
}

// WARCHistory returns the history in a WARC file.
func WARCHistory(text string) (History, error) {
	records, err := readWARC(text)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(records, func(a, b warcRecord) int { return a.At.Compare(b.At) })
	return func(_ context.Context, e Entry) (all []Snapshot, err error) {
		for _, r := range records {
			if r.url == e.location {
				all = append(all, r.Snapshot)
			}
		}
		return all, nil
	}, nil
}

// readWARC returns the successful responses of a WARC file. A revisit, which has no body, is the same
// as the response before it.
func readWARC(text string) (records []warcRecord, err error) {
	var in io.Reader = strings.NewReader(text)
	if strings.HasPrefix(text, "\x1f\x8b") {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, fmt.Errorf("this is not a WARC file: %w", err)
		}
	}
	r := bufio.NewReader(in)
	for n := 1; ; n++ {
		version, err := r.ReadString('\n')
		if strings.TrimSpace(version) == "" && err == nil { // between records
			n--
			continue
		}
		if errors.Is(err, io.EOF) && strings.TrimSpace(version) == "" {
			return records, nil
		}
		if !strings.HasPrefix(version, "WARC/") {
			return records, fmt.Errorf("record %d does not begin with WARC/: %.40q", n, version)
		}
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		length, bad := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
		if err != nil || bad != nil || length < 0 {
			return records, fmt.Errorf("record %d has no valid header", n)
		}
		if header.Get("WARC-Type") != "response" || length > 4*longestSnapshot {
			if _, err := io.CopyN(io.Discard, r, length); err != nil {
				return records, fmt.Errorf("record %d is cut off: %w", n, err)
			}
			continue
		}
		block := make([]byte, length)
		if _, err := io.ReadFull(r, block); err != nil {
			return records, fmt.Errorf("record %d is cut off: %w", n, err)
		}
		if one, ok := responseRecord(header, block); ok {
			records = append(records, one)
		}
	}
}

// responseRecord returns the response of a record, if it is one that a version can be made of.
func responseRecord(header textproto.MIMEHeader, block []byte) (r warcRecord, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, header.Get("WARC-Date"))
	if err != nil {
		return r, false
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		return r, false
	}
	defer response.Body.Close()
	var in io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		if in, err = gzip.NewReader(in); err != nil {
			return r, false
		}
	}
	body, err := io.ReadAll(io.LimitReader(in, longestSnapshot+1))
	if err != nil || len(body) > longestSnapshot || response.Header.Get("Content-Encoding") != "" && in == io.Reader(response.Body) {
		return r, false
	}
	return warcRecord{strings.Trim(header.Get("WARC-Target-URI"), "<>"), Snapshot{At: at, Body: body, MediaType: response.Header.Get("Content-Type")}}, true
}
