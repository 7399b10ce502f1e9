package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhatGoesAlongWithParts looks at what a browser that shows a page may send to where
// the page came from.
func TestWhatGoesAlongWithParts(t *testing.T) {
	r := newRig(t)
	r.env["TOKEN"], r.env["COOKIE"] = "a long token", "a-long-cookie"
	other := r.server(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/back" {
			http.Redirect(w, req, req.URL.Query().Get("to"), http.StatusFound)
		}
	})
	var server *httptest.Server
	server = r.server(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/moved":
			http.Redirect(w, req, "/", http.StatusFound)
		case "/away":
			http.Redirect(w, req, other.URL, http.StatusFound)
		case "/there-and-back":
			http.Redirect(w, req, other.URL+"/back?to="+server.URL+"/", http.StatusFound)
		}
	})
	const how = `{"url": "%s", "render": true, "request": {"auth": {"bearer": "${env:TOKEN}"}, "cookies": {"c": "${env:COOKIE}"}, "headers": {"X-A": "b", "Accept": "text/html"}, "language": "de"}}`
	for path, want := range map[string]bool{"/": true, "/moved": true, "/away": false, "/there-and-back": false} {
		resp, err := get(t, r.client(), r.source(how, server.URL+path))
		if err != nil {
			t.Fatal(err)
		}
		if !want {
			if resp.Along != nil {
				t.Errorf("after %s, which another host has chosen, parts would be asked for with %v", path, resp.Along.Header)
			}
			continue
		}
		if resp.Along == nil {
			t.Errorf("after %s, nothing goes along", path)
			continue
		}
		for name, value := range map[string]string{"Authorization": "Bearer a long token", "Cookie": "c=a-long-cookie", "X-A": "b", "Accept-Language": "de", "Accept": ""} {
			if got := resp.Along.Header.Get(name); got != value {
				t.Errorf("after %s, %s goes along as %q, want %q", path, name, got, value)
			}
		}
		if got := string(resp.Along.Scrub([]byte("it was a long token and a-long-cookie"))); strings.Contains(got, "long") {
			t.Errorf("secrets that a server repeats are left in %q", got)
		}
	}
	resp, err := get(t, r.client(), r.source(`{"url": "%s", "expect": {"status": [200]}}`, server.URL))
	if err != nil || resp.Along != nil {
		t.Errorf("of a plain page %v goes along: %v", resp.Along, err)
	}
}
