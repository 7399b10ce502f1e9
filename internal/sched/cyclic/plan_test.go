package cyclic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/invalid"
	"freshet/internal/sched/cyclic"
)

// simulate polls a history instant by instant and counts what is seen. The
// strategy has been running for ever before the history and goes on after it.
func simulate(h cyclic.Timeline, period int, offsets []int) cyclic.Score {
	var t cyclic.Score
	for _, page := range h.Pages {
		changed := map[int]bool{}
		end := 0
		for _, at := range page {
			changed[at] = true
			end = max(end, at)
		}
		t.Changes += len(changed)
		seen, laps := 0, 1
		if h.Circle > 0 { // once around to arrive at a steady state
			end, laps = h.Circle, 2
		}
		pending := 0
		for now := 1; now <= end*laps+period; now++ {
			at := now
			counted := now <= end*laps
			if h.Circle > 0 {
				at = (now-1)%h.Circle + 1
				counted = now > h.Circle && now <= 2*h.Circle
			}
			if changed[at] && (h.Circle > 0 || now <= end) {
				pending = now
			}
			if pending > 0 && slices.Contains(offsets, (now-1)%period) {
				if born := pending; h.Circle == 0 && counted || h.Circle == 0 || born > h.Circle && born <= 2*h.Circle {
					seen++
					t.Delay += now - born
				}
				pending = 0
			}
		}
		t.Misses += len(changed) - seen
	}
	return t
}

// fewer reports whether one tally is better than another.
func fewer(a, b cyclic.Score) bool {
	return a.Misses < b.Misses || a.Misses == b.Misses && a.Delay < b.Delay
}

// exhaustive tries all sets of offsets.
func exhaustive(h cyclic.Timeline, period, polls int) cyclic.Score {
	var best cyclic.Score
	found := false
	var try func(offsets []int, from int)
	try = func(offsets []int, from int) {
		if len(offsets) == polls {
			if t := simulate(h, period, offsets); !found || fewer(t, best) {
				best, found = t, true
			}
			return
		}
		for b := from; b < period; b++ {
			try(append(offsets[:len(offsets):len(offsets)], b), b+1)
		}
	}
	try(nil, 0)
	return best
}

// plainPlan is the plain dynamic programme: every offset, every beginning, every
// last link, over a table of what each link loses.
func plainPlan(h cyclic.Timeline, period, polls int) (misses, delay int) {
	const big = 1 << 40
	loss := make([][]int, period)
	for a := range loss {
		loss[a] = linkLosses(h, period, a, big)
	}
	least := -1
	sum, past := make([]int, period+1), make([]int, period+1)
	for start := range period {
		for x := range past {
			past[x] = -1
		}
		past[0] = 0
		for range polls {
			for x := range sum {
				sum[x] = -1
				for y := range x {
					if past[y] < 0 {
						continue
					}
					if c := past[y] + loss[(start+y)%period][x-y]; sum[x] < 0 || c < sum[x] {
						sum[x] = c
					}
				}
			}
			sum, past = past, sum
		}
		if c := past[period]; c >= 0 && (least < 0 || c < least) {
			least = c
		}
	}
	return least / big, least % big
}

// linkLosses returns what links from a to the offsets after it lose, by walking
// along each period with a count of its changes and its latest.
func linkLosses(h cyclic.Timeline, period, a, big int) []int {
	losses := make([]int, period+1)
	for _, page := range h.Pages {
		page = slices.Compact(slices.Sorted(slices.Values(page)))
		if len(page) == 0 {
			continue
		}
		changed := map[int]bool{}
		for _, at := range page {
			changed[at] = true
		}
		for d := -2; d*period <= page[len(page)-1]; d++ {
			n, latest := 0, 0
			for length := 1; length <= period; length++ {
				at := d*period + a + length + 1
				if changed[at] {
					n, latest = n+1, at
				}
				if n > 0 {
					losses[length] += (n-1)*big + at - latest
				}
			}
		}
	}
	return losses
}

// draw draws a small history, a period and a number of polls.
func draw(t *rapid.T, most int) (h cyclic.Timeline, period, polls int) {
	period = rapid.IntRange(1, most).Draw(t, "period")
	polls = rapid.IntRange(1, period).Draw(t, "polls")
	laps := rapid.IntRange(1, 4).Draw(t, "laps")
	if rapid.Bool().Draw(t, "circle") {
		h.Circle = laps * period
	}
	for range rapid.IntRange(0, 2).Draw(t, "pages") {
		h.Pages = append(h.Pages, rapid.SliceOfN(rapid.IntRange(1, laps*period), 0, 12).Draw(t, "changes"))
	}
	return h, period, polls
}

func TestCountIsWhatASimulationSees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, period, _ := draw(t, 12)
		var offsets []int
		for b := range period {
			if rapid.Bool().Draw(t, "polled") {
				offsets = append(offsets, b)
			}
		}
		if len(offsets) == 0 {
			offsets = []int{0}
		}
		if got, want := h.Count(period, offsets), simulate(h, period, offsets); got != want {
			t.Fatalf("offsets %v count as %+v, and a simulation sees %+v", offsets, got, want)
		}
	})
}

func TestOptimalIsTheBestOfAllSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, period, polls := draw(t, 8)
		offsets := planned(t, h, period, polls, cyclic.Optimal)
		got, want := h.Count(period, offsets), exhaustive(h, period, polls)
		if got != want {
			t.Fatalf("offsets %v give %+v, and the best set gives %+v", offsets, got, want)
		}
	})
}

func TestOptimalEqualsThePlainProgramme(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, period, polls := draw(t, 40)
		h.Circle = 0
		offsets := planned(t, h, period, polls, cyclic.Optimal)
		got := h.Count(period, offsets)
		misses, delay := plainPlan(h, period, polls)
		if got.Misses != misses || got.Delay != delay {
			t.Fatalf("offsets %v give %+v, and the plain programme %d misses and %d delay", offsets, got, misses, delay)
		}
	})
}

// Larger histories with structure, which small ones hardly have: messages with
// jitter, silences and noise.
func TestOptimalEqualsThePlainProgrammeOnRegularPages(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		period := 60
		h := regularPage(r, period, 20)
		for _, polls := range []int{1, 2, 3, 5, 9, 20, 40} {
			offsets, err := cyclic.PlanOptimal(h, period, polls)
			if err != nil {
				t.Fatal(err)
			}
			got := h.Count(period, offsets)
			misses, delay := plainPlan(h, period, polls)
			if got.Misses != misses || got.Delay != delay {
				t.Errorf("seed %d, %d polls: %+v, and the plain programme %d misses and %d delay", seed, polls, got, misses, delay)
			}
		}
	}
}

// regularPage is a page with three messages a period, each a few instants early
// or late, and now and then a special.
func regularPage(r *rand.Rand, period, laps int) cyclic.Timeline {
	var page []int
	for d := range laps {
		for _, at := range []int{period / 12, period / 4, period - 1} {
			page = append(page, max(1, d*period+at+r.IntN(7)-3))
		}
		if r.IntN(3) == 0 {
			page = append(page, d*period+1+r.IntN(period))
		}
	}
	slices.Sort(page)
	return cyclic.Timeline{Pages: [][]int{page}}
}

// planned returns a plan after looking that it is one.
func planned(t interface{ Fatalf(string, ...any) }, h cyclic.Timeline, period, polls int, m cyclic.Method) []int {
	offsets, err := cyclic.Plan(h, period, polls, m)
	if err != nil {
		t.Fatalf("planning %d polls in %d instants: %v", polls, period, err)
	}
	if len(offsets) != polls {
		t.Fatalf("%s gave %v, want %d offsets", m, offsets, polls)
	}
	for i, b := range offsets {
		if b < 0 || b >= period || i > 0 && b <= offsets[i-1] {
			t.Fatalf("%s gave %v, want offsets below %d in order, none twice", m, offsets, period)
		}
	}
	return offsets
}

func TestEveryMethodPlansAndNoneBeatsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, period, polls := draw(t, 30)
		best := h.Count(period, planned(t, h, period, polls, cyclic.Optimal))
		for _, m := range cyclic.Methods {
			if got := h.Count(period, planned(t, h, period, polls, m)); fewer(got, best) {
				t.Fatalf("%s gives %+v, better than optimal's %+v", m, got, best)
			}
		}
	})
}

func TestMorePollsSaveLessEachAndNeverHurt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, period, _ := draw(t, 16)
		var misses []int
		for polls := 1; polls <= period; polls++ {
			misses = append(misses, h.Count(period, planned(t, h, period, polls, cyclic.Optimal)).Misses)
		}
		for i := 2; i < len(misses); i++ {
			if misses[i] > misses[i-1] || misses[i-2]-misses[i-1] < misses[i-1]-misses[i] {
				t.Fatalf("misses %v with ever more polls, want them to fall ever less", misses)
			}
		}
	})
}

func TestPlansOfLittle(t *testing.T) {
	one := cyclic.Timeline{Pages: [][]int{{8}}}
	for _, c := range []struct {
		what          string
		h             cyclic.Timeline
		period, polls int
		m             cyclic.Method
		want          string
	}{
		{"nothing ever changed", cyclic.Timeline{}, 60, 4, cyclic.Optimal, "[0 15 30 45]"},
		{"nothing ever changed, by a model", cyclic.Timeline{}, 60, 4, cyclic.Modeled, "[0 15 30 45]"},
		{"one change is met", one, 60, 1, cyclic.Optimal, "[7]"},
		{"one change is met by a model", one, 60, 1, cyclic.Modeled, "[7]"},
		{"the rest of the polls are spread", one, 60, 3, cyclic.Optimal, "[7 22 37]"},
		{"all instants", one, 4, 4, cyclic.Optimal, "[0 1 2 3]"},
		{"a period of one", one, 1, 1, cyclic.Modeled, "[0]"},
		{"uniform begins with the period", one, 60, 2, cyclic.Even, "[0 30]"},
		{"uniform in a period that does not divide", one, 10, 3, cyclic.Even, "[0 3 6]"},
		{"uniform where it meets the change", one, 60, 2, cyclic.BestPhase, "[7 37]"},
	} {
		got, err := cyclic.Plan(c.h, c.period, c.polls, c.m)
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %s", c.what, got, err, c.want)
		}
	}
}

func TestNothingWrapsFromTheEndOfTheLine(t *testing.T) {
	h := cyclic.Timeline{Pages: [][]int{{1, 12}}} // offsets 0 and 11 of one period of 12
	if got := h.Count(12, []int{5}); got != (cyclic.Score{Changes: 2, Delay: 5 + 6}) {
		t.Errorf("on the line %+v, want both captured, the last one in the next period", got)
	}
	h.Circle = 12
	if got := h.Count(12, []int{5}); got != (cyclic.Score{Changes: 2, Misses: 1, Delay: 5}) {
		t.Errorf("on the circle %+v, want the last replaced by the first", got)
	}
	if got := h.Count(12, nil); got.Misses != 2 || got.MeanDelay() != 0 || got.Recall() != 0 {
		t.Errorf("without polls %+v, want both missed", got)
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		period, polls int
		m             cyclic.Method
		field         string
	}{
		{60, 61, cyclic.Optimal, "polls"},
		{60, 61, cyclic.Modeled, "polls"},
		{60, 61, cyclic.Even, "polls"},
		{60, 61, cyclic.BestPhase, "polls"},
		{60, 0, cyclic.Optimal, "polls"},
		{0, 1, cyclic.Optimal, "period"},
		{1 << 30, 1, cyclic.Optimal, "period"},
		{60, 2, "optimum", "method"},
	} {
		_, err := cyclic.Plan(cyclic.Timeline{Pages: [][]int{{1, 5}}}, c.period, c.polls, c.m)
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != c.field {
			t.Errorf("%d polls in %d instants by %s: error %v, want one about the %s", c.polls, c.period, c.m, err, c.field)
		}
	}
}

// A week in minutes with 336 polls, from eight weeks of two thousand changes.
func BenchmarkPlanWeek(b *testing.B) {
	h := busyWeeks(10080, 8, 2000)
	for b.Loop() {
		if _, err := cyclic.PlanOptimal(h, 10080, 336); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlanRatio measures how much faster the planner is than the plain
// programme where both run.
func BenchmarkPlanRatio(b *testing.B) {
	h := busyWeeks(240, 8, 80)
	var fast, plain time.Duration
	for b.Loop() {
		begun := time.Now()
		for range 10 {
			if _, err := cyclic.PlanOptimal(h, 240, 24); err != nil {
				b.Fatal(err)
			}
		}
		fast += time.Since(begun) / 10
		begun = time.Now()
		plainPlan(h, 240, 24)
		plain += time.Since(begun)
	}
	b.ReportMetric(float64(plain)/float64(fast), "plain/fast")
}

// busyWeeks is a page that is busier at some hours than at others.
func busyWeeks(period, laps, changes int) cyclic.Timeline {
	r := rand.New(rand.NewPCG(7, 7))
	var page []int
	for d := range laps {
		for range changes {
			at := r.IntN(period)
			if r.IntN(3) > 0 { // two thirds in the busy half of each seventh
				at = at/(period/7)*(period/7) + at%(period/14)
			}
			page = append(page, d*period+1+at)
		}
	}
	slices.Sort(page)
	return cyclic.Timeline{Pages: [][]int{page}}
}
