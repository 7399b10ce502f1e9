package forecast_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/forecast"
	"freshet/internal/learn/outlook"
)

// pages returns sources that change every so often, each on a host of its own.
func pages(n int, every time.Duration) (set []forecast.Prospect) {
	for i := range n {
		set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Host: fmt.Sprintf("h%d", i), Rate: known(every)})
	}
	return set
}

// A page that the policy leaves alone while a change is unlikely is not polled more
// often because there is budget, and a larger budget is said not to be used.
func TestRestLeavesBudgetUnused(t *testing.T) {
	set := pages(10, 10*time.Hour)
	for i := range set {
		set[i].Rest = time.Hour
	}
	m := forecast.New(set, forecast.Terms{Budget: 1})
	now, twice := m.Now(), m.At(2)
	near(t, "what is spent", now.Spent, 10.0/3600, 1e-6)
	if twice.Spent != now.Spent || twice.Share.Mean != now.Share.Mean {
		t.Errorf("twice the budget spends %v and captures %v, and there is no use for more than %v and %v", twice.Spent, twice.Share.Mean, now.Spent, now.Share.Mean)
	}
	for _, s := range m.Spenders(10) {
		if s.Gap < time.Hour-time.Second {
			t.Errorf("%s is expected to be polled every %v, and is left alone for an hour", s.ID, s.Gap)
		}
	}
}

// No source and no host takes more than its share of the budget, whatever the
// budget, and what they may not have goes to the others.
func TestSharesHold(t *testing.T) {
	set := append(pages(40, 24*time.Hour), forecast.Prospect{ID: "noisy", Host: "noisy", Rate: known(2 * time.Second), Weight: 1000})
	busy := pages(5, 10*time.Minute)
	for i := range busy {
		busy[i].ID, busy[i].Host, busy[i].Weight = busy[i].ID+"x", "one", 100
	}
	set = append(set, busy...)
	taken := func(m *forecast.Market, terms forecast.Terms) (noisy, one, all float64) {
		for _, s := range m.Spenders(len(set)) {
			all += s.Spent
			switch {
			case s.ID == "noisy":
				noisy = s.Spent
			case len(s.ID) == 5:
				one += s.Spent
			}
		}
		return noisy / terms.Budget, one / terms.Budget, all / terms.Budget
	}
	for _, budget := range []float64{0.05, 0.1, 0.5} {
		free := forecast.Terms{Budget: budget}
		noisy, _, _ := taken(forecast.New(set, free), free)
		held := forecast.Terms{Budget: budget, SourceShare: 0.3, HostShare: 0.4}
		noisyHeld, one, all := taken(forecast.New(set, held), held)
		t.Logf("at %v the noisy page takes %.3f of the budget, and %.3f with shares; a host takes %.3f, all take %.3f", budget, noisy, noisyHeld, one, all)
		if noisyHeld > 0.3+1e-3 || one > 0.4+5e-3 || all > 1+1e-3 {
			t.Errorf("at %v the noisy page takes %.4f of the budget, one host %.4f and all %.4f", budget, noisyHeld, one, all)
		}
		if noisy < 0.31 {
			t.Errorf("without shares the noisy page takes %.3f, which leaves nothing to show", noisy)
		}
	}
}

// A service level is met although other pages are worth more, one that cannot be
// kept changes nothing, and those that need too much are all kept worse.
func TestLevelsAreForeseen(t *testing.T) {
	set := append(pages(30, time.Hour), forecast.Prospect{ID: "slow", Host: "slow", Rate: known(20 * time.Hour), Level: level(0.9, 30*time.Minute)})
	slow := func(terms forecast.Terms) forecast.LevelCosts { return forecast.New(set, terms).Levels() }
	without, with := slow(forecast.Terms{Budget: 0.004}), slow(forecast.Terms{Budget: 0.004, LevelShare: 0.5})
	if without.Unmet != 1 || with.Unmet != 0 || with.All[0].Now > with.All[0].Gap+time.Second {
		t.Errorf("a level that the policy heeds is %+v, and %+v if it does not", with, without)
	}
	set[30].Rate, set[30].MinGap, set[30].SharedGap = known(10*time.Second), 10*time.Second, true
	hopeless := slow(forecast.Terms{Budget: 0.004, LevelShare: 0.5})
	if hopeless.Impossible != 1 || hopeless.All[0].Obstacle != forecast.BySourceGap || hopeless.Need != 0 || hopeless.Short() {
		t.Errorf("a level that cannot be kept is %+v", hopeless)
	}
	for i := range 10 {
		set[i].Level = level(0.9, time.Minute)
	}
	short := slow(forecast.Terms{Budget: 0.004, LevelShare: 0.5})
	if !short.Short() || short.Unmet != 11 || short.All[0].Obstacle != forecast.ByBudget {
		t.Errorf("levels that need more than half of the budget are %+v", short)
	}
	taken := 0.0
	for _, p := range short.All[:10] {
		taken += 1 / p.Now.Seconds()
	}
	if share := taken / 0.004; share < 0.45 || share > 0.55 {
		t.Errorf("levels that need far too much take %.3f of the budget, want about half", share)
	}
}

// What is said of the present budget is what polls saw of late under it, and there
// is one answer. Of other budgets it says more and less, without a jump.
func TestForecastGoesThroughWhatWasSeen(t *testing.T) {
	set := pages(50, time.Hour)
	plain := forecast.New(set, forecast.Terms{Budget: 0.01})
	for i := range set {
		set[i].Pace = 0.01 / 50
	}
	seen := outlook.Range{Mean: 0.8, Low: 0.7, High: 0.9}
	m := forecast.New(set, forecast.Terms{Budget: 0.01, Seen: seen})
	if said := plain.Now().Share.Mean; math.Abs(said-seen.Mean) < 0.05 {
		t.Fatalf("chance alone says %.3f, which leaves nothing to show", said)
	}
	now := m.Now().Share
	near(t, "the share", now.Mean, seen.Mean, 1e-3)
	near(t, "its lower bound", now.Low, seen.Low, 1e-2)
	near(t, "its upper bound", now.High, seen.High, 1e-2)
	last := 0.0
	for _, p := range m.Curve(32, 41) {
		if p.Share.Mean < last-1e-9 || p.Share.Low > p.Share.Mean || p.Share.High < p.Share.Mean {
			t.Errorf("at %v the share is %+v, after %v", p.Budget, p.Share, last)
		}
		last = p.Share.Mean
	}
	p, ok := m.Least(forecast.Goal{Share: 0.8})
	if !ok || math.Abs(p.Budget/0.01-1) > 0.02 {
		t.Errorf("the share that there is is said to take %v, and it takes 0.01", p.Budget)
	}
}
