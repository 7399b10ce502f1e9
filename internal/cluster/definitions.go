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

// Most sources are read in the same way, and in the same way at every poll. So a leader sends each
// reading to a worker once, under a number, and refers to it by the number. Numbers belong to one
// stream: a worker that reconnects receives the readings again. A number that is assigned again means
// the latest reading, and tasks arrive in the order in which they were numbered.
const (
	mostReadings = 1 << 10  // numbers
	mostReading  = 16 << 10 // bytes of a numbered reading; a longer one is sent with each task
)

// readingOf returns how a source is read, as a definition of a source without what only the leader goes
// by and without what is different for each; nothing if it is read as most are.
func readingOf(s freshet.Source) []byte {
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

// A sentDefinitions is what a leader has told a worker of how sources are read.
type sentDefinitions struct {
	numbers map[string]uint64
	said    []string // by number
	next    int      // of said: the oldest
}

// write writes how a source is read: a number, and what it means if the worker does not know. Zero with
// nothing is how most are read, and zero with something is not to be kept.
func (t *sentDefinitions) write(w *encoder, reading []byte) {
	if len(reading) == 0 {
		w.Byte(0)
		return
	}
	if n, known := t.numbers[string(reading)]; known {
		w.Uvarint(n << 1)
		return
	}
	n := uint64(0)
	if len(reading) <= mostReading {
		n = t.number(string(reading))
	}
	w.Uvarint(n<<1 | 1)
	w.Uvarint(uint64(len(reading)))
	w.Raw(reading)
}

// number gives a number, at last that which was given first.
func (t *sentDefinitions) number(reading string) uint64 {
	if t.numbers == nil {
		t.numbers = map[string]uint64{}
	}
	if len(t.said) < mostReadings {
		t.said = append(t.said, "")
	}
	at := t.next
	t.next = (at + 1) % mostReadings
	delete(t.numbers, t.said[at])
	t.said[at], t.numbers[reading] = reading, uint64(at+1)
	return uint64(at + 1)
}

// A definitions holds the readings that a worker has received, by number.
type definitions struct {
	most     reading // as most are read
	readings []*reading
}

// task reads a task. It is called for every task in turn: what one says of how a source is read holds
// for those that come after it.
func (h *definitions) task(f frame) (*taskMessage, error) {
	if !f.binary {
		return nil, errNotBinary
	}
	r := newDecoder(f.Say)
	say := r.task(h, 0)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", order, err)
	}
	return &say, nil
}

// errNotBinary reports a task or a result that came as JSON.
var errNotBinary = errors.New("not in binary form")

// A reading is how a source is read.
type reading struct {
	source freshet.Source // without what is different for each
	err    error          // it cannot be understood
}

// read reads how a source is read.
func (h *definitions) read(r *decoder) *reading {
	code := r.Uvarint()
	n, told := code>>1, code&1 == 1
	switch {
	case r.Err() != nil || n > mostReadings:
		r.Fail()
		return nil
	case n == 0 && !told:
		return &h.most
	case !told:
		if n > uint64(len(h.readings)) || h.readings[n-1] == nil {
			r.Fail()
			return nil
		}
		return h.readings[n-1]
	}
	text := r.Bytes(r.Uvarint())
	if r.Err() != nil || n > 0 && len(text) > mostReading {
		r.Fail()
		return nil
	}
	new := &reading{}
	new.source, new.err = freshet.ParseDefinition(text)
	if n > 0 {
		for uint64(len(h.readings)) < n {
			h.readings = append(h.readings, nil)
		}
		h.readings[n-1] = new
	}
	return new
}
