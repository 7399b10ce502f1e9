package worker

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// When a page counts as flapping: it has come back so many times in a day to a text
// that it had before.
const (
	mostReturns = 4
	flapsWithin = 24 * time.Hour
)

// Recently is how many of the newest versions tell whether a page is flapping.
const Recently = 16

// flapping reports whether a text is one that the source goes back to again and again.
// That is held like what is odd: it is told if it stays.
func (o *Order) flapping(ctx context.Context, hash freshet.Hash) bool {
	if o.Recent == nil || o.Head.Number <= mostReturns {
		return false
	}
	recent, err := o.Recent(ctx, hash)
	if err != nil {
		return false
	}
	seen, returns := map[freshet.Hash]bool{}, 0
	for i := len(recent) - 1; i >= 0; i-- {
		v := recent[i]
		if v.Quiet == freshet.QuietSuspect || o.At.Sub(v.SeenAt) > flapsWithin {
			continue
		}
		if seen[v.Hash] {
			returns++
		}
		seen[v.Hash] = true
	}
	return seen[hash] && returns >= mostReturns
}
