package cluster

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// A stream carries frames both ways. Many may send at once; one receives.
type stream struct {
	conn  io.ReadWriteCloser
	in    *bufio.Reader
	blobs int64  // most bytes of blobs in a frame
	head  []byte // of the last binary frame
	moved func() // is told that some of what is large has come or gone; may be nil

	mu      sync.Mutex
	eased   sync.Cond // some bytes have left, or none ever will
	out     []byte    // bytes that wait
	spare   []byte    // used in turn with out
	writing bool      // somebody writes what waits
	bulky   int       // wait for their turn to write
	set     time.Time // when the deadline was set
	err     error     // why nothing can be written any more
}

func newStream(conn io.ReadWriteCloser, in *bufio.Reader, mostBytes int64) *stream {
	s := &stream{conn: conn, in: in, blobs: mostBytes}
	s.eased.L = &s.mu
	return s
}

const (
	sendPatience = 20 * time.Second // how long the other end may take nothing
	mostWaiting  = 1 << 20          // bytes; who has more to send waits
	bulk         = 64 << 10         // bytes of blobs that are not copied
	mostSpare    = 256 << 10        // bytes of a buffer that is kept
)

// send sends a frame.
func (s *stream) send(f frame) error { return s.write(f.appendHead, f.blobs) }

// write sends a frame whose header is appended while nobody else can send: headers arrive in the
// order in which they are made. What several send at once leaves together, so an error may be that
// of another frame. The stream is closed then.
func (s *stream) write(head func([]byte) []byte, blobs [][]byte) error {
	size := 0
	for _, b := range blobs {
		size += len(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > bulk {
		s.bulky++
		for s.err == nil && s.writing {
			s.eased.Wait()
		}
		s.bulky--
	}
	for s.err == nil && s.writing && len(s.out) > mostWaiting {
		s.eased.Wait()
	}
	if s.err != nil {
		return s.err
	}
	at := len(s.out)
	s.out = head(append(s.out, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(s.out[at:], uint32(len(s.out)-at-4))
	if size <= bulk {
		for _, b := range blobs {
			s.out = append(s.out, b...)
		}
		blobs = nil
	}
	if s.writing {
		return nil
	}
	s.writing = true
	if blobs == nil {
		s.mu.Unlock()
		runtime.Gosched() // who is about to send, too, need not write for itself
		s.mu.Lock()
	}
	s.drainLocked(blobs)
	return s.err
}

// drainLocked writes all that waits, and blobs after what waits now.
func (s *stream) drainLocked(blobs [][]byte) {
	for s.err == nil && (len(s.out) > 0 || blobs != nil) {
		out := s.out
		s.out = s.spare[:0]
		s.mu.Unlock()
		err := s.put(out, blobs)
		s.mu.Lock()
		if s.spare = out; cap(out) > mostSpare {
			s.spare = nil
		}
		if blobs = nil; err != nil {
			s.err = err
			s.conn.Close() // others may count on what did not leave
		}
		if s.eased.Broadcast(); s.bulky > 0 {
			break // who then has the turn
		}
	}
	s.writing = false
}

// settle returns when all that was sent has left, or none ever will.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.writing {
		s.eased.Wait()
	}
}

// put writes bytes to the connection.
func (s *stream) put(out []byte, blobs [][]byte) error {
	c, can := s.conn.(interface{ SetWriteDeadline(time.Time) error })
	if now := time.Now(); can && (blobs != nil || now.Sub(s.set) > sendPatience/20) {
		s.set = now
		_ = c.SetWriteDeadline(now.Add(sendPatience))
	}
	if _, err := s.conn.Write(out); err != nil {
		return err
	}
	for _, b := range blobs {
		err := s.inPieces(b, func(piece []byte) error {
			if can {
				_ = c.SetWriteDeadline(time.Now().Add(sendPatience))
			}
			_, err := s.conn.Write(piece)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inPieces does something with one piece after the other. Each is a sign of life: something large
// can take longer than a lease, and nothing else can be said meanwhile.
func (s *stream) inPieces(b []byte, do func([]byte) error) error {
	for len(b) > 0 {
		piece := b[:min(len(b), bulk)]
		if err := do(piece); err != nil {
			return err
		}
		if b = b[len(piece):]; s.moved != nil && len(piece) == bulk {
			s.moved()
		}
	}
	return nil
}

// read receives a piece.
func (s *stream) read(piece []byte) error {
	_, err := io.ReadFull(s.in, piece)
	return err
}

// receive returns the next frame. Before it reads blobs it asks room, if there is one; if
// there is none they are passed over, and the frame comes with the error.
func (s *stream) receive(room func(frame, int64) error) (f frame, err error) {
	head, err := s.receiveHead()
	if err != nil {
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
		if err := s.inPieces(b, s.read); err != nil {
			return f, err
		}
		f.blobs = append(f.blobs, b)
	}
	return f, nil
}

// receiveHead returns the next header. That of a binary frame is where the one before was.
func (s *stream) receiveHead() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(s.in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > mostSay {
		return nil, errTooLarge
	}
	var head []byte
	if first, err := s.in.Peek(min(1, int(n))); err == nil && isBinary(first) && n <= bulk {
		if cap(s.head) < int(n) {
			s.head = make([]byte, max(int(n), 1<<10))
		}
		head = s.head[:n]
	} else {
		head = make([]byte, n)
	}
	return head, s.inPieces(head, s.read)
}

// close ends the stream.
func (s *stream) close() { s.conn.Close() }
