package fetch_test

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// TestMain silences what net/http logs of servers that say more than they were
// asked.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	m.Run()
}

// loopback opens the range that test servers listen in.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func listen(t testing.TB, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A wire is a listener that counts the connections that should not arrive.
type wire struct {
	addr string
	n    atomic.Int32
}

func (w *wire) count() int32 { return w.n.Load() }

func tripwire(t *testing.T) *wire {
	t.Helper()
	l := listen(t, "127.0.0.1")
	w := &wire{addr: l.Addr().String()}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			w.n.Add(1)
			conn.Close()
		}
	}()
	return w
}

// serve returns the address of a server that treats each connection as talk
// does, and closes it after that.
func serve(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	l := listen(t, "127.0.0.1")
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// hear reads one request header.
func hear(conn net.Conn) bool {
	var got strings.Builder
	b := make([]byte, 1)
	for !strings.HasSuffix(got.String(), "\r\n\r\n") {
		if _, err := conn.Read(b); err != nil {
			return false
		}
		got.Write(b)
	}
	return true
}

// say answers one request with reply as it is, and hangs up.
func say(reply string) func(net.Conn) {
	return func(conn net.Conn) {
		if hear(conn) {
			io.WriteString(conn, reply)
		}
	}
}

// web starts an ordinary server and returns its URL.
func web(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// newClient returns a client that may connect to loopback.
func newClient(t *testing.T, c fetch.Config) *fetch.Client {
	t.Helper()
	c.Allow = append(c.Allow, loopback...)
	client := fetch.New(c)
	t.Cleanup(client.CloseIdle)
	return client
}

// outcome returns how a fetch ended, in one word.
func outcome(res freshet.Response, err error) string {
	failure, ok := errors.AsType[*freshet.FetchError](err)
	switch {
	case ok:
		return string(failure.Class)
	case err != nil:
		return "an error without a class: " + err.Error()
	case res.NotModified:
		return "unchanged"
	}
	return "captured"
}

func wantClass(t *testing.T, err error, want failure.Class) {
	t.Helper()
	failure, ok := errors.AsType[*freshet.FetchError](err)
	if !ok {
		t.Fatalf("got error %v, want one of class %s", err, want)
	}
	if !failure.Class.Is(want) {
		t.Fatalf("got class %s (%v), want %s", failure.Class, err, want)
	}
}

// quiet keeps test servers from complaining about what tests do to them.
var quiet = log.New(io.Discard, "", 0)
