package simulate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A network connects the daemon with the servers of the simulated web, over
// pipes. It has the only truth about what was sent when.
type network struct {
	*world
	servers map[string]server // by host

	mu    sync.Mutex
	calm  bool
	lines map[*life][]net.Conn // open, of each life of the daemon
	seen  map[string]int       // requests so far, by host
}

// A server answers requests on a line. It returns false to hang up.
type server interface {
	answer(r *request, line net.Conn) bool
}

// A request is one that arrived at a server.
type request struct {
	*http.Request
	host string
	n    int // of this host's requests
	at   time.Time
	body []byte
	life *life
}

// newNetwork returns a network without servers.
func newNetwork(w *world) *network {
	return &network{world: w, servers: map[string]server{}, lines: map[*life][]net.Conn{}, seen: map[string]int{}}
}

// resolve gives each host an address of its own.
func (n *network) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	for i, name := range n.hosts() {
		if name == host {
			return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, byte(i + 1)})}, nil
		}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// hosts returns the names of all servers, sorted.
func (n *network) hosts() []string { return sortedKeys(n.servers) }

// connect opens a line from a life of the daemon to a server.
func (n *network) connect(ctx context.Context, from *life, to netip.AddrPort) (net.Conn, error) {
	host := n.hosts()[to.Addr().As4()[3]-1]
	n.mu.Lock()
	n.seen["dial "+host]++
	rng := n.chance("dial "+host, n.seen["dial "+host])
	calm := n.calm
	n.mu.Unlock()
	wait := pause(rng, 100*time.Microsecond, 80*time.Millisecond)
	hang := !calm && oneIn(rng, n.plan.hang)
	if hang {
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-from.gone:
		return nil, syscall.ENETUNREACH
	}
	if !calm && oneIn(rng, n.plan.refuse) {
		n.say("connection to %s refused", host)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	if !n.keep(from, near, far) {
		return nil, syscall.ENETUNREACH
	}
	go n.serve(host, n.servers[host], from, far)
	return near, nil
}

// keep remembers the ends of a line, so that they break when the life ends. It
// reports whether the life still lasts.
func (n *network) keep(of *life, ends ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if of.dead {
		for _, c := range ends {
			c.Close()
		}
		return false
	}
	n.lines[of] = append(n.lines[of], ends...)
	return true
}

// cut breaks all lines of a life of the daemon: nothing that it does from now on
// can be seen.
func (n *network) cut(of *life) {
	n.mu.Lock()
	if !of.dead {
		of.dead = true
		close(of.gone)
	}
	lines := n.lines[of]
	delete(n.lines, of)
	n.mu.Unlock()
	for _, c := range lines {
		c.Close()
	}
}

// isCalm reports whether the network is to work without faults.
func (n *network) isCalm() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calm
}

// becalm ends all faults of the network.
func (n *network) becalm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calm = true
}

// serve answers the requests on a line.
func (n *network) serve(host string, s server, from *life, line net.Conn) {
	defer line.Close()
	in := bufio.NewReader(line)
	for {
		hr, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(hr.Body)
		if err != nil {
			return
		}
		n.mu.Lock()
		n.seen[host]++
		r := &request{Request: hr, host: host, n: n.seen[host], at: time.Now(), body: body, life: from}
		n.mu.Unlock()
		if !s.answer(r, line) {
			return
		}
	}
}

// write sends an answer as HTTP/1.1. A length below zero is that of the body.
func write(line net.Conn, status int, header http.Header, body []byte, length int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, key := range sortedKeys(header) {
		fmt.Fprintf(&b, "%s: %s\r\n", key, header.Get(key))
	}
	if length < 0 {
		length = len(body)
	}
	if status != http.StatusNotModified {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", length)
	}
	b.WriteString("\r\n")
	b.Write(body)
	_, err := io.WriteString(line, b.String())
	return err
}

// isDead reports whether a life of the daemon is over.
func (n *network) isDead(l *life) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return l.dead
}
