// Package simulate runs the whole daemon in one process, in virtual time, on a
// network, a disk and a clock that are all in the hand of one seed. It breaks
// what can break (power, processes, disks, servers, receivers, clocks), and then
// holds what the daemon promises against what the simulated world saw.
//
// A seed replays exactly: TestReplay compares whole traces. To look at one:
//
//	go test ./simulate -run TestSimulate -seed 4711 -v
package simulate

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// A world is all that the daemon of one run can see: time, network and disk.
// Everything that happens in it is drawn from the seed.
type world struct {
	seed  uint64
	plan  plan
	start time.Time // of the bubble's clock

	mu       sync.Mutex
	trace    bytes.Buffer
	offset   time.Duration // of the wall clock that the daemon reads
	faults   []string      // promises that were broken
	troubles []trouble     // what was done to the daemon, in order
}

// A trouble is something that the world did to the daemon.
type trouble struct {
	at   time.Time
	what string
}

// newWorld returns a world for a seed. It must be called in the bubble.
func newWorld(seed uint64) *world {
	w := &world{seed: seed, start: time.Now()}
	w.plan = drawPlan(w.chance("plan"))
	return w
}

// chance returns a stream of random numbers of its own for each purpose, so that
// one more draw for one thing does not change all the others.
func (w *world) chance(purpose string, n ...int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, purpose, n)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// now is the wall clock that the daemon reads.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

// jump sets the wall clock.
func (w *world) jump(by time.Duration) {
	w.mu.Lock()
	w.offset += by
	w.mu.Unlock()
	if by > 0 {
		w.did("the clock is set ahead by %v", by)
	} else {
		w.did("the clock is set back by %v", -by)
	}
}

// since returns how long the world has existed.
func (w *world) since() time.Duration { return time.Since(w.start) }

// say adds a line to the trace.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.trace, "%14.9f ", time.Since(w.start).Seconds())
	fmt.Fprintf(&w.trace, format, args...)
	w.trace.WriteByte('\n')
}

// did says what the world did to the daemon, and remembers it.
func (w *world) did(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	w.say("FAULT %s", what)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.troubles = append(w.troubles, trouble{time.Now(), what})
}

// troubled reports whether anything was done to the daemon in a stretch of time.
func (w *world) troubled(from, to time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.troubles {
		if !t.at.Before(from) && !t.at.After(to) {
			return true
		}
	}
	return false
}

// troublesOf returns when a kind of trouble was made.
func (w *world) troublesOf(what string) (at []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.troubles {
		if strings.HasPrefix(t.what, what) {
			at = append(at, t.at)
		}
	}
	return at
}

// blurred reports whether, in a stretch of time, the clock was set ahead and the
// machine was started anew: then nobody can know how long ago anything was.
func (w *world) blurred(from, to time.Time) bool {
	within := func(at time.Time) bool { return !at.Before(from) && !at.After(to) }
	return slices.ContainsFunc(w.troublesOf("power"), within) && slices.ContainsFunc(w.troublesOf("the clock is set ahead"), within)
}

// broken notes that a promise was not kept.
func (w *world) broken(format string, args ...any) {
	fault := fmt.Sprintf(format, args...)
	w.say("BROKEN %s", fault)
	w.mu.Lock()
	defer w.mu.Unlock()
	const enough = 20
	if len(w.faults) < enough {
		w.faults = append(w.faults, fault)
	}
}

// pause draws a time between two bounds, to the nanosecond: no two things happen
// at one instant, so their order is not left to chance.
func pause(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)))
}

// oneIn is true once in n times.
func oneIn(rng *rand.Rand, n int) bool { return n > 0 && rng.IntN(n) == 0 }
