package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/api"
	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/queries"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// A pipeListener hands out one connection in memory, whose deadlines keep the
// virtual time of a test.
type pipeListener struct {
	conns chan net.Conn
}

func (l pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l pipeListener) Close() error   { close(l.conns); return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial serves an API with nothing in it to one connection in memory. Ended is
// closed when the request that comes over it has been dealt with.
func dial(t *testing.T) (conn net.Conn, ended <-chan struct{}) {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	handler := api.New(api.Config{Auth: api.AuthConfig{Gate: insideGate(t, store)}, QueryStore: queries.NewStore(store.DB()), Store: store, Daemon: daemon.New(daemon.Config{Store: store, Policy: kit.Idle{}})})
	done := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		handler.ServeHTTP(w, r)
	})}
	l := pipeListener{make(chan net.Conn, 1)}
	here, there := net.Pipe()
	l.conns <- there
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		here.Close()
		server.Close()
		<-served
		store.Close()
	})
	return here, done
}

func TestStreamGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _ := dial(t)
		begun := time.Now()
		go io.WriteString(conn, "GET /api/v1/changes/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		lines := bufio.NewScanner(conn)
		for lines.Scan() && !strings.Contains(lines.Text(), "still here") {
		}
		if took := time.Since(begun); took != 15*time.Second || lines.Err() != nil {
			t.Errorf("the first sign of life came after %v (%v), want 15s", took, lines.Err())
		}
	})
}

// A client that stops reading is cut off, and does not keep a handler for ever.
func TestStreamCutsOffStuckClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, ended := dial(t)
		go io.WriteString(conn, "GET /api/v1/changes/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		lines := bufio.NewScanner(conn)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "retry:") {
		}
		begun := time.Now()
		<-ended
		if took := time.Since(begun); took > 5*time.Minute {
			t.Errorf("a client that reads nothing was served for %v", took)
		}
	})
}

func TestLongPollEndsAfterItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, ended := dial(t)
		go io.WriteString(conn, "GET /api/v1/changes?wait=2h HTTP/1.1\r\nHost: localhost\r\n\r\n")
		begun := time.Now()
		go io.Copy(io.Discard, conn)
		<-ended
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("a long poll of two hours waited %v, want the minute that is the most", took)
		}
	})
}
