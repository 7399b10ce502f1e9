package policy_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet/objective"
	"freshet/internal/sched/policy"
)

// valuePairs are lives and urgencies, and how far a Value of them may be from
// its definition, relative to what there is to gain.
var valuePairs = []struct {
	life, urgency string
	error         float64
}{
	{"overwrite", "uniform", 1e-9}, {"overwrite", "exp:0.9", 1e-9}, {"overwrite", "exp:0.5", 1e-9}, {"overwrite", "exp:0", 1e-9},
	{"append", "exp:0.9", 1e-9}, {"append", "exp:0", 1e-9},
	{"overwrite", "window:7", 1e-9}, {"window:5", "exp:0.8", 1e-9}, {"append", "exp:0.999", 1e-9},
	{"last:1", "uniform", 1e-9}, {"last:3", "uniform", 1e-9}, {"last:40", "uniform", 2e-2},
	{"last:3", "exp:0.9", 5e-3}, {"last:40", "exp:0.9", 1e-2},
	{"append", "poly:0.5", 1e-3}, {"append", "poly:2", 1e-3}, {"overwrite", "poly:1", 1e-3}, {"last:3", "poly:1", 5e-3}, {"window:20", "poly:1", 1e-3},
	{"overwrite", "polyexp:2,0.3", 1e-3}, {"append", "polyexp:1,0.05", 1e-3},
	{"append", "chordal:30", 1e-3}, {"overwrite", "chordal:30", 1e-3}, {"overwrite", "chordal:2.5", 1e-9},
	{"overwrite", "table:1,1,0.8,0.1", 1e-9}, {"append", "table:1,0.5,0.5,0.2", 1e-9},
}

func parsePair(tb testing.TB, life, urgency string) (objective.Span, objective.Decay) {
	tb.Helper()
	l, err := objective.ParseVisibilityIn(time.Minute, life)
	if err != nil {
		tb.Fatal(err)
	}
	u, err := objective.ParseUrgencyIn(time.Minute, urgency)
	if err != nil {
		tb.Fatal(err)
	}
	return l.In(time.Minute), u.In(time.Minute)
}

// A Value is what the sums over instants give.
func TestValueIsItsDefinition(t *testing.T) {
	for _, pair := range valuePairs {
		t.Run(pair.life+" "+pair.urgency, func(t *testing.T) {
			life, urgency := parsePair(t, pair.life, pair.urgency)
			v := policy.NewValue(policy.ValueConfig{Life: life, Urgency: urgency})
			for _, p := range []float64{1e-6, 0.003, 0.05, 0.4, 0.95} {
				// As Gains has it, which other tests hold to the definition.
				var gains policy.Gains
				gains.Put(0, life, urgency)
				gains.Step([]float64{p})
				g := gains.Of(0)
				for tau := 1; tau <= 200; tau++ {
					gains.Step([]float64{p})
					next := gains.Of(0)
					x := -math.Log1p(-p) * float64(tau)
					want := max(0, g-float64(tau)*(next-g))
					if got := v.Gain(x, float64(tau)); math.Abs(got-g) > pair.error*g {
						t.Fatalf("with chance %v the gain after %d instants is %v, want %v", p, tau, got, g)
					}
					if got := v.Index(x, float64(tau)); math.Abs(got-want) > pair.error*want+max(1e-9, 3*pair.error)*g {
						t.Fatalf("with chance %v the index after %d instants is %v, want %v (of %v)", p, tau, got, want, g)
					}
					g = next
				}
			}
		})
	}
}

// Where instants are so short that time has none, gain and index are those of a page that
// changes at random: 1 - e^-x and 1 - (1 + x)e^-x for x changes expected. What a poll is worth
// to freshness has the same shape.
func TestIndexWithoutInstants(t *testing.T) {
	const tau = 1e7
	life, urgency := parsePair(t, "overwrite", "uniform")
	v := policy.NewValue(policy.ValueConfig{Life: life, Urgency: urgency})
	for _, c := range []struct{ x, gain, index float64 }{
		{0.25, 0.22119921692859512, 0.026499021160743874},
		{0.5, 0.3934693402873666, 0.09020401043104986},
		{1, 0.6321205588285577, 0.26424111765711533},
		{2, 0.8646647167633873, 0.5939941502901619},
		{3, 0.950212931632136, 0.8008517265285442},
	} {
		rate := c.x / tau
		for what, got := range map[string][2]float64{
			"gain":         {v.Gain(c.x, tau), c.gain},
			"index":        {v.Index(c.x, tau), c.index},
			"of freshness": {rate * policy.FreshIndex(rate, tau), c.index},
		} {
			if math.Abs(got[0]-got[1]) > 1e-6 {
				t.Errorf("with %v changes expected the %s is %v, want %v", c.x, what, got[0], got[1])
			}
		}
	}
}

// Waiting for what is never lost costs a little all the same, so that more is
// worth more.
func TestPatience(t *testing.T) {
	appends := policy.NewValue(policy.ValueConfig{Life: objective.Span{Kind: objective.VisibleForever}})
	b := 1.0 / 50_000
	for _, tau := range []float64{1, 50, 3000} {
		g := 0.0
		for s := range int(tau) {
			g += 0.1 * math.Exp(-b*float64(s))
		}
		want := g - tau*0.1*math.Exp(-b*tau)
		if got := appends.Index(-math.Log1p(-0.1)*tau, tau); math.Abs(got-want) > 1e-9*g {
			t.Errorf("the index after %v instants is %v, want %v", tau, got, want)
		}
	}
	if few, many := appends.Index(1, 100), appends.Index(2, 100); !(0 < few && few < many) {
		t.Errorf("one expected change has the index %v and two have %v", few, many)
	}
}

// Whatever the life and the urgency: a longer wait has a higher index, no index
// is above its gain, and both are finite.
func TestIndexGrows(t *testing.T) {
	for _, pair := range valuePairs {
		life, urgency := parsePair(t, pair.life, pair.urgency)
		v := policy.NewValue(policy.ValueConfig{Life: life, Urgency: urgency})
		rapid.Check(t, func(t *rapid.T) {
			rate := math.Exp(rapid.Float64Range(-18, 4).Draw(t, "log of the rate"))
			before := 0.0
			for tau := 0.25; tau < 1e6; tau *= 1.7 {
				g, i := v.Gain(rate*tau, tau), v.Index(rate*tau, tau)
				slack := max(1e-9, 4*pair.error) * g
				if !(i <= g*(1+1e-9)) || i < before-slack || math.IsNaN(g) || math.IsInf(g, 0) {
					t.Fatalf("%s %s: %v instants at rate %v have the gain %v and the index %v, after %v", pair.life, pair.urgency, tau, rate, g, i, before)
				}
				before = i
			}
		})
		if v.Index(0, 5) != 0 || v.Index(0, 0) != 0 || v.Gain(0, 0) != 0 {
			t.Errorf("%s %s: a poll where nothing is expected is worth something", pair.life, pair.urgency)
		}
	}
}

// BenchmarkIndex is a call in a tight loop.
func BenchmarkIndex(b *testing.B) {
	for _, pair := range valuePairs {
		b.Run(fmt.Sprintf("%s+%s", pair.life, pair.urgency), func(b *testing.B) {
			life, urgency := parsePair(b, pair.life, pair.urgency)
			v := policy.NewValue(policy.ValueConfig{Life: life, Urgency: urgency})
			i, sum := 0, 0.0
			b.ReportAllocs()
			for b.Loop() {
				i++
				tau := float64(1 + i&127)
				sum += v.Index(0.01*tau, tau)
			}
			sink = sum
		})
	}
}
