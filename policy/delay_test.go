package policy_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/policy"
)

func TestOracleDelayAndIndex(t *testing.T) {
	b, err := os.ReadFile("testdata/delay_index_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID    string
			Input struct{ Lam, X []float64 }
			// The index case has lists, the delay case an object for each number of polls.
			Expected json.RawMessage
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if c.Input.Lam != nil {
				oracleDelay(t, c.Input.Lam, c.Expected)
			} else {
				oracleIndex(t, c.Input.X, c.Expected)
			}
		})
	}
}

func oracleDelay(t *testing.T, intensity []float64, expected json.RawMessage) {
	var want map[int]struct {
		Delay float64
		Polls []int // instants from 1
	}
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	for polls, w := range want {
		offsets, err := policy.PlanDelay(intensity, polls)
		if err != nil {
			t.Fatal(err)
		}
		for i := range offsets {
			offsets[i]++
		}
		if !slices.Equal(offsets, w.Polls) {
			t.Errorf("%d polls at %v, want %v", polls, offsets, w.Polls)
		}
		for i := range offsets {
			offsets[i]--
		}
		if got := policy.ExpectedDelay(intensity, offsets); math.Abs(got-w.Delay) > 1e-9 {
			t.Errorf("%d polls with a delay of %v, want %v", polls, got, w.Delay)
		}
	}
}

func oracleIndex(t *testing.T, xs []float64, expected json.RawMessage) {
	var want struct{ G, I []float64 }
	if err := json.Unmarshal(expected, &want); err != nil {
		t.Fatal(err)
	}
	for i, x := range xs {
		if got := policy.Found(x); math.Abs(got-want.G[i]) > 1e-9 {
			t.Errorf("Found(%g) = %v, want %v", x, got, want.G[i])
		}
		if got := policy.Index(x); math.Abs(got-want.I[i]) > 1e-9 {
			t.Errorf("Index(%g) = %v, want %v", x, got, want.I[i])
		}
	}
}

// PlanDelay agrees with trying everything, and ExpectedDelay with adding up the
// wait of every instant's changes.
func TestPlanDelayIsOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "instants")
		intensity := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 4), func(i int) float64 { return float64(i) }), n, n).Draw(t, "intensity")
		polls := rapid.IntRange(1, n).Draw(t, "polls")
		best := math.Inf(1)
		for set := range 1 << n {
			var offsets []int
			for b := range n {
				if set>>b&1 == 1 {
					offsets = append(offsets, b)
				}
			}
			if len(offsets) == polls {
				if d := policy.ExpectedDelay(intensity, offsets); math.Abs(d-slowDelay(intensity, offsets)) > 1e-9 {
					t.Fatalf("polls at %v wait %v, want %v", offsets, d, slowDelay(intensity, offsets))
				} else {
					best = min(best, d)
				}
			}
		}
		offsets, err := policy.PlanDelay(intensity, polls)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.ExpectedDelay(intensity, offsets); len(offsets) != polls || got > best+1e-9 {
			t.Fatalf("%v polls at %v wait %v, the best wait %v", polls, offsets, got, best)
		}
	})
}

func slowDelay(intensity []float64, offsets []int) (sum float64) {
	for k, x := range intensity {
		wait := 0
		for !slices.Contains(offsets, (k+wait)%len(intensity)) {
			wait++
		}
		sum += x * float64(wait)
	}
	return sum
}

func TestPlanDelayRefuses(t *testing.T) {
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := policy.PlanDelay([]float64{1, bad}, 1); err == nil {
			t.Errorf("an intensity of %v is taken", bad)
		}
	}
	if _, err := policy.PlanDelay([]float64{1}, 2); err == nil {
		t.Error("two polls fit into a period of one instant")
	}
}
