package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/timetable"
)

// Most sources share a few definitions, and a source keeps its definition from poll to poll. So a
// leader sends each definition to a worker once, with a number, and later sends only the number.
// Numbers belong to one stream. A number that is assigned twice refers to the latest definition;
// tasks arrive in the order in which numbers were assigned.
const (
	maxDefinitions    = 1 << 10  // numbers
	maxDefinitionSize = 16 << 10 // bytes; a longer definition has no number and is sent with each task
)

// sharedDefinition returns the definition of a source without fields that only the leader uses and
// without fields that differ for each source. It returns nil if no other field is set.
func sharedDefinition(s freshet.Source) []byte {
	s.ID, s.URL, s.Name, s.Tags = "", "", "", nil
	s.Paused, s.Life, s.Urgency, s.Weight, s.Cost, s.MinGap, s.MaxGap = false, objective.Visibility{}, objective.Urgency{}, 0, 0, 0, 0
	s.Strategy, s.Level, s.Aim, s.From, s.Keep = timetable.Strategy{}, objective.ServiceLevel{}, "", "", freshet.Keep{}
	s.Site, s.Of, s.Index, s.Robots = nil, "", false, ""
	s.Origin, s.Created, s.Revision = "", time.Time{}, 0
	if reflect.ValueOf(&s).Elem().IsZero() {
		return nil
	}
	return s.Definition()
}

// A sentDefinitions holds the definitions that a leader has sent to a worker.
type sentDefinitions struct {
	numbers  map[string]uint64
	byNumber []string // by number - 1
	oldest   int      // index of the oldest, which is replaced next
}

// write writes a definition: its number shifted left by one, or with the low bit set a new
// definition that follows, whose number 0 means not to keep it. A zero byte is the empty
// definition.
func (t *sentDefinitions) write(w *encoder, text []byte) {
	if len(text) == 0 {
		w.Byte(0)
		return
	}
	if n, known := t.numbers[string(text)]; known {
		w.Uvarint(n << 1)
		return
	}
	n := uint64(0)
	if len(text) <= maxDefinitionSize {
		n = t.assign(string(text))
	}
	w.Uvarint(n<<1 | 1)
	w.Uvarint(uint64(len(text)))
	w.Raw(text)
}

// assign assigns a number, replacing the oldest definition if all numbers are taken.
func (t *sentDefinitions) assign(text string) uint64 {
	if t.numbers == nil {
		t.numbers = map[string]uint64{}
	}
	if len(t.byNumber) < maxDefinitions {
		t.byNumber = append(t.byNumber, "")
	}
	at := t.oldest
	t.oldest = (at + 1) % maxDefinitions
	delete(t.numbers, t.byNumber[at])
	t.byNumber[at], t.numbers[text] = text, uint64(at+1)
	return uint64(at + 1)
}

// A definitions holds the definitions that a worker has received.
type definitions struct {
	plain    definition // the empty definition
	byNumber []*definition
}

// decodeTask decodes a task. It must be called for every task in turn, because a definition holds
// for later tasks.
func (h *definitions) decodeTask(f frame) (*taskMessage, error) {
	if !f.binary {
		return nil, errNotBinary
	}
	r := newDecoder(f.Payload)
	m := r.task(h, 0)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", assign, err)
	}
	return &m, nil
}

// errNotBinary reports a task or a result in JSON.
var errNotBinary = errors.New("not in binary form")

// A definition is a parsed definition of sources.
type definition struct {
	source freshet.Source // without the fields that differ for each source
	err    error          // why it is invalid
}

// decode decodes what sentDefinitions.write wrote.
func (h *definitions) decode(r *decoder) *definition {
	code := r.Uvarint()
	n, follows := code>>1, code&1 == 1
	switch {
	case r.Err() != nil || n > maxDefinitions:
		r.Fail()
		return nil
	case n == 0 && !follows:
		return &h.plain
	case !follows:
		if n > uint64(len(h.byNumber)) || h.byNumber[n-1] == nil {
			r.Fail()
			return nil
		}
		return h.byNumber[n-1]
	}
	text := r.Bytes(r.Uvarint())
	if r.Err() != nil || n > 0 && len(text) > maxDefinitionSize {
		r.Fail()
		return nil
	}
	d := &definition{}
	d.source, d.err = freshet.ParseDefinition(text)
	if n > 0 {
		for uint64(len(h.byNumber)) < n {
			h.byNumber = append(h.byNumber, nil)
		}
		h.byNumber[n-1] = d
	}
	return d
}
