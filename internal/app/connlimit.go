package app

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// A limitedListener bounds the number of open connections, of all clients together and of each
// address. It closes one more at once, so that the others go on.
type limitedListener struct {
	net.Listener
	most    int
	exempt  []netip.Prefix // reverse proxies, which connect for many clients
	mu      sync.Mutex
	open    int
	clients map[netip.Addr]int // connections by address; of IPv6 by network
}

// writeBuffer is how many bytes the kernel takes for a client that does not read. Left to
// itself it takes megabytes, and a stream of changes finds out only after hours that nobody
// reads it.
const writeBuffer = 128 << 10

// limitConns bounds how many clients are connected at once. One address has a quarter of the
// places at most, unless it is this machine or one of the proxies.
func limitConns(l net.Listener, proxies []netip.Prefix) net.Listener {
	most := 1024
	if files := openFiles(); files > 0 {
		most, _ = shareFiles(files)
	}
	return &limitedListener{Listener: l, most: most, exempt: proxies, clients: map[netip.Addr]int{}}
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := l.client(c.RemoteAddr())
		if !l.admit(client) {
			c.Close()
			continue
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(writeBuffer) // without it the kernel decides
		}
		return &limitedConn{Conn: c, leave: sync.OnceFunc(func() { l.release(client) })}, nil
	}
}

// client returns the address to count a connection by; the zero Addr if it is exempt.
func (l *limitedListener) client(at net.Addr) netip.Addr {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	addr := tcp.AddrPort().Addr().Unmap()
	if addr.IsLoopback() || slices.ContainsFunc(l.exempt, func(p netip.Prefix) bool { return p.Contains(addr) }) {
		return netip.Addr{}
	}
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return addr
}

func (l *limitedListener) admit(client netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most || client.IsValid() && l.clients[client] >= max(1, l.most/4) {
		return false
	}
	l.open++
	if client.IsValid() {
		l.clients[client]++
	}
	return true
}

func (l *limitedListener) release(client netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if client.IsValid() {
		if l.clients[client]--; l.clients[client] == 0 {
			delete(l.clients, client)
		}
	}
}

// A limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
