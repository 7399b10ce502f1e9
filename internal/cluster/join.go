package cluster

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"freshet/internal/freshet"
)

// Path is the URL path at which workers join a leader.
const Path = "/cluster/hand"

// protocol is the value of the Upgrade header.
const protocol = "freshet-hand"

// LeaderHeader is the response header in which a node that is not the leader gives the address of
// the leader.
const LeaderHeader = "Freshet-Brain"

// Redirect sends a worker from this node to the leader at the address leader, which is empty if no
// leader is known. See [Config] for token and admit.
func Redirect(w http.ResponseWriter, r *http.Request, leader, token string, admit func(context.Context, string) (bool, error)) {
	if _, ok := authenticate(w, r, token, admit); !ok {
		return
	}
	w.Header().Set("Retry-After", "1")
	if leader != "" {
		w.Header().Set(LeaderHeader, leader)
	}
	http.Error(w, "this node is not the leader", http.StatusServiceUnavailable)
}

// ServeHTTP lets a worker join. It returns when the worker is gone.
func (h *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := authenticate(w, r, h.cfg.Token(), h.cfg.Admit)
	if !ok {
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), protocol) {
		w.Header().Set("Upgrade", protocol)
		http.Error(w, "this is the endpoint for workers: freshet cluster worker --join URL", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be upgraded; join over HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol); err != nil {
		return
	}
	if err := h.serve(conn, buffered.Reader, r.RemoteAddr, token); err != nil {
		h.cfg.Log.Warn("worker rejected", "address", r.RemoteAddr, "err", err)
	}
}

// authenticate returns the token of a request and whether it entitles the sender to join. If not,
// it writes the response.
func authenticate(w http.ResponseWriter, r *http.Request, want string, admit func(context.Context, string) (bool, error)) (string, bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	ok, err := validToken(r.Context(), token, want, admit)
	switch {
	case err != nil: // the worker retries
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the token cannot be verified at the moment", http.StatusServiceUnavailable)
	case !ok:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a worker needs the token of its leader: see --token-file", http.StatusUnauthorized)
	}
	return token, ok && err == nil
}

// validToken reports whether token is the shared token want or one that admit accepts.
func validToken(ctx context.Context, token, want string, admit func(context.Context, string) (bool, error)) (bool, error) {
	if token == "" || want == "" {
		return false, nil
	}
	if subtle.ConstantTimeCompare([]byte(token), []byte(want)) == 1 {
		return true, nil
	}
	if admit == nil {
		return false, nil
	}
	return admit(ctx, token)
}

// serve works with a worker until it is gone. It returns an error if the worker may not join.
func (h *Pool) serve(conn net.Conn, in *bufio.Reader, address, token string) error {
	l := &link{
		pool: h, stream: newStream(conn, in, h.cfg.Body), address: address, token: token, since: time.Now(),
		gone: make(chan struct{}), running: map[uint64]*runningTask{},
		extraRequests: 2 * (max(0, h.cfg.Redirects) + 1), // one poll's worth, so that a worker gains nothing by reconnecting
	}
	f, err := l.stream.receive(nil)
	if err == nil && f.Kind != hello {
		err = fmt.Errorf("the worker sent %q before hello", f.Kind)
	}
	if err == nil {
		err = f.decode(&l.hello)
	}
	if err == nil {
		err = l.hello.validate()
	}
	if err != nil {
		return err
	}
	if h.cfg.Trusts != nil {
		ctx, cancel := context.WithTimeout(context.Background(), h.cfg.Lease)
		l.trusted, err = h.cfg.Trusts(ctx, token)
		cancel()
		if err != nil {
			return err
		}
	}
	l.nameHash = hashName(l.hello.Name)
	l.stream.onProgress = l.progressed
	l.touch()
	taken := ""
	if l.hello.Version == version { // it gets no task before its first ping
		taken = h.add(l)
	}
	err = l.send(welcome, 0, welcomeMessage{Version: version, Epoch: h.cfg.Epoch, Lease: h.cfg.Lease, Agent: h.cfg.Agent, Total: h.cfg.Total, Taken: taken})
	switch {
	case taken != "":
		return fmt.Errorf("another worker named %s is connected from %s", l.hello.Name, taken)
	case l.hello.Version != version:
		return fmt.Errorf("the worker speaks version %d of the protocol and the leader version %d: run the same version of freshet on both", l.hello.Version, version)
	case err != nil:
		h.remove(l)
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	h.cfg.Log.Info("worker connected", "worker", l.hello.Name, "address", address, "slots", l.hello.Slots, "place", l.hello.Place)
	go l.watchSilence()
	go l.watchToken()
	err = l.readFrames()
	h.remove(l)
	h.cfg.Log.Info("worker disconnected", "worker", l.hello.Name, "address", address, "why", err)
	return nil
}

// validate returns an error if the worker may not join.
func (s *helloMessage) validate() error {
	switch {
	case s.Name == "" || len(s.Name) > 100 || strings.ContainsFunc(s.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("the name of the worker is empty, too long or not printable")
	case s.Slots < 1 || s.Slots > 100_000:
		return fmt.Errorf("the worker has %d slots; it must have 1 to 100000", s.Slots)
	}
	return freshet.CheckPlace("place", s.Place)
}
