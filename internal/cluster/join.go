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

// Path is where a leader takes in workers.
const Path = "/cluster/hand"

// protocol is what a worker asks a connection to become.
const protocol = "freshet-hand"

// LeaderHeader is where a node that is not the leader says where the leader is.
const LeaderHeader = "Freshet-Brain"

// Redirect tells a worker where the leader is, on a node that is not the leader; "" means that there
// is none at the moment. The token and admit are as in Config.
func Redirect(w http.ResponseWriter, r *http.Request, brain, token string, admit func(context.Context, string) (bool, error)) {
	if _, ok := admitted(w, r, token, admit); !ok {
		return
	}
	w.Header().Set("Retry-After", "1")
	if brain != "" {
		w.Header().Set(LeaderHeader, brain)
	}
	http.Error(w, "this node is not the leader", http.StatusServiceUnavailable)
}

// ServeHTTP takes in a worker. It returns when the worker is gone.
func (h *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, ok := admitted(w, r, h.cfg.Token(), h.cfg.Admit)
	if !ok {
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), protocol) {
		w.Header().Set("Upgrade", protocol)
		http.Error(w, "here workers of freshet join: freshet worker --join URL", http.StatusUpgradeRequired)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "this connection cannot become a stream; join over HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(sendPatience))
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol); err != nil {
		return
	}
	if err := h.host(conn, buffered.Reader, r.RemoteAddr, token); err != nil {
		h.cfg.Log.Warn("a worker was turned away", "address", r.RemoteAddr, "err", err)
	}
}

// admitted reports whether the sender of a request may join, and answers if not. It returns the token
// that was shown.
func admitted(w http.ResponseWriter, r *http.Request, want string, admit func(context.Context, string) (bool, error)) (string, bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	ok, err := isGood(r.Context(), token, want, admit)
	switch {
	case err != nil: // a worker that may join tries again
		w.Header().Set("Retry-After", "1")
		http.Error(w, "it cannot be told now who this is", http.StatusServiceUnavailable)
	case !ok:
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a worker needs the token of its leader: see --token-file", http.StatusUnauthorized)
	}
	return token, ok && err == nil
}

// isGood reports whether a token is that of workers, or one that was given out for a worker.
func isGood(ctx context.Context, token, want string, admit func(context.Context, string) (bool, error)) (bool, error) {
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

// host works with a worker until it is gone. The error is why it was not let in.
func (h *Pool) host(conn net.Conn, in *bufio.Reader, address, token string) error {
	l := &link{
		pool: h, stream: newStream(conn, in, h.cfg.Body), address: address, token: token, since: time.Now(),
		gone: make(chan struct{}), errands: map[uint64]*underway{},
		extra: 2 * (max(0, h.cfg.Redirects) + 1), // as many as one look takes: to come again brings nothing
	}
	f, err := l.stream.receive(nil)
	if err == nil && f.Kind != hello {
		err = fmt.Errorf("it said %q before hello", f.Kind)
	}
	if err == nil {
		err = f.hear(&l.hello)
	}
	if err == nil {
		err = l.hello.check()
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
	l.mark = markOf(l.hello.Name)
	l.stream.moved = l.moved
	l.hear()
	taken := ""
	if l.hello.Version == version { // it is given nothing before its first ping
		taken = h.add(l)
	}
	err = l.say(welcome, 0, welcomeMessage{Version: version, Epoch: h.cfg.Epoch, Lease: h.cfg.Lease, Agent: h.cfg.Agent, Total: h.cfg.Total, Taken: taken})
	switch {
	case taken != "":
		return fmt.Errorf("another worker of the name %s is at work, from %s", l.hello.Name, taken)
	case l.hello.Version != version:
		return fmt.Errorf("it speaks version %d of the protocol, and this is %d: run the same version of freshet on both", l.hello.Version, version)
	case err != nil:
		h.drop(l)
		return err
	}
	_ = conn.SetReadDeadline(time.Time{})
	h.cfg.Log.Info("a worker has come", "worker", l.hello.Name, "address", address, "slots", l.hello.Slots, "place", l.hello.Place)
	go l.watch()
	go l.guard()
	err = l.listen()
	h.drop(l)
	h.cfg.Log.Info("a worker has gone", "worker", l.hello.Name, "address", address, "why", err)
	return nil
}

// check returns why a worker cannot be let in.
func (s *helloMessage) check() error {
	switch {
	case s.Name == "" || len(s.Name) > 100 || strings.ContainsFunc(s.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return errors.New("it has no name, or one that is too long or cannot be printed")
	case s.Slots < 1 || s.Slots > 100_000:
		return fmt.Errorf("it has %d slots", s.Slots)
	}
	return freshet.CheckPlace("place", s.Place)
}
