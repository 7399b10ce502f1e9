package store

import (
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
)

// An envelope is what a response has around its body, less what is new with
// every version. Most sources need one for all their versions.
type envelope struct {
	status    int64
	url       string
	mediaType string
	title     string
	header    []byte
}

// sum returns a number that tells envelopes apart.
func (n *envelope) sum() uint64 {
	d := xxhash.New()
	var length [8]byte
	for _, part := range [][]byte{
		binary.LittleEndian.AppendUint64(nil, uint64(n.status)), []byte(n.url), []byte(n.mediaType), []byte(n.title), n.header,
	} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		d.Write(length[:]) // never fails
		d.Write(part)
	}
	return d.Sum64()
}

// volatile are the headers that differ from version to version.
var volatile = []string{"Date", "Etag", "Last-Modified", "Expires"}

// newEnvelope splits what surrounds a body into what stays the same from
// version to version and the headers that do not.
func newEnvelope(c *freshet.Capture) (n envelope, fresh []byte) {
	n = envelope{status: int64(c.Raw.Status), url: c.Raw.URL, mediaType: c.Raw.Header.Get("Content-Type"), title: c.Title}
	n.header, fresh = packHeader(c.Raw.Header)
	return n, fresh
}

// How the value of a header is packed.
const (
	packedText = iota // length and bytes
	packedDate        // seconds since 1970: a date in the form that HTTP prefers
)

// packHeader writes a header small: names as places in freshet.RawHeaders
// where they are there, dates as numbers. What is volatile of it is written by itself.
func packHeader(h http.Header) (steady, fresh binenc.Writer) {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b := &steady
		if slices.Contains(volatile, name) {
			b = &fresh
		}
		for _, value := range h[name] {
			packName(b, name)
			packValue(b, value)
		}
	}
	return steady, fresh
}

// packValue adds the value of a header.
func packValue(w *binenc.Writer, value string) {
	if seconds, ok := dateIn(value); ok {
		w.Byte(packedDate)
		w.Varint(seconds)
		return
	}
	w.Byte(packedText)
	w.String(value)
}

// dateIn returns a date in the form that HTTP prefers as seconds since 1970. Most values
// are none, and are told by their length: to parse them would take longer than all the
// rest of the header.
func dateIn(value string) (seconds int64, ok bool) {
	if len(value) != len(http.TimeFormat) {
		return 0, false
	}
	t, err := http.ParseTime(value)
	return t.Unix(), err == nil && t.UTC().Format(http.TimeFormat) == value
}

func packName(w *binenc.Writer, name string) {
	if i := slices.Index(freshet.RawHeaders, name); i >= 0 {
		w.Byte(byte(i + 1))
		return
	}
	w.Byte(0)
	w.String(name)
}

var errHeader = errors.New("stored header cannot be read")

// unpackHeader adds to h what packHeader wrote.
func unpackHeader(b []byte, h http.Header) error {
	for r := binenc.NewReader(b); r.Len() > 0; {
		var name, value string
		switch at := int(r.Byte()); {
		case at == 0:
			name = r.String(len(b))
		case at <= len(freshet.RawHeaders):
			name = freshet.RawHeaders[at-1]
		default:
			return errHeader
		}
		switch r.Byte() {
		case packedText:
			value = r.String(len(b))
		case packedDate:
			value = time.Unix(r.Varint(), 0).UTC().Format(http.TimeFormat)
		default:
			return errHeader
		}
		if r.Err() != nil {
			return errHeader
		}
		h[name] = append(h[name], value)
	}
	return nil
}
