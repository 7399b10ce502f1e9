package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/daemon"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sched"
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

// A rig is a whole daemon with its API, and a page to watch.
type rig struct {
	store   *sqlite.Store
	handler http.Handler
	api     *httptest.Server
	page    *httptest.Server
	text    atomic.Value // that the page has
	close   func()
}

// newRig starts a daemon that has nothing to do until it is asked.
func newRig() (r *rig, err error) {
	r = &rig{}
	r.text.Store("one\n")
	dir, err := os.MkdirTemp("", "freshet-client-")
	if err != nil {
		return nil, err
	}
	if r.store, err = sqlite.Open(context.Background(), sqlite.Config{Dir: dir}); err != nil {
		return nil, err
	}
	r.page = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, r.text.Load().(string))
	}))
	near := fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	daemon := daemon.New(daemon.Config{
		Store: r.store, Fetcher: fetch.New(near), Policy: idle{},
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1e6, Per: time.Minute, Instant: time.Millisecond}, Hosts: sched.Politeness{Concurrency: 16}},
	})
	stop := make(chan struct{})
	r.handler = api.New(api.Config{Auth: api.AuthConfig{Gate: auth.Inside(auth.NewStore(r.store.DB()), nil)}, QueryStore: queries.NewStore(r.store.DB()), Store: r.store, Daemon: daemon, Sources: api.SourceConfig{Check: near.CheckURL}, Program: api.ProgramConfig{Version: "test"}, Stop: stop})
	r.api = httptest.NewServer(r.handler)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx) }()
	<-daemon.Started()
	r.close = func() {
		cancel()
		<-ended
		close(stop)
		r.api.Close()
		r.page.Close()
		r.store.Close()
		os.RemoveAll(dir)
	}
	return r, nil
}
