package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched/policy"
)

// Every kind of explanation, in words.
func TestWhyWords(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 33, 0, 0, time.UTC)
	known := func(k outlook.Knowledge, mean, low, high float64) client.Rate {
		const day = 24 * 60 * 60
		return client.RateOf(outlook.Rate{Known: k, Range: outlook.Range{Mean: mean / day, Low: low / day, High: high / day}})
	}
	estimated := func(mean, low, high float64) client.Rate { return known(outlook.Estimated, mean, low, high) }
	thought := func(change func(*client.Outlook)) *client.Outlook {
		o := &client.Outlook{
			RatePerDay: estimated(3.1, 2, 5.04), RateNowPerDay: &client.Estimate{Mean: 6}, Expected: 0.03, Chance: 0.12, LostPerDay: 0.37,
			Worth: 0.051, Price: 0.09, Due: at.Add(9 * time.Minute), Captured: client.Captured{Polls: 12},
		}
		change(o)
		return o
	}
	held := func(kind, reason string, wait time.Duration) func(*client.Why) {
		return func(w *client.Why) {
			w.Hold = client.Hold{Kind: kind, Reason: reason}
			if wait > 0 {
				w.Hold.Until = at.Add(wait)
			}
		}
	}
	enough := thought(func(o *client.Outlook) { o.Worth, o.Due = 0.2, at })
	tests := []struct {
		name   string
		change []func(*client.Why)
	}{
		{"it is not worth it yet", nil},
		{"a change is too unlikely", []func(*client.Why){func(w *client.Why) { w.Outlook.Idle, w.Outlook.Chance = true, 0.04 }}},
		{"what its robots.txt asks for", []func(*client.Why){held("crawl_delay", "the robots.txt of its host asks for a pause between requests (Crawl-delay)", 20*time.Second), func(w *client.Why) { w.Outlook = enough }}},
		{"by its strategy", []func(*client.Why){func(w *client.Why) {
			w.Cause = "strategy"
			w.Strategy, w.Planned, w.Outlook.Due, w.Outlook.Worth, w.Outlook.Price = "hour {5, 45}", at.Add(12*time.Minute), at.Add(12*time.Minute), 0, 0
		}}},
		{"its strategy waits for its host", []func(*client.Why){held("host_away", "its host asked to be left alone", 20*time.Minute), func(w *client.Why) {
			w.Cause = "strategy"
			w.Strategy, w.Planned, w.Outlook.Due, w.Outlook.Worth, w.Outlook.Price = "hour {5, 45}", at.Add(-2*time.Minute), at.Add(-2*time.Minute), 0, 0
		}}},
		{"the first look of a strategy", []func(*client.Why){func(w *client.Why) {
			w.Cause = "strategy"
			w.Strategy, w.Planned, w.Outlook.Due, w.LastSeen = "hour {5, 45}", at, at, time.Time{}
		}}},
		{"it is worth it", []func(*client.Why){func(w *client.Why) { w.Outlook = enough }}},
		{"it is worth it and the budget is spent", []func(*client.Why){held("budget", "the budget is spent for the moment", 3*time.Second), func(w *client.Why) { w.Outlook = enough }}},
		{"it is not worth it and the budget is spent", []func(*client.Why){held("budget", "the budget is spent for the moment", 3*time.Second)}},
		{"it is worth it and there are no workers", []func(*client.Why){held("workers", "as many polls as may be are under way", 0), func(w *client.Why) { w.Outlook = enough }}},
		{"it will not be worth it", []func(*client.Why){func(w *client.Why) { w.Outlook.Due = time.Time{} }}},
		{"no price yet", []func(*client.Why){func(w *client.Why) { w.Outlook.Price, w.Outlook.Due = 0, time.Time{} }}},
		{"another policy", []func(*client.Why){func(w *client.Why) { w.Outlook.Price, w.Outlook.Worth, w.Outlook.Due = 0, 0, time.Time{} }}},
		{"nothing is learnt", []func(*client.Why){func(w *client.Why) { w.Outlook = nil }}},
		{"never seen", []func(*client.Why){func(w *client.Why) { w.LastSeen, w.Outlook.Due = time.Time{}, at }}},
		{"never seen, like many others", []func(*client.Why){func(w *client.Why) {
			w.LastSeen, w.Outlook.Due, w.Outlook.RatePerDay, w.Waiting, w.Within = time.Time{}, at, known(outlook.Unknown, 0, 0, 0), 2000, client.Duration(33*time.Minute)
		}}},
		{"the window of the policy is closed", []func(*client.Why){func(w *client.Why) { w.Opens, w.Next = at.Add(3*time.Hour), at.Add(3*time.Hour) }}},
		{"never seen and down", []func(*client.Why){held("backoff", "it is left alone after 2 failed polls", time.Minute), func(w *client.Why) { w.LastSeen = time.Time{} }}},
		{"seen once", []func(*client.Why){func(w *client.Why) {
			w.Outlook.Captured.Polls, w.Outlook.RatePerDay, w.Outlook.RateNowPerDay, w.Outlook.LostPerDay = 0, known(outlook.Unknown, 50000, 1, 100000), nil, 0
		}}},
		{"one change", []func(*client.Why){func(w *client.Why) {
			w.Outlook.Captured.Captured, w.Outlook.RatePerDay, w.Outlook.RateNowPerDay, w.Outlook.LostPerDay = 1, known(outlook.Unknown, 50000, 1, 100000), nil, 0
			w.Outlook.Due = at
		}}},
		{"every poll finds a change", []func(*client.Why){func(w *client.Why) {
			w.Outlook.RatePerDay, w.Outlook.RateNowPerDay = known(outlook.AtLeast, 900, 288, 9000), nil
		}}},
		{"no change in a long time", []func(*client.Why){func(w *client.Why) {
			w.Outlook.RatePerDay, w.Outlook.RateNowPerDay, w.Outlook.LostPerDay = known(outlook.AtMost, 0.1, 0.01, 0.4), nil, 0
		}}},
		{"imported and never seen", []func(*client.Why){func(w *client.Why) {
			w.LastSeen, w.Outlook.RatePerDay, w.Taught = time.Time{}, estimated(48, 45, 52), &client.Taught{Times: 672, From: at.Add(-14 * 24 * time.Hour), To: at}
		}}},
		{"much is going on", []func(*client.Why){func(w *client.Why) { w.Outlook.Expected, w.Outlook.Chance = 0.4, 0.33 }}},
		{"little is going on", []func(*client.Why){func(w *client.Why) { w.Outlook.Expected, w.Outlook.Chance = 0.004, 0.004 }}},
		{"a log", []func(*client.Why){func(w *client.Why) { w.Outlook.LostPerDay, w.Outlook.DelayedPerDay = 0, 0.13 }}},
		{"the delay of its host ends before it is due", []func(*client.Why){held("host_delay", "its host was polled a moment ago, and hosts.delay keeps polls of one host apart", 5*time.Second)}},
		{"the delay of its host", []func(*client.Why){held("host_delay", "its host was polled a moment ago, and hosts.delay keeps polls of one host apart", 5*time.Second), func(w *client.Why) { w.Outlook = enough }}},
		{"another poll of its host", []func(*client.Why){held("host_busy", "another poll of its host is under way", 0), func(w *client.Why) { w.Outlook = enough }}},
		{"its host asked", []func(*client.Why){held("host_away", "its host asked to be left alone", 20*time.Hour)}},
		{"its host fails", []func(*client.Why){held("host_failing", "its host is left alone after 3 failed polls", 40*time.Second), func(w *client.Why) { w.Outlook = enough }}},
		{"it fails", []func(*client.Why){held("backoff", "it is left alone after 4 failed polls", 3*time.Hour)}},
		{"its min_gap", []func(*client.Why){held("min_gap", "its min_gap has not passed", 20*time.Minute)}},
		{"paused", []func(*client.Why){held("paused", "it is paused", 0), func(w *client.Why) { w.Outlook.Due = time.Time{} }}},
		{"under way", []func(*client.Why){held("under_way", "a poll of it is under way", 0)}},
		{"asked for", []func(*client.Why){func(w *client.Why) { w.Asked, w.Cause = true, "hand" }}},
		{"asked for and held back", []func(*client.Why){held("budget", "the budget is spent for the moment", 90*time.Second), func(w *client.Why) { w.Asked, w.Cause = true, "hand" }}},
		{"its max_gap comes first", []func(*client.Why){func(w *client.Why) {
			w.MaxGap, w.Cause, w.Deadline, w.Next = client.Duration(20*time.Minute), "bound", at.Add(6*time.Minute), at.Add(6*time.Minute)
		}}},
		{"only its max_gap is known", []func(*client.Why){func(w *client.Why) {
			w.Outlook, w.MaxGap, w.Cause, w.Deadline, w.Next = nil, client.Duration(48*time.Hour), "bound", at.Add(30*time.Hour), at.Add(30*time.Hour)
		}}},
		{"the delay of its host ends before its max_gap", []func(*client.Why){held("host_delay", "its host was polled a moment ago, and hosts.delay keeps polls of one host apart", 5*time.Second), func(w *client.Why) {
			w.MaxGap, w.Cause, w.Deadline, w.Next = client.Duration(20*time.Minute), "bound", at.Add(6*time.Minute), at.Add(6*time.Minute)
			w.Outlook.Price, w.Outlook.Due = 0, time.Time{}
		}}},
		{"its max_gap has run out", []func(*client.Why){held("budget", "the budget is spent for the moment", time.Second), func(w *client.Why) {
			w.MaxGap, w.Cause, w.Deadline, w.Next = client.Duration(20*time.Minute), "bound", at.Add(-time.Minute), at
		}}},
		{"the disk is full", []func(*client.Why){held("under_way", "a poll of it is under way", 0), func(w *client.Why) { w.Trouble = "storage cannot be written" }}},
		{"its sitemap says that it changed", []func(*client.Why){func(w *client.Why) {
			w.Heard = &client.Heard{Index: "docs.0123", Kind: "sitemap", Changed: at.Add(-3 * time.Minute), Right: 40.6, Times: 42.2}
		}}},
		{"its sitemap says that it did not", []func(*client.Why){func(w *client.Why) {
			w.Heard = &client.Heard{Index: "docs.0123", Kind: "sitemap", Until: at.Add(-28 * time.Minute), Right: 1, Times: 1}
		}}},
		{"a page has just linked to it", []func(*client.Why){func(w *client.Why) {
			w.Heard = &client.Heard{Index: "news", Kind: "hub", Changed: at.Add(-20 * time.Millisecond)}
		}}},
		{"a hook was called", []func(*client.Why){func(w *client.Why) {
			w.Asked, w.Cause, w.Next, w.Pushed = true, "push", at, &client.Pushed{At: at.Add(-4 * time.Second), Right: 2.7, Times: 3.4}
		}}},
		{"a hook was called that is not believed", []func(*client.Why){func(w *client.Why) {
			w.Pushed = &client.Pushed{At: at.Add(-4 * time.Second), Times: 6}
		}}},
		{"it says when it changes next", []func(*client.Why){func(w *client.Why) {
			w.Foretold = &client.Foretold{At: at.Add(40 * time.Minute), By: "text", Right: 17.6, Times: 19.8, Believed: true}
		}}},
		{"it lies about when it changes next", []func(*client.Why){func(w *client.Why) {
			w.Foretold = &client.Foretold{At: at.Add(40 * time.Hour), By: "field", Every: client.Duration(15 * time.Minute), Right: 0.2, Times: 7.8}
		}}},
		{"it has told the truth twice", []func(*client.Why){func(w *client.Why) {
			w.Foretold = &client.Foretold{At: at.Add(40 * time.Minute), By: "feed", Right: 2, Times: 2}
		}}},
		{"it said that it changes a moment ago", []func(*client.Why){func(w *client.Why) {
			w.Foretold = &client.Foretold{At: at.Add(-10 * time.Second), By: "server"}
		}}},
		{"it rests at night and on Sundays", []func(*client.Why){func(w *client.Why) {
			w.Resting = &client.Resting{Hours: []int{0, 1, 2, 12, 22, 23}, Days: []string{"Sunday"}, Right: 8, Times: 8, Believed: true}
		}}},
		{"a busy source", []func(*client.Why){func(w *client.Why) {
			w.Name, w.LastSeen, w.Outlook.RatePerDay, w.Outlook.Chance = "", at.Add(-400*time.Millisecond), estimated(900000, 800000, 1000000), 0.34
			w.Outlook.Expected = 0.42
		}}},
		{"a quiet source", []func(*client.Why){func(w *client.Why) {
			w.LastSeen, w.Outlook.RatePerDay, w.Outlook.Chance = at.Add(-40*time.Hour), estimated(0.004, 0.00001, 0.01), 0.003
			w.Outlook.LostPerDay, w.Outlook.Expected = 0.00002, 0.007
		}}},
	}
	for n := range 5 {
		tests = append(tests, struct {
			name   string
			change []func(*client.Why)
		}{fmt.Sprintf("it shares its polls with %d others", n+1), []func(*client.Why){func(w *client.Why) {
			w.SharedWith = []freshet.SourceID{"prices", "stock", "reviews", "rating", "manual"}[:n+1]
		}}})
	}
	var b strings.Builder
	for _, tt := range tests {
		w := client.Why{
			ID: "news", URL: "https://news.example/", Name: "The News", At: at, LastSeen: at.Add(-14 * time.Minute),
			Outlook: thought(func(*client.Outlook) {}), Hold: client.Hold{Kind: "none", Reason: "nothing holds it back"},
			Next: at.Add(9 * time.Minute), Cause: "policy",
		}
		for _, change := range tt.change {
			change(&w)
		}
		w.Next = expectedNext(w)
		fmt.Fprintf(&b, "# %s\n%s\n%s\n\n", tt.name, w.Words(time.UTC), w.Details())
	}
	const file = "testdata/why.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("it is said otherwise than in %s (-want +got):\n%s", file, diff)
	}
}

// expectedNext returns when the daemon would expect the poll that a Why explains.
func expectedNext(w client.Why) time.Time {
	next := w.Next
	if w.Cause == "policy" || w.Cause == "strategy" {
		if next = (time.Time{}); w.Outlook != nil {
			next = w.Outlook.Due
		}
	}
	switch {
	case !w.Opens.IsZero():
		next = w.Opens
	case w.Asked || w.Hold.Kind == "under_way":
		next = w.At
	case w.Hold.Kind == "paused" || next.IsZero():
		return time.Time{}
	}
	if w.Hold.Until.After(next) {
		return w.Hold.Until
	}
	return next
}

// A learning rig polls with the policy auto, which learns.
func learningRig(t *testing.T) *rig {
	auto := policy.NewAuto(policy.AutoConfig{Instant: time.Second})
	return newRigWith(t, func(c *daemon.Config) { c.Policy, c.Learner = auto, auto.Learner() })
}

func TestWhy(t *testing.T) {
	r := learningRig(t)
	r.Origin.Put("/a", "text/plain", "one")
	r.do("GET", "/api/v1/sources/a/why", nil).is(404)
	r.do("POST", "/api/v1/sources", map[string]any{"id": "a", "url": r.Origin.URL + "/a", "paused": true, "min_gap": "1h", "max_gap": "2h"}).is(201)
	if got := r.do("GET", "/api/v1/sources/a/why", nil).is(503); !strings.Contains(string(got.Body), "freshet serve") {
		t.Errorf("without a daemon at work the answer is %s", got.Body)
	}
	r.run()
	var w client.Why
	r.do("GET", "/api/v1/sources/a/why", nil).is(200).into(&w)
	if w.Hold.Kind != "paused" || !w.Next.IsZero() || !w.LastSeen.IsZero() || w.Outlook == nil || w.Outlook.RatePerDay.Known != "unknown" || w.Outlook.RatePerDay.Mean != 0 {
		t.Errorf("a paused source that was never seen is told as %+v with %+v", w, w.Outlook)
	}
	if w.Sentence != "No poll: it is paused. To resume: freshet resume a." {
		t.Errorf("it is said that %q", w.Sentence)
	}
	if o := r.poll("a"); o.Result != "first" {
		t.Fatalf("the first poll found %+v", o)
	}
	r.do("PATCH", "/api/v1/sources/a", map[string]any{"paused": false}).is(200)
	w = client.Why{}
	r.do("GET", "/api/v1/sources/a/why", nil).is(200).into(&w)
	wait := w.Hold.Until.Sub(w.LastSeen).Round(time.Minute)
	if w.Hold.Kind != "min_gap" || wait != time.Hour || w.LastSeen.IsZero() || time.Duration(w.MaxGap) != 2*time.Hour {
		t.Errorf("after its first poll the source is told as %+v", w)
	}
	if w.Deadline.Sub(w.Hold.Until).Round(time.Minute) != time.Hour || w.Next.IsZero() || w.Next.Before(w.Hold.Until) || w.Next.After(w.Deadline) {
		t.Errorf("the next poll is expected at %v, want it between %v and %v", w.Next, w.Hold.Until, w.Deadline)
	}
}

func TestNumbers(t *testing.T) {
	r := learningRig(t).run()
	for _, name := range []string{"a", "b"} {
		r.Origin.Put("/"+name, "text/plain", "one")
		r.do("POST", "/api/v1/sources", map[string]any{"id": name, "url": r.Origin.URL + "/" + name, "tags": []string{"both", name}, "min_gap": "1ms"}).is(201)
		r.poll(name)
	}
	for n := range 5 {
		r.Origin.Put("/a", "text/plain", fmt.Sprint("version ", n))
		for r.poll("a").Version < n+2 { // one that was under way saw what was there before
		}
		r.poll("b")
	}
	var n client.Numbers
	r.do("GET", "/api/v1/numbers", nil).is(200).into(&n)
	// The policy polls, too, so there may be more.
	if n.All.Sources != 2 || n.All.Captured < 4.9 || n.All.Captured > 5.1 || n.All.Happened < n.All.Captured || n.All.Polls < 9.9 {
		t.Errorf("after five changes of one of two sources the numbers are %+v", n.All)
	}
	if s := n.All.Share; !(0 < s.Low && s.Low <= s.Mean && s.Mean <= s.High && s.High <= 1) || n.All.Missed.Low > n.All.Missed.High {
		t.Errorf("the share is %+v and %+v are missed", s, n.All.Missed)
	}
	polls := 0.0
	for _, bin := range n.Calibration.Bins {
		polls += bin.Polls
		if bin.Said < bin.From || bin.Said > bin.To {
			t.Errorf("polls said to find a change with a chance of %v to %v were said %v", bin.From, bin.To, bin.Said)
		}
	}
	if polls < 10 {
		t.Errorf("%v polls were counted, want all that came after the first of each source", polls)
	}

	by := func(query string) (names []string) {
		var n client.Numbers
		r.do("GET", "/api/v1/numbers?"+query, nil).is(200).into(&n)
		for _, g := range n.Groups {
			names = append(names, g.Name)
		}
		if n.LeftOff > 0 {
			names = append(names, fmt.Sprint(n.LeftOff, " more from ", *n.Next))
		}
		return names
	}
	host := strings.TrimPrefix(r.Origin.URL, "http://")
	for query, want := range map[string][]string{
		"by=source":                  {"a", "b"},
		"by=source&limit=1&offset=1": {"b"},
		"by=source&offset=5":         nil,
		"by=source&limit=1":          {"a", "1 more from 1"},
		"by=host":                    {host},
		"by=source&tag=b":            {"b"},
		"by=source&host=" + host:     {"a", "b"},
		"by=source&host=elsewhere":   nil,
	} {
		if got := by(query); !cmp.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", query, got, want)
		}
	}
	// All of it happened within a tick, in which nothing is missed.
	if got := by("by=tag"); !cmp.Equal(got, []string{"a", "b", "both"}) {
		t.Errorf("by tag there are %v, want each tag once", got)
	}
	r.do("GET", "/api/v1/numbers?by=moon", nil).is(422)

	var st client.Status
	r.do("GET", "/api/v1/status", nil).is(200).into(&st)
	if st.Numbers == nil || st.Numbers.Share.Mean <= 0 || st.Numbers.Share.High > 1 {
		t.Errorf("the status has the numbers %+v", st.Numbers)
	}
	metrics := string(r.do("GET", "/metrics", nil).is(200).Body)
	for _, want := range []string{
		`freshet_captured_share{bound="low"} `, `freshet_captured_share{bound="mean"} `, "\nfreshet_expected_delay_seconds ", "\nfreshet_freshness_ratio ",
		"\nfreshet_age_seconds ", `freshet_calibration_polls{said="0.9"} `, `freshet_calibration_chance{said="0.0"} `, `freshet_calibration_found{said="0.3"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", strings.TrimSpace(want))
		}
	}
}

func TestNoNumbers(t *testing.T) {
	r := newRig(t).run()
	if got := r.do("GET", "/api/v1/numbers", nil).is(501); !strings.Contains(string(got.Body), "policy auto") {
		t.Errorf("where nothing is learnt the answer is %s", got.Body)
	}
	var st client.Status
	r.do("GET", "/api/v1/status", nil).is(200).into(&st)
	if st.Numbers != nil || strings.Contains(string(r.do("GET", "/metrics", nil).is(200).Body), "freshet_captured_share") {
		t.Errorf("where nothing is learnt there are numbers: %+v", st.Numbers)
	}
}
