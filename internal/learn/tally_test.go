package learn_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/test/tier"
)

// A truth is what became of changes, by one who saw them all.
type truth struct {
	happened, captured float64
	delay              float64 // seconds, summed over the captured
	watched, stale     float64 // seconds
	age                float64 // integral of how long the copy had been out of date
	behind             float64 // integral of how many changes the copy lacked
}

// truthOf works it out, for a source of which each change replaces the last one.
func (w *world) truthOf() (sum truth) {
	seen := make([]time.Time, len(w.sources))
	for slot := range seen {
		seen[slot] = monday
	}
	for _, o := range w.log {
		from, to := w.index(o.slot, seen[o.slot]), w.index(o.slot, o.Began)
		sum.watched += o.Began.Sub(seen[o.slot]).Seconds()
		if to > from {
			changes := w.changes[o.slot]
			late := o.Began.Sub(changes[from]).Seconds()
			sum.happened += float64(to - from)
			sum.captured++
			sum.delay += o.Began.Sub(changes[to-1]).Seconds()
			sum.stale += late
			sum.age += late * late / 2
			for _, at := range changes[from:to] {
				sum.behind += o.Began.Sub(at).Seconds()
			}
		}
		seen[o.slot] = o.Began
	}
	return sum
}

// What is told of captured and missed changes, of delay, freshness and age, from
// polls alone, is near what became of them.
func TestTalliesAreHonest(t *testing.T) {
	tier.Slow(t, "it learns from many histories")
	tests := []struct {
		what    string
		changes func(w *world, end time.Time) []time.Time
		share   float64 // by which the share captured may be off
		rest    float64 // by which, relatively, the others may be
	}{
		{"at random", func(w *world, end time.Time) []time.Time {
			return w.poisson(monday, end, w.lognormal(1/(3*time.Hour).Seconds(), 1))
		}, 0.1, 0.1},
		{"once an hour", func(w *world, end time.Time) (at []time.Time) {
			phase := time.Duration(w.draw.Float64() * float64(time.Hour))
			for t := monday.Add(phase); t.Before(end); t = t.Add(time.Hour) {
				if w.draw.Float64() < 0.7 {
					at = append(at, t.Add(time.Duration(w.draw.NormFloat64()*float64(2*time.Minute))))
				}
			}
			return at
		}, 0.2, 0.25},
		// That a burst between two polls was more than one change, no poll shows.
		{"in bursts", func(w *world, end time.Time) (at []time.Time) {
			for _, t := range w.poisson(monday, end, 1/(24*time.Hour).Seconds()) {
				for w.draw.Float64() < 0.85 {
					t = t.Add(time.Duration(w.draw.ExpFloat64() * float64(20*time.Minute)))
					at = append(at, t)
				}
			}
			return at
		}, 0.75, 0.6},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			const pages = 40
			w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: pages / 12.0, Memory: 1e5 * time.Hour}, 1)
			end := monday.Add(20 * day)
			for range pages {
				w.add(freshet.Source{}, tt.changes(w, end))
			}
			w.pollAtRandom(end, 2*time.Hour, nil)
			var sum outlook.Tally
			for slot := range w.sources {
				sum = sum.Add(w.Tally(freshet.Slot(slot)))
			}
			real := w.truthOf()
			want := outlook.Tally{Captured: real.captured, Happened: real.happened, Delay: real.delay, Watched: real.watched, Stale: real.stale, Age: real.age, Behind: real.behind}
			share, truth := learn.Share(sum), learn.Share(want).Mean
			t.Logf("share captured %.3f (%.3f to %.3f), in truth %.3f; delay %v, in truth %v; freshness %.3f, in truth %.3f; age %v, in truth %v",
				share.Mean, share.Low, share.High, truth, sum.MeanDelay().Round(time.Second), want.MeanDelay().Round(time.Second),
				sum.Freshness(), want.Freshness(), sum.MeanAge().Round(time.Second), want.MeanAge().Round(time.Second))
			near := func(what string, got, want, by float64) {
				t.Helper()
				if math.Abs(got-want) > by {
					t.Errorf("the %s is said to be %.4g, and is %.4g", what, got, want)
				}
			}
			near("number of polls", sum.Polls, float64(len(w.log)), 0.01*float64(len(w.log)))
			near("number of captured changes", sum.Captured, real.captured, 0.01*real.captured)
			near("number of polls that found a change", sum.Found, real.captured, 0.01*real.captured)
			divergence := learn.Divergence(sum)
			t.Logf("divergence %.3f (%.3f to %.3f), in truth %.3f", divergence.Mean, divergence.Low, divergence.High, want.Divergence())
			near("divergence", divergence.Mean, want.Divergence(), 1.5*tt.rest*want.Divergence())
			near("time watched", sum.Watched, real.watched, 0.01*real.watched)
			near("share captured", share.Mean, truth, tt.share)
			if tt.share < 0.5 && (truth < share.Low || truth > share.High) {
				t.Errorf("the share captured is said to be between %.3f and %.3f, and is %.3f", share.Low, share.High, truth)
			}
			near("mean delay", sum.MeanDelay().Seconds(), want.MeanDelay().Seconds(), tt.rest*want.MeanDelay().Seconds())
			near("freshness", sum.Freshness(), want.Freshness(), 0.3*tt.rest)
			near("mean age", sum.MeanAge().Seconds(), want.MeanAge().Seconds(), 1.5*tt.rest*want.MeanAge().Seconds())
		})
	}
}

// Of the intervals of the divergence, source by source, about nine in ten hold the
// truth where changes come at random.
func TestDivergencesCover(t *testing.T) {
	inside, sources := 0, 0
	for seed := range uint64(3) {
		w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 4, Memory: 1e5 * time.Hour}, seed)
		end := monday.Add(8 * day)
		for range 60 {
			w.add(freshet.Source{}, w.poisson(monday, end, w.lognormal(1/(3*time.Hour).Seconds(), 0.7)))
		}
		w.pollAtRandom(end, 150*time.Minute, nil)
		log := w.log
		for slot := range freshet.Slot(60) {
			w.log = nil
			for _, o := range log {
				if o.slot == slot {
					w.log = append(w.log, o)
				}
			}
			real := w.truthOf()
			said := learn.Divergence(w.Tally(slot))
			sources++
			if is := real.behind / real.watched; said.Low <= is && is <= said.High {
				inside++
			}
		}
	}
	cover := float64(inside) / float64(sources)
	t.Logf("the intervals of %d sources hold the truth in %.3f of all cases", sources, cover)
	if cover < 0.8 {
		t.Errorf("intervals for nine in ten hold the truth in %.3f of all cases", cover)
	}
}

// Of the intervals of the share captured, source by source, about nine in ten
// hold the truth where changes come at random.
func TestSharesCover(t *testing.T) {
	inside, sources := 0, 0
	for seed := range uint64(3) {
		w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 4, Memory: 1e5 * time.Hour}, seed)
		end := monday.Add(8 * day)
		const pages = 60
		for range pages {
			w.add(freshet.Source{}, w.poisson(monday, end, w.lognormal(1/(3*time.Hour).Seconds(), 0.7)))
		}
		w.pollAtRandom(end, 150*time.Minute, nil)
		for slot := range freshet.Slot(pages) {
			share := learn.Share(w.Tally(slot))
			seen := 0.0
			for _, o := range w.log {
				if o.slot == slot && o.Result == freshet.Changed {
					seen++
				}
			}
			happened := w.happened(slot, monday, w.since[slot])
			if happened == 0 {
				continue
			}
			sources++
			if real := seen / float64(happened); share.Low <= real && real <= share.High {
				inside++
			}
		}
	}
	cover := float64(inside) / float64(sources)
	t.Logf("the intervals of %d sources hold the truth in %.3f of all cases", sources, cover)
	if cover < 0.8 {
		t.Errorf("intervals for nine in ten hold the truth in %.3f of all cases", cover)
	}
}

// Of the polls that were said to find a change with some chance, that share did.
func TestReliabilityIsNearTheDiagonal(t *testing.T) {
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 5}, 4)
	end := monday.Add(20 * day)
	for range 60 {
		w.add(freshet.Source{}, w.poisson(monday, end, w.lognormal(1/(3*time.Hour).Seconds(), 1.5)))
	}
	w.pollAtRandom(end, 2*time.Hour, nil)
	r := w.Reliability()
	polls := 0.0
	for i, bin := range r {
		polls += bin.Polls
		if bin.Polls < 100 {
			continue
		}
		said, found := bin.Chance/bin.Polls, bin.Found/bin.Polls
		noise := 4 * math.Sqrt(said*(1-said)/bin.Polls)
		if math.Abs(said-found) > 0.04+noise {
			t.Errorf("of the polls in tenth %d, %.3f were said to find a change, and %.3f did", i, said, found)
		}
	}
	t.Logf("off by %.4f over %.0f polls", r.Gap(), polls)
	if int(polls) != len(w.log) {
		t.Errorf("%v polls were counted of %d", polls, len(w.log))
	}
	if r.Gap() > 0.03 {
		t.Errorf("chances are off by %.3f on average", r.Gap())
	}
}

// Under other lives a poll captures more than the last change.
func TestTalliesHeedLives(t *testing.T) {
	lives := []objective.Visibility{{}, {Kind: objective.VisibleLast, N: 1}, {Kind: objective.VisibleLast, N: 3}, {Kind: objective.VisibleLast, N: 1000}, {Kind: objective.VisibleForever}}
	w := newWorld(learn.Config{Tick: 10 * time.Minute, Polls: 1}, 5)
	end := monday.Add(20 * day)
	changes := w.poisson(monday, end, 1/time.Hour.Seconds())
	for i, life := range lives {
		w.add(freshet.Source{URL: fmt.Sprintf("https://h%d.example", i), Life: life}, changes)
	}
	for at := monday.Add(3 * time.Hour); at.Before(end); at = at.Add(3 * time.Hour) {
		for slot := range lives {
			w.poll(freshet.Slot(slot), at)
		}
	}
	sane(t, w.Learner, end, len(lives))
	var shares []float64
	for slot := range lives {
		shares = append(shares, learn.Share(w.Tally(freshet.Slot(slot))).Mean)
	}
	t.Logf("shares %.3f of %v", shares, lives)
	for i := 1; i < len(shares); i++ {
		if shares[i] < shares[i-1]-0.05 {
			t.Errorf("the share of %v is %.3f, less than the %.3f of %v", lives[i], shares[i], shares[i-1], lives[i-1])
		}
	}
	if shares[len(shares)-1] < 0.999 {
		t.Errorf("in a log nothing is lost, and yet only %.3f were captured", shares[len(shares)-1])
	}
	if shares[2] < shares[0]+0.1 {
		t.Errorf("three at a time are captured in a share of %.3f, and one at a time in %.3f", shares[2], shares[0])
	}
}

// Tallies speak of the present, for as long as one likes to watch.
func TestTalliesLastForYears(t *testing.T) {
	w := newWorld(learn.Config{Tick: 12 * time.Hour, Polls: 1}, 6)
	end := monday.AddDate(12, 0, 0)
	for range 2 {
		w.add(freshet.Source{}, w.poisson(monday, end, 1/(3*day).Seconds()))
	}
	years := 0
	for at := monday.Add(day); at.Before(end); at = at.Add(day) {
		w.poll(0, at)
		w.poll(1, at.Add(time.Hour))
		if y := int(at.Sub(monday) / (365 * day)); y > years {
			years = y
			sane(t, w.Learner, at.Add(2*time.Hour), 2)
			tally := w.Tally(0)
			// A poll a day that counts for half after 30 days: a good forty.
			if tally.Polls < 40 || tally.Polls > 46 || math.Abs(tally.Watched/day.Seconds()/tally.Polls-1) > 0.01 {
				t.Fatalf("after %d years there are %.2f polls in the tally, over %.2f days, want forty", y, tally.Polls, tally.Watched/day.Seconds())
			}
		}
	}
}

// Pages that change once an hour on average are said to, also if they are polled in some hours of the
// day alone, where a poll after a night finds a change whatever the rate is, or as rarely as they
// change.
func TestRateOfRarePolls(t *testing.T) {
	const days, pages = 21, 10
	for _, tt := range []struct {
		tick, every time.Duration
		open, most  float64 // hours of the day, and how many times as many changes may be said to have happened
	}{
		{10 * time.Second, 10 * time.Minute, 8, 1.2},
		{time.Minute, 10 * time.Minute, 8, 1.2},
		{10 * time.Second, time.Hour, 8, 2},
		{time.Minute, time.Hour, 24, 1.4},
	} {
		t.Run(fmt.Sprintf("ticks of %v, polls every %v in %g hours", tt.tick, tt.every, tt.open), func(t *testing.T) {
			w := newWorld(learn.Config{Tick: tt.tick, Polls: pages * tt.tick.Seconds() / tt.every.Seconds() * tt.open / 24}, 5)
			for range pages {
				w.add(freshet.Source{}, w.poisson(monday, hours((days+1)*24), 1.0/3600))
			}
			var last time.Time
			for day := range days {
				for at := hours(float64(24*day) + 9); at.Before(hours(float64(24*day) + 9 + tt.open)); at = at.Add(tt.every) {
					for slot := range freshet.Slot(pages) {
						last = at.Add(time.Duration(slot) * time.Second)
						w.poll(slot, last)
					}
				}
			}
			var all outlook.Tally
			changed := 0
			for slot := range freshet.Slot(pages) {
				all = all.Add(w.Tally(slot))
				changed += w.happened(slot, monday, last)
				const off = 2.5
				o := w.Outlook(last, slot)
				if day := o.Rate.Times(86400); day.High < 0.75*24 || day.Mean > 24*off || day.Mean < 24/off && o.ChangeRatio() < 0.5 {
					t.Errorf("slot %d changes %.0f times a day (%.0f to %.0f), want 24", slot, day.Mean, day.Low, day.High)
				}
				if day := o.Moment.Times(86400); day.Low > 1.25*24 || day.Mean > 24*off {
					t.Errorf("slot %d is said to change %.0f times a day at the moment (%.0f to %.0f), want 24", slot, day.Mean, day.Low, day.High)
				}
			}
			said, is := all.Happened/all.Watched*86400, float64(changed)/last.Sub(monday).Hours()*24/pages
			if said < 0.8*is || said > tt.most*is {
				t.Errorf("pages are thought to have changed %.1f times a day, and did %.1f times", said, is)
			}
		})
	}
}

// Pages that are all polled at once, and then not for a day, are not forgotten over that day.
func TestPollsInSpellsAreRemembered(t *testing.T) {
	const days, pages = 90, 20
	w := newWorld(learn.Config{Tick: 10 * time.Second, Polls: 1}, 6)
	for i := range pages {
		w.add(freshet.Source{}, w.poisson(monday, hours(days*24), []float64{0.1, 1}[i%2]/86400))
	}
	var last time.Time
	for day := range days {
		for slot := range freshet.Slot(pages) {
			last = hours(float64(24*day) + 9).Add(time.Duration(slot) * time.Second)
			w.poll(slot, last)
		}
	}
	for slot := range freshet.Slot(pages) {
		r := w.Outlook(last, slot).Now
		if slot%2 == 0 && (r.Low*86400 < 0.02 || r.High*86400 > 1) {
			t.Errorf("of slot %d, which changes every ten days, %.2f (%.2f to %.2f) changes a day are expected after %d polls", slot, r.Mean*86400, r.Low*86400, r.High*86400, days)
		}
	}
}
