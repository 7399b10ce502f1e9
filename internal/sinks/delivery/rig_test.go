package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// A store is what sinks follow, with what polls write to.
type store interface {
	freshet.Store
	delivery.Outbox
}

// over returns a store for deliveries with another one beneath.
func (r *rig) over(s store) delivery.Store {
	return delivery.Store{Archive: s, Outbox: s, Queries: r.queries}
}

// A rig is a store with one source, and a sink that answers as it is told.
type rig struct {
	t       testing.TB
	store   store
	queries *queries.Store
	dir     string
	files   string // that the sinks of many write to
	seen    int    // versions of the page captured so far

	mu     sync.Mutex
	answer func(client.Event) error
	sent   []sending
}

// A sending is one attempt, as the sink saw it.
type sending struct {
	at    time.Time
	event client.Event
	body  string
	err   error
}

const page freshet.SourceID = "page"

func newRig(t testing.TB) *rig {
	r := &rig{t: t, dir: t.TempDir(), answer: func(client.Event) error { return nil }}
	r.open()
	_, err := r.store.AddSource(t.Context(), freshet.Source{ID: page, URL: "http://page.example/", Name: "Page", Tags: []string{"news"}})
	if err != nil {
		t.Fatal(err)
	}
	r.capture(page) // the first version is no change
	return r
}

func (r *rig) open() {
	opened, err := sqlite.Open(context.WithoutCancel(r.t.Context()), sqlite.Config{Features: features.All(), Dir: r.dir, Epoch: "rig"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.store, r.queries = struct {
		freshet.Store
		delivery.Outbox
	}{opened, sinks.NewStore(opened.DB())}, queries.NewStore(opened.DB())
}

func (r *rig) close() {
	if err := r.store.Close(); err != nil {
		r.t.Errorf("closing the store: %v", err)
	}
}

// capture commits a new version of a source, and returns the change if it is
// not the first.
func (r *rig) capture(id freshet.SourceID) freshet.Change {
	r.t.Helper()
	r.seen++
	text := fmt.Sprintf("version %d", r.seen)
	_, c, err := r.store.Commit(r.t.Context(), kit.Changed(id, text+"\n", "+1 -1 line: "+text))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// captureNew is capture for a source of its own.
func (r *rig) captureNew() freshet.Change {
	r.t.Helper()
	id := freshet.SourceID(fmt.Sprintf("page%d", r.seen))
	if _, err := r.store.AddSource(r.t.Context(), freshet.Source{ID: id, URL: fmt.Sprintf("http://page.example/%d", r.seen), Name: "Page", Tags: []string{"news"}}); err != nil {
		r.t.Fatal(err)
	}
	r.capture(id)
	return r.capture(id)
}

// render returns the message that tells of a change.
func render(_ context.Context, c freshet.Change) ([]byte, error) {
	return json.Marshal(sinks.Envelope(c, ""))
}

// Send is the sink.
func (r *rig) Send(_ context.Context, m sinks.Message) (string, error) {
	var e client.Event
	if err := json.Unmarshal(m.Body, &e); err != nil || e.ID != m.ID {
		r.t.Errorf("the message %s cannot be read (%v): %s", m.ID, err, m.Body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.answer(e)
	r.sent = append(r.sent, sending{time.Now(), e, string(m.Body), err})
	return "", err
}

// answers makes the sink answer otherwise from now on.
func (r *rig) answers(answer func(client.Event) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *rig) sendings() []sending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sending(nil), r.sent...)
}

// accepted returns the IDs of the changes that were accepted, in order.
func (r *rig) accepted() (ids []string) {
	for _, s := range r.sendings() {
		if s.err == nil {
			ids = append(ids, s.event.ID)
		}
	}
	return ids
}

// follow runs a follower until the function that it returns is called.
func (r *rig) follow(change func(*delivery.FollowerConfig)) (stop func() error) {
	r.t.Helper()
	cfg := delivery.FollowerConfig{Name: "sink", Store: r.over(r.store), Render: render, Send: r.Send}
	if change != nil {
		change(&cfg)
	}
	f, err := delivery.NewFollower(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (r *rig) owes(open, dead int) {
	r.t.Helper()
	o, d, err := r.store.CountDeliveries(r.t.Context(), "sink")
	if err != nil {
		r.t.Fatal(err)
	}
	if o != open || d != dead {
		r.t.Errorf("the sink is owed %d deliveries and %d were given up, want %d and %d", o, d, open, dead)
	}
}
