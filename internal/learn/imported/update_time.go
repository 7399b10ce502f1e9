package imported

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

// Width returns how uncertain the time is.
func (u UpdateTime) Width() time.Duration { return u.Until.Sub(u.After) }

// Compare orders update times by their ends.
func (u UpdateTime) Compare(o UpdateTime) int {
	return cmp.Or(u.Until.Compare(o.Until), u.After.Compare(o.After))
}
