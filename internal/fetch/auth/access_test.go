package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
)

func TestWhatIsSent(t *testing.T) {
	r := newRig(t)
	s := r.server(echo)
	r.env["NAME"] = "Zoë & Co"
	tests := []struct{ request, want string }{
		{`{"headers": {"X-A": "b"}, "language": "de"}`, "GET /\nAccept-Language: de\nX-A: b\n"},
		{`{"body": "{\"a\": 1}"}`, "POST /\nContent-Type: application/json\n\n{\"a\": 1}\n"},
		{`{"method": "put", "body": "plain"}`, "PUT /\nContent-Type: text/plain; charset=utf-8\n\nplain\n"},
		{`{"form": {"q": "a b", "n": 2}}`, "POST /\nContent-Type: application/x-www-form-urlencoded\n\nn=2&q=a+b\n"},
		{`{"form": {"q": "1"}, "headers": {"Content-Type": "application/x-own"}}`, "POST /\nContent-Type: application/x-own\n\nq=1\n"},
		{`{"cookies": {"b": "2", "a": "1"}}`, "GET /\nCookie: a=1; b=2\n"},
		{`{"method": "OPTIONS"}`, "OPTIONS /\n"},
	}
	for _, tt := range tests {
		if got := body(t, r.client(), r.source(`{"url": "%s", "request": `+tt.request+`}`, s.URL)); got != tt.want {
			t.Errorf("%s sends %q, want %q", tt.request, got, tt.want)
		}
	}
}

// seen answers with whether a secret came, and not with the secret.
func seen(header, want string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, req.Header.Get(header) == want)
	}
}

func TestSecretsAreFilledIn(t *testing.T) {
	r := newRig(t)
	r.env["TOKEN"] = "token-of-env"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("token-of-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.cfg.Vault.Set(secrets.Entry{Name: "sealed"}, []byte("token-of-vault")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ request, header, want string }{
		{`{"auth": {"bearer": "${env:TOKEN}"}}`, "Authorization", "Bearer token-of-env"},
		{`{"auth": {"bearer": {"secret": {"file": "` + file + `"}}}}`, "Authorization", "Bearer token-of-file"},
		{`{"headers": {"X-Key": "k=${secret:sealed}"}}`, "X-Key", "k=token-of-vault"},
		{`{"auth": {"basic": {"user": "me", "password": "${env:TOKEN}"}}}`, "Authorization", "Basic bWU6dG9rZW4tb2YtZW52"},
		{`{"cookies": {"session": "${env:TOKEN}"}}`, "Cookie", "session=token-of-env"},
	}
	for _, tt := range tests {
		s := r.server(seen(tt.header, tt.want))
		if got := body(t, r.client(), r.source(`{"url": "%s", "request": `+tt.request+`}`, s.URL)); got != "true" {
			t.Errorf("%s is not sent as %s: %s", tt.request, tt.header, tt.want)
		}
	}
}

func TestWithoutItsSecretNothingIsSent(t *testing.T) {
	r := newRig(t)
	s := r.server(echo)
	r.env["LINES"] = "a\r\nX-Evil: yes"
	for _, request := range []string{
		`{"auth": {"bearer": "${env:MISSING}"}}`, `{"headers": {"X-A": "${file:/no/such/file}"}}`,
		`{"form": {"a": "${secret:missing}"}}`, `{"headers": {"X-A": "${env:LINES}"}}`, `{"auth": {"bearer": "${env:LINES}"}}`,
		`{"cookies": {"a": "${env:LINES}"}}`, `{"use": "missing"}`, `{"headers": {"X-A": "${taken}"}}`,
	} {
		_, err := get(t, r.client(), r.source(`{"url": "%s", "request": `+request+`}`, s.URL))
		if classOf(err) != failure.Secret {
			t.Errorf("%s fails with %v", request, err)
		}
	}
	if n := len(r.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A redirect takes no secret to another host, nor back from there.
func TestRedirectsLeaveSecretsBehind(t *testing.T) {
	r := newRig(t)
	r.env["TOKEN"] = "the-secret-token"
	var home *httptest.Server
	other := r.server(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/back" {
			http.Redirect(w, req, home.URL+"/end", http.StatusFound)
			return
		}
		echo(w, req)
	})
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	home = r.server(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/same":
			http.Redirect(w, req, "/end", http.StatusFound)
		case "/other":
			http.Redirect(w, req, elsewhere+"/end", http.StatusFound)
		case "/round":
			http.Redirect(w, req, elsewhere+"/back", http.StatusFound)
		default:
			fmt.Fprint(w, req.Header.Get("Authorization") != "", req.Header.Get("Cookie") != "", req.Header.Get("X-Key") != "", req.Header.Get("X-A"))
		}
	})
	const request = `{"url": "%s", "request": {"headers": {"X-Key": "${env:TOKEN}", "X-A": "open"}, "cookies": {"sid": "${env:TOKEN}"}, "auth": {"bearer": "${env:TOKEN}"}}}`
	for path, want := range map[string]string{
		"/same":  "true true trueopen",
		"/other": "GET /end\nX-A: open\n",
		"/round": "false false falseopen",
	} {
		if got := body(t, r.client(), r.source(request, home.URL+path)); got != want {
			t.Errorf("%s brings %q, want %q", path, got, want)
		}
	}
}

func TestRedirectsOfABody(t *testing.T) {
	r := newRig(t)
	other := r.server(echo)
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	home := r.server(func(w http.ResponseWriter, req *http.Request) {
		var status int
		var to string
		if _, err := fmt.Sscanf(req.URL.Path, "/%d/%s", &status, &to); err == nil {
			http.Redirect(w, req, map[string]string{"same": "/end", "other": elsewhere + "/end"}[to], status)
			return
		}
		echo(w, req)
	})
	kept := "POST /end\nContent-Type: text/plain; charset=utf-8\n\nhello\n"
	for path, want := range map[string]string{
		"/301/same": "GET /end\n", "/302/same": "GET /end\n", "/303/same": "GET /end\n", "/307/same": kept, "/308/same": kept,
		"/302/other": "GET /end\n", "/303/other": "GET /end\n", "/307/other": "", "/308/other": "",
	} {
		resp, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"body": "hello"}}`, home.URL+path))
		if want == "" && classOf(err) != failure.RedirectBody || want != "" && string(resp.Body) != want {
			t.Errorf("%s brings %q, %v; want %q", path, resp.Body, err, want)
		}
	}
	resp, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"method": "HEAD"}}`, home.URL+"/303/same"))
	if err != nil || !strings.Contains(string(resp.Body), "Content-Type: text/plain") {
		t.Errorf("HEAD brings %q, %v", resp.Body, err)
	}
}

func TestConditionOnlyWhereItIsRight(t *testing.T) {
	r := newRig(t)
	s := r.server(echo)
	for request, want := range map[string]bool{`{"headers": {"X-A": "b"}}`: true, `{"body": "x"}`: false, `{"method": "POST"}`: false} {
		src := r.source(`{"url": "%s", "request": `+request+`}`, s.URL)
		resp, err := r.client().Fetch(t.Context(), freshet.Request{URL: src.URL, Source: src, Validators: freshet.Validators{ETag: `"a"`}})
		if err != nil || strings.Contains(string(resp.Body), "If-None-Match") != want {
			t.Errorf("%s sends %q, %v; a condition is wanted: %v", request, resp.Body, err, want)
		}
	}
}

func TestExpect(t *testing.T) {
	r := newRig(t)
	s := r.server(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, "In stock: 3 items")
	})
	tests := []struct {
		path, expect string
		want         failure.Class
	}{
		{"/", `{"match": "stock: [0-9]+"}`, ""},
		{"/", `{"match": "sold out"}`, failure.ExpectMatch},
		{"/", `{"no_match": "(?i)STOCK"}`, failure.ExpectNoMatch},
		{"/", `{"no_match": "sold"}`, ""},
		{"/", `{"status": [404]}`, failure.ExpectStatus},
		{"/missing", `{"status": [200, 404]}`, ""},
		{"/missing", `{"status": [200]}`, failure.ExpectStatus},
		{"/missing", `{"match": "stock"}`, "http.404"},
	}
	for _, tt := range tests {
		resp, err := get(t, r.client(), r.source(`{"url": "%s", "expect": `+tt.expect+`}`, s.URL+tt.path))
		if classOf(err) != tt.want || tt.want == "" && string(resp.Body) != "In stock: 3 items" {
			t.Errorf("%s at %s: %q, %v; want %q", tt.expect, tt.path, resp.Body, err, tt.want)
		}
	}
}

// A server that repeats what it was sent does not get a secret into the store.
func TestRepeatedSecretsAreTakenOut(t *testing.T) {
	r := newRig(t)
	r.env["TOKEN"] = "canary/in the+mine"
	s := r.server(func(w http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		w.Header().Set("Content-Disposition", req.Form.Get("a"))
		fmt.Fprintf(w, "%s %q %s", req.Header.Get("Authorization"), req.Form.Get("a"), req.Form.Encode())
	})
	resp, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"auth": {"basic": {"user": "me", "password": "${env:TOKEN}"}}, "form": {"a": "${env:TOKEN}"}}}`, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	all := string(resp.Body) + fmt.Sprint(resp.Header)
	for _, form := range []string{"canary", "bWU6Y2FuYXJ5"} {
		if strings.Contains(all, form) {
			t.Errorf("the answer holds the secret: %s", all)
		}
	}
}

// Whoever can only use the API cannot have secrets sent to a host of their choice.
func TestSourcesOfTheAPI(t *testing.T) {
	r := newRig(t)
	s := r.server(echo)
	host := strings.TrimPrefix(s.URL, "http://")
	r.env["TOKEN"] = "the-secret-token"
	r.cfg.Profiles = auth.Profiles{
		"open":  {Language: "de"},
		"loose": {Auth: &profile.Auth{Bearer: "${env:TOKEN}"}},
		"bound": {Auth: &profile.Auth{Bearer: "${env:TOKEN}"}, Hosts: []string{host}},
		"other": {Auth: &profile.Auth{Bearer: "${env:TOKEN}"}, Hosts: []string{"other.example"}},
	}
	for name, hosts := range map[string][]string{"free": nil, "mine": {host}, "theirs": {"other.example"}} {
		if err := r.cfg.Vault.Set(secrets.Entry{Name: name, Hosts: hosts}, []byte("the-sealed-token")); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		request           string
		fromFile, overAPI bool
	}{
		{`{"auth": {"bearer": "${env:TOKEN}"}}`, true, false},
		{`{"headers": {"X-A": "${file:/etc/hostname}"}}`, true, false},
		{`{"auth": {"bearer": "${secret:free}"}}`, true, false},
		{`{"auth": {"bearer": "${secret:mine}"}}`, true, true},
		{`{"auth": {"bearer": "${secret:theirs}"}}`, false, false},
		{`{"use": "open"}`, true, true},
		{`{"use": "loose"}`, true, false},
		{`{"use": "bound"}`, true, true},
		{`{"use": "other"}`, false, false},
		{`{"use": "bound", "headers": {"X-A": "${env:TOKEN}"}}`, true, false},
	}
	for _, tt := range tests {
		for _, origin := range []freshet.Origin{freshet.FromFile, freshet.FromAPI} {
			src := r.source(`{"url": "%s", "request": `+tt.request+`}`, s.URL)
			src.Origin = origin
			_, err := get(t, r.client(), src)
			want := tt.fromFile
			if origin == freshet.FromAPI {
				want = tt.overAPI
			}
			if (err == nil) != want || err != nil && classOf(err) != failure.Secret {
				t.Errorf("%s of the %s: %v, want it to work: %v", tt.request, origin, err, want)
			}
		}
	}
}

func TestTimeout(t *testing.T) {
	r := newRig(t)
	stop := make(chan struct{})
	s := r.server(func(http.ResponseWriter, *http.Request) { <-stop })
	defer close(stop)
	_, err := get(t, r.client(), r.source(`{"url": "%s", "request": {"timeout": "100ms"}}`, s.URL))
	if classOf(err) != failure.TimeoutTotal {
		t.Errorf("it ends with %v", err)
	}
}

// The verdict of expect is shown, so it must not tell anything about a secret that the server
// repeats.
func TestExpectDoesNotSeeSecrets(t *testing.T) {
	r := newRig(t)
	s := r.server(echo)
	host := strings.TrimPrefix(s.URL, "http://")
	if err := r.cfg.Vault.Set(secrets.Entry{Name: "shop", Hosts: []string{host}}, []byte("hunter2-secret")); err != nil {
		t.Fatal(err)
	}
	for _, expect := range []string{`{"match": "X-Key: h"}`, `{"match": "hunter2"}`, `{"match": "secret"}`} {
		src := r.source(`{"url": "%s", "expect": `+expect+`, "request": {"headers": {"X-Key": "${secret:shop}"}}}`, s.URL)
		src.Origin = freshet.FromAPI
		if _, err := get(t, r.client(), src); classOf(err) != failure.ExpectMatch {
			t.Errorf("expect %s of a page that repeats the secret ends with %v", expect, err)
		}
	}
	src := r.source(`{"url": "%s", "expect": {"no_match": "hunter"}, "request": {"login": {"steps": [
		{"get": "%[1]s/login", "headers": {"X-Key": "${secret:shop}"}, "expect": {"match": "hunter"}}]}}}`, s.URL)
	src.Origin = freshet.FromAPI
	if _, err := get(t, r.client(), src); classOf(err) != failure.Login {
		t.Errorf("a login step that looks for the secret ends with %v", err)
	}
}
