package daemon_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// learning returns a configuration with the policy auto.
func learning(w *synth.Web, budget sched.Budget) daemon.Config {
	auto := policy.NewAuto(policy.AutoConfig{Instant: time.Second, Tick: 20 * time.Second, Start: start})
	return daemon.Config{Fetcher: w, Policy: auto, Learner: auto.Learner(), Limits: sched.Limits{Budget: budget}}
}

// poissonWeb has a page for each mean time between changes.
func poissonWeb(means ...time.Duration) *synth.Web {
	var pages []synth.Page
	for i, mean := range means {
		pages = append(pages, synth.Page{
			ID: freshet.SourceID(fmt.Sprint("p", i)), Host: fmt.Sprint("h", i%2), Schedule: synth.Poisson{Mean: mean},
		})
	}
	return synth.New(synth.Config{Start: time.Now(), Now: time.Now, Pages: pages, Latency: 10 * time.Millisecond})
}

// When the next poll is expected it comes, roughly: what other sources will be
// worth by then is not known.
func TestWhyComesTrue(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates hours of polls")
	inBubble(t, func(t *testing.T, dir string) {
		var means []time.Duration
		for i := range 30 {
			means = append(means, time.Duration(i+1)*time.Minute)
		}
		w := poissonWeb(means...)
		list := w.Sources()
		for i := range list {
			switch list[i].ID {
			case "p0":
				list[i].MinGap = 5 * time.Minute
			case "p20":
				list[i].MaxGap = time.Minute
			}
		}
		b := begin(t, dir, learning(w, sched.Budget{Polls: 10, Per: time.Minute}), list...)
		defer b.stop()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		asked, all := time.Now(), map[freshet.SourceID]daemon.Why{}
		var ids []freshet.SourceID
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		next, err := b.NextPolls(t.Context(), append(ids, "nobody"))
		if err != nil || len(next) != len(ids)+1 || !next[len(ids)].IsZero() {
			t.Fatalf("the next polls are %v: %v", next, err)
		}
		for i, s := range list {
			why, err := b.Why(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			if why.Outlook.Price <= 0 || why.Outlook.Since.IsZero() || why.Outlook.Rate.Mean <= 0 || why.Next.IsZero() {
				t.Fatalf("after two hours it is said of %s: %+v", s.ID, why)
			}
			if !next[i].Equal(why.Next) {
				t.Errorf("the next poll of %s is expected at %v in a list, and at %v if it is asked why", s.ID, next[i], why.Next)
			}
			all[s.ID] = why
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		var off []float64 // factor by which a wait was longer than said
		for id, why := range all {
			log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: id, Limit: 10_000})
			if err != nil {
				t.Fatal(err)
			}
			next := slices.IndexFunc(log, func(o freshet.Outcome) bool { return o.Began.After(asked) })
			if next < 0 {
				t.Fatalf("%s was not polled for two hours", id)
			}
			said, was := why.Next.Sub(asked), log[next].Began.Sub(asked)
			off = append(off, (was+10*time.Second).Seconds()/(said+10*time.Second).Seconds())
			if until := why.Hold.Until.Sub(asked); was < until {
				t.Errorf("%s was polled after %v although it was held back for %v by %v", id, was, until, why.Hold)
			}
			if id == "p20" && (why.Cause != freshet.ByBound || log[next].Cause != freshet.ByBound || was > said+20*time.Second) {
				t.Errorf("a source with a MaxGap was to be polled after %v (%s) and was after %v (%s)", said, why.Cause, was, log[next].Cause)
			}
		}
		slices.Sort(off)
		t.Logf("the wait was %.2f times as long as said in the median, and between %.2f and %.2f times for most", off[15], off[3], off[26])
		if off[15] < 0.5 || off[15] > 2 || off[3] < 0.1 || off[26] > 10 {
			t.Errorf("waits were these factors longer than said: %.2f", off)
		}
	})
}

func TestWhy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := poissonWeb(time.Minute, time.Minute, time.Hour)
		list := w.Sources()
		for i := range list {
			list[i].Paused = list[i].ID == "p1"
		}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{
			Budget: sched.Budget{Polls: 1, Per: time.Second}, Hosts: sched.Politeness{Delay: time.Minute}}}, list...)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		for id, want := range map[freshet.SourceID]sched.HoldKind{"p0": sched.HoldHostWait, "p1": sched.HoldPaused, "p2": sched.HoldHostWait} {
			why, err := b.Why(t.Context(), id)
			if err != nil || why.Hold.Kind != want || why.Source.ID != id {
				t.Errorf("%s is held back by %v (%v), want %v", id, why.Hold.Kind, err, want)
			}
			if why.Outlook.Price != 0 || !why.Next.IsZero() {
				t.Errorf("a policy that says nothing is said to expect %+v", why)
			}
		}
		if _, err := b.Why(t.Context(), "nobody"); !errors.Is(err, freshet.ErrNotFound) {
			t.Errorf("why of nobody is %v", err)
		}
		if _, err := b.Numbers(t.Context(), daemon.NumbersQuery{}); !errors.Is(err, daemon.ErrNoNumbers) || freshet.HintOf(err) == "" {
			t.Errorf("numbers where nothing is learnt: %v", err)
		}
		d := b.Daemon
		b.stop()
		if _, err := d.Overall(t.Context()); !errors.Is(err, daemon.ErrNotRunning) || freshet.HintOf(err) == "" {
			t.Errorf("numbers of a daemon that was stopped: %v", err)
		}
	})
}

// The truth is near what the numbers say. How near they can come is the affair of
// package learn; here it is about whether the right things are added up.
func TestNumbersAreHonest(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	inBubble(t, func(t *testing.T, dir string) {
		var means []time.Duration
		for i := range 20 {
			means = append(means, time.Duration(i+1)*time.Minute)
		}
		w := poissonWeb(means...)
		b := begin(t, dir, learning(w, sched.Budget{Polls: 3, Per: time.Minute}), w.Sources()...)
		defer b.stop()
		time.Sleep(12 * time.Hour)
		synctest.Wait()
		n, err := b.Numbers(t.Context(), daemon.NumbersQuery{By: daemon.ByHost})
		if err != nil {
			t.Fatal(err)
		}
		changes, err := b.store.Changes(t.Context(), freshet.ChangeQuery{Limit: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		happened := 0
		for _, s := range w.Sources() {
			happened += len(w.Changes(s.ID, start, time.Now()))
		}
		share, truth := learn.Share(n.All.Tally), float64(len(changes))/float64(happened)
		t.Logf("%d of %d changes were captured, %.3f; the numbers say %.3f, between %.3f and %.3f; chances are off by %.3f",
			len(changes), happened, truth, share.Mean, share.Low, share.High, n.Reliability.Gap())
		if math.Abs(truth-share.Mean) > 0.15 || share.Low > share.Mean || share.High < share.Mean {
			t.Errorf("the share captured is %.3f and said to be %.3f, between %.3f and %.3f", truth, share.Mean, share.Low, share.High)
		}
		if n.Reliability.Gap() > 0.1 {
			t.Errorf("chances are off by %.3f", n.Reliability.Gap())
		}
		if len(n.Groups) != 2 || n.Groups[0].Sources != 10 || n.Groups[0].Missed() < n.Groups[1].Missed() || n.All.Sources != 20 || n.All.Unseen != 0 {
			t.Errorf("by host the numbers are %+v", n.Groups)
		}
		if n.All.Waiting <= 0 || n.All.Waiting > 100 || n.Used < 1 || n.Most != 3 || n.Price <= 0 {
			t.Errorf("%.1f changes wait, %d of %d requests are spent, the price is %v", n.All.Waiting, n.Used, n.Most, n.Price)
		}
		again, err := b.Overall(t.Context())
		if err != nil || learn.Share(again.All.Tally) != share {
			t.Errorf("in short the share is %+v (%v), want %+v", learn.Share(again.All.Tally), err, share)
		}
	})
}
