package noise_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"freshet/internal/extract/noise"
	"freshet/internal/freshet/reading"
)

// learnt returns what is reported of a page after some polls, and its last text.
func learnt(at func(int) string, polls int) (noise.Report, string) {
	var m noise.Memory
	for k := 1; k <= polls; k++ {
		m.Judge([]byte(at(k-1)), []byte(at(k)))
	}
	return m.Report(), at(polls)
}

// apply does to a text what a step says, as far as steps are proposed.
func apply(t *testing.T, s reading.Step, text string) string {
	t.Helper()
	var arg struct {
		Drop, Pattern string
		Sort          bool
	}
	if err := json.Unmarshal([]byte(s.Arg), &arg); err != nil {
		t.Fatalf("step %s: %v", s, err)
	}
	switch {
	case s.Name == "lines" && arg.Drop != "":
		drop := regexp.MustCompile(arg.Drop)
		var kept []string
		for l := range strings.Lines(text) {
			if !drop.MatchString(strings.TrimSuffix(l, "\n")) {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "")
	case s.Name == "mask":
		return regexp.MustCompile("(?m)"+arg.Pattern).ReplaceAllString(text, "[masked]")
	}
	t.Fatalf("the step is %s", s)
	return ""
}

func TestReport(t *testing.T) {
	pages := []struct {
		name, pattern string
		at            func(int) string
	}{
		{"date", "Last updated: <date>", func(k int) string { return terms(0, nil, line("Last updated: %d March 2026", 1+k%30)) }},
		{"time", "It is now <time>", func(k int) string { return terms(0, nil, line("It is now 12:%02d:07", k)) }},
		{"server", "node<number>", func(k int) string { return terms(0, nil, line("node%d", 1+k*7%19)) }},
		{"nonce", "Request <id>", func(k int) string { return terms(0, nil, line("Request 00f3a%07x", k*7919)) }},
		{"views", "<counter> views", func(k int) string { return terms(0, nil, line("%d views", 1000+k)) }},
		{"a clock in a long line", "", func(k int) string {
			return terms(0, nil, line("The shop is open on most days, and the clock over its door shows %d:%02d now, or nearly so.", 1+k/60, k%60))
		}},
	}
	for _, p := range pages {
		t.Run(p.name, func(t *testing.T) {
			r, last := learnt(p.at, 40)
			if r.Polls != 40 || r.Differed != 40 || r.Noise < 30 || len(r.Places) != 1 {
				t.Fatalf("the report is %+v", r)
			}
			place := r.Places[0]
			if p.pattern != "" && place.Pattern != p.pattern || !place.Noise || place.Times != 40 {
				t.Errorf("the place is %+v", place)
			}
			if one, other := apply(t, place.Step, last), apply(t, place.Step, p.at(39)); one != other || one == last {
				t.Errorf("the step %s leaves a difference, or does nothing", place.Step)
			}
			if n, all := strings.Count(apply(t, place.Step, last), "\n"), strings.Count(last, "\n"); n < all-1 {
				t.Errorf("the step %s leaves %d of %d lines", place.Step, n, all)
			}
		})
	}
}

// A number that differs all the time is named, but told as a change: somebody may be
// watching it.
func TestReportOfANumber(t *testing.T) {
	r, _ := learnt(func(k int) string { return terms(0, line("Free places: %d", 100+k*13%50), nil) }, 30)
	if len(r.Places) != 1 || r.Places[0].Noise || r.Noise != 0 || r.Places[0].Step.String() != `{"lines":{"drop":"^Free places: "}}` {
		t.Errorf("the report is %+v", r)
	}
}

func TestReportOfOrderAndTurns(t *testing.T) {
	for name, want := range map[string]noise.Place{
		"advertisements":    {Kind: noise.Words, Noise: true},
		"rows in any order": {Kind: noise.Order, Noise: true, Step: reading.Step{Name: "lines", Arg: `{"sort":true}`}},
	} {
		s := siteNamed(name)
		r, _ := learnt(s.at, 40)
		if len(r.Places) == 0 || r.Places[0].Kind != want.Kind || r.Places[0].Noise != want.Noise || r.Places[0].Step != want.Step {
			t.Errorf("the report of %s is %+v", s.name, r)
		}
	}
}

// A page that never changes has nothing to report.
func TestReportOfAQuietPage(t *testing.T) {
	r, _ := learnt(func(int) string { return terms(0, nil, nil) }, 40)
	if fmt.Sprint(r) != fmt.Sprint(noise.Report{Polls: 40}) {
		t.Errorf("the report is %+v", r)
	}
}
