package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster/delivery"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
	"freshet/internal/test/netfault"
)

// Each sink has its node, and stays with it when others come and go.
func TestSinksAreShared(t *testing.T) {
	at := newReceiver(t)
	a, b := newHelper(t, "a"), newHelper(t, "b")
	two, three := newLeader(t, 1, a), newLeader(t, 1, a, b)
	var all []sinks.Sink
	for i := range 300 {
		all = append(all, sinks.Sink{Name: fmt.Sprint("s", i), Kind: "webhook", URL: profile.Value(at.URL)})
	}
	for node, s := range three.Status(all) {
		if s.Sinks < 60 || s.Sinks > 140 {
			t.Errorf("%s has %d of 300 sinks", node, s.Sinks)
		}
	}
	for _, s := range all {
		one := []sinks.Sink{s}
		for _, node := range []string{own, a.address()} {
			if three.Status(one)[node].Sinks == 1 && two.Status(one)[node].Sinks != 1 {
				t.Errorf("%s leaves %s when another node comes", s.Name, node)
			}
		}
	}
	file := sinks.Sink{Name: three.hookFor(at, a.address()).Name, Kind: "file"}
	if three.Status([]sinks.Sink{file})[own].Sinks != 1 {
		t.Error("a file is written by another node")
	}
}

// A message goes by the node of its sink, and what the receiver said comes back.
func TestAnswersComeBack(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	if by, err := b.carry(s); by != a.address() || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "a")
	at.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusForbidden)
	}
	by, err := b.carry(s)
	refusal, ok := errors.AsType[*sinks.Refusal](err)
	if by != a.address() || !ok || refusal.Status != http.StatusForbidden || refusal.RetryAfter != 7*time.Second || freshet.HintOf(err) == "" {
		t.Errorf("%s says %v, hint %q", by, err, freshet.HintOf(err))
	}
	at.sentBy(t, "a", "a") // whoever answered was reached
}

// What a node cannot send is sent by another, and is no failure of the receiver.
func TestNodeThatCannotSend(t *testing.T) {
	for name, spoil := range map[string]func(h *helper, s *sinks.Sink){
		"it has no such sink":         func(h *helper, s *sinks.Sink) { delete(h.sinks, s.Name) },
		"it has another of that name": func(h *helper, s *sinks.Sink) { o := *s; o.URL += "/other"; h.sinks[s.Name] = o },
		"it has it from elsewhere":    func(h *helper, s *sinks.Sink) { o := *s; o.Origin = freshet.FromAPI; h.sinks[s.Name] = o },
		"it may not go there":         func(h *helper, _ *sinks.Sink) { h.fetch = fetch.Config{} },
		"it may not go where the name leads": func(h *helper, s *sinks.Sink) {
			s.URL = profile.Value(strings.Replace(string(s.URL), "127.0.0.1", "inside.example", 1))
			_, port, _ := strings.Cut(string(s.URL), "example:")
			number, _ := strconv.ParseUint(port, 10, 16)
			h.fetch = fetch.Config{Resolver: toItself, Ports: []uint16{uint16(number)}}
			knows(*s, h)
		},
		"it lacks a secret": func(h *helper, s *sinks.Sink) {
			s.Headers = map[string]profile.Value{"X-Key": "${env:FRESHET_NOWHERE}"}
			knows(*s, h)
		},
		"it leaves":                        func(h *helper, _ *sinks.Sink) { h.Leave(context.Background()) },
		"it does not answer":               func(h *helper, _ *sinks.Sink) { h.wire.Close() },
		"another leader decides":           func(h *helper, _ *sinks.Sink) { h.See(2) },
		"it sleeps until the order is old": func(h *helper, _ *sinks.Sink) { h.wire.Set(netfault.State{Delay: lease * 3 / 4}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, a := newReceiver(t), newHelper(t, "a")
			b := newLeader(t, 1, a)
			s := b.hookFor(at, a.address())
			knows(s, a)
			spoil(a, &s)
			if by, err := b.carry(s); by != own || err != nil {
				t.Errorf("it was sent by %s: %v", by, err)
			}
			at.sentBy(t, "leader")
		})
	}
}

// A node that is cut off while it sends may go on with it. Nobody else sends the message before
// that must be over, and then another does, with the same bytes.
func TestNodeIsCutOffInMidSend(t *testing.T) {
	t.Parallel()
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	at.answer = func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-By") == "a" {
			a.wire.Orphan() // the leader hears that it is gone; the node hears nothing
			<-r.Context().Done()
		}
	}
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "a", "leader")
	if at.crowded {
		t.Error("two nodes sent the message at once")
	}
}

// A node that hears of a new leader cuts off what the old one ordered, and takes no more of it. The
// new one is answered when that is over.
func TestNodeObeysTheNewLeader(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	old := newLeader(t, 1, a)
	s := old.hookFor(at, a.address())
	knows(s, a)
	at.answer = func(_ http.ResponseWriter, r *http.Request) {
		if len(at.senders()) == 1 {
			<-r.Context().Done()
		}
	}
	over := make(chan error, 1)
	go func() {
		_, err := old.carry(s)
		over <- err
	}()
	<-at.came
	stale := newLeader(t, 1, a)
	if newLeader(t, 2, a).Status([]sinks.Sink{s})[a.address()].Sinks != 0 {
		t.Error("the node takes orders of a leader that it has not heard of")
	}
	a.leads.Store(2)
	next := newLeader(t, 2, a)
	<-over
	if by, err := next.carry(s); by != a.address() || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	if at.crowded {
		t.Error("a message of the old leader was under way beside one of the new")
	}
	was := len(at.senders())
	if by, _ := stale.carry(s); by != own || !slices.Equal(at.senders()[was:], []string{"leader"}) {
		t.Errorf("%s sends for the old leader", by)
	}
}

// A node that is still at an order of the old leader takes none of the new one, however it has heard of
// it and however often it is asked.
func TestNewLeaderWaitsForTheOldOne(t *testing.T) {
	for name, hears := range map[string]func(h *helper){
		"in its first order": func(h *helper) { h.leads.Store(2) },
		"before":             func(h *helper) { h.See(2) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newLeaderWaits(t, hears)
		})
	}
}

func newLeaderWaits(t *testing.T, hears func(*helper)) {
	at, a := newReceiver(t), newHelper(t, "a")
	old := newLeader(t, 1, a)
	s := old.hookFor(at, a.address())
	knows(s, a)
	begun, release := make(chan struct{}), make(chan struct{})
	a.looking = sync.OnceFunc(func() {
		close(begun)
		<-release
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = old.carry(s) // whoever sends it in the end
	}()
	<-begun
	hears(a)
	next := newLeader(t, 2, a) // asks in vain for half a lease
	next.Look(t.Context())
	if next.Status([]sinks.Sink{s})[a.address()].Sinks != 0 {
		t.Error("the node takes orders before it is done with those of the old leader")
	}
	close(release)
	<-over
	next.Look(t.Context())
	if by, err := next.carry(s); by != a.address() || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
}

// A node that is stopped just before it writes has no right to any more when it wakes.
func TestNothingIsWrittenWithoutTheRight(t *testing.T) {
	t.Parallel()
	at, a := newReceiver(t), newHelper(t, "a")
	release := make(chan struct{})
	a.fetch.Connect = delayed(release)
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	time.AfterFunc(lease+lease/4, func() { close(release) })
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "leader")
}

// A leader that is not sure to be one orders nothing.
func TestLeaderWithoutRightOrdersNothing(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	b.right.Store(0)
	if by, _ := b.carry(s); by != own {
		t.Errorf("%s was asked", by)
	}
	at.sentBy(t, "leader") // which checks its right when it writes
}

// A node that ends finishes what it has begun, and takes nothing more.
func TestNodeFinishesWhatItHasBegun(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	leaving, release := make(chan struct{}), make(chan struct{})
	at.answer = func(http.ResponseWriter, *http.Request) { <-release }
	over := make(chan string, 1)
	go func() {
		by, err := b.carry(s)
		over <- fmt.Sprint(by, err)
	}()
	<-at.came
	go func() {
		a.Leave(context.Background())
		close(leaving)
	}()
	for b.Status([]sinks.Sink{s})[a.address()].Sinks > 0 { // until it says that it leaves
		b.Look(t.Context())
	}
	select {
	case <-leaving:
		t.Error("it has left before its message was answered")
	default:
	}
	close(release)
	if got := <-over; got != fmt.Sprint(a.address(), nil) {
		t.Errorf("it was sent by %s", got)
	}
	<-leaving
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("afterwards it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "a", "leader")
}

// A node that has to end before the receiver has answered cuts the attempt off, which is no failure of
// the receiver.
func TestNodeEndsInMidSend(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	at.answer = func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-By") == "a" {
			go a.Close()
			<-r.Context().Done()
		}
	}
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "a", "leader")
	if at.crowded {
		t.Error("two nodes sent the message at once")
	}
}

// A receiver that does not answer fails by itself.
func TestReceiverThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	at.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	if by, err := b.carry(s); by != a.address() || err == nil || !strings.Contains(err.Error(), "no answer within 2s") {
		t.Errorf("%s says %v", by, err)
	}
}

// A node that was started again counts anew: an order by its old count is not for it.
func TestOrderForTheRunBefore(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	again := newHelperAt(t, "again", a.address(), s)
	a.wire.Lead(again.wire.Address())
	a.wire.Cut()
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	b.Look(t.Context())
	if by, err := b.carry(s); by != a.address() || err != nil {
		t.Errorf("it was sent by %s: %v", by, err)
	}
	at.sentBy(t, "leader", "again")
}

// A receiver that cannot be reached from one node is tried from the next.
func TestUnreachedReceiverIsTriedFromElsewhere(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	a.fetch.Resolver = nil
	a.fetch.Connect = failing
	if by, err := b.carry(s); by != a.address() || err == nil {
		t.Errorf("%s sends: %v", by, err)
	}
	if by, err := b.carry(s); by != own || err != nil {
		t.Errorf("then %s sends: %v", by, err)
	}
}

// Whoever is not a node can do nothing.
func TestStrangersCannotOrder(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	b := newLeader(t, 1, a)
	s := b.hookFor(at, a.address())
	knows(s, a)
	order := fmt.Sprintf(`{"format":1,"epoch":1,"sink":%q,"begin":3600000000000,"until":3600000000000,"within":1000000000}`+"\n{}", s.Name)
	node := identity.NewSigner()
	signed := func(by *identity.Signer, to, method, path, body string) string {
		req, err := http.NewRequest(method, to+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		by.Sign(req, to, 1, []byte(body))
		return req.Header.Get(identity.Header)
	}
	url := a.address() + delivery.Path
	good := signed(node, a.address(), "POST", delivery.Path, order)
	for _, try := range []struct {
		name, method, body, shows string
		want                      int
	}{
		{"nothing", "POST", order, "", http.StatusNotFound},
		{"another method", "GET", order, signed(node, a.address(), "GET", delivery.Path, order), http.StatusNotFound},
		{"no signature", "POST", order, "fh_somebody", http.StatusForbidden},
		{"a stranger", "POST", order, signed(a.stranger, a.address(), "POST", delivery.Path, order), http.StatusForbidden},
		{"another path", "POST", order, signed(node, a.address(), "POST", "/x", order), http.StatusForbidden},
		{"an order for another node", "POST", order, signed(node, "http://other", "POST", delivery.Path, order), http.StatusForbidden},
		{"another body", "POST", order + " ", good, http.StatusForbidden},
		{"another epoch", "POST", strings.Replace(order, `"epoch":1`, `"epoch":2`, 1), signed(node, a.address(), "POST", delivery.Path, strings.Replace(order, `"epoch":1`, `"epoch":2`, 1)), http.StatusBadRequest},
		{"a node", "POST", order, good, http.StatusOK},
		{"what a node has sent", "POST", order, good, http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), try.method, url, strings.NewReader(try.body))
		if err != nil {
			t.Fatal(err)
		}
		if try.shows != "" {
			req.Header.Set(identity.Header, try.shows)
		}
		resp, err := fetch.Trusted(time.Minute).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != try.want {
			t.Errorf("%s: it is answered %s, want %d", try.name, resp.Status, try.want)
		}
	}
	if got := at.senders(); len(got) > 0 {
		t.Errorf("%q sent for a stranger", got)
	}
}
