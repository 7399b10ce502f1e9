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

// Write returns the encoded header.
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

// ReadHead parses a header.
func ReadHead(text []byte) (Head, error) {
	var f frame
	err := f.readHead(text)
	return Head{Kind: string(f.Kind), ID: f.ID, Ask: f.Ask, Blobs: f.Blobs, Say: f.Payload}, err
}

// Chosen returns which worker is chosen for each of a thousand hosts.
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

// Messages for benchmarks and codec tests.
type (
	TaskMessage     = taskMessage
	SentDefinitions = sentDefinitions
	Definitions     = definitions
)

// Version is the version of the protocol.
const Version = version

// Bounds of numbered definitions.
const (
	MaxDefinitions    = maxDefinitions
	MaxDefinitionSize = maxDefinitionSize
)

// SharedDefinition returns the shared definition of a source.
func SharedDefinition(s freshet.Source) []byte { return sharedDefinition(s) }

// EncodeTask returns the encoded task.
func EncodeTask(id uint64, say *TaskMessage, known *SentDefinitions) []byte {
	return say.appendTo(frame{Kind: assign, ID: id}.appendBinary(nil), known)
}

// DecodeTask decodes a task and returns its source.
func DecodeTask(head []byte, known *Definitions) (id uint64, say *TaskMessage, s freshet.Source, err error) {
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

// EncodeResult returns an encoded result without its blobs.
func EncodeResult(id uint64, found worker.Result) ([]byte, error) {
	f, err := newResultFrame(id, found)
	return f.appendHead(nil), err
}

// DecodeResult decodes a result without its blobs.
func DecodeResult(head []byte) (id uint64, found *worker.Result, err error) {
	var f frame
	var say doneMessage
	if err = f.readHead(head); err == nil && f.Kind == done {
		err = f.decodeDone(&say)
	}
	return f.ID, say.Result, err
}

// A Stream carries frames for tests that act as a leader or a worker.
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

// SendRaw sends an arbitrary header.
func (s Stream) SendRaw(head []byte) error {
	return s.write(func(b []byte) []byte { return append(b, head...) }, nil)
}

// Receive returns the kind, encoding, payload and blobs of the next frame.
func (s Stream) Receive() (k string, id uint64, isBinary bool, say []byte, blobs [][]byte, err error) {
	f, err := s.receive(nil)
	return string(f.Kind), f.ID, f.binary, f.Payload, f.blobs, err
}

// Settle waits until everything is written.
func (s Stream) Settle() { s.flush() }

// Known returns how many definitions a worker keeps.
func (h *definitions) Known() int { return len(h.byNumber) }
