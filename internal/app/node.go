package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/clock"
	"freshet/internal/cluster"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/fetch"
	fetchauth "freshet/internal/fetch/auth"
	"freshet/internal/fetch/browser"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// A Node is a store and a daemon over it. The daemon does nothing until it is started.
type Node struct {
	Store        api.Store
	stored       *store.Store    // the part of Store that both databases share
	leaderStore  *postgres.Store // the store, if this node leads on PostgreSQL
	standbyStore *postgres.Store // the store, if this node is a standby
	Daemon       *daemon.Daemon
	Tick         time.Duration // tick of the learner; zero without one

	now      func() time.Time // clock of all parts
	warm     bool             // it started from the warm state of a standby
	address  string
	settings config.Settings
	reader   *extract.Reader
	access   *fetchauth.Client
	hooks    *fetchauth.Hooks
	webSub   *fetchauth.WebSub
	renderer *browser.Renderer
	explorer *discovery.Explorer // nil if polls are made only on request
	queries  *queries.Runner     // nil if none run
	workers  *cluster.Pool       // nil if none may join
	limits   workerLimits
	listed   atomic.Int64              // sources in the configuration file, which may not be loaded yet
	gate     atomic.Pointer[auth.Gate] // nil until the API is served
	log      *slog.Logger

	deliveries atomic.Pointer[deliveries] // nil if no other node can deliver
}

// A Config configures a Node.
type Config struct {
	config.Settings

	// Extract is the command of a child process that applies selectors with [extract.Serve] and can
	// be killed. Without it, selectors are applied in this process.
	Extract []string

	Version string                                // of freshet
	Budget  sched.Budget                          // sizes the policy; zero means that of the settings
	Expect  int                                   // expected number of sources, if larger than the current one
	Idle    bool                                  // poll only on request
	Queries bool                                  // run queries although Idle
	Unbound bool                                  // ignore MaxGap of sources
	Learn   bool                                  // learn from the log although Idle
	Grace   time.Duration                         // for running polls at the end; zero means that of package daemon
	Observe func(freshet.Source, freshet.Outcome) // called after every poll; may be nil
	Now     func() time.Time                      // wall clock of all parts; nil means time.Now
	Log     *slog.Logger                          // nil discards

	// Standby opens the store read-only, because another node leads. Address is the URL of this
	// node if it leads on a shared database; Open then returns freshet.ErrBusy instead of waiting
	// for the lease.
	Standby bool
	Address string

	observed *daemon.ObservedClock // what this node observed of the clock Now before it led; may be nil

	previous *standby // the standby that takes over; nil if there was none

	// Store configures the store apart from its directory, clock and log. Tests use it for faulty
	// disks.
	Store sqlite.Config

	// Space returns the free and total disk space, as in [daemon.Config]; nil asks the system.
	Space func() (free, size int64, err error)

	// Uptime is as in [daemon.Config]; nil asks the system, if Now is nil too.
	Uptime func() (boot string, up time.Duration)
}

// Open opens the store of the settings and creates a daemon over it. The node must be closed.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	if err := cfg.CheckData(); err != nil {
		return nil, err
	}
	cfg.Settings = fitFiles(cfg.Settings, openFiles())
	reader := extract.NewReader(extract.ReaderConfig{Command: cfg.Extract, Memory: extractMemory()})
	opened, stored, err := openStore(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	n := &Node{Store: opened, stored: stored, reader: reader, address: cfg.Address}
	n.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if shared, ok := opened.(*postgres.Store); ok && cfg.Standby {
		n.standbyStore = shared
	} else if ok {
		n.leaderStore = shared
		cfg.Settings.Fetch.May = n.mayFetch
	}
	if n.settings = cfg.Settings; cfg.Standby {
		cfg.Cluster.TokenFile = ""
	}
	if cfg.NoSearch && !cfg.Standby {
		if err := stored.DropIndex(); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	if n.renderer, err = NewRenderer(cfg.Settings, cfg.Log); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if err := n.openDaemon(ctx, cfg); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// NewRenderer returns a renderer of pages whose requests obey the rules of package fetch.
func NewRenderer(cfg config.Settings, log *slog.Logger) (*browser.Renderer, error) {
	c := cfg.Render
	c.Do = fetch.NewEgress(cfg.Fetch).Do
	c.Check = cfg.Fetch.Refusal
	c.Agent, c.Log = cmp.Or(c.Agent, cfg.Fetch.UserAgent()), log
	return browser.New(c)
}

// openDaemon creates the daemon over the store.
func (n *Node) openDaemon(ctx context.Context, cfg Config) error {
	var chosen, plans freshet.Policy = idle{}, nil
	var learner *learn.Learner
	var warm *daemon.Warm
	if !cfg.Idle || cfg.Learn {
		var setup policySetup
		var err error
		if setup, warm, err = n.newPolicy(ctx, cfg); err != nil {
			return err
		}
		n.Tick, n.warm = setup.tick, warm != nil
		n.listed.Store(int64(cfg.Sources.Len()))
		if learner, plans = setup.learner, setup.policy; !cfg.Idle {
			chosen = setup.policy
		}
	}
	cfg.Fetch.Now = cfg.Now
	if cfg.Now == nil && cfg.Uptime == nil {
		cfg.Uptime = clock.Uptime
	}
	if cfg.Space == nil && cfg.Store.VFS == "" && cfg.Settings.Store == "" {
		cfg.Space = func() (int64, int64, error) { return spaceOf(cfg.Data) }
	}
	var watched freshet.Store = n.Store
	if cfg.Idle && cfg.Learn {
		watched = unsavedStore{watched}
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	n.now = now
	n.hooks = &fetchauth.Hooks{Vault: secrets.Open(cfg.SecretDir()), Store: n.Store, Now: now}
	if cfg.API.WebSubURL != "" && !cfg.Idle {
		n.webSub = &fetchauth.WebSub{Vault: secrets.Open(cfg.SecretDir()), Store: n.Store, Base: cfg.API.WebSubURL, Now: now, Log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	}
	n.access = fetchauth.New(fetchauth.Config{
		Fetcher: fetch.New(cfg.Fetch), Profiles: cfg.Requests, Media: cfg.Media, WebSub: n.webSub, Vault: secrets.Open(cfg.SecretDir()), Store: watched,
		Env: os.Getenv, Now: cfg.Now, Log: cfg.Log,
	})
	looker, err := n.openWorkers(cfg)
	if err != nil {
		return err
	}
	with := daemon.Config{
		Store:      watched,
		Frontier:   frontier.NewStore(n.stored.DB()),
		Queries:    queries.NewStore(n.stored.DB()),
		Fetcher:    n.access,
		Worker:     daemon.WorkerConfig{Looker: looker, Read: n.reader.Read, Renderer: n.renderer, Memory: pollMemory(cfg.Settings), Agent: cfg.Fetch.Agent},
		Policy:     chosen,
		Plans:      plans,
		Learner:    learner,
		Limits:     n.limits.current(),
		Levels:     cfg.Wanted(),
		Strategies: cfg.Strategies,
		Unbound:    cfg.Unbound,
		Start:      daemon.StartConfig{Warm: warm, Replay: replayLength(cfg.Policy)},
		History:    daemon.HistoryConfig{Keep: cfg.Retention.Keep, Logs: cfg.Retention.Logs},
		Disk:       daemon.DiskConfig{Space: cfg.Space, Size: n.databaseSize, Reserve: cfg.Reserve},
		Now:        cfg.Now,
		Uptime:     cfg.Uptime,
		Observed:   cfg.observed,
		Log:        cfg.Log,
		Observe:    cfg.Observe,
		Grace:      cfg.Grace,
		Learning: func(sources int, budget sched.Budget) learn.Config {
			return cfg.setting(max(sources, int(n.listed.Load())), budget).Learning()
		},
	}
	if n.leaderStore != nil {
		with.Lease, with.Trouble, with.WriteWait = n.leaderStore.LeaseLeft, n.leaderStore.Trouble, leaseOf(cfg.Settings)
	}
	n.Daemon = daemon.New(with)
	if !cfg.Idle {
		n.explorer = discovery.New(discovery.Config{Store: n.Store, Frontier: frontier.NewStore(n.stored.DB()), Daemon: n.Daemon, Agent: n.Daemon.Agent(), Log: n.log, Now: now})
	}
	if !cfg.Idle || cfg.Queries {
		n.queries = queries.NewRunner(queries.RunnerConfig{Store: n.Store, Queries: queries.NewStore(n.stored.DB()), Read: n.reader.Read, Log: n.log, Now: now})
	}
	return nil
}

// checkForeign checks a source that was received over the API against the current profiles.
func (n *Node) checkForeign(s freshet.Source) error {
	settings := n.settings
	settings.Requests = n.access.Profiles()
	return settings.CheckForeign(s)
}

// replayLength returns how many outcomes a policy replays at the start: enough to know every source
// without a long delay. The state of auto is in the checkpoint.
func replayLength(name string) int {
	if base, _, _ := strings.Cut(name, ":"); base == "auto" || !policy.Learns(name) {
		return 0
	}
	return 200_000
}

// Start runs the daemon and returns when it has started. The channel receives the error with which
// it ends.
func (n *Node) Start(ctx context.Context) (<-chan error, error) {
	ended := make(chan error, 1)
	go func() {
		var beside sync.WaitGroup
		exploring, stop := context.WithCancel(ctx)
		if n.explorer != nil {
			beside.Go(func() { n.explore(exploring) })
			if !n.settings.NoSearch {
				beside.Go(func() { n.maintainIndex(exploring) })
			}
		}
		if n.queries != nil {
			beside.Go(func() { n.runQueries(exploring) })
		}
		err := n.awaitOldWorkers(ctx)
		if err == nil {
			err = n.Daemon.Run(ctx)
		}
		stop()
		beside.Wait()
		ended <- err
	}()
	select {
	case <-n.Daemon.Started():
		return ended, nil
	case err := <-ended:
		if ctx.Err() != nil { // stopped before it had started
			err = nil
		}
		ended <- err
		return ended, err
	}
}

// explore discovers pages of sites once the daemon has started.
func (n *Node) explore(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-n.Daemon.Started():
	}
	if err := n.explorer.Run(ctx); err != nil {
		n.log.Error("discovering pages of sites failed; restart the daemon to try again", "err", err)
	}
}

// runQueries runs the queries. Polling goes on if they fail.
func (n *Node) runQueries(ctx context.Context) {
	if err := n.queries.Run(ctx); err != nil {
		n.log.Error("running queries failed; restart the daemon to try again", "err", err, "hint", freshet.HintOf(err))
	}
}

// Close stops the child processes that apply selectors and closes the store.
func (n *Node) Close() error {
	return errors.Join(n.reader.Close(), n.Store.Close())
}
