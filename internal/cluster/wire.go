package cluster

import (
	"encoding/json"
	"errors"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// version is the version of the protocol. Leader and worker must have the same.
const version = 2

// A helloMessage describes a worker to the leader.
type helloMessage struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Slots   int    `json:"slots"`
	Place   string `json:"place,omitempty"`
	Renders bool   `json:"renders,omitempty"`

	Run string `json:"run,omitempty"` // distinguishes a reconnect from another worker of the name; "" for an old version
}

// A welcomeMessage accepts or rejects a worker.
type welcomeMessage struct {
	Version int           `json:"version"`
	Epoch   int64         `json:"epoch"`
	Lease   time.Duration `json:"lease"` // longest lease
	Agent   string        `json:"agent,omitempty"`
	Total   time.Duration `json:"total,omitempty"` // longest fetch

	Taken string `json:"taken,omitempty"` // address of a connected worker of the same name; this worker is rejected
}

// A pingMessage is the time by the clock of the worker's lease, and the number of its tasks.
type pingMessage struct {
	At   time.Duration `json:"at"`
	Busy int           `json:"busy"`
}

// A pongMessage answers a ping.
type pongMessage struct {
	At    time.Duration `json:"at"` // copied from the ping
	Right time.Duration `json:"right"`
}

// A taskMessage is a task as it is sent. Of the source it has the fields of [sharedDefinition].
type taskMessage struct {
	Source     freshet.SourceID
	URL        string
	Definition []byte
	Head       freshet.Head
	At         time.Time
	Hints      *worker.IndexHints
	Shared     []taskMessage

	Granted string // URL of a request that is permitted already
	Robots  string // fetch the robots.txt of this origin instead of polling the source

	parsed *definition // Definition of a received task
}

// A questionKind is the kind of a question.
type questionKind string

const (
	askPermit          questionKind = "leave"
	askText            questionKind = "base"
	askNoise           questionKind = "noise"
	askLearnNoise      questionKind = "recall"
	askBody            questionKind = "base_body"
	askPicture         questionKind = "picture"
	askQuarantinedText questionKind = "held_text"
	askItems           questionKind = "items"
	askFields          questionKind = "fields"
	askVersions        questionKind = "recent"
	askKeys            questionKind = "keys"
)

// A question of a worker is about a task or one of its shared tasks.
type question struct {
	What   questionKind `json:"what"`
	Shared int          `json:"along,omitempty"` // place among the shared tasks, from 1; 0 is the task itself
	Hop    *freshet.Hop `json:"hop,omitempty"`
	Text   freshet.Hash `json:"text,omitzero"`
	URLs   []string     `json:"urls,omitempty"`
}

// An answerMessage answers a question. Bytes are in a blob.
type answerMessage struct {
	Err    *errorMessage     `json:"err,omitempty"`
	Fields freshet.Fields    `json:"fields,omitempty"`
	Recent []freshet.Version `json:"recent,omitempty"`
	Keys   []crawl.PageKey   `json:"keys,omitempty"`
}

// An errorMessage is an error with the properties that the receiver needs.
type errorMessage struct {
	Class    failure.Class `json:"class,omitempty"`
	Text     string        `json:"text"`
	Hint     string        `json:"hint,omitempty"`
	NotFound bool          `json:"not_found,omitempty"`
}

func newErrorMessage(err error) *errorMessage {
	if err == nil {
		return nil
	}
	m := &errorMessage{Text: err.Error(), Hint: freshet.HintOf(err), NotFound: errors.Is(err, freshet.ErrNotFound)}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		m.Class, m.Text, m.Hint = e.Class, e.Err.Error(), e.Hint
	}
	return m
}

// error returns the error of a message.
func (e *errorMessage) error() error {
	switch {
	case e == nil:
		return nil
	case e.Class != "":
		return &freshet.FetchError{Class: e.Class, Err: errors.New(e.Text), Hint: e.Hint}
	case e.NotFound:
		return freshet.ErrNotFound
	}
	return errors.New(e.Text)
}

// A doneMessage is the result of a poll, which is binary, or of fetching robots.txt, which is JSON.
type doneMessage struct {
	Result *worker.Result `json:"-"`
	Robots *robotsMessage `json:"manners,omitempty"`
}

// newResultFrame returns a frame with a result and its blobs.
func newResultFrame(id uint64, found worker.Result) (frame, error) {
	small, blobs := splitResult(found)
	var w encoder
	err := w.result(&small)
	return frame{Kind: done, ID: id, Payload: json.RawMessage(w.Writer), blobs: blobs, binary: true}, err
}

// decodeDone decodes the payload of a result.
func (f frame) decodeDone(m *doneMessage) error {
	if !f.binary {
		return f.decode(m)
	}
	r := newDecoder(f.Payload)
	found := r.result(0)
	m.Result = &found
	return r.Err()
}

type robotsMessage struct {
	Answer     robots.Answer `json:"answer"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	Requests   int           `json:"requests,omitempty"`
	Bytes      int64         `json:"bytes,omitempty"`
	Err        *errorMessage `json:"err,omitempty"`
}

// newTaskMessage returns the message of a task.
func newTaskMessage(o *worker.Task) taskMessage {
	m := taskMessage{
		Source: o.Source.ID, URL: o.Source.URL, Definition: sharedDefinition(o.Source), Head: o.Head, At: o.At,
		Hints: o.Hints,
	}
	for i := range o.Shared {
		m.Shared = append(m.Shared, newTaskMessage(&o.Shared[i]))
	}
	return m
}

// source returns the source of a task.
func (m *taskMessage) source() (freshet.Source, error) {
	s := m.parsed.source
	s.ID, s.URL = m.Source, m.URL
	return s, m.parsed.err
}

// splitResult returns a result without its large fields, and those as blobs.
func splitResult(f worker.Result) (worker.Result, [][]byte) {
	blobs := [][]byte{f.Items, f.Noise}
	f.Items, f.Noise = nil, nil
	if f.Capture != nil {
		c := *f.Capture
		blobs = append(blobs, c.Text, c.Raw.Body, c.Picture)
		c.Text, c.Raw.Body, c.Picture = nil, nil, nil
		f.Capture = &c
	}
	shared := f.Shared
	f.Shared = nil
	for _, one := range shared {
		small, more := splitResult(one)
		f.Shared, blobs = append(f.Shared, small), append(blobs, more...)
	}
	return f, blobs
}

// errBlobs reports a result without its blobs.
var errBlobs = errors.New("the result is incomplete")

// joinResult sets the large fields of a result from blobs and returns the remaining blobs.
func joinResult(f *worker.Result, blobs [][]byte) ([][]byte, error) {
	want := 2
	if f.Capture != nil {
		want = 5
	}
	if len(blobs) < want {
		return nil, errBlobs
	}
	f.Items, f.Noise = blobs[0], blobs[1]
	if c := f.Capture; c != nil {
		c.Text, c.Raw.Body, c.Picture = blobs[2], blobs[3], blobs[4]
		if freshet.HashOf(c.Text) != c.Hash {
			return nil, errors.New("the text of the capture does not match its hash")
		}
	}
	blobs = blobs[want:]
	for i := range f.Shared {
		var err error
		if blobs, err = joinResult(&f.Shared[i], blobs); err != nil {
			return nil, err
		}
	}
	return blobs, nil
}
