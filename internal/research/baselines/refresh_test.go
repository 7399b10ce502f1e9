package baselines_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/lab"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// The frequencies of Azar et al. and of LambdaCrawl are those that a reference
// implementation finds.
func TestFrequenciesOfFiveSources(t *testing.T) {
	rates := []float64{1, 2, 3, 4, 5}
	for _, c := range []struct {
		weights        []float64
		fresh, penalty []float64
	}{
		{[]float64{1, 1, 1, 1, 1},
			[]float64{1.3859707741251608, 1.374272228193635, 1.1326226061592246, 0.7719415482503216, 0.3351928432716562},
			[]float64{0.7828684447503571, 0.9471781872937053, 1.0371744795359663, 1.0956430327388849, 1.137135855681088}},
		{[]float64{5, 1, 1, 0.5, 3},
			[]float64{2.8638655088804743, 0.4437231161255699, 0, 0, 1.6924113749939558},
			[]float64{1.5695808817626107, 0.6165599309839773, 0.6609949133892896, 0.3692332114975345, 1.783631062366589}},
	} {
		for _, s := range []struct {
			name      string
			got, want []float64
		}{
			{"azar", baselines.Freshest(rates, c.weights, 5), c.fresh},
			{"lambdacrawl", baselines.Harmonic(rates, c.weights, 5), c.penalty},
		} {
			for i := range s.want {
				if math.Abs(s.got[i]-s.want[i]) > 1e-6 {
					t.Errorf("%s gives %v, want %v", s.name, s.got, s.want)
					break
				}
			}
		}
	}
}

// Both objectives are concave, so frequencies that spend the budget are optimal if no shift
// of a poll from one source to another improves them.
func TestFrequenciesCannotBeImproved(t *testing.T) {
	freshness := func(f, rate, weight float64) float64 { return weight * f / (f + rate) }
	penalty := func(f, rate, weight float64) float64 { return -weight * math.Log((f+rate)/f) }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "sources")
		rates, weights := make([]float64, n), make([]float64, n)
		for i := range n {
			rates[i] = math.Exp(rapid.Float64Range(-6, 4).Draw(t, "rate"))
			weights[i] = math.Exp(rapid.Float64Range(-3, 3).Draw(t, "weight"))
		}
		budget := math.Exp(rapid.Float64Range(-4, 4).Draw(t, "budget"))
		for name, s := range map[string]struct {
			frequencies []float64
			worth       func(f, rate, weight float64) float64
		}{
			"azar":        {baselines.Freshest(rates, weights, budget), freshness},
			"lambdacrawl": {baselines.Harmonic(rates, weights, budget), penalty},
		} {
			sum := 0.0
			for _, f := range s.frequencies {
				sum += f
			}
			if math.Abs(sum-budget) > 1e-6*budget {
				t.Fatalf("%s spends %v of %v", name, sum, budget)
			}
			for from, f := range s.frequencies {
				shift := f / 100
				for to, g := range s.frequencies {
					if from == to || shift == 0 {
						continue
					}
					before := s.worth(f, rates[from], weights[from]) + s.worth(g, rates[to], weights[to])
					after := s.worth(f-shift, rates[from], weights[from]) + s.worth(g+shift, rates[to], weights[to])
					if after > before+1e-9*(1+math.Abs(before)) {
						t.Fatalf("%s: %v from source %d to %d improves %v to %v", name, shift, from, to, before, after)
					}
				}
			}
		}
	})
}

// All estimators come to the true rate, also where the gaps differ.
func TestEstimatorsConverge(t *testing.T) {
	for _, rate := range []float64{0.02, 0.1, 0.5} {
		r := rand.New(rand.NewPCG(5, 6))
		const frequency = 0.2
		var gaps []float64
		var changed []bool
		online := 1.0
		for k := range 20_000 {
			gap := r.ExpFloat64() / frequency
			gaps = append(gaps, gap)
			changed = append(changed, r.Float64() < -math.Expm1(-rate*gap))
			online = baselines.Approximated(online, frequency, float64(k+1), changed[k])
		}
		for name, got := range map[string]float64{
			"likeliest":      baselines.Likeliest(gaps, changed, 1/frequency),
			"moment-matched": baselines.MomentMatched(gaps, changed, 1/frequency),
			"approximated":   online,
		} {
			if math.Abs(got-rate) > 0.08*rate {
				t.Errorf("a rate of %v is estimated as %.4f by %s", rate, got, name)
			}
		}
	}
	few := func(n int, changed bool) ([]float64, []bool) {
		gaps, all := make([]float64, n), make([]bool, n)
		for i := range n {
			gaps[i], all[i] = 5, changed
		}
		return gaps, all
	}
	for _, changed := range []bool{false, true} {
		gaps, all := few(50, changed)
		for name, got := range map[string]float64{"likeliest": baselines.Likeliest(gaps, all, 5), "moment-matched": baselines.MomentMatched(gaps, all, 5)} {
			if changed != (got > 0.5) || got <= 0 || math.IsInf(got, 1) {
				t.Errorf("if all of 50 polls give %v, the rate is %v by %s", changed, got, name)
			}
		}
	}
}

// Of the first 2^k - 1 passes about 2^(k/2) explore, so that exploring costs as much as the
// square root of the time.
func TestExploringBecomesRare(t *testing.T) {
	explored := 0
	for pass := range 1 << 16 {
		if baselines.ExplorePass(pass) {
			explored++
		}
	}
	if root := math.Sqrt(1 << 16); float64(explored) < root || float64(explored) > 4*root {
		t.Errorf("%d of %d passes explore, want a few times %v", explored, 1<<16, root)
	}
}

// poissonWeb is pages that change at random, with their rates an instant.
func poissonWeb(instants int) (*lab.Grid, []float64) {
	r := rand.New(rand.NewPCG(7, 8))
	rates := make([]float64, 40)
	changes := make([][]int, len(rates))
	for i := range rates {
		rates[i] = math.Exp(-6 + 4.5*float64(i)/float64(len(rates)-1)) // 0.0025 to 0.22
		for j := 1; j <= instants; j++ {
			if r.Float64() < -math.Expm1(-rates[i]) {
				changes[i] = append(changes[i], j)
			}
		}
	}
	return lab.NewGrid(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Minute, instants, changes), rates
}

// On a web like that of the papers, each rule comes near to the freshness that its paper
// says is optimal for known rates and polls at random. Polls at equal distances can be
// better than that.
func TestLiteratureReachesTheOptimumOfItsModel(t *testing.T) {
	const instants, budget = 30_000, 1.0
	g, rates := poissonWeb(instants)
	even := make([]float64, len(rates))
	for i := range even {
		even[i] = 1
	}
	frequencies := baselines.Freshest(rates, even, budget)
	best := 0.0
	for i, f := range frequencies {
		best += f / (f + rates[i]) / float64(len(rates))
	}
	for name, least := range map[string]float64{
		"azar": 1, "explore-commit": 0.97, "avrachenkov": 0.92, "ncis": 1, "lambdacrawl": 0.95,
	} {
		p, err := baselines.New(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: budget})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s is fresh %.4f of the time, recall %.4f; the optimum for polls at random is %.4f", name, s.Freshness, s.Recall, best)
		if s.Freshness < least*best {
			t.Errorf("%s is fresh %.4f of the time, want at least %.4f of the optimum %.4f", name, s.Freshness, least, best)
		}
	}
}
