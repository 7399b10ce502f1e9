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

// A stream carries frames in both directions. Any number of goroutines may send; one receives.
type stream struct {
	conn       io.ReadWriteCloser
	in         *bufio.Reader
	blobs      int64  // most bytes of the blobs of a frame
	head       []byte // buffer for headers of binary frames
	onProgress func() // called when part of a large frame was transferred; may be nil

	mu           sync.Mutex
	progressed   sync.Cond // bytes were written, or writing failed
	out          []byte    // queued bytes
	spare        []byte    // used in turn with out
	writing      bool      // a goroutine is writing
	largeWaiting int       // goroutines that wait to write a large frame
	deadlineSet  time.Time // when the write deadline was set
	err          error     // why writing failed
}

func newStream(conn io.ReadWriteCloser, in *bufio.Reader, mostBytes int64) *stream {
	s := &stream{conn: conn, in: in, blobs: mostBytes}
	s.progressed.L = &s.mu
	return s
}

const (
	writeTimeout = 20 * time.Second // longest time without progress
	maxQueued    = 1 << 20          // bytes; further senders wait
	largeSize    = 64 << 10         // bytes; larger blobs are not copied, and larger buffers are transferred in chunks
	maxSpare     = 256 << 10        // bytes; larger buffers are not kept
)

// send sends a frame.
func (s *stream) send(f frame) error { return s.write(f.appendHead, f.blobs) }

// write sends a frame. It calls head under the lock, so that headers are built in the order in
// which they are sent. Frames of concurrent senders are written together, so an error may be due to
// another frame; it closes the stream.
func (s *stream) write(head func([]byte) []byte, blobs [][]byte) error {
	size := 0
	for _, b := range blobs {
		size += len(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > largeSize {
		s.largeWaiting++
		for s.err == nil && s.writing {
			s.progressed.Wait()
		}
		s.largeWaiting--
	}
	for s.err == nil && s.writing && len(s.out) > maxQueued {
		s.progressed.Wait()
	}
	if s.err != nil {
		return s.err
	}
	at := len(s.out)
	s.out = head(append(s.out, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(s.out[at:], uint32(len(s.out)-at-4))
	if size <= largeSize {
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
		runtime.Gosched() // lets other senders join this write
		s.mu.Lock()
	}
	s.writeLocked(blobs)
	return s.err
}

// writeLocked writes the queued bytes, and blobs after those queued at the call.
func (s *stream) writeLocked(blobs [][]byte) {
	for s.err == nil && (len(s.out) > 0 || blobs != nil) {
		out := s.out
		s.out = s.spare[:0]
		s.mu.Unlock()
		err := s.writeOut(out, blobs)
		s.mu.Lock()
		if s.spare = out; cap(out) > maxSpare {
			s.spare = nil
		}
		if blobs = nil; err != nil {
			s.err = err
			s.conn.Close() // later frames must not be sent without these
		}
		if s.progressed.Broadcast(); s.largeWaiting > 0 {
			break // a large frame is next
		}
	}
	s.writing = false
}

// flush waits until everything queued is written or writing has failed.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && s.writing {
		s.progressed.Wait()
	}
}

// writeOut writes bytes and blobs to the connection.
func (s *stream) writeOut(out []byte, blobs [][]byte) error {
	c, can := s.conn.(interface{ SetWriteDeadline(time.Time) error })
	if now := time.Now(); can && (blobs != nil || now.Sub(s.deadlineSet) > writeTimeout/20) {
		s.deadlineSet = now
		_ = c.SetWriteDeadline(now.Add(writeTimeout))
	}
	if _, err := s.conn.Write(out); err != nil {
		return err
	}
	for _, b := range blobs {
		err := s.chunked(b, func(chunk []byte) error {
			if can {
				_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
			}
			_, err := s.conn.Write(chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chunked calls do with one chunk of b after another. A large frame can take longer than a lease
// and blocks all other frames, so every chunk counts as a sign of life.
func (s *stream) chunked(b []byte, do func([]byte) error) error {
	for len(b) > 0 {
		chunk := b[:min(len(b), largeSize)]
		if err := do(chunk); err != nil {
			return err
		}
		if b = b[len(chunk):]; s.onProgress != nil && len(chunk) == largeSize {
			s.onProgress()
		}
	}
	return nil
}

// read fills chunk from the connection.
func (s *stream) read(chunk []byte) error {
	_, err := io.ReadFull(s.in, chunk)
	return err
}

// receive returns the next frame. It calls reserve before it reads blobs, unless reserve is nil. If
// reserve fails, receive skips the blobs and returns the frame with the error.
func (s *stream) receive(reserve func(frame, int64) error) (f frame, err error) {
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
	if len(f.Blobs) > maxBlobs || total > s.blobs {
		return f, errTooLarge
	}
	if reserve != nil && total > 0 {
		if err := reserve(f, total); err != nil {
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
		if err := s.chunked(b, s.read); err != nil {
			return f, err
		}
		f.blobs = append(f.blobs, b)
	}
	return f, nil
}

// receiveHead returns the next header. Headers of binary frames share a buffer.
func (s *stream) receiveHead() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(s.in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxHeader {
		return nil, errTooLarge
	}
	var head []byte
	if first, err := s.in.Peek(min(1, int(n))); err == nil && isBinary(first) && n <= largeSize {
		if cap(s.head) < int(n) {
			s.head = make([]byte, max(int(n), 1<<10))
		}
		head = s.head[:n]
	} else {
		head = make([]byte, n)
	}
	return head, s.chunked(head, s.read)
}

// close closes the stream.
func (s *stream) close() { s.conn.Close() }
