package freshet

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet/suspect"
)

// A Quiet says why a version was stored without reporting a change. "" means that the
// change was reported. Clients branch on it: reasons are added but never renamed.
type Quiet string

// The reasons not to report a change.
const (
	// QuietSuspect: the version is probably not the wanted page. Polls compare with the
	// version before it until enough looks agree.
	QuietSuspect Quiet = "suspect"

	// QuietNoise: the version differs from its predecessor only in noise. The next poll
	// compares with it.
	QuietNoise Quiet = "noise"

	// QuietImported: another program captured the version, before the source was watched here.
	QuietImported Quiet = "imported"
)

// Quiets count the unreported versions by reason.
type Quiets struct {
	Suspect int
	Noise   int
}

// A Held is a suspect capture in quarantine, and the result of the looks since. The zero
// Held is empty.
type Held struct {
	Number  int // of the version; zero if none is in quarantine
	Hash    Hash
	Recipe  string        // Key of the recipe that it was read with
	Suspect suspect.Class // why it is suspect
	Landed  string        // as in the Outcome of the look that captured it
	Summary string        // of the unreported change
	Seen    time.Time

	Since  time.Time // when the page was last seen as it should be
	Looks  int       // since then that saw any suspect response
	Agreed int       // of those, the latest in a row that saw this version or nearly it
	Again  time.Time // time of the next look; zero leaves it to the policy
}

// VersionBefore returns the version that a version was compared with: the newest with a
// lower number that was not in quarantine, or ErrNotFound. Number zero means the newest.
func VersionBefore(ctx context.Context, log VersionLog, id SourceID, number int) (Version, error) {
	const page = 10
	for {
		found, err := log.Versions(ctx, id, Between{}, number, page)
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
