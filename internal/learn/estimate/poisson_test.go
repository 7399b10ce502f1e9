package estimate_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
)

// rateOf returns how many changes of a source are expected in a second.
func rateOf(p *estimate.Poisson, slot freshet.Slot) float64 {
	return p.Expect(slot, noon, noon.Add(time.Second))
}

// Poisson finds rates from what polls tell, whether they come at even times or
// not, and takes a source that it does not know for one like the others.
func TestPoissonLearns(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	gaps := map[string]func() float64{
		"even":   func() float64 { return 3600 },
		"uneven": func() float64 { return 3600 * draw.ExpFloat64() },
		"two":    func() float64 { return []float64{600, 14400}[draw.IntN(2)] },
	}
	for name, gap := range gaps {
		p := &estimate.Poisson{}
		rates := []float64{0.1 / 3600, 0.5 / 3600, 2.0 / 3600}
		for slot, rate := range rates {
			p.Put(time.Time{}, freshet.Slot(slot), freshet.Source{}, time.Time{})
			at := noon
			for range 4000 {
				d := gap()
				o := freshet.Outcome{Since: at, Began: at.Add(time.Duration(d * float64(time.Second)))}
				if draw.Float64() < -math.Expm1(-rate*d) {
					o.Result = freshet.Changed
				}
				at = o.Began
				p.Observe(time.Time{}, freshet.Slot(slot), o)
			}
			if got := rateOf(p, freshet.Slot(slot)); math.Abs(got/rate-1) > 0.15 {
				t.Errorf("%s: rate %v an hour, want %v", name, got*3600, rate*3600)
			}
		}
		p.Put(time.Time{}, 3, freshet.Source{}, time.Time{})
		if got := rateOf(p, 3) * 3600; got < 0.3 || got > 2 {
			t.Errorf("%s: a new source is expected to change %v times an hour, want about 0.87 as the others", name, got)
		}
	}
}

func TestPoisson(t *testing.T) {
	p := &estimate.Poisson{Prior: 1.0 / 3600}
	p.Put(time.Time{}, 1, freshet.Source{}, time.Time{})
	dst := make([]float64, 3)
	chance := func(span time.Duration) float64 {
		p.Chances(dst, noon, noon.Add(span))
		if dst[0] != 0 || dst[2] != 0 {
			t.Errorf("chances %v where there is no source", dst)
		}
		return dst[1]
	}
	if got, want := chance(time.Hour), 1-math.Exp(-1); math.Abs(got-want) > 1e-12 {
		t.Errorf("chance %v within an hour, want %v", got, want)
	}
	look := func(r freshet.Result, since time.Time) {
		p.Observe(time.Time{}, 1, freshet.Outcome{Since: since, Began: noon, Result: r})
	}
	before := rateOf(p, 1)
	look(freshet.Failed, noon.Add(-time.Hour))
	look(freshet.First, noon.Add(-time.Hour))
	look(freshet.Changed, time.Time{})
	if rateOf(p, 1) != before {
		t.Error("an outcome that tells nothing has changed the rate")
	}
	look(freshet.Unchanged, noon.Add(-time.Hour))
	calm := chance(time.Minute)
	if rateOf(p, 1) >= before {
		t.Errorf("rate %v after nothing was found, want less than %v", rateOf(p, 1), before)
	}
	for range 3 {
		look(freshet.Changed, noon.Add(-time.Hour))
	}
	if busy := chance(time.Minute); busy <= calm || math.IsInf(rateOf(p, 1), 0) {
		t.Errorf("chance %v after changes, want more than %v", busy, calm)
	}
	if got, want := p.Expect(1, noon, minute(60)), 60*p.Expect(1, noon, minute(1)); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v changes expected in an hour, want %v", got, want)
	}
	p.Remove(1)
	if chance(time.Minute) != 0 || chance(time.Hour) != 0 {
		t.Error("a source that is gone has a chance")
	}
}

// Whatever polls find, rates stay above zero and finite.
func TestPoissonStaysFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &estimate.Poisson{}
		p.Put(time.Time{}, 0, freshet.Source{}, time.Time{})
		at := noon
		for range rapid.IntRange(1, 60).Draw(t, "polls") {
			since := at
			at = at.Add(rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Second, time.Hour, 1000 * time.Hour}).Draw(t, "gap"))
			p.Observe(time.Time{}, 0, freshet.Outcome{Since: since, Began: at, Result: freshet.Result(rapid.IntRange(0, 1).Draw(t, "result"))})
			if r := rateOf(p, 0); !(r > 0) || math.IsInf(r, 0) {
				t.Fatalf("a rate of %v", r)
			}
		}
	})
}
