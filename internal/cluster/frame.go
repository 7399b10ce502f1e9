package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A kind is the type of a frame.
type kind string

// The kinds that a worker sends, and those that the leader sends.
const (
	hello   kind = "hello"   // joins the leader
	ping    kind = "ping"    // requests a renewal of the lease
	ask     kind = "ask"     // requests history of a source, or a permit for a request
	slow    kind = "slow"    // the server of a task is slow, or no longer
	done    kind = "done"    // the result of a task
	refused kind = "refused" // the task was not begun and may be given to another worker
	drain   kind = "drain"   // no more tasks; running tasks are completed

	welcome kind = "welcome" // accepts the worker
	pong    kind = "pong"    // renews the lease
	assign  kind = "order"   // gives a task
	answer  kind = "answer"  // answers a question
	cancel  kind = "cancel"  // cancels a task
)

// A frame is one message of the stream: a header, a JSON payload, and blobs, which would be costly
// in JSON. Binary frames have another header: see [binaryTask].
type frame struct {
	Kind    kind            `json:"k"`
	ID      uint64          `json:"id,omitempty"`    // of the task
	Ask     uint64          `json:"ask,omitempty"`   // of the question
	Blobs   []int           `json:"blobs,omitempty"` // sizes; -1 means nil
	Payload json.RawMessage `json:"say,omitempty"`

	blobs  [][]byte
	binary bool // Payload is valid until the next frame is received
}

// payloadKey begins the payload in a JSON header. The payload comes last, so that it can be cut off
// without parsing and is parsed once, by the receiver.
const payloadKey = `,"say":`

// blobSize returns the size of a blob as the header has it.
func blobSize(blob []byte) int {
	if blob == nil {
		return -1
	}
	return len(blob)
}

// appendHead appends the header of a frame. It writes the JSON by hand because json.Marshal would
// parse the payload twice.
func (f frame) appendHead(b []byte) []byte {
	if f.binary {
		return append(f.appendBinary(b), f.Payload...)
	}
	b = append(append(append(b, `{"k":"`...), f.Kind...), '"')
	if f.ID != 0 {
		b = strconv.AppendUint(append(b, `,"id":`...), f.ID, 10)
	}
	if f.Ask != 0 {
		b = strconv.AppendUint(append(b, `,"ask":`...), f.Ask, 10)
	}
	for i, blob := range f.blobs {
		if i == 0 {
			b = append(b, `,"blobs":[`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(blobSize(blob)), 10)
	}
	if len(f.blobs) > 0 {
		b = append(b, ']')
	}
	if len(f.Payload) > 0 {
		b = append(append(b, payloadKey...), f.Payload...)
	}
	return append(b, '}')
}

// readHead parses the header of a frame.
func (f *frame) readHead(head []byte) error {
	if isBinary(head) {
		return f.readBinary(head)
	}
	at := bytes.Index(head, []byte(payloadKey))
	if at < 0 || !bytes.HasSuffix(head, []byte("}")) || bytes.Contains(head[at:], []byte(`,"blobs":[`)) {
		return json.Unmarshal(head, f)
	}
	f.Payload = head[at+len(payloadKey) : len(head)-1]
	return json.Unmarshal(append(slices.Clip(head[:at]), '}'), f)
}

// Limits of a received frame.
const (
	maxHeader = 64 << 20 // an index hint can name 50,000 pages
	maxBlobs  = 1 << 16  // several for each source of a shared fetch
)

// errTooLarge reports a frame that exceeds a limit.
var errTooLarge = errors.New("a frame is too large")

// newFrame returns a frame with the payload v.
func newFrame(k kind, id uint64, v any, blobs ...[]byte) (frame, error) {
	f := frame{Kind: k, ID: id, blobs: blobs}
	if v != nil {
		say, err := json.Marshal(v)
		if err != nil {
			return f, fmt.Errorf("%s: %w", k, err)
		}
		f.Payload = say
	}
	return f, nil
}

// decode decodes the payload into v.
func (f frame) decode(v any) error {
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("%s: %w", f.Kind, err)
	}
	return nil
}
