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
	"freshet/internal/queries"
	"freshet/internal/sinks/delivery"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
	"freshet/internal/units"
)

// A ServeConfig says how a node serves others, apart from the settings. Load is
// needed.
type ServeConfig struct {
	Extract []string      // as in Config
	Grace   time.Duration // to come to an end in when ctx is done, polls under way included; 0 means 15 seconds
	Version string
	Now     func() time.Time                       // the wall clock of all parts; nil means time.Now
	Uptime  func() (boot string, up time.Duration) // as in Config
	Log     *slog.Logger

	// Load gathers the settings again. That happens whenever Hangups has a
	// signal, or somebody asks for it over the API.
	Load    func() (config.Settings, error)
	Hangups <-chan os.Signal

	// Password is that of the first user, admin, who is added with it if there is none
	// yet; "" means that nobody is.
	Password string

	// Once is closed when all that was to be done is done: the serving then prunes
	// and ends. With it no poll is made but those that somebody asks for, and nothing
	// is reloaded. Nil means to serve until ctx is done.
	Once <-chan struct{}

	Reloaded func(from, to config.Settings) // is told of settings that were taken on; may be nil
	Announce func(url string) error         // is told where the API is when all is at work

	// Listener is where the API is served, for tests; nil means at the address
	// of the settings. Store is as in Config.
	Listener net.Listener
	Store    sqlite.Config
}

// A service is a node that others can reach: with an API, and webhooks that
// are told of changes.
type service struct {
	ServeConfig
	node          *Node
	settings      settingsInForce
	sinks         *delivery.Sinks
	metrics       *api.Metrics
	gate          *auth.Gate
	where         Address          // of the API
	signer        *identity.Signer // of requests to other nodes
	at            net.Addr         // likewise
	handlerSwitch switchableHandler
	listen        func()            // starts to serve
	announced     bool              // that the API is there
	led           bool              // this node has led
	troubles      map[string]string // the last reported kind of trouble, by subject
	peers         *postgres.Peers   // other nodes on the same database; nil if there can be none
	clock         *databaseClock    // of that database, likewise
	nodes         *nodeCache        // likewise
	member        *membership       // likewise
	standby       *standby          // while another node leads
	lease         time.Duration     // after which another node takes over
}

// Serve opens a node, serves its API and tells webhooks of changes, until ctx is
// done. It then returns within the grace, whatever hangs: the process has to end
// next, and the store is as after a crash.
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
	s.where = newAddress(l.Addr())
	s.where.Once = s.Once != nil
	s.at = l.Addr()
	s.settings.Fetch.Self = []netip.AddrPort{ownAddress(l)} // nothing is fetched from there
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if l, err = s.secure(l); err != nil {
		return err
	}
	server := newServer(s.Log, s.where.sign(&s.handlerSwitch))
	var api sync.WaitGroup
	s.listen = sync.OnceFunc(func() {
		api.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				fail(breakdown{fmt.Errorf("serve the API: %w", err)})
			}
		})
	})
	if s.settings.Store != "" && s.Once == nil {
		err = s.runCluster(ctx)
	} else {
		err = s.runAlone(ctx)
	}
	shut, cancel := context.WithTimeout(context.Background(), s.Grace/5)
	defer cancel()
	if server.Shutdown(shut) != nil {
		server.Close()
	}
	api.Wait()
	if broke, ok := errors.AsType[breakdown](context.Cause(ctx)); ok && err == nil {
		err = broke.error
	}
	if s.announced { // or the address is that of another, who has the data
		err = errors.Join(err, removeAddress(s.settings.Data))
	}
	return err
}

// runAlone serves with a store that nobody else has.
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

// config returns what the node is made of.
func (s *service) config() Config {
	return Config{
		Settings: s.settings.Settings, Extract: s.Extract, Now: s.Now, Uptime: s.Uptime, Log: s.Log, Grace: s.Grace * 2 / 3, Observe: s.metrics.Outcome, Store: s.Store,
		Idle: s.Once != nil, Queries: true, Unbound: s.Once != nil,
	}
}

// work runs the daemon, the webhooks and the API side by side. The first to
// fail ends the others.
func (s *service) work(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var daemon sync.WaitGroup
	failed := func(what string, err error) {
		if err != nil {
			fail(breakdown{fmt.Errorf("%s: %w", what, err)})
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
		loader: startLoader(ctx, s.node, s.settings.Settings, func(err error) { fail(breakdown{err}) }),
	}
	loaded := r.loader.loaded
	stopped := make(chan struct{})
	served := s.handlerSwitch.serve(s.node.withWorkers(s.handler(r, stopped)))
	s.listen()
	// A short file is taken on before the first poll. What is learnt is then what
	// the log teaches anybody who knows the sources from the beginning.
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
	s.stopStandby() // no poll waits for requests and deliveries that take long
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
	if broke, ok := errors.AsType[breakdown](context.Cause(ctx)); ok {
		err = broke.error
	}
	return err
}

// resign has another node lead before all clients are answered: some take long to read, and edits take
// moments.
func (s *service) resign(served *handlerTerm) {
	if s.node.leads == nil || s.node.lostLease() {
		return
	}
	served.stopAccepting()
	served.await(editPatience)
	if err := s.node.leads.Resign(); err != nil {
		s.Log.Warn("the lease could not be given up; another node leads when it has run out", "err", err)
	}
}

// editPatience is how long an edit under way may take when a node stops.
const editPatience = 300 * time.Millisecond

// openSinks opens all sinks. What this node was sending for another is cut off: it is owed, and sent
// again.
func (s *service) openSinks(ctx context.Context) (err error) {
	if s.standby != nil {
		s.standby.leave(0)
	}
	cfg := delivery.SinksConfig{
		Store: delivery.NewStore(s.node.Store, s.node.stored.DB()), Vault: secrets.Open(s.settings.SecretDir()), Open: outlets(s.node.sendsBy(s.settings.Settings), s.Now),
		Sure: s.node.holdsLease, Now: s.Now, Log: s.Log, Observe: s.metrics.Delivery,
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

// A breakdown ends the serving, other than by being asked to stop.
type breakdown struct{ error }

// announce says where the API is.
func (s *service) announce() error {
	s.Log.Info("running", "address", s.where.URL, "data", s.settings.Data, "budget", s.settings.Limits.Budget.String(),
		"policy", s.settings.Policy, "tick", units.FormatDuration(s.node.Tick), "sources", s.node.Daemon.Status().Sources)
	return s.writeAddress()
}

// writeAddress tells others where the API is, once.
func (s *service) writeAddress() error {
	if s.announced {
		return nil
	}
	s.announced = true
	if err := s.where.write(s.settings.Data); err != nil {
		s.Log.Warn("other commands will need --server to find this daemon", "err", err)
	}
	if s.Announce == nil {
		return nil
	}
	return s.Announce(s.where.URL)
}

// newServer returns the HTTP server of the API. Only the header is timed: an
// answer may be a stream.
func newServer(log *slog.Logger, h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// hostNames returns the names that the API is called by.
func (s *service) hostNames() []string {
	names := slices.Clone(s.settings.API.Names)
	if host, _, err := net.SplitHostPort(s.settings.API.Listen); err == nil {
		names = append(names, host)
	}
	for _, known := range []string{s.settings.API.WebSubURL, s.settings.Cluster.Advertise} { // hubs and nodes call it so
		if u, err := url.Parse(known); err == nil && u.Host != "" {
			names = append(names, u.Hostname())
		}
	}
	if u, err := url.Parse(s.settings.API.URL); err == nil && u.Host != "" && s.settings.API.OIDC.Issuer != "" {
		names = append(names, u.Hostname()) // the provider sends people there
	}
	return names
}

// handler returns the API. Closing stopped ends its streams.
func (s *service) handler(r *reloader, stopped <-chan struct{}) http.Handler {
	settings := s.settings.Settings // a reload must not be seen from a request
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
			Check: settings.CheckURL, Trust: s.node.trust,
			Read: s.node.reader.Read, Trace: s.node.reader.Trace,
			Hooks: s.node.hooks, WebSub: s.node.webSub,
		},
		Search:   api.SearchConfig{Off: settings.NoSearch, Search: s.node.stored.Search, Index: s.node.indexNewest},
		Settings: &api.SettingsConfig{Get: func() client.Settings { return settingsOf(*s.settings.shared.Load()) }, Set: r.edit},
		Cluster:  api.ClusterConfig{Members: s.cluster(s.node, true), Sure: s.node.holdsLease},
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
		h = fromNodes(identity.NewVerifier(s.advertised(), s.nodes.knows), s.node.leads.Term(), h)
	}
	return h
}
