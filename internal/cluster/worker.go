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

// A WorkerConfig configures a Worker.
type WorkerConfig struct {
	Join  []string // addresses of nodes, any of which may be the leader
	Token string
	Name  string // unique among the workers of a leader
	Slots int    // concurrent tasks
	Place string // location, for sources that are polled from a given place

	Open    func(Terms) (worker.Looker, error) // returns what carries out polls
	Renders bool                               // it has a browser

	// Room returns functions that reserve memory for a poll, as in [worker.Task], and release it.
	Room func() (hold func(context.Context, int64) error, free func())

	Do    func(*http.Request) (*http.Response, error) // sends requests to the leader, without following redirects
	Body  int64                                       // most bytes of one answer; 0 means 256 MiB
	Grace time.Duration                               // for running tasks after ctx is done; 0 means 30 s
	Log   *slog.Logger                                // nil discards
}

// Terms are the settings that a worker gets from its leader.
type Terms struct {
	Agent string        // User-Agent
	Total time.Duration // longest fetch: the leader waits so long for a lost worker

	// CheckLease is called before a request is written to a connection. If it returns an error,
	// nothing is sent.
	CheckLease func() error
}

// A Worker carries out tasks of a leader on another machine.
type Worker struct {
	cfg      WorkerConfig
	runID    string            // tells it apart from another worker of the same name
	last     string            // address of the last leader
	reported map[string]string // last error by address, to log each error once
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
	return &Worker{cfg: cfg, runID: rand.Text(), reported: map[string]string{}}
}

// errDrained reports that the leader drained the worker.
var errDrained = errors.New("the leader has no more tasks for this worker")

// A moved error gives the address of the leader.
type moved struct{ to string }

func (m moved) Error() string { return "the leader is at " + m.to }

// A refusal is an error of a leader that a retry cannot fix.
type refusal struct{ error }

// Run carries out tasks until ctx is done or the leader drains the worker, and then completes the
// running tasks. It reconnects when the leader goes away, and returns an error only if no address
// can ever succeed.
func (w *Worker) Run(ctx context.Context) error {
	const minWait, maxWait = 200 * time.Millisecond, 2 * time.Second // an election takes a few seconds
	wait := minWait
	for ctx.Err() == nil {
		refusals := map[string]error{}
		var first error
		retry := false
		for _, at := range w.addresses() {
			began := time.Now()
			at, err := w.join(ctx, at)
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, errDrained) {
				w.cfg.Log.Info("drained by the leader; all tasks are complete")
				return nil
			}
			if r, ok := errors.AsType[refusal](err); ok {
				refusals[at], first = r.error, cmp.Or(first, r.error)
				continue
			}
			retry = true
			w.logDisconnect(at, err)
			if time.Since(began) > maxWait {
				wait = minWait
			}
		}
		if !retry {
			return first
		}
		for at, err := range refusals { // logged only now: if every address refuses, Run returns the error
			w.logDisconnect(at, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, maxWait)
	}
	return nil
}

// logDisconnect logs an error at level WARN the first time and at DEBUG when it repeats.
func (w *Worker) logDisconnect(at string, err error) {
	level, why := slog.LevelWarn, err.Error()
	if why == w.reported[at] {
		level = slog.LevelDebug
	}
	w.reported[at] = why
	attrs := []any{"address", at, "err", err}
	if hint := freshet.HintOf(err); hint != "" {
		attrs = append(attrs, "hint", hint)
	}
	w.cfg.Log.Log(context.Background(), level, "not connected to the leader", attrs...)
}

// join works for the leader at the address at, or at the address that at redirects to. It returns
// the address it ended at.
func (w *Worker) join(ctx context.Context, at string) (string, error) {
	err := w.serve(ctx, at)
	if m, ok := errors.AsType[moved](err); ok && ctx.Err() == nil {
		at = m.to
		err = w.serve(ctx, at)
	}
	return at, err
}

// addresses returns the addresses to try in turn. The address of the last leader comes last,
// because it has just failed and may take long to time out; the other nodes know the new leader.
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
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	resp.Body.Close()
	// A token that was sent over https must not be sent over http.
	if to := resp.Header.Get(LeaderHeader); to != "" && to != at && (strings.HasPrefix(to, "https://") || strings.HasPrefix(at, "http://") && strings.HasPrefix(to, "http://")) {
		return nil, moved{to}
	}
	err = fmt.Errorf("%s answers %s: %s", at, resp.Status, strings.TrimSpace(string(body)))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, refusal{freshet.WithHint(err, "give the worker the token of its leader with --token-file")}
	case http.StatusNotFound:
		if w.last != "" { // a proxy in front of the nodes has no leader at the moment
			return nil, err
		}
		return nil, refusal{freshet.WithHint(err, "start the leader with freshet serve --hand-token-file FILE, and join its address without a path")}
	}
	return nil, err
}

// serve works for the leader at an address until the connection or ctx ends.
func (w *Worker) serve(ctx context.Context, at string) error {
	conn, err := w.connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &session{
		worker: w, stream: newStream(conn, bufio.NewReaderSize(conn, 64<<10), w.cfg.Body), lease: newLease(),
		dismissed: make(chan struct{}, 1), running: map[uint64]context.CancelFunc{}, questions: map[uint64]chan frame{},
	}
	if err := s.handshake(); err != nil {
		return err
	}
	w.last = at
	clear(w.reported)
	return s.work(ctx)
}
