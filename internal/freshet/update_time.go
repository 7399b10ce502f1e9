package freshet

import (
	"cmp"
	"time"
)

// An UpdateTime is when a source changed, as far as that is known: after After and no
// later than Until. Where both are the same it changed at that very moment.
type UpdateTime struct {
	After time.Time `json:"after"`
	Until time.Time `json:"until"`
}

// UpdateTimeOf returns when a source changed by an outcome that found it changed, and
// whether anything is known of that. A date that the source gives itself counts if it
// lies between the two looks.
func UpdateTimeOf(o Outcome) (UpdateTime, bool) {
	if o.Result != Changed || o.Since.IsZero() || !o.Since.Before(o.Ended) {
		return UpdateTime{}, false
	}
	if o.Modified.After(o.Since) && !o.Modified.After(o.Ended) {
		return UpdateTime{o.Modified, o.Modified}, true
	}
	return UpdateTime{o.Since, o.Ended}, true
}

// Width returns how uncertain the time is.
func (u UpdateTime) Width() time.Duration { return u.Until.Sub(u.After) }

// Compare orders update times by their ends.
func (u UpdateTime) Compare(o UpdateTime) int {
	return cmp.Or(u.Until.Compare(o.Until), u.After.Compare(o.After))
}
