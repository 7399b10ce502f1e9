package simulate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/store/sqlite"
)

// A life is the daemon from a start to its end. What it leaves behind is what
// the disk has kept.
type life struct {
	n      int
	began  time.Time
	dead   bool // guarded by the network
	gone   chan struct{}
	cancel context.CancelFunc
	ended  chan error
	door   *door
	api    *http.Client
}

// A door is where a life listens: connections come through pipes.
type door struct {
	callers chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newDoor() *door { return &door{callers: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements [net.Listener].
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.callers:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr implements [net.Listener].
func (d *door) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// call connects to the API of a life.
func (s *simulation) call(l *life) (net.Conn, error) {
	near, far := net.Pipe()
	if !s.network.keep(l, near, far) {
		return nil, errors.New("nobody listens")
	}
	select {
	case l.door.callers <- far:
		return near, nil
	case <-l.door.closed:
	case <-l.gone:
	}
	near.Close()
	return nil, errors.New("nobody listens")
}

// begin starts the daemon on what the disk has.
func (s *simulation) begin() *life {
	vfs, err := s.disk.Start()
	if err != nil {
		panic(err)
	}
	s.lives++
	s.learning = s.limits().Budget
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{n: s.lives, began: time.Now(), gone: make(chan struct{}), cancel: cancel, ended: make(chan error, 1), door: newDoor()}
	l.api = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return s.call(l) },
	}}
	s.say("LIFE %d begins", l.n)
	go func() {
		l.ended <- app.Serve(ctx, s.settings(l), app.ServeConfig{
			Version: "simulated", Now: s.now, Uptime: s.uptime, Log: slog.New(&witness{s, l}), Listener: l.door,
			Store: sqlite.Config{VFS: vfs, Files: s.disk.Dir(s.dir), Epoch: freshet.Epoch(fmt.Sprintf("life%d", l.n))},
			Load:  func() (config.Settings, error) { return s.settings(l), nil },
		})
	}()
	s.mu.Lock()
	s.current = l
	s.mu.Unlock()
	return l
}

// settings are what the operator has set.
func (s *simulation) settings(l *life) config.Settings {
	set := config.Defaults(func(string) string { return "" })
	set.API.Login = "off" // who may do what is held elsewhere: here all that ask are the operator
	set.NoSearch = true   // its index is a file on the real disk, which nobody's seed holds
	set.Data = s.dir
	set.Retention.Logs = 0
	set.Limits = s.limits()
	set.Policy = "auto:least_chance=0%" // so that every source is polled in the calm
	set.Fetch = fetch.Config{
		HeaderTimeout: 3*time.Second + 17, Total: 12*time.Second + 23, BodyIdle: 2*time.Second + 31, DialTimeout: 2*time.Second + 41,
		Resolver: s.network.resolve,
		Connect: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return s.network.connect(ctx, l, to)
		},
	}
	if s.plan.listed() {
		set.File, set.Sources = "listed.yaml", freshet.PackSources(s.operator.listed()...)
	}
	for _, r := range s.receivers {
		set.Webhooks = append(set.Webhooks, config.Webhook{Name: r.name, URL: "http://" + r.host() + "/", Unsigned: true})
	}
	return set
}

// limits are those that the operator has set.
func (s *simulation) limits() sched.Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.plan.limits
	l.Budget = s.budgets[len(s.budgets)-1].Budget
	return l
}

// end ends a life as a death wants it, and returns when nothing of it is left.
func (s *simulation) end(l *life, how string) {
	s.did("%s", how)
	switch how {
	case "kill":
		s.disk.Kill()
	case "power":
		s.disk.PowerLoss()
	case "stop":
		s.stop(l)
		return
	}
	s.bury(l)
}

// uptime is how long the machine has been up since the power last failed.
func (s *simulation) uptime() (boot string, up time.Duration) {
	at, n := s.start.Add(-time.Hour), 0
	for _, t := range s.troublesOf("power") {
		at = t
		n++
	}
	return fmt.Sprintf("boot%d", n), time.Since(at)
}

// bury lets nothing that a dead life does be seen, and waits for its end.
func (s *simulation) bury(l *life) {
	s.network.cut(l)
	l.cancel()
	<-l.ended
	s.say("LIFE %d is over", l.n)
}

// stop stops a life gently. It has to end in time and without an error.
func (s *simulation) stop(l *life) {
	began := time.Now()
	l.cancel()
	err := <-l.ended
	took := time.Since(began)
	s.say("LIFE %d has stopped after %v: %v", l.n, took, err)
	const grace = 20 * time.Second
	if took > grace {
		s.broken("the daemon took %v to stop", took)
	}
	if err != nil && !s.diskTrouble(began.Add(-time.Minute)) {
		s.broken("the daemon stopped with %v", err)
	}
	s.network.cut(l)
}

// fell is called when a life has ended by itself. It may do so only when the
// disk has failed, and says so.
func (s *simulation) fell(l *life, err error) {
	s.say("LIFE %d gives up: storage %v", l.n, errors.Is(err, freshet.ErrStorage))
	s.hopeless = true // unless it had a reason, it would only fall again
	switch {
	case err == nil:
		s.broken("the daemon ended by itself without an error")
	case !errors.Is(err, freshet.ErrStorage):
		s.broken("the daemon ended by itself: %v", err)
	case !s.diskTrouble(l.began.Add(-time.Minute)):
		s.broken("the daemon ended with a fault of the storage, which had none: %v", err)
	default:
		s.hopeless = false
	}
	s.network.cut(l)
}

// A witness is the log of a life. What it is told of counts as acknowledged.
type witness struct {
	*simulation
	life *life
}

// Enabled implements [slog.Handler].
func (w *witness) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// WithAttrs implements [slog.Handler].
func (w *witness) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements [slog.Handler].
func (w *witness) WithGroup(string) slog.Handler { return w }

// Handle implements [slog.Handler].
func (w *witness) Handle(_ context.Context, r slog.Record) error {
	if w.network.isDead(w.life) {
		return nil
	}
	var source string
	var version int
	detail := ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "source":
			source = a.Value.String()
		case "version":
			version = int(a.Value.Int64())
		case "class", "doing", "to":
			detail = a.Value.String()
		}
		return true
	})
	w.say("log %d %s %s %d %s", w.life.n, r.Message, source, version, detail)
	if r.Message == "captured" {
		w.acks.captured(source, version)
	}
	return nil
}

// String names the life.
func (l *life) String() string { return fmt.Sprintf("life %d", l.n) }
