package synth_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"

	"github.com/google/go-cmp/cmp"
)

// A clock is set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = start.Add(since)
}

// get asks for a page with a real client and returns the answer with its body.
// Fields are names and values of header fields in turn.
func get(t *testing.T, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
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

// serve makes a web under a hand-set clock and serves it.
func serve(t *testing.T, pages ...synth.Page) (*synth.Web, *clock, string) {
	c := newClock()
	w := synth.New(synth.Config{Seed: 1, Start: start, Now: c.Now, Pages: pages})
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	return w, c, server.URL
}

func TestConditionalRequests(t *testing.T) {
	every := synth.Regular{Every: 10 * time.Second}
	_, clock, base := serve(t,
		synth.Page{ID: "tagged", ETag: true, Schedule: every},
		synth.Page{ID: "dated", LastModified: true, Schedule: every},
		synth.Page{ID: "both", ETag: true, LastModified: true, Schedule: every},
		synth.Page{ID: "bare", Schedule: every},
		synth.Page{ID: "hectic", LastModified: true, Schedule: synth.Regular{Every: 400 * time.Millisecond, Offset: 9 * time.Second}},
	)
	clock.set(9 * time.Second)
	dates := map[string]string{"first": start.Format(http.TimeFormat), "second": start.Add(10 * time.Second).Format(http.TimeFormat)}
	tests := []struct {
		name   string
		page   string
		at     time.Duration
		fields []string
		status int
	}{
		{"no condition", "tagged", 9, nil, 200},
		{"the tag of now", "tagged", 9, []string{"If-None-Match", `"tagged.1"`}, 304},
		{"the tag among others, weakly", "tagged", 9, []string{"If-None-Match", `"x", W/"tagged.1"`}, 304},
		{"any tag", "tagged", 9, []string{"If-None-Match", "*"}, 304},
		{"the tag of before", "tagged", 10, []string{"If-None-Match", `"tagged.1"`}, 200},
		{"a date to a page without dates", "tagged", 9, []string{"If-Modified-Since", dates["second"]}, 200},
		{"the date of now", "dated", 9, []string{"If-Modified-Since", dates["first"]}, 304},
		{"a later date", "dated", 9, []string{"If-Modified-Since", dates["second"]}, 304},
		{"the date of before", "dated", 10, []string{"If-Modified-Since", dates["first"]}, 200},
		{"no date at all", "dated", 9, []string{"If-Modified-Since", "yesterday"}, 200},
		{"a tag to a page without tags", "dated", 9, []string{"If-None-Match", `"dated.1"`}, 200},
		{"the tag has the word", "both", 10, []string{"If-None-Match", `"both.1"`, "If-Modified-Since", dates["second"]}, 200},
		{"a page that takes no conditions", "bare", 9, []string{"If-None-Match", `"bare.1"`, "If-Modified-Since", dates["second"]}, 200},
		{"a date that two versions share", "hectic", 10, []string{"If-Modified-Since", dates["second"]}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock.set(tt.at * time.Second)
			resp, body := get(t, base+"/"+tt.page, tt.fields...)
			if resp.StatusCode != tt.status {
				t.Errorf("the answer is %d, want %d", resp.StatusCode, tt.status)
			}
			if (body == "") != (tt.status == 304) {
				t.Errorf("the answer %d has the body %q", resp.StatusCode, body)
			}
		})
	}
}

func TestValidatorsLeadToNotModified(t *testing.T) {
	w, _, base := serve(t, synth.Demo(1, start).Pages()...)
	for _, p := range w.Pages() {
		first, body := get(t, base+p.Path)
		if v, _ := synth.VersionIn([]byte(body)); first.StatusCode != 200 || v != 1 {
			t.Errorf("%s answers %d with version %d at the start", p.ID, first.StatusCode, v)
		}
		if p.Gzip != first.Uncompressed {
			t.Errorf("%s came compressed: %v, want %v", p.ID, first.Uncompressed, p.Gzip)
		}
		again, _ := get(t, base+p.Path,
			"If-None-Match", first.Header.Get("ETag"), "If-Modified-Since", first.Header.Get("Last-Modified"))
		want := 200
		if p.ETag || p.LastModified {
			want = 304
		}
		if again.StatusCode != want {
			t.Errorf("%s answers %d when asked again with its validators, want %d", p.ID, again.StatusCode, want)
		}
	}
}

func TestGzipOnlyForThoseWhoAcceptIt(t *testing.T) {
	w, _, base := serve(t, synth.Page{ID: "page", Gzip: true})
	want := string(w.Body("page", 1, start))
	for _, accept := range []string{"identity", "gzip;q=0", "br"} {
		if resp, body := get(t, base+"/page", "Accept-Encoding", accept); resp.Header.Get("Content-Encoding") != "" || body != want {
			t.Errorf("who accepts %s is sent %q", accept, resp.Header.Get("Content-Encoding"))
		}
	}
	resp, packed := get(t, base+"/page", "Accept-Encoding", "br, gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal("who accepts gzip is not sent it")
	}
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r); err != nil || string(body) != want {
		t.Errorf("the packed body is not the page: %v", err)
	}
}

func TestTroubles(t *testing.T) {
	s := time.Second
	_, clock, base := serve(t,
		synth.Page{ID: "away", Trouble: synth.Trouble{Status: 404, From: 10 * s, For: 5 * s}},
		synth.Page{ID: "dies", Trouble: synth.Trouble{Status: 410, From: 10 * s}},
		synth.Page{ID: "busy", Trouble: synth.Trouble{Status: 429, From: 10 * s, For: 5 * s, Every: 20 * s, RetryAfter: 7*s + 1}},
	)
	tests := []struct {
		page   string
		at     time.Duration
		status int
		retry  string
	}{
		{"away", 9 * s, 200, ""},
		{"away", 10 * s, 404, ""},
		{"away", 15*s - 1, 404, ""},
		{"away", 15 * s, 200, ""},
		{"away", 30 * s, 200, ""},
		{"dies", 9 * s, 200, ""},
		{"dies", 10 * s, 410, ""},
		{"dies", 1000 * s, 410, ""},
		{"busy", 9 * s, 200, ""},
		{"busy", 12 * s, 429, "7"},
		{"busy", 20 * s, 200, ""},
		{"busy", 31 * s, 429, "7"},
		{"nobody", 0, 404, ""},
	}
	for _, tt := range tests {
		clock.set(tt.at)
		resp, _ := get(t, base+"/"+tt.page)
		if got := resp.Header.Get("Retry-After"); resp.StatusCode != tt.status || got != tt.retry {
			t.Errorf("after %v %s answers %d and to retry after %q, want %d and %q", tt.at, tt.page, resp.StatusCode, got, tt.status, tt.retry)
		}
	}
}

func TestServerHasAnAddressForEachHost(t *testing.T) {
	w := many(1, time.Now())
	server, err := w.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- server.Run(ctx) }()
	addresses := map[string]bool{}
	for _, s := range server.Sources() {
		addresses[s.Host()] = true
	}
	if len(addresses) != len(w.Hosts()) {
		t.Errorf("%d addresses for %d hosts", len(addresses), len(w.Hosts()))
	}
	for _, id := range []freshet.SourceID{"p000", "p199"} {
		if resp, _ := get(t, server.URL(id)); resp.StatusCode != 200 {
			t.Errorf("%s answers %d", id, resp.StatusCode)
		}
	}
	if resp, _ := get(t, "http://"+server.Addr("h00")+"/p199"); resp.StatusCode != 404 {
		t.Errorf("a page of another host answers %d, want 404", resp.StatusCode)
	}
	if server.Addr("nowhere") != "" || server.URL("nobody") != "" {
		t.Error("what is not there has an address")
	}
	type line struct {
		host   string
		page   freshet.SourceID
		status int
	}
	var got []line
	for _, r := range w.Requests() {
		got = append(got, line{r.Host, r.Page, r.Status})
	}
	want := []line{{"h00", "p000", 200}, {"h49", "p199", 200}, {"h00", "", 404}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("the log is not as expected (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("Run ended with %v, want nothing", err)
	}
	if _, err := http.Get(server.URL("p000")); err == nil {
		t.Error("the server answers after its end")
	}
}
