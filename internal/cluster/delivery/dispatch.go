package delivery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"freshet/internal/clock"
	"freshet/internal/cluster/identity"
	"freshet/internal/sinks"
)

// A DispatchConfig says what a Dispatch goes by. All but Patience and Log is needed.
type DispatchConfig struct {
	Own       string               // address of this node
	Epoch     int64                // of this brain
	LeaseLeft func() time.Duration // for how long from now it is sure to be the leader
	Lease     time.Duration

	Sign  *identity.Signer                                // of this node
	Nodes func(context.Context) ([]string, error)         // addresses of the other nodes that give signs of life
	Do    func(req *http.Request) (*http.Response, error) // sends a request to another node

	Patience time.Duration // the longest that an attempt takes; 0 means that of package sinks
	Log      *slog.Logger  // nil means silence
}

const (
	mostUnderWay = 64              // attempts at one node
	grudge       = time.Minute     // for which a node is not asked again that cannot send to a sink
	slack        = 2 * time.Second // for an answer to come
)

// A Dispatch has nodes make the attempts of a leader.
type Dispatch struct {
	cfg   DispatchConfig
	count clock.Count

	mu    sync.Mutex
	posts map[string]*post // by address
	turns map[string]int   // by sink: how often it was not reached from a node
	own   int              // attempts under way here
}

// A post is another node.
type post struct {
	address string
	there   bool          // it takes orders
	run     string        // of which the count is
	at      time.Duration // its count
	heard   time.Duration // when it was received, by our count: not before
	busy    int
	cannot  map[string]bar // by sink
}

// A bar is why a node cannot send to a sink.
type bar struct {
	until time.Duration // it is not asked before
	why   string
}

// NewDispatch returns a Dispatch.
func NewDispatch(cfg DispatchConfig) *Dispatch {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Patience = cmp.Or(cfg.Patience, sinks.Patience)
	return &Dispatch{cfg: cfg, count: clock.Begin(), posts: map[string]*post{}, turns: map[string]int{}}
}

// Run looks which nodes are there, until ctx is done.
func (d *Dispatch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		d.look(ctx)
		select {
		case <-time.After(d.cfg.Lease / 4):
		case <-ctx.Done():
		}
	}
}

// look asks all nodes whether they take orders.
func (d *Dispatch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Lease/2)
	defer cancel()
	addresses, err := d.cfg.Nodes(ctx)
	if err != nil {
		d.cfg.Log.Debug("which nodes are there cannot be read", "err", err)
		return
	}
	d.mu.Lock()
	for a, p := range d.posts {
		if !slices.Contains(addresses, a) && p.busy == 0 {
			delete(d.posts, a)
		}
	}
	var all []*post
	for _, a := range addresses {
		if d.posts[a] == nil {
			d.posts[a] = &post{address: a, cannot: map[string]bar{}}
		}
		all = append(all, d.posts[a])
	}
	d.mu.Unlock()
	var asking sync.WaitGroup
	for _, p := range all {
		asking.Go(func() { d.greet(ctx, p) })
	}
	asking.Wait()
}

// greet asks a node whether it takes orders, and gives it the right to.
func (d *Dispatch) greet(ctx context.Context, p *post) {
	o := order{}
	d.mu.Lock()
	if p.heard > 0 {
		o.Run, o.Until = p.run, p.at+d.count.Now()-p.heard+d.cfg.LeaseLeft()
	}
	d.mu.Unlock()
	a, err := d.say(ctx, p, o, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && a.Cannot != "" {
		err = errors.New(a.Cannot)
	}
	d.setLocked(p, err)
}

// setLocked notes whether a node takes orders.
func (d *Dispatch) setLocked(p *post, problem error) {
	was := p.there
	p.there = problem == nil
	switch {
	case p.there && !was:
		d.cfg.Log.Info("a node makes deliveries from now on", "node", p.address)
	case was && !p.there:
		d.cfg.Log.Warn("a node makes no deliveries for now; others make them", "node", p.address, "why", problem)
	}
}

// errNotTaken says that a node has done nothing about an order, and is not to be given others.
var errNotTaken = errors.New("the order was not taken")

// errUnknown says that it is not known what a node has done about an order.
var errUnknown = errors.New("it is not known what became of the order")

// say sends an order and returns the answer.
func (d *Dispatch) say(ctx context.Context, p *post, o order, body []byte) (a answer, err error) {
	o.Format, o.Epoch = format, d.cfg.Epoch
	head, err := json.Marshal(o)
	if err != nil {
		return a, errors.Join(errNotTaken, err)
	}
	whole := slices.Concat(head, []byte{'\n'}, body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address+Path, bytes.NewReader(whole))
	if err != nil {
		return a, errors.Join(errNotTaken, err)
	}
	req.GetBody = nil // a request counts once, so that it cannot be sent again by itself
	d.cfg.Sign.Sign(req, p.address, o.Epoch, whole)
	resp, err := d.cfg.Do(req)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return a, errors.Join(errNotTaken, err)
	}
	if err != nil {
		return a, errors.Join(errUnknown, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.Header.Get(RunHeader) == "" { // it is not the node that says so
			return a, fmt.Errorf("%w: %s", errUnknown, resp.Status)
		}
		return a, fmt.Errorf("%w: %s", errNotTaken, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxHead)).Decode(&a); err != nil {
		return a, errors.Join(errUnknown, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p.run, p.at, p.heard = a.Run, a.At, d.count.Now()
	return a, nil
}

// Carry has a message sent to a sink by the node that is to, and returns which did. Here makes the
// attempt in this process.
func (d *Dispatch) Carry(ctx context.Context, s sinks.Sink, m sinks.Message, here func(context.Context) error) (at string, err error) {
	for _, address := range d.ranked(s) {
		p := d.hire(address, s.Name)
		if p == nil && address != d.cfg.Own {
			continue
		}
		if address == d.cfg.Own {
			err = d.sendHere(ctx, here)
		} else {
			var done bool
			done, err = d.order(ctx, p, s, m)
			d.dismiss(p)
			if ctx.Err() != nil && err != nil {
				return address, context.Cause(ctx)
			}
			if !done {
				continue
			}
		}
		d.note(s.Name, err)
		return address, err
	}
	return d.cfg.Own, d.sendHere(ctx, here)
}

func (d *Dispatch) sendHere(ctx context.Context, here func(context.Context) error) error {
	d.mu.Lock()
	d.own++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.own--
		d.mu.Unlock()
	}()
	return here(ctx)
}

// ranked returns the nodes that may send to a sink, the first choice first. A sink stays with its
// node when others come and go. A receiver that was not reached is tried from the next node.
func (d *Dispatch) ranked(s sinks.Sink) []string {
	if sinks.OnItsMachine(s.Kind) {
		return []string{d.cfg.Own}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rankedLocked(s.Name)
}

func (d *Dispatch) rankedLocked(name string) []string {
	all := []string{d.cfg.Own}
	now := d.count.Now()
	for a, p := range d.posts {
		if p.there && now-p.heard < d.cfg.Lease && now >= p.cannot[name].until {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(score(name, b), score(name, a)), cmp.Compare(a, b)) })
	turn := d.turns[name] % len(all)
	return append(slices.Clone(all[turn:]), all[:turn]...)
}

// score is by how much a node is the one for a sink.
func score(sink, address string) uint64 {
	f := fnv.New64a()
	f.Write([]byte(sink))
	f.Write([]byte{0})
	f.Write([]byte(address))
	x := f.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>29
}

// hire returns a node for an attempt, unless it has enough to do.
func (d *Dispatch) hire(address, name string) *post {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.posts[address]
	if p == nil || !p.there || p.busy >= mostUnderWay || d.count.Now() < p.cannot[name].until {
		return nil
	}
	p.busy++
	return p
}

func (d *Dispatch) dismiss(p *post) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.busy--
}

// order has a node make an attempt, and reports whether it did. When it is not known, it has
// waited until the node cannot be at it any more.
func (d *Dispatch) order(ctx context.Context, p *post, s sinks.Sink, m sinks.Message) (done bool, err error) {
	began := d.count.Now()
	right := d.cfg.LeaseLeft()
	window := min(d.cfg.Lease/2, right)
	if window <= 0 { // this process sends nothing then, either
		return false, nil
	}
	d.mu.Lock()
	run, there := p.run, p.at+began-p.heard
	d.mu.Unlock()
	o := order{
		Run: run, Until: there + right, Begin: there + window, Within: d.cfg.Patience,
		Sink: s.Name, Mark: markOf(s), ID: m.ID, Source: m.Source, Query: m.Query,
	}
	over := window + d.cfg.Patience
	asking, cancel := context.WithTimeout(ctx, over+slack)
	defer cancel()
	a, err := d.say(asking, p, o, m.Body)
	switch {
	case err == nil && a.Cannot == "":
		d.unbar(p, s.Name)
		return true, a.Failed.error()
	case err == nil:
		d.avoid(p, s.Name, a)
		return false, nil
	case errors.Is(err, errNotTaken):
		d.leaveOut(p, err)
		return false, nil
	case ctx.Err() != nil:
		return true, err
	}
	d.leaveOut(p, err)
	d.cfg.Log.Warn("a node was lost while it made a delivery; another makes it again", "node", p.address, "sink", s.Name, "event", m.ID, "err", err)
	select {
	case <-time.After(over - (d.count.Now() - began)):
		return false, nil
	case <-ctx.Done():
		return true, err
	}
}

// leaveOut gives a node nothing until it has been asked again whether it takes orders.
func (d *Dispatch) leaveOut(p *post, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setLocked(p, why)
}

// avoid gives a node nothing more for a sink for a while, or nothing at all if it would take nothing.
// Why a node cannot send to a sink is logged once, however often it is asked.
func (d *Dispatch) avoid(p *post, name string, a answer) {
	if a.All {
		d.leaveOut(p, errors.New(a.Cannot))
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	was := p.cannot[name]
	p.cannot[name] = bar{until: d.count.Now() + grudge, why: a.Cannot}
	if was.why != a.Cannot {
		d.cfg.Log.Warn("a node cannot make deliveries to a sink; another node makes them, or this one", "node", p.address, "sink", name, "why", a.Cannot, "hint", a.Hint)
	}
}

// unbar takes note that a node can send to a sink.
func (d *Dispatch) unbar(p *post, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(p.cannot, name)
}

// note has the next node try a receiver that was not reached.
func (d *Dispatch) note(name string, err error) {
	_, refused := errors.AsType[*sinks.Refusal](err)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && !refused {
		d.turns[name]++
	}
}

// A Status says what a node does for sinks.
type Status struct {
	Sinks int // that it delivers to
	Busy  int // attempts under way
}

// Status returns what each node does, by address, for some sinks.
func (d *Dispatch) Status(sinks []sinks.Sink) map[string]Status {
	all := map[string]Status{}
	for _, s := range sinks {
		first := d.ranked(s)[0]
		now := all[first]
		now.Sinks++
		all[first] = now
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for a, p := range d.posts {
		now := all[a]
		now.Busy = p.busy
		all[a] = now
	}
	own := all[d.cfg.Own]
	own.Busy = d.own
	all[d.cfg.Own] = own
	return all
}
