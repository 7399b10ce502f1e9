package app_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"freshet/internal/app"
	"freshet/internal/cluster/identity"
	"freshet/internal/test/kit"
)

// A tap is a wire on which somebody listens.
type tap struct {
	net.Listener
	to atomic.Pointer[string]

	mu   sync.Mutex
	sent []*bytes.Buffer // by clients, one for each connection
}

// newTap returns a wire that leads nowhere yet.
func newTap(t *testing.T) *tap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

// carry connects a client.
func (w *tap) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", *w.to.Load())
	if err != nil {
		return
	}
	defer far.Close()
	heard := &bytes.Buffer{}
	w.mu.Lock()
	w.sent = append(w.sent, heard)
	w.mu.Unlock()
	go func() { _, _ = io.Copy(near, far); near.Close() }()
	_, _ = io.Copy(far, io.TeeReader(near, writerFunc(func(p []byte) (int, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return heard.Write(p)
	})))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// heard returns all that clients have sent.
func (w *tap) heard() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all strings.Builder
	for _, b := range w.sent {
		all.Write(b.Bytes())
	}
	return all.String()
}

// An attacker reads the requests between two nodes without TLS and reuses all that is in them, but adds no admin and
// repeats no request.
func TestListenerBetweenNodes(t *testing.T) {
	c := newCrew(t)
	wire := newTap(t)
	s := c.settings()
	s.Cluster.Advertise = "http://" + wire.Addr().String()
	leader := c.serveWith(s)
	address := strings.TrimPrefix(leader.url, "http://")
	wire.to.Store(&address)
	standby := c.serve()
	own, err := app.ReadAddress(standby.data)
	if err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "the standby adds a user", func() bool {
		resp, _ := c.ask(own.Token, "POST", standby.url+"/api/v1/users", `{"name":"ada","role":"admin","password":"a long password"}`)
		return resp.StatusCode == http.StatusCreated
	})
	c.wants(http.StatusCreated, own.Token, "POST", standby.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`)
	heard := wire.heard()
	if strings.Contains(heard, own.Token) || !strings.Contains(heard, "\r\n"+identity.Header+": ") {
		t.Fatalf("the nodes say to each other:\n%s", heard)
	}
	evil := `{"name":"eve","role":"admin","password":"another password"}`
	in := bufio.NewReader(strings.NewReader(heard))
	seen := 0
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			break
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Fatal(err)
		}
		if req.Header.Get(identity.Header) == "" {
			continue
		}
		seen++
		var headers []string
		for name, values := range req.Header {
			headers = append(headers, name, values[0])
		}
		for _, at := range []*member{leader, standby} {
			c.wants(http.StatusForbidden, "", req.Method, at.url+req.URL.RequestURI(), string(body), headers...)
			c.wants(http.StatusForbidden, "", "POST", at.url+"/api/v1/users", evil, headers...)
			c.wants(http.StatusUnauthorized, "", "POST", at.url+"/api/v1/users", evil, identity.CallerHeader, "data directory", "X-Forwarded-For", "127.0.0.1")
			for _, word := range strings.Fields(req.Header.Get(identity.Header)) {
				c.wants(http.StatusUnauthorized, word, "POST", at.url+"/api/v1/users", evil)
			}
		}
	}
	if seen == 0 {
		t.Error("no signed request was seen")
	}
	if _, text := c.wants(http.StatusOK, own.Token, "GET", standby.url+"/api/v1/users", ""); strings.Contains(text, "eve") {
		t.Errorf("the users are %s", text)
	}
}
