package imported

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// HistoryState is the key of the state that holds the imported update times of a source.
const HistoryState = "taught"

// mostTaught is the largest number of imported update times of a source.
const mostTaught = 100_000

// A History holds imported update times of a source, batch by batch.
type History struct {
	Lessons []Batch `json:"lessons"`
}

// A Batch is one import.
type Batch struct {
	Upto  freshet.Cursor `json:"upto"`  // the last outcome that the learner had observed
	Times []UpdateTime   `json:"times"` // that earlier batches do not hold, sorted
}

// ParseHistory reads what Memory returns. No bytes are an empty History.
func ParseHistory(memory []byte) (t History, err error) {
	if len(memory) == 0 {
		return t, nil
	}
	if err := json.Unmarshal(memory, &t); err != nil {
		return t, fmt.Errorf("read imported update times: %w", err)
	}
	return t, nil
}

// Memory returns the history as it is stored.
func (t History) Memory() []byte {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // of numbers and times
	}
	return text
}

// All returns all update times in the order of import.
func (t History) All() (all []UpdateTime) {
	for _, l := range t.Lessons {
		all = append(all, l.Times...)
	}
	return all
}

// Span returns the first and the last of the update times; zero if there are none.
func (t History) Span() (first, last time.Time) {
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

// Learn returns a batch of the update times that the history does not hold yet. It refuses
// times in the future.
func (t History) Learn(now time.Time, upto freshet.Cursor, told []UpdateTime) (Batch, error) {
	known := t.All()
	for i, u := range told {
		switch {
		case u.Until.Before(u.After):
			return Batch{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "ends at %s, before it begins at %s", u.Until.Format(time.RFC3339), u.After.Format(time.RFC3339))
		case u.After.IsZero() || u.After.Year() < 1970:
			return Batch{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "is not a time after 1970")
		case u.Until.After(now):
			return Batch{}, invalid.Errorf(fmt.Sprintf("times[%d]", i), "%s has not come yet", u.Until.Format(time.RFC3339))
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
		return Batch{}, invalid.Errorf("times", "there are too many; the most for a source is %d", mostTaught)
	}
	l := Batch{Upto: upto}
	for _, u := range known {
		if !before[UpdateTime{u.After.UTC(), u.Until.UTC()}] {
			l.Times = append(l.Times, u)
		}
	}
	return l, nil
}
