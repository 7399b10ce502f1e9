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
	"sync"
	"time"

	"freshet"
	"freshet/hand"
)

// A WorkerConfig says what a hand is, and where its brain is.
type WorkerConfig struct {
	Join  []string // addresses of brains, of which any may be the one
	Token string
	Name  string // no other hand has it
	Slots int    // looks at once
	Place string // where it is, for sources that are looked at from there

	Open    func(Terms) (hand.Looker, error) // returns what looks
	Renders bool                             // it can show pages in a browser

	// Room returns what makes room for a look, as in [hand.Order], and what gives it back.
	Room func() (hold func(context.Context, int64) error, free func())

	Do    func(*http.Request) (*http.Response, error) // sends requests to the brain, without redirects
	Body  int64                                       // the most bytes that come with one answer; 0 means 256 MiB
	Grace time.Duration                               // for looks under way when it ends; 0 means 30 s
	Log   *slog.Logger                                // nil means silence
}

// Terms are how a hand looks for a brain.
type Terms struct {
	Agent string        // the User-Agent
	Total time.Duration // the longest that a fetch takes: the brain goes by it when the hand is lost

	// May is called before anything is written to a connection for a request. If it returns an
	// error nothing is sent.
	May func() error
}

// A Worker is a hand that works for a brain elsewhere.
type Worker struct {
	cfg  WorkerConfig
	run  string            // its own name, that no other hand is given by mistake
	last string            // address of the brain that let it in last
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

// errDrained is how a session ends that the brain wanted to end.
var errDrained = errors.New("the brain has no more orders for this hand")

// A moved says that the brain is elsewhere.
type moved struct{ to string }

func (m moved) Error() string { return "the brain is at " + m.to }

// A refusal is why a brain does not let a hand in, if trying again is of no use.
type refusal struct{ error }

// Run works until ctx is done, or the brain wants no more of it. It then ends what it has begun, and takes nothing more. It
// comes back to a brain that goes away, and returns an error only if that is of no use anywhere.
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
				w.cfg.Log.Info("the brain has let this hand go; its polls are finished")
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

// tell logs why there is no connection, unless it is the same as before: a brain can be away for hours.
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
	w.cfg.Log.Log(context.Background(), level, "not connected to the brain", said...)
}

// follow works for the brain at an address, or where that says that the brain is. It returns where that was.
func (w *Worker) follow(ctx context.Context, at string) (string, error) {
	err := w.serve(ctx, at)
	if m, ok := errors.AsType[moved](err); ok && ctx.Err() == nil {
		at = m.to
		err = w.serve(ctx, at)
	}
	return at, err
}

// addresses returns where to look for the brain: last where it was last, because that one has
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

// connect opens a stream to a brain.
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
	if to := resp.Header.Get(BrainHeader); to != "" && to != at && (strings.HasPrefix(to, "https://") || strings.HasPrefix(at, "http://") && strings.HasPrefix(to, "http://")) {
		return nil, moved{to}
	}
	err = fmt.Errorf("%s answers %s: %s", at, resp.Status, strings.TrimSpace(string(said)))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, refusal{freshet.WithHint(err, "give the hand the token of its brain with --token-file")}
	case http.StatusNotFound:
		if w.last != "" { // whoever stands before the nodes has none to send it to
			return nil, err
		}
		return nil, refusal{freshet.WithHint(err, "start the brain with freshet serve --hand-token-file FILE, and join its address without a path")}
	}
	return nil, err
}

// serve works for the brain at an address until one of them goes.
func (w *Worker) serve(ctx context.Context, at string) error {
	conn, err := w.connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &session{
		worker: w, stream: newStream(conn, bufio.NewReaderSize(conn, 64<<10), w.cfg.Body), right: newRight(),
		unwanted: make(chan struct{}, 1), looks: map[uint64]context.CancelFunc{}, asks: map[uint64]chan frame{},
	}
	if err := s.greet(); err != nil {
		return err
	}
	w.last = at
	clear(w.told)
	return s.work(ctx)
}

// A session is the time that a worker works for a brain without a break.
type session struct {
	worker *Worker
	stream *stream
	right  *right
	lease  time.Duration
	hand   hand.Looker
	isLean bool  // the brain reads lean findings
	heard  heard // of how sources are read

	unwanted chan struct{} // holds one: the brain has no more orders

	mu       sync.Mutex
	draining bool
	looks    map[uint64]context.CancelFunc // under way
	asks     map[uint64]chan frame         // unanswered
	next     uint64                        // question
	flying   sync.WaitGroup
}

// greet says who comes, and hears how things are done here.
func (s *session) greet() error {
	cfg := s.worker.cfg
	if err := s.say(hello, 0, helloSay{Version: version, Name: cfg.Name, Slots: cfg.Slots, Place: cfg.Place, Renders: cfg.Renders, Encoding: encoding, Run: s.worker.run}); err != nil {
		return err
	}
	f, err := s.stream.receive(nil)
	if err != nil {
		return err
	}
	var said welcomeSay
	if f.Kind != welcome {
		return fmt.Errorf("the brain said %q before welcome", f.Kind)
	}
	if err := f.hear(&said); err != nil {
		return err
	}
	if said.Version != version {
		return refusal{fmt.Errorf("the brain speaks version %d of the protocol, and this hand %d: run the same version of freshet on both", said.Version, version)}
	}
	if said.Taken != "" {
		return freshet.WithHint(fmt.Errorf("another hand of the name %s is at work, from %s", cfg.Name, said.Taken), "give each hand a name of its own with --name")
	}
	if said.Lease <= 0 {
		return errors.New("the brain gives no lease")
	}
	s.lease, s.isLean = said.Lease, said.Encoding >= encoding
	s.hand, err = cfg.Open(Terms{Agent: said.Agent, Total: said.Total, May: s.right.check})
	if err != nil {
		return refusal{err}
	}
	cfg.Log.Info("working for the brain", "epoch", said.Epoch, "slots", cfg.Slots, "place", cfg.Place)
	return nil
}

// say sends something.
func (s *session) say(k kind, id uint64, v any, blobs ...[]byte) error {
	f, err := newFrame(k, id, v, blobs...)
	if err != nil {
		return err
	}
	return s.stream.send(f)
}

// work carries out orders until the brain is gone, or ctx is done and what was begun is over.
func (s *session) work(ctx context.Context) error {
	// Looks end by themselves when ctx is done, within the grace.
	working, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(errors.New("the hand has ended"))
	heard := make(chan error, 1)
	last := make(chan struct{}, 1)
	s.stream.moved = func() {
		select {
		case last <- struct{}{}:
		default:
		}
	}
	go func() { heard <- s.listen(working) }()
	tick := time.NewTicker(s.lease / 10)
	defer tick.Stop()
	silent := time.NewTimer(s.lease)
	defer silent.Stop()
	idle := make(chan struct{})
	var late <-chan time.Time
	stop, end := ctx.Done(), error(nil)
	leave := func() {
		stop = nil
		s.drain()
		late = time.After(s.worker.cfg.Grace)
		go func() { s.flying.Wait(); close(idle) }()
	}
	if err := s.ping(); err != nil {
		return err
	}
	for {
		select {
		case <-tick.C:
			if err := s.ping(); err != nil {
				return err
			}
		case <-last:
			silent.Reset(s.lease)
		case <-silent.C:
			select {
			case <-last: // a ping had to wait for something large
				silent.Reset(s.lease)
				continue
			default:
			}
			return fmt.Errorf("the brain was silent for %s", freshet.FormatDuration(s.lease))
		case err := <-heard:
			return err
		case <-stop:
			leave()
		case <-s.unwanted:
			if end = errDrained; stop != nil {
				leave()
			}
		case <-idle:
			s.stream.settle()
			return end
		case <-late:
			return errors.New("some looks did not end in time and were cut off")
		}
	}
}

// drain takes no more orders.
func (s *session) drain() {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	_ = s.say(drain, 0, nil)
}

// ping asks for the right to begin requests.
func (s *session) ping() error {
	s.mu.Lock()
	busy := len(s.looks)
	s.mu.Unlock()
	return s.say(ping, 0, pingSay{At: s.right.now(), Busy: busy})
}

// listen hears what the brain says until it is gone.
func (s *session) listen(ctx context.Context) error {
	for {
		f, err := s.stream.receive(nil)
		if err != nil {
			return err
		}
		s.stream.moved()
		switch f.Kind {
		case pong:
			var p pongSay
			if err := f.hear(&p); err != nil {
				return err
			}
			s.right.give(p)
		case order:
			if err := s.begin(ctx, f); err != nil {
				return err
			}
		case answer:
			s.mu.Lock()
			reply := s.asks[f.Ask]
			delete(s.asks, f.Ask)
			s.mu.Unlock()
			if reply != nil {
				reply <- f
			}
		case cancel:
			s.mu.Lock()
			stop := s.looks[f.ID]
			s.mu.Unlock()
			if stop != nil {
				stop()
			}
		case drain:
			select {
			case s.unwanted <- struct{}{}:
			default:
			}
		default: // of a later version
		}
	}
}
