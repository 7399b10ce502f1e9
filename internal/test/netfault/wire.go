// Package netfault is a way between two programs that is slow, goes dead or breaks at a test's
// word. It passes on TCP connections, and stands where a network would.
package netfault

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A Wire listens on an address of its own and passes on every connection to another one.
type Wire struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	to      string
	state   State
	changed chan struct{} // closed when state changes
	closed  bool
	passing map[*passage]struct{}
}

// A State is what a wire is like. The zero State is a good one.
type State struct {
	Delay time.Duration // of everything that is sent, either way

	// Out and In hold back what the dialling side sends and receives, including that a
	// side has closed. As on a network that is cut, nothing is lost that is held: it goes on
	// when the wire is good again, unless a side has given up. Connections are still taken.
	Out, In bool

	Refuse bool // connections that are made now are broken at once
}

// Dead is a wire on which nothing goes either way.
var Dead = State{Out: true, In: true}

// New returns a good wire to an address. It must be closed.
func New(to string) (*Wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Wire{listener: l, to: to, changed: make(chan struct{}), passing: map[*passage]struct{}{}}
	w.serving.Go(w.accept)
	return w, nil
}

// Address returns where the wire listens.
func (w *Wire) Address() string { return w.listener.Addr().String() }

// Lead has connections that are made from now on go to another address.
func (w *Wire) Lead(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
}

// Set changes what the wire is like, for connections that there are, too.
func (w *Wire) Set(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
	close(w.changed)
	w.changed = make(chan struct{})
}

// Cut breaks all connections that there are, for both sides, and returns how many.
func (w *Wire) Cut() int {
	all := w.all()
	for _, p := range all {
		p.end()
	}
	return len(all)
}

// Orphan breaks all connections for the dialling side, and returns how many. The other side
// does not learn of it, as if a machine had lost its power.
func (w *Wire) Orphan() int {
	all := w.all()
	for _, p := range all {
		p.orphan()
	}
	return len(all)
}

// Close breaks all connections and takes no more.
func (w *Wire) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	err := w.listener.Close()
	w.Cut()
	w.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (w *Wire) all() (found []*passage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.passing {
		found = append(found, p)
	}
	return found
}

// accept takes connections until the wire is closed.
func (w *Wire) accept() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.serving.Go(func() { w.pass(c.(*net.TCPConn)) })
	}
}

// A passage is one connection with both its ends.
type passage struct {
	wire    *Wire
	near    *net.TCPConn // to the dialling side
	far     *net.TCPConn
	over    chan struct{}
	finish  sync.Once
	orphans sync.Once
	alone   chan struct{} // closed when the near end is broken and the far one is not to know
}

// pass passes on what comes over a connection until that is over.
func (w *Wire) pass(near *net.TCPConn) {
	w.mu.Lock()
	to, refuse := w.to, w.state.Refuse || w.closed
	w.mu.Unlock()
	if refuse {
		abort(near)
		return
	}
	dialled, err := net.DialTimeout("tcp", to, 10*time.Second)
	if err != nil {
		abort(near)
		return
	}
	p := &passage{wire: w, near: near, far: dialled.(*net.TCPConn), over: make(chan struct{}), alone: make(chan struct{})}
	w.mu.Lock()
	late := w.closed
	w.passing[p] = struct{}{}
	w.mu.Unlock()
	if late {
		p.end()
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.carry(p.far, p.near, func(s State) bool { return s.Out }) })
	ways.Go(func() { p.carry(p.near, p.far, func(s State) bool { return s.In }) })
	ways.Wait()
	p.end()
	w.mu.Lock()
	delete(w.passing, p)
	w.mu.Unlock()
}

// abort closes a connection so that the other side sees it break.
func abort(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close() // it may be broken already
}

// end breaks both ends.
func (p *passage) end() {
	p.finish.Do(func() {
		close(p.over)
		abort(p.near)
		abort(p.far)
	})
}

// orphan breaks the near end. The far one stays until the wire is cut, or its side closes.
func (p *passage) orphan() {
	p.orphans.Do(func() {
		close(p.alone)
		abort(p.near)
	})
}

// carry carries what one end sends to the other, until it is over.
func (p *passage) carry(to, from *net.TCPConn, held func(State) bool) {
	room := make([]byte, 64<<10)
	for {
		n, err := from.Read(room)
		if !p.wait(held) {
			return
		}
		if n > 0 {
			if _, err := to.Write(room[:n]); err != nil {
				p.broken()
				return
			}
		}
		if err != nil {
			p.close(to, from)
			return
		}
	}
}

// wait returns when something may go on, and reports whether the connection is still there.
func (p *passage) wait(held func(State) bool) bool {
	for {
		p.wire.mu.Lock()
		state, changed := p.wire.state, p.wire.changed
		p.wire.mu.Unlock()
		late := time.After(state.Delay)
		if held(state) {
			late = nil
		}
		select {
		case <-late:
			select {
			case <-p.over:
				return false
			default:
				return true
			}
		case <-changed:
		case <-p.over:
			return false
		}
	}
}

// close tells an end that the other has closed, unless it is not to know.
func (p *passage) close(to, from *net.TCPConn) {
	select {
	case <-p.over: // it is broken for both
	case <-p.alone:
		if from == p.near {
			<-p.over
			return
		}
		p.end()
	default:
		_ = to.CloseWrite() // it may be broken already
	}
}

// broken ends the connection if a side of it does not take anything any more.
func (p *passage) broken() {
	select {
	case <-p.alone: // what comes for the one that is gone is lost
	default:
		p.end()
	}
}
