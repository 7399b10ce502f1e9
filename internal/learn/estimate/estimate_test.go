package estimate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func minute(j int) time.Time { return noon.Add(time.Duration(j) * time.Minute) }

// oracle reads a case whose answer was found otherwise.
func oracle(t *testing.T, prefix string, in, out any) (tol float64) {
	t.Helper()
	b, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID              string
		Input, Expected json.RawMessage
		Tol             float64
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !strings.HasPrefix(c.ID, prefix) {
			continue
		}
		if err := json.Unmarshal(c.Input, in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, out); err != nil {
			t.Fatal(err)
		}
		return c.Tol
	}
	t.Fatalf("no case %s", prefix)
	return 0
}

// history is a truth by ID.
type history map[freshet.SourceID][]int32

func (h history) truth(instants int) estimate.Truth {
	return estimate.Truth{Start: noon, Instants: instants, Changes: func(id freshet.SourceID) []int32 { return h[id] }}
}

// table asks an estimator for the chances of every instant, slot by slot.
func table(e freshet.Estimator, slots, instants int) [][]float64 {
	rows := make([][]float64, slots)
	dst := make([]float64, slots)
	for j := 1; j <= instants; j++ {
		e.Chances(dst, minute(j-1), minute(j))
		for s, p := range dst {
			rows[s] = append(rows[s], p)
		}
	}
	return rows
}

func TestExact(t *testing.T) {
	e := estimate.NewExact(history{"a": {1, 4}, "b": {4, 5, 9}, "c": nil}.truth(5))
	for i, id := range []freshet.SourceID{"b", "a", "c", "b"} {
		e.Put(time.Time{}, freshet.Slot(i), freshet.Source{ID: id}, time.Time{})
	}
	e.Remove(3)
	want := [][]float64{{0, 0, 0, 1, 1, 0}, {1, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}
	if diff := cmp.Diff(want, table(e, 5, 6)); diff != "" {
		t.Error("chances differ (-want +got):\n" + diff)
	}
	if got := e.Expect(0, minute(3), minute(5)); got != 2 {
		t.Errorf("%v changes of b are expected from 3 to 5, want 2", got)
	}
	dst := make([]float64, 3)
	e.Chances(dst, minute(1), minute(4).Add(20*time.Second))
	if diff := cmp.Diff([]float64{1, 1, 0}, dst); diff != "" {
		t.Error("chances over three instants differ (-want +got):\n" + diff)
	}
	e.Put(time.Time{}, 2, freshet.Source{ID: "a"}, time.Time{})
	e.Chances(dst, minute(0), minute(1))
	if diff := cmp.Diff([]float64{0, 1, 1}, dst); diff != "" {
		t.Error("chances after an edit differ (-want +got):\n" + diff)
	}
}

func TestNoisePeakOracle(t *testing.T) {
	var in struct{ Sigma []float64 }
	var want struct {
		Peak   []float64
		OnGrid []float64 `json:"peak_normalised_on_grid"`
	}
	tol := oracle(t, "B07", &in, &want)
	for i, sigma := range in.Sigma {
		e := estimate.NewNoisy(history{"a": {50}}.truth(100), estimate.Noise{Sigma: sigma})
		e.Put(time.Time{}, 0, freshet.Source{ID: "a"}, time.Time{})
		row := table(e, 1, 100)[0]
		if got := row[49]; math.Abs(got-want.OnGrid[i]) > tol || math.Abs(got-want.Peak[i]) > 1e-8 {
			t.Errorf("a spread of %v peaks at %v, want %v", sigma, got, want.OnGrid[i])
		}
		sum, second := 0.0, 0.0
		for j, p := range row {
			sum += p
			second += p * float64((j-49)*(j-49))
		}
		if math.Abs(sum-1) > 1e-9 || math.Abs(math.Sqrt(second)-sigma) > 1e-6 {
			t.Errorf("a spread of %v comes to %v with deviation %v", sigma, sum, math.Sqrt(second))
		}
		if got := e.Expect(0, minute(0), minute(100)); math.Abs(got-1) > 1e-9 {
			t.Errorf("%v changes are expected in all, want 1", got)
		}
	}
}

// Without noise, Noisy is Exact; with all of it, as many changes are expected as
// happen, none more likely than surely, and the same whoever comes first.
func TestNoisy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 60
		h := history{}
		ids := make([]freshet.SourceID, rapid.IntRange(1, 6).Draw(t, "pages"))
		for i := range ids {
			ids[i] = freshet.SourceID(fmt.Sprint("p", i))
			at := rapid.SliceOfNDistinct(rapid.Int32Range(1, n), 0, 12, rapid.ID).Draw(t, "changes")
			slices.Sort(at)
			h[ids[i]] = at
		}
		put := func(e freshet.Estimator) freshet.Estimator {
			for i, id := range ids {
				e.Put(time.Time{}, freshet.Slot(i), freshet.Source{ID: id}, time.Time{})
			}
			return e
		}
		exact := table(put(estimate.NewExact(h.truth(n))), len(ids), n)
		if diff := cmp.Diff(exact, table(put(estimate.NewNoisy(h.truth(n), estimate.Noise{})), len(ids), n)); diff != "" {
			t.Fatal("without noise the truth differs (-want +got):\n" + diff)
		}
		noise := estimate.Noise{
			FPN: rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "fpn"), Sigma: rapid.SampledFrom([]float64{0, 0.7, 3}).Draw(t, "sigma"),
			Calibrated: rapid.Bool().Draw(t, "calibrated"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		noisy := put(estimate.NewNoisy(h.truth(n), noise))
		rows := table(noisy, len(ids), n)
		for i, id := range ids {
			sum := 0.0
			for j, p := range rows[i] {
				if p < 0 || p > 1 {
					t.Fatalf("a chance of %v", p)
				}
				if expect := noisy.Expect(freshet.Slot(i), minute(j), minute(j+1)); math.Abs(min(1, expect)-p) > 1e-12 {
					t.Fatalf("%v changes are expected where the chance is %v", expect, p)
				}
				sum += p
			}
			if all := noisy.Expect(freshet.Slot(i), minute(0), minute(n)); sum > all+1e-9 || all > float64(len(h[id]))+1e-9 {
				t.Errorf("%v of %v changes are expected, with chances of %v", all, len(h[id]), sum)
			}
		}
		slices.Reverse(ids)
		back := table(put(estimate.NewNoisy(h.truth(n), noise)), len(ids), n)
		slices.Reverse(back)
		if diff := cmp.Diff(rows, back); diff != "" {
			t.Error("another order gives other chances (-want +got):\n" + diff)
		}
	})
}

// Of many changes, FPN are moved, and a calibrated spread is off by its width, as
// often early as late.
func TestNoiseIsAsLarge(t *testing.T) {
	const n, changes = 100_000, 5000
	var at []int32
	for j := range int32(changes) {
		at = append(at, 10+20*j)
	}
	centres := func(noise estimate.Noise) (near int, mean, deviation float64) {
		noise.Seed = 7
		e := estimate.NewNoisy(history{"a": at}.truth(n), noise)
		e.Put(time.Time{}, 0, freshet.Source{ID: "a"}, time.Time{})
		found := 0
		for j, p := range table(e, 1, n)[0] {
			if p < 0.39 { // the peak of a spread of 1, or surely
				continue
			}
			off := float64((j+1)%20 - 10)
			found++
			if off == 0 {
				near++
			}
			mean += off
			deviation += off * off
		}
		return near, mean / float64(found), math.Sqrt(deviation / float64(found))
	}
	if same, _, _ := centres(estimate.Noise{FPN: 0.3}); same < 3400 || same > 3800 {
		t.Errorf("%d of %d changes stayed, want about 0.7 of them and a few that fell back", same, changes)
	}
	if same, _, off := centres(estimate.Noise{Sigma: 1}); same != changes || off != 0 {
		t.Errorf("%d of %d centres stayed, want all", same, changes)
	}
	_, mean, off := centres(estimate.Noise{Sigma: 1, Calibrated: true})
	if off < 0.95 || off > 1.1 {
		t.Errorf("centres are off by %v, want about 1", off)
	}
	if math.Abs(mean) > 0.06 { // four times what chance does
		t.Errorf("centres are off by %v on average, want as many before their changes as after", mean)
	}
}

func TestConstant(t *testing.T) {
	var c estimate.Constant
	c.Put(time.Time{}, 0, freshet.Source{}, time.Time{})
	c.Put(time.Time{}, 2, freshet.Source{}, time.Time{})
	dst := []float64{9, 9, 9, 9}
	c.Chances(dst, noon, minute(2))
	if want := 1 - 0.99*0.99; math.Abs(dst[0]-want) > 1e-15 || dst[1] != 0 || dst[2] != dst[0] || dst[3] != 0 {
		t.Errorf("chances %v, want %v where there is a source", dst, want)
	}
	c.Put(time.Time{}, 1, freshet.Source{}, time.Time{})
	c.Remove(0)
	c.Remove(0)
	c.Put(time.Time{}, 0, freshet.Source{}, time.Time{})
	c.Chances(dst, noon, minute(1))
	if want := 1 - math.Pow(0.99, 1); dst[1] != want || dst[0] != want || dst[3] != 0 {
		t.Errorf("chances %v, want %v", dst, want)
	}
	fixed := estimate.Constant{Chance: 0.5, Instant: time.Second}
	if got := fixed.Expect(0, noon, noon.Add(3*time.Second)); got != 1.5 {
		t.Errorf("%v changes expected in three instants of a half, want 1.5", got)
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"exact", "poisson", "constant:0.25", "noisy:0.1,2"} {
		spec, err := estimate.Parse(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if spec.String() != s {
			t.Errorf("%s is written %s", s, spec)
		}
		if _, err := spec.New(history{}.truth(3), 1); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		_, err = spec.New(estimate.Truth{}, 1)
		if spec.ReadsTruth() != (err != nil) || err != nil && freshet.HintOf(err) == "" {
			t.Errorf("%s without a history: %v", s, err)
		}
	}
	for _, s := range []string{"", "exactly", "exact:1", "noisy", "noisy:1", "noisy:2,1", "noisy:0.1,-1", "noisy:0.1,x", "constant", "constant:0", "constant:NaN", "poisson:"} {
		if _, err := estimate.Parse(s); err == nil || !strings.Contains(err.Error(), "noisy:FPN,SIGMA") {
			t.Errorf("%q: error %v, want one that lists what there is", s, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"exact", "noisy:0.1,2", "constant:1e-3", "poisson:", "noisy:,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := estimate.Parse(s)
		if err != nil {
			return
		}
		if again, err := estimate.Parse(spec.String()); err != nil || again != spec {
			t.Errorf("%q is read as %v, which is read as %v (%v)", s, spec, again, err)
		}
	})
}
