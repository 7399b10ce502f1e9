package lab_test

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// after returns a moment so many minutes after the start.
func after(minutes float64) time.Time {
	return start.Add(time.Duration(minutes * float64(time.Minute)))
}

// found returns an outcome of a poll that took no time, in minutes.
func found(id freshet.SourceID, since, at float64, r freshet.Result) freshet.Outcome {
	o := freshet.Outcome{Source: id, Began: after(at), Ended: after(at), Result: r}
	if since >= 0 {
		o.Since = after(since)
	}
	return o
}

// logged yields outcomes as a store does.
func logged(outcomes []freshet.Outcome) iter.Seq2[freshet.Outcome, error] {
	return func(yield func(freshet.Outcome, error) bool) {
		for _, o := range outcomes {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func read(t interface {
	Helper()
	Fatal(...any)
}, r lab.LogOptions, outcomes ...freshet.Outcome) *lab.Recorded {
	t.Helper()
	rec, err := lab.FromOutcomes(logged(outcomes), r)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// changesOf returns the history of one page, in minutes.
func changesOf(h *lab.History, id freshet.SourceID) (minutes []float64) {
	for page, at := range h.All() {
		if page == id {
			minutes = append(minutes, at.Sub(start).Minutes())
		}
	}
	return minutes
}

// smallLog is a log with everything in it that a daemon can meet.
func smallLog() []freshet.Outcome {
	dated := found("dated", 0, 30, freshet.Changed)
	dated.Modified = after(12)
	lied := found("dated", 30, 60, freshet.Changed)
	lied.Modified = after(5) // before the source was last seen
	failed := found("a", 10, 20, freshet.Failed)
	failed.Failure = failure.Extract
	return []freshet.Outcome{
		found("dead", -1, 0, freshet.Failed), // never seen at all
		found("a", -1, 0, freshet.First),
		found("dated", -1, 0, freshet.First),
		found("a", 0, 10, freshet.Unchanged),
		failed,
		found("a", 10, 30, freshet.Changed),
		dated,
		found("", 0, 35, freshet.Changed), // of a source that was purged
		found("late", -1, 40, freshet.First),
		found("a", 30, 40, freshet.First), // another recipe
		found("late", 40, 50, freshet.Unchanged),
		lied,
		found("a", 40, 100, freshet.Changed),
	}
}

func TestRecordedFigures(t *testing.T) {
	r := read(t, lab.LogOptions{Place: lab.Late}, smallLog()...)
	if diff := cmp.Diff([]freshet.SourceID{"a", "dated", "late"}, r.History.Pages()); diff != "" {
		t.Errorf("the pages differ (-want +got):\n%s", diff)
	}
	type figures struct{ Polls, Failed, First, Reread, Changes, Dated int }
	want := figures{Polls: 12, Failed: 2, First: 3, Reread: 1, Changes: 4, Dated: 1}
	if diff := cmp.Diff(want, figures{r.Polls, r.Failed, r.First, r.Reread, r.Changes, r.Dated}); diff != "" {
		t.Errorf("the figures differ (-want +got):\n%s", diff)
	}
	if !r.From.Equal(start) || !r.To.Equal(after(100)) {
		t.Errorf("the log goes from %v to %v", r.From, r.To)
	}
	if r.Silence != 40*time.Minute || !r.SilentSince.Equal(after(60)) {
		t.Errorf("nothing was polled for %v from %v on, want 40m from minute 60", r.Silence, r.SilentSince)
	}
	if r.Width != 30*time.Minute || r.WidthP90 != time.Hour {
		t.Errorf("the windows are %v wide, %v at most, want 30m and 1h", r.Width, r.WidthP90)
	}
	if r.Gap != 20*time.Minute {
		t.Errorf("the usual gap is %v, want 20m", r.Gap)
	}
	if r.Instant() != 2*time.Minute {
		t.Errorf("the instant is %v, want 2m", r.Instant())
	}
}

func TestPlacements(t *testing.T) {
	const ns = 1 / 60e9
	for _, tt := range []struct {
		place lab.Placement
		want  map[freshet.SourceID][]float64
	}{
		{lab.Early, map[freshet.SourceID][]float64{"a": {10 + ns, 40 + ns}, "dated": {12, 30 + ns}, "late": nil}},
		{lab.Late, map[freshet.SourceID][]float64{"a": {30 - ns, 100 - ns}, "dated": {12, 60 - ns}, "late": nil}},
	} {
		h := read(t, lab.LogOptions{Place: tt.place}, smallLog()...).History
		for id, want := range tt.want {
			got := changesOf(h, id)
			if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < ns/2 }) {
				t.Errorf("%v: %s changes at %v, want %v", tt.place, id, got, want)
			}
		}
	}
	for _, p := range []lab.Placement{lab.Spread, lab.Early, lab.Late} {
		if got, err := lab.ParsePlacement(p.String()); err != nil || got != p {
			t.Errorf("%v is read as %v, %v", p, got, err)
		}
	}
	if _, err := lab.ParsePlacement("middle"); err == nil {
		t.Error("middle is taken for a placement")
	}
}

// What is spread is spread evenly over the window, again with each seed, and
// does not depend on what else is in the log.
func TestSpread(t *testing.T) {
	var log []freshet.Outcome
	for i := range 4000 {
		log = append(log, found("a", float64(i), float64(i+1), freshet.Changed))
	}
	h := read(t, lab.LogOptions{Seed: 1}, log...).History
	var quarters [4]int
	for i, at := range changesOf(h, "a") {
		quarters[int(4*(at-float64(i)))]++
	}
	for q, n := range quarters {
		if n < 900 || n > 1100 {
			t.Errorf("quarter %d of the windows has %d of 4000 changes", q+1, n)
		}
	}
	if part := changesOf(read(t, lab.LogOptions{Seed: 1}, log[3000:]...).History, "a"); !slices.Equal(part, changesOf(h, "a")[3000:]) {
		t.Error("a part of the log places its changes elsewhere than the whole")
	}
	if other := read(t, lab.LogOptions{Seed: 2}, log...).History; slices.Equal(changesOf(other, "a"), changesOf(h, "a")) {
		t.Error("another seed places all changes alike")
	}
}

// Outcomes made from a known history by a poller give that history back: every
// change within the gap, where no two fall into one.
func TestRecordedHistoryIsTheTrueOneUpToTheGap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const gap = 10
		truth := map[freshet.SourceID][]float64{}
		var log []freshet.Outcome
		for _, id := range []freshet.SourceID{"a", "b", "c"} {
			polls := rapid.SliceOfN(rapid.Float64Range(1, gap), 1, 60).Draw(t, "gaps of "+string(id))
			log = append(log, found(id, -1, 0, freshet.First))
			since, now := 0.0, 0.0
			for _, g := range polls {
				began := now
				now += g
				switch rapid.SampledFrom([]string{"still", "still", "change", "fail"}).Draw(t, "what") {
				case "change":
					truth[id] = append(truth[id], began+g/2)
					log = append(log, found(id, since, now, freshet.Changed))
				case "fail":
					log = append(log, found(id, since, now, freshet.Failed))
					continue // the window goes on, without a change
				default:
					log = append(log, found(id, since, now, freshet.Unchanged))
				}
				since = now
			}
		}
		place := rapid.SampledFrom([]lab.Placement{lab.Spread, lab.Early, lab.Late}).Draw(t, "placement")
		r := read(t, lab.LogOptions{Place: place, Seed: rapid.Uint64().Draw(t, "seed")}, log...)
		widest := r.WidthP90.Minutes()
		for _, o := range log {
			widest = max(widest, o.Ended.Sub(o.Since).Minutes()*float64(btoi(!o.Since.IsZero())))
		}
		for id, want := range truth {
			got := changesOf(r.History, id)
			if len(got) != len(want) {
				t.Fatalf("%s has %d changes, want %d", id, len(got), len(want))
			}
			for i := range got {
				if math.Abs(got[i]-want[i]) > widest {
					t.Fatalf("%s changed at minute %v, which is put at %v, with windows of up to %v", id, want[i], got[i], widest)
				}
			}
		}
		if r.Happened < float64(r.Changes) {
			t.Fatalf("%v changes happened, and %d were recorded", r.Happened, r.Changes)
		}
		g, err := r.History.Quantise(r.Period(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		// On a grid a poll sees also what came later in its instant, which can
		// cover what it saw; where nothing is covered it finds all.
		if own := r.Own(g, lab.Weights{Life: objective.Visibility{Kind: objective.VisibleForever}}, lab.Measures{}); own.Captured != own.Changes {
			t.Fatalf("the polls that were made captured %d of the %d changes that they recorded", own.Captured, own.Changes)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The estimate of what really happened comes close where changes come at
// steady rates, though polls see at most one of each window.
func TestHappened(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	truth, log := 0, []freshet.Outcome{}
	for _, id := range []freshet.SourceID{"a", "b", "c", "d", "e", "f", "g", "h"} {
		log = append(log, found(id, -1, 0, freshet.First))
		rate := 0.02 + 0.1*chance.Float64() // a minute
		next := chance.ExpFloat64() / rate
		for since := 0.0; since < 6000; {
			now := since + 5 + 15*chance.Float64()
			result := freshet.Unchanged
			for ; next <= now; next += chance.ExpFloat64() / rate {
				result = freshet.Changed
				truth++
			}
			log = append(log, found(id, since, now, result))
			since = now
		}
	}
	r := read(t, lab.LogOptions{}, log...)
	if r.Changes > truth*4/5 {
		t.Fatalf("%d of %d changes were recorded: too many to show anything", r.Changes, truth)
	}
	if math.Abs(r.Happened-float64(truth)) > 0.05*float64(truth) {
		t.Errorf("about %.0f changes are said to have happened, of which %d were recorded; there were %d", r.Happened, r.Changes, truth)
	}
}

// A history that is filled up has as many changes as are thought to have
// happened, all of them in windows where one was seen, and so the same polls
// would have left the same log.
func TestFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []freshet.Outcome
		for _, id := range []freshet.SourceID{"a", "b"} {
			since := 0.0
			for _, g := range rapid.SliceOfN(rapid.Float64Range(1, 10), 1, 200).Draw(t, "gaps of "+string(id)) {
				o := found(id, since, since+g, rapid.SampledFrom([]freshet.Result{freshet.Changed, freshet.Unchanged}).Draw(t, "result"))
				if rapid.Bool().Draw(t, "dated") {
					o.Modified = after(since + g/2)
				}
				log = append(log, o)
				since += g
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		plain, r := read(t, lab.LogOptions{Seed: seed}, log...), read(t, lab.LogOptions{Seed: seed, Fill: true}, log...)
		if r.History.Changes() != plain.Changes+r.Filled || r.Happened != plain.Happened {
			t.Fatalf("%d changes were seen and %d put in, which makes %d", plain.Changes, r.Filled, r.History.Changes())
		}
		if spread := 5 + 5*math.Sqrt(r.Happened); math.Abs(float64(r.History.Changes())-r.Happened) > spread {
			t.Fatalf("the history has %d changes, and %v are thought to have happened", r.History.Changes(), r.Happened)
		}
		for _, o := range log {
			n, latest := 0, -1.0
			for _, at := range changesOf(r.History, o.Source) {
				if at > o.Since.Sub(start).Minutes() && at < o.Ended.Sub(start).Minutes() {
					n, latest = n+1, at
				}
			}
			if (n > 0) != (o.Result == freshet.Changed) {
				t.Fatalf("%d changes of %s in a window that is %v", n, o.Source, o.Result)
			}
			if dated := o.Modified.Sub(start).Minutes(); n > 0 && !o.Modified.IsZero() && math.Abs(latest-dated) > 1e-6 {
				t.Fatalf("the latest change of %s is at minute %v, and it says itself %v", o.Source, latest, dated)
			}
		}
	})
}

// Where every look finds a change there is no telling how many there were, and
// the answer stays within reason.
func TestHappenedAlways(t *testing.T) {
	var log []freshet.Outcome
	for i := range 1000 {
		log = append(log, found("a", float64(i), float64(i+1), freshet.Changed))
	}
	if r := read(t, lab.LogOptions{}, log...); r.Happened < 1000 || r.Happened > 10_000 {
		t.Errorf("of 1000 looks that all found something %v changes are made", r.Happened)
	}
	if r := read(t, lab.LogOptions{}, log[0]); math.Abs(r.Happened-math.Log(3)*1.5) > 1e-6 {
		t.Errorf("one look that found something makes %v changes, want %v", r.Happened, math.Log(3)*1.5)
	}
}

// A clock that jumps back leaves windows that are none.
func TestRecordedClockJumps(t *testing.T) {
	r := read(t, lab.LogOptions{},
		found("a", -1, 100, freshet.First),
		found("a", 100, 50, freshet.Changed),
		found("a", 50, 60, freshet.Unchanged))
	if got := changesOf(r.History, "a"); len(got) != 1 || math.Abs(got[0]-50) > 1e-6 {
		t.Errorf("the change is put at %v, want minute 50", got)
	}
	if !r.From.Equal(after(50)) || r.Gap != 10*time.Minute {
		t.Errorf("the log begins at %v, with gaps of %v", r.From, r.Gap)
	}
}

// A fault of the log is passed on.
func TestRecordedFault(t *testing.T) {
	broken := errors.New("the disk is gone")
	_, err := lab.FromOutcomes(func(yield func(freshet.Outcome, error) bool) {
		if yield(found("a", -1, 0, freshet.First), nil) {
			yield(freshet.Outcome{}, broken)
		}
	}, lab.LogOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("a log that breaks off gives %v", err)
	}
}

// Sources take part in a replay from when they were first seen to when they
// were last polled, if they are no longer watched.
func TestRecordedReplay(t *testing.T) {
	log := []freshet.Outcome{
		found("gone", -1, 0, freshet.First), found("stays", -1, 0, freshet.First),
		found("gone", 0, 10, freshet.Changed), found("stays", 0, 10, freshet.Unchanged),
		found("gone", 10, 20, freshet.Failed),
		found("late", -1, 30, freshet.First),
		found("stays", 10, 40, freshet.Changed), found("late", 30, 40, freshet.Changed),
	}
	r := read(t, lab.LogOptions{Gone: func(id freshet.SourceID) bool { return id == "gone" }}, log...)
	g, err := r.History.Quantise(r.Period(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if r.Came(g) != 1 || r.Left(g) != 1 || r.Spent(g) != 5 {
		t.Errorf("%d came, %d left, %d polls were spent; want 1, 1 and 5", r.Came(g), r.Left(g), r.Spent(g))
	}
	polled := map[string][2]int{} // first and last instant
	score, err := r.Replay(t.Context(), g, &policy.Uniform{}, lab.Options{Budget: 3, Look: func(page, instant int, _ bool) {
		id := string(g.Pages()[page])
		first, ok := polled[id]
		if !ok {
			first[0] = instant
		}
		polled[id] = [2]int{first[0], instant}
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int{"gone": {1, 10}, "stays": {1, 41}, "late": {30, 41}}
	if diff := cmp.Diff(want, polled); diff != "" {
		t.Errorf("sources were polled from and to other instants (-want +got):\n%s", diff)
	}
	if score.Captured != 3 || score.Changes != 3 {
		t.Errorf("a poller that polls everything all the time captured %d of %d changes", score.Captured, score.Changes)
	}
}

// Where polls show dates, those sources do that dated their changes in the log.
func TestRecordedDates(t *testing.T) {
	dated := found("dated", 0, 30, freshet.Changed)
	dated.Modified = after(12)
	r := read(t, lab.LogOptions{}, found("dated", -1, 0, freshet.First), found("mute", -1, 0, freshet.First), dated, found("mute", 0, 30, freshet.Changed))
	g, err := r.History.Quantise(r.Period(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		evidence lab.Evidence
		dated    bool
	}{{lab.Evidence{Kind: lab.Dated}, true}, {lab.Evidence{Kind: lab.Feed, Entries: 3}, true}, {lab.Evidence{}, false}} {
		w := &witness{}
		if _, err := r.Replay(t.Context(), g, w, lab.Options{Budget: 2, Evidence: tt.evidence}); err != nil {
			t.Fatal(err)
		}
		shown := map[freshet.SourceID]bool{}
		for _, o := range w.outcomes {
			shown[o.Source] = shown[o.Source] || !o.Modified.IsZero() || len(o.Dates) > 0
		}
		if diff := cmp.Diff(map[freshet.SourceID]bool{"dated": tt.dated, "mute": false}, shown); diff != "" {
			t.Errorf("%v: dates were shown by others (-want +got):\n%s", tt.evidence, diff)
		}
	}
}

// Without sources that come and go it is the plain replay.
func TestRecordedReplayIsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []freshet.Outcome
		for _, id := range []freshet.SourceID{"a", "b", "c", "d"} {
			log = append(log, found(id, -1, 0, freshet.First))
			since := 0.0
			for _, g := range rapid.SliceOfN(rapid.Float64Range(1, 10), 1, 30).Draw(t, "gaps of "+string(id)) {
				log = append(log, found(id, since, since+g, rapid.SampledFrom([]freshet.Result{freshet.Changed, freshet.Unchanged}).Draw(t, "result")))
				since += g
			}
		}
		r := read(t, lab.LogOptions{}, log...)
		g, err := r.History.Quantise(r.Period(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		o := lab.Options{Budget: rapid.Float64Range(0.1, 4).Draw(t, "budget")}
		want, err := lab.Replay(t.Context(), g, &policy.Uniform{}, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Replay(t.Context(), g, &policy.Uniform{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the scores differ (-Replay +Recorded.Replay):\n%s", diff)
		}
	})
}
