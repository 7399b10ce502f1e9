package robots_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"freshet/internal/fetch/robots"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func rules(body string) robots.Answer { return robots.Answer{Status: 200, Body: []byte(body)} }

// What an answer means, while it holds.
func TestAnswers(t *testing.T) {
	const closed, open = "User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /private\n"
	for _, c := range []struct {
		name    string
		answers []robots.Answer
		allowed bool
		down    bool
		lasts   time.Duration // until the file has to be read again
	}{
		{"rules", []robots.Answer{rules(closed)}, false, false, freshFor},
		{"rules that allow", []robots.Answer{rules(open)}, true, false, freshFor},
		{"an empty file", []robots.Answer{{Status: 200}}, true, false, freshFor},
		{"no content", []robots.Answer{{Status: 204}}, true, false, freshFor},
		{"fresh for long", []robots.Answer{{Status: 200, FreshFor: 100 * time.Hour}}, true, false, freshFor},
		{"fresh for some time", []robots.Answer{{Status: 200, FreshFor: 5 * time.Hour}}, true, false, 5 * time.Hour},
		{"hardly fresh", []robots.Answer{{Status: 200, FreshFor: time.Second}}, true, false, time.Hour},
		{"400", []robots.Answer{{Status: 400}}, true, false, freshFor},
		{"401", []robots.Answer{{Status: 401}}, true, false, freshFor},
		{"403", []robots.Answer{{Status: 403}}, true, false, freshFor},
		{"404", []robots.Answer{{Status: 404}}, true, false, freshFor},
		{"410", []robots.Answer{{Status: 410}}, true, false, freshFor},
		{"404 after rules", []robots.Answer{rules(closed), {Status: 404}}, true, false, freshFor},
		{"too many redirects", []robots.Answer{{Status: 302, Lost: true}}, true, false, freshFor},
		{"a redirect to nowhere", []robots.Answer{{Status: 302}}, false, true, 5 * time.Minute},
		{"429", []robots.Answer{{Status: 429}}, false, true, 5 * time.Minute},
		{"500", []robots.Answer{{Status: 500}}, false, true, 5 * time.Minute},
		{"503", []robots.Answer{{Status: 503}}, false, true, 5 * time.Minute},
		{"no answer", []robots.Answer{{}}, false, true, 5 * time.Minute},
		{"no answer twice", []robots.Answer{{}, {}}, false, true, 10 * time.Minute},
		{"no answer often", make([]robots.Answer, 80), false, true, time.Hour},
		{"rules, then 500", []robots.Answer{rules(open), {Status: 500}}, true, false, 5 * time.Minute},
		{"closed, then 500", []robots.Answer{rules(closed), {Status: 500}}, false, false, 5 * time.Minute},
		{"404, then no answer", []robots.Answer{{Status: 404}, {}}, true, false, 5 * time.Minute},
		{"500, then rules", []robots.Answer{{Status: 500}, rules(open)}, true, false, freshFor},
		{"500, rules, 500", []robots.Answer{{Status: 500}, {Status: 500}, rules(open), {Status: 500}}, true, false, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s robots.Standing
			if !s.Due(noon) {
				t.Fatal("what is not known is not to be read")
			}
			for _, a := range c.answers {
				s = s.Hear(noon, "freshet", a)
			}
			if v := s.Verdict(noon, "/page"); v.Allowed != c.allowed || v.Unreachable != c.down {
				t.Errorf("the page is allowed: %v, and the file unreachable: %v", v.Allowed, v.Unreachable)
			}
			if v := s.Verdict(noon, "/robots.txt"); !v.Allowed {
				t.Error("the file itself is disallowed")
			}
			if s.Due(noon.Add(c.lasts-1)) || !s.Due(noon.Add(c.lasts)) {
				t.Errorf("it is to be read again after %v, want %v", s.Until.Sub(noon), c.lasts)
			}
			text, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var again robots.Standing
			if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, s) {
				t.Errorf("%s became %+v, %v", text, again, err)
			}
		})
	}
}

const freshFor = 24 * time.Hour

// A file that cannot be read closes everything for a month, and a copy of it is used for as
// long as that lasts.
func TestUnreachable(t *testing.T) {
	down := robots.Answer{Status: 503}
	for _, c := range []struct {
		name  string
		first robots.Answer
		at    map[time.Duration]bool // allowed
	}{
		{"never read", down, map[time.Duration]bool{time.Hour: false, 29 * freshFor: false, 30 * freshFor: true}},
		{"allowed before", rules("User-agent: *\nDisallow: /a\n"), map[time.Duration]bool{time.Hour: true, 29 * freshFor: true, 31 * freshFor: true}},
		{"disallowed before", rules("User-agent: *\nDisallow: /\n"), map[time.Duration]bool{time.Hour: false, 29 * freshFor: false, 31 * freshFor: false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := robots.Standing{}.Hear(noon, "freshet", c.first)
			for now := noon; now.Before(noon.Add(32 * freshFor)); now = now.Add(time.Hour) {
				if s.Due(now) {
					s = s.Hear(now, "freshet", down)
				}
				if want, ok := c.at[now.Sub(noon)]; ok && s.Verdict(now, "/b").Allowed != want {
					t.Errorf("after %v the page is allowed: %v", now.Sub(noon), !want)
				}
			}
			moved := s.Shifted(time.Hour)
			if got := moved.Until.Sub(s.Until); got != time.Hour || moved.Verdict(noon, "/b") != s.Verdict(noon.Add(-time.Hour), "/b") {
				t.Errorf("times moved by %v", got)
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"https://X.example/a?b", "https://x.example"},
		{"https://x.example:443", "https://x.example"},
		{"http://x.example:80/", "http://x.example"},
		{"http://x.example:443/", "http://x.example:443"},
		{"HTTP://user:pass@x.example:8080/", "http://x.example:8080"},
		{"http://[::1]:80/a", "http://[::1]"},
		{"exec:ls", ""}, {"file:///etc/hosts", ""}, {"::", ""}, {"", ""},
	} {
		if got, ok := robots.Origin(c.url); got != c.want || ok != (c.want != "") {
			t.Errorf("the origin of %q is %q, %v, want %q", c.url, got, ok, c.want)
		}
	}
	if got := robots.URL("https://x.example"); got != "https://x.example/robots.txt" {
		t.Errorf("its robots.txt is at %s", got)
	}
}
