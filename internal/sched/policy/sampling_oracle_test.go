package policy_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"freshet/internal/sched/policy"
)

// samplingCase is a small instance whose exact answer was found by other means.
type samplingCase struct {
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
	Tol      float64         `json:"tol"`
}

// samplingOracle reads the case called id, and its input and expected answer.
func samplingOracle(t *testing.T, id string, input, expected any) cmp.Option {
	t.Helper()
	b, err := os.ReadFile("testdata/sampling_oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []samplingCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.ID != id {
			continue
		}
		if err := json.Unmarshal(c.Input, input); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, expected); err != nil {
			t.Fatal(err)
		}
		return cmpopts.EquateApprox(0, c.Tol)
	}
	t.Fatalf("there is no case %s", id)
	return nil
}

// same fails unless got is want within the case's tolerance.
func same(t *testing.T, what string, got, want any, within cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, within); diff != "" {
		t.Errorf("%s differs from the oracle (-want +got):\n%s", what, diff)
	}
}

func TestSharesOfExample2(t *testing.T) {
	var in struct {
		N, R, S int
		Changed []int
	}
	var want struct {
		Rounded  []int     `json:"prop_alloc_rounded"`
		Exact    []float64 `json:"prop_alloc_exact"`
		RoundedE float64   `json:"prop_expected_rounded"`
		ExactE   float64   `json:"prop_expected_exact"`
		GreedyE  float64   `json:"greedy_expected"`
	}
	within := samplingOracle(t, "C01_example2", &in, &want)
	var sites []policy.Site
	for _, changed := range in.Changed {
		sites = append(sites, policy.Site{Size: in.N, Sampled: in.S, Changed: changed})
	}
	left := float64(in.R - in.S*len(sites))
	exact := policy.ShareProportional(sites, left)
	whole := policy.Whole(exact)
	rounded := make([]float64, len(whole))
	for i, n := range whole {
		rounded[i] = float64(n)
	}
	ratio := func(shares []float64) float64 { return policy.ExpectedChanges(sites, shares) / float64(in.R) }
	same(t, "the proportional share", exact, want.Exact, within)
	same(t, "the rounded share", whole, want.Rounded, within)
	same(t, "what the proportional share brings", ratio(exact), want.ExactE, within)
	same(t, "what the rounded share brings", ratio(rounded), want.RoundedE, within)
	same(t, "what the greedy share brings", ratio(policy.ShareGreedy(sites, left)), want.GreedyE, within)
}

// expectedRatio is the ChangeRatio of two sites of size pages with changed of
// them changed, over all samples that can be drawn. Ties go either way.
func expectedRatio(share func([]policy.Site, float64) []float64, size, downloads, s int, changed []int) float64 {
	hyper := func(c, changed int) float64 {
		return choices(changed, c) * choices(size-changed, s-c) / choices(size, s)
	}
	sum := 0.0
	for a := range s + 1 {
		for b := range s + 1 {
			chance := hyper(a, changed[0]) * hyper(b, changed[1])
			if chance == 0 {
				continue
			}
			left := float64(downloads - 2*s)
			first := share([]policy.Site{{Size: size, Sampled: s, Changed: a}, {Size: size, Sampled: s, Changed: b}}, left)
			other := share([]policy.Site{{Size: size, Sampled: s, Changed: b}, {Size: size, Sampled: s, Changed: a}}, left)
			for i, c := range []int{a, b} {
				rest := 0.0
				if size > s {
					rest = float64(changed[i]-c) / float64(size-s)
				}
				sum += chance * (float64(c) + rest*(first[i]+other[1-i])/2)
			}
		}
	}
	return sum / float64(downloads)
}

// choices returns the number of ways to choose k of n.
func choices(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	r := 1.0
	for i := range k {
		r *= float64(n-i) / float64(i+1)
	}
	return r
}

func TestExpectedRatioOfFigure1(t *testing.T) {
	var in struct {
		N, R    int
		Changed []int
		S       []int
	}
	var want struct {
		Greedy, Proportional map[string]float64
	}
	within := samplingOracle(t, "C02_figure1", &in, &want)
	greedy, proportional := map[string]float64{}, map[string]float64{}
	for _, s := range in.S {
		greedy[strconv.Itoa(s)] = expectedRatio(policy.ShareGreedy, in.N, in.R, s, in.Changed)
		proportional[strconv.Itoa(s)] = expectedRatio(policy.ShareProportional, in.N, in.R, s, in.Changed)
	}
	same(t, "the greedy curve", greedy, want.Greedy, within)
	same(t, "the proportional curve", proportional, want.Proportional, within)
}

func TestSampleSizes(t *testing.T) {
	var want struct {
		Rows []struct {
			N, R, Rule float64
		}
	}
	within := samplingOracle(t, "C03_theorem2_uniform", &struct{}{}, &want)
	for _, row := range want.Rows { // sites spread evenly over [0, 1]
		same(t, "the rule of thumb", policy.SampleSize(row.N, row.R), row.Rule, within)
	}
	var in struct{ N, R float64 }
	var rule struct{ Value float64 }
	within = samplingOracle(t, "C04_rule_of_thumb", &in, &rule)
	same(t, "the size for the paper's data", policy.SampleSize(in.N, in.R), rule.Value, within)
}

// vast is the size of a site of which samples are as good as nothing.
const vast = 1 << 60

func TestIntervals(t *testing.T) {
	type pair = []float64
	var want struct {
		Rows []struct {
			Alpha  float64
			X, N   int
			Wilson pair
			Finite pair `json:"wilson_fpc_N100"`
		}
	}
	within := samplingOracle(t, "C05_intervals", &struct{}{}, &want)
	as := func(i policy.Interval) pair { return pair{i.Low, i.High} }
	for _, r := range want.Rows {
		same(t, "Wilson's interval", as(policy.FiniteWilsonInterval(r.X, r.N, vast, r.Alpha)), r.Wilson, within)
		same(t, "Wilson's finite interval", as(policy.FiniteWilsonInterval(r.X, r.N, 100, r.Alpha)), r.Finite, within)
	}
	if i := policy.FiniteWilsonInterval(3, 10, 10, 0.9); i.Low != 0.3 || i.High != 0.3 {
		t.Errorf("a site that was sampled whole lies in %v, want it known", i)
	}
}

func TestVerdictsOfAdaptiveSampling(t *testing.T) {
	wilson := func(s policy.Site) policy.Interval {
		return policy.FiniteWilsonInterval(s.Changed, s.Sampled, vast, 0.9)
	}
	var in struct {
		Changed []int
		K, N, R int
	}
	var want struct {
		Left      float64 `json:"resources_left"`
		Threshold float64 `json:"rho_t"`
		Intervals [][]float64
		After     int `json:"left_after_downloads"`
	}
	within := samplingOracle(t, "C06_adaptive_step", &in, &want)
	var sites []policy.Site
	for _, changed := range in.Changed {
		sites = append(sites, policy.Site{Size: in.N, Sampled: in.K, Changed: changed})
	}
	left := float64(in.R - in.K*len(sites))
	threshold := policy.Threshold(sites, left)
	verdicts := policy.Judge(sites, threshold, wilson)
	same(t, "what is left after the first round", left, want.Left, within)
	same(t, "the first threshold", threshold, want.Threshold, within)
	same(t, "the first verdicts", verdicts, []policy.Verdict{policy.Discard, policy.Undecided, policy.Undecided, policy.Download}, within)
	for i, s := range sites {
		same(t, "an interval of the first round", []float64{wilson(s).Low, wilson(s).High}, want.Intervals[i], within)
	}
	same(t, "what is left after the download", int(left)-sites[3].Left(), want.After, within)

	within = samplingOracle(t, "C07_adaptive_step2", &struct {
		Changed []int
		N       int
	}{}, &struct {
		Left      *float64 `json:"resources_left"`
		Threshold *float64 `json:"rho_t"`
	}{&want.Left, &want.Threshold})
	sites = []policy.Site{{Size: 100, Sampled: 20, Changed: 9}, {Size: 100, Sampled: 20, Changed: 11}}
	threshold = policy.Threshold(sites, float64(want.After-20))
	same(t, "what is left after the second round", float64(want.After-20), want.Left, within)
	same(t, "the second threshold", threshold, want.Threshold, within)
	same(t, "the second verdicts", policy.Judge(sites, threshold, wilson), []policy.Verdict{policy.Undecided, policy.Undecided}, within)
}

func TestArithmeticOfTheText(t *testing.T) {
	var want struct {
		Cycles int     `json:"example3_cycles"`
		Pages  float64 `json:"subset_pages_R10000"`
		Ratio  float64 `json:"changeratio_simple"`
	}
	within := samplingOracle(t, "C08_misc", &struct{}{}, &want)
	same(t, "the pages of a subset", policy.SubsetPages(10_000, 0.18), want.Pages, within)
	same(t, "a share of changes", policy.Site{Size: 10, Sampled: 10, Changed: 7}.Ratio(), want.Ratio, within)
	sizes := make([]int, 1000)
	for i := range sizes {
		sizes[i] = 100
	}
	cycles := 0
	for at := 0; at < len(sizes); at += policy.Subset(sizes, at, 1000) {
		cycles++
	}
	same(t, "the cycles of example 3", cycles, want.Cycles, within)
}

func TestFrequenciesOfChoAndGarciaMolina(t *testing.T) {
	var in struct {
		Rates  []float64
		Budget float64
	}
	var want struct {
		Freshness   []float64 `json:"freshness_opt"`
		Age         []float64 `json:"age_opt"`
		Recall      []float64 `json:"recall_opt"`
		AtFreshness float64   `json:"freshness_at_opt"`
		Uniform     float64   `json:"freshness_uniform"`
		AtRecall    float64   `json:"recall_at_recall_opt"`
		Starved     float64   `json:"recall_at_fresh_opt"`
	}
	within := samplingOracle(t, "D01_cho_gm_table", &in, &want)
	ones := []float64{1, 1, 1, 1, 1}
	fresh := allocate(policy.Freshness, in.Rates, ones, in.Budget)
	recall := allocate(policy.Recall, in.Rates, ones, in.Budget)
	same(t, "the frequencies for freshness", fresh, want.Freshness, within)
	same(t, "the frequencies for age", allocate(policy.Age, in.Rates, ones, in.Budget), want.Age, within)
	same(t, "the frequencies for recall", recall, want.Recall, within)
	mean := func(frequencies, weights []float64) float64 {
		sum, all := 0.0, 0.0
		for i, rate := range in.Rates {
			sum += weights[i] * expectedFreshness(rate, frequencies[i])
			all += weights[i]
		}
		return sum / all
	}
	same(t, "the freshness at its best", mean(fresh, ones), want.AtFreshness, within)
	same(t, "the freshness of equal frequencies", mean(ones, ones), want.Uniform, within)
	same(t, "the recall at its best", mean(recall, in.Rates), want.AtRecall, within)
	same(t, "the recall at the best freshness", mean(fresh, in.Rates), want.Starved, within)

	var proportional struct {
		F1    float64 `json:"prop_f1"`
		Value float64 `json:"prop_value"`
	}
	within = samplingOracle(t, "D02_recall_proportional", &in, &proportional)
	two := allocate(policy.Recall, in.Rates, ones, in.Budget)
	same(t, "the frequency of the slower", two[0], proportional.F1, within)
	value := in.Rates[0]*expectedFreshness(in.Rates[0], two[0]) + in.Rates[1]*expectedFreshness(in.Rates[1], two[1])
	same(t, "the captures", value, proportional.Value, within)

	var curve struct{ B []float64 }
	var recalls struct{ Recall []float64 }
	within = samplingOracle(t, "D10_recall_curve", &curve, &recalls)
	for i, b := range curve.B {
		same(t, "recall by polls a change", expectedFreshness(1, b), recalls.Recall[i], within)
	}
}
