package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// request sends a request without following redirects.
func request(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// history adds a source with versions an hour apart.
func history(t *testing.T, r *rig, id freshet.SourceID, url, tag string, n int) {
	t.Helper()
	if _, err := r.Store.AddSource(t.Context(), freshet.Source{ID: id, URL: url, Tags: []string{tag}}); err != nil {
		t.Fatal(err)
	}
	for v := range n {
		at := time.Date(2026, 3, 1, 12+v, 0, 0, 500, time.UTC)
		text := []byte(fmt.Sprint("version ", v, " of ", id))
		_, _, err := r.Store.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Changed, Status: 200, Requests: 1},
			Capture: &freshet.Capture{
				Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text),
				Raw: freshet.Raw{Method: "GET", Status: 200, URL: url, Header: http.Header{"Content-Type": {"text/html"}}, Body: append([]byte("<script>alert(1)</script>"), text...)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A TimeGate leads to the version of a time, which is served with its time, and a TimeMap lists all (RFC 7089).
func TestMemento(t *testing.T) {
	r := newRig(t)
	const page = "http://page.example/a?b=c&d=e%2Ff"
	history(t, r, "page", page, "news", 4)
	root := r.API.URL
	memento := func(hour int) string { return fmt.Sprintf("%s/memento/202603011%d0000/%s", root, hour, page) }
	for _, tt := range []struct{ asked, want string }{
		{"", memento(5)},
		{"Sun, 01 Mar 2026 13:30:00 GMT", memento(3)},
		{"Sun, 01 Mar 2026 13:00:00 GMT", memento(3)},
		{"Sun, 01 Mar 2026 12:59:59 GMT", memento(2)},
		{"Sun, 01 Mar 2020 00:00:00 GMT", memento(2)},
		{"Sun, 01 Mar 2099 00:00:00 GMT", memento(5)},
	} {
		var header []string
		if tt.asked != "" {
			header = []string{"Accept-Datetime", tt.asked}
		}
		resp, _ := request(t, root+"/timegate/"+page, header...)
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusFound || got != tt.want || resp.Header.Get("Vary") != "accept-datetime" {
			t.Errorf("asked for %q the TimeGate answers %d %s, want %s", tt.asked, resp.StatusCode, got, tt.want)
		}
		if link := resp.Header.Get("Link"); !strings.Contains(link, "<"+page+`>; rel="original"`) || !strings.Contains(link, `rel="timemap"; type="application/link-format"`) {
			t.Errorf("its links are %s", link)
		}
	}
	resp, body := request(t, memento(3))
	if resp.StatusCode != http.StatusOK || !strings.HasSuffix(body, "version 1 of page") || resp.Header.Get("Memento-Datetime") != "Sun, 01 Mar 2026 13:00:00 GMT" || resp.Header.Get("Content-Type") != "text/html" {
		t.Errorf("a memento is %d %v %q", resp.StatusCode, resp.Header, body)
	}
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") || strings.Contains(policy, "allow-scripts") {
		t.Errorf("its policy is %q", policy)
	}
	if resp, _ := request(t, root+"/memento/20260301123456/"+page); resp.Header.Get("Location") != memento(2) {
		t.Errorf("a time without a version leads to %s", resp.Header.Get("Location"))
	}
	resp, body = request(t, root+"/timemap/link/"+page)
	if lines := strings.Split(strings.TrimSpace(body), ",\n"); resp.Header.Get("Content-Type") != "application/link-format" || len(lines) != 7 ||
		lines[3] != "<"+memento(2)+`>; rel="first memento"; datetime="Sun, 01 Mar 2026 12:00:00 GMT"` || !strings.Contains(lines[6], `rel="last memento"`) {
		t.Errorf("the TimeMap is %s", body)
	}
	if _, body := request(t, root+"/timemap/link/20260301140000/"+page); strings.Count(body, "/memento/") != 2 {
		t.Errorf("the TimeMap of older versions is %s", body)
	}
	for url, status := range map[string]int{
		"/timegate/http://other.example/": 404, "/timemap/link/http://page.example/a": 404, "/memento/20261/" + page: 422, "/memento/20260301120000/nothing": 404,
	} {
		if resp, body := request(t, root+url); resp.StatusCode != status {
			t.Errorf("%s gives %d %s, want %d", url, resp.StatusCode, body, status)
		}
	}
	if resp, _ := request(t, root+"/timegate/"+page, "Accept-Datetime", "yesterday"); resp.StatusCode != 400 || resp.Header.Get("Vary") != "accept-datetime" {
		t.Errorf("a time that is none gives %d", resp.StatusCode)
	}
}

// Who may not see a source learns nothing of it by its URL: the answer is that for a page that nobody watches.
func TestMementoOfOthers(t *testing.T) {
	g := newGateRig(t)
	for _, id := range []freshet.SourceID{"a", "b"} {
		text := []byte("text of " + id)
		_, _, err := g.Store.Commit(t.Context(), freshet.Record{
			Outcome: freshet.Outcome{Source: id, Began: time.Now(), Ended: time.Now(), Result: freshet.First, Status: 200, Requests: 1},
			Capture: &freshet.Capture{Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: text}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read := []access.Right{access.Read}
	_, link := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Source: "a"}})
	_, queryLink := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Query: "q"}})
	_, tagged := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "shop", Limit: auth.Limit{Scopes: read, Tag: "shop"}})
	for _, tt := range []struct {
		who                string
		header             []string
		ofA, ofB, ofNobody int
	}{
		{"a stranger", nil, 401, 401, 401},
		{"a link to source a", link, 200, 404, 404},
		{"a link to a query", queryLink, 403, 403, 403},
		{"a token of the tag of a", tagged, 200, 404, 404},
		{"a viewer", g.session("vi"), 200, 200, 404},
	} {
		bodies := map[string]string{}
		for url, want := range map[string]int{"https://a.example/": tt.ofA, "https://b.example/": tt.ofB, "https://nobody.example/": tt.ofNobody} {
			for path, found := range map[string]int{"/timegate/": http.StatusFound, "/timemap/link/": http.StatusOK, "/memento/20200101000000/": http.StatusFound} {
				resp, body := request(t, g.API.URL+path+url, tt.header...)
				if want == 200 && resp.StatusCode != found || want != 200 && resp.StatusCode != want {
					t.Errorf("%s gets %d for %s%s: %s", tt.who, resp.StatusCode, path, url, body)
				}
				bodies[url] = body
			}
		}
		if tt.ofB == 404 && bodies["https://b.example/"] != bodies["https://nobody.example/"] {
			t.Errorf("%s can tell a page that others watch: %q and %q", tt.who, bodies["https://b.example/"], bodies["https://nobody.example/"])
		}
	}
}
