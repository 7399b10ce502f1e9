package policy_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
	"freshet/internal/units"
)

// A wicCase is a small instance whose answer was found by brute force.
type wicCase struct {
	ID, Group string
	Input     json.RawMessage
	Expected  json.RawMessage
	Tol       float64
}

// wicCases returns the cases whose IDs begin with prefix.
func wicCases(t *testing.T, prefix string) (cases []wicCase) {
	t.Helper()
	b, err := os.ReadFile("testdata/wic_oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []wicCase
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if strings.HasPrefix(c.ID, prefix) {
			cases = append(cases, c)
		}
	}
	if len(cases) == 0 {
		t.Fatalf("no case %s", prefix)
	}
	return cases
}

// read fills in and out from a case.
func (c wicCase) read(t *testing.T, in, out any) {
	t.Helper()
	if err := json.Unmarshal(c.Input, in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Expected, out); err != nil {
		t.Fatal(err)
	}
}

// oracleLife and oracleUrgency read the names that the cases use.
func oracleLife(t *testing.T, s string) objective.Visibility {
	t.Helper()
	s = strings.NewReplacer("time_window(", "window:", "change_window(", "last:", ")", "").Replace(s)
	l, err := objective.ParseVisibilityIn(time.Minute, s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func oracleUrgency(t *testing.T, s string) objective.Urgency {
	t.Helper()
	s = strings.NewReplacer("exponential(", "exp:", "sliding(", "window:", "polynomial(", "poly:",
		"polyexp_erlang(", "polyexp:", "chordal(", "chordal:", ")", "").Replace(s)
	u, err := objective.ParseUrgencyIn(time.Minute, s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// gainTable returns g(prev, j) for all instants, as Gains has them.
func gainTable(life objective.Visibility, u objective.Urgency, pi []float64) [][]float64 {
	g := make([][]float64, len(pi)+1)
	for prev := range g {
		var gains policy.Gains
		gains.Put(0, life.In(time.Minute), u.In(time.Minute))
		g[prev] = make([]float64, len(pi)+1)
		for j := prev + 1; j <= len(pi); j++ {
			gains.Step(pi[j-1 : j])
			g[prev][j] = gains.Of(0)
		}
	}
	return g
}

func agrees(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(b)) }

func TestGainOracle(t *testing.T) {
	for _, c := range wicCases(t, "B01") {
		t.Run(c.ID, func(t *testing.T) {
			var in struct {
				Pi            []float64
				Life, Urgency string
			}
			var want struct {
				From0 []float64 `json:"prev0_j1to8"`
				From3 []float64 `json:"prev3_j4to8"`
			}
			c.read(t, &in, &want)
			g := gainTable(oracleLife(t, in.Life), oracleUrgency(t, in.Urgency), in.Pi)
			for i, w := range want.From0 {
				if got := g[0][1+i]; !agrees(got, w, c.Tol) {
					t.Errorf("g(0,%d) = %v, want %v", 1+i, got, w)
				}
			}
			for i, w := range want.From3 {
				if got := g[3][4+i]; !agrees(got, w, c.Tol) {
					t.Errorf("g(3,%d) = %v, want %v", 4+i, got, w)
				}
			}
		})
	}
}

// What a sure change at one instant adds, as against no change there, is its
// life: the life functions can be read off the gains.
func TestLifeOracle(t *testing.T) {
	lifeOf := func(last int, pi []float64, j int) float64 {
		with, without := append([]float64{1}, pi[1:]...), append([]float64{0}, pi[1:]...)
		life := objective.Visibility{Kind: objective.VisibleLast, N: last}
		return gainTable(life, objective.Urgency{}, with)[0][j] - gainTable(life, objective.Urgency{}, without)[0][j]
	}
	for _, c := range wicCases(t, "B02") {
		var in struct {
			Pi float64
			Z  int
		}
		var want struct{ Life []float64 }
		c.read(t, &in, &want)
		pi := make([]float64, len(want.Life))
		for i := range pi {
			pi[i] = in.Pi
		}
		for d, w := range want.Life {
			if got := lifeOf(in.Z, pi, d+1); !agrees(got, w, c.Tol) {
				t.Errorf("%s: life after %d instants %v, want %v", c.ID, d, got, w)
			}
		}
	}
	for _, c := range wicCases(t, "B03") {
		var in struct {
			Pi []float64
			Z  int
		}
		var want struct{ Life []float64 }
		c.read(t, &in, &want)
		for i, w := range want.Life {
			if got := lifeOf(in.Z, in.Pi, i+1); !agrees(got, w, c.Tol) {
				t.Errorf("%s: life at %d is %v, want %v", c.ID, i+1, got, w)
			}
		}
	}
}

// The best K polls of one page, from all its gains.
func TestSinglePageOracle(t *testing.T) {
	for _, c := range wicCases(t, "B09") {
		var in struct {
			Pi            []float64
			Life, Urgency string
		}
		var want struct{ V []float64 }
		c.read(t, &in, &want)
		g := gainTable(oracleLife(t, in.Life), oracleUrgency(t, in.Urgency), in.Pi)
		n := len(in.Pi)
		best := make([]float64, n+1) // with the last of K polls at j; K is 0 and j is 0 at first
		for j := range best[1:] {
			best[j+1] = math.Inf(-1)
		}
		for k, w := range want.V {
			got := math.Inf(-1)
			for _, v := range best {
				got = max(got, v)
			}
			if !agrees(got, w, 1e-9) {
				t.Errorf("%s: %d polls are worth %v, want %v", c.ID, k, got, w)
			}
			next := make([]float64, n+1)
			for j := range next {
				next[j] = math.Inf(-1)
				for prev := range j {
					next[j] = max(next[j], best[prev]+g[prev][j])
				}
			}
			best = next
		}
	}
}

func TestPolyAsExponentials(t *testing.T) {
	for _, c := range wicCases(t, "B13") {
		var in struct {
			Alpha   float64
			Horizon int
		}
		var want map[string]struct {
			Terms     int
			H, X0, X1 float64
			Err       float64 `json:"max_rel_err"`
		}
		c.read(t, &in, &want)
		for name, w := range want {
			weights, decays := policy.Exponentials(in.Alpha, w.H, w.X0, w.X1)
			if len(weights) != w.Terms {
				t.Errorf("%s: %d terms, want %d", name, len(weights), w.Terms)
			}
			worst := 0.0
			for age := 0; age <= in.Horizon; age += 20 { // as the case was sampled
				sum := 0.0
				for i, weight := range weights {
					sum += weight * math.Pow(decays[i], float64(age))
				}
				exact := math.Pow(float64(1+age), -in.Alpha)
				worst = max(worst, math.Abs(sum-exact)/exact)
			}
			if !agrees(worst, w.Err, c.Tol) {
				t.Errorf("%s: relative error %v, want %v", name, worst, w.Err)
			}
		}
	}
}

// lives and urgencies are drawn from all kinds, at sizes that reach across
// windows and the lengths of tables.
func drawLife(t *rapid.T) objective.Visibility {
	kind := objective.VisibilityKind(rapid.IntRange(0, 3).Draw(t, "life"))
	switch kind {
	case objective.VisibleFor:
		return objective.Visibility{Kind: kind, For: time.Duration(rapid.IntRange(0, 12).Draw(t, "instants")) * time.Minute}
	case objective.VisibleLast:
		return objective.Visibility{Kind: kind, N: rapid.IntRange(1, 5).Draw(t, "changes")}
	}
	return objective.Visibility{Kind: kind}
}

func drawUrgency(t *rapid.T) objective.Urgency {
	u := objective.Urgency{Kind: objective.UrgencyKind(rapid.IntRange(0, 6).Draw(t, "urgency")), Per: time.Minute}
	switch u.Kind {
	case objective.UrgencyExp:
		u.A = rapid.SampledFrom([]float64{0, 0.3, 0.9, 1}).Draw(t, "rate")
	case objective.UrgencyWindow:
		u.Width = time.Duration(rapid.IntRange(0, 12).Draw(t, "width")) * time.Minute
	case objective.UrgencyPoly:
		u.A = rapid.SampledFrom([]float64{0, 0.01, 0.5, 1, 1.7, 3.7, 5}).Draw(t, "power")
	case objective.UrgencyPolyexp:
		u.K = rapid.IntRange(0, 4).Draw(t, "order")
		u.A = rapid.SampledFrom([]float64{0, 0.05, 0.5, 2}).Draw(t, "decay")
	case objective.UrgencyChordal:
		u.Width = time.Duration(rapid.SampledFrom([]float64{0.5, 1, 1.5, 4, 9.25}).Draw(t, "width") * float64(time.Minute))
	case objective.UrgencyTable:
		x := 1.0
		for range rapid.IntRange(1, 9).Draw(t, "length") {
			u.Table = append(u.Table, x)
			x *= rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "fall")
		}
	}
	return u
}

// Sources of any lives and urgencies, polled whenever, have accrued what the
// definition says, and exactly nothing where that is nothing.
func TestGainsAreTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const horizon = 45
		slots := rapid.IntRange(1, 5).Draw(t, "slots")
		var gains policy.Gains
		lives, urgencies := make([]objective.Visibility, slots), make([]objective.Urgency, slots)
		pi, prev := make([][]float64, slots), make([]int, slots)
		for s := range slots {
			lives[s], urgencies[s] = drawLife(t), drawUrgency(t)
			gains.Put(freshet.Slot(s), lives[s].In(time.Minute), urgencies[s].In(time.Minute))
			for range horizon {
				pi[s] = append(pi[s], policytest.DrawChance(t))
			}
		}
		p := make([]float64, slots)
		for j := 1; j <= horizon; j++ {
			for s := range slots {
				p[s] = pi[s][j-1]
			}
			gains.Step(p)
			for s := range slots {
				got, want := gains.Of(freshet.Slot(s)), policytest.Accrued(lives[s], urgencies[s], pi[s], prev[s], j)
				tol := 1e-12
				if urgencies[s].Kind == objective.UrgencyPoly {
					tol = 1e-6
				}
				if math.Abs(got-want) > tol*want+1e-15*want || want < 1e-290 && got != 0 {
					t.Fatalf("slot %d (%v, %v) has accrued %v from %d to %d, want %v", s, lives[s], urgencies[s], got, prev[s], j, want)
				}
				switch rapid.IntRange(0, 30).Draw(t, "then") {
				case 0:
					gains.Reset(freshet.Slot(s))
					prev[s] = j
				case 1: // another source takes the slot
					gains.Remove(freshet.Slot(s))
					lives[s], urgencies[s], prev[s] = drawLife(t), drawUrgency(t), j
					gains.Put(freshet.Slot(s), lives[s].In(time.Minute), urgencies[s].In(time.Minute))
				}
			}
		}
	})
}

// Polynomial urgency stays within a millionth over gaps of weeks, whatever its
// unit is in instants.
func TestPolyOverLongGaps(t *testing.T) {
	tests := []struct{ power, units float64 }{
		{0.01, 1}, {0.3, 1}, {1, 1}, {2, 1}, {3.7, 1},
		{0.01, 1. / 60}, {1, 1. / 60}, {2, 1. / 3600}, {3.7, 1. / 60}, {5, 1. / 60}, {20, 1. / 3600}, {100, 1. / 604800},
		{0.3, 60}, {1, 2.5},
	}
	for _, tt := range tests {
		u := objective.Decay{Kind: objective.UrgencyPoly, A: tt.power, Scale: tt.units}
		var gains policy.Gains
		gains.Put(0, objective.Span{Kind: objective.VisibleForever}, u)
		gains.Step([]float64{1})
		for age := 1; age <= 30_000; age++ {
			gains.Step([]float64{0})
			if want := u.At(float64(age)); math.Abs(gains.Of(0)-want) > 1e-6*want {
				t.Fatalf("%s is %v after %d instants, want %v", u, gains.Of(0), age, want)
			}
		}
	}
}

// What a change is worth after some time does not depend on how finely time is
// divided.
func TestGainsKeepTheUnit(t *testing.T) {
	for _, text := range []string{
		"uniform", "exp:0.5/1m", "half-life:1h", "window:10m", "poly:2/1m", "poly:5/10m", "polyexp:2,0.5/1m", "chordal:15m", "table:1,0.5,0.1/5m",
	} {
		u, err := objective.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, instant := range []time.Duration{time.Second, 20 * time.Second, time.Minute} {
			var gains policy.Gains
			gains.Put(0, objective.Span{Kind: objective.VisibleForever}, u.In(instant))
			gains.Step([]float64{1})
			for age := instant; age <= 20*time.Minute; age += instant {
				gains.Step([]float64{0})
				want := u.In(time.Second).At(age.Seconds())
				if age%time.Minute == 0 && !agrees(gains.Of(0), want, 1e-6) {
					t.Fatalf("%s in instants of %v is worth %v after %v, want %v", text, instant, gains.Of(0), age, want)
				}
			}
		}
	}
}

// A window is as long as it is written, and one that is too long to be counted
// out never ends.
func TestWindowsKeepTheUnit(t *testing.T) {
	for _, instant := range []time.Duration{time.Second, 20 * time.Second, time.Minute} {
		w := policy.NewWIC(policy.WICConfig{Start: noon, Instant: instant})
		w.Put(noon, 0, freshet.Source{ID: "a", Life: objective.Visibility{Kind: objective.VisibleFor, For: 3 * time.Minute}}, time.Time{})
		w.Put(noon, 1, freshet.Source{ID: "b", Life: objective.Visibility{Kind: objective.VisibleFor, For: 3000 * units.Day}}, time.Time{})
		worth := map[freshet.Slot]float64{}
		for j := 1; j <= 300; j++ {
			w.Choose(noon.Add(time.Duration(j)*instant), 2, func(slot freshet.Slot, x float64) bool {
				worth[slot] = x
				return false
			})
		}
		if want := float64(3*time.Minute/instant+1) / 64; !agrees(worth[0], want, 1e-12) {
			t.Errorf("in instants of %v a window of three minutes has accrued %v, want %v", instant, worth[0], want)
		}
		if want := 300. / 64; !agrees(worth[1], want, 1e-12) {
			t.Errorf("in instants of %v a window of years has accrued %v, want %v", instant, worth[1], want)
		}
	}
}

// An edit that leaves life and urgency alone leaves what has accrued.
func TestGainsThroughEdits(t *testing.T) {
	var gains policy.Gains
	life := objective.Span{Kind: objective.VisibleLast, N: 3}
	gains.Put(2, life, objective.Decay{})
	gains.Step([]float64{1, 1, 0.5})
	if anew := gains.Put(2, life, objective.Decay{}); anew || gains.Of(2) != 0.5 {
		t.Errorf("after an edit %v have accrued, want 0.5", gains.Of(2))
	}
	if gains.Of(0) != 0 || gains.Of(1) != 0 {
		t.Error("a slot without a source has accrued something")
	}
	if anew := gains.Put(2, objective.Span{}, objective.Decay{}); !anew || gains.Of(2) != 0 {
		t.Errorf("under another life %v have accrued, want nothing", gains.Of(2))
	}
	gains.Pass(2, 0.25, 1)
	if gains.Of(2) != 0.25 || gains.Len() != 3 {
		t.Errorf("%v have accrued in %d slots, want 0.25 in 3", gains.Of(2), gains.Len())
	}
}

// Many instants at once are the same as one after the other.
func TestGainsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		life, urgency := drawLife(t), drawUrgency(t)
		var once, often policy.Gains
		once.Put(0, life.In(time.Minute), urgency.In(time.Minute))
		often.Put(0, life.In(time.Minute), urgency.In(time.Minute))
		for range 3 {
			p, n := policytest.DrawChance(t), rapid.IntRange(1, 40).Draw(t, "instants")
			once.Pass(0, p, n)
			for range n {
				often.Step([]float64{p})
			}
			if !agrees(once.Of(0), often.Of(0), 1e-12) {
				t.Fatalf("(%v, %v) has accrued %v, want %v", life, urgency, once.Of(0), often.Of(0))
			}
		}
	})
}
