package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks/delivery"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
	"freshet/internal/tracing"
	"freshet/internal/units"
)

// A ServeConfig configures Serve beside the settings. Load is required.
type ServeConfig struct {
	Extract []string      // as in Config
	Grace   time.Duration // for shutdown including running polls; 0 means 15 seconds
	Version string
	Now     func() time.Time                       // wall clock of all parts; nil means time.Now
	Uptime  func() (boot string, up time.Duration) // as in Config
	Log     *slog.Logger

	// Load reads the settings again. It is called for each signal on Hangups and for reloads over
	// the API.
	Load    func() (config.Settings, error)
	Hangups <-chan os.Signal

	// Password is the password of the first user, admin, who is created if there is no user; ""
	// creates none.
	Password string

	// Once is closed when all work is done. Serve then prunes and returns. With Once, polls are
	// made only on request and settings are not reloaded. Nil means to serve until ctx is done.
	Once <-chan struct{}

	Traces   *tracing.Exporter              // gets every poll; nil exports none
	Reloaded func(from, to config.Settings) // called after a reload; may be nil
	Announce func(url string) error         // called with the URL of the API when everything runs

	// Listener serves the API in tests; nil means to listen on the address of the settings. Store
	// is as in Config.
	Listener net.Listener
	Store    sqlite.Config
}

// A service is a node with its API and its sinks.
type service struct {
	ServeConfig
	node          *Node
	settings      settingsInForce
	sinks         *delivery.Sinks
	metrics       *api.Metrics
	gate          *auth.Gate
	address       Address          // of the API
	signer        *identity.Signer // signs requests to other nodes
	listenAddr    net.Addr         // of the API
	handlerSwitch switchableHandler
	listen        func()            // starts to serve
	announced     bool              // the address was announced
	hasLed        bool              // this node has been the leader
	reported      map[string]string // last logged error by subject
	peers         *postgres.Peers   // the nodes on a shared database; nil without one
	clock         *databaseClock    // nil without a shared database
	nodes         *nodeCache        // nil without a shared database
	member        *membership       // nil without a shared database
	standby       *standby          // nil while this node leads
	lease         time.Duration     // after which another node takes over
}

// Serve opens a node, serves its API and delivers changes to sinks until ctx is done. It then
// returns within the grace even if something hangs. The process must exit next; the store is as
// after a crash.
func Serve(ctx context.Context, settings config.Settings, cfg ServeConfig) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := service{ServeConfig: cfg, metrics: api.NewMetrics(), signer: identity.NewSigner()}
	s.Grace = cmp.Or(s.Grace, 15*time.Second)
	s.settings.set(settings)
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(s.Grace)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		s.Log.Warn("some work did not finish in time and was cut off; nothing that was stored is lost", "grace", units.FormatDuration(s.Grace))
		return nil
	}
}

// run serves until ctx is done.
func (s *service) run(ctx context.Context) (err error) {
	l := s.Listener
	if l == nil {
		if l, err = listen(s.settings.API.Listen); err != nil {
			return err
		}
	}
	defer l.Close()
	s.address = newAddress(l.Addr())
	s.address.Once = s.Once != nil
	s.listenAddr = l.Addr()
	s.settings.Fetch.Self = []netip.AddrPort{ownAddress(l)} // must not be fetched
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if l, err = s.secure(l); err != nil {
		return err
	}
	server := newServer(s.Log, s.address.sign(&s.handlerSwitch))
	var api sync.WaitGroup
	s.listen = sync.OnceFunc(func() {
		api.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				fail(fatalError{fmt.Errorf("serve the API: %w", err)})
			}
		})
	})
	traces, flush := context.WithCancel(context.WithoutCancel(ctx))
	api.Go(func() { s.Traces.Run(traces) })
	if s.settings.Store != "" && s.Once == nil {
		err = s.runCluster(ctx)
	} else {
		err = s.runAlone(ctx)
	}
	flush()
	shut, cancel := context.WithTimeout(context.Background(), s.Grace/5)
	defer cancel()
	if server.Shutdown(shut) != nil {
		server.Close()
	}
	api.Wait()
	if broke, ok := errors.AsType[fatalError](context.Cause(ctx)); ok && err == nil {
		err = broke.error
	}
	if s.announced { // otherwise the address is that of another process, which holds the data
		err = errors.Join(err, removeAddress(s.settings.Data))
	}
	return err
}

// runAlone serves with a store of its own.
func (s *service) runAlone(ctx context.Context) (err error) {
	if s.node, err = Open(ctx, s.config()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.node.Close()) }()
	if s.gate, err = s.openGate(ctx, s.node, false); err != nil {
		return err
	}
	return s.work(ctx)
}

// config returns the configuration of the node.
func (s *service) config() Config {
	return Config{
		Settings: s.settings.Settings, Extract: s.Extract, Now: s.Now, Uptime: s.Uptime, Log: s.Log, Version: s.Version, Grace: s.Grace * 2 / 3, Observe: s.observe, Store: s.Store,
		Idle: s.Once != nil, Queries: true, Unbound: s.Once != nil,
	}
}

// observe counts and traces a poll.
func (s *service) observe(source freshet.Source, o freshet.Outcome) {
	s.metrics.Outcome(source, o)
	s.Traces.Poll(source, o)
}

// work runs the daemon, the sinks and the API. The first to fail ends the others.
func (s *service) work(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var daemon sync.WaitGroup
	failed := func(what string, err error) {
		if err != nil {
			fail(fatalError{fmt.Errorf("%s: %w", what, err)})
		}
	}
	err := s.openSinks(ctx)
	if err != nil {
		return err
	}
	defer s.sinks.Stop()
	if d := s.node.deliveries.Load(); d != nil {
		daemon.Go(func() { d.Run(ctx) })
	}
	if err := s.sinks.Run(ctx, func(err error) { failed("deliver", err) }); err != nil {
		return err
	}
	r := &reloader{
		ServeConfig: s.ServeConfig, settings: &s.settings, saved: savedSettings{s.peers}, node: s.node, sinks: s.sinks, asks: make(chan ask),
		loader: startLoader(ctx, s.node, s.settings.Settings, func(err error) { fail(fatalError{err}) }),
	}
	loaded := r.loader.loaded
	stopped := make(chan struct{})
	served := s.handlerSwitch.serve(s.node.withWorkers(s.handler(r, stopped)))
	s.listen()
	// A short file is loaded before the first poll, so that learning does not depend on when it was
	// loaded.
	if !waitBriefly(ctx, loaded) {
		s.Log.Info("polling starts while sources of the configuration file are still loading")
	}
	started := make(chan struct{})
	daemon.Go(func() { s.gate.Run(ctx) })
	daemon.Go(func() {
		ended, err := s.node.Start(ctx)
		if err != nil {
			failed("watch", err)
			return
		}
		close(started)
		failed("watch", <-ended)
	})
	s.stopStandby() // slow requests and deliveries of the standby must not delay polls
	waitBriefly(ctx, started)
	if ctx.Err() == nil {
		err = s.announce()
	}
	if err == nil {
		r.wait(ctx)
	}
	fail(err)
	<-loaded
	daemon.Wait()
	s.sinks.Stop()
	close(stopped)
	if s.node.workers != nil {
		s.node.workers.Close()
	}
	s.resign(served)
	served.close(s.Grace / 5)
	if broke, ok := errors.AsType[fatalError](context.Cause(ctx)); ok {
		err = broke.error
	}
	return err
}

// resign gives up the lease before slow clients are answered, so that another node leads sooner. It
// waits a moment for running edits.
func (s *service) resign(served *handlerTerm) {
	if s.node.leaderStore == nil || s.node.lostLease() {
		return
	}
	served.stopAccepting()
	served.awaitRequests(drainTimeout)
	if err := s.node.leaderStore.Resign(); err != nil {
		s.Log.Warn("giving up the lease failed; another node leads when it expires", "err", err)
	}
}

// drainTimeout is how long resign waits for running requests.
const drainTimeout = 300 * time.Millisecond

// openSinks opens all sinks. It cancels deliveries that this node makes as a standby; they stay
// pending and are made again.
func (s *service) openSinks(ctx context.Context) (err error) {
	if s.standby != nil {
		s.standby.stopDeliveries(0)
	}
	cfg := delivery.SinksConfig{
		Store: delivery.NewStore(s.node.Store, s.node.stored.DB()), Vault: secrets.Open(s.settings.SecretDir()), Open: outlets(s.node.withLeaseCheck(s.settings.Settings), s.node.Store, s.settings.mail, s.Now),
		HoldsLease: s.node.holdsLease, Now: s.Now, Log: s.Log, Observe: s.metrics.Delivery,
	}
	shared := s.dispatch()
	if shared != nil {
		cfg.Carry = shared.Carry
	}
	s.sinks, err = delivery.NewSinks(ctx, cfg, s.settings.AllSinks())
	if err == nil && shared != nil {
		s.node.deliveries.Store(&deliveries{shared, s.sinks})
	}
	return err
}

// A fatalError ends the service.
type fatalError struct{ error }

// announce logs and announces the address of the API.
func (s *service) announce() error {
	s.Log.Info("running", "address", s.address.URL, "data", s.settings.Data, "budget", s.settings.Limits.Budget.String(),
		"policy", s.settings.Policy, "tick", units.FormatDuration(s.node.Tick), "sources", s.node.Daemon.Status().Sources)
	return s.writeAddress()
}

// writeAddress announces the address of the API, once.
func (s *service) writeAddress() error {
	if s.announced {
		return nil
	}
	s.announced = true
	if err := s.address.write(s.settings.Data); err != nil {
		s.Log.Warn("other commands will need --server to find this daemon", "err", err)
	}
	if s.Announce == nil {
		return nil
	}
	return s.Announce(s.address.URL)
}

// newServer returns the HTTP server of the API. It limits only the time of the header, because a
// response may be a stream.
func newServer(log *slog.Logger, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// hostNames returns the host names of the API.
func (s *service) hostNames() []string {
	names := slices.Clone(s.settings.API.Names)
	if host, _, err := net.SplitHostPort(s.settings.API.Listen); err == nil {
		names = append(names, host)
	}
	for _, known := range []string{s.settings.API.WebSubURL, s.settings.Cluster.Advertise} { // used by hubs and nodes
		if u, err := url.Parse(known); err == nil && u.Host != "" {
			names = append(names, u.Hostname())
		}
	}
	if u, err := url.Parse(s.settings.API.URL); err == nil && u.Host != "" && s.settings.API.OIDC.Issuer != "" {
		names = append(names, u.Hostname()) // used by redirects of the provider
	}
	return names
}

// handler returns the API. Closing stopped ends its streams.
func (s *service) handler(r *reloader, stopped <-chan struct{}) http.Handler {
	settings := s.settings.Settings // a request must not observe a reload
	var reload func(context.Context) error
	if s.Once == nil {
		reload = func(ctx context.Context) error { return r.between(ctx, r.reload) }
	}
	h := api.New(api.Config{
		Store:      s.node.Store,
		Frontier:   frontier.NewStore(s.node.stored.DB()),
		QueryStore: queries.NewStore(s.node.stored.DB()),
		Daemon:     s.node.Daemon,
		Auth:       api.AuthConfig{Gate: s.gate, Provider: s.provider(), Hosts: s.hostNames()},
		Sources: api.SourceConfig{
			Check: settings.CheckURL, Trust: s.node.checkForeign,
			Read: s.node.reader.Read, Trace: s.node.reader.Trace,
			Hooks: s.node.hooks, WebSub: s.node.webSub,
		},
		Search:   api.SearchConfig{Off: settings.NoSearch, Search: s.node.stored.Search, Index: s.node.indexNewest},
		Settings: &api.SettingsConfig{Get: func() client.Settings { return settingsOf(*s.settings.shared.Load()) }, Set: r.edit},
		Cluster:  api.ClusterConfig{Members: s.cluster(s.node, true), HoldsLease: s.node.holdsLease},
		Program: api.ProgramConfig{
			Version: s.Version, Ready: r.loader.ready, Reload: reload, Size: s.node.StoreSize, Browser: s.node.browser,
		},
		Queries: s.node.queries,
		Sinks:   s.sinks,
		Stop:    stopped,
		Base:    s.settings.API.URL,
		Now:     s.Now,
		Metrics: s.metrics,
		Log:     s.Log,
	})
	if s.peers != nil {
		h = acceptForwarded(identity.NewVerifier(s.advertised(), s.nodes.knows), s.node.leaderStore.Term(), h)
	}
	return h
}
