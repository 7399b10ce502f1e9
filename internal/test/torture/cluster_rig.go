//go:build unix

package torture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/lab/synth"
	"freshet/internal/test/netfault"
	"freshet/internal/test/pgtest"
)

// A grove is a cluster with all that is around it: PostgreSQL with a standby, nodes, hands, a
// web, a receiver, and wires between every two that talk to each other.
type grove struct {
	ClusterConfig
	dir    string
	report *ClusterReport
	began  time.Time

	mu       sync.Mutex // guards primary and standby
	primary  *pgtest.Server
	standby  *pgtest.Server
	database string

	nodes, hands []*proc
	store, front []*netfault.Wire // of each node: to PostgreSQL, and to itself for hands and other nodes

	web    []net.Listener
	server *http.Server
	visits visits
	frozen atomic.Int64 // the edition that stays; zero while there are new ones

	sinks receivers
	diary diary
}

// A proc is a process of the program, which is started again when it has ended.
type proc struct {
	name string
	args []string
	at   string // where it listens, if it does

	mu      sync.Mutex
	busy    bool // somebody is about to end it, or has stopped it
	cmd     *exec.Cmd
	ended   chan struct{}
	log     lastLines
	stopped []stretch // when it was stopped
}

// A stretch is a time from which to which something was so.
type stretch struct{ from, to time.Time }

// editionEvery is how often pages change.
const editionEvery = 1500 * time.Millisecond

// newGrove starts everything. It must be closed, also if there is an error.
func newGrove(ctx context.Context, c ClusterConfig, dir string, r *ClusterReport) (g *grove, err error) {
	g = &grove{ClusterConfig: c, dir: dir, report: r, began: time.Now(), sinks: newReceivers(r)}
	if g.web, err = synth.Loopback(ctx, clusterHosts+1); err != nil {
		return g, err
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	for _, l := range g.web {
		go g.server.Serve(l) // ends with close
	}
	if g.primary, err = pgtest.Launch("fsync=on"); err != nil {
		return g, err
	}
	g.database = "grove"
	if err := g.primary.Do(ctx, "CREATE DATABASE "+g.database); err != nil {
		return g, err
	}
	if g.standby, err = g.primary.Follow(ctx); err != nil {
		return g, err
	}
	return g, g.populate(ctx)
}

// populate starts nodes and hands, and gives them sources.
func (g *grove) populate(ctx context.Context) error {
	token, settings := filepath.Join(g.dir, "token"), filepath.Join(g.dir, "freshet.yaml")
	if err := os.WriteFile(token, []byte("a-token-for-the-hands-of-a-grove"), 0o600); err != nil {
		return err
	}
	text := fmt.Sprintf("budget: %d/%s\nhosts: {delay: %s, share: 100%%, crawl_delay: 0s}\nsource_gap: 0s\nsource_share: 100%%\npolicy: uniform\nallow_cidr: [127.0.0.0/8]\nlease: %s\nfetch: {total: 3s}\nwebhooks:\n",
		clusterBudget, clusterPer, clusterDelay, clusterLease)
	for i := range clusterSinks {
		text += fmt.Sprintf("  - {name: hook%d, url: \"http://%s%s%d\", secret: %s}\n", i, g.web[clusterHosts].Addr(), hookPath, i, hookSecret)
	}
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return err
	}
	var join []string
	for i := range clusterNodes {
		at, err := freeAddress()
		if err != nil {
			return err
		}
		store, err := netfault.New(g.primary.Address)
		if err != nil {
			return err
		}
		g.store = append(g.store, store)
		front, err := netfault.New(at)
		if err != nil {
			return err
		}
		g.front = append(g.front, front)
		join = append(join, "http://"+front.Address())
		u, _ := url.Parse(g.primary.URL(g.database))
		u.Host = store.Address()
		g.nodes = append(g.nodes, &proc{name: fmt.Sprintf("node%d", i), at: "http://" + at, args: []string{"serve", "--config", settings, "--store", u.String(),
			"--listen", at, "--advertise", "http://" + front.Address(), "--data", filepath.Join(g.dir, fmt.Sprint("node", i)), "--secrets", filepath.Join(g.dir, "secrets"), "--hand-token-file", token}})
	}
	for i := range clusterHands {
		name := fmt.Sprintf("hand%d", i)
		g.hands = append(g.hands, &proc{name: name, args: []string{"cluster", "worker", "--join", strings.Join(join, ","), "--token-file", token, "--name", name, "--slots", "4", "--allow-cidr", "127.0.0.0/8"}})
	}
	for _, p := range append(g.nodes, g.hands...) {
		if err := p.keep(g.Logs); err != nil {
			return err
		}
		if err := p.start(g.Freshet); err != nil {
			return err
		}
	}
	for i := range clusterPages {
		add := client.NewSource{ID: pageOf(i), URL: fmt.Sprintf("http://%s/p%d", g.web[i%clusterHosts].Addr(), i)}
		if err := g.insist(ctx, "add a source", func() error {
			_, err := g.nodes[i%clusterNodes].api().Sources.Add(ctx, add)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// freeAddress returns an address that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// insist does something again and again until it is done.
func (g *grove) insist(ctx context.Context, what string, do func() error) error {
	var err error
	for end := time.Now().Add(3 * time.Minute); ; {
		if err = do(); err == nil {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return fmt.Errorf("%s: %w", what, err)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// pause waits for a while, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// close ends everything.
func (g *grove) close() {
	for _, p := range append(append([]*proc{}, g.nodes...), g.hands...) {
		p.signal(syscall.SIGKILL)
		p.wait()
		_ = p.log.file.Close() // it may be nil
	}
	for _, w := range append(append([]*netfault.Wire{}, g.store...), g.front...) {
		_ = w.Close() // nobody is there any more
	}
	for _, s := range []*pgtest.Server{g.primary, g.standby} {
		if s != nil {
			_ = s.Remove() // likewise
		}
	}
	if g.server != nil {
		_ = g.server.Close()
	}
}

// logs returns the last lines of all processes.
func (g *grove) logs() string {
	var b strings.Builder
	for _, p := range append(append([]*proc{}, g.nodes...), g.hands...) {
		fmt.Fprintf(&b, "\n%s said last:\n%s", p.name, p.log.String())
	}
	return b.String()
}

// ServeHTTP serves pages that differ whenever they are asked for, and takes in webhooks.
func (g *grove) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if strings.HasPrefix(r.URL.Path, hookPath) {
		g.sinks.take(r)
		return
	}
	v := &visit{host: local.String(), path: r.URL.Path, source: r.UserAgent()}
	g.visits.arrive(v)
	defer g.visits.leave(v)
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	edition := g.frozen.Load()
	if edition == 0 {
		edition = int64(time.Since(g.began) / editionEvery)
	}
	fmt.Fprintf(w, "<p>edition %d of %s</p>", edition, r.URL.Path)
}

// keep keeps what a process says in a directory, unless that is "".
func (p *proc) keep(dir string) (err error) {
	if dir == "" {
		return nil
	}
	p.log.file, err = os.Create(filepath.Join(dir, p.name+".log"))
	return err
}

// take reports whether nobody else is about to end the process. Then it must be left again.
func (p *proc) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.busy
	p.busy = true
	return !was
}

func (p *proc) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
}

// start starts a process that does not run.
func (p *proc) start(program string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs() {
		return nil
	}
	p.log.begin()
	cmd := exec.Command(program, p.args...)
	cmd.Stderr = &p.log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}(p.ended)
	return nil
}

// signal sends a signal.
func (p *proc) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended
	}
}

// wait waits for the end of the process.
func (p *proc) wait() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// over reports whether the process has ended.
func (p *proc) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.runs()
}

// runs reports whether the process has been started and has not ended. The lock is held.
func (p *proc) runs() bool {
	if p.ended == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *proc) api() *client.Client { return client.New(p.at, fetch.Trusted(5*time.Second).Do) }

// lastLines holds the last of what was written.
type lastLines struct {
	mu   sync.Mutex
	text []byte
	from int      // where what this start of the process says begins
	file *os.File // has all of it, if it is not nil
}

// begin notes that the process is started again.
func (l *lastLines) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.from = len(l.text)
}

// now returns what was said since the process was last started, as far as it is known.
func (l *lastLines) now() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[l.from:])
}

// Write implements [io.Writer].
func (l *lastLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	if l.file != nil {
		if _, err := l.file.Write(b); err != nil {
			return 0, err
		}
	}
	if over := len(l.text) - 64<<10; over > 32<<10 {
		l.text, l.from = append([]byte(nil), l.text[over:]...), max(0, l.from-over)
	}
	return len(b), nil
}

// String returns it.
func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// errStoppedEarly says that somebody wanted the campaign to end.
var errStoppedEarly = errors.New("stopped")

// some returns one of a list.
func some[T any](chance *rand.Rand, of []T) T { return of[chance.IntN(len(of))] }
