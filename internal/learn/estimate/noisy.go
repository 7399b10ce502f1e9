package estimate

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A Noise says how a truth is blurred.
type Noise struct {
	FPN   float64 // each change is moved to a random instant with this chance
	Sigma float64 // each change is spread over instants as a normal distribution this wide
	Seed  uint64  // of what is drawn by chance

	// Calibrated also moves the centre of each spread by a draw from it. In
	// the published experiments the centre stays on the change itself, so that
	// the likeliest instant is always the right one, however wide the spread.
	Calibrated bool
}

// maxSigma bounds the spread: wider than a week of minutes is no knowledge.
const maxSigma = 10_000

// Noisy knows about when every source will change, as in the experiments on
// WIC. Make one with NewNoisy.
type Noisy struct {
	truth  Truth
	noise  Noise
	bump   []float64 // chance by distance from the centre, on one side
	events calendar  // centres; some lie outside the truth and reach into it
}

// NewNoisy returns an estimator that reads the truth through noise.
func NewNoisy(t Truth, n Noise) *Noisy {
	t.Instant = cmp.Or(t.Instant, time.Minute)
	bump := normal(n.Sigma)
	reach := len(bump) - 1
	return &Noisy{truth: t, noise: n, bump: bump, events: calendar{first: 1 - reach, last: t.Instants + reach}}
}

// normal returns a normal distribution over whole numbers from its centre out,
// until what is left is less than a billionth.
func normal(sigma float64) []float64 {
	if sigma <= 0 {
		return []float64{1}
	}
	bump := make([]float64, int(math.Ceil(6*sigma))+1)
	sum := 0.0
	for d := range bump {
		z := float64(d) / sigma
		bump[d] = math.Exp(-z * z / 2)
		sum += 2 * bump[d]
	}
	sum -= bump[0]
	for d := range bump {
		bump[d] /= sum
	}
	return bump
}

// Put implements [freshet.Estimator]. What is drawn depends on the seed and on
// the source's ID, not on the order in which sources come.
func (n *Noisy) Put(_ time.Time, slot freshet.Slot, s freshet.Source, _ time.Time) {
	changes := n.truth.Changes(s.ID)
	if n.noise.FPN == 0 && !n.noise.Calibrated {
		n.events.put(slot, changes)
		return
	}
	draw := rand.New(rand.NewPCG(n.noise.Seed, hash(s.ID)))
	centres := make([]int32, 0, len(changes))
	for _, at := range changes {
		if draw.Float64() < n.noise.FPN {
			at = 1 + draw.Int32N(int32(max(1, n.truth.Instants)))
		}
		if n.noise.Calibrated {
			at += int32(math.Round(draw.NormFloat64() * n.noise.Sigma))
		}
		centres = append(centres, at)
	}
	slices.Sort(centres)
	n.events.put(slot, centres)
}

// hash returns a number for a source, always the same.
func hash(id freshet.SourceID) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// Remove implements [freshet.Estimator].
func (n *Noisy) Remove(slot freshet.Slot) { n.events.put(slot, nil) }

// Observe implements [freshet.Estimator]. The noise is not to be learnt away.
func (n *Noisy) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// Expect implements [freshet.Estimator].
func (n *Noisy) Expect(slot freshet.Slot, from, to time.Time) (sum float64) {
	first, last := max(1, n.truth.at(from)+1), min(n.truth.Instants, n.truth.at(to))
	reach := len(n.bump) - 1
	for _, centre := range n.events.of(slot, first-reach, last+reach) {
		for at := max(first, int(centre)-reach); at <= min(last, int(centre)+reach); at++ {
			sum += n.bump[max(at-int(centre), int(centre)-at)]
		}
	}
	return sum
}

// Chances implements [freshet.Estimator]. Spreads that overlap are added up, to
// at most 1.
func (n *Noisy) Chances(dst []float64, from, to time.Time) {
	clear(dst)
	first, last := max(1, n.truth.at(from)+1), min(n.truth.Instants, n.truth.at(to))
	reach := len(n.bump) - 1
	for at := first; at <= last; at++ {
		for centre := at - reach; centre <= at+reach; centre++ {
			chance := n.bump[max(at-centre, centre-at)]
			for _, slot := range n.events.on(centre) {
				if int(slot) < len(dst) {
					dst[slot] = min(1, dst[slot]+chance)
				}
			}
		}
	}
}
