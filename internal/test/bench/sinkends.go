package bench

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"freshet/client"
)

// endpoints are receivers of webhooks, each at an address of its own, of which the first ones
// fail.
type endpoints struct {
	urls     []string
	failing  int
	server   *http.Server
	closing  chan struct{}
	mu       sync.Mutex
	took     []float64 // seconds, of what healthy ones were told
	seen     map[string]bool
	repeated int
}

// failures are the ways in which endpoints fail.
var failures = []func(e *endpoints, w http.ResponseWriter, r *http.Request){
	nil, // nobody listens
	func(_ *endpoints, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	},
	func(e *endpoints, _ http.ResponseWriter, r *http.Request) { e.hang(r) },
	func(_ *endpoints, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
	},
	func(_ *endpoints, w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0) // a reset
			}
			conn.Close()
		}
	},
	func(e *endpoints, w http.ResponseWriter, r *http.Request) { e.drip(w, r) },
}

// openEndpoints opens so many endpoints, of which so many fail.
func openEndpoints(n, failing int) (*endpoints, error) {
	e := &endpoints{failing: failing, seen: map[string]bool{}, closing: make(chan struct{})}
	e.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	mux := http.NewServeMux()
	e.server.Handler = mux
	mux.HandleFunc("/", e.receive)
	for i, fail := range failures {
		if fail != nil {
			mux.HandleFunc(failurePath(i), func(w http.ResponseWriter, r *http.Request) { fail(e, w, r) })
		}
	}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
		path := "/"
		if i < failing {
			path = failurePath(i % len(failures))
		}
		e.urls = append(e.urls, "http://"+l.Addr().String()+path)
		if i < failing && failures[i%len(failures)] == nil {
			l.Close()
			continue
		}
		go e.server.Serve(l) // ends with close
	}
	return e, nil
}

func failurePath(i int) string { return "/fail/" + string(rune('a'+i)) }

func (e *endpoints) fails(i int) bool { return i < e.failing }

// receive is what a healthy endpoint does.
func (e *endpoints) receive(w http.ResponseWriter, r *http.Request) {
	var event client.Event
	err := json.NewDecoder(r.Body).Decode(&event)
	now := time.Now()
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := r.Header.Get("webhook-id") // which is another for each endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen[id] {
		e.repeated++
		return
	}
	e.seen[id] = true
	e.took = append(e.took, now.Sub(event.Time).Seconds())
}

// hang answers nothing until the sender goes away.
func (e *endpoints) hang(r *http.Request) {
	io.Copy(io.Discard, r.Body) // or its going away is not seen
	select {
	case <-r.Context().Done():
	case <-e.closing:
	}
}

// drip answers a byte a second.
func (e *endpoints) drip(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusInternalServerError)
	for {
		w.Write([]byte("."))
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-e.closing:
			return
		case <-time.After(time.Second):
		}
	}
}

// tally returns what healthy endpoints were told.
func (e *endpoints) tally() (received, repeated int, t Took) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.took), e.repeated, tookOf(e.took)
}

func (e *endpoints) close() error {
	close(e.closing)
	return e.server.Close()
}
