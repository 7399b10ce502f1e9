// Package daemontest has a whole daemon for tests: a store, the API, and a web server to watch.
package daemontest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// A Daemon has nothing to do until it is asked: its policy wants no polls.
type Daemon struct {
	*daemon.Daemon
	Store   *sqlite.Store
	Handler http.Handler
	API     *httptest.Server
	Origin  *kit.Origin

	EndStreams func() // ends the streams and long polls of the API
}

// New returns a daemon with its store in dir, which does not run yet. It must be closed. alter
// changes the daemon, and each of change its API; alter may be nil.
func New(dir string, alter func(*daemon.Config), change ...func(*api.Config)) (*Daemon, error) {
	store, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir, Epoch: "rig", Features: features.All()})
	if err != nil {
		return nil, err
	}
	gate, err := auth.New(context.Background(), auth.Config{Store: auth.NewStore(store.DB()), Inside: true})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	limits, metrics, pages := kit.Loopback(), api.NewMetrics(), frontier.NewStore(store.DB())
	watching := daemon.Config{
		Store: store, Frontier: pages, Fetcher: fetch.New(limits), Policy: kit.Idle{}, Observe: metrics.Outcome,
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1e6, Per: time.Minute, Instant: time.Millisecond}, Hosts: sched.Politeness{Concurrency: 16}},
	}
	if alter != nil {
		alter(&watching)
	}
	stop := make(chan struct{})
	d := &Daemon{Daemon: daemon.New(watching), Store: store, Origin: kit.StartOrigin(), EndStreams: sync.OnceFunc(func() { close(stop) })}
	cfg := api.Config{
		Auth: api.AuthConfig{Gate: gate}, QueryStore: queries.NewStore(store.DB()), Store: store,
		Frontier: pages, Daemon: d.Daemon, Metrics: metrics, Stop: stop,
		Sources: api.SourceConfig{Check: limits.CheckURL}, Search: api.SearchConfig{Search: store.Search}, Program: api.ProgramConfig{Version: "test"},
	}
	for _, c := range change {
		c(&cfg)
	}
	d.Handler = api.New(cfg)
	d.API = httptest.NewServer(d.Handler)
	return d, nil
}

// Start runs the daemon until the function that it returns is called, and returns when it can poll.
func (d *Daemon) Start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-d.Started():
	case err := <-ended: // which the caller learns when it stops the daemon
		ended <- err
	}
	return stop
}

// Close closes the servers and the store of a daemon that does not run.
func (d *Daemon) Close() {
	d.EndStreams()
	d.API.Close()
	d.Origin.Close()
	d.Store.Close()
}
