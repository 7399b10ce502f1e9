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

// version is that of the protocol. A leader refuses a worker of another version, and says so.
const version = 2

// A helloMessage is what a worker says of itself.
type helloMessage struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Slots   int    `json:"slots"`
	Place   string `json:"place,omitempty"`
	Renders bool   `json:"renders,omitempty"`

	Run string `json:"run,omitempty"` // tells a worker that comes back from another of its name; "" means that it is an old version
}

// A welcomeMessage answers a worker that joins.
type welcomeMessage struct {
	Version int           `json:"version"`
	Epoch   int64         `json:"epoch"`
	Lease   time.Duration `json:"lease"` // how long a right is at most
	Agent   string        `json:"agent,omitempty"`
	Total   time.Duration `json:"total,omitempty"` // the longest that a fetch may take

	Taken string `json:"taken,omitempty"` // where another worker is that has the name and is at work: this one is not let in
}

// A pingMessage is how late it is by the clock of the worker, in its own count.
type pingMessage struct {
	At   time.Duration `json:"at"`
	Busy int           `json:"busy"`
}

// A pongMessage answers a ping.
type pongMessage struct {
	At    time.Duration `json:"at"` // as the ping has it
	Right time.Duration `json:"right"`
}

// A taskMessage is a task as it is sent. Of a source it says only how that is read: see [readingOf].
type taskMessage struct {
	Source     freshet.SourceID
	URL        string
	Definition []byte
	Head       freshet.Head
	At         time.Time
	Hints      *worker.IndexHints
	Shared     []taskMessage

	Granted string // the URL of a request that is permitted already
	Robots  string // the origin whose robots.txt is to be read, instead of a look

	read *reading // instead of Definition, of a task that was received
}

// A questionKind names what the leader is asked.
type questionKind string

const (
	askPermit          questionKind = "leave"
	askText            questionKind = "base"
	askNoise           questionKind = "noise"
	askLearnNoise      questionKind = "recall"
	askBody            questionKind = "base_body"
	askQuarantinedText questionKind = "held_text"
	askItems           questionKind = "items"
	askFields          questionKind = "fields"
	askVersions        questionKind = "recent"
	askKeys            questionKind = "keys"
)

// A question is a question about a task, or about one of those that are read from a shared fetch.
type question struct {
	What   questionKind `json:"what"`
	Shared int          `json:"along,omitempty"` // place among the shared tasks, from 1; 0 is the task itself
	Hop    *freshet.Hop `json:"hop,omitempty"`
	Text   freshet.Hash `json:"text,omitzero"`
	URLs   []string     `json:"urls,omitempty"`
}

// An answerMessage answers a question; bytes are in a blob.
type answerMessage struct {
	Err    *errorMessage     `json:"err,omitempty"`
	Fields freshet.Fields    `json:"fields,omitempty"`
	Recent []freshet.Version `json:"recent,omitempty"`
	Keys   []crawl.PageKey   `json:"keys,omitempty"`
}

// An errorMessage is an error of which the other end needs to know the class.
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
	said := &errorMessage{Text: err.Error(), Hint: freshet.HintOf(err), NotFound: errors.Is(err, freshet.ErrNotFound)}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		said.Class, said.Text, said.Hint = e.Class, e.Err.Error(), e.Hint
	}
	return said
}

// error returns the error that was said.
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

// A doneMessage is what a look found, which is binary, or what a robots.txt says, which is JSON.
type doneMessage struct {
	Finding *worker.Result `json:"-"`
	Manners *robotsMessage `json:"manners,omitempty"`
}

// newDone returns a frame with a result, and what is large beside it.
func newDone(id uint64, found worker.Result) (frame, error) {
	said, blobs := splitResult(found)
	var w encoder
	err := w.result(&said)
	return frame{Kind: done, ID: id, Say: json.RawMessage(w.Writer), blobs: blobs, binary: true}, err
}

// hearDone reads what a look found.
func (f frame) hearDone(say *doneMessage) error {
	if !f.binary {
		return f.hear(say)
	}
	r := newDecoder(f.Say)
	found := r.result(0)
	say.Finding = &found
	return r.Err()
}

type robotsMessage struct {
	Answer     robots.Answer `json:"answer"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	Requests   int           `json:"requests,omitempty"`
	Bytes      int64         `json:"bytes,omitempty"`
	Err        *errorMessage `json:"err,omitempty"`
}

// newTaskMessage returns a task as it is sent.
func newTaskMessage(o *worker.Task) taskMessage {
	say := taskMessage{
		Source: o.Source.ID, URL: o.Source.URL, Definition: readingOf(o.Source), Head: o.Head, At: o.At,
		Hints: o.Hints,
	}
	for i := range o.Shared {
		say.Shared = append(say.Shared, newTaskMessage(&o.Shared[i]))
	}
	return say
}

// source returns the source of a task.
func (say *taskMessage) source() (freshet.Source, error) {
	s := say.read.source
	s.ID, s.URL = say.Source, say.URL
	return s, say.read.err
}

// splitResult returns a result as it is sent: what is large beside what is said.
func splitResult(f worker.Result) (worker.Result, [][]byte) {
	blobs := [][]byte{f.Items, f.Noise}
	f.Items, f.Noise = nil, nil
	if f.Capture != nil {
		c := *f.Capture
		blobs = append(blobs, c.Text, c.Raw.Body, c.Picture)
		c.Text, c.Raw.Body, c.Picture = nil, nil, nil
		f.Capture = &c
	}
	along := f.Shared
	f.Shared = nil
	for _, one := range along {
		said, more := splitResult(one)
		f.Shared, blobs = append(f.Shared, said), append(blobs, more...)
	}
	return f, blobs
}

// errBlobs says that bytes which a result speaks of did not come with it.
var errBlobs = errors.New("a result lacks what it found")

// joinResult puts a result together again and returns the blobs that are left.
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
			return nil, errors.New("a text is not the one that a result names")
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
