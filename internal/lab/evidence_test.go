package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// A witness is a policy that notes the outcomes it is told of.
type witness struct {
	policy.Uniform
	outcomes []freshet.Outcome
}

// Observe implements [freshet.Policy].
func (w *witness) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	w.outcomes = append(w.outcomes, o)
	w.Uniform.Observe(now, slot, o)
}

func TestDatesOfPolls(t *testing.T) {
	g := lab.NewGrid(start, time.Minute, 6, [][]int{{2, 3, 6}})
	at := func(minutes float64) time.Time { return start.Add(time.Duration(minutes * float64(time.Minute))) }
	for _, tt := range []struct {
		evidence lab.Evidence
		want     []time.Time
	}{
		{lab.Evidence{}, make([]time.Time, 6)},
		{lab.Evidence{Kind: lab.Feed, Entries: 2}, []time.Time{{}, at(1.5), at(2.5), at(2.5), at(2.5), at(5.5)}},
		{lab.Evidence{Kind: lab.Index}, make([]time.Time, 6)},
		{lab.Evidence{Kind: lab.Dated}, []time.Time{{}, at(1.5), at(2.5), at(2.5), at(2.5), at(5.5)}},
	} {
		w := &witness{}
		if _, err := lab.Replay(t.Context(), g, w, lab.Options{Budget: 1, Evidence: tt.evidence}); err != nil {
			t.Fatal(err)
		}
		var got []time.Time
		for _, o := range w.outcomes {
			got = append(got, o.Modified)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v: the polls of six instants show (-want +got):\n%s", tt.evidence, diff)
		}
	}
}

// A date is that of the latest change that a poll can see: it lies within the
// instant of that change, after the last poll if and only if the poll found
// something new, and never in the future.
func TestDatesAgreeWithWhatPollsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		changes := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 60), 0, 20), 1, 5).Draw(t, "changes")
		instant := time.Duration(rapid.Int64Range(2, int64(time.Hour)).Draw(t, "instant"))
		g := lab.NewGrid(start, instant, 60, changes)
		w := &witness{}
		if _, err := lab.Replay(t.Context(), g, w, lab.Options{Budget: 1, Evidence: lab.Evidence{Kind: lab.Dated}}); err != nil {
			t.Fatal(err)
		}
		for _, o := range w.outcomes {
			page, _ := g.Page(o.Source)
			latest := 0
			for _, j := range g.Of(page) {
				if int(j) <= g.InstantOf(o.Ended) {
					latest = int(j)
				}
			}
			switch {
			case latest == 0 && !o.Modified.IsZero():
				t.Fatalf("%s has not changed, and shows %v", o.Source, o.Modified)
			case latest > 0 && g.InstantOf(o.Modified) != latest:
				t.Fatalf("%s shows %v, in instant %d; it changed in %d", o.Source, o.Modified, g.InstantOf(o.Modified), latest)
			case o.Modified.After(o.Since) != (o.Result == freshet.Changed):
				t.Fatalf("%s was seen at %v and now shows %v, but the poll says %v", o.Source, o.Since, o.Modified, o.Result)
			}
		}
	})
}

func TestEvidenceIsReadAsWritten(t *testing.T) {
	for s, want := range map[string]lab.Evidence{
		"bits": {}, "dated": {Kind: lab.Dated}, "feed:5": {Kind: lab.Feed, Entries: 5},
		"index": {Kind: lab.Index}, "index:20": {Kind: lab.Index, Entries: 20},
		"index,every=1h":      {Kind: lab.Index, Every: time.Hour},
		"index:20,every=1h5m": {Kind: lab.Index, Entries: 20, Every: 65 * time.Minute},
	} {
		got, err := lab.ParseEvidence(s)
		if err != nil || got != want || got.String() != s {
			t.Errorf("%s is read as %v, %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"hearsay": "unknown evidence", "": "unknown evidence", "bits:1": "no number", "dated:3": "no number", "feed": "feed:5",
		"feed:0": "from 1 to 8", "feed:9": "from 1 to 8", "feed:x": "from 1 to 8", "feed:": "from 1 to 8", "index:0": "from 1 to",
		"feed:5,every=1h": "only index", "index,often": "only index", "index,every=": "length of time", "index,every=0s": "length of time", "index,every=1ms": "length of time",
	} {
		if e, err := lab.ParseEvidence(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is taken for %v: %v, want an error with %q", s, e, err, want)
		}
	}
}
