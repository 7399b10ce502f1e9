package cyclic_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/cyclic"
)

func TestOracleConditionI(t *testing.T) {
	for _, c := range cyclicCases(t, "A10") {
		var in struct {
			M []float64
			K int
		}
		var want struct {
			Continuous      []float64
			ContinuousValue float64 `json:"continuous_value"`
			Integer         []int   `json:"integer_K"`
			IntegerValue    float64 `json:"integer_value"`
		}
		c.read(t, &in, &want)
		shares, whole := cyclic.ConditionI(in.M, float64(in.K)), cyclic.Apportion(in.M, in.K)
		left, wholeLeft := 0.0, 0.0
		for i, m := range in.M {
			left += m / shares[i]
			wholeLeft += m / float64(whole[i])
			if !near(shares[i], want.Continuous[i], c.Tol) {
				t.Errorf("%s: shares %v, want %v", c.ID, shares, want.Continuous)
			}
		}
		if !near(left, want.ContinuousValue, c.Tol) || !near(wholeLeft, want.IntegerValue, c.Tol) || !slices.Equal(whole, want.Integer) {
			t.Errorf("%s: %v leaves %v and %v leaves %v, want %v, and %v with %v", c.ID, shares, left, whole, wholeLeft, want.ContinuousValue, want.Integer, want.IntegerValue)
		}
	}
}

// fig3 reads the model of the paper's third figure.
func fig3(messages map[string][2]float64) cyclic.Model {
	m := cyclic.Model{Period: 60}
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		m.Messages = append(m.Messages, cyclic.Message{From: messages[name][0], To: messages[name][1], Chance: 1})
	}
	return m
}

func TestOracleModel(t *testing.T) {
	var in struct {
		Messages map[string][2]float64
		Extra    int
	}
	for _, c := range cyclicCases(t, "A11") {
		var want struct {
			Elementary [][3]any
			Mandatory  []float64   `json:"mandatory_polls"`
			Misses     float64     `json:"miss_probability"`
			Extra      [][]float64 `json:"extra_positions"`
		}
		c.read(t, &in, &want)
		m := fig3(in.Messages)
		stretches := m.Stretches()
		if len(stretches) != len(want.Elementary) {
			t.Fatalf("%s: stretches %v, want %v", c.ID, stretches, want.Elementary)
		}
		for i, s := range stretches {
			w := want.Elementary[i]
			if s.From != w[0].(float64) || s.To != w[1].(float64) || len(s.Messages) != len(w[2].([]any)) {
				t.Errorf("%s: stretch %v, want %v", c.ID, s, w)
			}
		}
		if got := m.Strategy(5); !slices.Equal(got, want.Mandatory) {
			t.Errorf("%s: five polls at %v, want %v", c.ID, got, want.Mandatory)
		}
		ten := m.Strategy(5 + in.Extra)
		for _, at := range slices.Concat(want.Extra...) {
			if !slices.ContainsFunc(ten, func(p float64) bool { return near(p, at, c.Tol) }) {
				t.Errorf("%s: ten polls at %v, want one at %v", c.ID, ten, at)
			}
		}
		if got := m.Misses(ten); !near(got, want.Misses, c.Tol) {
			t.Errorf("%s: %v expected misses with ten polls, want %v", c.ID, got, want.Misses)
		}
		if got := m.Strategy(4); got != nil {
			t.Errorf("%s: four polls at %v, want none: there are five stretches", c.ID, got)
		}
	}
}

func TestOracleExpectedMisses(t *testing.T) {
	var in struct {
		Messages        map[string][2]float64
		Polls5, Polls10 []float64
	}
	for _, c := range cyclicCases(t, "A12") {
		var want struct{ Five, Ten float64 }
		c.read(t, &in, &want)
		m := fig3(in.Messages)
		if five, ten := m.Misses(in.Polls5), m.Misses(in.Polls10); !near(five, want.Five, c.Tol) || !near(ten, want.Ten, c.Tol) {
			t.Errorf("%s: %v and %v expected misses, want %v and %v", c.ID, five, ten, want.Five, want.Ten)
		}
	}
	for _, c := range cyclicCases(t, "A13") {
		var want map[string]struct {
			Misses float64 `json:"expected_misses"`
			Polls  []float64
		}
		c.read(t, &in, &want)
		m := fig3(in.Messages)
		for key, w := range want {
			polls, err := strconv.Atoi(key)
			if err != nil {
				t.Fatal(err)
			}
			got := m.Best(polls)
			times := make([]float64, len(got))
			for i, b := range got {
				times[i] = float64(b)
			}
			if misses := m.Misses(times); len(got) != polls || !near(misses, w.Misses, c.Tol) {
				t.Errorf("%s: %v has %v expected misses, want %d polls with %v as %v has", c.ID, got, misses, polls, w.Misses, w.Polls)
			}
			if misses := m.Misses(w.Polls); !near(misses, w.Misses, c.Tol) {
				t.Errorf("%s: %v has %v expected misses, want %v", c.ID, w.Polls, misses, w.Misses)
			}
		}
	}
}

// Expected misses are what happens on the average when the messages come.
func TestModelMissesAreAMean(t *testing.T) {
	m := cyclic.Model{Period: 60, Messages: []cyclic.Message{{From: 5, To: 20, Chance: 0.9}, {From: 10, To: 35, Chance: 0.5}, {From: 50, To: 65, Chance: 1}}}
	polls := []int{4, 17, 33, 58}
	r := rand.New(rand.NewPCG(3, 4))
	const laps = 200_000
	var page []int
	changes := 0
	for d := range laps {
		for _, msg := range m.Messages {
			if r.Float64() < msg.Chance {
				// fine instants, so that two messages hardly ever share one
				page = append(page, int((float64(d)*60+msg.From+r.Float64()*(msg.To-msg.From))*1000)+1)
				changes++
			}
		}
	}
	fine := make([]int, len(polls))
	times := make([]float64, len(polls))
	for i, b := range polls {
		fine[i], times[i] = b*1000, float64(b)
	}
	got := float64(cyclic.Timeline{Pages: [][]int{page}}.Count(60_000, fine).Misses) / laps
	if want := m.Misses(times); math.Abs(got-want) > 0.01 {
		t.Errorf("%v misses a period, and %v expected", got, want)
	}
}

func TestBestIsNoWorseThanTheStrategy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := cyclic.Model{Period: 24}
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			from := rapid.IntRange(0, 23).Draw(t, "from")
			m.Messages = append(m.Messages, cyclic.Message{
				From: float64(from), To: float64(from + rapid.IntRange(1, 12).Draw(t, "length")),
				Chance: float64(rapid.IntRange(1, 10).Draw(t, "chance")) / 10,
			})
		}
		polls := rapid.IntRange(1, 3).Draw(t, "polls")
		got := m.Misses(floats(m.Best(polls)))
		least := math.Inf(1)
		for a := range 24 {
			for b := range a + 1 {
				for c := range b + 1 {
					if set := slices.Compact([]int{c, b, a}); len(set) <= polls {
						least = min(least, m.Misses(floats(set)))
					}
				}
			}
		}
		if !near(got, least, 1e-9) {
			t.Fatalf("%d polls at %v have %v expected misses, and the best set has %v", polls, m.Best(polls), got, least)
		}
	})
}

func floats(xs []int) []float64 {
	fs := make([]float64, len(xs))
	for i, x := range xs {
		fs[i] = float64(x)
	}
	return fs
}

// What a plan is for is the time after it. On pages with messages the optimal
// strategy captures as much of the future as of the past that it was made from,
// and nearly as much as one that is made from the future itself; the modelled one
// falls short of it, and both miss far less than polls at equal distances.
func TestPlansCarryOver(t *testing.T) {
	past := regularPage(rand.New(rand.NewPCG(1, 1)), 60, 60*24)
	future := regularPage(rand.New(rand.NewPCG(2, 2)), 60, 30*24)
	for _, polls := range []int{3, 4, 6, 10} {
		missed := map[cyclic.Method]float64{}
		for _, m := range cyclic.Methods {
			plan := planned(t, past, 60, polls, m)
			missed[m] = 1 - future.Count(60, plan).Recall()
			if was := 1 - past.Count(60, plan).Recall(); math.Abs(missed[m]-was) > 0.025 { // thrice what chance does
				t.Errorf("%d polls: %s missed %.4f of the past and %.4f of the future, want the same", polls, m, was, missed[m])
			}
		}
		least := 1 - future.Count(60, planned(t, future, 60, polls, cyclic.Optimal)).Recall()
		t.Logf("%d polls: missed %v, at the least %.4f", polls, missed, least)
		if missed[cyclic.Optimal] > 1.25*least {
			t.Errorf("%d polls: the optimal strategy misses %.4f, and %.4f can be had", polls, missed[cyclic.Optimal], least)
		}
		if even := missed[cyclic.Even]; missed[cyclic.Optimal] > 0.4*even || missed[cyclic.Modeled] > 0.8*even {
			t.Errorf("%d polls: missed %v, want the planned to miss far less than the uniform", polls, missed)
		}
	}
}

// A page that changes by chance alone, more by day than by night, has no
// messages to tell apart; the plan follows how often it changes.
func TestModeledWithoutMessages(t *testing.T) {
	h := busyWeeks(1008, 6, 200)
	model := h.Count(1008, planned(t, h, 1008, 84, cyclic.Modeled))
	even := h.Count(1008, planned(t, h, 1008, 84, cyclic.Even))
	if model.Misses >= even.Misses {
		t.Errorf("%d misses by the model and %d at equal distances, want fewer", model.Misses, even.Misses)
	}
}

// Too many messages for the exact search over the model are planned by chance.
func TestModeledWithManyMessages(t *testing.T) {
	const period, messages = 20_000, 60
	r := rand.New(rand.NewPCG(11, 12))
	var page []int
	for d := range 5 {
		for k := range messages {
			page = append(page, d*period+1+k*100+r.IntN(90))
		}
	}
	h := cyclic.Timeline{Pages: [][]int{page}}
	model := h.Count(period, planned(t, h, period, 30, cyclic.Modeled))
	if even := h.Count(period, planned(t, h, period, 30, cyclic.Even)); model.Misses >= even.Misses {
		t.Errorf("%d misses by the model and %d at equal distances, want fewer", model.Misses, even.Misses)
	}
}

// When a message comes late in 7% of the periods, that is still the message: one poll comes
// at its end, and the other half a period away. When it does so in 4%, those are accidents:
// one poll comes at the end of the usual time.
func TestModeledLeavesOutTheOutermostTwentieth(t *testing.T) {
	const period, periods = 60, 100
	for _, c := range []struct {
		late int // periods
		want []int
	}{
		{7, []int{9, 39}},
		{4, []int{11, 39}},
	} {
		var page []int
		for d := range periods {
			at := 10 + d%3
			if d%(periods/c.late) == 5 && d/(periods/c.late) < c.late {
				at = 40
			}
			page = append(page, d*period+at)
		}
		h := cyclic.Timeline{Pages: [][]int{page}}
		if got := planned(t, h, period, 2, cyclic.Modeled); !slices.Equal(got, c.want) {
			t.Errorf("with %d late changes in %d periods the polls are at %v, want %v", c.late, periods, got, c.want)
		}
	}
}

// With fewer polls than the history has stretches, a plan shows changes soon as long as that
// costs hardly any of them.
func TestModeledPlansArePrompt(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	var page []int
	for lap := range 14 * 24 {
		page = append(page, lap*60+6+int(math.Round(draw.NormFloat64())), lap*60+15+int(math.Round(1.5*draw.NormFloat64())))
	}
	h := cyclic.Timeline{Pages: [][]int{page}}
	for _, polls := range []int{2, 3} {
		offsets, err := cyclic.PlanModeled(h, 60, polls)
		if err != nil {
			t.Fatal(err)
		}
		score := h.Count(60, offsets)
		t.Logf("%d polls at %v: recall %.3f, mean delay %.2f minutes", polls, offsets, score.Recall(), score.MeanDelay())
		if score.Recall() < 0.99 || score.MeanDelay() > 4 {
			t.Errorf("%d polls at %v capture %.3f with a mean delay of %.1f minutes, want at least 0.99 within 4", polls, offsets, score.Recall(), score.MeanDelay())
		}
	}
}
