package client

// A State is a condition of a source that lists can be filtered by. A source can be in several.
type State string

// The states of a source.
const (
	Failing   State = "failing" // its last poll failed
	Paused    State = "paused"  // it is not polled until it is resumed
	Unseen    State = "unseen"  // no poll has seen it yet, and none has failed
	Suspected State = "suspect" // what was last seen is probably not the page that is wanted
	Noisy     State = "noisy"   // it differs at nearly every poll
	Well      State = "well"    // it is in none of the others
)

// Is reports whether a source is in a state. What is paused is in no other: it
// needs nobody's attention.
func (s Source) Is(state State) bool {
	switch state {
	case Paused:
		return s.Paused
	case Failing:
		return !s.Paused && s.Standing.Failures > 0
	case Noisy:
		return !s.Paused && s.Standing.Noisy
	case Unseen:
		return !s.Paused && s.Standing.LastSeen.IsZero() && s.Standing.Failures == 0
	case Suspected:
		return !s.Paused && s.Standing.Suspect != nil
	case Well:
		return !s.Paused && s.Standing.Failures == 0 && !s.Standing.Noisy && !s.Standing.LastSeen.IsZero() && s.Standing.Suspect == nil
	}
	return false
}
