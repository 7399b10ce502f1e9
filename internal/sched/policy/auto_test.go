package policy_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
)

// Whatever comes, goes, is paused, polled and refused, auto offers only what is
// there, nothing twice in one choice, the most worth first, and all of it when
// there is budget for all.
func TestAutoOffers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Polls: 3})
		now := noon
		there := map[freshet.Slot]bool{} // false while paused
		flying := map[freshet.Slot]bool{}
		land := func(slot freshet.Slot, result freshet.Result) {
			delete(flying, slot)
			a.Observe(now, slot, freshet.Outcome{Began: now, Ended: now, Result: result})
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			slot := freshet.Slot(rapid.IntRange(0, 9).Draw(rt, "slot"))
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				s := freshet.Source{
					ID: freshet.SourceID(fmt.Sprint("s", slot)), URL: fmt.Sprintf("https://h%d.example/%d", slot/3, slot),
					Paused: rapid.Bool().Draw(rt, "paused"), Weight: rapid.SampledFrom([]float64{0, 1e-6, 1, 1e6}).Draw(rt, "weight"),
				}
				since := rapid.SampledFrom([]time.Time{{}, noon.Add(-time.Hour)}).Draw(rt, "since")
				a.Put(now, slot, s, since)
				there[slot] = !s.Paused
			case 1:
				if _, ok := there[slot]; ok {
					a.Remove(slot)
					delete(there, slot)
					delete(flying, slot)
				}
			case 2:
				if _, ok := there[slot]; ok { // a poll by hand
					land(slot, freshet.Result(rapid.IntRange(0, 3).Draw(rt, "result")))
				}
			default:
				now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(rt, "seconds")) * time.Second)
				n := rapid.IntRange(0, 12).Draw(rt, "n")
				once, last := map[freshet.Slot]bool{}, math.Inf(1)
				a.Choose(now, n, func(s freshet.Slot, worth float64) bool {
					switch {
					case !there[s]:
						rt.Fatalf("slot %d is offered and is not to be polled", s)
					case once[s]:
						rt.Fatalf("slot %d is offered twice in one choice", s)
					case !(worth > 0) || math.IsInf(worth, 0) || worth > last:
						rt.Fatalf("slot %d is worth %v, after one worth %v", s, worth, last)
					}
					once[s], last = true, worth
					if flying[s] || rapid.Bool().Draw(rt, "refused") {
						return false
					}
					flying[s] = true
					return true
				})
				for _, s := range slices.Sorted(maps.Keys(flying)) {
					if rapid.Bool().Draw(rt, "landed") {
						land(s, freshet.Result(rapid.IntRange(0, 3).Draw(rt, "result")))
					}
				}
			}
		}
		for s := range flying {
			land(s, freshet.Unchanged)
		}
		now = now.Add(time.Hour)
		all := map[freshet.Slot]bool{}
		for more := true; more; { // it may want to see what the first polls find
			more = false
			a.Choose(now, 100, func(s freshet.Slot, _ float64) bool {
				if all[s] {
					return false
				}
				all[s], more = true, true
				return true
			})
			for s := range all {
				land(s, freshet.Unchanged)
			}
		}
		for s, open := range there {
			if open != all[s] {
				rt.Fatalf("slot %d is to be polled: %v; offered: %v", s, open, all[s])
			}
		}
	})
}

// The same replay twice makes the same polls.
func TestAutoIsDeterministic(t *testing.T) {
	h, err := generate.New(generate.Spec{Kind: "bursty", Pages: 60, Length: 12 * time.Hour, PerDay: 30})
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, evidence := range []lab.Evidence{{}, {Kind: lab.Dated}} {
		type poll struct {
			page, instant int
			changed       bool
		}
		var runs [2][]poll
		for i := range runs {
			a := policy.NewAuto(policy.AutoConfig{Start: g.Start, Instant: g.Instant, Polls: 3})
			_, err := lab.Replay(t.Context(), g, a, lab.Options{Budget: 3, Evidence: evidence, Look: func(page, instant int, changed bool) {
				runs[i] = append(runs[i], poll{page, instant, changed})
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(runs[0]) != 3*g.Instants || !slices.Equal(runs[0], runs[1]) {
			t.Errorf("with evidence %v two replays made %d and %d polls, want the same %d", evidence, len(runs[0]), len(runs[1]), 3*g.Instants)
		}
	}
}

// A daemon that restarts, and takes up what was learnt, makes the polls that it
// would have made, or nearly.
func TestAutoGoesOnAfterARestart(t *testing.T) {
	const pages = 30
	r := newAutoRun(time.Minute, 3000, 2)
	for range pages {
		r.add(freshet.Source{}, 0.05)
	}
	r.run(t, nil)
	again := policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Polls: 2})
	last := map[freshet.SourceID]time.Time{}
	for _, o := range r.outcomes {
		last[o.Source] = o.Began
	}
	for slot, s := range r.sources {
		again.Put(r.end, freshet.Slot(slot), s, last[s.ID])
	}
	if err := r.auto.Learner().Save(func(slot freshet.Slot, memory []byte) error { return again.Learner().Restore(slot, memory) }); err != nil {
		t.Fatalf("taking up what was learnt: %v", err)
	}
	next := func(a *policy.Auto) (slots []freshet.Slot) {
		a.Choose(r.end.Add(10*time.Minute), 10, func(s freshet.Slot, _ float64) bool {
			slots = append(slots, s)
			return true
		})
		return slots
	}
	// What an expected change has been worth of late is found again in a few
	// ticks, and until then the last of the choices may differ.
	before, after := next(r.auto), next(again)
	same := 0
	for _, slot := range before {
		if slices.Contains(after, slot) {
			same++
		}
	}
	if len(before) != 10 || same < 9 {
		t.Errorf("after a restart %v are chosen, want %v", after, before)
	}
}

// Auto captures more than one who treats all alike, in worlds that hold surprises.
func TestAutoBeatsUniform(t *testing.T) {
	const instants, pages = 3000, 60
	every := func(from, to, step int) (at []int) {
		for j := from; j <= to; j += step {
			at = append(at, j)
		}
		return at
	}
	tests := []struct {
		what  string
		page  func(draw *rand.Rand, i int) []int
		times float64 // as much as uniform, at least
	}{
		{"rates that differ", func(draw *rand.Rand, i int) []int {
			return atRandom(draw, 1, instants, []float64{0.002, 0.02, 0.2}[i%3])
		}, 1.2},
		{"sources that die", func(draw *rand.Rand, i int) []int { return atRandom(draw, 1, instants*(1+i%4)/4, 0.1) }, 1.15},
		{"sources that come back from the dead", func(draw *rand.Rand, i int) []int {
			return append(atRandom(draw, 1, 500, 0.2), atRandom(draw, instants/2+100*(i%10), instants, 0.02+0.3*float64(i%2))...)
		}, 1.05},
		{"rhythms that change", func(_ *rand.Rand, i int) []int {
			first, second := 8, 40
			if i%2 == 0 {
				first, second = second, first
			}
			return append(every(1+i%first, instants/2, first), every(instants/2+i%second, instants, second)...)
		}, 1.04},
		{"rates that swap", func(draw *rand.Rand, i int) []int {
			fast, slow := 0.2, 0.005
			if i%2 == 0 {
				fast, slow = slow, fast
			}
			return append(atRandom(draw, 1, instants/2, fast), atRandom(draw, instants/2, instants, slow)...)
		}, 1.2},
		{"all alike", func(draw *rand.Rand, _ int) []int { return atRandom(draw, 1, instants, 0.03) }, 0.95},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(1, 2))
			changes := make([][]int, pages)
			for i := range changes {
				changes[i] = tt.page(draw, i)
			}
			g := lab.NewGrid(noon, time.Minute, instants, changes)
			score := func(p freshet.Policy, evidence lab.Evidence) float64 {
				s, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: 2, Evidence: evidence})
				if err != nil {
					t.Fatal(err)
				}
				return s.Recall
			}
			uniform := score(&policy.Uniform{}, lab.Evidence{})
			for _, evidence := range []lab.Evidence{{}, {Kind: lab.Dated}} {
				auto := score(policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Polls: 2}), evidence)
				t.Logf("recall %.3f, and of uniform %.3f", auto, uniform)
				if auto < tt.times*uniform {
					t.Errorf("with evidence %v recall is %.3f, want at least %.2f times the %.3f of uniform", evidence, auto, tt.times, uniform)
				}
			}
		})
	}
}

// atRandom returns instants at which something happens with a chance of p.
func atRandom(draw *rand.Rand, from, to int, p float64) (at []int) {
	for j := from; j <= to; j++ {
		if draw.Float64() < p {
			at = append(at, j)
		}
	}
	return at
}

// The price of a poll falls as the budget grows, and a source is due when its
// worth comes to it.
func TestAutoHasOnePrice(t *testing.T) {
	last := math.Inf(1)
	for _, budget := range []float64{1, 3, 10} {
		const pages = 40
		r := newAutoRun(time.Minute, 1500, budget)
		for i := range pages {
			r.add(freshet.Source{}, []float64{0.01, 0.05, 0.2}[i%3])
		}
		r.run(t, nil)
		price := r.auto.Price()
		if !(price > 0) || price >= last {
			t.Errorf("at a budget of %v a poll has the price %.4f, and at a smaller one %.4f", budget, price, last)
		}
		last = price
		early := 0
		for slot := range freshet.Slot(pages) {
			o := r.auto.Outlook(r.end, slot)
			if o.Price != price || (o.Worth >= price) != (o.Due.Equal(r.end)) {
				t.Errorf("slot %d is worth %.4f at a price of %.4f and due at %v, and it is %v", slot, o.Worth, o.Price, o.Due, r.end)
			}
			if o.Due.Before(r.end.Add(2 * time.Duration(float64(pages)/budget) * time.Minute)) {
				early++
			}
		}
		if early < pages/4 {
			t.Errorf("at a budget of %v only %d of %d sources are due within two turns", budget, early, pages)
		}
	}
}
