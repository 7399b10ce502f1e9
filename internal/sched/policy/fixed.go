package policy

import (
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
)

// NewFixed returns a policy that polls every source at one interval, three
// hours unless the config sets Initial, spread by up to a tenth either way as
// drawn again for each poll. This is what most watchers of pages do.
func NewFixed(c RevisitConfig) *Revisit {
	const product = 3 * time.Hour
	if c.Instant > 0 && c.Initial == 0 {
		c.Initial = longestStart * c.Instant
	}
	c, _ = c.Scaled(product, time.Nanosecond, longest)
	return NewRevisit(&fixed{c, rand.New(rand.NewPCG(c.Seed, 0x66697865))})
}

type fixed struct {
	cfg    RevisitConfig
	chance *rand.Rand
}

// Forget implements [RevisitRule].
func (f *fixed) Forget(freshet.Slot) {}

// Initial implements [RevisitRule].
func (f *fixed) Initial(freshet.Slot) time.Duration {
	return time.Duration(float64(f.cfg.Initial) * (0.9 + 0.2*f.chance.Float64()))
}

// Next implements [RevisitRule].
func (f *fixed) Next(slot freshet.Slot, o freshet.Outcome) time.Time {
	return o.Began.Add(f.Initial(slot))
}
