package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html/charset"

	"freshet/internal/lazyregexp"
)

// ErrBomb means that a list unpacks to many times its size. Nothing more of it is
// read.
var ErrBomb = errors.New("gzip unpacks to too much")

// errEnough ends reading at a limit; what was read counts.
var errEnough = errors.New("larger than the limit")

const (
	ratioFloor = 1 << 20 // bytes that gzip may unpack to whatever its size
	headBytes  = 4 << 10 // in which a document says what it is
)

// A meter counts bytes and ends at a limit.
type meter struct {
	r     io.Reader
	n     int64
	limit int64

	wire  *meter // what the bytes were unpacked from; nil if they were not
	ratio int64
}

// Read reads on, unless there has been too much.
func (m *meter) Read(p []byte) (int, error) {
	if m.n >= m.limit {
		return 0, m.atLimit()
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.limit-m.n)])
	m.n += int64(n)
	if m.wire != nil && m.n > ratioFloor && m.n/m.ratio > m.wire.n {
		return 0, fmt.Errorf("%w: more than %d times its size", ErrBomb, m.ratio)
	}
	return n, err
}

// atLimit returns what happens at the limit: nothing, if the end is there too.
func (m *meter) atLimit() error {
	var one [1]byte
	for range 100 {
		if n, err := m.r.Read(one[:]); n > 0 {
			return errEnough
		} else if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// An input is a list with its layers taken off: gzip, once or twice, and its
// encoding.
type input struct {
	out    *meter // uncompressed bytes
	layers int
	strays string // what is wrong with the encoding
}

// unpack returns a list as UTF-8.
func (in *input) unpack(r io.Reader, o Options) (io.Reader, error) {
	wire := &meter{r: r, limit: o.Limits.Bytes}
	in.out = wire
	for {
		ahead := bufio.NewReaderSize(in.out, headBytes)
		if magic, _ := ahead.Peek(3); !bytes.Equal(magic, []byte{0x1f, 0x8b, 8}) {
			return in.decode(ahead, o.Charset)
		}
		if in.layers++; in.layers > 2 {
			return nil, fmt.Errorf("%w: it is packed more than twice", ErrBomb)
		}
		gz, err := gzip.NewReader(ahead)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSitemap, err)
		}
		in.out = &meter{r: gz, limit: o.Limits.Bytes, wire: wire, ratio: o.Limits.Ratio}
	}
}

var declaration = lazyregexp.New(`^\s*<\?xml[^>]{1,200}encoding\s*=\s*["']([A-Za-z0-9_:.\-]{2,40})["']`)

// decode takes the encoding off. A byte order mark rules, then what the server
// says, then the document. If the start of the list is UTF-8 with letters beyond
// ASCII, it is UTF-8: declarations that nobody has looked at for years are common.
func (in *input) decode(r *bufio.Reader, said string) (io.Reader, error) {
	head, err := r.Peek(headBytes)
	if err != nil && len(head) == 0 {
		return nil, err
	}
	label := ""
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err := r.Discard(3)
		return r, err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("<\x00")):
		label = "utf-16le"
	case bytes.HasPrefix(head, []byte("\xfe\xff")), bytes.HasPrefix(head, []byte("\x00<")):
		label = "utf-16be"
	case said != "" && !isWide(said):
		label = said
	default:
		if m := declaration.FindSubmatch(head); m != nil && !isWide(string(m[1])) {
			label = string(m[1])
		}
	}
	enc, name := charset.Lookup(label)
	switch {
	case label != "" && enc == nil, name == "replacement":
		in.strays = fmt.Sprintf("the encoding %s is not known; read as UTF-8", quoted([]byte(label)))
		return r, nil
	case enc == nil, name == "utf-8", !isWide(label) && lettersInUTF8(head):
		return r, nil
	}
	return enc.NewDecoder().Reader(r), nil
}

// isWide reports whether a label names UTF-16. If that were true of a document that
// is read byte by byte, its name could not have been read.
func isWide(label string) bool {
	_, name := charset.Lookup(label)
	return name == "utf-16le" || name == "utf-16be"
}

// lettersInUTF8 reports whether text has letters beyond ASCII, all in UTF-8 but for
// what may be cut off at its end.
func lettersInUTF8(b []byte) (some bool) {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			return some && !utf8.FullRune(b)
		}
		some = some || size > 1
		b = b[size:]
	}
	return some
}

// isGzipFault reports whether an error comes from what is packed and not from where
// it is read.
func isGzipFault(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}
