package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// A cyclicWorld is sources with known changes, polled once an instant.
type cyclicWorld struct {
	changes [][]int // by slot, in order
	polled  []int   // by slot: the last poll
	log     map[int][]int
}

func newCyclicWorld(changes [][]int) *cyclicWorld {
	return &cyclicWorld{changes: changes, polled: make([]int, len(changes)), log: map[int][]int{}}
}

func (w *cyclicWorld) time(instant int) time.Time {
	return noon.Add(time.Duration(instant) * time.Minute)
}

// poll looks at a source at the end of an instant and returns what it found.
func (w *cyclicWorld) poll(slot freshet.Slot, at int) freshet.Outcome {
	o := freshet.Outcome{Since: w.time(w.polled[slot]), Began: w.time(at), Ended: w.time(at)}
	if w.captured(int(slot), at) {
		o.Result = freshet.Changed
	}
	w.polled[slot] = at
	w.log[int(slot)] = append(w.log[int(slot)], at)
	return o
}

// captured reports whether something changed since the last poll.
func (w *cyclicWorld) captured(slot, at int) bool {
	i, _ := slices.BinarySearch(w.changes[slot], w.polled[slot]+1)
	return i < len(w.changes[slot]) && w.changes[slot][i] <= at
}

// run polls through the instants, perInstant at each, and returns the recall of
// the changes after an instant.
func (w *cyclicWorld) run(p freshet.Policy, instants, perInstant, after int) float64 {
	for slot := range w.changes {
		p.Put(w.time(0), freshet.Slot(slot), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%04d", slot))}, w.time(0))
	}
	seen, all := 0, 0
	for _, page := range w.changes {
		for _, at := range page {
			if at > after {
				all++
			}
		}
	}
	for at := 1; at <= instants; at++ {
		var taken []freshet.Slot
		p.Choose(w.time(at), perInstant, func(s freshet.Slot, _ float64) bool {
			taken = append(taken, s)
			return true
		})
		for _, slot := range taken {
			o := w.poll(slot, at)
			if o.Result == freshet.Changed && at > after {
				seen++
			}
			p.Observe(w.time(at), slot, o)
		}
	}
	return float64(seen) / float64(all)
}

// hourly is pages that each change twice close together at minutes of their
// own in every hour.
func hourly(pages, instants int) [][]int {
	r := rand.New(rand.NewPCG(5, 6))
	changes := make([][]int, pages)
	for i := range changes {
		first := r.IntN(60)
		for d := 0; d < instants; d += 60 {
			changes[i] = append(changes[i], d+1+first, d+1+first+8+r.IntN(3))
		}
	}
	return changes
}

// random is pages that change by chance, some far more often than others.
func random(pages, instants int) [][]int {
	r := rand.New(rand.NewPCG(8, 9))
	changes := make([][]int, pages)
	for i := range changes {
		mean := float64(uint(20) << (i % 6))
		for at := r.ExpFloat64() * mean; int(at) < instants; at += r.ExpFloat64() * mean {
			changes[i] = append(changes[i], int(at)+1)
		}
	}
	return changes
}

func TestCyclicFindsTheRhythm(t *testing.T) {
	const instants = 48 * 60
	changes := hourly(60, instants)
	cyclic := newCyclicWorld(changes).run(policy.NewCyclic(policy.CyclicConfig{Start: noon}), instants, 4, instants/2)
	uniform := newCyclicWorld(changes).run(&policy.Uniform{}, instants, 4, instants/2)
	t.Logf("recall %.3f, uniform %.3f", cyclic, uniform)
	if cyclic < uniform+0.1 {
		t.Errorf("recall %.3f of pages that keep to the hour, and uniform has %.3f", cyclic, uniform)
	}
}

func TestCyclicOnPagesWithoutRhythm(t *testing.T) {
	const instants = 48 * 60
	changes := random(60, instants)
	cyclic := newCyclicWorld(changes).run(policy.NewCyclic(policy.CyclicConfig{Start: noon}), instants, 2, instants/2)
	uniform := newCyclicWorld(changes).run(&policy.Uniform{}, instants, 2, instants/2)
	t.Logf("recall %.3f, uniform %.3f", cyclic, uniform)
	if cyclic < uniform {
		t.Errorf("recall %.3f of pages that change by chance, and uniform has %.3f", cyclic, uniform)
	}
}

// A part of the polls is not planned: of pages that could use every poll, the
// share that the config sets goes round all of them, and no more.
func TestCyclicExplores(t *testing.T) {
	const instants, perInstant = 24 * 60, 2
	for _, set := range []float64{0, 0.3} {
		explore := set
		if set == 0 {
			explore = 0.1 // unless told
		}
		p := policy.NewCyclic(policy.CyclicConfig{Start: noon, Explore: set})
		w := newCyclicWorld(random(60, instants))
		for slot := range w.changes {
			p.Put(w.time(0), freshet.Slot(slot), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%04d", slot))}, w.time(0))
		}
		planned, around := 0, map[freshet.Slot]int{}
		for at := 1; at <= instants; at++ {
			var taken []freshet.Slot
			p.Choose(w.time(at), perInstant, func(s freshet.Slot, worth float64) bool {
				taken = append(taken, s)
				switch {
				case at <= instants/2: // it still learns
				case worth == 1:
					planned++
				default:
					around[s]++
				}
				return true
			})
			for _, slot := range taken {
				p.Observe(w.time(at), slot, w.poll(slot, at))
			}
		}
		round := 0
		for slot := range freshet.Slot(60) {
			round += around[slot]
		}
		share := float64(round) / float64(round+planned)
		t.Logf("%.3f of the polls go round, to %d pages", share, len(around))
		if share < 0.95*explore || share > 1.3*explore {
			t.Errorf("%.3f of the polls are not planned, want about %.2f", share, explore)
		}
		if len(around) != 60 {
			t.Errorf("polls that are not planned go to %d pages, want all 60", len(around))
		}
	}
}

// Polls shared out by price are worth what they are worth given one by one.
func TestCyclicSharesPollsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "sources")
		period := rapid.IntRange(1, 30).Draw(t, "period")
		polls := rapid.IntRange(0, n*period+3).Draw(t, "polls")
		changes, values := make([]float64, n), make([]float64, n)
		for i := range n {
			changes[i] = float64(rapid.IntRange(0, 50).Draw(t, "changes")) / 4
			values[i] = float64(rapid.IntRange(1, 8).Draw(t, "value"))
		}
		misses := func(shares []int) (sum float64) {
			for i, k := range shares {
				captured := 0.0
				if k > 0 {
					captured = float64(k) * (1 - math.Exp(-changes[i]/float64(k)))
				}
				sum += values[i] * (changes[i] - captured)
			}
			return sum
		}
		one := make([]int, n)
		for range polls {
			best, least := -1, misses(one)
			for i := range one {
				if one[i]++; one[i] <= period && misses(one) < least {
					best, least = i, misses(one)
				}
				one[i]--
			}
			if best < 0 {
				break
			}
			one[best]++
		}
		got, total := policy.SharePolls(changes, values, period, polls), 0
		for _, k := range got {
			total += k
		}
		if total > polls || math.Abs(misses(got)-misses(one)) > 1e-9 {
			t.Fatalf("%d polls shared out as %v miss %v, and one by one as %v miss %v", polls, got, misses(got), one, misses(one))
		}
	})
}

func TestCyclicIsTheSameEveryTime(t *testing.T) {
	changes := append(hourly(20, 900), random(20, 900)...)
	var logs [2]map[int][]int
	for i := range logs {
		w := newCyclicWorld(changes)
		w.run(policy.NewCyclic(policy.CyclicConfig{Start: noon}), 900, 2, 0)
		logs[i] = w.log
	}
	for slot := range changes {
		if !slices.Equal(logs[0][slot], logs[1][slot]) {
			t.Fatalf("source %d was polled at %v and then at %v", slot, logs[0][slot], logs[1][slot])
		}
	}
}

// A source that says when it changed is planned even if it is polled rarely.
func TestCyclicBelievesModified(t *testing.T) {
	c := policy.NewCyclic(policy.CyclicConfig{Start: noon, Polls: 1.0 / 50, Explore: 1e-9})
	put(c, 0, "a")
	w := newCyclicWorld([][]int{nil})
	for at := 50; at <= 600; at += 50 {
		o := freshet.Outcome{Since: w.time(at - 50), Began: w.time(at), Ended: w.time(at), Result: freshet.Changed}
		o.Modified = w.time((at-1)/60*60 + 7) // seven past
		if o.Modified.After(o.Since) && !o.Modified.After(o.Began) {
			c.Observe(o.Ended, 0, o)
		}
	}
	c.Choose(w.time(600), 0, nil)
	c.Choose(w.time(660), 0, nil) // an hour later it plans
	var due []int
	for at := 661; at < 900; at++ {
		worth := 0.0
		c.Choose(w.time(at), 1, func(_ freshet.Slot, v float64) bool { worth = v; return v == 1 })
		if worth == 1 {
			due = append(due, at%60)
			c.Observe(w.time(at), 0, freshet.Outcome{Since: w.time(at - 1), Began: w.time(at)})
		}
	}
	if fmt.Sprint(due) != "[7 7 7 7]" {
		t.Errorf("due at minutes %v, want at seven past every hour", due)
	}
}

// offers returns the slots that are offered at an instant, taking those that
// are not shut.
func offers(c freshet.Policy, w *cyclicWorld, at, n int, shut ...freshet.Slot) (taken []freshet.Slot, again time.Time) {
	again = c.Choose(w.time(at), n, func(s freshet.Slot, worth float64) bool {
		if worth <= 0 {
			panic("offered with nothing to gain")
		}
		if slices.Contains(shut, s) {
			return false
		}
		taken = append(taken, s)
		return true
	})
	slices.Sort(taken)
	return taken, again
}

func TestCyclicWithinAnInstant(t *testing.T) {
	c := policy.NewCyclic(policy.CyclicConfig{Start: noon})
	w := newCyclicWorld(make([][]int, 4))
	for slot := range freshet.Slot(4) {
		put(c, slot, freshet.SourceID(fmt.Sprint("s", slot)))
	}
	expect := func(what string, got []freshet.Slot, want string) {
		t.Helper()
		if fmt.Sprint(got) != want {
			t.Errorf("%s: slots %v, want %s", what, got, want)
		}
	}
	got, again := offers(c, w, 1, 9, 2)
	expect("all but the shut one", got, "[0 1 3]")
	if !again.Equal(w.time(2)) {
		t.Errorf("again at %v, want at the next instant", again)
	}
	got, _ = offers(c, w, 1, 9)
	expect("the one that was shut, and the others not twice", got, "[2]")
	got, _ = offers(c, w, 1, 9)
	expect("nothing is left", got, "[]")
	got, _ = offers(c, w, 2, 9)
	expect("none of those that are being polled", got, "[]")
	for slot := range freshet.Slot(4) {
		c.Observe(w.time(2), slot, freshet.Outcome{Result: freshet.Failed})
	}
	c.Put(w.time(3), 1, freshet.Source{ID: "s1", Paused: true}, time.Time{})
	c.Remove(3)
	got, _ = offers(c, w, 3, 9)
	expect("neither the paused nor the removed", got, "[0 2]")
	put(c, 3, "new")
	got, _ = offers(c, w, 3, 1)
	expect("the newcomer next", got, "[3]")
	got, _ = offers(c, w, 500, 9)
	expect("those whose polls have not ended are not offered, however late", got, "[]")
}

func TestCyclicStaysFairWhileSourcesComeAndGo(t *testing.T) {
	c := policy.NewCyclic(policy.CyclicConfig{Start: noon, Periods: []time.Duration{10 * time.Minute}})
	w := newCyclicWorld(make([][]int, 30))
	r := rand.New(rand.NewPCG(4, 4))
	there := map[freshet.Slot]bool{}
	turns := map[freshet.Slot]int{}
	for at := 1; at < 2000; at++ {
		if slot := freshet.Slot(r.IntN(20) + 10); at < 1000 { // the last ten stay away in the end
			if there[slot] {
				c.Remove(slot)
			} else {
				put(c, slot, freshet.SourceID(fmt.Sprint("s", slot)))
			}
			there[slot] = !there[slot]
		}
		if at == 1 {
			for slot := range freshet.Slot(10) {
				put(c, slot, freshet.SourceID(fmt.Sprint("s", slot)))
				there[slot] = true
			}
		}
		taken, _ := offers(c, w, at, 3)
		for _, slot := range taken {
			if !there[slot] {
				t.Fatalf("slot %d was offered and is not there", slot)
			}
			result := freshet.Unchanged
			if r.IntN(10) == 0 {
				result = freshet.Changed
			}
			c.Observe(w.time(at), slot, freshet.Outcome{Since: w.time(w.polled[slot]), Began: w.time(at), Result: result})
			w.polled[slot] = at
			if at >= 1000 {
				turns[slot]++
			}
		}
	}
	for slot, is := range there {
		if is && turns[slot] < 30 {
			t.Errorf("slot %d had %d turns of 3000, want every source looked at", slot, turns[slot])
		}
	}
}

// BenchmarkCyclicReplan plans a thousand sources with 48 changes each, half of
// which keep to the hour.
func BenchmarkCyclicReplan(b *testing.B) {
	const instants = 4 * 24 * 60
	w := newCyclicWorld(append(hourly(500, instants), random(500, instants)...))
	c := policy.NewCyclic(policy.CyclicConfig{Start: noon, Polls: 60})
	w.run(c, 25*60, 100, 0)
	at := 25 * 60
	for b.Loop() {
		at += 60
		c.Choose(w.time(at), 0, nil)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "us/source")
}
