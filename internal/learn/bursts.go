package learn

import (
	"cmp"
	"math"
	"slices"

	"freshet/internal/learn/outlook"
)

// Polls of a source that changes in bursts find a change in few of them, and each change found
// stands for many: a whole burst may fall between two polls. How many there were depends on how
// long bursts last and how dense they are. What polls found after one that found a change says
// something of both, and each kind of burst is weighted by how well it foretold that, for the
// source and for all sources together.

// A burstKind is a kind of burst: it begins with a change, and goes on for length ticks on
// average, with so many changes a tick.
type burstKind struct{ length, density float64 }

// burstKinds are the kinds of bursts that the model distinguishes.
var burstKinds = [...]burstKind{{1, 2}, {4, 0.5}, {4, 2}, {16, 0.125}, {16, 0.5}, {16, 2}, {64, 0.125}, {64, 1}}

const kindsOfBursts = len(burstKinds)

const (
	oneByOne  = kindsOfBursts // in a list of weights: changes come one by one
	anyBursts = 0.25          // chance of bursts before any poll
	burstRoom = 0.1           // of what is thought of all sources is what was thought before any poll
	burstStep = 1.0 / 256     // how much a poll of one source counts for all
	burstGrip = 0.998         // how much what a source has shown before still counts, a poll
	mostBurst = 30            // most that it counts, as a logarithm
	youngest  = 8             // polls, before which a source says nothing of bursts
	levelGrip = 0.999         // how much what polls found before still counts for the level of a kind, a poll
	levelRoom = 4             // polls that found a change for which the level before any poll counts
)

// A burstWorld is what polls of all sources have shown of bursts.
type burstWorld struct {
	mix        burstMix
	found, due burstMix // polls that found a change, and how many were to by each kind
}

func newBurstWorld() (w burstWorld) {
	w.mix = newBurstMix()
	for k := range w.due {
		w.found[k], w.due[k] = levelRoom, levelRoom
	}
	return w
}

// level returns how many times as often a kind is to begin for polls to find as many changes as
// they do.
func (w *burstWorld) level(k int) float64 { return w.found[k] / w.due[k] }

// count takes in a poll that was to find a change with such a chance.
func (w *burstWorld) count(k int, chance float64, changed bool) {
	w.found[k] *= levelGrip
	w.due[k] = w.due[k]*levelGrip + chance
	if changed {
		w.found[k]++
	}
}

// A burstMix says how likely each kind of burst is, and at the end that changes come at random.
type burstMix [kindsOfBursts + 1]float64

// newBurstMix returns what is thought before any poll.
func newBurstMix() (m burstMix) {
	for k := range burstKinds {
		m[k] = anyBursts / float64(kindsOfBursts)
	}
	m[oneByOne] = 1 - anyBursts
	return m
}

// bursts is what polls of a source have shown of bursts.
type bursts struct {
	underWay [kindsOfBursts]float32 // chance that one was under way at the last poll
	fit      [kindsOfBursts]float32 // logarithm of how well the kind has foretold polls, less that of changes at random
	happened [kindsOfBursts]float32 // changes that polls without dates missed or found, weighted as in a count
	plain    float32                // the same, as counted without bursts
	room     float32                // of those, in polls that would have captured more if there had been more
}

// see takes in a poll so many ticks after the last. A source is expected to change rate times mass
// times, if at random; its polls are typical ticks apart. Of a young source the rate is not known
// well enough to tell kinds apart.
func (b *bursts) see(weight, ticks, mass, rate, typical float64, young, changed bool, world *burstWorld) {
	random := bounded(-math.Expm1(-rate * mass * world.level(oneByOne)))
	world.count(oneByOne, random, changed)
	for k, kind := range burstKinds {
		begins := world.level(k) * rate * mass / ticks / kind.polls(typical)
		gap := kind.between(float64(b.underWay[k]), begins, ticks)
		world.count(k, 1-gap.quiet, changed)
		fit := math.Log(gap.quiet / (1 - random))
		if b.underWay[k] = float32(gap.still / gap.quiet); changed {
			found := 1 - gap.quiet
			fit = math.Log(found / random)
			b.underWay[k] = float32(min(1, max(0, gap.underWay-gap.still)/found))
			b.happened[k] += float32(weight * max(1, gap.changes/found))
		}
		if !young {
			b.fit[k] = float32(min(mostBurst, max(-mostBurst, burstGrip*float64(b.fit[k])+fit)))
		}
	}
}

// polls returns how many polls find a burst, where they are so many ticks apart.
func (k *burstKind) polls(apart float64) float64 {
	both := k.density + 1/k.length
	return 1 + k.length/apart*k.density/both*-math.Expm1(-both*apart)
}

// A burstGap says what is expected of the time between two polls.
type burstGap struct {
	quiet    float64 // chance that there is no change
	still    float64 // chance that a burst is under way at the end, and there is no change
	underWay float64 // chance that a burst is under way at the end
	changes  float64 // in ticks of their own
}

// between says what is expected in so many ticks, where a burst was under way before them with
// such a chance, and begins a tick begin. The chances are those of two states, a burst and none,
// that last for times at random.
func (k *burstKind) between(was, begins, ticks float64) (g burstGap) {
	ends := 1 / k.length
	either := k.density + ends // a change or the end of a burst
	all, none := math.Exp(-either*ticks), math.Exp(-begins*ticks)
	over := ends * ticks * none // a burst ended before a change, and none began
	if either != begins {
		over = ends * (none - all) / (either - begins)
	}
	g.still = was * all
	g.quiet = bounded((1-was)*none + g.still + was*over)
	settled, gone := begins/(begins+ends), -math.Expm1(-(begins+ends)*ticks)
	g.underWay = was + (settled-was)*gone
	active := min(ticks, max(0, settled*ticks+(was-settled)*gone/(begins+ends))) // ticks in bursts
	g.changes = begins*(ticks-active) - math.Expm1(-k.density)*active
	return g
}

// thought returns how likely each kind is for the source, where all sources are of such a mix.
func (b *bursts) thought(all *burstMix) (m burstMix) {
	first, top := newBurstMix(), max(0, float64(slices.Max(b.fit[:])))
	sum := 0.0
	for k := range m {
		fit := 0.0
		if k != oneByOne {
			fit = float64(b.fit[k])
		}
		m[k] = (burstRoom*first[k] + (1-burstRoom)*all[k]) * math.Exp(fit-top)
		sum += m[k]
	}
	for k := range m {
		m[k] /= sum
	}
	return m
}

// learn takes in what is thought of one source.
func (m *burstMix) learn(of *burstMix) {
	for k := range m {
		m[k] += burstStep * (of[k] - m[k])
	}
}

// of returns how many changes happened, where so many are counted without bursts: the median, and
// the bounds that hold it nine times in ten.
func (b *bursts) of(happened, weight float64, all *burstMix) outlook.Range {
	type part struct{ happened, likely float64 }
	var parts [kindsOfBursts + 1]part
	for k, likely := range b.thought(all) {
		parts[k] = part{happened, likely}
		if k != oneByOne {
			parts[k].happened += max(0, float64(b.happened[k]-b.plain)) / weight
		}
	}
	slices.SortFunc(parts[:], func(a, b part) int { return cmp.Compare(a.happened, b.happened) })
	at := func(share float64) float64 {
		for _, p := range parts {
			if share -= p.likely; share <= 0 {
				return p.happened
			}
		}
		return parts[kindsOfBursts].happened
	}
	return outlook.Range{Mean: at(0.5), Low: at(0.05), High: at(0.95)}
}
