package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// A Head is the header of a frame.
type Head struct {
	Kind    string
	ID, Ask uint64
	Blobs   []int
	Say     json.RawMessage
}

// Write returns a header as it is sent.
func (h Head) Write() []byte {
	f := frame{Kind: kind(h.Kind), ID: h.ID, Ask: h.Ask, Payload: h.Say}
	for _, size := range h.Blobs {
		var blob []byte
		if size >= 0 {
			blob = make([]byte, size)
		}
		f.blobs = append(f.blobs, blob)
	}
	return f.appendHead(nil)
}

// ReadHead reads a header as it was received.
func ReadHead(text []byte) (Head, error) {
	var f frame
	err := f.readHead(text)
	return Head{Kind: string(f.Kind), ID: f.ID, Ask: f.Ask, Blobs: f.Blobs, Say: f.Payload}, err
}

// Chosen returns which of some workers is the one for each of a thousand hosts.
func Chosen(names []string) map[string]string {
	chosen := map[string]string{}
	for i := range 1000 {
		host := fmt.Sprintf("h%d.example", i)
		var most uint64
		for _, name := range names {
			if s := score(hashName(host), hashName(name)); s >= most {
				most, chosen[host] = s, name
			}
		}
	}
	return chosen
}

// What goes over the wire, for those who hold it against itself.
type (
	OrderSay = taskMessage
	Told     = sentDefinitions
	Heard    = definitions
)

// Version is that of the protocol.
const Version = version

// The bounds of numbered readings.
const (
	MostReadings = maxDefinitions
	MostReading  = maxDefinitionSize
)

// ReadingOf returns the reading of a source as a leader sends it.
func ReadingOf(s freshet.Source) []byte { return sharedDefinition(s) }

// WriteOrder returns a task as it is sent.
func WriteOrder(id uint64, say *OrderSay, known *Told) []byte {
	return say.appendTo(frame{Kind: assign, ID: id}.appendBinary(nil), known)
}

// ReadOrder reads a task as it was received, and returns its source.
func ReadOrder(head []byte, known *Heard) (id uint64, say *OrderSay, s freshet.Source, err error) {
	var f frame
	if err = f.readHead(head); err == nil && f.Kind == assign {
		say, err = known.decodeTask(f)
	}
	if err != nil || say == nil {
		return f.ID, nil, s, err
	}
	s, err = say.source()
	say.parsed = nil
	return f.ID, say, s, err
}

// WriteDone returns a result as it is sent, without its blobs.
func WriteDone(id uint64, found worker.Result) ([]byte, error) {
	f, err := newResultFrame(id, found)
	return f.appendHead(nil), err
}

// ReadDone reads a result as it was received, without its blobs.
func ReadDone(head []byte) (id uint64, found *worker.Result, err error) {
	var f frame
	var say doneMessage
	if err = f.readHead(head); err == nil && f.Kind == done {
		err = f.decodeDone(&say)
	}
	return f.ID, say.Result, err
}

// A Stream carries frames, for those who speak for a leader or a worker.
type Stream struct{ *stream }

// NewStream returns a stream over a connection.
func NewStream(conn io.ReadWriteCloser) Stream {
	return Stream{newStream(conn, bufio.NewReader(conn), 1<<30)}
}

// Send sends a frame.
func (s Stream) Send(k string, id uint64, say any, blobs ...[]byte) error {
	f, err := newFrame(kind(k), id, say, blobs...)
	if err != nil {
		return err
	}
	return s.send(f)
}

// SendRaw sends a header as it is.
func (s Stream) SendRaw(head []byte) error {
	return s.write(func(b []byte) []byte { return append(b, head...) }, nil)
}

// Receive returns the next frame: what it is, whether it is binary, what it says, and its blobs.
func (s Stream) Receive() (k string, id uint64, isBinary bool, say []byte, blobs [][]byte, err error) {
	f, err := s.receive(nil)
	return string(f.Kind), f.ID, f.binary, f.Payload, f.blobs, err
}

// Settle returns when all that was sent has left.
func (s Stream) Settle() { s.flush() }

// Known returns how many readings a worker has kept.
func (h *definitions) Known() int { return len(h.byNumber) }
