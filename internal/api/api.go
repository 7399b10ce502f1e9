package api

import (
	"errors"
	"net/http"

	"freshet/docs"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/ui"
)

// New returns the handler of everything that Freshet serves over HTTP.
func New(cfg Config) http.Handler {
	cfg = cfg.withDefaults()
	s := rest.NewServer(rest.Config{
		Gate: cfg.Auth.Gate, Sources: cfg.Store, Rule: ruleOf, Descriptions: descriptions,
		Forward: cfg.Cluster.Forward.route(cfg.Auth.Gate), Status: statusOf, Sure: cfg.Cluster.HoldsLease, Stop: cfg.Stop,
		Hosts: cfg.Auth.Hosts, Now: cfg.Now, Log: cfg.Log,
	}, describe(cfg.Program.Version))
	admission := admission{cfg.Sources.Check, cfg.Sources.Trust}
	users := &authAPI{Server: s, store: cfg.Store, queries: cfg.QueryStore, gate: cfg.Auth.Gate, provider: cfg.Auth.Provider, base: cfg.Base}
	budget := &budgetAPI{Server: s, daemon: cfg.Daemon}
	sites := &siteAPI{Server: s, store: cfg.Store, frontier: cfg.Frontier, daemon: cfg.Daemon}
	sinks := &sinkAPI{Server: s, store: cfg.Store, sinks: cfg.Sinks}
	settings := &settingsAPI{Server: s, daemon: cfg.Daemon, settings: cfg.Settings}
	status := &statusAPI{
		Server: s, ProgramConfig: cfg.Program, store: cfg.Store, daemon: cfg.Daemon, sinks: cfg.Sinks, queries: cfg.Queries,
		members: cfg.Cluster.Members, holdsLease: cfg.Cluster.HoldsLease, follower: cfg.Cluster.Forward != nil, started: cfg.Now().UTC(),
	}
	sources := &sourceAPI{Server: s, admission: admission, store: cfg.Store, daemon: cfg.Daemon}
	conditions := &queryAPI{Server: s, store: cfg.Store, queries: cfg.QueryStore, runner: cfg.Queries, read: cfg.Sources.Read, sinks: cfg.Sinks, daemon: cfg.Daemon}
	versions := &versionAPI{Server: s, admission: admission, store: cfg.Store, read: cfg.Sources.Read, trace: cfg.Sources.Trace}
	for _, feature := range []interface{ routes() }{
		sources, conditions, &alertAPI{sources, conditions, cfg.Settings}, &importAPI{sources, conditions},
		&learningAPI{Server: s, sources: cfg.Store, daemon: cfg.Daemon},
		versions, &probeAPI{versions: versions, sources: cfg.Store, daemon: cfg.Daemon},
		&mementoAPI{versions, cfg.Store, cfg.Sources.Check, cfg.Base},
		&hookAPI{Server: s, sources: cfg.Store, daemon: cfg.Daemon, hooks: cfg.Sources.Hooks, webSub: cfg.Sources.WebSub, base: cfg.Base},
		&changeAPI{Server: s, store: cfg.Store, queries: cfg.QueryStore, base: cfg.Base},
		&searchAPI{Server: s, SearchConfig: cfg.Search},
		newLabAPI(s, cfg.Store),
		&mcpAPI{s, cfg.Program.Version, cfg.Now},
		sites, sinks, users, budget, settings, status,
	} {
		feature.routes()
	}
	s.HandleFunc("GET /metrics", cfg.Metrics.handler(status, budget, sites, sinks))
	finishDescription(s.OpenAPI())
	page := ui.New(users.reader)
	page.Route(s)
	s.HandleFunc("GET /docs/{file...}", docs.Serve)
	links := &linkAPI{conditions, page.ServeNotice}
	links.routes()
	s.Missing = page.ServeMissing
	return plainURLs(s.Handler())
}

// statusOf returns the HTTP status of errors of the daemon.
func statusOf(err error) int {
	switch {
	case errors.Is(err, daemon.ErrNoNumbers):
		return http.StatusNotImplemented
	case errors.Is(err, daemon.ErrNotRunning):
		return http.StatusServiceUnavailable
	}
	return 0
}
