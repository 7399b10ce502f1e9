package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A wireReader counts a body as it comes and stops it at the limit. It keeps
// the error that ended the body, because decoders hide it.
type wireReader struct {
	body  io.Reader
	watch *watch
	limit int64
	n     int64
	err   error // other than io.EOF
	probe [1]byte
}

var errWireLimit = errors.New("body too large")

// Read reads from the body.
func (r *wireReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.body.Read(p)
	r.n += int64(n)
	if n > 0 {
		r.watch.wire.Add(int64(n))
	}
	if r.n > r.limit {
		err = errWireLimit
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// A bodyReader reads bodies whole.
type bodyReader struct {
	limits   *Config
	decoders decoders
	scratch  sync.Pool // of *[]byte, for bodies of unknown size
}

// maxScratch bounds the buffers that are kept.
const maxScratch = 1 * mib

// read returns the decoded body of a response and its size on the wire.
func (b *bodyReader) read(hr *http.Response, w *watch) ([]byte, int64, *freshet.FetchError) {
	code, e := codingOf(hr.Header)
	if e != nil {
		return nil, 0, e
	}
	switch {
	case hr.ContentLength == 0:
		return []byte{}, 0, nil // also if it says that the nothing is coded
	case w.enough > 0:
		return b.readStart(hr, w, code)
	case hr.ContentLength > b.limits.WireBytes:
		return nil, 0, b.tooLargeWire()
	}
	grant := &grant{watch: w, most: b.most(code, hr.ContentLength)}
	w.reading(hr.Body)
	wire := &wireReader{body: hr.Body, watch: w, limit: b.limits.WireBytes}
	var body []byte
	if code == identity {
		body, e = b.readPlain(wire, hr.ContentLength, grant)
	} else {
		body, e = b.readCoded(wire, code, grant)
	}
	return body, wire.n, e
}

// readStart reads as much of a body as is enough.
func (b *bodyReader) readStart(hr *http.Response, w *watch, code coding) ([]byte, int64, *freshet.FetchError) {
	w.reading(hr.Body)
	wire := &wireReader{body: hr.Body, watch: w, limit: b.limits.WireBytes}
	from := io.Reader(wire)
	if code != identity {
		dec, err := b.decoders.get(code, wire)
		if err != nil {
			return nil, wire.n, b.codeFailure(wire, code, err)
		}
		defer b.decoders.put(code, dec)
		from = dec
	}
	body, e := b.gather(io.LimitReader(from, w.enough), wire, &grant{watch: w, most: w.enough})
	return body, wire.n, e
}

// readPlain reads a body without coding, of a size that is known or -1.
func (b *bodyReader) readPlain(wire *wireReader, size int64, g *grant) ([]byte, *freshet.FetchError) {
	if size < 0 || size > maxScratch {
		return b.gather(wire, wire, g)
	}
	if e := g.cover(size); e != nil {
		return nil, e
	}
	body := make([]byte, size)
	if n, err := io.ReadFull(wire, body); err != nil {
		return nil, b.wireFailure(wire, short(err, n))
	}
	// HTTP/2 reports the end, or a body longer than announced, only when
	// asked for more.
	if n, err := wire.Read(wire.probe[:]); n > 0 || err != io.EOF {
		return nil, b.wireFailure(wire, err)
	}
	return body, nil
}

// short makes an early end an error even if nothing came at all.
func short(err error, n int) error {
	if n == 0 && err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readCoded reads a body and takes off its coding.
func (b *bodyReader) readCoded(wire *wireReader, code coding, g *grant) ([]byte, *freshet.FetchError) {
	dec, err := b.decoders.get(code, wire)
	if err != nil {
		return nil, b.codeFailure(wire, code, err)
	}
	defer b.decoders.put(code, dec)
	body, e := b.gather(dec, wire, g)
	if e != nil {
		return nil, e
	}
	// A decoder may be content before the body is at its end.
	if n, err := wire.Read(wire.probe[:]); n > 0 {
		return nil, fail(failure.Decode, "the body has extra data after its %s encoding ends", code)
	} else if err != io.EOF {
		return nil, b.wireFailure(wire, err)
	}
	return body, nil
}

// gather reads all of from, which decodes wire or is wire, within the limits.
func (b *bodyReader) gather(from io.Reader, wire *wireReader, g *grant) ([]byte, *freshet.FetchError) {
	scratch, ok := b.scratch.Get().(*[]byte)
	if !ok {
		scratch = new(make([]byte, 0, 32*kib))
	}
	buf := (*scratch)[:0]
	defer func() {
		if cap(buf) <= maxScratch {
			*scratch = buf
			b.scratch.Put(scratch)
		}
	}()
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		if e := g.cover(int64(len(buf)) + 1); e != nil {
			return nil, e
		}
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if e := b.overLimit(from, wire, int64(len(buf))); e != nil {
			return nil, e
		}
		switch {
		case err == io.EOF && wire.err == nil:
			if cap(buf) > maxScratch {
				return buf[:len(buf):len(buf)], nil // it is not used again, and two of it are too many
			}
			return bytes.Clone(buf), nil
		case err != nil && from == wire:
			return nil, b.wireFailure(wire, err)
		case err != nil:
			return nil, b.codeFailure(wire, "", err)
		}
	}
}

// overLimit returns a failure if a body has grown too large.
func (b *bodyReader) overLimit(from io.Reader, wire *wireReader, size int64) *freshet.FetchError {
	if from == wire {
		return nil // the wire has its own limit
	}
	switch {
	case size > b.limits.DecodedBytes:
		return fail(failure.LargeDecoded, "the body decodes to more than %d bytes", b.limits.DecodedBytes)
	case size > ratioFloor && size/b.limits.Ratio > wire.n:
		return fail(failure.LargeDecoded, "the body decodes to more than %d times its size", b.limits.Ratio)
	}
	return nil
}

func (b *bodyReader) tooLargeWire() *freshet.FetchError {
	return hinted(fail(failure.LargeWire, "the body is larger than %d bytes", b.limits.WireBytes),
		"watch a smaller page, or a feed of it, or raise fetch.wire_bytes")
}

// codeFailure tells why a body could not be decoded: the wire broke, or the
// coding is not what it should be.
func (b *bodyReader) codeFailure(wire *wireReader, code coding, err error) *freshet.FetchError {
	if wire.err != nil {
		return b.wireFailure(wire, wire.err)
	}
	if code == identity {
		return fail(failure.Decode, "decoding the body: %w", bare(err))
	}
	return fail(failure.Decode, "decoding the body as %s: %w", code, bare(err))
}

// wireFailure tells why a body did not come whole.
func (b *bodyReader) wireFailure(wire *wireReader, err error) *freshet.FetchError {
	switch {
	case wire.err == errWireLimit:
		return b.tooLargeWire()
	case err == nil:
		return fail(failure.Protocol, "the body is longer than the server announced")
	case brokenOff(err):
		return fail(failure.Truncated, "the body broke off after %d bytes: %w", wire.n, bare(err))
	}
	return fail(failure.Protocol, "reading the body: %w", bare(err))
}
