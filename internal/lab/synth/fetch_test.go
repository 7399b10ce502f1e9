package synth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/lab/synth"
	"freshet/internal/test/kit"

	"github.com/google/go-cmp/cmp"
)

var noWait = context.Background()

func TestFetchAnswersLikeAServer(t *testing.T) {
	c := newClock()
	w := synth.New(synth.Config{Start: start, Now: c.Now, Pages: []synth.Page{
		{ID: "page", Host: "host", Form: synth.API, ETag: true, LastModified: true, Gzip: true, Schedule: synth.Regular{Every: 10 * time.Second}},
	}})
	born := start.Add(10 * time.Second)
	validators := freshet.Validators{ETag: `W/"page.2"`, LastModified: born.Format(http.TimeFormat)}
	got, err := poll(w, c, "page", 15*time.Second, freshet.Validators{ETag: `W/"page.1"`})
	if err != nil {
		t.Fatal(err)
	}
	body := w.Body("page", 2, start)
	header := http.Header{"Content-Type": {"application/json"}, "Etag": {validators.ETag}, "Last-Modified": {validators.LastModified}, "Vary": {"Accept-Encoding"}}
	want := freshet.Response{
		Method: http.MethodGet, Status: 200, URL: "http://host.example.com/page", Header: header, Body: body, Validators: validators,
		MediaType: "application/json", WireBytes: int64(len(body)), Requests: 1, Modified: born,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer is not as expected (-want +got):\n%s", diff)
	}
	got, err = poll(w, c, "page", 16*time.Second, validators)
	if err != nil {
		t.Fatal(err)
	}
	if !got.NotModified || got.Status != 304 || got.Body != nil || got.Validators != validators {
		t.Errorf("asked with its validators the page answers %+v, want that nothing has changed", got)
	}
}

func TestFetchFailures(t *testing.T) {
	trouble := func(status int, retry time.Duration) synth.Trouble {
		return synth.Trouble{Status: status, RetryAfter: retry}
	}
	w := synth.New(synth.Config{Start: start, Pages: []synth.Page{
		{ID: "a", Host: "host", Trouble: trouble(404, 0)},
		{ID: "b", Host: "host", Trouble: trouble(410, 0)},
		{ID: "c", Host: "host", Trouble: trouble(429, 9*time.Second)},
		{ID: "d", Host: "host", Trouble: trouble(503, 0)},
		{ID: "e", Host: "other"},
	}})
	tests := []struct {
		url      string
		class    failure.Class
		requests int
	}{
		{w.URL("a"), "http.404", 1},
		{w.URL("b"), "gone", 1},
		{w.URL("c"), "retry_after", 1},
		{w.URL("d"), "server_error.503", 1},
		{"http://host.example.com/e", "http.404", 1},
		{"http://nowhere.example.com/a", "dns", 0},
		{"http://host.example.org/a", "dns", 0},
		{"http://%zz/", "blocked.url", 0},
	}
	for _, tt := range tests {
		resp, err := w.Fetch(noWait, freshet.Request{URL: tt.url})
		failure, ok := errors.AsType[*freshet.FetchError](err)
		if !ok || failure.Class != tt.class || resp.Requests != tt.requests {
			t.Errorf("fetching %s takes %d requests and ends with %v, want %d and a failure of class %s", tt.url, resp.Requests, err, tt.requests, tt.class)
		}
		if tt.class == "retry_after" && resp.RetryAfter != 9*time.Second {
			t.Errorf("%s asks to retry after %v, want 9s", tt.url, resp.RetryAfter)
		}
	}
}

// A poll of the web in process fails in the same class as a poll of it over
// HTTP by the daemon's own fetcher.
func TestFetchFailsAsOverHTTP(t *testing.T) {
	var pages []synth.Page
	for _, status := range []int{400, 401, 403, 404, 410, 429, 500, 502, 503, 599} {
		for _, retry := range []time.Duration{0, 9 * time.Second} {
			id := freshet.SourceID(fmt.Sprintf("s%d-%d", status, retry/time.Second))
			pages = append(pages, synth.Page{ID: id, Trouble: synth.Trouble{Status: status, RetryAfter: retry}})
		}
	}
	w, _, base := serve(t, pages...)
	client := fetch.New(kit.Loopback())
	class := func(f freshet.Fetcher, url string) (failure.Class, time.Duration) {
		resp, err := f.Fetch(t.Context(), freshet.Request{URL: url})
		failure, ok := errors.AsType[*freshet.FetchError](err)
		if !ok {
			t.Fatalf("fetching %s ends with %v", url, err)
		}
		return failure.Class, resp.RetryAfter
	}
	for _, p := range pages {
		inside, wait := class(w, w.URL(p.ID))
		outside, waitOutside := class(client, base+"/"+string(p.ID))
		if inside != outside || wait != waitOutside {
			t.Errorf("%s fails as %s, after which to wait %v; over HTTP it is %s and %v", p.ID, inside, wait, outside, waitOutside)
		}
	}
}

// TestLatency shows that the answer is that of the moment when the request
// came, and that waiting for it can be broken off.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := synth.New(synth.Config{Latency: 3 * time.Second, Pages: []synth.Page{
			{ID: "page", Host: "host", Schedule: synth.Regular{Every: 2 * time.Second}},
		}})
		resp, err := w.Fetch(t.Context(), freshet.Request{URL: w.URL("page")})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the fetch took %v, want 3s", took)
		}
		if v, _ := synth.VersionIn(resp.Body); v != 1 {
			t.Errorf("the answer is version %d, want 1", v)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.Fetch(ctx, freshet.Request{URL: w.URL("page")})
		failure, ok := errors.AsType[*freshet.FetchError](err)
		if !ok || failure.Class != "timeout.total" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a fetch that is broken off ends with %v", err)
		}
		if n := len(w.Requests()); n != 2 {
			t.Errorf("%d requests were logged, want 2", n)
		}
	})
}
