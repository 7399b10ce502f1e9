package delivery

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/clock"
	"freshet/internal/cluster/identity"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sinks"
)

// A Config says what a Sender goes by. All but Log is needed.
type Config struct {
	// Find returns a sink as this node knows it. Open returns its outlet, which must not write to
	// a connection when may returns an error.
	Find func(ctx context.Context, name string) (sinks.Sink, error)
	Open func(s sinks.Sink, may func() error) (*sinks.Outlet, error)

	// Verify verifies the requests of nodes, and Leads reports whether the leader has this epoch.
	Verify *identity.Verifier
	Leads  func(ctx context.Context, epoch int64) (bool, error)

	Log *slog.Logger // nil means silence
}

// A Sender makes attempts at deliveries that a leader orders.
type Sender struct {
	cfg     Config
	run     string
	count   clock.Count  // a machine that slept has slept over its orders
	until   atomic.Int64 // of the count: the leader of the term is sure to be the leader
	outlets outlets

	mu      sync.Mutex
	term    *term
	leaving bool
}

// A term is the time of one leader.
type term struct {
	epoch int64
	ctx   context.Context // of the attempts that it ordered
	end   context.CancelFunc
	under sync.WaitGroup
	clear chan struct{} // is closed when nothing of the terms before is under way
}

// New returns a Sender. It must be closed.
func New(cfg Config) *Sender {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	c := &Sender{cfg: cfg, run: rand.Text(), count: clock.Begin()}
	c.outlets.cfg, c.outlets.may = &c.cfg, c.may
	c.term = newTerm(0)
	close(c.term.clear)
	return c
}

func newTerm(epoch int64) *term {
	r := &term{epoch: epoch, clear: make(chan struct{})}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r
}

// wait returns when nothing of this term or an earlier one is under way.
func (r *term) wait() {
	<-r.clear
	r.under.Wait()
}

// may says that nothing may be written any more: another node may decide by now.
func (c *Sender) may() error {
	if int64(c.count.Now()) < c.until.Load() {
		return nil
	}
	return &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("nothing was sent: this node has not heard from the leader in time")}
}

// See takes note of who leads. What an older leader has ordered is cut off: the next one has it
// sent anew.
func (c *Sender) See(epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeLocked(epoch)
}

func (c *Sender) seeLocked(epoch int64) {
	before := c.term
	if epoch <= before.epoch {
		return
	}
	before.end()
	r := newTerm(epoch)
	c.term = r
	c.until.Store(0)
	go func() {
		before.wait()
		close(r.clear)
	}()
}

// ServeHTTP takes an order.
func (c *Sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.Header.Get(identity.Header) == "" {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	epoch, body, err := c.cfg.Verify.Verify(r, maxHead+maxBody)
	switch {
	case errors.Is(err, identity.ErrUnknownNode), errors.Is(err, identity.ErrForged), errors.Is(err, identity.ErrReplayed):
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	case err != nil:
		http.Error(w, "the caller cannot be identified", http.StatusServiceUnavailable)
		return
	}
	o, message, err := readOrder(body)
	if err == nil && o.Epoch != epoch {
		err = errors.New("read an order: it is of another epoch than its signature")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := c.take(r.Context(), o, message)
	a.Run, a.At = c.run, c.count.Now()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // a leader that is gone asks no more
}

// take does what an order says.
func (c *Sender) take(ctx context.Context, o order, message []byte) answer {
	term, cannot := c.enter(ctx, o)
	if term == nil {
		return answer{Cannot: cannot, All: true}
	}
	defer term.under.Done()
	if o.Sink == "" {
		return answer{}
	}
	late := fmt.Errorf("no answer within %v", o.Within)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Within, late)
	defer cancel()
	defer context.AfterFunc(term.ctx, cancel)()
	a := c.send(ctx, o, sinks.Message{ID: o.ID, Source: o.Source, Query: o.Query, Body: message})
	if a.Failed != nil && ctx.Err() != nil && context.Cause(ctx) != late { // which says nothing about the receiver
		return answer{Cannot: "it was cut off", All: true}
	}
	return a
}

// enter lets an order in, if it is one of the leader that there is, and otherwise says why not. A
// term must be left again.
func (c *Sender) enter(ctx context.Context, o order) (r *term, cannot string) {
	if o.Format != format {
		return nil, "it is of another version"
	}
	c.mu.Lock()
	news := o.Epoch > c.term.epoch
	c.mu.Unlock()
	if news {
		if leads, err := c.cfg.Leads(ctx, o.Epoch); err != nil || !leads {
			return nil, "it has not heard of this brain"
		}
	}
	c.mu.Lock()
	c.seeLocked(o.Epoch)
	free := c.term.clear
	c.mu.Unlock()
	select {
	case <-free:
	case <-ctx.Done():
		return nil, "it is still at what the leader before ordered"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.leaving:
		return nil, "it is about to end"
	case o.Epoch < c.term.epoch:
		return nil, "another brain decides"
	case o.Run != c.run && o.Sink != "":
		return nil, "it was started again"
	}
	if o.Run == c.run && int64(o.Until) > c.until.Load() {
		c.until.Store(int64(o.Until))
	}
	c.term.under.Add(1)
	return c.term, ""
}

// send makes an attempt.
func (c *Sender) send(ctx context.Context, o order, m sinks.Message) answer {
	outlet, release, err := c.outlets.take(ctx, o.Sink, o.Mark)
	if err != nil {
		return answer{Cannot: err.Error(), Hint: freshet.HintOf(err)}
	}
	defer release()
	if c.count.Now() >= o.Begin {
		return answer{Cannot: "the order came too late", All: true}
	}
	if _, err = outlet.Send(ctx, m); err == nil {
		return answer{}
	}
	if failed, ok := errors.AsType[*freshet.FetchError](err); ok && (failed.Class.Is(failure.Local) || failed.Class.Is(failure.Blocked)) {
		return answer{Cannot: err.Error(), Hint: freshet.HintOf(err)}
	}
	return answer{Failed: newRefusal(err)}
}

// Forget has sinks opened anew: the settings are others.
func (c *Sender) Forget() { c.outlets.forget() }

// Leave takes no more orders, and waits for the attempts under way until ctx is done.
func (c *Sender) Leave(ctx context.Context) {
	c.mu.Lock()
	c.leaving = true
	r := c.term
	c.mu.Unlock()
	over := make(chan struct{})
	go func() {
		r.wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Close takes no more orders, cuts off the attempts under way, and closes all connections.
func (c *Sender) Close() {
	c.mu.Lock()
	c.leaving = true
	r := c.term
	c.mu.Unlock()
	r.end()
	r.wait()
	c.outlets.forget()
}

// idleFor is how long an outlet stays open that nobody uses.
const idleFor = 10 * time.Minute

// outlets are the sinks that are open.
type outlets struct {
	cfg *Config
	may func() error
	mu  sync.Mutex
	all map[string]*held // by name
}

// A held is an outlet that is open.
type held struct {
	*sinks.Outlet
	mark string
	used time.Time
	busy int
	old  bool // it is closed when nobody uses it
}

// take returns the outlet of a sink, which must be released.
func (o *outlets) take(ctx context.Context, name, mark string) (_ *sinks.Outlet, release func(), err error) {
	o.mu.Lock()
	h := o.all[name]
	if h != nil && h.mark == mark {
		h.busy++
	}
	o.mu.Unlock()
	if h == nil || h.mark != mark {
		if h, err = o.open(ctx, name, mark); err != nil {
			return nil, nil, err
		}
	}
	if err := h.Missing(); err != nil {
		o.release(h)
		return nil, nil, fmt.Errorf("it lacks a secret: %w", err)
	}
	return h.Outlet, func() { o.release(h) }, nil
}

// open opens a sink, in place of what is open under its name.
func (o *outlets) open(ctx context.Context, name, mark string) (*held, error) {
	s, err := o.cfg.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	outlet, err := o.cfg.Open(s, o.may)
	if err != nil {
		return nil, err
	}
	h := &held{Outlet: outlet, mark: markOf(outlet.Sink()), used: time.Now(), busy: 1}
	if h.mark != mark {
		return nil, errors.Join(errors.New("it knows the sink otherwise"), outlet.Close())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for other, was := range o.all {
		if other == name || was.busy == 0 && time.Since(was.used) > idleFor {
			o.dropLocked(other)
		}
	}
	if o.all == nil {
		o.all = map[string]*held{}
	}
	o.all[name] = h
	return h, nil
}

func (o *outlets) dropLocked(name string) {
	h := o.all[name]
	delete(o.all, name)
	if h.old = true; h.busy == 0 {
		_ = h.Close() // what it was sent is answered
	}
}

func (o *outlets) release(h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h.busy--
	if h.used = time.Now(); h.old && h.busy == 0 {
		_ = h.Close() // what it was sent is answered
	}
}

func (o *outlets) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.all {
		o.dropLocked(name)
	}
}
