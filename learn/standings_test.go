package learn_test

import (
	"math"
	"testing"
	"time"

	"freshet"
	"freshet/learn"
)

// polled returns a source that was polled regularly, and seen by every poll.
func polled(polls, changes int, gap time.Duration) freshet.Watched {
	created := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	return freshet.Watched{
		Source:   freshet.Source{Created: created},
		Standing: freshet.Standing{Polls: int64(polls), Changes: changes, Seen: created.Add(time.Duration(polls-1) * gap)},
	}
}

func ratesOf(sources ...freshet.Watched) []freshet.Range {
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
		got     freshet.Range
		typical float64
	}{
		"alone":          {ratesOf(polled(1, 0, time.Hour))[0], 1.0 / (24 * 3600)},
		"among others":   {ratesOf(polled(20001, 10000, time.Hour), polled(1, 0, 0), polled(20001, 10000, time.Hour))[1], math.Ln2 / 3600},
		"between others": {ratesOf(polled(20001, 10000, time.Hour), polled(0, 0, 0), polled(20001, 10000, 100*time.Hour))[1], math.Ln2 / 36000},
	} {
		want := freshet.Range{
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
