package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/daemon"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// An idle policy wants no polls, so that a test makes every one by hand.
type idle struct{}

func (idle) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}
func (idle) Remove(freshet.Slot)                                    {}
func (idle) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time {
	return time.Time{}
}
func (idle) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// A rig is a whole daemon with a web server to watch and a client.
type rig struct {
	t      testing.TB
	store  *sqlite.Store
	daemon *daemon.Daemon
	api    *httptest.Server
	origin *httptest.Server
	stop   chan struct{}

	mu    sync.Mutex
	pages map[string]page
}

// A page is what the watched server answers with.
type page struct {
	mediaType string
	body      string
}

func newRig(t testing.TB, change ...func(*api.Config)) *rig {
	return newRigWith(t, func(*daemon.Config) {}, change...)
}

// newRigWith returns a rig whose daemon differs from the usual one.
func newRigWith(t testing.TB, differ func(*daemon.Config), change ...func(*api.Config)) *rig {
	r := &rig{t: t, pages: map[string]page{}, stop: make(chan struct{})}
	r.origin = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.origin.Close)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Epoch: "rig", Sites: frontier.Hook{}})
	if err != nil {
		t.Fatal(err)
	}
	r.store = store
	t.Cleanup(func() { store.Close() })
	limits := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	metrics := api.NewMetrics()
	watching := daemon.Config{
		Store: store, Frontier: frontier.NewStore(store.DB()), Fetcher: fetch.New(limits), Policy: idle{}, Observe: metrics.Outcome,
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1e6, Per: time.Minute, Instant: time.Millisecond}, Hosts: sched.Politeness{Concurrency: 16}},
	}
	differ(&watching)
	r.daemon = daemon.New(watching)
	cfg := api.Config{
		Auth: api.AuthConfig{Gate: auth.Inside(auth.NewStore(store.DB()), nil)}, QueryStore: queries.NewStore(store.DB()), Store: store, Frontier: frontier.NewStore(store.DB()), Daemon: r.daemon, Metrics: metrics, Stop: r.stop,
		Sources: api.SourceConfig{Check: limits.CheckURL}, Search: api.SearchConfig{Search: store.Search}, Program: api.ProgramConfig{Version: "test"},
	}
	for _, c := range change {
		c(&cfg)
	}
	r.api = httptest.NewServer(api.New(cfg))
	t.Cleanup(r.api.Close)
	return r
}

// run has the daemon make polls until the test is over, and waits until it can.
func (r *rig) run() *rig {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.daemon.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("the daemon ended with %v", err)
		}
	})
	for !r.daemon.Status().Running {
		select {
		case err := <-ended:
			r.t.Fatalf("the daemon ended with %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	return r
}

func (r *rig) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	p, ok := r.pages[req.URL.Path]
	r.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", p.mediaType)
	_, _ = io.WriteString(w, p.body)
}

// put sets what the watched server has at a path.
func (r *rig) put(path, mediaType, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages[path] = page{mediaType, body}
}

// An answer is a response of the API.
type answer struct {
	t      testing.TB
	what   string
	Status int
	Header http.Header
	Body   []byte
}

// do sends a request to the API. A body that is not a string is sent as JSON.
func (r *rig) do(method, path string, body any, headers ...string) answer {
	r.t.Helper()
	a, err := ask(r.t, r.t.Context(), method, r.api.URL+path, body, headers...)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// later sends a request from a goroutine of its own.
func (r *rig) later(method, path string) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, err := ask(r.t, r.t.Context(), method, r.api.URL+path, nil)
		if err != nil {
			r.t.Error(err)
		}
		answers <- a
	}()
	return answers
}

func ask(t testing.TB, ctx context.Context, method, url string, body any, headers ...string) (answer, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return answer{}, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{t, method + " " + req.URL.Path, resp.StatusCode, resp.Header, b}, err
}

// is checks the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s answered %d, want %d: %s", a.what, a.Status, status, a.Body)
	}
	return a
}

// into decodes the body, and fails for fields that the type does not have.
func (a answer) into(v any) {
	a.t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		a.t.Fatalf("%s answered what cannot be read: %v: %s", a.what, err, a.Body)
	}
}

// add watches a page of the watched server.
func (r *rig) add(id, path string) client.Source {
	r.t.Helper()
	var s client.Source
	r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.origin.URL + path}).is(201).into(&s)
	return s
}

// poll polls a source and returns the outcome.
func (r *rig) poll(id string) client.Outcome {
	r.t.Helper()
	var p client.PollAnswer
	r.do("POST", "/api/v1/sources/"+id+"/poll", nil).is(200).into(&p)
	if p.Outcome == nil || p.Queued {
		r.t.Fatalf("a poll of %s answered %+v", id, p)
	}
	return *p.Outcome
}

// capture commits a change of a source without a poll.
func (r *rig) capture(id freshet.SourceID, n int) freshet.Change {
	return r.tell(id, fmt.Sprintf("version %d\n", n), nil, nil)
}

// tell commits a version with named values that changed items.
func (r *rig) tell(id freshet.SourceID, words string, fields freshet.Fields, items *freshet.ItemChanges) freshet.Change {
	text := []byte(words)
	now := time.Now()
	_, c, err := r.store.Commit(context.WithoutCancel(r.t.Context()), freshet.Record{
		Outcome: freshet.Outcome{Source: id, Since: now.Add(-time.Minute), Began: now, Ended: now, Result: freshet.Changed, Status: 200, Requests: 1},
		Capture: &freshet.Capture{
			Recipe: freshet.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Summary: strings.TrimSpace(words),
			Raw: freshet.Raw{Status: 200, URL: "http://page.example/", Body: text}, Fields: fields, Details: freshet.Details{Items: items},
		},
	})
	if err != nil {
		r.t.Errorf("committing %q of %s: %v", words, id, err)
	}
	return c
}
