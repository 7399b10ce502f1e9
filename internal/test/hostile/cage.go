package hostile

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// A Cage holds beasts, each at an address of its own on loopback.
type Cage struct {
	beasts    []Beast
	listeners []net.Listener

	talks sync.WaitGroup
	met   atomic.Int64
	done  atomic.Bool
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Open lets so many beasts loose, one of each kind in turn. They serve until the cage
// is closed.
func Open(ctx context.Context, kinds []Beast, n int) (*Cage, error) {
	c := &Cage{conns: map[net.Conn]bool{}}
	for i := range n {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("open the zoo: %w", err)
		}
		c.beasts, c.listeners = append(c.beasts, kinds[i%len(kinds)]), append(c.listeners, l)
		c.talks.Go(func() { c.accept(l, kinds[i%len(kinds)]) })
	}
	return c, nil
}

// accept serves a listener until it is closed.
func (c *Cage) accept(l net.Listener, b Beast) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.met.Add(1)
		c.hold(conn, true)
		c.talks.Go(func() {
			defer c.hold(conn, false)
			b.Talk(conn)
		})
	}
}

// hold notes that a connection is open, or closes it.
func (c *Cage) hold(conn net.Conn, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if open && !c.done.Load() {
		c.conns[conn] = true
		return
	}
	delete(c.conns, conn)
	conn.Close()
}

// URL returns where the ith beast is.
func (c *Cage) URL(i int) string {
	scheme := "http"
	if c.beasts[i].Secure {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s/", scheme, c.listeners[i].Addr())
}

// Size returns how many beasts there are.
func (c *Cage) Size() int { return len(c.beasts) }

// Kind returns which beast the ith is.
func (c *Cage) Kind(i int) Beast { return c.beasts[i] }

// Met returns how many connections were made to beasts so far.
func (c *Cage) Met() int64 { return c.met.Load() }

// Close ends all of them.
func (c *Cage) Close() {
	c.mu.Lock()
	c.done.Store(true)
	for _, l := range c.listeners {
		l.Close()
	}
	for conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.talks.Wait()
}
