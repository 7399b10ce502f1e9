package freshet

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"freshet/internal/invalid"
)

// TaughtState is the key under which a store keeps when a source changed by what
// somebody has told of it from elsewhere.
const TaughtState = "taught"

// mostTaught is how many update times of a source can be told.
const mostTaught = 100_000

// Taught is when a source changed by what somebody has told, lesson by lesson.
type Taught struct {
	Lessons []Lesson `json:"lessons"`
}

// A Lesson is what was told at a time.
type Lesson struct {
	Upto  Cursor       `json:"upto"`  // the last outcome that the learner had learnt from
	Times []UpdateTime `json:"times"` // that had not been told before, in their order
}

// ParseTaught reads what Memory returns. Nothing is read as nothing.
func ParseTaught(memory []byte) (t Taught, err error) {
	if len(memory) == 0 {
		return t, nil
	}
	if err := json.Unmarshal(memory, &t); err != nil {
		return t, fmt.Errorf("read taught update times: %w", err)
	}
	return t, nil
}

// Memory returns all of it as a belief keeps it.
func (t Taught) Memory() []byte {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // of numbers and times
	}
	return text
}

// All returns all update times, in the order in which they were told.
func (t Taught) All() (all []UpdateTime) {
	for _, l := range t.Lessons {
		all = append(all, l.Times...)
	}
	return all
}

// Span returns the first and the last of the update times; zero if there are none.
func (t Taught) Span() (first, last time.Time) {
	for _, u := range t.All() {
		if first.IsZero() || u.After.Before(first) {
			first = u.After
		}
		if u.Until.After(last) {
			last = u.Until
		}
	}
	return first, last
}

// Learn returns a lesson of those update times that were not told before, which is empty
// if all were. Those of the future are no history, and are refused.
func (t Taught) Learn(now time.Time, upto Cursor, told []UpdateTime) (Lesson, error) {
	known := t.All()
	for i, u := range told {
		switch {
		case u.Until.Before(u.After):
			return Lesson{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "ends at %s, before it begins at %s", u.Until.Format(time.RFC3339), u.After.Format(time.RFC3339))
		case u.After.IsZero() || u.After.Year() < 1970:
			return Lesson{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "is not a time after 1970")
		case u.Until.After(now):
			return Lesson{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "%s has not come yet", u.Until.Format(time.RFC3339))
		}
		known = append(known, UpdateTime{u.After.UTC(), u.Until.UTC()})
	}
	before := map[UpdateTime]bool{}
	for _, u := range t.All() {
		before[UpdateTime{u.After.UTC(), u.Until.UTC()}] = true
	}
	slices.SortFunc(known, UpdateTime.Compare)
	known = slices.CompactFunc(known, func(a, b UpdateTime) bool { return a.Compare(b) == 0 })
	if len(known) > mostTaught {
		return Lesson{}, invalid.Errorf("times", "there are too many; the most for a source is %d", mostTaught)
	}
	l := Lesson{Upto: upto}
	for _, u := range known {
		if !before[UpdateTime{u.After.UTC(), u.Until.UTC()}] {
			l.Times = append(l.Times, u)
		}
	}
	return l, nil
}
