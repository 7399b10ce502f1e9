package delivery_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/cluster/delivery"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
	"freshet/internal/test/netfault"
)

const (
	lease    = 3 * time.Second / 2 // half of it must be enough for a loaded machine to answer
	patience = 2 * time.Second
	grace    = patience / 4 // after which a receiver must have heard that a message was cut off
)

// A receiver takes messages, and says by whom.
type receiver struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request) // may be nil

	mu   sync.Mutex
	by   []string // nodes, in the order in which they sent
	body []byte
	came chan struct{} // is told of each that came

	under   chan struct{} // holds what is under way
	crowded bool          // two were under way at once
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{came: make(chan struct{}, 100), under: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.by, r.body = append(r.by, req.Header.Get("X-By")), body
	r.mu.Unlock()
	r.came <- struct{}{}
	select {
	case r.under <- struct{}{}:
		defer func() { <-r.under }()
	case <-time.After(grace):
		r.mu.Lock()
		r.crowded = true
		r.mu.Unlock()
	}
	if r.answer != nil {
		r.answer(w, req)
	}
}

func (r *receiver) senders() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.by)
}

// outletOf returns the outlet of a sink as a node has it.
func outletOf(name string, s sinks.Sink, c fetch.Config) (*sinks.Outlet, error) {
	do := fetch.NewEgress(c).Do
	return sinks.Open(sinks.Config{
		CheckURL: c.CheckURL, Dial: c.Dialer, TLS: c.TLS, Secrets: auth.Secrets{Env: func(string) string { return map[string]string{"leader": "known to the leader"}[name] }},
		Do: func(r *http.Request) (*http.Response, error) {
			r.Header.Set("X-By", name)
			return do(r)
		},
	}, s)
}

// open lets everything on this machine be reached.
func open() fetch.Config {
	return fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolver: toItself}
}

// A helper is a node that stands by.
type helper struct {
	*delivery.Sender
	name  string
	wire  *netfault.Wire
	leads atomic.Int64 // the epoch that it hears of
	sinks map[string]sinks.Sink
	fetch fetch.Config

	stranger *identity.Signer // is not a node

	unknown error  // of a sink that it does not know
	looking func() // is called when it looks for a sink; may be nil
}

// newHelper starts a node behind a wire.
func newHelper(t *testing.T, name string, to ...sinks.Sink) *helper {
	return newHelperAt(t, name, "", to...)
}

// newHelperAt starts a node that advertises an address, by default that of its wire.
func newHelperAt(t *testing.T, name, advertised string, to ...sinks.Sink) *helper {
	h := &helper{name: name, sinks: map[string]sinks.Sink{}, fetch: open(), stranger: identity.NewSigner()}
	h.leads.Store(1)
	for _, s := range to {
		h.sinks[s.Name] = s
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(delivery.RunHeader, name)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var err error
	if h.wire, err = netfault.New(server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	h.Sender = delivery.New(delivery.Config{
		Find: func(_ context.Context, name string) (sinks.Sink, error) {
			if h.looking != nil {
				h.looking()
			}
			s, ok := h.sinks[name]
			if !ok {
				return s, cmp.Or(h.unknown, errors.New("there is no such sink"))
			}
			return s, nil
		},
		Open: func(s sinks.Sink, may func() error) (*sinks.Outlet, error) {
			c := h.fetch
			c.May = may
			return outletOf(h.name, s, c)
		},
		Verify: identity.NewVerifier(cmp.Or(advertised, h.address()), func(_ context.Context, node freshet.Hash) (bool, error) { return node != h.stranger.Public(), nil }),
		Leads:  func(_ context.Context, epoch int64) (bool, error) { return epoch == h.leads.Load(), nil },
	})
	t.Cleanup(h.Close)
	t.Cleanup(func() { h.wire.Close() })
	return h
}

func (h *helper) address() string { return "http://" + h.wire.Address() }

// A leader has its messages sent.
type leader struct {
	*delivery.Dispatch
	t     *testing.T
	right atomic.Int64
}

const own = "http://leader"

// newLeader returns a leader of an epoch, which knows some nodes.
func newLeader(t *testing.T, epoch int64, helpers ...*helper) *leader {
	return newLoggingLeader(t, nil, epoch, helpers...)
}

func newLoggingLeader(t *testing.T, log *slog.Logger, epoch int64, helpers ...*helper) *leader {
	b := &leader{t: t}
	b.right.Store(int64(lease))
	b.Dispatch = delivery.NewDispatch(delivery.DispatchConfig{
		Own: own, Epoch: epoch, LeaseLeft: func() time.Duration { return time.Duration(b.right.Load()) }, Lease: lease, Patience: patience, Sign: identity.NewSigner(),
		Nodes: func(context.Context) (all []string, err error) {
			for _, h := range helpers {
				all = append(all, h.address())
			}
			return all, nil
		},
		Do: fetch.Trusted(time.Minute).Do, Log: log,
	})
	b.Look(t.Context())
	return b
}

var message = sinks.Message{ID: "e1", Source: "page", Body: []byte(`{"id":"e1"}`)}

// carry has a message sent, and returns by whom.
func (b *leader) carry(s sinks.Sink) (by string, err error) {
	b.t.Helper()
	o, err := outletOf("leader", s, open())
	if err != nil {
		b.t.Fatal(err)
	}
	defer o.Close()
	return b.Carry(b.t.Context(), o.Sink(), message, func(ctx context.Context) error {
		_, err := o.Send(ctx, message)
		return err
	})
}

// hookFor returns a sink whose first choice is a node.
func (b *leader) hookFor(at *receiver, node string) sinks.Sink {
	b.t.Helper()
	for i := range 1000 {
		s := sinks.Sink{Name: "s" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Kind: "webhook", URL: profile.Value(at.URL), Settings: map[string]profile.Value{"unsigned": "true"}, Origin: freshet.FromFile}
		if b.Status([]sinks.Sink{s})[node].Sinks == 1 {
			return s
		}
	}
	b.t.Fatalf("no sink is delivered to by %s", node)
	return sinks.Sink{}
}

// knows has nodes know a sink.
func knows(s sinks.Sink, helpers ...*helper) {
	for _, h := range helpers {
		h.sinks[s.Name] = s
	}
}

// sentBy holds who sent.
func (r *receiver) sentBy(t *testing.T, want ...string) {
	t.Helper()
	if got := r.senders(); !slices.Equal(got, want) {
		t.Errorf("%q sent, want %q", got, want)
	}
	if !bytes.Equal(r.body, message.Body) {
		t.Errorf("%s came, want %s", r.body, message.Body)
	}
}

// delayed returns what connects when it is told to.
func delayed(release <-chan struct{}) func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		<-release
		return (&net.Dialer{}).DialContext(context.Background(), "tcp", to.String())
	}
}

// failing reaches nobody.
func failing(context.Context, netip.AddrPort) (net.Conn, error) {
	return nil, errors.New("there is no way from here")
}

// toItself says that every name is this machine.
func toItself(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}
