package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A kind says what a frame is.
type kind string

// What a worker sends, and what the leader does.
const (
	hello   kind = "hello"   // who I am
	ping    kind = "ping"    // I am here, and it is so late by my clock
	ask     kind = "ask"     // something about a task that only the leader knows, or a permit for a request
	slow    kind = "slow"    // the server of a task is slow, or is no longer
	done    kind = "done"    // what a look found
	refused kind = "refused" // a task was not begun: give it to somebody else
	drain   kind = "drain"   // no more tasks, please; what is under way is ended

	welcome kind = "welcome" // how we work here
	pong    kind = "pong"    // for how long after your ping you may begin requests
	order   kind = "order"   // look at this
	answer  kind = "answer"  // to an ask
	cancel  kind = "cancel"  // a task is not wanted any more
)

// A frame is what goes over the stream at once: a header, what it says in JSON, and bytes
// that are not put into JSON because they are many. The header of a binary one is not JSON: see
// [binaryOrder].
type frame struct {
	Kind  kind            `json:"k"`
	ID    uint64          `json:"id,omitempty"`    // of the task
	Ask   uint64          `json:"ask,omitempty"`   // of the question
	Blobs []int           `json:"blobs,omitempty"` // sizes; -1 is nil
	Say   json.RawMessage `json:"say,omitempty"`

	blobs  [][]byte
	binary bool // Say is valid until the next frame is received
}

// saying is where what a frame says begins in its header. It comes last, so that it can be
// told from the rest without being read: it is read once, by who hears it.
const saying = `,"say":`

// sizeOf returns the size of a blob as a header has it.
func sizeOf(blob []byte) int {
	if blob == nil {
		return -1
	}
	return len(blob)
}

// appendHead appends the header of a frame, as JSON. To marshal one that has JSON within
// would read that twice more.
func (f frame) appendHead(b []byte) []byte {
	if f.binary {
		return append(f.appendBinary(b), f.Say...)
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
		b = strconv.AppendInt(b, int64(sizeOf(blob)), 10)
	}
	if len(f.blobs) > 0 {
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
	if isBinary(head) {
		return f.readBinary(head)
	}
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
	mostBlobs = 1 << 16  // several for each source that is read from a shared fetch
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
