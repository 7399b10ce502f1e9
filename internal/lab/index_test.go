package lab_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/lab"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A listener is a policy that is shown indexes, polls in turns, and notes what it hears.
type listener struct {
	witness
	learner *learn.Learner
	sources map[freshet.SourceID]freshet.Source
}

// Learner makes it one that learns.
func (l *listener) Learner() *learn.Learner { return l.learner }

// Put implements [freshet.Policy].
func (l *listener) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	if l.sources == nil {
		l.sources = map[freshet.SourceID]freshet.Source{}
	}
	l.sources[s.ID] = s
	l.witness.Put(now, slot, s, since)
}

// ofIndexes returns the outcomes of indexes.
func (l *listener) ofIndexes() []freshet.Outcome {
	return slices.DeleteFunc(slices.Clone(l.outcomes), func(o freshet.Outcome) bool { return !l.sources[o.Source].Index })
}

// gridOf cuts the changes of pages, in minutes since start, into instants of a minute.
func gridOf(t interface{ Fatal(...any) }, instants int, changes map[freshet.SourceID][]float64) *lab.Grid {
	h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, list := range changes {
			for _, m := range list {
				if !yield(id, minutes(m)) {
					return
				}
			}
		}
	}, slices.Collect(maps.Keys(changes))...)
	g, err := h.Quantise(lab.Period{Start: start, End: minutes(float64(instants)), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func minutes(m float64) time.Time { return start.Add(time.Duration(m * float64(time.Minute))) }

// A feed shows what came before the replay, too: in the look at instant 0, and for as long
// as its list reaches back so far.
func TestFeedsShowTheirLastChanges(t *testing.T) {
	g := gridOf(t, 3, map[freshet.SourceID][]float64{"a": {-100, -7.5, -7.2, -2.25, 1.1, 1.2, 2.9}})
	for _, tt := range []struct {
		continuous bool
		want       [][]time.Time
	}{
		{false, [][]time.Time{
			{minutes(-2.25), minutes(-7.2), minutes(-100)},
			{minutes(-2.25), minutes(-7.2), minutes(-100)},
			{minutes(1.5), minutes(-2.25), minutes(-7.2)},
			{minutes(2.5), minutes(1.5), minutes(-2.25)},
		}},
		{true, [][]time.Time{
			{minutes(-2.25), minutes(-7.2), minutes(-7.5)},
			{minutes(-2.25), minutes(-7.2), minutes(-7.5)},
			{minutes(-2.25), minutes(-7.2), minutes(-7.5)},
			{minutes(1.2), minutes(1.1), minutes(-2.25)},
			{minutes(2.9), minutes(1.2), minutes(1.1)},
		}},
	} {
		w := &witness{}
		o := lab.Options{Budget: 1, Evidence: lab.Evidence{Kind: lab.Feed, Entries: 3}, Conditions: lab.Conditions{Continuous: tt.continuous}}
		if _, err := lab.Replay(t.Context(), g, w, o); err != nil {
			t.Fatal(err)
		}
		var got [][]time.Time
		for _, o := range w.outcomes {
			if got = append(got, o.Dates); len(o.Dates) == 0 || !o.Modified.Equal(o.Dates[0]) {
				t.Errorf("a poll shows %v and says that %v is the latest", o.Dates, o.Modified)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("continuous %v: the polls show (-want +got):\n%s", tt.continuous, diff)
		}
	}
}

// What indexes say at the first look and at each poll.
func TestWordsOfIndexes(t *testing.T) {
	changes := map[freshet.SourceID][]float64{
		"s.example/a": {-9, 0.2, 1.3, 2.2}, "s.example/b": {-8, 1.4}, "s.example/c": {}, "s.example/d": {-4},
		"other.example/x": {2.6}, "plain": {1.1},
	}
	key := func(id string) crawl.PageKey {
		if id == "plain" {
			return crawl.PageKeyOf("https://pages.invalid/plain")
		}
		return crawl.PageKeyOf("https://" + id)
	}
	said := func(id string, at float64) evidence.PageHint {
		return evidence.PageHint{Page: key("s.example/" + id), Date: minutes(at)}
	}
	undated := evidence.PageHint{Page: key("s.example/c")}
	for _, tt := range []struct {
		evidence   lab.Evidence
		continuous bool
		want       []freshet.Outcome // of s.example
	}{
		{lab.Evidence{Kind: lab.Index, Every: time.Minute}, false, []freshet.Outcome{
			{Result: freshet.First, Version: 1, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("d", -4), said("b", -8), said("a", -9), undated}}},
			{Result: freshet.Changed, Version: 2, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("a", 0.5)}}},
			{Result: freshet.Changed, Version: 3, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("b", 1.5), said("a", 1.5)}}},
			{Result: freshet.Changed, Version: 4, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("a", 2.5)}}},
			{Result: freshet.Unchanged, Version: 4},
		}},
		{lab.Evidence{Kind: lab.Index, Every: 2 * time.Minute}, false, []freshet.Outcome{
			{Result: freshet.First, Version: 1, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("d", -4), said("b", -8), said("a", -9), undated}}},
			{Result: freshet.Changed, Version: 2, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("b", 1.5), said("a", 1.5)}}},
			{Result: freshet.Changed, Version: 3, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("a", 2.5)}}},
		}},
		{lab.Evidence{Kind: lab.Index, Entries: 2, Every: time.Minute}, false, []freshet.Outcome{
			{Result: freshet.First, Version: 1, Word: &evidence.IndexHint{Kind: evidence.FeedIndex, From: minutes(-8), Pages: []evidence.PageHint{said("d", -4), said("b", -8)}}},
			{Result: freshet.Changed, Version: 2, Word: &evidence.IndexHint{Kind: evidence.FeedIndex, From: minutes(-4), Pages: []evidence.PageHint{said("a", 0.5)}}},
			{Result: freshet.Changed, Version: 3, Word: &evidence.IndexHint{Kind: evidence.FeedIndex, From: minutes(1.5), Pages: []evidence.PageHint{said("b", 1.5), said("a", 1.5)}}},
			{Result: freshet.Changed, Version: 4, Word: &evidence.IndexHint{Kind: evidence.FeedIndex, From: minutes(1.5), Pages: []evidence.PageHint{said("a", 2.5)}}},
			{Result: freshet.Unchanged, Version: 4},
		}},
		{lab.Evidence{Kind: lab.Index, Every: 2 * time.Minute}, true, []freshet.Outcome{
			{Result: freshet.First, Version: 1, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("d", -4), said("b", -8), said("a", -9), undated}}},
			{Result: freshet.Changed, Version: 2, Word: &evidence.IndexHint{Pages: []evidence.PageHint{said("b", 1.4), said("a", 1.3)}}},
		}},
	} {
		t.Run(fmt.Sprint(tt.evidence, " ", tt.continuous), func(t *testing.T) {
			g, l := gridOf(t, 4, changes), &listener{}
			score, err := lab.Replay(t.Context(), g, l, lab.Options{Budget: 60, Evidence: tt.evidence, Conditions: lab.Conditions{Continuous: tt.continuous}})
			if err != nil {
				t.Fatal(err)
			}
			var got []freshet.Outcome
			polls, sites := 0, map[freshet.SourceID]bool{}
			for _, o := range l.ofIndexes() {
				s := l.sources[o.Source]
				sites[s.ID] = true
				if o.Requests > 0 {
					polls++
				}
				if s.Host() == "s.example" {
					got = append(got, freshet.Outcome{Result: o.Result, Version: o.Version, Word: o.Word})
				}
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the index says (-want +got):\n%s", diff)
			}
			if len(sites) != 3 || score.IndexPolls != polls || polls == 0 {
				t.Errorf("%d indexes were polled %d times, and the score has %d polls of indexes", len(sites), polls, score.IndexPolls)
			}
			for id, s := range l.sources {
				if !s.Index && crawl.PageKeyOf(s.URL) != key(string(id)) {
					t.Errorf("%s has the URL %s, by which no index names it", id, s.URL)
				}
			}
		})
	}
}

// At every moment, what an index has said is the date of every page of its site, whatever
// was polled when, and whichever polls failed.
func TestIndexesTellTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		changes := map[freshet.SourceID][]float64{}
		for i := range rapid.IntRange(1, 8).Draw(t, "pages") {
			id := freshet.SourceID(fmt.Sprintf("s%d.example/%d#%d%%", i%2, i%3, i))
			changes[id] = rapid.SliceOfN(rapid.Float64Range(-30, 60), 0, 8).Draw(t, "changes")
		}
		g := gridOf(t, 60, changes)
		evidence := lab.Evidence{Kind: lab.Index, Entries: rapid.IntRange(0, 4).Draw(t, "entries"), Every: time.Duration(rapid.IntRange(0, 400).Draw(t, "every")) * time.Second}
		continuous, fails := rapid.Bool().Draw(t, "continuous"), rapid.Float64Range(0, 0.5).Draw(t, "fails")
		truth := func(id freshet.SourceID, now time.Time) (date time.Time) { // as a dated poll would show it
			for _, m := range changes[id] {
				at := minutes(m)
				if !continuous && !at.Before(start) {
					at = at.Truncate(time.Minute).Add(30 * time.Second)
				}
				if !at.After(now) && at.After(date) {
					date = at
				}
			}
			return date
		}
		l, heard := &listener{}, map[crawl.PageKey]time.Time{}
		o := lab.Options{Budget: 3, Evidence: evidence, Conditions: lab.Conditions{
			Continuous: continuous, Failures: lab.Failures{Share: fails},
			Limits: &sched.Limits{Backoff: sched.Backoff{Start: 1, Most: 1, Host: 1}},
		}}
		score, err := lab.Replay(t.Context(), g, l, o)
		if err != nil {
			t.Fatal(err)
		}
		var last freshet.Outcome
		for _, o := range l.ofIndexes() {
			last = o
			if o.Word == nil {
				continue
			}
			for _, p := range o.Word.Pages {
				if p.Date.Before(heard[p.Page]) || p.Date.After(o.Began) {
					t.Fatalf("an index says %v, after %v, at %v", p.Date, heard[p.Page], o.Began)
				}
				heard[p.Page] = p.Date
			}
			if evidence.Entries > 0 && len(o.Word.Pages) > evidence.Entries {
				t.Fatalf("%d pages of at most %d", len(o.Word.Pages), evidence.Entries)
			}
		}
		if evidence.Entries == 0 && last.Result.Seen() {
			host := l.sources[last.Source].Host()
			for id := range changes {
				if s := l.sources[id]; s.Host() == host {
					if got, want := heard[crawl.PageKeyOf(s.URL)], truth(id, last.Began); !got.Equal(want) {
						t.Errorf("%s is said to have changed at %v, want %v", id, got, want)
					}
				}
			}
		}
		if score.Pages != len(changes) || score.Changes != g.Changes() || len(score.ByPage) != len(changes) {
			t.Errorf("indexes are scored as pages: %d of %d, %d changes of %d", score.Pages, len(changes), score.Changes, g.Changes())
		}
	})
}

// A policy that does not hear indexes polls as if there were none.
func TestIndexesAreForThoseWhoHearThem(t *testing.T) {
	g := gridOf(t, 50, map[freshet.SourceID][]float64{"s/a": {3, 9, 20}, "s/b": {7, 44}, "s/c": {}})
	run := func(p freshet.Policy, e lab.Evidence) lab.Score {
		s, err := lab.Replay(t.Context(), g, p, lab.Options{Budget: 1, Evidence: e})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, every := range []time.Duration{0, 5 * time.Minute} {
		index := lab.Evidence{Kind: lab.Index, Every: every}
		if diff := cmp.Diff(run(&policy.Uniform{}, lab.Evidence{}), run(&policy.Uniform{}, index)); diff != "" {
			t.Errorf("%v: uniform polls otherwise (-bits +index):\n%s", index, diff)
		}
		score := run(&listener{}, index)
		if want := map[time.Duration]int{0: 12, 5 * time.Minute: 10}[every]; score.Polls != 50 || score.IndexPolls < want || score.IndexPolls > want+1 {
			t.Errorf("%v: %d polls, of them %d of the index, want 50 and %d", index, score.Polls, score.IndexPolls, want)
		}
	}
}

// No trace can have a page that is taken for an index.
func TestIndexesDoNotClash(t *testing.T) {
	pages := map[freshet.SourceID][]float64{"index:s.example": {1}, "s.example/index:": {2}, "s.example/index:index:": {2}, "s.example/a": {3}}
	l := &listener{}
	if _, err := lab.Replay(t.Context(), gridOf(t, 4, pages), l, lab.Options{Budget: 9, Evidence: lab.Evidence{Kind: lab.Index}}); err != nil {
		t.Fatal(err)
	}
	urls := map[string]bool{}
	for id, s := range l.sources {
		if _, page := pages[id]; page == s.Index || urls[s.URL] || s.Index && !strings.HasPrefix(s.URL, "https://") {
			t.Errorf("%s, %s is an index: %v", id, s.URL, s.Index)
		}
		urls[s.URL] = true
	}
	if len(l.sources) != len(pages)+2 {
		t.Errorf("there are %d sources, want 4 pages and 2 indexes", len(l.sources))
	}
}

// A learner beside the policy is held against the pages, also where indexes are watched
// among them, and where sources come and go.
func TestCalibrationBesideIndexes(t *testing.T) {
	var log []freshet.Outcome
	chance := map[freshet.SourceID]float64{"s/busy": 0.9, "s/left": 0.3, "s/late": 0.03}
	draw := rand.New(rand.NewPCG(1, 1))
	for _, id := range []freshet.SourceID{"s/busy", "s/left", "s/late"} {
		came := map[freshet.SourceID]float64{"s/late": 100}[id]
		log = append(log, found(id, came-1, came, freshet.First))
		for m := came; m < 3000 && (id != "s/left" || m < 2000); m++ {
			result := freshet.Changed
			if draw.Float64() > chance[id] {
				result = freshet.Unchanged
			}
			log = append(log, found(id, m, m+1, result))
		}
	}
	slices.SortStableFunc(log, func(a, b freshet.Outcome) int { return a.Ended.Compare(b.Ended) })
	r := read(t, lab.LogOptions{}, log...)
	g, err := r.History.Quantise(r.Period(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	at := policy.Setting{Start: g.Start, Instant: g.Instant, Polls: 1, Sources: 3}
	for _, e := range []lab.Evidence{{}, {Kind: lab.Index, Every: 10 * time.Minute}} {
		held := lab.NewCalibration(g, at)
		score, err := r.Replay(t.Context(), g, &listener{}, lab.Options{Budget: 1, Evidence: e, Learner: held})
		if err != nil {
			t.Fatal(err)
		}
		f := held.Figures(score)
		t.Logf("%v: %d polls of indexes; %+v, the truth is %.3f; %+v", e, score.IndexPolls, f.Share, f.TrueShare, f.Ranges)
		if (score.IndexPolls > 0) != (e.Kind == lab.Index) || f.Ranges.Pages != 3 || f.Ranges.Off > 0.1 || math.Abs(f.Share.Mean-f.TrueShare) > 0.15 {
			t.Errorf("%v: %d polls of indexes; %+v, the truth is %.3f; %+v", e, score.IndexPolls, f.Share, f.TrueShare, f.Ranges)
		}
	}
}
