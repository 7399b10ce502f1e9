package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/web"
)

const serveHelp = `Watch sources under a poll budget, keep every version, and tell of each change
over the API and to webhooks, until interrupted.

When all is at work one line with the address is printed on standard output;
the log goes to standard error. Sources come from the file named by --config and
are added over the API or with "freshet add".

SIGHUP, or POST /api/v1/reload, reads the file again: sources, webhooks, budget,
politeness and log level are taken on at once, the rest with the next start. A
file with a problem changes nothing. SIGINT and SIGTERM let the polls under way
finish; a second signal ends at once.

There is no authentication: keep --listen on loopback, or put a proxy that asks
for a password in front.`

func (p *program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon that watches, keeps and tells",
		Long:  serveHelp,
		Example: "  freshet serve\n" +
			"  freshet serve --config /etc/freshet.yaml --data /var/lib/freshet\n" +
			"  freshet serve --listen 127.0.0.1:0 --budget 500/s --host-delay 0s --allow-cidr 127.0.0.0/8",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := serving{program: p, again: func() (settings, error) { return p.settings(cmd) }, level: new(slog.LevelVar), metrics: web.NewMetrics(), asks: make(chan chan<- error)}
			return s.run(cmd.Context())
		},
	}
	optionFlags(cmd.Flags(), serveFlags...)
	return cmd
}

// A serving is one run of the verb serve.
type serving struct {
	*program
	again func() (settings, error) // gathers the settings anew
	level *slog.LevelVar
	log   *slog.Logger
	node  *node

	now       settings // in force; only run and what it calls change it
	receivers receivers
	metrics   *web.Metrics
	asks      chan chan<- error // for a reload
}

// run serves until ctx is done.
func (s *serving) run(ctx context.Context) (err error) {
	if s.now, err = s.again(); err != nil {
		return err
	}
	s.level.Set(levelOf(s.now.logLevel))
	s.log = s.newLogger(s.err, s.now.logForm, s.level)
	l, err := listen(s.now.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	s.warn(l.Addr())
	s.now.fetch.Self = []netip.AddrPort{ownAddress(l)} // nothing is fetched from there
	if s.node, err = openNode(ctx, nodeConfig{settings: s.now, log: s.log, observe: s.metrics.Outcome}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.node.close()) }()
	if err := s.sync(ctx, s.now); err != nil {
		return err
	}
	return s.work(ctx, l)
}

// work runs the daemon, the webhooks and the API side by side. The first to
// fail ends the others.
func (s *serving) work(ctx context.Context, l net.Listener) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var daemon, api sync.WaitGroup
	failed := func(what string, err error) {
		if err != nil {
			fail(breakdown{fmt.Errorf("%s: %w", what, err)})
		}
	}
	s.receivers.serving = s
	s.receivers.failed = func(err error) { failed("deliver", err) }
	if err := s.receivers.replace(ctx, s.now.webhooks); err != nil {
		return err
	}
	defer s.receivers.stop()
	ended, err := s.node.start(ctx)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	daemon.Go(func() { failed("watch", <-ended) })

	where := newAddress(l.Addr())
	stopped := make(chan struct{})
	server := s.server(where.sign(s.handler(stopped)))
	api.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed("serve the API", err)
		}
	})
	if err = s.announce(where); err == nil {
		s.wait(ctx)
	}
	fail(err)
	daemon.Wait()
	s.receivers.stop()
	close(stopped)
	shut, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if server.Shutdown(shut) != nil {
		server.Close()
	}
	api.Wait()
	if broke, ok := errors.AsType[breakdown](context.Cause(ctx)); ok {
		err = broke.error
	}
	return errors.Join(err, removeAddress(s.now.data))
}

// A breakdown ends the serving, other than by being asked to stop.
type breakdown struct{ error }

// announce says where the API is.
func (s *serving) announce(where address) error {
	if err := where.write(s.now.data); err != nil {
		s.log.Warn("other verbs will need --server to find this daemon", "err", err)
	}
	s.log.Info("at work", "address", where.url, "data", s.now.data, "budget", s.now.limits.Budget.String(),
		"policy", s.now.policy, "tick", freshet.FormatDuration(s.node.tick), "sources", s.node.daemon.Status().Sources)
	_, err := fmt.Fprintf(s.out, "freshet: listening on %s\n", where.url)
	return err
}

// server returns the HTTP server of the API. Only the header is timed: an
// answer may be a stream.
func (s *serving) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// warn tells the operator that others can reach the API, if they can.
func (s *serving) warn(at net.Addr) {
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		s.log.Warn("others can reach the API, and there is no authentication", "address", at.String(),
			"hint", "listen on 127.0.0.1, or put a proxy that asks for a password in front")
	}
}

// handler returns the API. Closing stopped ends its streams.
func (s *serving) handler(stopped <-chan struct{}) http.Handler {
	names := s.now.names
	if host, _, err := net.SplitHostPort(s.now.listen); err == nil {
		names = append(slices.Clone(names), host)
	}
	data := s.now.data // a reload must not be seen from a request
	return web.New(web.Config{
		Store:   s.node.store,
		Daemon:  s.node.daemon,
		Check:   s.now.fetch.CheckURL,
		Reload:  s.askReload,
		Size:    func() (int64, error) { return storeSize(data) },
		Stop:    stopped,
		Hosts:   names,
		Base:    s.now.publicURL,
		Sinks:   s.receivers.names,
		Version: thisBuild().Version,
		Metrics: s.metrics,
		Log:     s.log,
	})
}
