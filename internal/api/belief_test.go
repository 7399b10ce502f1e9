package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/client"
)

// Why, rhythm, budget and numbers of one daemon say the same of how often a source changes, in
// every situation, and nothing of it before enough was seen.
func TestAllSayTheSame(t *testing.T) {
	r := learningRig(t)
	ids := []string{"unpolled", "once", "changed", "always", "taught", "paused"}
	for _, id := range ids {
		r.Origin.Put("/"+id, "text/plain", "text 0 of "+id)
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id, "paused": id == "paused" || id == "unpolled"}).is(201)
	}
	r.run()
	for _, id := range []string{"once", "changed", "always", "taught"} {
		r.poll(id)
	}
	r.Origin.Put("/changed", "text/plain", "text 1 of changed")
	r.poll("changed")
	for i := range 6 {
		r.Origin.Put("/always", "text/plain", fmt.Sprintf("text %d of always", i+1))
		if o := r.poll("always"); o.Result != "changed" {
			t.Fatalf("poll %d of the page that always changes found %+v", i, o)
		}
	}
	now := time.Now().UTC().Truncate(time.Second)
	var times []any
	for i := range 14 * 48 {
		at := now.Add(-time.Duration(i+1) * 30 * time.Minute)
		times = append(times, map[string]any{"after": at, "until": at})
	}
	for _, id := range []string{"taught", "paused"} {
		r.do("POST", "/api/v1/sources/"+id+"/taught", map[string]any{"times": times}).is(200)
	}
	budget := map[string]client.Rate{}
	var b client.Budget
	r.do("GET", "/api/v1/budget?eaters=100", nil).is(200).into(&b)
	for _, e := range b.Eaters {
		budget[string(e.ID)] = e.Rate
	}
	numbers := map[string]client.Captured{}
	var n client.Numbers
	r.do("GET", "/api/v1/numbers?by=source", nil).is(200).into(&n)
	for _, g := range n.Groups {
		numbers[g.Name] = g
	}
	want := map[string]string{"unpolled": "unknown", "once": "unknown", "changed": "unknown", "always": "at_least", "taught": "estimated", "paused": "estimated"}
	for _, id := range ids {
		var why client.Why
		var rhythm client.Rhythm
		r.do("GET", "/api/v1/sources/"+id+"/why", nil).is(200).into(&why)
		r.do("GET", "/api/v1/sources/"+id+"/rhythm", nil).is(200).into(&rhythm)
		rate := why.Outlook.RatePerDay
		if rate.Known != want[id] || rhythm.Rate.Known != want[id] {
			t.Errorf("%s: the rate is %q in why and %q in rhythm, want %q", id, rate.Known, rhythm.Rate.Known, want[id])
		}
		if rate.Known == "estimated" && rate.Words != rhythm.Rate.Words {
			t.Errorf("%s: why says %s, and rhythm %s", id, rate.Words, rhythm.Rate.Words)
		}
		if of, polled := budget[id]; polled && (of.Known != rate.Known || rate.Known == "estimated" && of.Words != rate.Words) {
			t.Errorf("%s: why says %s, and budget %s", id, rate.Words, of.Words)
		}
		if got := numbers[id].TooEarly == ""; got != (why.Outlook.Captured.TooEarly == "") {
			t.Errorf("%s: numbers knows the share captured: %v, and why has %q", id, got, why.Outlook.Captured.TooEarly)
		}
		said := why.Sentence + " " + why.Details() + " " + rhythm.Sentence
		switch want[id] {
		case "unknown":
			if rate.Mean != 0 || rate.High != 0 || len(rhythm.Week) > 0 || why.Outlook.RateNowPerDay != nil || strings.Contains(said, "%") || strings.Contains(said, "changes about") {
				t.Errorf("%s: the rate is not known, and it is told as %+v, and said to be: %s", id, rate, said)
			}
		case "at_least":
			if rate.Mean != 0 || rate.High != 0 || rate.Low <= 0 || !strings.Contains(said, "changes at least") {
				t.Errorf("%s: every poll finds a change, and the rate is told as %+v: %s", id, rate, said)
			}
		case "estimated":
			if !strings.Contains(why.Sentence, "changes about 48 times a day") || !strings.Contains(rhythm.Sentence, "changes about 48 times a day") || rate.Low > rate.Mean || rate.Mean > rate.High {
				t.Errorf("%s: taught 48 changes a day, it is said: %s", id, said)
			}
		}
	}
}

// Without a source nothing is said of shares.
func TestNoSharesWithoutSources(t *testing.T) {
	r := learningRig(t)
	r.run()
	var b client.Budget
	var n client.Numbers
	r.do("GET", "/api/v1/budget", nil).is(200).into(&b)
	r.do("GET", "/api/v1/numbers", nil).is(200).into(&n)
	if b.TooEarly != "no source is polled" || n.All.TooEarly != b.TooEarly || b.SoFar != nil {
		t.Errorf("the budget is told with %q and %+v, and the numbers with %q", b.TooEarly, b.SoFar, n.All.TooEarly)
	}
}
