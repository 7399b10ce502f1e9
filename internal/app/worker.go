package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/cluster"
	"freshet/internal/cluster/identity"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/units"
	"freshet/internal/worker"
)

// minTokenLen is the minimum length of a worker token.
const minTokenLen = 16

// ReadToken returns the token in a file.
func ReadToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", freshet.WithHint(fmt.Errorf("read the worker token: %w", err), "make one with: head -c 32 /dev/urandom | base64 > FILE && chmod 600 FILE")
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenLen || strings.ContainsAny(token, " \t\r\n") {
		return "", freshet.WithHint(fmt.Errorf("the token in %s must be one word of at least %d characters", file, minTokenLen), "make one with: head -c 32 /dev/urandom | base64 > FILE")
	}
	return token, nil
}

// openWorkers returns what carries out polls: the local worker, and if configured the pool that
// remote workers join.
func (n *Node) openWorkers(cfg Config) (worker.Looker, error) {
	own := worker.New(n.access, n.reader.Read).Rendering(n.renderer)
	if n.limits.base, n.limits.local = cfg.Limits, -1; cfg.Cluster.TokenFile == "" {
		return own, nil
	}
	token := &tokenFile{name: cfg.Cluster.TokenFile, log: n.log}
	if err := token.read(); err != nil {
		return nil, err
	}
	slots := cfg.Cluster.OwnSlots
	if slots < 0 {
		slots = cfg.Limits.Workers + max(cfg.Limits.Slow, 8*cfg.Limits.Workers) // the scheduler bounds them
	}
	n.limits.local = cfg.Cluster.OwnSlots
	term, left := int64(1), (func() time.Duration)(nil)
	if n.leaderStore != nil {
		term, left = n.leaderStore.Term(), n.leaderStore.LeaseLeft
	}
	n.workers = cluster.New(cluster.Config{
		Own: own, Slots: slots, Token: token.current, Admit: n.admits, Epoch: term, LeaseLeft: left, Lease: leaseOf(cfg.Settings), Total: cfg.Fetch.Total, Agent: cfg.Fetch.UserAgent(),
		Body: 4*cfg.Fetch.MaxBody() + 64*mib, Log: cfg.Log, Trusts: n.trusts, Redirects: cfg.Fetch.Redirects, Parts: cfg.Render.Requests,
		Changed: func(all int) { n.limits.setRemote(n.Daemon, all-slots) },
	})
	return n.workers, nil
}

// A tokenFile is the file with the worker token, which can change while the daemon runs.
type tokenFile struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex
	token   string
	failing bool // the last read failed
}

// read reads the token.
func (f *tokenFile) read() (err error) {
	token, err := ReadToken(f.name)
	if err == nil {
		f.token = token
	}
	return err
}

// current returns the token in the file, or the previous one while the file cannot be read.
func (f *tokenFile) current() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.read()
	if err != nil && !f.failing {
		f.log.Error("reading the worker token failed; the previous one stays valid", "err", err, "hint", freshet.HintOf(err))
	}
	f.failing = err != nil
	return f.token
}

// leaseOf returns the length of the lease of nodes and workers.
func leaseOf(s config.Settings) time.Duration { return cmp.Or(s.Cluster.Lease, config.DefaultLease) }

// admits reports whether a token was issued for workers.
func (n *Node) admits(ctx context.Context, token string) (bool, error) {
	gate := n.gate.Load()
	if gate == nil {
		return false, freshet.ErrBusy
	}
	c, err := gate.Known(ctx, token)
	if errors.Is(err, auth.ErrUnknown) {
		return false, nil
	}
	return err == nil && c.Credential.Kind == auth.TokenKind && c.May(access.Work), err
}

// trusts reports whether workers with a token may see secrets in URLs.
func (n *Node) trusts(ctx context.Context, token string) (bool, error) {
	if len(n.settings.Cluster.Trusted) == 0 {
		return false, nil
	}
	admitted, err := n.admits(ctx, token)
	if err != nil || !admitted {
		return false, err
	}
	c, err := n.gate.Load().Known(ctx, token)
	return err == nil && slices.Contains(n.settings.Cluster.Trusted, c.Credential.ID), err
}

// holdsLease reports whether this node certainly is the leader.
func (n *Node) holdsLease() bool { return n.leaderStore == nil || n.leaderStore.LeaseLeft() > 0 }

// awaitOldWorkers waits after a crash until workers of the previous run can begin no more requests,
// because those count as finished from now on. The wait is unnecessary if the lease of the previous
// leader has expired, because the leases of its workers end earlier. Attempts that are older than a
// lease and a fetch are ignored: an earlier crash left them.
func (n *Node) awaitOldWorkers(ctx context.Context) error {
	if n.workers == nil || n.leaderStore != nil && !n.leaderStore.Resigned() {
		return nil
	}
	lease := leaseOf(n.settings)
	attempts, err := n.Store.Unlogged(ctx, n.now().Add(-lease-cmp.Or(n.settings.Fetch.Total, time.Minute)))
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.Ended.IsZero() {
			n.log.Info("waiting until the leases of workers of the previous run have expired", "for", units.FormatDuration(lease))
			select {
			case <-time.After(lease):
			case <-ctx.Done():
			}
			return nil
		}
	}
	return nil
}

// workerLimits are the limits of a daemon whose workers come and go.
type workerLimits struct {
	mu     sync.Mutex
	base   sched.Limits // from the settings
	local  int          // concurrent polls of this machine; negative means the number of workers in base
	remote int          // concurrent polls of remote workers
}

// set replaces the limits of the settings.
func (h *workerLimits) set(d *daemon.Daemon, base sched.Limits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base = base
	h.apply(d)
}

// setRemote sets the number of concurrent polls of remote workers.
func (h *workerLimits) setRemote(d *daemon.Daemon, remote int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remote = remote
	h.apply(d)
}

func (h *workerLimits) apply(d *daemon.Daemon) {
	d.SetLimits(h.current())
}

// current returns the limits for the connected workers.
func (h *workerLimits) current() sched.Limits {
	l := h.base
	if h.local >= 0 {
		l.Workers = h.local
	}
	if l.Workers += h.remote; l.Workers == 0 {
		l.Workers = -1 // none until a worker connects
	}
	if h.remote > 0 && l.Slow > 0 {
		l.Slow += 8 * h.remote
	}
	return l
}

// A WorkerConfig configures RunWorker.
type WorkerConfig struct {
	Join    []string // addresses of nodes
	Token   string
	Name    string // unique among the workers of a leader
	Place   string
	Slots   int
	Trust   identity.Trust
	Extract []string // as in Config
}

// joinTimeout is how long a node may take to answer a worker. A suspended node accepts connections
// and never answers.
const joinTimeout = 3 * time.Second

// RunWorker carries out polls for a leader until ctx is done.
func RunWorker(ctx context.Context, settings config.Settings, cfg WorkerConfig, log *slog.Logger) error {
	settings.Limits.Workers = cfg.Slots
	settings = fitFiles(settings, openFiles())
	if settings.Limits.Workers < cfg.Slots {
		log.Warn("the limit on open files is too low for the number of slots", "slots", settings.Limits.Workers, "hint", "raise the limit on open files (ulimit -n, LimitNOFILE)")
		cfg.Slots = settings.Limits.Workers
	}
	reader := extract.NewReader(extract.ReaderConfig{Command: cfg.Extract, Memory: extractMemory()})
	defer reader.Close()
	renderer, err := NewRenderer(settings, log)
	if err != nil {
		return err
	}
	_, _, missing := renderer.Check()
	budget := pollMemory(settings)
	open := func(by cluster.Terms) (worker.Looker, error) {
		s := settings
		if s.Fetch.Agent == "" {
			s.Fetch.Agent, s.Fetch.Contact = by.Agent, ""
		}
		if s.Fetch.May = by.CheckLease; by.Total > 0 {
			s.Fetch.Total = min(cmp.Or(s.Fetch.Total, by.Total), by.Total)
		}
		show, err := NewRenderer(s, log)
		if err != nil {
			return nil, err
		}
		return worker.New(fetch.New(s.Fetch), reader.Read).Rendering(show), nil
	}
	return cluster.NewWorker(cluster.WorkerConfig{
		Join: cfg.Join, Token: cfg.Token, Name: cfg.Name, Slots: cfg.Slots, Place: cfg.Place, Renders: missing == nil,
		Open: open, Body: 4*settings.Fetch.MaxBody() + 64*mib,
		Room: func() (func(context.Context, int64) error, func()) { return daemon.OpenRoom(budget) },
		Do:   fetch.TrustedBy(joinTimeout, cfg.Trust).Do, Log: log,
	}).Run(ctx)
}

// withWorkers returns a handler that also accepts workers, if any may join.
func (n *Node) withWorkers(h http.Handler) http.Handler {
	if n.workers == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == cluster.Path {
			n.workers.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
