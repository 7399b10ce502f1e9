package delivery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

const (
	// Path is where a node takes orders.
	Path = "/cluster/send"

	// RunHeader is in every answer of a node, with the name of its run: what has none comes from
	// something in between, and says nothing of what the node did.
	RunHeader = "Freshet-Instance"

	format  = 1         // of orders and answers
	maxHead = 64 << 10  // bytes of an order without its message
	maxBody = 256 << 20 // bytes of a message
)

// An order is what a leader says to a node: a line of JSON, followed by the message if there is
// one. Times are by the count of the node.
type order struct {
	Format int           `json:"format"`
	Epoch  int64         `json:"epoch"`
	Run    string        `json:"run,omitempty"` // whose count it is: one that was started again counts anew
	Until  time.Duration `json:"until"`         // the leader is sure to be the leader until then

	Sink   string           `json:"sink,omitempty"` // "" if there is nothing to send
	Mark   string           `json:"mark,omitempty"` // of the sink, as the leader knows it
	ID     string           `json:"id,omitempty"`
	Source freshet.SourceID `json:"source,omitempty"`
	Query  queries.ID       `json:"query,omitempty"`
	Begin  time.Duration    `json:"begin,omitempty"`  // the attempt begins before that, or never
	Within time.Duration    `json:"within,omitempty"` // it ends
}

// An answer is what the node says.
type answer struct {
	Run    string        `json:"run"`
	At     time.Duration `json:"at"`               // its count
	Cannot string        `json:"cannot,omitempty"` // why this node does not send; it has sent nothing that counts
	Hint   string        `json:"hint,omitempty"`   // what to do about it
	All    bool          `json:"all,omitempty"`    // it would not send anything else, either
	Failed *refusal      `json:"failed,omitempty"` // the attempt
}

// A refusal is why a receiver did not accept a message.
type refusal struct {
	Text    string         `json:"text"`
	Hint    string         `json:"hint,omitempty"`
	Refusal *sinks.Refusal `json:"refusal,omitempty"`
}

func newRefusal(err error) *refusal {
	f := &refusal{Text: err.Error(), Hint: freshet.HintOf(err)}
	f.Refusal, _ = errors.AsType[*sinks.Refusal](err)
	return f
}

// error returns it as if the attempt had been made here.
func (f *refusal) error() error {
	if f == nil {
		return nil
	}
	err := errors.New(f.Text)
	if f.Refusal != nil {
		err = f.Refusal
	}
	if f.Hint != "" {
		err = freshet.WithHint(err, f.Hint)
	}
	return err
}

// readOrder reads an order. What follows it is its message.
func readOrder(body []byte) (o order, message []byte, err error) {
	line, message, _ := bytes.Cut(body, []byte{'\n'})
	if len(line) > maxHead {
		return o, nil, errors.New("read an order: it is too long")
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return o, nil, fmt.Errorf("read an order: %w", err)
	}
	return o, message, nil
}

// markOf tells one definition of a sink from another, without saying what is in it.
func markOf(s sinks.Sink) string {
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%v\n%s", s.Origin, text))
	return hex.EncodeToString(sum[:])
}
