package auth_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A site has a login form with a CSRF token, and pages for those who have a session.
type site struct {
	logins, tries atomic.Int64
	csrf          atomic.Int64
	session       atomic.Pointer[string] // that is open
}

func (s *site) serve(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/login":
		if req.Method == http.MethodGet {
			n := s.csrf.Add(1)
			http.SetCookie(w, &http.Cookie{Name: "form", Value: fmt.Sprint("form-of-visitor-", n), Path: "/"})
			fmt.Fprintf(w, `<form><input name="user"><input type=hidden name='csrf' value="csrf&amp;number-%d"></form>`, n)
			return
		}
		s.tries.Add(1)
		_ = req.ParseForm()
		form, err := req.Cookie("form")
		n := s.csrf.Load()
		if err != nil || form.Value != fmt.Sprint("form-of-visitor-", n) || req.Form.Get("csrf") != fmt.Sprint("csrf&number-", n) || req.Form.Get("user") != "me" || req.Form.Get("password") != "the-right-password" {
			fmt.Fprint(w, "<p>wrong password</p>")
			return
		}
		session := fmt.Sprint("session-of-login-", s.logins.Add(1))
		s.session.Store(&session)
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: session, Path: "/"})
		http.Redirect(w, req, "/welcome", http.StatusFound)
	default:
		sid, err := req.Cookie("sid")
		if open := s.session.Load(); err != nil || open == nil || sid.Value != *open {
			fmt.Fprint(w, "<p>please log in</p>")
			return
		}
		fmt.Fprintf(w, "page %s for members", req.URL.Path)
	}
}

const members = `{"id": "%s", "url": "%[2]s/%[1]s", "expect": {"no_match": "please log in"}, "request": {"login": {"steps": [
	{"get": "%[2]s/login", "take": {"csrf": {"css": "input[name=csrf]@value"}}},
	{"post": "%[2]s/login", "form": {"user": "me", "password": {"secret": {"env": "PASSWORD"}}, "csrf": "${csrf}"}}]}}}`

func TestLogin(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "the-right-password"
	now := time.Now()
	r.cfg.Now = func() time.Time { return now }
	var s site
	server := r.server(s.serve)
	c := r.client()
	a := r.add(r.source(members, "a", server.URL))
	b := r.add(r.source(members, "b", server.URL))
	var l permits
	resp, err := c.Fetch(t.Context(), freshet.Request{URL: a.URL, Source: a, Leave: l.permit})
	if err != nil || string(resp.Body) != "page /a for members" {
		t.Fatalf("the first fetch brings %q, %v", resp.Body, err)
	}
	if want := "[/login /login /welcome /a]"; fmt.Sprint(l.urls) != want || resp.Requests != 4 {
		t.Errorf("leave was asked for %v, and %d requests are counted; want %s", l.urls, resp.Requests, want)
	}
	// Another source has the same login, and a restart keeps it.
	body(t, c, b)
	c = r.client()
	body(t, c, b)
	if n := s.logins.Load(); n != 1 {
		t.Errorf("%d logins were made, want 1", n)
	}
	// The session expires.
	now = now.Add(time.Hour)
	s.session.Store(nil)
	resp, err = get(t, c, a)
	if err != nil || string(resp.Body) != "page /a for members" || resp.Requests != 5 {
		t.Errorf("after the session had expired came %q, %v, with %d requests", resp.Body, err, resp.Requests)
	}
	body(t, c, b)
	if n := s.logins.Load(); n != 2 {
		t.Errorf("%d logins were made, want 2", n)
	}
	// It expires again too soon: the next login waits, also after a restart.
	s.session.Store(nil)
	if _, err := get(t, c, a); classOf(err) != failure.LoginWait {
		t.Errorf("a login right after another ends with %v", err)
	}
	if _, err := get(t, r.client(), a); classOf(err) != failure.LoginWait {
		t.Errorf("a login right after another and a restart ends with %v", err)
	}
	now = now.Add(6 * time.Minute)
	body(t, c, a)
}

func TestOneLoginForAllWhoWait(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "the-right-password"
	var s site
	server := r.server(s.serve)
	c := r.client()
	var sources []*freshet.Source
	for i := range 12 {
		sources = append(sources, r.add(r.source(members, fmt.Sprint("p", i), server.URL)))
	}
	r.together(c, sources)
	if n := s.logins.Load(); n != 1 {
		t.Errorf("%d logins were made, want 1", n)
	}
}

// A wrong password is tried less and less often, whichever source asks and however
// often the daemon starts anew.
func TestWrongPasswordWaits(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "the-wrong-password"
	now := time.Now()
	r.cfg.Now = func() time.Time { return now }
	var s site
	server := r.server(s.serve)
	sources := []*freshet.Source{r.add(r.source(members, "a", server.URL)), r.add(r.source(members, "b", server.URL))}
	c := r.client()
	for minute := range 24 * 60 {
		now = now.Add(time.Minute)
		if minute%100 == 0 {
			c = r.client()
		}
		_, err := get(t, c, sources[minute%2])
		if err == nil || strings.Contains(err.Error(), "the-wrong-password") {
			t.Fatalf("minute %d ends with %v", minute, err)
		}
	}
	if n := s.tries.Load(); n < 5 || n > 15 {
		t.Errorf("a wrong password was tried %d times in a day", n)
	}
}

func TestLoginWithTokens(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "the-right-password"
	server := r.server(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/start":
			http.SetCookie(w, &http.Cookie{Name: "XSRF", Value: "cookie-value", Path: "/"})
			fmt.Fprint(w, `<script>var nonce = "nonce-12345";</script>`)
		case "/login":
			if req.Header.Get("X-XSRF") != "cookie-value" || req.Header.Get("X-Nonce") != "nonce-12345" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, `{"data": [{"token": "token-from-login"}], "id": 17}`)
		default:
			if req.Header.Get("Authorization") != "Bearer token-from-login" || req.Header.Get("X-User") != "17" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, "welcome, ", req.Header.Get("Authorization"))
		}
	})
	src := r.source(`{"url": "%s/page", "request": {"auth": {"bearer": "${token}"}, "headers": {"X-User": "${user}"}, "login": {"steps": [
		{"get": "%[1]s/start", "take": {"xsrf": {"cookie": "XSRF"}, "nonce": {"regex": "nonce = \"([^\"]+)\""}}},
		{"post": "%[1]s/login", "headers": {"X-XSRF": "${xsrf}", "X-Nonce": "${nonce}"}, "body": "{\"password\": \"${env:PASSWORD}\"}", "take": {"token": {"json": "$.data[0].token"}, "user": {"json": "$['id']"}}}]}}}`, server.URL)
	if got := body(t, r.client(), src); got != "welcome, Bearer ***" {
		t.Errorf("the page is %q", got)
	}
}

func TestLoginThatFails(t *testing.T) {
	r := newRig(t)
	r.env["PASSWORD"] = "some-password"
	server := r.server(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/missing" {
			http.NotFound(w, req)
			return
		}
		fmt.Fprint(w, "<p>nothing here</p>")
	})
	for steps, reason := range map[string]string{
		`[{"get": "%[1]s/missing"}]`: "step 1",
		`[{"get": "%[1]s/"}, {"get": "%[1]s/", "take": {"a": {"css": "input@value"}}}]`: "step 2",
		`[{"get": "%[1]s/", "take": {"a": {"regex": "x(y)"}}}]`:                         "take a: it is not there",
		`[{"get": "%[1]s/", "take": {"a": {"json": "$.a"}}}]`:                           "not JSON",
		`[{"get": "%[1]s/", "take": {"a": {"cookie": "a"}}}]`:                           "take a",
		`[{"post": "%[1]s/", "expect": {"match": "welcome"}}]`:                          "does not contain",
	} {
		_, err := get(t, r.client(), r.source(`{"url": "%[1]s/page", "request": {"login": {"steps": `+steps+`}}}`, server.URL))
		if classOf(err) != failure.Login || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s ends with %v, want %q", steps, err, reason)
		}
	}
}

// Whatever a login obtains for a secret goes only to the hosts of the secret.
func TestTakenValuesStayWithTheirHost(t *testing.T) {
	r := newRig(t)
	shop := r.server(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"access_token": "token-of-the-shop", "echo": %q}`, req.Header.Get("X-Key"))
	})
	var stolen atomic.Int64
	thief := r.server(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		all := fmt.Sprint(req.Header, req.URL, string(body))
		if strings.Contains(all, "token-of-the-shop") || strings.Contains(all, "hunter2") {
			stolen.Add(1)
		}
		fmt.Fprint(w, "thanks")
	})
	at := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	for name, hosts := range map[string][]string{"shop": {at(shop)}, "both": {at(shop), at(thief)}} {
		if err := r.cfg.Vault.Set(secrets.Entry{Name: name, Hosts: hosts}, []byte("hunter2-secret")); err != nil {
			t.Fatal(err)
		}
	}
	const step1 = `{"post": "%[1]s/login", "headers": {"X-Key": "${secret:shop}"}, "take": {"token": {"json": "$.access_token"}, "echo": {"json": "$.echo"}}}`
	const public = `{"get": "%[1]s/", "take": {"token": {"json": "$.access_token"}}}`
	for _, tt := range []struct {
		name, definition string
		origin           freshet.Origin
		want             failure.Class
		stolen           bool
	}{
		{"a second step", `{"url": "%[1]s/page", "request": {"login": {"steps": [` + step1 + `, {"post": "%[2]s/", "form": {"a": "${token}"}}]}}}`, freshet.FromAPI, failure.Secret, false},
		{"the echoed secret", `{"url": "%[1]s/page", "request": {"login": {"steps": [` + step1 + `, {"get": "%[2]s/", "headers": {"X-A": "${echo}"}}]}}}`, freshet.FromAPI, failure.Secret, false},
		{"a header of the source", `{"url": "%[2]s/page", "request": {"headers": {"X-A": "${token}"}, "login": {"steps": [` + step1 + `]}}}`, freshet.FromAPI, failure.Secret, false},
		{"bearer of the source", `{"url": "%[2]s/page", "request": {"auth": {"bearer": "${token}"}, "login": {"steps": [` + step1 + `]}}}`, freshet.FromAPI, failure.Secret, false},
		{"the file, with a bound secret", `{"url": "%[2]s/page", "request": {"auth": {"bearer": "${token}"}, "login": {"steps": [` + step1 + `]}}}`, freshet.FromFile, failure.Secret, false},
		{"a page without a secret", `{"url": "%[2]s/page", "request": {"headers": {"X-A": "${token}"}, "login": {"steps": [` + public + `]}}}`, freshet.FromAPI, failure.Secret, false},
		{"the file, without a secret", `{"url": "%[2]s/page", "request": {"headers": {"X-A": "${token}"}, "login": {"steps": [` + public + `]}}}`, freshet.FromFile, "", true},
		{"the same host", `{"url": "%[1]s/page", "request": {"auth": {"bearer": "${token}"}, "login": {"steps": [` + step1 + `]}}}`, freshet.FromAPI, "", false},
		{"a secret for both hosts", strings.ReplaceAll(`{"url": "%[2]s/page", "request": {"auth": {"bearer": "${token}"}, "login": {"steps": [`+step1+`]}}}`, "secret:shop", "secret:both"), freshet.FromAPI, "", true},
		{"an OAuth2 token", `{"url": "%[2]s/page", "request": {"auth": {"oauth2": {"token_url": "%[1]s/token", "client_id": "me", "client_secret": "${secret:shop}"}}}}`, freshet.FromAPI, failure.Secret, false},
		{"an OAuth2 token for both hosts", `{"url": "%[2]s/page", "request": {"auth": {"oauth2": {"token_url": "%[1]s/token", "client_id": "me", "client_secret": "${secret:both}"}}}}`, freshet.FromAPI, "", true},
	} {
		stolen.Store(0)
		src := r.source(tt.definition, shop.URL, thief.URL)
		src.Origin = tt.origin
		_, err := get(t, r.client(), src)
		if classOf(err) != tt.want || err != nil && tt.want == "" || (stolen.Load() > 0) != tt.stolen {
			t.Errorf("%s: it ends with %v, want %q; the other host got the value: %v, want %v", tt.name, err, tt.want, stolen.Load() > 0, tt.stolen)
		}
		// A client that only knows the stored session keeps to it.
		stolen.Store(0)
		if _, err := get(t, r.client(), src); (stolen.Load() > 0) != tt.stolen {
			t.Errorf("%s, after a restart: it ends with %v; the other host got the value: %v, want %v", tt.name, err, stolen.Load() > 0, tt.stolen)
		}
	}
}

// Whether a login finds a value, and what a page shows of it, says nothing about a secret that a server repeats.
func TestTakingIsNoOracle(t *testing.T) {
	r := newRig(t)
	server := r.server(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"token": "token-of-the-login", "echo": [%q, %q]}`, req.Header.Get("X-Key"), req.Header.Get("X-Taken"))
	})
	if err := r.cfg.Vault.Set(secrets.Entry{Name: "shop", Hosts: []string{strings.TrimPrefix(server.URL, "http://")}}, []byte("hunter2-secret")); err != nil {
		t.Fatal(err)
	}
	const login = `{"url": "%%s/page", "request": {"headers": {"X-Taken": "${v}"}, "login": {"steps": [
		{"post": "%%[1]s/login", "headers": {"X-Key": "${secret:shop}"}, "take": {"v": {"regex": %q}}}]}}}`
	try := func(pattern string, origin freshet.Origin) (string, error) {
		src := r.source(fmt.Sprintf(login, pattern), server.URL)
		src.Origin = origin
		resp, err := get(t, r.client(), src)
		return string(resp.Body), err
	}
	for _, pattern := range []string{"hunter2-s", "(h)unter2", `aHVudGVyMi1zZWNyZXQ`, `echo": \["(hun)`} {
		if page, err := try(pattern, freshet.FromAPI); classOf(err) != failure.Login || !strings.Contains(err.Error(), "not there") {
			t.Errorf("the pattern %s finds the secret: %v, %s", pattern, err, page)
		}
	}
	for pattern, origin := range map[string]freshet.Origin{`"(token-[^"]*)`: freshet.FromAPI, `"(hunter2)`: freshet.FromFile} {
		if page, err := try(pattern, origin); err != nil || !strings.Contains(page, `"***"`) {
			t.Errorf("the login with the pattern %s ends with %v, %s", pattern, err, page)
		}
	}
}

// A source of the API cannot use the session of a login whose secret it may not send, even if
// the file has opened the session.
func TestForeignSourcesDoNotShareSessions(t *testing.T) {
	r := newRig(t)
	if err := r.cfg.Vault.Set(secrets.Entry{Name: "free"}, []byte("the-right-password")); err != nil {
		t.Fatal(err)
	}
	var s site
	server := r.server(s.serve)
	c := r.client()
	definition := strings.Replace(members, `{"secret": {"env": "PASSWORD"}}`, `"${secret:free}"`, 1)
	own := r.add(r.source(definition, "a", server.URL))
	if got := body(t, c, own); got != "page /a for members" {
		t.Fatalf("the source of the file gets %q", got)
	}
	foreign := r.source(definition, "b", server.URL)
	foreign.Origin = freshet.FromAPI
	if _, err := get(t, c, r.add(foreign)); classOf(err) != failure.Secret {
		t.Errorf("a source of the API with an unbound secret ends with %v", err)
	}
}
