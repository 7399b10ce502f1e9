package node

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

	"freshet"
	"freshet/access"
	"freshet/clock"
	"freshet/cluster"
	"freshet/config"
	"freshet/content"
	"freshet/explore"
	"freshet/fetch"
	"freshet/learn"
	"freshet/live"
	"freshet/policy"
	"freshet/render"
	"freshet/sched"
	"freshet/secret"
	"freshet/sqlite"
	"freshet/standing"
	"freshet/who"
)

// A Node is a store and a daemon over it, with all that the daemon needs. The
// daemon does nothing until it is started.
type Node struct {
	Store  freshet.Store
	stored store
	Daemon *live.Daemon
	Tick   time.Duration // by which it learns; zero if it does not

	settings config.Settings
	reader   *content.Reader
	access   *access.Client
	hooks    *access.Hooks
	webSub   *access.WebSub
	renderer *render.Renderer
	explorer *explore.Explorer // nil if polls are only made by hand
	queries  *standing.Runner  // nil if none are run
	hands    *cluster.Hands    // nil if none may join
	limits   handLimits
	gate     atomic.Pointer[who.Gate] // nil until the API is served
	log      *slog.Logger
}

// A Config says what a node is made of, and how it differs from what the
// settings say.
type Config struct {
	config.Settings

	// Extract is the command that applies selectors in a child process, where
	// they can be stopped: it has to call [content.Serve]. Without one they are
	// applied in this process.
	Extract []string

	Budget  sched.Budget          // that the policy is made for; zero means that of the settings
	Expect  int                   // sources that it is made for, if more than there are yet
	Idle    bool                  // make no poll but those that somebody asks for, whatever the settings say
	Queries bool                  // run the queries although it is idle
	Unbound bool                  // poll no source because its MaxGap has passed
	Learn   bool                  // learn from the log although it is idle
	Grace   time.Duration         // for polls under way at the end; zero means that of package live
	Observe func(freshet.Outcome) // is told of every poll; may be nil
	Now     func() time.Time      // the wall clock of all parts; nil means time.Now
	Log     *slog.Logger          // nil means silence

	// Store says how the store is opened, apart from its directory, clock and
	// log. Tests put it on disks that fail.
	Store sqlite.Config

	// Space is the room on the disk, as in [live.Config]; nil means that the
	// system says it.
	Space func() (free, size int64, err error)

	// Uptime is that of the machine, as in [live.Config]; nil means that the
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
	reader := content.NewReader(content.ReaderConfig{Command: cfg.Extract, Memory: extractMemory()})
	store, err := openStore(ctx, cfg)
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	n := &Node{Store: store, stored: store, settings: cfg.Settings, reader: reader}
	if cfg.NoSearch {
		if err := store.DropIndex(); err != nil {
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
func NewRenderer(cfg config.Settings, log *slog.Logger) (*render.Renderer, error) {
	c := cfg.Render
	c.Do = fetch.NewEgress(cfg.Fetch).Do
	c.Check = func(url string) error {
		_, err := cfg.Fetch.CheckURL(url)
		return err
	}
	c.Agent, c.Log = cmp.Or(c.Agent, cfg.Fetch.UserAgent()), log
	return render.New(c)
}

// watch puts a daemon over the store.
func (n *Node) watch(ctx context.Context, cfg Config) error {
	var chosen, plans freshet.Policy = idle{}, nil
	var learner *learn.Learner
	if !cfg.Idle || cfg.Learn {
		sources, err := countSources(ctx, n.Store)
		if err != nil {
			return err
		}
		at := policy.InDaemon(cfg.Policy, cmp.Or(cfg.Budget, cfg.Limits.Budget), max(sources, len(cfg.Sources), cfg.Expect))
		n.Tick = at.Tick
		wired, learnt, err := policy.Wire(cfg.Policy, at)
		if err != nil {
			return err
		}
		if learner, plans = learnt, wired; !cfg.Idle {
			chosen = wired
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
	n.hooks = &access.Hooks{Vault: secret.Open(cfg.Data), Store: n.Store, Now: now}
	if cfg.WebSubURL != "" && !cfg.Idle {
		n.webSub = &access.WebSub{Vault: secret.Open(cfg.Data), Store: n.Store, Base: cfg.WebSubURL, Now: now, Log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))}
	}
	n.access = access.New(access.Config{
		Fetcher: fetch.New(cfg.Fetch), Profiles: cfg.Requests, Media: cfg.Media, WebSub: n.webSub, Vault: secret.Open(cfg.Data), Store: watched,
		Env: os.Getenv, Now: cfg.Now, Log: cfg.Log,
	})
	n.log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	hands, err := n.openHands(cfg)
	if err != nil {
		return err
	}
	n.Daemon = live.New(live.Config{
		Store:   watched,
		Hands:   hands,
		Fetcher: n.access,
		Policy:  chosen,
		Plans:   plans,
		Learner: learner,
		Limits:  n.limits.inForce(),
		Levels:  cfg.Wanted(),

		Strategies: cfg.Strategies,

		Memory:  pollMemory(cfg.Settings),
		Retell:  retell(cfg.Policy),
		Agent:   cfg.Fetch.Agent,
		Unbound: cfg.Unbound,
		Read:    n.reader.Read,

		Renderer: n.renderer,

		Keep:    cfg.Keep,
		Logs:    cfg.Logs,
		Space:   cfg.Space,
		Size:    n.databaseSize,
		Reserve: cfg.Reserve,
		Now:     cfg.Now,
		Uptime:  cfg.Uptime,
		Log:     cfg.Log,
		Observe: cfg.Observe,
		Grace:   cfg.Grace,
	})
	if !cfg.Idle {
		n.explorer = explore.New(explore.Config{Store: n.Store, Daemon: n.Daemon, Agent: n.Daemon.Agent(), Log: n.log, Now: now})
	}
	if !cfg.Idle || cfg.Queries {
		n.queries = standing.New(standing.Config{Store: n.Store, Read: n.reader.Read, Log: n.log, Now: now})
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

// countSources returns how many sources a store has.
func countSources(ctx context.Context, store freshet.Store) (n int, err error) {
	for _, err := range store.Sources(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
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
		err := n.outliveHands(ctx)
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
