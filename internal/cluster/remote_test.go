package cluster_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"freshet/internal/cluster"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/worker"
)

// after returns a task whose history is an earlier result.
func after(o worker.Task, found worker.Result) worker.Task {
	o.Head = freshet.Head{
		Number: 1, Hash: found.Capture.Hash, Recipe: found.Capture.Recipe, Polls: 40,
		Validators: found.Validators, Sums: found.Sums, Asked: o.At.Add(-time.Hour),
	}
	o.History = seen{found}
	return o
}

// A seen is the history of a source with one result.
type seen struct{ result worker.Result }

func (s seen) capture() freshet.Capture {
	if s.result.Capture == nil {
		return freshet.Capture{}
	}
	return *s.result.Capture
}

func (s seen) Text(context.Context) ([]byte, error)            { return s.capture().Text, nil }
func (s seen) Body(context.Context) ([]byte, error)            { return s.capture().Raw.Body, nil }
func (s seen) Picture(context.Context) ([]byte, error)         { return nil, freshet.ErrNotFound }
func (s seen) QuarantinedText(context.Context) ([]byte, error) { return nil, freshet.ErrNotFound }
func (s seen) Fields(context.Context) (freshet.Fields, error)  { return s.capture().Fields, nil }
func (s seen) Items(context.Context) ([]byte, error)           { return s.result.Items, nil }
func (s seen) Noise(context.Context) ([]byte, error)           { return s.result.Noise, nil }
func (s seen) LearnNoise(context.Context) (*noise.Memory, error) {
	return noise.Recall(nil, nil), nil
}
func (s seen) VersionsWith(context.Context, freshet.Hash) ([]freshet.Version, error) { return nil, nil }
func (s seen) PageKeys(_ context.Context, urls []string) ([]crawl.PageKey, error) {
	keys := make([]crawl.PageKey, len(urls))
	for i, url := range urls {
		keys[i] = crawl.PageKeyOf(url)
	}
	return keys, nil
}

// TestRemotePollsEqualLocalPolls compares results of a remote worker with those of the local one.
func TestRemotePollsEqualLocalPolls(t *testing.T) {
	g := newRig(t)
	g.join("far")
	own := ownWorker()
	state := "one"
	var mu sync.Mutex
	serve := func(path, kind string, text map[string]string) {
		g.web.Mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Etag", `"`+state+`"`)
			w.Write([]byte(text[state]))
		})
	}
	serve("/page", "text/html", map[string]string{"one": "<title>A</title><p>old words", "two": "<title>A</title><p>new words"})
	serve("/feed", "application/rss+xml", map[string]string{
		"one": `<rss version="2.0"><channel><title>F</title><item><guid>1</guid><title>a</title><link>` + g.web.URL + `/a</link><pubDate>Sun, 01 Mar 2026 10:00:00 GMT</pubDate></item></channel></rss>`,
		"two": `<rss version="2.0"><channel><title>F</title><item><guid>2</guid><title>b</title><link>` + g.web.URL + `/b</link><pubDate>Sun, 01 Mar 2026 11:00:00 GMT</pubDate></item><item><guid>1</guid><title>a</title><link>` + g.web.URL + `/a</link><pubDate>Sun, 01 Mar 2026 10:00:00 GMT</pubDate></item></channel></rss>`,
	})
	serve("/shop", "text/html", map[string]string{"one": `<h1>Pump</h1><b data-price="10 €">`, "two": `<h1>Pump</h1><b data-price="9 €">`})
	serve("/empty", "text/html", map[string]string{"one": "", "two": ""})
	g.web.Mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	g.web.Mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	g.web.Mux.Handle("/moved", http.RedirectHandler("/page", http.StatusMovedPermanently))

	price := reading.Recipe{Read: []reading.Step{{Name: "css", Arg: `"h1"`}}, Extract: reading.Extracts{"price": {CSS: "b@data-price", As: reading.AsNumber}}}
	tests := []struct {
		name, path string
		amend      func(*worker.Task)
	}{
		{"a page", "/page", nil},
		{"a feed that speaks for pages", "/feed", func(o *worker.Task) { o.Hints = &worker.IndexHints{} }},
		{"a number", "/shop", func(o *worker.Task) { o.Source.Recipe = price }},
		{"an empty page", "/empty", nil},
		{"a page that is gone", "/gone", nil},
		{"a server that is busy", "/busy", nil},
		{"a page that has moved", "/moved", nil},
		{"a page that is not there", "/none", nil},
		{"several parts of a page", "/page", func(o *worker.Task) {
			part := *o
			part.Source.ID, part.Source.Recipe.CSS = "part", "p"
			o.Shared = []worker.Task{part}
		}},
		{"noise is looked for", "/page", func(o *worker.Task) { o.Source.Noise = freshet.NoiseAuto }},
	}
	for _, tt := range tests {
		for _, first := range []bool{true, false} {
			mu.Lock()
			state = "one"
			mu.Unlock()
			o := g.task(tt.path)
			if tt.amend != nil {
				tt.amend(&o)
			}
			if !first {
				before := own.Look(t.Context(), o)
				if before.Capture == nil {
					continue
				}
				along := o.Shared
				o = after(o, before)
				for i := range along {
					o.Shared[i] = after(along[i], before.Shared[i])
				}
				mu.Lock()
				state = "two"
				mu.Unlock()
			}
			want, got := own.Look(t.Context(), o), g.pool.Look(t.Context(), o)
			ignore := cmp.Options{
				cmpopts.IgnoreFields(worker.Result{}, "Took"), cmpopts.IgnoreUnexported(worker.Result{}), cmpopts.EquateEmpty(),
				cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "Raw.Header") }, cmp.Ignore()),
			}
			if d := cmp.Diff(want, got, ignore); d != "" {
				t.Errorf("%s, first %t: a worker elsewhere finds something else (-beside +elsewhere):\n%s", tt.name, first, d)
			}
			if got.Capture != nil && !slices.Equal(got.Capture.Raw.Header["Etag"], want.Capture.Raw.Header["Etag"]) {
				t.Errorf("%s: the header is %v, not %v", tt.name, got.Capture.Raw.Header, want.Capture.Raw.Header)
			}
		}
	}
}

// TestEveryRequestNeedsAPermit follows redirects: each requires a permit.
func TestEveryRequestNeedsAPermit(t *testing.T) {
	g := newRig(t)
	g.join("far")
	g.web.Mux.Handle("/a", http.RedirectHandler("/b", http.StatusFound))
	g.web.Mux.Handle("/b", http.RedirectHandler("/c", http.StatusFound))
	g.web.PutHTML("/c", "here")
	o := g.task("/a")
	var asked []string
	o.Permit = func(_ context.Context, hop freshet.Hop) error {
		asked = append(asked, strings.TrimPrefix(hop.URL, g.web.URL))
		if len(asked) == 3 {
			return &freshet.FetchError{Class: failure.DeferredBudget, Err: errors.New("no room"), Hint: "wait"}
		}
		return nil
	}
	found := g.pool.Look(t.Context(), o)
	if !slices.Equal(asked, []string{"/a", "/b", "/c"}) {
		t.Errorf("leave was asked for %v", asked)
	}
	if !found.Failure.Is(failure.DeferredBudget) || found.Requests != 2 || g.web.Asked("/c") != 0 {
		t.Errorf("the look ends with %s after %d requests, and /c was asked for %d times", found.Failure, found.Requests, g.web.Asked("/c"))
	}
}

// TestRobotsOfAnOrigin fetches a robots.txt with a remote worker.
func TestRobotsOfAnOrigin(t *testing.T) {
	g := newRig(t)
	g.join("far")
	g.web.Mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("User-agent: *\nDisallow: /no\n"))
	})
	m, err := g.pool.Robots(t.Context(), g.task("/"), g.web.URL)
	if err != nil || m.Requests != 1 || m.Answer.Status != 200 || string(m.Answer.Body) != "User-agent: *\nDisallow: /no\n" {
		t.Errorf("it says %+v, %v", m, err)
	}
}

// TestStrangers connects without a valid token. The leader rejects the worker, which reports why.
func TestStrangers(t *testing.T) {
	g := newRig(t)
	for name, head := range map[string]http.Header{
		"nobody":       {"Upgrade": {"freshet-hand"}, "Connection": {"Upgrade"}},
		"wrong token":  {"Upgrade": {"freshet-hand"}, "Connection": {"Upgrade"}, "Authorization": {"Bearer no"}},
		"empty token":  {"Upgrade": {"freshet-hand"}, "Connection": {"Upgrade"}, "Authorization": {"Bearer "}},
		"half a token": {"Upgrade": {"freshet-hand"}, "Connection": {"Upgrade"}, "Authorization": {"Bearer " + token[:4]}},
	} {
		req, _ := http.NewRequest(http.MethodGet, g.leader.URL+cluster.Path, nil)
		req.Header = head
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s gets %s", name, resp.Status)
		}
	}
	err := cluster.NewWorker(cluster.WorkerConfig{Join: []string{g.leader.URL}, Token: "no", Name: "x", Slots: 1, Do: http.DefaultClient.Do}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a worker with a wrong token ends with %v", err)
	}
}
