package listing_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"freshet/listing"
)

// truths tells of n polls that bear the dates out: half of them of pages that changed.
func truths(t *listing.Trust, n int) {
	for i := range n {
		t.Tell(i%2 == 0, i%2 == 0, 1)
	}
}

// learnt returns after how many more true dates they stand in for polls.
func learnt(t listing.Trust) int {
	for n := range 1000 {
		if t.StandIn() {
			return n
		}
		t.Tell(true, true, 1)
	}
	return -1
}

// Nothing is trusted at first; true dates come to be, a few lies of either kind end it,
// and true dates bring it back.
func TestTrustComesAndGoes(t *testing.T) {
	lies := map[string]func(*listing.Trust){
		"a change that the date did not tell of": func(tr *listing.Trust) { tr.Tell(false, true, 1) },
		"a date without a change":                func(tr *listing.Trust) { tr.Tell(true, false, 1) },
	}
	for name, lie := range lies {
		var tr listing.Trust
		if tr.StandIn() {
			t.Fatal("what nobody knows is trusted")
		}
		at := learnt(tr)
		if at < 5 || at > 30 {
			t.Errorf("true dates are trusted after %d, want some", at)
		}
		truths(&tr, 2000)
		if !tr.StandIn() {
			t.Error("true dates are not trusted")
		}
		lied := 0
		for tr.StandIn() {
			lie(&tr)
			lied++
		}
		if most := map[bool]int{true: 25, false: 5}[name == "a date without a change"]; lied < 2 || lied > most {
			t.Errorf("%s: trusted until the lie %d, want at most %d", name, lied, most)
		}
		again := learnt(tr)
		if again < 1 || again > 200 {
			t.Errorf("%s: trusted again after %d true dates", name, again)
		}
		t.Logf("%s: trusted after %d, no longer after %d lies, again after %d", name, at, lied, again)
	}
}

// Polls that found nothing new on a page whose date stayed say nothing: they are so
// whether the dates are true or not.
func TestQuietPagesSayNothing(t *testing.T) {
	var tr listing.Trust
	truths(&tr, 100)
	before := tr
	for range 10_000 {
		tr.Tell(false, false, 1)
	}
	if tr != before {
		t.Error("quiet pages taught something")
	}
}

// A true date never lowers what is thought of dates, a lie never raises it, and a poll
// that stands for more counts for more.
func TestTrustIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr listing.Trust
		for range rapid.IntRange(0, 200).Draw(t, "polls") {
			tr.Tell(rapid.Bool().Draw(t, "said"), rapid.Bool().Draw(t, "found"), rapid.Float64Range(0, 30).Draw(t, "stands"))
		}
		told := func(said, found bool, stands float64) (announced, borneOut float64) {
			next := tr
			next.Tell(said, found, stands)
			announced, _ = next.Announced()
			borneOut, _ = next.BorneOut()
			return announced, borneOut
		}
		const rounding = 1e-12
		a, b := tr.Announced()
		c, d := tr.BorneOut()
		for _, p := range []float64{a, b, c, d} {
			if !(p >= 0 && p <= 1) || b > a || d > c {
				t.Fatalf("shares are %v, at least %v, and %v, at least %v", a, b, c, d)
			}
		}
		if x, y := told(true, true, 1); x < a-rounding || y < c-rounding {
			t.Fatalf("a true date took %v, %v to %v, %v", a, c, x, y)
		}
		if x, y := told(false, true, 1); x > a+rounding || y != c {
			t.Fatalf("a change that was not told of took %v, %v to %v, %v", a, c, x, y)
		}
		if x, y := told(true, false, 1); y > c+rounding || x != a {
			t.Fatalf("a date without a change took %v, %v to %v, %v", a, c, x, y)
		}
		many, _ := told(false, true, 20)
		if more, _ := told(false, true, 1e9); more != many {
			t.Fatalf("a poll that stands for a billion took %v to %v, and for twenty to %v", a, more, many)
		}
		once, _ := told(false, true, 1)
		if ten, _ := told(false, true, 10); ten > once+rounding {
			t.Fatalf("a poll that stands for ten took %v to %v, and one to %v", a, ten, once)
		}
	})
}

// What is thought comes near what is so, also where most pages whose date stayed are
// not polled.
func TestTrustFindsTheShares(t *testing.T) {
	for _, tt := range []struct {
		name                string
		announced, borneOut float64
		audit               float64 // share of the pages polled whose date stayed
		want                bool
	}{
		{"a good site", 0.99, 0.95, 1, true},
		{"a good site, audited", 0.99, 0.95, 0.1, true},
		{"dates that stay", 0.1, 0.9, 1, false},
		{"dates that often stay, audited", 0.5, 0.9, 0.1, false},
		{"stamped at every build", 1, 0.05, 1, false},
	} {
		rng := rand.New(rand.NewPCG(7, 7))
		var tr listing.Trust
		stood, polls := 0, 0
		for range 40_000 {
			changed := rng.Float64() < 0.05
			said := changed && rng.Float64() < tt.announced
			if !changed { // as many idle dates as it takes
				said = rng.Float64() < 0.05/0.95*tt.announced*(1-tt.borneOut)/tt.borneOut
			}
			stands := 1.0
			if !said {
				if rng.Float64() > tt.audit {
					continue
				}
				stands = 1 / tt.audit
			}
			tr.Tell(said, changed, stands)
			if polls++; polls > 1000 && tr.StandIn() {
				stood++
			}
		}
		share := float64(stood) / float64(polls-1000)
		if tt.want && share < 0.8 || !tt.want && share > 0.02 {
			t.Errorf("%s: dates stood in for polls %.0f%% of the time", tt.name, 100*share)
		}
		t.Logf("%s: dates stood in %.1f%% of the time", tt.name, 100*share)
	}
}

func TestTrustIsSaved(t *testing.T) {
	var tr, back listing.Trust
	truths(&tr, 77)
	tr.Tell(true, false, 3)
	b, err := tr.MarshalBinary()
	if err != nil || back.UnmarshalBinary(b) != nil || back != tr {
		t.Fatalf("%+v, %v; want %+v", back, err, tr)
	}
	for i := range b {
		b[i] ^= 1
		if err := back.UnmarshalBinary(b); !errors.Is(err, listing.ErrDamaged) || back != tr {
			t.Errorf("byte %d: %v", i, err)
		}
		b[i] ^= 1
	}
	if err := back.UnmarshalBinary(b[:len(b)-1]); !errors.Is(err, listing.ErrDamaged) {
		t.Errorf("cut off: %v", err)
	}
}

func FuzzTrust(f *testing.F) {
	b, _ := listing.Trust{}.MarshalBinary()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var tr listing.Trust
		if tr.UnmarshalBinary(listing.Mend(b)) != nil {
			return
		}
		tr.Tell(true, false, 1)
		if a, least := tr.BorneOut(); !(a >= 0 && a <= 1 && least >= 0 && least <= a) {
			t.Errorf("borne out %v, at least %v", a, least)
		}
	})
}
