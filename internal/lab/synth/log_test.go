package synth_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// poll asks in process for a page at a moment.
func poll(w *synth.Web, c *clock, id freshet.SourceID, since time.Duration, v freshet.Validators) (freshet.Response, error) {
	c.set(since)
	return w.Fetch(noWait, freshet.Request{URL: w.URL(id), Validators: v})
}

func TestLogSaysWhatHappened(t *testing.T) {
	s := time.Second
	c := newClock()
	w := synth.New(synth.Config{Start: start, Now: c.Now, Pages: []synth.Page{
		{ID: "a", Host: "one", ETag: true, Schedule: synth.Regular{Every: 10 * s}},
		{ID: "b", Host: "two", Trouble: synth.Trouble{Status: 503, From: 20 * s, RetryAfter: 5 * s}},
	}})
	poll(w, c, "a", 1*s, freshet.Validators{})
	poll(w, c, "a", 2*s, freshet.Validators{ETag: `"a.1"`})
	poll(w, c, "a", 12*s, freshet.Validators{ETag: `"a.1"`, LastModified: "x"})
	poll(w, c, "b", 13*s, freshet.Validators{})
	poll(w, c, "b", 21*s, freshet.Validators{})
	poll(w, c, "b", 25*s, freshet.Validators{})
	poll(w, c, "b", 31*s, freshet.Validators{})

	want := []synth.Request{
		{At: start.Add(1 * s), Host: "one", Page: "a", Status: 200, Version: 1},
		{At: start.Add(2 * s), Host: "one", Page: "a", Status: 304, Version: 1, ByETag: true},
		{At: start.Add(12 * s), Host: "one", Page: "a", Status: 200, Version: 2, ByETag: true, ByDate: true},
		{At: start.Add(13 * s), Host: "two", Page: "b", Status: 200, Version: 1},
		{At: start.Add(21 * s), Host: "two", Page: "b", Status: 503, RetryAfter: 5 * s},
		{At: start.Add(25 * s), Host: "two", Page: "b", Status: 503, RetryAfter: 5 * s},
		{At: start.Add(31 * s), Host: "two", Page: "b", Status: 503, RetryAfter: 5 * s},
	}
	if diff := cmp.Diff(want, w.Requests()); diff != "" {
		t.Errorf("the log is not as expected (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[5:6], w.Early()); diff != "" {
		t.Errorf("the early requests are not as expected (-want +got):\n%s", diff)
	}
	served := []synth.Capture{{Page: "a", Version: 1, At: start.Add(1 * s)}, {Page: "a", Version: 2, At: start.Add(12 * s)}}
	if diff := cmp.Diff(served, w.Served("a")); diff != "" {
		t.Errorf("what was served is not as expected (-want +got):\n%s", diff)
	}
	if got, ok := w.MinGap("one"); got != 1*s || !ok {
		t.Errorf("the shortest gap at one is %v (%v), want 1s", got, ok)
	}
	if got, ok := w.MinGap("two"); got != 4*s || !ok {
		t.Errorf("the shortest gap at two is %v (%v), want 4s", got, ok)
	}
	if _, ok := w.MinGap("nowhere"); ok {
		t.Error("a host that is not there has a gap")
	}
}

// TestWindows holds the windows of the log to counting by hand, also where the
// clock goes back.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		w := synth.New(synth.Config{Start: start, Now: c.Now, Pages: []synth.Page{{ID: "a", Host: "h"}}})
		at := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 40).Draw(t, "seconds")
		for _, s := range at {
			poll(w, c, "a", time.Duration(s)*time.Second, freshet.Validators{})
		}
		length := rapid.IntRange(1, 20).Draw(t, "window")
		most := 0
		for from := range 61 {
			n := 0
			for _, s := range at {
				if s >= from && s < from+length {
					n++
				}
			}
			most = max(most, n)
		}
		if got := w.MaxInWindow(time.Duration(length) * time.Second); got != most {
			t.Errorf("at most %d requests in %d seconds, want %d", got, length, most)
		}
		slices.Sort(at)
		gap, ok := w.MinGap("h")
		if ok != (len(at) >= 2) {
			t.Errorf("a shortest gap among %d requests: %v", len(at), ok)
		}
		for i := 1; i < len(at); i++ {
			if d := time.Duration(at[i]-at[i-1]) * time.Second; d < gap {
				t.Errorf("the shortest gap is said to be %v, but there is one of %v", gap, d)
			}
		}
	})
}
