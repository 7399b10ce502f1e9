package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// polled returns a source that was polled regularly, and seen by every poll.
func polled(polls, changes int, gap time.Duration) freshet.SourceWithStatus {
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return freshet.SourceWithStatus{
		Source: freshet.Source{Created: created},
		Status: freshet.Status{Polls: int64(polls), Changes: changes, Seen: created.Add(time.Duration(polls-1) * gap)},
	}
}

func ratesOf(sources ...freshet.SourceWithStatus) []outlook.Rate {
	var s learn.Standings
	for _, w := range sources {
		s.Add(w)
	}
	return s.Rates()
}

// A source that polls tell much of has the rate that they tell: half of the
// polls find a change where ln 2 of them are expected.
func TestStandingsOfManyPolls(t *testing.T) {
	r := ratesOf(polled(20001, 10000, time.Hour))[0]
	want := math.Ln2 / 3600
	if !(math.Abs(r.Mean/want-1) <= 0.001) {
		t.Errorf("the source changes %v times a second, want %v", r.Mean, want)
	}
	// The logarithm of the rate has a standard deviation of 1/(ln 2 sqrt(n)).
	off := learn.NineInTen / (math.Ln2 * math.Sqrt(20000))
	for what, pair := range map[string][2]float64{"low": {r.Low, want * math.Exp(-off)}, "high": {r.High, want * math.Exp(off)}} {
		if !(math.Abs(pair[0]/pair[1]-1) <= 0.001) {
			t.Errorf("the bound %s is %v, want %v", what, pair[0], pair[1])
		}
	}
}

// A source that nothing is known of is taken to be like the others, and without
// any to change once a day; nine times in ten within a factor of e^(1.2*1.6449).
func TestStandingsOfNone(t *testing.T) {
	const sd = 1.2
	for what, c := range map[string]struct {
		got     outlook.Rate
		typical float64
	}{
		"alone":          {ratesOf(polled(1, 0, time.Hour))[0], 1.0 / (24 * 3600)},
		"among others":   {ratesOf(polled(20001, 10000, time.Hour), polled(1, 0, 0), polled(20001, 10000, time.Hour))[1], math.Ln2 / 3600},
		"between others": {ratesOf(polled(20001, 10000, time.Hour), polled(0, 0, 0), polled(20001, 10000, 100*time.Hour))[1], math.Ln2 / 36000},
	} {
		want := outlook.Range{
			Mean: c.typical * math.Exp(sd*sd/2),
			Low:  c.typical * math.Exp(-learn.NineInTen*sd), High: c.typical * math.Exp(learn.NineInTen*sd),
		}
		for bound, pair := range map[string][2]float64{"mean": {c.got.Mean, want.Mean}, "low": {c.got.Low, want.Low}, "high": {c.got.High, want.High}} {
			if !(math.Abs(pair[0]/pair[1]-1) <= 0.001) {
				t.Errorf("%s: the %s is %v, want %v", what, bound, pair[0], pair[1])
			}
		}
	}
}

// A few polls move what is thought of a source part of the way: where they found
// nothing it changes more rarely than the others, and where they all found a
// change more often.
func TestStandingsOfFewPolls(t *testing.T) {
	rates := ratesOf(polled(20001, 10000, time.Hour), polled(5, 0, time.Hour), polled(5, 4, time.Hour), polled(1, 0, time.Hour))
	still, busy, typical := rates[1], rates[2], rates[3]
	// By hand, with q = 0.1 and 0.9 of polls that find a change: -ln(1-q) an hour
	// and a standard deviation of sqrt(q/(5(1-q)))/-ln(1-q), and the others' at 1.2.
	if still.Known != outlook.Unknown || busy.Known != outlook.AtLeast || rates[0].Known != outlook.Estimated {
		t.Errorf("without a change the rate is %v, with one at every poll %v, and after many polls %v", still.Known, busy.Known, rates[0].Known)
	}
	if want := 0.50256 / 3600; !(math.Abs(still.Mean/want-1) <= 0.001) {
		t.Errorf("a source that four polls found unchanged changes %.5f times an hour, want %.5f", still.Mean*3600, want*3600)
	}
	if want := 2.13412 / 3600; !(math.Abs(busy.Mean/want-1) <= 0.001) {
		t.Errorf("a source that four polls found changed changes %.5f times an hour, want %.5f", busy.Mean*3600, want*3600)
	}
	if still.High-still.Low > typical.High-typical.Low || still.Mean >= typical.Mean || busy.Mean <= typical.Mean {
		t.Errorf("a source found unchanged is at %+v, one found changed at %+v, and one of which nothing is known at %+v", still, busy, typical)
	}
}

// What cannot be right of a standing is not believed.
func TestStandingsThatCannotBe(t *testing.T) {
	nothing := ratesOf(polled(1, 0, time.Hour))[0]
	before := polled(10, 3, time.Hour)
	before.Status.Seen = before.Created.Add(-time.Hour)
	never := polled(10, 3, time.Hour)
	never.Status.Seen = time.Time{}
	for what, w := range map[string]freshet.SourceWithStatus{
		"never polled": polled(0, 0, 0), "polled once": polled(1, 1, time.Hour), "polled often in no time": polled(10, 5, 0),
		"seen before it was there": before, "polled and never seen": never,
	} {
		if got := ratesOf(w)[0]; got != nothing {
			t.Errorf("%s: the rate is %+v, want %+v as of a source that nothing is known of", what, got, nothing)
		}
	}
	if got, want := ratesOf(polled(10, 500, time.Hour))[0], ratesOf(polled(10, 9, time.Hour))[0]; got != want {
		t.Errorf("with more changes than polls the rate is %+v, want %+v as if each found one", got, want)
	}
	var none learn.Standings
	if got := none.Rates(); len(got) != 0 {
		t.Errorf("no sources have the rates %v", got)
	}
}

// The order in which sources are added does not matter to any of them, and one
// that was found changed more often changes more often.
func TestStandingsOfManySources(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var sources []freshet.SourceWithStatus
		for range rapid.IntRange(2, 8).Draw(rt, "sources") {
			polls := rapid.IntRange(2, 1000).Draw(rt, "polls")
			gap := time.Duration(rapid.Int64Range(int64(time.Second), int64(1000*time.Hour)).Draw(rt, "gap"))
			sources = append(sources, polled(polls, rapid.IntRange(0, polls-1).Draw(rt, "changes"), gap))
		}
		rates := ratesOf(sources...)
		to := rapid.Permutation(indices(len(sources))).Draw(rt, "order")
		mixed := make([]freshet.SourceWithStatus, len(sources))
		for i := range sources {
			mixed[i] = sources[to[i]]
		}
		for i, got := range ratesOf(mixed...) {
			if want := rates[to[i]]; math.Abs(got.Mean/want.Mean-1) > 1e-9 || math.Abs(got.Low/want.Low-1) > 1e-9 {
				rt.Fatalf("in another order source %d has the rate %+v, want %+v", to[i], got, want)
			}
		}
		for i, r := range rates {
			if !(0 < r.Low && r.Low < r.High) || r.Mean <= r.Low || math.IsInf(r.High, 1) {
				rt.Fatalf("source %d has the rate %+v", i, r)
			}
		}
		still, busy := sources[0], sources[0]
		if busy.Status.Changes++; int64(busy.Status.Changes) < busy.Status.Polls {
			if two := ratesOf(still, busy); two[0].Low >= two[1].Low {
				rt.Fatalf("a source has the rate %+v, and one that was found changed once more %+v", two[0], two[1])
			}
		}
	})
}

// indices returns the numbers from 0 up to n.
func indices(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
