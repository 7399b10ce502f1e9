package cluster

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A kind says what a frame is.
type kind string

// What a hand sends, and what the brain does.
const (
	hello   kind = "hello"   // who I am
	ping    kind = "ping"    // I am here, and it is so late by my clock
	ask     kind = "ask"     // something about an order that only the brain knows, or leave for a request
	slow    kind = "slow"    // the server of an order is slow, or is no longer
	done    kind = "done"    // what a look found
	refused kind = "refused" // an order was not begun: give it to somebody else
	drain   kind = "drain"   // no more orders, please; what is under way is ended

	welcome kind = "welcome" // how we work here
	pong    kind = "pong"    // for how long after your ping you may begin requests
	order   kind = "order"   // look at this
	answer  kind = "answer"  // to an ask
	cancel  kind = "cancel"  // nobody wants an order any more
)

// A frame is what goes over the stream at once: a header, what it says in JSON, and bytes
// that are not put into JSON because they are many.
type frame struct {
	Kind  kind            `json:"k"`
	ID    uint64          `json:"id,omitempty"`    // of the order
	Ask   uint64          `json:"ask,omitempty"`   // of the question
	Blobs []int           `json:"blobs,omitempty"` // sizes; -1 is nil
	Say   json.RawMessage `json:"say,omitempty"`

	blobs [][]byte
}

// saying is where what a frame says begins in its header. It comes last, so that it can be
// told from the rest without being read: it is read once, by who hears it.
const saying = `,"say":`

// appendHead appends the header of a frame, as JSON. To marshal one that has JSON within
// would read that twice more.
func (f frame) appendHead(b []byte) []byte {
	b = append(append(append(b, `{"k":"`...), f.Kind...), '"')
	if f.ID != 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), f.ID, 10)
	}
	if f.Ask != 0 {
		b = strconv.AppendUint(append(b, `,"ask":`...), f.Ask, 10)
	}
	for i, size := range f.Blobs {
		if i == 0 {
			b = append(b, `,"blobs":[`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(size), 10)
	}
	if len(f.Blobs) > 0 {
		b = append(b, ']')
	}
	if len(f.Say) > 0 {
		b = append(append(b, saying...), f.Say...)
	}
	return append(b, '}')
}

// readHead reads the header of a frame. A header in which what is said does not come last is
// read whole.
func (f *frame) readHead(head []byte) error {
	at := bytes.Index(head, []byte(saying))
	if at < 0 || !bytes.HasSuffix(head, []byte("}")) || bytes.Contains(head[at:], []byte(`,"blobs":[`)) {
		return json.Unmarshal(head, f)
	}
	f.Say = head[at+len(saying) : len(head)-1]
	return json.Unmarshal(append(slices.Clip(head[:at]), '}'), f)
}

// Limits on what the other end may send.
const (
	mostSay   = 64 << 20 // a word can name 50,000 pages
	mostBlobs = 1 << 12
)

// errTooLarge says that a frame was larger than anything that is sent here.
var errTooLarge = errors.New("a frame is too large")

// newFrame returns a frame that says v.
func newFrame(k kind, id uint64, v any, blobs ...[]byte) (frame, error) {
	f := frame{Kind: k, ID: id, blobs: blobs}
	if v != nil {
		say, err := json.Marshal(v)
		if err != nil {
			return f, fmt.Errorf("%s: %w", k, err)
		}
		f.Say = say
	}
	return f, nil
}

// hear reads what a frame says.
func (f frame) hear(v any) error {
	if err := json.Unmarshal(f.Say, v); err != nil {
		return fmt.Errorf("%s: %w", f.Kind, err)
	}
	return nil
}

// A stream carries frames both ways. Many may send at once; one receives.
type stream struct {
	conn  io.ReadWriteCloser
	in    *bufio.Reader
	blobs int64 // most bytes of blobs in a frame

	mu      sync.Mutex
	out     *bufio.Writer
	waiting int // to send
}

func newStream(conn io.ReadWriteCloser, in *bufio.Reader, mostBytes int64) *stream {
	return &stream{conn: conn, in: in, out: bufio.NewWriterSize(conn, 64<<10), blobs: mostBytes}
}

// sendPatience is how long the other end may take nothing.
const sendPatience = 20 * time.Second

// send sends a frame. What several send at once leaves together.
func (s *stream) send(f frame) error {
	f.Blobs = nil
	for _, b := range f.blobs {
		size := len(b)
		if b == nil {
			size = -1
		}
		f.Blobs = append(f.Blobs, size)
	}
	head := f.appendHead(make([]byte, 4, 64+len(f.Say)+8*len(f.Blobs)))
	binary.BigEndian.PutUint32(head, uint32(len(head)-4))
	s.mu.Lock()
	s.waiting++
	s.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	if c, ok := s.conn.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = c.SetWriteDeadline(time.Now().Add(sendPatience))
	}
	if _, err := s.out.Write(head); err != nil {
		return err
	}
	for _, b := range f.blobs {
		if _, err := s.out.Write(b); err != nil {
			return err
		}
	}
	if s.waiting > 0 {
		return nil // the next one flushes
	}
	return s.out.Flush()
}

// receive returns the next frame. Before it reads blobs it asks room, if there is one; if
// there is none they are passed over, and the frame comes with the error.
func (s *stream) receive(room func(frame, int64) error) (f frame, err error) {
	var size [4]byte
	if _, err := io.ReadFull(s.in, size[:]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > mostSay {
		return f, errTooLarge
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return f, err
	}
	if err := f.readHead(head); err != nil {
		return f, fmt.Errorf("not a frame: %w", err)
	}
	var total int64
	for _, size := range f.Blobs {
		if size < -1 || int64(size) > s.blobs {
			return f, errTooLarge
		}
		total += int64(max(0, size))
	}
	if len(f.Blobs) > mostBlobs || total > s.blobs {
		return f, errTooLarge
	}
	if room != nil && total > 0 {
		if err := room(f, total); err != nil {
			if _, gone := io.CopyN(io.Discard, s.in, total); gone != nil {
				return f, gone
			}
			return f, err
		}
	}
	for _, size := range f.Blobs {
		if size < 0 {
			f.blobs = append(f.blobs, nil)
			continue
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(s.in, b); err != nil {
			return f, err
		}
		f.blobs = append(f.blobs, b)
	}
	return f, nil
}

// close ends the stream.
func (s *stream) close() { s.conn.Close() }
