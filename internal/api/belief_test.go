package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/client"
)

// Why, rhythm, budget, numbers and the list of one daemon say the same of how often a source changes, in
// every situation, and nothing of it before enough was seen.
func TestAllSayTheSame(t *testing.T) {
	r := learningRig(t)
	now := time.Now().UTC().Truncate(time.Second)
	elsewhen := strings.ToLower(now.AddDate(0, 0, 3).Weekday().String()[:3]) + " 00:00-24:00" // closed now
	ids := []string{"unpolled", "once", "changed", "always", "taught", "paused", "closed", "closed-taught", "planned"}
	for _, id := range ids {
		r.Origin.Put("/"+id, "text/plain", "text 0 of "+id)
		s := map[string]any{"id": id, "url": r.Origin.URL + "/" + id}
		switch id {
		case "closed", "closed-taught":
			s["active"] = elsewhen
		case "planned":
			s["strategy"] = "hour {5, 35}"
		default:
			s["paused"] = true // only requested polls
		}
		r.do("POST", "/api/v1/sources", s).is(201)
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
	var times []any
	for i := range 14 * 48 {
		at := now.Add(-time.Duration(i+1) * 30 * time.Minute)
		times = append(times, map[string]any{"after": at, "until": at})
	}
	for _, id := range []string{"taught", "paused", "closed-taught", "planned"} {
		r.do("POST", "/api/v1/sources/"+id+"/taught", map[string]any{"times": times}).is(200)
	}
	for _, id := range []string{"once", "changed", "always", "taught"} { // nothing is learned between two answers
		r.do("PATCH", "/api/v1/sources/"+id, map[string]any{"paused": false, "min_gap": "24h"}).is(200)
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
	list := map[string]client.Source{}
	var page client.SourcePage
	r.do("GET", "/api/v1/sources?outlook=true", nil).is(200).into(&page)
	for _, s := range page.Items {
		list[string(s.ID)] = s
	}
	want := map[string]string{"unpolled": "unknown", "once": "unknown", "changed": "unknown", "always": "at_least", "taught": "estimated", "paused": "estimated",
		"closed": "unknown", "closed-taught": "estimated", "planned": "estimated"}
	for _, id := range ids {
		var why client.Why
		var rhythm client.Rhythm
		r.do("GET", "/api/v1/sources/"+id+"/why", nil).is(200).into(&why)
		r.do("GET", "/api/v1/sources/"+id+"/rhythm", nil).is(200).into(&rhythm)
		if hold := map[string]string{"unpolled": "paused", "paused": "paused", "closed": "hours", "closed-taught": "hours"}[id]; hold != "" && why.Hold.Kind != hold {
			t.Errorf("%s: no poll because of %q, want %q: %s", id, why.Hold.Kind, hold, why.Sentence)
		}
		if strings.HasPrefix(id, "closed") && !why.LastSeen.IsZero() {
			t.Errorf("%s was seen at %v in hours in which it is not polled", id, why.LastSeen)
		}
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
		if of := list[id].RatePerDay; of == nil || of.Known != rate.Known || rate.Known == "estimated" && of.Words != rate.Words {
			t.Errorf("%s: why says %s, and the list %+v", id, rate.Words, of)
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
