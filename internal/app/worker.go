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

// leastToken is how many characters a token of workers has at least.
const leastToken = 16

// ReadToken returns the token in a file.
func ReadToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", freshet.WithHint(fmt.Errorf("read the token of workers: %w", err), "make one with: head -c 32 /dev/urandom | base64 > FILE && chmod 600 FILE")
	}
	token := strings.TrimSpace(string(data))
	if len(token) < leastToken || strings.ContainsAny(token, " \t\r\n") {
		return "", freshet.WithHint(fmt.Errorf("the token in %s is not one word of %d characters or more", file, leastToken), "make one with: head -c 32 /dev/urandom | base64 > FILE")
	}
	return token, nil
}

// openWorkers lets workers on other machines join, if the settings say so.
func (n *Node) openWorkers(cfg Config) (worker.Looker, error) {
	own := worker.New(n.access, n.reader.Read).Rendering(n.renderer)
	if n.limits.base, n.limits.own = cfg.Limits, -1; cfg.Cluster.TokenFile == "" {
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
	n.limits.own = cfg.Cluster.OwnSlots
	term, left := int64(1), (func() time.Duration)(nil)
	if n.leads != nil {
		term, left = n.leads.Term(), n.leads.LeaseLeft
	}
	n.workers = cluster.New(cluster.Config{
		Own: own, Slots: slots, Token: token.now, Admit: n.admits, Epoch: term, LeaseLeft: left, Lease: leaseOf(cfg.Settings), Total: cfg.Fetch.Total, Agent: cfg.Fetch.UserAgent(),
		Body: 4*cfg.Fetch.MaxBody() + 64*mib, Log: cfg.Log, Trusts: n.trusts, Redirects: cfg.Fetch.Redirects, Parts: cfg.Render.Requests,
		Changed: func(all int) { n.limits.setRemote(n.Daemon, all-slots) },
	})
	return n.workers, nil
}

// A tokenFile is the file with the token of workers, which can be changed while the daemon runs.
type tokenFile struct {
	name string
	log  *slog.Logger

	mu     sync.Mutex
	token  string
	unread bool // the last try failed
}

// read reads the token.
func (f *tokenFile) read() (err error) {
	token, err := ReadToken(f.name)
	if err == nil {
		f.token = token
	}
	return err
}

// now returns the token that holds. While the file cannot be read that is the one of before.
func (f *tokenFile) now() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.read()
	if err != nil && !f.unread {
		f.log.Error("the token of workers is the one of before", "err", err, "hint", freshet.HintOf(err))
	}
	f.unread = err != nil
	return f.token
}

// leaseOf returns how long nodes and workers take each other's word after they have heard it.
func leaseOf(s config.Settings) time.Duration { return cmp.Or(s.Cluster.Lease, config.DefaultLease) }

// admits reports whether a token is one that was given out for workers.
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

// trusts reports whether a token is one whose workers may see secrets in URLs.
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

// holdsLease reports whether no other node can have taken over.
func (n *Node) holdsLease() bool { return n.leads == nil || n.leads.LeaseLeft() > 0 }

// awaitOldWorkers waits, after a crash, until the workers of the run before can begin no request
// any more: what they begin until then counts as made by now. If the lease of the run before has
// run out, they cannot: their part of the lease ended before it did. What was begun longer ago than a lease and
// a fetch last is not theirs any more: it was left by an earlier crash.
func (n *Node) awaitOldWorkers(ctx context.Context) error {
	if n.workers == nil || n.leads != nil && !n.leads.Resigned() {
		return nil
	}
	lease := leaseOf(n.settings)
	attempts, err := n.Store.Unlogged(ctx, n.now().Add(-lease-cmp.Or(n.settings.Fetch.Total, time.Minute)))
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if a.Ended.IsZero() {
			n.log.Info("waiting until workers of the last run can send nothing any more", "for", units.FormatDuration(lease))
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
	base   sched.Limits // by the settings
	own    int          // looks that this machine makes at once; less than 0 means as many as there are workers
	remote int          // looks that workers elsewhere make at once
}

// set changes what the settings say.
func (h *workerLimits) set(d *daemon.Daemon, base sched.Limits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base = base
	h.apply(d)
}

// setRemote takes note of how many looks workers elsewhere make.
func (h *workerLimits) setRemote(d *daemon.Daemon, remote int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remote = remote
	h.apply(d)
}

func (h *workerLimits) apply(d *daemon.Daemon) {
	d.SetLimits(h.inForce())
}

// inForce returns the limits for the workers that are there.
func (h *workerLimits) inForce() sched.Limits {
	l := h.base
	if h.own >= 0 {
		l.Workers = h.own
	}
	if l.Workers += h.remote; l.Workers == 0 {
		l.Workers = -1 // not one, until a worker comes
	}
	if h.remote > 0 && l.Slow > 0 {
		l.Slow += 8 * h.remote
	}
	return l
}

// A WorkerConfig says what a worker is, and where its leader is.
type WorkerConfig struct {
	Join    []string // addresses of leaders
	Token   string
	Name    string // no other worker has it
	Place   string
	Slots   int
	Trust   identity.Trust
	Extract []string // as in Config
}

// joinPatience is how long a daemon may take to let a worker in: one that has been stopped takes
// connections and never answers.
const joinPatience = 3 * time.Second

// RunWorker makes looks for a leader elsewhere until ctx is done.
func RunWorker(ctx context.Context, settings config.Settings, cfg WorkerConfig, log *slog.Logger) error {
	settings.Limits.Workers = cfg.Slots
	settings = fitFiles(settings, openFiles())
	if settings.Limits.Workers < cfg.Slots {
		log.Warn("this machine allows fewer open files than so many slots need", "slots", settings.Limits.Workers, "hint", "raise the limit on open files (ulimit -n, LimitNOFILE)")
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
		Do:   fetch.TrustedBy(joinPatience, cfg.Trust).Do, Log: log,
	}).Run(ctx)
}

// withWorkers returns a handler that takes in workers, too, if there may be any.
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
