// Package warc writes and reads WARC files (ISO 28500), the format in which archives of the Web keep responses.
// It writes version 1.1, each record a member of a gzip file, and reads 1.0 and 1.1, packed or not.
package warc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// The types of records that Freshet writes.
const (
	Info     = "warcinfo" // what the file is
	Response = "response" // a response with its header
	Resource = "resource" // a document without the header of its response
	Revisit  = "revisit"  // a response with the payload of an earlier one
)

// ContentTypeResponse is the Content-Type of the block of a response or a revisit.
const ContentTypeResponse = "application/http;msgtype=response"

// IdenticalPayload is the profile of a revisit whose payload is that of the record it refers to.
const IdenticalPayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// The names of fields.
const (
	FieldType        = "WARC-Type"
	FieldID          = "WARC-Record-ID"
	FieldDate        = "WARC-Date"
	FieldTarget      = "WARC-Target-URI"
	FieldProfile     = "WARC-Profile"
	FieldRefersTo    = "WARC-Refers-To"
	FieldRefersURI   = "WARC-Refers-To-Target-URI"
	FieldRefersDate  = "WARC-Refers-To-Date"
	FieldPayload     = "WARC-Payload-Digest"
	FieldBlock       = "WARC-Block-Digest"
	FieldContentType = "Content-Type"
	fieldLength      = "Content-Length"
)

// A Field is a named field of the header of a record.
type Field struct{ Name, Value string }

// A Record is a record with its block.
type Record struct {
	Fields []Field // without Content-Length
	Block  []byte
}

// Get returns a field, "" if there is none. Case does not matter.
func (r *Record) Get(name string) string {
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Add adds a field, unless its value is empty.
func (r *Record) Add(name, value string) {
	if value != "" {
		r.Fields = append(r.Fields, Field{name, value})
	}
}

// Date returns when the record was captured.
func (r *Record) Date() (time.Time, error) { return time.Parse(time.RFC3339Nano, r.Get(FieldDate)) }

// Time returns a time as a record has it.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Digest returns the digest of a block or a payload as a record has it.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + base32.StdEncoding.EncodeToString(sum[:])
}

// ID returns the ID of a record: a UUID that is always the same for the same words.
func ID(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: its bits are the writer's own
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A Writer writes a WARC file.
type Writer struct {
	to  io.Writer
	zip *gzip.Writer // nil if records are not packed
}

// NewWriter returns a Writer. If packed is set, each record is a member of a gzip file.
func NewWriter(to io.Writer, packed bool) *Writer {
	w := &Writer{to: to}
	if packed {
		w.zip = gzip.NewWriter(to)
	}
	return w
}

// Write writes a record.
func (w *Writer) Write(r *Record) (err error) {
	to := w.to
	if w.zip != nil {
		w.zip.Reset(w.to)
		to = w.zip
		defer func() { err = errors.Join(err, w.zip.Close()) }()
	}
	var head bytes.Buffer
	head.WriteString("WARC/1.1\r\n")
	for _, f := range append(r.Fields, Field{fieldLength, strconv.Itoa(len(r.Block))}) {
		if f.Name == "" || strings.ContainsAny(f.Name, ": \r\n") || strings.ContainsAny(f.Value, "\r\n") {
			return fmt.Errorf("field %q of a WARC record: %q cannot be written", f.Name, f.Value)
		}
		head.WriteString(f.Name + ": " + f.Value + "\r\n")
	}
	head.WriteString("\r\n")
	for _, part := range [][]byte{head.Bytes(), r.Block, []byte("\r\n\r\n")} {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// MaxBlock bounds the block of a record that is read.
const MaxBlock = 256 << 20

// maxHeader bounds the header of a record.
const maxHeader = 1 << 20

// A Reader reads a WARC file, packed or not.
type Reader struct {
	file  *counted
	zip   *gzip.Reader // nil if the file is not packed
	lines *bufio.Reader

	begins int64 // where the record or the gzip member begins that is read
	within int   // records of that member that were read
}

// counted counts what is read. The reader of a gzip member reads no further than its end from it.
type counted struct {
	*bufio.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// NewReader returns a Reader.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{file: &counted{Reader: bufio.NewReaderSize(from, 64<<10)}}
	r.lines = bufio.NewReaderSize(r.file, 16<<10)
	if magic, err := r.file.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		zip, err := gzip.NewReader(r.file)
		if err != nil {
			return nil, fmt.Errorf("reading a WARC file: %w", err)
		}
		zip.Multistream(false)
		r.zip = zip
		r.lines.Reset(zip)
	}
	return r, nil
}

// Position returns where the record that Next returned begins in the file. A Reader that begins there reads it after
// skipping some records, which are in the same gzip member.
func (r *Reader) Position() (begins int64, skip int) { return r.begins, r.within - 1 }

// nextMember goes on to the next member of a packed file.
func (r *Reader) nextMember() error {
	if r.zip == nil {
		return io.EOF
	}
	begins := r.file.n
	if err := r.zip.Reset(r.file); errors.Is(err, io.EOF) {
		return io.EOF
	} else if err != nil {
		return fmt.Errorf("reading a WARC file: %w", err)
	}
	r.zip.Multistream(false)
	r.lines.Reset(r.zip)
	r.begins, r.within = begins, 0
	return nil
}

// Next reads the next record. At the end it returns io.EOF; a file that ends within a record gives
// io.ErrUnexpectedEOF.
func (r *Reader) Next() (*Record, error) {
	version, err := r.version()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(version, "WARC/1.") && !strings.HasPrefix(version, "WARC/0.") {
		return nil, fmt.Errorf("reading a WARC file: a record begins with %.40q, want WARC/1.1", version)
	}
	header := &io.LimitedReader{R: r.lines, N: maxHeader}
	rec, length, err := readFields(header, r.lines)
	if err != nil {
		return nil, err
	}
	if length < 0 || length > MaxBlock {
		return nil, fmt.Errorf("reading a WARC file: a record of %d bytes, want at most %d", length, int64(MaxBlock))
	}
	var block bytes.Buffer // not made at once: the length may be a lie
	if n, err := io.Copy(&block, io.LimitReader(r.lines, length)); err != nil || n < length {
		return nil, truncated(err)
	}
	rec.Block = block.Bytes()
	return rec, nil
}

// version returns the first line of a record that is not empty.
func (r *Reader) version() (string, error) {
	for {
		if r.zip == nil {
			r.begins, r.within = r.file.n-int64(r.lines.Buffered()), 0
		}
		line, err := r.line()
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			r.within++
			return line, nil
		}
		if errors.Is(err, io.EOF) {
			err = r.nextMember()
		}
		if err != nil {
			return "", err
		}
	}
}

// line reads a line that is not longer than a header may be.
func (r *Reader) line() (string, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(line), err
		}
		if len(line) > maxHeader {
			return "", errors.New("reading a WARC file: a line is too long")
		}
	}
}

// readFields reads the header of a record, whose values may go on in lines that begin with a space.
func readFields(limit *io.LimitedReader, lines *bufio.Reader) (*Record, int64, error) {
	rec, length := &Record{}, int64(-1)
	text := textproto.NewReader(lines)
	for {
		line, err := text.ReadContinuedLine()
		if err != nil {
			return nil, 0, truncated(err)
		}
		if limit.N -= int64(len(line)); limit.N < 0 {
			return nil, 0, errors.New("reading a WARC file: a header is too long")
		}
		if line == "" {
			if length < 0 {
				return nil, 0, errors.New("reading a WARC file: a record without Content-Length")
			}
			return rec, length, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok || name == "" {
			return nil, 0, fmt.Errorf("reading a WARC file: %.80q is not a field", line)
		}
		if !strings.EqualFold(name, fieldLength) {
			rec.Fields = append(rec.Fields, Field{name, value})
		} else if length, err = strconv.ParseInt(value, 10, 64); err != nil {
			return nil, 0, fmt.Errorf("reading a WARC file: Content-Length %.40q", value)
		}
	}
}

// truncated returns why a record ends early.
func truncated(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading a WARC file: %w", err)
}
