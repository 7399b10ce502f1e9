package cluster

import (
	"encoding/json"
	"errors"
	"time"

	"freshet/internal/extract/noise"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// version is that of the protocol. A leader refuses a hand of another version, and says so.
const version = 2

// A helloSay is what a hand says of itself.
type helloSay struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	Slots   int    `json:"slots"`
	Place   string `json:"place,omitempty"`
	Renders bool   `json:"renders,omitempty"`

	Run string `json:"run,omitempty"` // tells a hand that comes back from another of its name; "" means that it is an old version
}

// A welcomeSay is what a hand is told when it comes.
type welcomeSay struct {
	Version int           `json:"version"`
	Epoch   int64         `json:"epoch"`
	Lease   time.Duration `json:"lease"` // how long a right is at most
	Agent   string        `json:"agent,omitempty"`
	Total   time.Duration `json:"total,omitempty"` // the longest that a fetch may take

	Taken string `json:"taken,omitempty"` // where another hand is that has the name and is at work: this one is not let in
}

// A pingSay is how late it is by the clock of the hand, in its own count.
type pingSay struct {
	At   time.Duration `json:"at"`
	Busy int           `json:"busy"`
}

// A pongSay answers a ping.
type pongSay struct {
	At    time.Duration `json:"at"` // as the ping has it
	Right time.Duration `json:"right"`
}

// An orderSay is an order as it is sent. Of a source it says only how that is read: see [readingOf].
type orderSay struct {
	Source     freshet.SourceID
	URL        string
	Definition []byte
	Head       freshet.Head
	At         time.Time
	Knows      knows
	Voice      *voiceSay
	Along      []orderSay

	Granted string // the URL of a request that has leave already
	Robots  string // the origin whose robots.txt is to be read, instead of a look

	read *reading // instead of Definition, of an order that was received
}

// A voiceSay is a [worker.Voice] without what only the brain knows.
type voiceSay struct {
	Index bool
	Anew  bool
}

// knows says what the brain can be asked about a source.
type knows struct {
	Noise    bool
	Recall   bool
	BaseBody bool
	HeldText bool
	Items    bool
	Fields   bool
	Recent   bool
}

// A question names what the brain is asked.
type question string

const (
	askLeave    question = "leave"
	askBase     question = "base"
	askNoise    question = "noise"
	askRecall   question = "recall"
	askBaseBody question = "base_body"
	askHeldText question = "held_text"
	askItems    question = "items"
	askFields   question = "fields"
	askRecent   question = "recent"
	askKeys     question = "keys"
)

// An askSay is a question about an order, or about one of those that are read along.
type askSay struct {
	What  question     `json:"what"`
	Along int          `json:"along,omitempty"` // counted from 1; 0 is the order itself
	Hop   *freshet.Hop `json:"hop,omitempty"`
	Text  freshet.Hash `json:"text,omitzero"`
	URLs  []string     `json:"urls,omitempty"`
}

// An answerSay answers a question; bytes are in a blob.
type answerSay struct {
	Err    *errorSay         `json:"err,omitempty"`
	Fields freshet.Fields    `json:"fields,omitempty"`
	Recent []freshet.Version `json:"recent,omitempty"`
	Keys   []freshet.PageKey `json:"keys,omitempty"`
}

// An errorSay is an error of which the other end needs to know the class.
type errorSay struct {
	Class    failure.Class `json:"class,omitempty"`
	Text     string        `json:"text"`
	Hint     string        `json:"hint,omitempty"`
	NotFound bool          `json:"not_found,omitempty"`
}

func sayError(err error) *errorSay {
	if err == nil {
		return nil
	}
	said := &errorSay{Text: err.Error(), Hint: freshet.HintOf(err), NotFound: errors.Is(err, freshet.ErrNotFound)}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		said.Class, said.Text, said.Hint = e.Class, e.Err.Error(), e.Hint
	}
	return said
}

// error returns the error that was said.
func (e *errorSay) error() error {
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

// A doneSay is what a look found, which is binary, or what a robots.txt says, which is JSON.
type doneSay struct {
	Finding *worker.Finding `json:"-"`
	Manners *mannersSay     `json:"manners,omitempty"`
}

// newDone returns a frame with a finding, and what is large beside it.
func newDone(id uint64, found worker.Finding) (frame, error) {
	said, blobs := sayFinding(found)
	var w encoder
	err := w.finding(&said)
	return frame{Kind: done, ID: id, Say: json.RawMessage(w.Writer), blobs: blobs, binary: true}, err
}

// hearDone reads what a look found.
func (f frame) hearDone(say *doneSay) error {
	if !f.binary {
		return f.hear(say)
	}
	r := newDecoder(f.Say)
	found := r.finding(0)
	say.Finding = &found
	return r.Err()
}

type mannersSay struct {
	Answer     robots.Answer `json:"answer"`
	RetryAfter time.Duration `json:"retry_after,omitempty"`
	Requests   int           `json:"requests,omitempty"`
	Bytes      int64         `json:"bytes,omitempty"`
	Err        *errorSay     `json:"err,omitempty"`
}

// sayOrder returns an order as it is sent.
func sayOrder(o *worker.Order) orderSay {
	say := orderSay{
		Source: o.Source.ID, URL: o.Source.URL, Definition: readingOf(o.Source), Head: o.Head, At: o.At,
		Knows: knows{
			Noise: o.Noise != nil, Recall: o.Recall != nil, BaseBody: o.BaseBody != nil, HeldText: o.HeldText != nil,
			Items: o.Items != nil, Fields: o.Fields != nil, Recent: o.Recent != nil,
		},
	}
	if o.Voice != nil {
		say.Voice = &voiceSay{Index: o.Voice.Index, Anew: o.Voice.Anew}
	}
	for i := range o.Along {
		say.Along = append(say.Along, sayOrder(&o.Along[i]))
	}
	return say
}

// source returns the source of an order.
func (say *orderSay) source() (freshet.Source, error) {
	s := say.read.source
	s.ID, s.URL = say.Source, say.URL
	return s, say.read.err
}

// sayFinding returns a finding as it is sent: what is large beside what is said.
func sayFinding(f worker.Finding) (worker.Finding, [][]byte) {
	blobs := [][]byte{f.Items, f.Noise}
	f.Items, f.Noise = nil, nil
	if f.Capture != nil {
		c := *f.Capture
		blobs = append(blobs, c.Text, c.Raw.Body, c.Picture)
		c.Text, c.Raw.Body, c.Picture = nil, nil, nil
		f.Capture = &c
	}
	along := f.Along
	f.Along = nil
	for _, one := range along {
		said, more := sayFinding(one)
		f.Along, blobs = append(f.Along, said), append(blobs, more...)
	}
	return f, blobs
}

// errBlobs says that bytes which a finding speaks of did not come with it.
var errBlobs = errors.New("a finding lacks what it found")

// hearFinding puts a finding together again and returns the blobs that are left.
func hearFinding(f *worker.Finding, blobs [][]byte) ([][]byte, error) {
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
			return nil, errors.New("a text is not the one that a finding names")
		}
	}
	blobs = blobs[want:]
	for i := range f.Along {
		var err error
		if blobs, err = hearFinding(&f.Along[i], blobs); err != nil {
			return nil, err
		}
	}
	return blobs, nil
}

// memoryBytes returns what is known of noise as bytes.
func memoryBytes(m *noise.Memory, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return m.MarshalBinary()
}

// memoryOf reads it again.
func memoryOf(data []byte, err error) (*noise.Memory, error) {
	if err != nil {
		return nil, err
	}
	m := new(noise.Memory)
	return m, m.UnmarshalBinary(data)
}
