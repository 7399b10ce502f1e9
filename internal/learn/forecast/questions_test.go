package forecast_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/learn/forecast"
	"freshet/internal/learn/outlook"
)

// The least budget for a goal reaches it, and a slightly smaller one does not.
func TestLeastIsLeast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		set := draw(rt)
		for i := range set {
			// Where late changes are worth nothing, one share can be had in
			// several ways that are worth the same and cost differently.
			if k := set[i].Urgency.Kind; k != objective.UrgencyUniform && k != objective.UrgencyExp {
				set[i].Urgency = objective.Urgency{}
			}
		}
		m := forecast.New(set, forecast.Terms{Budget: math.Exp(rapid.Float64Range(-6, -1).Draw(rt, "budget"))})
		share := rapid.Float64Range(0.05, 0.99).Draw(rt, "share")
		p, ok := m.Least(forecast.Goal{Share: share})
		if !ok {
			if p.Share.Mean >= share {
				rt.Fatalf("a share of %.3f is said to be out of reach, and %.3f is reached", share, p.Share.Mean)
			}
			return
		}
		if p.Share.Mean < share-1e-9 {
			rt.Fatalf("the least budget for %.4f captures %.6f", share, p.Share.Mean)
		}
		if got := m.At(p.Budget).Share.Mean; got < share-1e-3 {
			rt.Fatalf("asked for its budget, the market says %.6f and not %.4f", got, share)
		}
		if less := m.At(p.Budget * 0.98).Share.Mean; less > share+1e-3 && !math.IsInf(p.Price, 1) {
			rt.Fatalf("the least budget for %.4f is %.6g, but less captures %.6f", share, p.Budget, less)
		}
	})
}

// Sources that are all alike and whose changes soon lose their worth are all worth
// polling from one price on, so that demand jumps. A goal between the two sides
// of the jump takes a part of it, not all.
func TestLeastWithinAJump(t *testing.T) {
	for _, text := range []string{"exp:0.99", "window:600"} {
		urgency, err := objective.ParseUrgency(text)
		if err != nil {
			t.Fatal(err)
		}
		var set []forecast.Prospect
		for i := range 4 {
			set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint(i)), Rate: known(time.Hour), Urgency: urgency})
		}
		m := forecast.New(set, forecast.Terms{Budget: 1.0 / 600})
		var before forecast.Point
		for _, share := range []float64{0.1, 0.3, 0.5, 0.7} {
			p, ok := m.Least(forecast.Goal{Share: share})
			if !ok || p.Share.Mean < share-1e-9 || p.Share.Mean > share+0.002 {
				t.Errorf("%s: the least budget for %.2f captures %.4f (%v)", text, share, p.Share.Mean, ok)
			}
			near(t, text+": what its budget captures", m.At(p.Budget).Share.Mean, share, 0.01)
			if before.Budget > 0 { // on the jump, twice the share costs twice as much
				near(t, text+": the budget for a share", p.Budget/before.Budget, p.Share.Mean/before.Share.Mean, 0.02)
			}
			before = p
		}
	}
}

func TestLeastOfOtherGoals(t *testing.T) {
	set := []forecast.Prospect{{ID: "a", Rate: known(time.Hour)}, {ID: "b", Rate: doubted(4*time.Hour, 2)}}
	m := forecast.New(set, forecast.Terms{Budget: 1.0 / 600})
	p, ok := m.Least(forecast.Goal{Delay: 5 * time.Minute})
	if !ok || p.Delay > 5*time.Minute || p.Delay < 299*time.Second {
		t.Errorf("a delay of five minutes is met by %v (%v)", p.Delay, ok)
	}
	p, ok = m.Least(forecast.Goal{Share: 0.9, Within: 10 * time.Minute})
	if !ok || math.Abs(p.Within[1]-0.9) > 0.001 {
		t.Errorf("nine in ten within ten minutes are met by %v (%v)", p.Within[1], ok)
	}
	// Of a source that changes every minute the last change is always recent:
	// a mean delay can be short although next to nothing is captured.
	fast := []forecast.Prospect{{ID: "fast", Rate: known(time.Minute)}, {ID: "slow", Rate: known(6 * time.Hour), Weight: 100}}
	m = forecast.New(fast, forecast.Terms{Budget: 1.0 / 60})
	p, ok = m.Least(forecast.Goal{Delay: 10 * time.Minute})
	for _, factor := range []float64{1, 1.5, 4, 20} {
		if d := m.At(p.Budget * factor).Delay; !ok || d > 10*time.Minute+time.Second {
			t.Errorf("with %g times the budget for ten minutes the delay is %v (%v)", factor, d, ok)
		}
	}
	m = forecast.New(set, forecast.Terms{Budget: 1.0 / 600})
	set = slices.Clone(set)
	set[0].MinGap = 3 * time.Hour
	if p, ok = forecast.New(set, forecast.Terms{}).Least(forecast.Goal{Share: 0.9}); ok {
		t.Errorf("a source that may not be polled often enough is captured by %+v", p)
	}
	// One poll more a minute buys what the curve says.
	more := m.At(1.0/600+1.0/60).Share.Mean - m.Now().Share.Mean
	if got := m.Marginal(1.0 / 60); got != more || got <= 0 {
		t.Errorf("one poll more a minute buys %v, want %v", got, more)
	}
}

func TestSpenders(t *testing.T) {
	set := []forecast.Prospect{
		{ID: "calm", Rate: known(100 * time.Hour), Host: "x.example", Tags: []string{"slow"}},
		{ID: "busy", Rate: known(time.Minute), Host: "x.example"},
		{ID: "redirected", Rate: known(time.Hour), Host: "y.example", Tags: []string{"slow", "new"}, Requests: 2},
	}
	m := forecast.New(set, forecast.Terms{Budget: 1.0 / 30})
	spenders := m.Spenders(2)
	if len(spenders) != 2 || spenders[0].ID != "busy" || spenders[1].ID != "redirected" {
		t.Fatalf("the spenders are %+v", spenders)
	}
	near(t, "what two requests a poll take", spenders[1].Spent, 2/spenders[1].Gap.Seconds(), 1e-6)
	total := 0.0
	for _, e := range m.Spenders(100) {
		total += e.Spent
	}
	near(t, "what all take", total, 1.0/30, 1e-5)

	d := m.Drop(forecast.Choice{IDs: []freshet.SourceID{"busy"}})
	if d.Sources != 1 {
		t.Errorf("%d sources were dropped", d.Sources)
	}
	near(t, "what is freed", d.Freed, spenders[0].Spent, 1e-4)
	near(t, "what is lost", d.Lost, spenders[0].Captured, 1e-4)
	near(t, "what the others take", d.Before.Spent+d.Freed, 1.0/30, 1e-5)
	if d.After.Share.Mean <= d.Before.Share.Mean || d.After.Delay >= d.Before.Delay {
		t.Errorf("the others gain nothing: %+v and then %+v", d.Before, d.After)
	}
	for names, want := range map[string]int{"tag:slow": 2, "host:X.example": 2, "tag:new": 1, "none": 0} {
		c, err := forecast.ParseChoice([]string{names})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Drop(c).Sources; got != want {
			t.Errorf("%s drops %d sources, want %d", names, got, want)
		}
	}
}

func TestParseChoice(t *testing.T) {
	c, err := forecast.ParseChoice([]string{"news", "tag:a", "host:X.example:8080"})
	want := forecast.Choice{IDs: []freshet.SourceID{"news"}, Tags: []string{"a"}, Hosts: []string{"x.example:8080"}}
	if diff := cmp.Diff(want, c); err != nil || diff != "" {
		t.Errorf("the choice is wrong (%v):\n%s", err, diff)
	}
	for _, bad := range []string{"", "tag:", "a b", "name:x"} {
		if _, err := forecast.ParseChoice([]string{bad}); err == nil {
			t.Errorf("%q is taken for a choice", bad)
		} else if _, ok := errors.AsType[*invalid.Error](err); !ok {
			t.Errorf("%q is refused with %v", bad, err)
		}
	}
}

func level(share float64, within time.Duration) objective.ServiceLevel {
	return objective.ServiceLevel{Share: share, Within: within}
}

func TestLevels(t *testing.T) {
	append := objective.Visibility{Kind: objective.VisibleForever}
	set := []forecast.Prospect{
		{ID: "kept", Rate: known(time.Hour), Life: append, Level: level(0.9, 10*time.Minute), Gap: 11 * time.Minute},
		{ID: "missed", Rate: known(time.Hour), Life: append, Level: level(0.9, 10*time.Minute), Gap: 20 * time.Minute},
		{ID: "barred", Rate: known(time.Hour), Life: append, Level: level(0.9, 10*time.Minute), MinGap: time.Hour},
		{ID: "none", Rate: known(time.Hour)},
		{ID: "fast", Rate: known(time.Second), Level: level(0.9, 10*time.Minute)},
	}
	got := forecast.New(set, forecast.Terms{Budget: 1}).Levels()
	if len(got.All) != 4 || got.Unmet != 3 || got.Short() {
		t.Fatalf("the levels are %+v", got)
	}
	// In a log every change waits for the next poll: nine in ten within ten
	// minutes take a poll every 100/9 minutes.
	kept, missed, barred := got.All[0], got.All[1], got.All[2]
	near(t, "the gap needed", kept.Gap.Seconds(), 600/0.9, 1e-6)
	near(t, "the cost", kept.Need, 0.9/600, 1e-6)
	near(t, "the share in time", missed.Share, 0.5, 1e-6)
	if !kept.Kept() || missed.Obstacle != forecast.ByWorth || barred.Obstacle != forecast.ByMinGap || barred.Gap != 0 {
		t.Errorf("kept %+v, missed %+v, barred %+v", kept, missed, barred)
	}
	if fast := got.All[3]; fast.Obstacle != forecast.ByRate || fast.Gap != 0 {
		t.Errorf("a page that changes every second is %+v, want it too fast for its level", fast)
	}

	short := forecast.New(set, forecast.Terms{Budget: 1.0 / 600}).Levels()
	if !short.Short() || short.All[1].Obstacle != forecast.ByBudget {
		t.Errorf("with too small a budget the levels are %+v", short)
	}
	for i := range set {
		set[i].Host = "one.example"
	}
	slow := forecast.New(set, forecast.Terms{Budget: 1, HostGap: 8 * time.Minute}).Levels()
	if slow.All[1].Obstacle != forecast.ByHost {
		t.Errorf("with a slow host the levels are %+v", slow)
	}
}

// The gap that a level is said to need keeps it, in the market's own words.
func TestLevelGapKeepsIt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		set := draw(rt)[:1]
		set[0].MinGap, set[0].MaxGap, set[0].Host = 0, 0, ""
		set[0].Level = level(rapid.Float64Range(0.1, 0.99).Draw(rt, "share"), time.Duration(rapid.IntRange(10, 1e6).Draw(rt, "within"))*time.Second)
		p := forecast.New(set, forecast.Terms{}).Levels().All[0]
		if p.Gap == 0 {
			return
		}
		set[0].Gap = p.Gap
		if again := forecast.New(set, forecast.Terms{}).Levels().All[0]; !again.Kept() || again.Share < set[0].Level.Share-1e-6 {
			rt.Fatalf("at a gap of %v the share in time is %.6f, want %.6f", p.Gap, again.Share, set[0].Level.Share)
		}
	})
}

// The bounds of the share follow the budget without jumps, also where half of
// the changes are captured.
func TestBoundsAreSmooth(t *testing.T) {
	var set []forecast.Prospect
	for i := range 20 {
		rate := 1.0 / (60 * float64(i+1))
		set = append(set, forecast.Prospect{ID: freshet.SourceID(fmt.Sprint("s", i)), Rate: outlook.Range{Mean: rate, Low: rate / 20, High: 3 * rate}})
	}
	curve := forecast.New(set, forecast.Terms{Budget: 0.1}).Curve(32, 201)
	for i, p := range curve[1:] {
		before, now := curve[i].Share, p.Share
		if now.Low > now.Mean || now.Mean > now.High {
			t.Errorf("the share is %+v, want the mean within its bounds", now)
		}
		if math.Abs(now.Low-before.Low) > 0.04 || math.Abs(now.High-before.High) > 0.04 {
			t.Errorf("the share goes from %+v to %+v with 3%% more polls", before, now)
		}
	}
}
