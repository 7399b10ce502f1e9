package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// acceptEncoding names the codings that decoders take off.
const acceptEncoding = "gzip, br, zstd"

// maxWindow is the largest zstd window that may be used in HTTP (RFC 9659).
const maxWindow = 8 * mib

// A coding is a content coding, "" being none.
type coding string

const (
	identity coding = ""
	gzipped  coding = "gzip"
	brotlied coding = "br"
	zstded   coding = "zstd"
	deflated coding = "deflate"
)

// codingOf returns the content coding of a response. There may be only one:
// codings upon codings are for bombs.
func codingOf(h http.Header) (coding, *freshet.FetchError) {
	found := identity
	for _, line := range h.Values("Content-Encoding") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			switch name {
			case "", "identity":
				continue
			case "x-gzip":
				name = "gzip"
			case "gzip", "br", "zstd", "deflate":
			default:
				return "", fail(failure.Decode, "the content encoding %.40q was not asked for", name)
			}
			if found != identity {
				return "", fail(failure.Decode, "the body is encoded more than once: %.80q", line)
			}
			found = coding(name)
		}
	}
	return found, nil
}

// Decoded returns a body without the content coding that its header names.
func Decoded(h http.Header, body io.Reader) (io.Reader, error) {
	code, e := codingOf(h)
	switch {
	case e != nil:
		return nil, e
	case code == identity:
		return body, nil
	}
	return new(decoders).get(code, body)
}

// A decoder takes off one content coding and can be used again.
type decoder interface {
	io.Reader
	start(from io.Reader) error
	stop() // and let go of what was read from
}

// decoders are kept for use again, since each is large.
type decoders struct {
	gzip, brotli, zstd, deflate sync.Pool
}

// pool returns where decoders of a coding are kept.
func (d *decoders) pool(c coding) *sync.Pool {
	switch c {
	case gzipped:
		return &d.gzip
	case brotlied:
		return &d.brotli
	case deflated:
		return &d.deflate
	default:
		return &d.zstd
	}
}

// get returns a decoder of a coding at the start of a body.
func (d *decoders) get(c coding, from io.Reader) (decoder, error) {
	dec, ok := d.pool(c).Get().(decoder)
	if !ok {
		switch c {
		case gzipped:
			dec = &gzipDecoder{}
		case brotlied:
			dec = &brotliDecoder{}
		case deflated:
			dec = &deflateDecoder{wire: bufio.NewReader(nothing{})}
		default:
			dec = &zstdDecoder{}
		}
	}
	if err := dec.start(from); err != nil {
		d.put(c, dec)
		return nil, err
	}
	return dec, nil
}

// put takes a decoder back.
func (d *decoders) put(c coding, dec decoder) {
	dec.stop()
	d.pool(c).Put(dec)
}

// nothing is what an idle decoder reads from.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

type gzipDecoder struct{ gzip.Reader }

// start reads the header of the first member; an empty body has none.
func (d *gzipDecoder) start(from io.Reader) error {
	if err := d.Reset(from); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("gzip: %w", err)
	}
	return nil
}

func (d *gzipDecoder) stop() { _ = d.Reset(nothing{}) } // the error is that there is nothing

type brotliDecoder struct{ brotli.Reader }

func (d *brotliDecoder) start(from io.Reader) error { return d.Reset(from) }
func (d *brotliDecoder) stop()                      { _ = d.Reset(nothing{}) } // never fails

type zstdDecoder struct{ *zstd.Decoder }

func (d *zstdDecoder) start(from io.Reader) (err error) {
	if d.Decoder == nil {
		// One at a time: no goroutines, so nothing to close either.
		d.Decoder, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
	}
	return d.Reset(from)
}

func (d *zstdDecoder) stop() {
	if d.Decoder != nil {
		_ = d.Reset(nil) // lets go of the reader
	}
}

// A deflateDecoder reads what servers call deflate: a zlib stream, as the standard has it, or the
// bare stream of DEFLATE that many send. Nobody asks for it; some servers send it all the same.
type deflateDecoder struct {
	wire *bufio.Reader
	zlib io.ReadCloser
	bare io.ReadCloser
	io.Reader
}

func (d *deflateDecoder) start(from io.Reader) (err error) {
	d.wire.Reset(from)
	head, _ := d.wire.Peek(2) // what is wrong with the stream shows when it is read
	switch {
	case !zlibHeader(head) && d.bare == nil:
		d.bare = flate.NewReader(d.wire)
		d.Reader = d.bare
	case !zlibHeader(head):
		d.Reader, err = d.bare, d.bare.(flate.Resetter).Reset(d.wire, nil)
	case d.zlib == nil:
		d.zlib, err = zlib.NewReader(d.wire)
		d.Reader = d.zlib
	default:
		d.Reader, err = d.zlib, d.zlib.(zlib.Resetter).Reset(d.wire, nil)
	}
	return err
}

// Read is the Read of the decoder that fits. What follows the end of the stream is an error.
func (d *deflateDecoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err == io.EOF {
		if _, more := d.wire.ReadByte(); more == nil {
			err = errors.New("extra data after the end of the stream")
		}
	}
	return n, err
}

func (d *deflateDecoder) stop() { d.wire.Reset(nothing{}) }

// zlibHeader reports whether a stream begins as one of zlib: with the method and a checksum of two bytes.
func zlibHeader(head []byte) bool {
	return len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0
}
