package worker_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A site is a real server that answers as the test says.
type site struct {
	*httptest.Server
	answer   http.HandlerFunc
	requests []*http.Request
}

func newSite(t *testing.T, answer http.HandlerFunc) *site {
	s := &site{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests = append(s.requests, r)
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// says answers with a page and its headers, given as pairs.
func says(body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Write([]byte(body))
	}
}

// refuses answers with a status.
func refuses(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// order returns a task to look at the site, whose head is what an earlier look
// found.
func (s *site) order(found *worker.Result) worker.Task {
	o := worker.Task{Source: freshet.Source{ID: "page", URL: s.URL}, At: noon.Add(time.Hour)}
	if found != nil {
		o.Head = freshet.Head{
			Number: 1, Hash: found.Capture.Hash, Recipe: found.Capture.Recipe,
			Validators: found.Validators, Sums: found.Sums, Asked: noon,
		}
		pastOf(&o).text = func(context.Context) ([]byte, error) { return found.Capture.Text, nil }
	}
	return o
}

// look looks at the site with a worker of its own: a worker remembers nothing.
func (s *site) look(t *testing.T, o worker.Task) worker.Result {
	t.Helper()
	return worker.New(fetcher(), nil).Look(t.Context(), o)
}

// fetcher returns a fetcher that may reach the site.
func fetcher() *fetch.Client {
	return fetch.New(kit.Loopback())
}

func TestFirstLook(t *testing.T) {
	s := newSite(t, says("<title>A page</title><p>one", "Etag", `"1"`, "Last-Modified", "Sun, 01 Mar 2026 10:00:00 GMT"))
	f := s.look(t, s.order(nil))
	if f.Result != freshet.First || f.Status != 200 || f.Requests != 1 || f.Bytes == 0 || f.Took <= 0 {
		t.Errorf("the result is %+v, want a first version from one request", f)
	}
	if f.Capture == nil || string(f.Capture.Text) != "one\n" || f.Capture.Title != "A page" || f.Capture.Hash != freshet.HashOf(f.Capture.Text) {
		t.Fatalf("the capture is %+v", f.Capture)
	}
	if string(f.Capture.Raw.Body) != "<title>A page</title><p>one" || f.Capture.Summary != "" {
		t.Errorf("the raw body is %q and the summary %q, want the body as sent and no summary", f.Capture.Raw.Body, f.Capture.Summary)
	}
	if f.Validators.ETag != `"1"` || !f.Modified.Equal(noon.Add(-2*time.Hour)) || !f.Sums.Known {
		t.Errorf("validators %+v, modified %v, sums %+v; want what the server said", f.Validators, f.Modified, f.Sums)
	}
}

// What a second look finds depends on the head alone.
func TestSecondLook(t *testing.T) {
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		amend   func(*worker.Task)
		want    freshet.Result
		summary string
		asks    string // the ETag that is asked by
		etag    string // the one to ask by next time
	}{
		{"not modified", refuses(304, "Etag", `"1"`), nil, freshet.Unchanged, "", `"1"`, `"1"`},
		{"the same body", says("<p>one", "Etag", `"2"`), nil, freshet.Unchanged, "", `"1"`, `"2"`},
		{"the same text in another body", says("<div>one</div>"), nil, freshet.Unchanged, "", `"1"`, ""},
		{"the same text, by its name alone", says("<div>one</div>"), func(o *worker.Task) { o.Head.Sums = freshet.Sums{} }, freshet.Unchanged, "", `"1"`, ""},
		{"another text", says("<p>two"), nil, freshet.Changed, "+1 -1 line: two", `"1"`, ""},
		{"another text, and no version before", says("<p>two"), func(o *worker.Task) {
			pastOf(o).text = func(context.Context) ([]byte, error) { return nil, errors.New("it is damaged") }
		}, freshet.Changed, "changed; the previous version could not be read", `"1"`, ""},
		{"another recipe", says("<p>one"), func(o *worker.Task) { o.Source.Recipe.CSS = "p" }, freshet.First, "", "", ""},
		{"trusted for a day", says("<p>one"), func(o *worker.Task) { o.At = noon.Add(24*time.Hour - 1) }, freshet.Unchanged, "", `"1"`, ""},
		{"trusted long enough", says("<p>one"), func(o *worker.Task) { o.At = noon.Add(24 * time.Hour) }, freshet.Unchanged, "", "", ""},
		{"trusted from the future", says("<p>one"), func(o *worker.Task) { o.At = noon.AddDate(-10, 0, 0) }, freshet.Unchanged, "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, says("<p>one", "Etag", `"1"`))
			first := s.look(t, s.order(nil))
			s.answer = tt.answer
			o := s.order(&first)
			if tt.amend != nil {
				tt.amend(&o)
			}
			f := s.look(t, o)
			if f.Result != tt.want || f.Result.Captured() != (f.Capture != nil) {
				t.Fatalf("the look found %s %q, capture %+v; want %s", f.Result, f.Err, f.Capture, tt.want)
			}
			if f.Capture != nil && f.Capture.Summary != tt.summary {
				t.Errorf("the summary is %q, want %q", f.Capture.Summary, tt.summary)
			}
			if asked := s.requests[1].Header.Get("If-None-Match"); asked != tt.asks {
				t.Errorf("the request asked by %q, want %q", asked, tt.asks)
			}
			if f.Validators.ETag != tt.etag {
				t.Errorf("the next request is to ask by %q, want %q", f.Validators.ETag, tt.etag)
			}
		})
	}
}

// A body that is known is not read again, and one that is read is known then.
func TestKnownBodiesAreNotRead(t *testing.T) {
	s := newSite(t, says("<p>one", "Etag", `"1"`))
	first := s.look(t, s.order(nil))
	read := 0
	h := worker.New(fetch.New(kit.Loopback()), func(_ context.Context, r reading.Recipe, resp freshet.Response) (extract.Reading, error) {
		read++
		return extract.Extract(r, resp)
	})
	if f := h.Look(t.Context(), s.order(&first)); read != 0 || f.Sums != first.Sums {
		t.Errorf("the same body was read %d times, and its sums are %+v, want none and %+v", read, f.Sums, first.Sums)
	}
	s.answer = says("<b>one</b>")
	o := s.order(&first)
	f := h.Look(t.Context(), o)
	if read != 1 || f.Sums.Text != first.Sums.Text || f.Sums.Body == first.Sums.Body {
		t.Errorf("another body with the same text was read %d times, and its sums are %+v after %+v", read, f.Sums, first.Sums)
	}
	o.Head.Sums = f.Sums
	if h.Look(t.Context(), o); read != 1 {
		t.Errorf("a body that was read a moment ago was read again")
	}
	s.answer = refuses(304)
	if f := h.Look(t.Context(), s.order(&first)); f.Sums != first.Sums {
		t.Errorf("the sums after an answer without a body are %+v, want %+v", f.Sums, first.Sums)
	}
}

// A look that fails leaves nothing to go by but why, and when to come back.
func TestFailedLook(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		css    string
		want   failure.Class
	}{
		{"an error of the server", refuses(500, "Etag", `"bad"`), "", failure.ServerError},
		{"sent away", refuses(429, "Retry-After", "17", "Etag", `"bad"`), "", failure.RetryAfter},
		{"unreadable", says("<p>two", "Etag", `"bad"`), "#none", failure.Extract},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, says("<p>one", "Etag", `"1"`))
			first := s.look(t, s.order(nil))
			s.answer = tt.answer
			o := s.order(&first)
			o.Source.Recipe.CSS = tt.css
			f := s.look(t, o)
			if f.Result != freshet.Failed || !f.Failure.Is(tt.want) || f.Err == "" {
				t.Errorf("the look found %s %s %q, want a failure of class %s", f.Result, f.Failure, f.Err, tt.want)
			}
			if f.Validators != (freshet.Validators{}) || f.Sums != (freshet.Sums{}) || f.Capture != nil {
				t.Errorf("a failed look leaves validators %+v, sums %+v and capture %v", f.Validators, f.Sums, f.Capture)
			}
			if f.Requests != 1 || f.Status == 0 {
				t.Errorf("%d requests with status %d, want what was made", f.Requests, f.Status)
			}
		})
	}
}

func TestDates(t *testing.T) {
	at := noon.Add(time.Hour) // of the task
	stamp := func(d time.Time) string { return d.Format(http.TimeFormat) }
	feed := func(d time.Time) string {
		return `<rss version="2.0"><channel><title>f</title><item><title>i</title><pubDate>` + d.Format(time.RFC1123Z) + `</pubDate></item></channel></rss>`
	}
	tests := []struct {
		name, header string
		body         string
		want         time.Time
	}{
		{"none", "", "<p>one", time.Time{}},
		{"of the header", stamp(noon), "<p>one", noon},
		{"a little ahead", stamp(at.Add(5 * time.Minute)), "<p>one", at.Add(5 * time.Minute)},
		{"in the future", stamp(at.Add(time.Hour)), "<p>one", time.Time{}},
		{"of the newest item", "", feed(noon), noon},
		{"of the newest item, where the header lies", stamp(at.Add(time.Hour)), feed(noon), noon},
		{"of an item in the future", "", feed(at.Add(time.Hour)), time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, nil)
			s.answer = says(tt.body, "Last-Modified", tt.header)
			if strings.HasPrefix(tt.body, "<rss") {
				s.answer = says(tt.body, "Last-Modified", tt.header, "Content-Type", "application/rss+xml")
			}
			if f := s.look(t, s.order(nil)); !f.Modified.Equal(tt.want) {
				t.Errorf("the source is said to have changed at %v, want %v (%s)", f.Modified, tt.want, f.Err)
			}
		})
	}
}

// The record of a poll is stamped by who gave the task.
func TestRecord(t *testing.T) {
	p := freshet.Poll{Source: freshet.Source{ID: "page"}, At: noon, Since: noon.Add(-time.Hour), Cause: freshet.ByHand}
	f := worker.Result{
		Took: 3 * time.Second, Result: freshet.Failed, Status: 429, Requests: 4, Bytes: 5,
		Modified: noon.Add(-time.Minute), RetryAfter: time.Minute, Failure: "retry_after", Err: "later",
		Validators: freshet.Validators{ETag: "x"}, Sums: freshet.Sums{Known: true, Body: 1, Text: 2},
		Capture: &freshet.Capture{Title: "t"},
	}
	began := noon.Add(time.Second)
	want := freshet.Record{
		Outcome: freshet.Outcome{
			Source: "page", Cause: freshet.ByHand, Since: noon.Add(-time.Hour), Began: began, Ended: began.Add(3 * time.Second),
			Result: freshet.Failed, Status: 429, Requests: 4, Bytes: 5, Modified: noon.Add(-time.Minute),
			NotBefore: began.Add(3*time.Second + time.Minute), Failure: "retry_after", Err: "later",
		},
		Validators: f.Validators, Sums: f.Sums, Capture: f.Capture,
	}
	if diff := cmp.Diff(want, f.Record(p, began)); diff != "" {
		t.Errorf("the record is not as it should be (-want +got):\n%s", diff)
	}
	f.RetryAfter = 0
	if got := f.Record(p, began).Outcome.NotBefore; !got.IsZero() {
		t.Errorf("a host that asked for nothing is left alone until %v", got)
	}
}
