package cluster

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// A WorkerConfig says what a worker is, and where its leader is.
type WorkerConfig struct {
	Join  []string // addresses of leaders, of which any may be the one
	Token string
	Name  string // no other worker has it
	Slots int    // looks at once
	Place string // where it is, for sources that are looked at from there

	Open    func(Terms) (worker.Looker, error) // returns what looks
	Renders bool                               // it can show pages in a browser

	// Room returns what makes room for a look, as in [worker.Task], and what gives it back.
	Room func() (hold func(context.Context, int64) error, free func())

	Do    func(*http.Request) (*http.Response, error) // sends requests to the leader, without redirects
	Body  int64                                       // the most bytes that come with one answer; 0 means 256 MiB
	Grace time.Duration                               // for looks under way when it ends; 0 means 30 s
	Log   *slog.Logger                                // nil means silence
}

// Terms are how a worker looks for a leader.
type Terms struct {
	Agent string        // the User-Agent
	Total time.Duration // the longest that a fetch takes: the leader goes by it when the worker is lost

	// May is called before anything is written to a connection for a request. If it returns an
	// error nothing is sent.
	May func() error
}

// A Worker is a worker that works for a leader elsewhere.
type Worker struct {
	cfg  WorkerConfig
	run  string            // its own name, that no other worker is given by mistake
	last string            // address of the leader that let it in last
	told map[string]string // why it is not connected, by address
}

// NewWorker returns a Worker.
func NewWorker(cfg WorkerConfig) *Worker {
	if cfg.Body == 0 {
		cfg.Body = 256 << 20
	}
	if cfg.Grace == 0 {
		cfg.Grace = 30 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Worker{cfg: cfg, run: rand.Text(), told: map[string]string{}}
}

// errDrained is how a session ends that the leader wanted to end.
var errDrained = errors.New("the leader has no more tasks for this worker")

// A moved says that the leader is elsewhere.
type moved struct{ to string }

func (m moved) Error() string { return "the leader is at " + m.to }

// A refusal is why a leader does not let a worker in, if trying again is of no use.
type refusal struct{ error }

// Run works until ctx is done, or the leader wants no more of it. It then ends what it has begun, and takes nothing more. It
// comes back to a leader that goes away, and returns an error only if that is of no use anywhere.
func (w *Worker) Run(ctx context.Context) error {
	const soonest, latest = 200 * time.Millisecond, 2 * time.Second // an election is over in a few seconds
	wait := soonest
	for ctx.Err() == nil {
		refusals := map[string]error{}
		var first error
		hope := false
		for _, at := range w.addresses() {
			began := time.Now()
			at, err := w.follow(ctx, at)
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, errDrained) {
				w.cfg.Log.Info("the leader has let this worker go; its polls are finished")
				return nil
			}
			if r, ok := errors.AsType[refusal](err); ok {
				refusals[at], first = r.error, cmp.Or(first, r.error)
				continue
			}
			hope = true
			w.tell(at, err)
			if time.Since(began) > latest {
				wait = soonest
			}
		}
		if !hope {
			return first
		}
		for at, err := range refusals { // else they would be told twice
			w.tell(at, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, latest)
	}
	return nil
}

// tell logs why there is no connection, unless it is the same as before: a leader can be away for hours.
func (w *Worker) tell(at string, err error) {
	level, why := slog.LevelWarn, err.Error()
	if why == w.told[at] {
		level = slog.LevelDebug
	}
	w.told[at] = why
	said := []any{"address", at, "err", err}
	if hint := freshet.HintOf(err); hint != "" {
		said = append(said, "hint", hint)
	}
	w.cfg.Log.Log(context.Background(), level, "not connected to the leader", said...)
}

// follow works for the leader at an address, or where that says that the leader is. It returns where that was.
func (w *Worker) follow(ctx context.Context, at string) (string, error) {
	err := w.serve(ctx, at)
	if m, ok := errors.AsType[moved](err); ok && ctx.Err() == nil {
		at = m.to
		err = w.serve(ctx, at)
	}
	return at, err
}

// addresses returns where to look for the leader: last where it was last, because that one has
// just gone, or is stopped and takes long to not answer. The others know where it is.
func (w *Worker) addresses() (list []string) {
	for _, at := range w.cfg.Join {
		if at != w.last {
			list = append(list, at)
		}
	}
	if w.last != "" {
		list = append(list, w.last)
	}
	return list
}

// connect opens a stream to a leader.
func (w *Worker) connect(ctx context.Context, at string) (io.ReadWriteCloser, error) {
	target, err := url.JoinPath(at, Path)
	if err != nil {
		return nil, refusal{fmt.Errorf("%q is not an address: %w", at, err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, refusal{fmt.Errorf("%q is not an address: %w", at, err)}
	}
	req.Header.Set("Authorization", "Bearer "+w.cfg.Token)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol)
	resp, err := w.cfg.Do(req)
	if err != nil {
		return nil, err
	}
	conn, duplex := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode == http.StatusSwitchingProtocols && duplex {
		return conn, nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	resp.Body.Close()
	// A token that came over https does not go on without.
	if to := resp.Header.Get(LeaderHeader); to != "" && to != at && (strings.HasPrefix(to, "https://") || strings.HasPrefix(at, "http://") && strings.HasPrefix(to, "http://")) {
		return nil, moved{to}
	}
	err = fmt.Errorf("%s answers %s: %s", at, resp.Status, strings.TrimSpace(string(said)))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, refusal{freshet.WithHint(err, "give the worker the token of its leader with --token-file")}
	case http.StatusNotFound:
		if w.last != "" { // a proxy before the nodes has none to send it to
			return nil, err
		}
		return nil, refusal{freshet.WithHint(err, "start the leader with freshet serve --hand-token-file FILE, and join its address without a path")}
	}
	return nil, err
}

// serve works for the leader at an address until one of them goes.
func (w *Worker) serve(ctx context.Context, at string) error {
	conn, err := w.connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &session{
		worker: w, stream: newStream(conn, bufio.NewReaderSize(conn, 64<<10), w.cfg.Body), lease: newLease(),
		unwanted: make(chan struct{}, 1), looks: map[uint64]context.CancelFunc{}, asks: map[uint64]chan frame{},
	}
	if err := s.greet(); err != nil {
		return err
	}
	w.last = at
	clear(w.told)
	return s.work(ctx)
}
