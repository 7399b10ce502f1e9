package worker_test

import (
	"net/http"
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/worker"
)

const form = `<form action=/login><input name=user><input name=pw type="password"></form>`

// page returns an HTML page with a title and so many bytes of text.
func page(title string, size int) string {
	return "<title>" + title + "</title><p>" + strings.Repeat("word ", size/5) + "</p>"
}

// A capture is suspect by what it says, and only then.
func TestSuspectPages(t *testing.T) {
	tests := []struct {
		name   string
		before string // the version before, if there is one
		body   string
		want   suspect.Class
	}{
		{"a page", "", page("News", 5000), ""},
		{"a short page", "", page("News", 10), ""},
		{"no text", "", "<title>News</title><div id=app></div><script>go()</script>", suspect.Empty},
		{"no text any more", page("News", 5000), "<title>News</title>", suspect.Empty},
		{"a form to log in", "", page("Sign in - Shop", 100) + form, suspect.Login},
		{"a page about logging in", "", page("Sign in - The Manual", 100), ""},
		{"a page with a form to log in beside it", "", page("The Shop", 100) + form, ""},
		{"how to log in", "", page("How to log in faster", 100) + form, ""},
		{"a captcha", "", page("Just a moment...", 100), suspect.Blocked},
		{"a refusal", "", page("Access Denied", 100), suspect.Blocked},
		{"a long page about refusals", "", page("Access denied", 9000), ""},
		{"not found, and no 404", "", page("404 Not Found", 100), suspect.ErrorPage},
		{"not found, on a site", "", page("Page not found | The Shop", 700), suspect.ErrorPage},
		{"maintenance", "", `<meta name=robots content=noindex>` + page("Site maintenance", 100), suspect.Maintenance},
		{"sold out", "", page("Red kettle", 20) + "<p>Sold out. Please check back later.", ""},
		{"sold out now", page("Red kettle", 30) + "<p>In stock: 3. Add to basket.", page("Red kettle", 30) + "<p>Sold out. Please check back later.", ""},
		{"nearly all gone", page("News", 5000), page("News", 50), suspect.Shrunk},
		{"half gone", page("News", 5000), page("News", 2500), ""},
		{"a short page that is shorter", page("News", 1000), page("News", 10), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, says(tt.before))
			o := s.order(nil)
			if tt.before != "" {
				first := s.look(t, o)
				o = s.order(&first)
			}
			s.answer = says(tt.body)
			f := s.look(t, o)
			if f.Suspect != tt.want || f.Landed != "" {
				t.Errorf("the page is suspect by %q, landed on %q; want %q", f.Suspect, f.Landed, tt.want)
			}
			if f.Capture == nil {
				t.Error("it was not captured")
			}
		})
	}
}

// A redirect to another page is suspect; one to another spelling of the same page
// is not, nor are those that are made to lead elsewhere.
func TestSuspectRedirects(t *testing.T) {
	tests := []struct {
		asked, landed string // paths
		status        int
		want          suspect.Class
		same          bool // it is the same page
	}{
		{"/member", "/login", 302, suspect.Login, false},
		{"/member", "/login?next=/member", 307, suspect.Login, false},
		{"/member", "/wp-login.php", 301, suspect.Login, false},
		{"/login", "/login/form", 302, "", false},
		{"/shop", "/captcha/", 302, suspect.Blocked, false},
		{"/shop", "/error/404.html", 302, suspect.ErrorPage, false},
		{"/item/3", "/category/9", 302, suspect.Redirected, false},
		{"/item/3", "/", 302, suspect.Redirected, false},
		{"/item/3", "/", 301, suspect.Redirected, false},
		{"/item/3", "/en/", 302, suspect.Redirected, false},
		{"/item?id=3", "/item", 302, suspect.Redirected, false},
		{"/item?id=3", "/item?id=4", 302, suspect.Redirected, false},
		{"/item/3", "/things/3", 301, "", false}, // told as where it has moved to
		{"/item/3", "/things/3", 308, "", false},
		{"/", "/home/start", 302, "", false},
		{"/docs", "/docs/v2/intro", 302, "", false},
		{"/releases/latest", "/releases/v3", 302, "", false},
		{"/news", "/news/", 302, "", true},
		{"/news", "/News", 302, "", true},
		{"/news", "/news/index.html", 302, "", true},
		{"/news.php", "/news", 302, "", true},
		{"/news", "/de/news", 302, "", true},
		{"/en/news", "/en-gb/news", 302, "", true},
		{"/news", "/news?session=17", 302, "", true},
		{"/news?a=1&b=2", "/news?b=2&a=1", 302, "", true},
		{"/news?utm_source=mail", "/news", 302, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.asked+" to "+tt.landed, func(t *testing.T) {
			s := newSite(t, nil)
			s.answer = func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RequestURI() == tt.asked {
					w.Header().Set("Location", tt.landed)
					w.WriteHeader(tt.status)
					return
				}
				says(page("News", 500))(w, r)
			}
			o := s.order(nil)
			o.Source.URL = s.URL + tt.asked
			f := s.look(t, o)
			landed := s.URL + tt.landed
			if tt.same {
				landed = ""
			}
			if f.Suspect != tt.want || f.Landed != landed {
				t.Errorf("it is suspect by %q, landed on %q; want %q and %q (%s)", f.Suspect, f.Landed, tt.want, landed, f.Err)
			}
		})
	}
}

// What is suspected is kept as long as nothing new is seen, and taken back when it
// is no longer so.
func TestSuspicionGoesOn(t *testing.T) {
	s := newSite(t, nil)
	to, body, tag := "/b", "<p>one", `"1"`
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/a" && to != "":
			http.Redirect(w, r, to, http.StatusFound)
		case r.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
		default:
			says(body, "Etag", tag)(w, r)
		}
	}
	o := s.order(nil)
	o.Source.URL = s.URL + "/a"
	look := func(what string, result freshet.Result, want suspect.Class, landed string) {
		t.Helper()
		f := s.look(t, o)
		if landed != "" {
			landed = s.URL + landed
		}
		if f.Result != result || f.Suspect != want || f.Landed != landed {
			t.Errorf("%s the look found %s, suspect by %q, landed on %q; want %s, %q, %q", what, f.Result, f.Suspect, f.Landed, result, want, landed)
		}
		url := o.Source.URL
		if f.Result == freshet.Doubted {
			o.Head.Held = f.Held
			o.Head.Held.Number, o.Head.Held.Hash, o.Head.Held.Recipe = 9, f.Capture.Hash, f.Capture.Recipe
			return
		}
		if f.Capture != nil {
			o = s.order(&f)
		}
		o.Source.URL, o.Head.Validators, o.Head.Sums, o.Head.Suspect, o.Head.Landed = url, f.Validators, f.Sums, f.Suspect, f.Landed
	}
	look("at first", freshet.First, suspect.Redirected, "/b")
	look("not modified,", freshet.Unchanged, suspect.Redirected, "/b")
	o.Head.Validators = freshet.Validators{}
	look("with the same body", freshet.Unchanged, suspect.Redirected, "/b")
	o.Head.Sums, o.Head.Validators = freshet.Sums{}, freshet.Validators{}
	look("with the same text", freshet.Unchanged, suspect.Redirected, "/b")
	to, body, tag = "/c", "<p>two", `"2"`
	look("when it leads to one page after another", freshet.Changed, "", "/c")
	to, body, tag = "/d", "<p>three", `"3"`
	look("when it does so again", freshet.Changed, "", "/d")
	to, body, tag = "/login", "<p>log in", `"4"`
	look("when it leads to a login", freshet.Doubted, suspect.Login, "/login")
	to, body, tag = "/e", "", `"5"`
	look("without text", freshet.Doubted, suspect.Empty, "/e")
	to, body, tag = "/d", "<p>three", `"3"`
	look("when it is back", freshet.Unchanged, "", "/d")
}

// A failure says nothing about what the page is.
func TestFailedLookIsNotSuspect(t *testing.T) {
	s := newSite(t, refuses(500))
	if f := s.look(t, s.order(nil)); f.Suspect != "" || f.Landed != "" || f.Result != freshet.Failed {
		t.Errorf("a failed look found %+v", worker.Result{Suspect: f.Suspect, Landed: f.Landed, Result: f.Result})
	}
}
