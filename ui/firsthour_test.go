package ui_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// A small web as people meet it: each page by how it answers the nth request.
func smallWeb(price *atomic.Int64) map[string]func(w http.ResponseWriter, n int64) {
	html := func(w http.ResponseWriter, format string, args ...any) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>A page</title><h1>A page</h1><p>What it is about stays as it was, and has some words.</p>"+format, args...)
	}
	ads := []string{"Fly to Rome for 49 EUR", "Shoes from 19.99", "3 rooms near you", "Win 1,000 today", "5 tips for sleep"}
	return map[string]func(w http.ResponseWriter, n int64){
		"clock": func(w http.ResponseWriter, n int64) {
			html(w, "<p>It is 12:%02d:%02d</p><p>%d visitors</p>", n/60%60, n%60, 1000+7*n)
		},
		"ads": func(w http.ResponseWriter, n int64) { html(w, "<aside class=ad>%s</aside>", ads[n*7%5]) },
		"price": func(w http.ResponseWriter, n int64) {
			html(w, `<script type="application/ld+json">{"@type":"Product","offers":{"price":%d,"priceCurrency":"EUR"}}</script><p class=price>%[1]d EUR</p>`, price.Load())
		},
		"json": func(w http.ResponseWriter, n int64) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"generated":"2026-11-19T12:%02d:%02dZ","items":[{"id":1,"name":"one"},{"id":2,"name":"two"}]}`, n/60%60, n%60)
		},
		"feed": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "application/rss+xml")
			fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title><item><guid>1</guid><title>One</title></item></channel></rss>`)
		},
		"app": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>App</title><div id=root></div><script>document.getElementById('root').textContent = 'drawn'</script>`)
		},
		"account": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>Sign in</title><h1>Sign in</h1><form action=/login method=post><label>E-mail <input name=email></label><label>Password <input type=password name=password></label><button>Sign in</button></form><p>Please log in to continue. Forgot your password?</p>`)
		},
		"wall": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>Just a moment...</title><h1>Verify you are human</h1><p>Please complete the captcha. Checking your browser before accessing the site.</p>`)
		},
		"charset": func(w http.ResponseWriter, _ int64) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<title>Gr\xf6\xdfen</title><p>Gr\xf6\xdfe: 4 m\xb2, \xdcbersicht der Wohnungen</p>")
		},
		"secret": func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusUnauthorized) },
		"gone":   func(w http.ResponseWriter, _ int64) { w.WriteHeader(http.StatusNotFound) },
	}
}

// overclaims are what no screen may say while little is known. A range may reach up to 100%.
var overclaims = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[^o] |[^ ])\b100%`), regexp.MustCompile(`NaN|undefined|Infinity|\[object`),
}

// youngRate is a rate of change. After one poll of each page none is known; how soon one is depends on how fast the
// machine polls.
var youngRate = regexp.MustCompile(`\babout [\d.,]+ times an? (minute|hour)`)

// The first hour with a small web and no settings: no false alert after the first ten polls, no screen that
// says more than is known, and every trouble with a remedy.
func TestFirstHour(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	chat := r.receiver()
	if err := r.api.Call(t.Context(), "PUT", "/sinks/chat", nil, client.NewSink{Kind: "json", URL: chat.URL}, nil); err != nil {
		t.Fatal(err)
	}
	var price atomic.Int64
	price.Store(101)
	web := smallWeb(&price)
	asked := map[string]*atomic.Int64{}
	alerts := map[string]string{}
	for name, answer := range web {
		n := &atomic.Int64{}
		asked[name] = n
		r.web.Answer("/"+name, func(w http.ResponseWriter, _ *http.Request) { answer(w, n.Add(1)) })
		a, err := r.api.Alerts.Add(t.Context(), client.NewAlert{Watch: &client.NewSource{ID: freshet.SourceID(name), URL: r.web.URL + "/" + name}, When: "anything changes", To: "chat"})
		if err != nil {
			t.Fatal(err)
		}
		alerts[name] = a.Query.ID
	}
	pollAll := func(times int) {
		for range times {
			for name := range web {
				r.poll(freshet.SourceID(name))
			}
		}
	}
	matches := func(name string) int64 {
		q, err := r.api.Queries.Get(t.Context(), alerts[name])
		if err != nil {
			t.Fatal(err)
		}
		return int64(q.Matches)
	}
	b := r.tab(1280, 1000, "light")
	b.expects(404)
	overclaim := func(where string, claims []*regexp.Regexp) {
		t.Helper()
		b.await("!document.querySelector('.bars')")
		text := eval[string](b, "[...document.querySelectorAll('main :is(p, dd, td, li, span, b, h1, h2)')].map(e => e.innerText).join('\\n')") // but for the scales of charts
		for _, o := range claims {
			if m := o.FindString(text); m != "" {
				t.Errorf("%s says %q:\n%.1500s", where, m, text)
			}
		}
	}
	look := func(when string, claims ...*regexp.Regexp) {
		t.Helper()
		for _, path := range []string{"/", "/sources", "/settings", "/changes", "/sources/clock", "/sources/price", "/sources/feed"} {
			b.visit(path, "document.querySelector('main h1') && document.querySelector('main .section, main .list-row')")
			overclaim(when+" "+path, append(claims, overclaims...))
			b.clean(when + " " + path)
		}
	}
	pollAll(1)
	look("after the first poll,", youngRate)
	b.shot("hour-first-sources")
	pollAll(10)
	for name := range web { // what is reported as noisy is mended by a click
		s, err := r.api.Sources.Get(t.Context(), freshet.SourceID(name))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Standing.Noisy || s.Noise == "auto" {
			continue
		}
		b.visit("/sources/"+name, "document.querySelector('.trouble .remedies')")
		b.clean(name)
		b.accessible(name)
		b.shot("hour-" + name)
		b.click("Ignore parts that always change")
		b.await("document.body.textContent.includes('Those parts are ignored now')")
	}
	before := map[string]int64{}
	for name := range web {
		before[name] = matches(name)
	}
	pollAll(12)
	price.Store(97)
	pollAll(1)
	for name := range web {
		want := int64(0)
		if name == "price" {
			want = 1
		}
		if got := matches(name) - before[name]; got != want {
			t.Errorf("%s: %d alerts after the first ten polls, want %d", name, got, want)
		}
	}
	look("after some polls,")

	for name, want := range map[string]string{"app": "Render it in a browser", "account": "Log in", "wall": "Accept this version", "secret": "Log in", "gone": "Try now"} {
		b.visit("/sources/"+name, "document.querySelector('.trouble .remedies')")
		if text := eval[string](b, "document.querySelector('.trouble').innerText"); !strings.Contains(text, want) {
			t.Errorf("%s: the remedies are %q, want %q among them", name, text, want)
		}
		b.clean(name)
		b.accessible(name)
		b.shot("hour-" + name)
	}
	b.visit("/sources/charset", "document.querySelector('.tabs')")
	if v := eval[string](b, "document.querySelector('h1').textContent"); strings.Contains(v, "\ufffd") {
		t.Errorf("letters are lost: %q", v)
	}
	b.visit("/", "document.querySelector('.attention li')")
	b.await("document.querySelectorAll('.attention .remedies').length >= 3")
	b.accessible("the overview of the first hour")
	b.shot("hour-overview")
	b.resize(390, 844, "dark")
	b.clean("the overview of the first hour on a phone")
	b.shot("hour-overview-phone")
}
