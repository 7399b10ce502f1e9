package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// integral returns that of a function from 0 to a length, by the midpoints of
// many small steps.
func integral(length float64, f func(x float64) float64) (sum float64) {
	const steps = 20_000
	for i := range steps {
		sum += f((float64(i)+0.5)/steps*length) * length / steps
	}
	return sum
}

// A poll that finds a change after a gap is counted with what is to be expected
// where changes come at random and there was one: by integrals.
func TestTallyOfOneChange(t *testing.T) {
	rate := alonePlain().typical()
	for _, ticks := range []float64{0.5, 10, 80, 300, 2000} {
		l, _ := told(found(ticks))
		got := l.Tally(0)
		some := -math.Expm1(-rate * ticks)
		// The first change comes at x with this density; turned round, the last
		// one so long before the poll.
		first := func(x float64) float64 { return rate * math.Exp(-rate*x) / some }
		stale := integral(ticks, func(x float64) float64 { return (ticks - x) * first(x) })
		age := integral(ticks, func(x float64) float64 { return (ticks - x) * (ticks - x) / 2 * first(x) })
		delay := integral(ticks, func(x float64) float64 { return x * first(x) })
		// Ticks with a change, of which there is at least one.
		happened := max(1, max(1, ticks)*-math.Expm1(-rate*ticks/max(1, ticks))/some)
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"polls", got.Polls, 1}, {"captured", got.Captured, 1}, {"watched", got.Watched, ticks * 3600},
			{"happened, but for bursts", got.Happened - got.Fewer, happened}, {"variance", got.Variance, min(happened*happened, varianceIfAny(rate*ticks))},
			{"stale", got.Stale, stale * 3600}, {"age", got.Age, age * 3600 * 3600}, {"delay", got.Delay, delay * 3600},
		} {
			if math.Abs(c.got-c.want) > 1e-3*c.want {
				t.Errorf("after %v ticks: %s is %v, want %v", ticks, c.what, c.got, c.want)
			}
		}
		if got.Doubt < 0 || ticks > 50 && got.Doubt == 0 {
			t.Errorf("after %v ticks: the doubt about what happened is %v", ticks, got.Doubt)
		}
	}
}

// varianceIfAny returns the variance of a Poisson number with a mean, once it is
// known not to be zero: by adding up.
func varianceIfAny(mean float64) float64 {
	p, whole, first, second := math.Exp(-mean), 0.0, 0.0, 0.0
	for n := 1.0; n < 200; n++ {
		p *= mean / n
		whole, first, second = whole+p, first+p*n, second+p*n*n
	}
	return second/whole - first/whole*first/whole
}

// A poll that finds nothing is counted, and its time, and nothing else.
func TestTallyOfNoChange(t *testing.T) {
	l, _ := told(same(100))
	if got, want := l.Tally(0), (outlook.Tally{Sources: 1, Polls: 1, Watched: 360_000}); got != want {
		t.Errorf("a poll that finds nothing makes the tally %+v, want %+v", got, want)
	}
}

// What a poll captures depends on what the source keeps: the last change, the
// last few, or all of them.
func TestTallyByLife(t *testing.T) {
	const ticks = 3000.0
	tally := func(life objective.Visibility) outlook.Tally {
		l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
		l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/", Life: life}, monday)
		l.Observe(time.Time{}, 0, found(ticks))
		return l.Tally(0)
	}
	one := tally(objective.Visibility{})
	if one.Happened < 8 {
		t.Fatalf("%v changes are thought to have happened, want more than eight to tell lives apart", one.Happened)
	}
	for _, c := range []struct {
		life     objective.Visibility
		captured float64
	}{
		{objective.Visibility{Kind: objective.VisibleLast, N: 1}, 1},
		{objective.Visibility{Kind: objective.VisibleLast, N: 5}, 5},
		{objective.Visibility{Kind: objective.VisibleLast, N: 1000}, one.Happened},
		{objective.Visibility{Kind: objective.VisibleForever}, one.Happened},
	} {
		got := tally(c.life)
		if math.Abs(got.Captured/c.captured-1) > 1e-6 {
			t.Errorf("%v: %v changes are captured, want %v", c.life, got.Captured, c.captured)
		}
		if got.Happened != one.Happened || got.Stale != one.Stale || got.Age != one.Age {
			t.Errorf("%v: what happened depends on what is kept: %+v, and %+v where only the last is", c.life, got, one)
		}
		// The earlier ones have waited longer, and none for longer than the gap.
		if mean := got.Delay / got.Captured; c.captured > 1 && mean <= one.Delay || mean > ticks*3600 {
			t.Errorf("%v: the mean delay is %v hours, and %v where only the last is captured", c.life, mean/3600, one.Delay/3600)
		}
	}
	// Changes at random that are all kept have waited for half of the gap.
	all := tally(objective.Visibility{Kind: objective.VisibleForever})
	if got := all.Delay / all.Captured / 3600; math.Abs(got/(ticks/2)-1) > 0.1 {
		t.Errorf("changes that are all kept have waited for %v hours, want about %v", got, ticks/2)
	}
}

// Polls of several gaps add up, and a life that changes counts from then on.
func TestTallyOfSeveralPolls(t *testing.T) {
	l, _ := told(found(10))
	before := l.Tally(0)
	l.Put(hours(10), 0, freshet.Source{ID: "s", URL: "https://h.example/", Life: objective.Visibility{Kind: objective.VisibleForever}}, time.Time{})
	if got := l.Tally(0); got != before {
		t.Errorf("an edit moved the tally from %+v to %+v", before, got)
	}
	l.Observe(time.Time{}, 0, found(10.9)) // within the tick, so that nothing fades
	got := l.Tally(0)
	if math.Abs(got.Polls-2) > 0.01 || math.Abs(got.Watched-10.9*3600) > 36 {
		t.Errorf("two polls in %v hours are in the tally, want 2 in 10.9", got.Watched/3600)
	}
	second := got.Happened - before.Happened
	if captured := got.Captured - before.Captured; math.Abs(captured/second-1) > 0.05 {
		t.Errorf("of a source that keeps all, %v of %v changes were captured", captured, second)
	}
}
