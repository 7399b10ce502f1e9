package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/forecast"
	"freshet/internal/learn/outlook"
	"freshet/internal/test/tier"
)

const day = 24 * time.Hour

// known returns a rate that is known well.
func known(every time.Duration) outlook.Range {
	r := 1 / every.Seconds()
	return outlook.Range{Mean: r, Low: r, High: r}
}

// doubted returns a rate that may be off by a factor either way.
func doubted(every time.Duration, factor float64) outlook.Range {
	r := 1 / every.Seconds()
	return outlook.Range{Mean: r, Low: r / factor, High: r * factor}
}

// gaps returns how often each source is polled.
func gaps(m *forecast.Market) map[freshet.SourceID]float64 {
	all := map[freshet.SourceID]float64{}
	for _, e := range m.Spenders(math.MaxInt) {
		all[e.ID] = e.Gap.Seconds()
	}
	return all
}

// near fails if got is not within a relative error of want.
func near(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*math.Abs(want)) {
		t.Errorf("%s is %.6g, want %.6g (within %g)", what, got, want, within)
	}
}

// gained is what polls of one source bring a second, by the definition: the
// integral over the ages of what is captured at each, done with small steps.
func gained(p forecast.Prospect, gap float64) float64 {
	const steps = 1500
	total := 0.0
	for i := range steps {
		age := (float64(i) + 0.5) * gap / steps
		x := p.Rate.Mean * age
		lasts := math.Exp(-x)
		switch p.Life.Kind {
		case objective.VisibleForever:
			lasts = 1
		case objective.VisibleFor:
			lasts = 0
			if age <= p.Life.For.Seconds()+1 {
				lasts = 1
			}
		case objective.VisibleLast:
			term := math.Exp(-x)
			lasts = 0
			for z := range p.Life.N {
				lasts += term
				term *= x / float64(z+1)
			}
		}
		worth := 1.0
		switch p.Urgency.Kind {
		case objective.UrgencyUniform:
			if p.Life.Kind == objective.VisibleForever {
				worth = math.Exp(-age / day.Seconds())
			}
		case objective.UrgencyExp:
			worth = math.Pow(p.Urgency.A, age)
		case objective.UrgencyPoly:
			worth = math.Pow(1+age, -p.Urgency.A)
		}
		total += p.Rate.Mean * lasts * worth * gap / steps
	}
	return total * p.Weight / gap
}

// No way to spread the polls over three sources brings more than the price
// does, whatever becomes of late changes.
func TestPriceIsBest(t *testing.T) {
	tier.Slow(t, "it searches for better prices")
	exp := objective.Urgency{Kind: objective.UrgencyExp, A: 0.999, Per: time.Second}
	sets := map[string][]forecast.Prospect{
		"overwrite": {
			{ID: "a", Rate: known(10 * time.Minute), Weight: 1},
			{ID: "b", Rate: known(2 * time.Hour), Weight: 3},
			{ID: "c", Rate: known(time.Minute), Weight: 0.5},
		},
		"urgent": {
			{ID: "a", Rate: known(10 * time.Minute), Weight: 1, Urgency: exp},
			{ID: "b", Rate: known(2 * time.Hour), Weight: 3, Urgency: exp, Life: objective.Visibility{Kind: objective.VisibleForever}},
			{ID: "c", Rate: known(time.Minute), Weight: 1, Life: objective.Visibility{Kind: objective.VisibleLast, N: 5}},
		},
		"mixed": {
			{ID: "a", Rate: known(10 * time.Minute), Weight: 1, Life: objective.Visibility{Kind: objective.VisibleForever}},
			{ID: "b", Rate: known(2 * time.Hour), Weight: 30, Urgency: objective.Urgency{Kind: objective.UrgencyPoly, A: 0.3, Per: time.Second}},
			{ID: "c", Rate: known(time.Minute), Weight: 1, Urgency: exp, Life: objective.Visibility{Kind: objective.VisibleLast, N: 3}},
		},
	}
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			const budget = 1.0 / 120
			m := forecast.New(set, forecast.Terms{Budget: budget})
			chosen, spent := 0.0, 0.0
			for _, p := range set {
				gap := gaps(m)[p.ID]
				chosen += gained(p, gap)
				spent += 1 / gap
			}
			near(t, "the spending", spent, budget, 1e-4)
			best := 0.0
			const parts = 60
			for i := 1; i < parts-1; i++ {
				for j := 1; i+j < parts; j++ {
					split := []int{i, j, parts - i - j}
					total := 0.0
					for k, p := range set {
						total += gained(p, parts/(float64(split[k])*budget))
					}
					best = max(best, total)
				}
			}
			if chosen < best*(1-1e-4) {
				t.Errorf("the price brings %.6g, and some other spread %.6g", chosen, best)
			}
			if best < chosen*0.99 {
				t.Errorf("the best of all spreads brings %.6g, far below the %.6g of the price: one of them is wrong", best, chosen)
			}
		})
	}
}

// A seen is what became of the changes of a simulated source.
type seen struct{ changes, captured, delay, within, fresh, stale, time float64 }

// simulate polls a source that changes at random, at equal gaps.
func simulate(r *rand.Rand, rate, gap float64, life objective.Span, polls int) (s seen) {
	next := r.ExpFloat64() / rate
	for i := 1; i <= polls; i++ {
		poll := float64(i) * gap
		var since []float64
		for ; next <= poll; next += r.ExpFloat64() / rate {
			since = append(since, next)
		}
		s.changes += float64(len(since))
		s.time += gap
		if len(since) == 0 {
			s.fresh += gap
			continue
		}
		s.fresh += since[0] - (poll - gap)
		s.stale += (poll - since[0]) * (poll - since[0]) / 2
		for k, at := range since {
			age, after := poll-at, len(since)-1-k
			if !life.Lasts(int(age), after) {
				continue
			}
			s.captured++
			s.delay += age
			if age <= 600 {
				s.within++
			}
		}
	}
	return s
}

// What is predicted is what comes about, for every life.
func TestPredictionComesTrue(t *testing.T) {
	for _, life := range []string{"overwrite", "append", "window:15m", "last:3"} {
		t.Run(life, func(t *testing.T) {
			l, err := objective.ParseVisibility(life)
			if err != nil {
				t.Fatal(err)
			}
			var set []forecast.Prospect
			for i, every := range []time.Duration{5 * time.Minute, 20 * time.Minute, time.Hour, 3 * time.Hour} {
				set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint(i)), Rate: known(every), Life: l})
			}
			m := forecast.New(set, forecast.Terms{Budget: 1.0 / 300})
			want := m.Now()
			var got seen
			r := rand.New(rand.NewPCG(1, 2))
			fresh, stale := 0.0, 0.0
			for _, p := range set {
				gap := gaps(m)[p.ID]
				const span = 3e8 // seconds; enough for noise below a hundredth
				s := simulate(r, p.Rate.Mean, gap, l.In(time.Second), int(span/gap))
				scale := 1 / s.time
				got.changes += s.changes * scale
				got.captured += s.captured * scale
				got.delay += s.delay * scale
				got.within += s.within * scale
				fresh += s.fresh * scale / float64(len(set))
				stale += s.stale * scale / float64(len(set))
			}
			near(t, "the share", got.captured/got.changes, want.Share.Mean, 0.01)
			near(t, "the delay", got.delay/got.captured, want.Delay.Seconds(), 0.01)
			near(t, "the share within ten minutes", got.within/got.changes, want.Within[1], 0.015)
			near(t, "freshness", fresh, want.Freshness, 0.01)
			near(t, "age", stale, want.Age.Seconds(), 0.015)
		})
	}
}

// draw returns prospects of every kind.
func draw(rt *rapid.T) []forecast.Prospect {
	lives := []objective.Visibility{{}, {}, {Kind: objective.VisibleForever}, {Kind: objective.VisibleFor, For: 600 * time.Second}, {Kind: objective.VisibleLast, N: 4}}
	urgencies := []objective.Urgency{{}, {}, {Kind: objective.UrgencyExp, A: 0.9995, Per: time.Second}, {Kind: objective.UrgencyWindow, Width: 300 * time.Second}, {Kind: objective.UrgencyChordal, Width: 4000 * time.Second}}
	set := make([]forecast.Prospect, rapid.IntRange(1, 8).Draw(rt, "sources"))
	for i := range set {
		every := time.Duration(math.Exp(rapid.Float64Range(3, 15).Draw(rt, "every")) * float64(time.Second))
		set[i] = forecast.Prospect{
			ID: freshet.SourceID(fmt.Sprint(i)), Host: fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "host")),
			Rate: doubted(every, math.Exp(rapid.Float64Range(0, 3).Draw(rt, "doubt"))),
			Life: rapid.SampledFrom(lives).Draw(rt, "life"), Urgency: rapid.SampledFrom(urgencies).Draw(rt, "urgency"),
			Weight: math.Exp(rapid.Float64Range(-2, 2).Draw(rt, "weight")), Cost: math.Exp(rapid.Float64Range(-1, 1).Draw(rt, "cost")),
		}
		if rapid.IntRange(0, 4).Draw(rt, "bounded") == 0 {
			set[i].MinGap, set[i].MaxGap = time.Minute, 6*time.Hour
		}
	}
	return set
}

// More budget never captures less nor makes a poll dearer, is spent as far as
// there is use for it, and no number leaves its bounds.
func TestMoreIsNeverLess(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		terms := forecast.Terms{Budget: math.Exp(rapid.Float64Range(-9, 1).Draw(rt, "budget"))}
		if rapid.Bool().Draw(rt, "polite") {
			terms.HostGap = 5 * time.Second
		}
		m := forecast.New(draw(rt), terms)
		curve := m.Curve(32, 9)
		for i, p := range curve {
			if p.Spent > p.Budget*(1+1e-5) {
				rt.Fatalf("%.6g are spent of a budget of %.6g", p.Spent, p.Budget)
			}
			if p.Price > 0 && p.Spent < p.Budget*(1-1e-5) {
				rt.Fatalf("only %.6g are spent of a budget of %.6g although a poll is worth %.3g", p.Spent, p.Budget, p.Price)
			}
			s := p.Share
			if !(0 <= s.Low && s.Low <= s.Mean && s.Mean <= s.High && s.High <= 1) {
				rt.Fatalf("the share is %+v", s)
			}
			if !(p.Freshness >= 0 && p.Freshness <= 1) || p.Age < 0 || p.Delay < 0 {
				rt.Fatalf("freshness %v, age %v, delay %v", p.Freshness, p.Age, p.Delay)
			}
			if i == 0 {
				continue
			}
			before := curve[i-1]
			if s.Mean < before.Share.Mean-1e-6 {
				rt.Fatalf("a budget of %.6g captures %.9f, and the smaller %.6g captures %.9f", p.Budget, s.Mean, before.Budget, before.Share.Mean)
			}
			if p.Price > before.Price*(1+1e-9) {
				rt.Fatalf("the price rises from %.6g to %.6g with the budget", before.Price, p.Price)
			}
			for h := range p.Within {
				if p.Within[h] > s.Mean+1e-9 || h > 0 && p.Within[h] < p.Within[h-1]-1e-9 {
					rt.Fatalf("the shares within times are %v, of %v in all", p.Within, s.Mean)
				}
			}
		}
	})
}

// Sources together are never polled more often than their host allows.
func TestHostsAreKeptTo(t *testing.T) {
	var set []forecast.Prospect
	for i := range 8 {
		host := "busy"
		if i > 5 {
			host = fmt.Sprint("own", i)
		}
		set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint(i)), Host: host, Rate: known(time.Duration(i+1) * time.Minute)})
	}
	m := forecast.New(set, forecast.Terms{Budget: 0.5, HostGap: 20 * time.Second})
	busy, others := 0.0, 0.0
	for _, e := range m.Spenders(math.MaxInt) {
		if e.ID < "6" {
			busy += e.Spent
		} else {
			others += e.Spent
		}
	}
	near(t, "what the busy host gets", busy, 1.0/20, 1e-3)
	near(t, "what all get", busy+others, m.Now().Spent, 1e-3)
	if others > 2.0/20*(1+1e-6) {
		t.Errorf("two hosts get %.4g polls a second, more than they allow", others)
	}
	// Within the host polls go as if it were a budget.
	alone := forecast.New(set[:6], forecast.Terms{Budget: 1.0 / 20})
	for id, gap := range gaps(alone) {
		near(t, "the gap of "+string(id), gaps(m)[id], gap, 1e-3)
	}
}

// A host with too many sources even for their longest gaps stretches them.
func TestOverfullHost(t *testing.T) {
	var set []forecast.Prospect
	for i := range 10 {
		set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint(i)), Host: "full", Rate: known(time.Hour), MaxGap: time.Minute})
	}
	m := forecast.New(set, forecast.Terms{Budget: 1, HostGap: 30 * time.Second})
	for _, gap := range gaps(m) {
		near(t, "the gap", gap, 300, 1e-6)
	}
}

// Without enough even for the longest gaps, all of them are stretched.
func TestTooSmallABudget(t *testing.T) {
	set := []forecast.Prospect{
		{ID: "a", Rate: known(time.Hour), MaxGap: time.Minute},
		{ID: "b", Rate: known(time.Minute), MaxGap: 2 * time.Minute},
	}
	m := forecast.New(set, forecast.Terms{Budget: 0.0025})
	near(t, "the spending", m.Now().Spent, 0.0025, 1e-9)
	near(t, "the gap of a", gaps(m)["a"], 600, 1e-6)
	near(t, "the gap of b", gaps(m)["b"], 1200, 1e-6)
	if none := forecast.New(nil, forecast.Terms{}).Now(); none.Share.Mean != 1 || none.Spent != 0 {
		t.Errorf("without sources the point is %+v", none)
	}
	if p := m.At(0); p.Share.Mean != 0 || p.Spent != 0 {
		t.Errorf("without a budget the point is %+v", p)
	}
}

// The interval holds the truth as often as it says, when rates are as doubtful
// as they are said to be.
func TestIntervalIsHonest(t *testing.T) {
	tier.Slow(t, "it forecasts many histories")
	for _, sources := range []int{3, 40} {
		if share := honest(sources); share < 0.86 || share > 0.98 {
			t.Errorf("of %d sources the interval held the truth %.3f of the time, want about 0.9 or, of few sources, a little more", sources, share)
		}
	}
}

// honest returns how often the interval held the truth.
func honest(sources int) float64 {
	r := rand.New(rand.NewPCG(5, 6))
	const worlds = 400
	held := 0
	for range worlds {
		var set []forecast.Prospect
		truth := make([]float64, sources)
		for i := range sources {
			every := math.Exp(5 + 5*r.Float64())
			spread := 0.2 + 0.8*r.Float64()
			truth[i] = math.Exp(spread*r.NormFloat64()-spread*spread/2) / every
			middle := math.Exp(-spread*spread/2) / every
			set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint(i)), Rate: outlook.Range{
				Mean: 1 / every, Low: middle * math.Exp(-1.6449*spread), High: middle * math.Exp(1.6449*spread),
			}})
		}
		m := forecast.New(set, forecast.Terms{Budget: 1.0 / 60})
		changes, captured, every := 0.0, 0.0, gaps(m)
		for i, p := range set {
			x := truth[i] * every[p.ID]
			changes += truth[i]
			captured += truth[i] * -math.Expm1(-x) / x
		}
		if s := m.Now().Share; s.Low <= captured/changes && captured/changes <= s.High {
			held++
		}
	}
	return float64(held) / worlds
}

// crowd returns many prospects of many kinds.
func crowd(n int) []forecast.Prospect {
	r := rand.New(rand.NewPCG(3, 4))
	set := make([]forecast.Prospect, n)
	for i := range set {
		every := time.Duration(math.Exp(5+10*r.Float64()) * float64(time.Second))
		set[i] = forecast.Prospect{
			ID: freshet.SourceID(fmt.Sprint(i)), Host: fmt.Sprint("h", r.IntN(n/10+1)),
			Rate: doubted(every, 1.2+10*r.Float64()*r.Float64()), Weight: float64(1 + r.IntN(3)),
		}
		switch r.IntN(10) {
		case 0:
			set[i].Life.Kind = objective.VisibleForever
		case 1:
			set[i].MaxGap = time.Duration(1+r.IntN(30)) * day
		case 2:
			set[i].Urgency = objective.Urgency{Kind: objective.UrgencyExp, A: 0.999, Per: time.Second}
		}
	}
	return set
}

// Lumping alike sources together costs less than anybody could see.
func TestLumpsAreClose(t *testing.T) {
	tier.Slow(t, "it compares many forecasts")
	set := crowd(12_000)
	terms := forecast.Terms{Budget: 10, HostGap: time.Second}
	exact, lumped := forecast.NewExact(set, terms), forecast.New(set, terms)
	worst := 0.0
	for _, budget := range []float64{0.1, 1, 10, 100} {
		a, b := exact.At(budget), lumped.At(budget)
		worst = max(worst, math.Abs(a.Share.Mean-b.Share.Mean))
		near(t, fmt.Sprintf("the delay at %g", budget), b.Delay.Seconds(), a.Delay.Seconds(), 0.01)
		near(t, fmt.Sprintf("the age at %g", budget), b.Age.Seconds(), a.Age.Seconds(), 0.01)
		near(t, fmt.Sprintf("the width of the interval at %g", budget), b.Share.High-b.Share.Low, a.Share.High-a.Share.Low, 0.1)
	}
	t.Logf("lumping moves the share by at most %.6f", worst)
	if worst > 0.002 {
		t.Errorf("lumping moves the share by %.5f", worst)
	}
}

func BenchmarkMillion(b *testing.B) {
	set := crowd(1_000_000)
	for b.Loop() {
		m := forecast.New(set, forecast.Terms{Budget: 100, HostGap: time.Second})
		if curve := m.Curve(32, 41); curve[40].Share.Mean <= curve[0].Share.Mean {
			b.Fatal("the curve does not rise")
		}
	}
}

// A curious poller sees also those again that its prices would leave alone.
func TestCuriosity(t *testing.T) {
	set := []forecast.Prospect{{ID: "slow", Rate: known(day)}}
	for i := range 20 {
		set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint("fast", i)), Rate: known(time.Hour)})
	}
	hurry, err := objective.ParseUrgency("exp:0.999/1s")
	if err != nil {
		t.Fatal(err)
	}
	for i := range set {
		set[i].Urgency = hurry
	}
	terms := forecast.Terms{Budget: 1.0 / 300}
	if gap := gaps(forecast.New(set, terms))["slow"]; gap < 29*day.Seconds() {
		t.Errorf("a source that is not worth it is polled every %v s, want once in 30 days", gap)
	}
	terms.Curiosity = 3
	changes := 20.0/3600 + 1/day.Seconds()
	near(t, "the gap of a source that is not worth it", gaps(forecast.New(set, terms))["slow"], 3*changes*300*day.Seconds(), 0.01)
}

// A poll that costs four times as much has to bring four times as much: the source is
// polled as one of a quarter of the weight.
func TestCostDividesWorth(t *testing.T) {
	rate := known(time.Hour)
	m := forecast.New([]forecast.Prospect{
		{ID: "plain", Rate: rate}, {ID: "dear", Rate: rate, Cost: 4}, {ID: "light", Rate: rate, Weight: 0.25},
	}, forecast.Terms{Budget: 1.0 / 1200})
	g := gaps(m)
	near(t, "the gap of a source at four times the cost", g["dear"], g["light"], 1e-6)
	if g["dear"] < 1.5*g["plain"] {
		t.Errorf("a source at four times the cost is polled every %.0f s, and one without every %.0f s; want much more rarely", g["dear"], g["plain"])
	}
}
