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

// A Node is a store and a daemon over it, with all that the daemon needs. The
// daemon does nothing until it is started.
type Node struct {
	Store  api.Store
	stored *store.Store    // the same, as both kinds have it in common
	leads  *postgres.Store // the store, if it is led by a lease
	reads  *postgres.Store // the store, if another node leads
	Daemon *daemon.Daemon
	Tick   time.Duration // by which it learns; zero if it does not

	now      func() time.Time // by which everything is dated
	warm     bool             // it goes on with what it followed while it stood by
	address  string
	settings config.Settings
	reader   *extract.Reader
	access   *fetchauth.Client
	hooks    *fetchauth.Hooks
	webSub   *fetchauth.WebSub
	renderer *browser.Renderer
	explorer *discovery.Explorer // nil if polls are only made by hand
	queries  *queries.Runner     // nil if none are run
	workers  *cluster.Pool       // nil if none may join
	limits   workerLimits
	gate     atomic.Pointer[auth.Gate] // nil until the API is served
	log      *slog.Logger

	deliveries atomic.Pointer[deliveries] // nil if no other node can make any
}

// A Config says what a node is made of, and how it differs from what the
// settings say.
type Config struct {
	config.Settings

	// Extract is the command that applies selectors in a child process, where
	// they can be stopped: it has to call [extract.Serve]. Without one they are
	// applied in this process.
	Extract []string

	Budget  sched.Budget          // that the policy is made for; zero means that of the settings
	Expect  int                   // sources that it is made for, if more than there are yet
	Idle    bool                  // make no poll but those that somebody asks for, whatever the settings say
	Queries bool                  // run the queries although it is idle
	Unbound bool                  // poll no source because its MaxGap has passed
	Learn   bool                  // learn from the log although it is idle
	Grace   time.Duration         // for polls under way at the end; zero means that of package daemon
	Observe func(freshet.Outcome) // is told of every poll; may be nil
	Now     func() time.Time      // the wall clock of all parts; nil means time.Now
	Log     *slog.Logger          // nil means silence

	// Standby has the store only read: another node leads. Address is where this one is
	// reached when it does; with one it does not wait for another to end.
	Standby bool
	Address string

	observed *daemon.ObservedClock // of the clock that Now tells, before this node led; nil means nothing

	after *standby // what this node did before, if that was to stand by

	// Store says how the store is opened, apart from its directory, clock and
	// log. Tests put it on disks that fail.
	Store sqlite.Config

	// Space is the room on the disk, as in [daemon.Config]; nil means that the
	// system says it.
	Space func() (free, size int64, err error)

	// Uptime is that of the machine, as in [daemon.Config]; nil means that the
	// system says it, if Now is nil too.
	Uptime func() (boot string, up time.Duration)
}

// Open opens the store in the data directory and puts a daemon over it. The
// node must be closed.
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
		n.reads = shared
	} else if ok {
		n.leads = shared
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
	if err := n.watch(ctx, cfg); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// NewRenderer returns what shows pages in browsers: what they ask for leaves by the
// same rules as all else.
func NewRenderer(cfg config.Settings, log *slog.Logger) (*browser.Renderer, error) {
	c := cfg.Render
	c.Do = fetch.NewEgress(cfg.Fetch).Do
	c.Check = cfg.Fetch.Refusal
	c.Agent, c.Log = cmp.Or(c.Agent, cfg.Fetch.UserAgent()), log
	return browser.New(c)
}

// watch puts a daemon over the store.
func (n *Node) watch(ctx context.Context, cfg Config) error {
	var chosen, plans freshet.Policy = idle{}, nil
	var learner *learn.Learner
	var warm *daemon.Warm
	if !cfg.Idle || cfg.Learn {
		var wired policySetup
		var err error
		if wired, warm, err = n.newPolicy(ctx, cfg); err != nil {
			return err
		}
		n.Tick, n.warm = wired.tick, warm != nil
		if learner, plans = wired.learner, wired.policy; !cfg.Idle {
			chosen = wired.policy
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
	hands, err := n.openWorkers(cfg)
	if err != nil {
		return err
	}
	with := daemon.Config{
		Store:      watched,
		Frontier:   frontier.NewStore(n.stored.DB()),
		Queries:    queries.NewStore(n.stored.DB()),
		Fetcher:    n.access,
		Worker:     daemon.WorkerConfig{Looker: hands, Read: n.reader.Read, Renderer: n.renderer, Memory: pollMemory(cfg.Settings), Agent: cfg.Fetch.Agent},
		Policy:     chosen,
		Plans:      plans,
		Learner:    learner,
		Limits:     n.limits.inForce(),
		Levels:     cfg.Wanted(),
		Strategies: cfg.Strategies,
		Unbound:    cfg.Unbound,
		Start:      daemon.StartConfig{Warm: warm, Retell: retell(cfg.Policy)},
		History:    daemon.HistoryConfig{Keep: cfg.Retention.Keep, Logs: cfg.Retention.Logs},
		Disk:       daemon.DiskConfig{Space: cfg.Space, Size: n.databaseSize, Reserve: cfg.Reserve},
		Now:        cfg.Now,
		Uptime:     cfg.Uptime,
		Observed:   cfg.observed,
		Log:        cfg.Log,
		Observe:    cfg.Observe,
		Grace:      cfg.Grace,
	}
	if n.leads != nil {
		with.Lease, with.Trouble, with.WriteWait = n.leads.LeaseLeft, n.leads.Trouble, leaseOf(cfg.Settings)
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

// trust judges how a source that comes over the API is asked for, by the profiles in
// force.
func (n *Node) trust(s freshet.Source) error {
	settings := n.settings
	settings.Requests = n.access.Profiles()
	return settings.CheckForeign(s)
}

// retell returns how much of the log a policy is told of again at the start:
// enough to know every source again, and not so much that a start takes long.
// What auto learns is kept and taken up by the daemon.
func retell(name string) int {
	if base, _, _ := strings.Cut(name, ":"); base == "auto" || !policy.Learns(name) {
		return 0
	}
	return 200_000
}

// Start runs the daemon and returns when it is at work. How it ends is then
// told on the channel.
func (n *Node) Start(ctx context.Context) (<-chan error, error) {
	ended := make(chan error, 1)
	go func() {
		var beside sync.WaitGroup
		exploring, stop := context.WithCancel(ctx)
		if n.explorer != nil {
			beside.Go(func() { n.explore(exploring) })
			if !n.settings.NoSearch {
				beside.Go(func() { n.keepIndex(exploring) })
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
		if ctx.Err() != nil { // asked to stop before it had begun
			err = nil
		}
		ended <- err
		return ended, err
	}
}

// explore finds the pages of sites once the daemon is at work.
func (n *Node) explore(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-n.Daemon.Started():
	}
	if err := n.explorer.Run(ctx); err != nil {
		n.log.Error("cannot explore sites; restart the daemon to try again", "err", err)
	}
}

// runQueries runs the queries. Whatever ends that, polling goes on.
func (n *Node) runQueries(ctx context.Context) {
	if err := n.queries.Run(ctx); err != nil {
		n.log.Error("queries are not run any more; restart the daemon to try again", "err", err, "hint", freshet.HintOf(err))
	}
}

// Close ends the children that apply selectors and closes the store.
func (n *Node) Close() error {
	return errors.Join(n.reader.Close(), n.Store.Close())
}
