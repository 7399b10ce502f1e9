package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
)

// An envelope is what a response has around its body. Most sources need one for all their
// versions: the header of a version says how it differs from that of its envelope.
type envelope struct {
	status    int64
	url       string
	mediaType string
	title     string
	header    []byte // packed; what is volatile is left out
}

// sum returns a number that tells envelopes apart, but for their headers.
func (n *envelope) sum() uint64 {
	d := xxhash.New()
	var length [8]byte
	for _, part := range [][]byte{
		binary.LittleEndian.AppendUint64(nil, uint64(n.status)), []byte(n.url), []byte(n.mediaType), []byte(n.title),
	} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		d.Write(length[:]) // never fails
		d.Write(part)
	}
	return d.Sum64()
}

// newEnvelope splits what surrounds a body into what stays the same from
// version to version and the headers that do not.
func newEnvelope(c *freshet.Capture) (n envelope, fresh []byte) {
	n = envelope{status: int64(c.Raw.Status), url: c.Raw.URL, mediaType: c.Raw.Header.Get("Content-Type"), title: c.Title}
	n.header, fresh = packHeader(c.Raw.Header, c.Raw.Method)
	return n, fresh
}

// dearHeader is how many bytes a header may differ by from that of the envelope before. One
// that differs more gets an envelope of its own, which later versions share.
const dearHeader = 128

// shareEnvelope gives a finding the envelope of the version before it, if its header is near to that.
func (s *Store) shareEnvelope(ctx context.Context, f *finding, before int64) error {
	steady, err := s.steadyHeader(ctx, before)
	if err != nil {
		return err
	}
	delta, err := packDifference(steady, &f.envelope, f.header)
	if err == nil && len(delta) <= len(f.header)+dearHeader {
		f.header, f.steadier = delta, before
	}
	return nil // a damaged header is found by Verify; the new version does without it
}

// steadyHeader returns the packed header of an envelope; nil if there is no such envelope.
func (s *bodies) steadyHeader(ctx context.Context, id int64) (header []byte, err error) {
	if b, ok := s.cache.get(-id); ok {
		return b.body, nil
	}
	err = EachRow(brief(ctx), s.rows, "SELECT header FROM envelopes WHERE id = ?", []any{id}, func(scan func(...any) error) error {
		return scan(&header)
	})
	if err != nil {
		return nil, faultOf(s.database, "reading an envelope", err)
	}
	if header, err = s.codec.unpackSteady(header); err != nil {
		return nil, s.damaged(fmt.Sprintf("the header of envelope %d cannot be read", id))
	}
	s.cache.put(cachedBody{id: -id, body: header})
	return header, nil
}

// compressedSteady begins the header of an envelope that is compressed. No packed header does.
const compressedSteady = 0xff

// shortestSteady is the length from which the header of an envelope is compressed.
const shortestSteady = 48

// packSteady returns the header of an envelope as it is stored.
func (c *codec) packSteady(header []byte) ([]byte, error) {
	if len(header) < shortestSteady || len(header) > mostHeader {
		return header, nil
	}
	frame, err := c.encodeDelta(header, []byte(commonHeaders))
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	w := binenc.Writer{compressedSteady}
	w.Uvarint(uint64(len(header)))
	w.Raw(frame)
	if len(w) >= len(header) {
		return header, nil
	}
	return w, nil
}

// unpackSteady returns what packSteady was given.
func (c *codec) unpackSteady(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != compressedSteady {
		return stored, nil
	}
	r := binenc.NewReader(stored[1:])
	size := r.Uvarint()
	if r.Err() != nil || size > mostHeader {
		return nil, errHeader
	}
	return c.decode(r.Rest(), []byte(commonHeaders), int64(size))
}

// mostHeader bounds a packed header that is compressed.
const mostHeader = 1 << 20

// readHeader completes a response by the headers of its envelope and of its version, as they are stored.
func (c *codec) readHeader(stored, fresh []byte, raw *freshet.Raw) error {
	steady, err := c.unpackSteady(stored)
	if err != nil {
		return errHeader
	}
	raw.Header = http.Header{}
	if err := unpackHeader(steady, raw.Header); err != nil {
		return err
	}
	if err := applyHeader(fresh, raw.Header); err != nil {
		return err
	}
	raw.Method = raw.Header.Get(methodHeader)
	delete(raw.Header, methodHeader)
	return nil
}
