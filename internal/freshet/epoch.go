package freshet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Epoch identifies one run of a store, from opening to closing it, by a random name. A
// restored copy of a store runs under a new name, so its cursors and ids are never mistaken
// for those that the original issued.
//
// The empty epoch is that of stores from before there were epochs.
type Epoch string

// A Place is a Cursor as clients see it: with the epoch that issued it. The zero Place is
// the beginning of every log.
type Place struct {
	Cursor Cursor
	Epoch  Epoch
}

// epochMark separates a number from its epoch. No source ID contains it.
const epochMark = "~"

// String returns the place as ParsePlace reads it, such as "17~k3f9q2xw".
func (p Place) String() string { return p.Epoch.Qualify(strconv.FormatInt(int64(p.Cursor), 10)) }

// Qualify appends the epoch to a number.
func (e Epoch) Qualify(number string) string {
	if e == "" {
		return number
	}
	return number + epochMark + string(e)
}

var errNoPlace = errors.New("is not a cursor")

// ParsePlace reads a place.
func ParsePlace(text string) (Place, error) {
	number, epoch, named := strings.Cut(text, epochMark)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != number || named && !validEpoch(epoch) {
		return Place{}, errNoPlace
	}
	return Place{Cursor(n), Epoch(epoch)}, nil
}

// validEpoch reports whether text can be the name of an epoch.
func validEpoch(text string) bool {
	return text != "" && len(text) <= 16 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// MarshalText implements encoding.TextMarshaler.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Place) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePlace(string(text))
	return err
}

// Epochs are the epochs of a log, the oldest first. The first one begins at zero.
type Epochs []EpochStart

// An EpochStart is where an epoch begins in a log.
type EpochStart struct {
	Epoch Epoch
	After Cursor // the end of the log when it began
}

// Of returns the epoch in which an entry was written.
func (e Epochs) Of(at Cursor) Epoch {
	for i := len(e) - 1; i >= 0; i-- {
		if at > e[i].After {
			return e[i].Epoch
		}
	}
	return ""
}

// Place returns the place of an entry.
func (e Epochs) Place(at Cursor) Place { return Place{at, e.Of(at)} }

// Find returns the cursor of a place in a log that ends at end, or a *GoneError if this log
// did not issue the place.
//
// If the log shares an epoch with the log that issued the place, both agree up to the end
// of that epoch here.
func (e Epochs) Find(p Place, end Cursor) (Cursor, error) {
	if p.Cursor == 0 {
		return 0, nil
	}
	gone := &GoneError{Place: p, End: e.Place(end)}
	for i, start := range e {
		if start.Epoch != p.Epoch {
			continue
		}
		last := end
		if i+1 < len(e) {
			last = e[i+1].After
		}
		if p.Cursor <= last {
			return p.Cursor, nil
		}
		gone.Resume = e.Place(last)
	}
	return 0, gone
}

// A GoneError reports a place that is not in the log: it lies past the end because the
// store was restored from an older copy, or it belongs to another store.
type GoneError struct {
	Place  Place // the requested place
	Resume Place // the last place that both logs have; zero if none is known
	End    Place // of this log
}

// Error explains where the log ends.
func (e *GoneError) Error() string {
	if e.Resume == (Place{}) {
		return fmt.Sprintf("the cursor %s is unknown: it comes from another data directory, or this one was restored from an older backup", e.Place)
	}
	return fmt.Sprintf("the cursor %s is past the end of the log: the data was restored from an older backup, which ends at %s", e.Place, e.Resume)
}

// Hint tells a client how to continue.
func (e *GoneError) Hint() string {
	if e.Resume == (Place{}) {
		return fmt.Sprintf("continue after %s to get new changes only, or after 0 to read everything again", e.End)
	}
	return fmt.Sprintf("continue after %s: you have everything up to there, and what follows has new ids", e.Resume)
}

// Is makes a GoneError an ErrGone.
func (e *GoneError) Is(target error) bool { return target == ErrGone }
