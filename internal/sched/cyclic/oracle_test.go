package cyclic_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"freshet/internal/sched/cyclic"
)

// A cyclicCase is a small instance of a cyclic strategy with its exact answers,
// found by trying everything.
type cyclicCase struct {
	ID              string
	Group           string
	Input, Expected json.RawMessage
	Tol             float64
}

func cyclicCases(t *testing.T, prefix string) []cyclicCase {
	t.Helper()
	b, err := os.ReadFile("testdata/cyclic_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []cyclicCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(c cyclicCase) bool { return !strings.HasPrefix(c.ID, prefix) })
	if len(all) == 0 {
		t.Fatalf("there is no case %s", prefix)
	}
	return all
}

func (c cyclicCase) read(t *testing.T, input, expected any) {
	t.Helper()
	for _, p := range []struct {
		from json.RawMessage
		to   any
	}{{c.Input, input}, {c.Expected, expected}} {
		if err := json.Unmarshal(p.from, p.to); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
	}
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol }

// line counts what polls at these instants make of changes at these, as one long
// period of which the history is the beginning. An invisible change is seen one
// instant later.
func line(updates, polls []int, visible bool) cyclic.Score {
	period := 2 * (slices.Max(append(slices.Clone(updates), polls...)) + 2)
	shifted := slices.Clone(updates)
	for i := range shifted {
		if !visible {
			shifted[i]++
		}
		shifted[i]++ // minute 0 is instant 1
	}
	return cyclic.Timeline{Pages: [][]int{shifted}}.Count(period, polls)
}

func TestOracleRecall(t *testing.T) {
	for _, c := range cyclicCases(t, "A01") {
		var in struct {
			Updates      []int
			UniformPolls []int `json:"uniform_polls"`
			OptPolls     []int `json:"opt_polls"`
			Visible      bool  `json:"update_visible_at_same_instant"`
		}
		var want struct {
			Uniform float64 `json:"uniform_recall"`
			Opt     float64 `json:"opt_recall"`
		}
		c.read(t, &in, &want)
		for _, r := range []struct {
			polls []int
			want  float64
		}{{in.UniformPolls, want.Uniform}, {in.OptPolls, want.Opt}} {
			if got := line(in.Updates, r.polls, in.Visible).Recall(); !near(got, r.want, c.Tol) {
				t.Errorf("%s: recall %v with polls at %v, want %v", c.ID, got, r.polls, r.want)
			}
		}
	}
	for _, c := range cyclicCases(t, "A02") {
		var in struct {
			Updates, Polls []int
			Visible        bool `json:"update_visible_at_same_instant"`
		}
		var want struct{ Recall float64 }
		c.read(t, &in, &want)
		if got := line(in.Updates, in.Polls, in.Visible).Recall(); !near(got, want.Recall, c.Tol) {
			t.Errorf("%s: recall %v, want %v", c.ID, got, want.Recall)
		}
	}
	for _, c := range cyclicCases(t, "A03") {
		var in struct {
			Updates      []int
			UniformPolls []int `json:"uniform_polls"`
			OptPolls     []int `json:"opt_polls"`
		}
		var want struct {
			Uniform float64 `json:"uniform_recall"`
			Opt     float64 `json:"opt_recall"`
		}
		c.read(t, &in, &want)
		uniform, opt := line(in.Updates, in.UniformPolls, true).Recall(), line(in.Updates, in.OptPolls, true).Recall()
		if !near(uniform, want.Uniform, c.Tol) || !near(opt, want.Opt, c.Tol) {
			t.Errorf("%s: recall %v and %v, want %v and %v", c.ID, uniform, opt, want.Uniform, want.Opt)
		}
	}
	for _, c := range cyclicCases(t, "A04") {
		var in struct{ Pairs [][2]int }
		var want struct{ Recall []float64 }
		c.read(t, &in, &want)
		for i, p := range in.Pairs {
			if got := (cyclic.Score{Changes: p[1], Misses: p[1] - p[0]}).Recall(); !near(got, want.Recall[i], c.Tol) {
				t.Errorf("%s: %d of %d is a recall of %v, want %v", c.ID, p[0], p[1], got, want.Recall[i])
			}
		}
	}
}

// A circularCase is a circular history, whose times count from 0.
type circularCase struct {
	T, D, N int
	History []int
}

func (c circularCase) history() cyclic.Timeline {
	page := slices.Clone(c.History)
	for i := range page {
		page[i]++
	}
	return cyclic.Timeline{Pages: [][]int{page}, Circle: c.T * c.D}
}

// optimum looks that the planner finds the fewest misses that there are.
func (c circularCase) optimum(t *testing.T, id string, polls, want int) cyclic.Score {
	t.Helper()
	h := c.history()
	got := h.Count(c.T, planned(t, h, c.T, polls, cyclic.Optimal))
	if got.Misses != want {
		t.Errorf("%s: %d misses with %d polls, want %d", id, got.Misses, polls, want)
	}
	return got
}

func TestOracleOptimum(t *testing.T) {
	for _, id := range []string{"A05", "A06", "A07"} {
		for _, c := range cyclicCases(t, id) {
			var in circularCase
			var want struct {
				Misses     int     `json:"min_misses"`
				True       int     `json:"true_min_misses"`
				Smallest   []int   `json:"lexicographically_smallest"`
				Optima     int     `json:"number_of_optimal_pairs"`
				Literal    []int   `json:"a_literal_set"`
				LiteralOwn int     `json:"true_cost_of_that_set"`
				Sets       [][]int `json:"true_optimal_sets"`
			}
			c.read(t, &in, &want)
			least := max(want.Misses, want.True)
			in.optimum(t, c.ID, in.N, least)
			if want.Smallest != nil {
				if got := in.history().Count(in.T, want.Smallest).Misses; got != least {
					t.Errorf("%s: %v has %d misses, want %d", c.ID, want.Smallest, got, least)
				}
			}
			if want.Optima > 0 {
				if got := len(optima(in, in.N, least)); got != want.Optima {
					t.Errorf("%s: %d optimal sets, want %d", c.ID, got, want.Optima)
				}
			}
			if want.Literal != nil {
				if got := in.history().Count(in.T, want.Literal).Misses; got != want.LiteralOwn {
					t.Errorf("%s: the paper's own choice has %d misses, want %d", c.ID, got, want.LiteralOwn)
				}
			}
			if want.Sets != nil {
				if got := optima(in, in.N, least); !slices.EqualFunc(got, want.Sets, slices.Equal) {
					t.Errorf("%s: optimal sets %v, want %v", c.ID, got, want.Sets)
				}
			}
		}
	}
}

// optima returns all sets of offsets with so many misses, in order.
func optima(c circularCase, polls, misses int) (sets [][]int) {
	h := c.history()
	var try func(offsets []int, from int)
	try = func(offsets []int, from int) {
		if len(offsets) == polls {
			if h.Count(c.T, offsets).Misses == misses {
				sets = append(sets, offsets)
			}
			return
		}
		for b := from; b < c.T; b++ {
			try(append(offsets[:len(offsets):len(offsets)], b), b+1)
		}
	}
	try(nil, 0)
	return sets
}

func TestOracleOptimumByPolls(t *testing.T) {
	for _, id := range []string{"A08", "A09"} {
		for _, c := range cyclicCases(t, id) {
			var in circularCase
			var want map[string]struct {
				Misses   int     `json:"min_misses"`
				Smallest []int   `json:"lexicographically_smallest"`
				Optima   int     `json:"n_optimal"`
				Sets     [][]int // the first of them, and how many there are
				Count    int
			}
			c.read(t, &in, &want)
			for key, w := range want {
				polls, err := strconv.Atoi(key)
				if err != nil {
					t.Fatal(err)
				}
				in.optimum(t, c.ID, polls, w.Misses)
				sets := optima(in, polls, w.Misses)
				if w.Optima > 0 && (len(sets) != w.Optima || !slices.Equal(sets[0], w.Smallest)) {
					t.Errorf("%s: %d sets are optimal, the first %v, want %d and %v", c.ID, len(sets), sets[0], w.Optima, w.Smallest)
				}
				if w.Sets != nil && (len(sets) != w.Count || !slices.EqualFunc(sets[:len(w.Sets)], w.Sets, slices.Equal)) {
					t.Errorf("%s: %d sets are optimal, %v, want %d and first %v", c.ID, len(sets), sets, w.Count, w.Sets)
				}
			}
		}
	}
}

func TestOracleOptimumWithLeastDelay(t *testing.T) {
	for _, c := range cyclicCases(t, "A15") {
		var in circularCase
		var want struct {
			Misses int
			Delay  int `json:"total_delay_minutes"`
			Polls  []int
		}
		c.read(t, &in, &want)
		if got := in.optimum(t, c.ID, in.N, want.Misses); got.Delay != want.Delay {
			t.Errorf("%s: delay %d, want %d", c.ID, got.Delay, want.Delay)
		}
		if got := planned(t, in.history(), in.T, in.N, cyclic.Optimal); !slices.Equal(got, want.Polls) {
			t.Errorf("%s: polls at %v, want the paper's own %v", c.ID, got, want.Polls)
		}
	}
	for _, c := range cyclicCases(t, "A16") {
		var in circularCase
		var want map[string]struct {
			Misses int
			Delay  int `json:"total_delay"`
			Polls  []int
		}
		c.read(t, &in, &want)
		for key, w := range want {
			polls, err := strconv.Atoi(key)
			if err != nil {
				t.Fatal(err)
			}
			if got := in.optimum(t, c.ID, polls, w.Misses); got.Delay != w.Delay {
				t.Errorf("%s: delay %d with %d polls, want %d", c.ID, got.Delay, polls, w.Delay)
			}
			if got := in.history().Count(in.T, w.Polls); got.Misses != w.Misses || got.Delay != w.Delay {
				t.Errorf("%s: %v counts as %+v, want %d misses and %d delay", c.ID, w.Polls, got, w.Misses, w.Delay)
			}
		}
	}
}
