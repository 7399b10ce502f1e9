package browser

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A proxy is the only network that a browser has. It ends TLS itself, so that the
// visit sees every request and not only which hosts are reached.
type proxy struct {
	visit     *visit
	authority *authority
	server    *http.Server

	mu      sync.Mutex
	tunnels map[net.Conn]bool // taken over from the server
	closed  bool
}

func newProxy(v *visit, a *authority) *proxy {
	p := &proxy{visit: v, authority: a, tunnels: map[net.Conn]bool{}}
	p.server = p.serverFor(p)
	return p
}

// serverFor returns a server with the limits that hold for the browser too: it may
// have been broken into.
func (p *proxy) serverFor(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 30 * time.Second,
		MaxHeaderBytes:    256 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
}

// serve answers the browser until the proxy is closed.
func (p *proxy) serve(l net.Listener) { p.server.Serve(l) }

// close ends all connections.
func (p *proxy) close() {
	p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for conn := range p.tunnels {
		conn.Close()
	}
}

// keep remembers a connection that is no longer the server's, and forget drops it.
func (p *proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tunnels[conn] = true
	return !p.closed
}

func (p *proxy) forget(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tunnels, conn)
	conn.Close()
}

// ServeHTTP answers a request that came to the proxy as such.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r.Host)
	case r.URL.IsAbs() && r.URL.Scheme == "http":
		p.visit.ServeHTTP(w, r)
	default:
		http.Error(w, "not a request for a proxy", http.StatusBadRequest)
	}
}

// tunnel takes a connection for that to a host, and answers what comes over it. No
// connection to the host is made before there is a request for it.
func (p *proxy) tunnel(w http.ResponseWriter, host string) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "no tunnel", http.StatusInternalServerError)
		return
	}
	defer p.forget(conn)
	if !p.keep(conn) {
		return
	}
	conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return
	}
	scheme, inner := "http", net.Conn(bufferedConn{conn, buffered.Reader})
	if first, err := buffered.Peek(1); err != nil {
		return
	} else if first[0] == tlsHandshake {
		scheme, inner = "https", tls.Server(inner, p.authority.config(name))
	}
	if scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		host = hostOnly(name)
	}
	l := newOnce(inner)
	p.serverFor(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := url.ParseRequestURI(r.RequestURI)
		if err != nil || target.IsAbs() || r.Method == http.MethodConnect {
			http.Error(w, "not a request for a server", http.StatusBadRequest)
			return
		}
		r.URL = target
		r.URL.Scheme, r.URL.Host = scheme, host // whatever the Host header says
		p.visit.ServeHTTP(w, r)
	})).Serve(l)
	<-l.done
}

// hostOnly returns a host without a port, as it is in a URL.
func hostOnly(name string) string {
	if ip := net.ParseIP(name); ip != nil && ip.To4() == nil {
		return "[" + name + "]"
	}
	return name
}

// tlsHandshake is the first byte of a client that wants to speak TLS.
const tlsHandshake = 0x16

// A bufferedConn is a connection of which something has been read ahead.
type bufferedConn struct {
	net.Conn
	from *bufio.Reader
}

// Read reads from the connection.
func (c bufferedConn) Read(p []byte) (int, error) { return c.from.Read(p) }

// A once is a listener with one connection. It ends when the connection does.
type once struct {
	conn chan net.Conn
	addr net.Addr
	done chan struct{}
}

func newOnce(conn net.Conn) *once {
	o := &once{conn: make(chan net.Conn, 1), addr: conn.LocalAddr(), done: make(chan struct{})}
	o.conn <- closeTold{conn, sync.OnceFunc(func() { close(o.done) })}
	return o
}

var errServed = errors.New("served")

// Accept returns the connection, and then waits for its end.
func (o *once) Accept() (net.Conn, error) {
	select {
	case c := <-o.conn:
		return c, nil
	case <-o.done:
		return nil, errServed
	}
}

// Close does nothing: the connection closes itself.
func (o *once) Close() error { return nil }

// Addr returns where the browser reached us.
func (o *once) Addr() net.Addr { return o.addr }

// A closeTold is a connection that tells when it is closed.
type closeTold struct {
	net.Conn
	told func()
}

// Close closes the connection and tells.
func (c closeTold) Close() error {
	defer c.told()
	return c.Conn.Close()
}

// listenHere opens the proxy in the network of this process.
func listenHere(ctx context.Context) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}
