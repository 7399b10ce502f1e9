package freshet

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet/suspect"
)

// A Quiet says why a version was stored without a change being told of it. "" means
// that it was told like any other. Clients branch on it, so reasons are added but
// never renamed.
type Quiet string

// The reasons for which a version is stored and no change told.
const (
	// QuietSuspect: it is probably not the page that is wanted. Polls go on
	// comparing with the version before it, until enough looks agree.
	QuietSuspect Quiet = "suspect"

	// QuietNoise: it differs from the version before only in what does not count.
	// The next poll compares with it.
	QuietNoise Quiet = "noise"
)

// Quiets count the versions that were stored quietly, by reason.
type Quiets struct {
	Suspect int
	Noise   int
}

// A Held is a suspect capture that is stored and not told yet, and what the looks
// since then make of it. The zero Held holds nothing.
type Held struct {
	Number  int // of the version; zero if nothing is held
	Hash    Hash
	Recipe  string        // Key of the recipe that it was read with
	Suspect suspect.Class // what speaks against it
	Landed  string        // as in the Outcome of the look that captured it
	Summary string        // of the change that is not told
	Seen    time.Time

	Since  time.Time // since when the page has not been seen as it should be
	Looks  int       // that saw something suspect since then, whatever it was
	Agreed int       // of those, the last ones, that saw this version or nearly it
	Again  time.Time // when another look is wanted; zero if not before the policy wants one
}

// VersionBefore returns the version that the one with a number was compared with: the
// newest below it that was not held. It returns ErrNotFound if none is kept. Zero
// means the newest that is not held.
func VersionBefore(ctx context.Context, a Archive, id SourceID, number int) (Version, error) {
	const page = 10
	for {
		found, err := a.Versions(ctx, id, number, page)
		if err != nil {
			return Version{}, err
		}
		for _, v := range found {
			if v.Quiet != QuietSuspect {
				return v, nil
			}
		}
		if len(found) < page {
			return Version{}, fmt.Errorf("a version of source %s before %d: %w", id, number, ErrNotFound)
		}
		number = found[len(found)-1].Number
	}
}
