package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// Nodes see each other and who leads. Whoever leads has a right that ends before its lease
// does, and hears when another has taken over.
func TestPeers(t *testing.T) {
	shed := newShed(t)
	at := shed.URL(shed.Database(t))
	const lease = time.Minute
	peers, err := postgres.OpenPeers(t.Context(), postgres.Config{Features: features.All(), URL: at, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	if l, err := peers.Lease(t.Context()); err != nil || l.Held() {
		t.Fatalf("nobody has begun, and %+v leads: %v", l, err)
	}
	first := open(t, postgres.Config{URL: at, Lease: lease, Address: "http://a:1", Try: true})
	if !first.Resigned() || first.Term() != 1 {
		t.Errorf("the first of all has term %d", first.Term())
	}
	if left := first.LeaseLeft(); left <= 0 || left > lease {
		t.Errorf("the right lasts for %v, and the lease for %v", left, lease)
	}
	if l, err := peers.Lease(t.Context()); err != nil || !l.Held() || l.Address != "http://a:1" || l.Term != 1 {
		t.Errorf("%+v leads: %v", l, err)
	}
	if _, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: at, Lease: lease, Try: true}); !errors.Is(err, freshet.ErrBusy) {
		t.Errorf("whoever only tries gets %v", err)
	}
	if err := first.SetFact(t.Context(), "x", "1"); err != nil {
		t.Fatal(err)
	}
	pass := freshet.Hash{1}
	for _, role := range []string{postgres.Standby, postgres.Leader} {
		if err := peers.Beat(t.Context(), postgres.Node{Name: "one", Address: "http://a:1", Role: role, Version: "7", Pass: pass, Told: "[]", Started: noon}); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := peers.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].Role != postgres.Leader || nodes[0].Address != "http://a:1" || !nodes[0].Started.Equal(noon) {
		t.Errorf("nodes are %+v: %v", nodes, err)
	}
	for shown, want := range map[freshet.Hash]bool{pass: true, {}: false, {2}: false} {
		if known, err := peers.Knows(t.Context(), shown); err != nil || known != want {
			t.Errorf("%x is known: %v, %v", shown[:2], known, err)
		}
	}

	// It is stopped for longer than a lease, as far as anybody can see.
	conn := shed.Connect(t, at[strings.LastIndex(at, "/")+1:strings.Index(at, "?")])
	if _, err := conn.Exec(t.Context(), "UPDATE leases SET renewed = clock_timestamp() - interval '1 hour'"); err != nil {
		t.Fatal(err)
	}
	second := open(t, postgres.Config{URL: at, Lease: lease, Address: "http://b:1", Try: true})
	defer second.Close()
	if second.Resigned() || second.Term() != 2 {
		t.Errorf("the second has term %d, and the first resigned: %v", second.Term(), second.Resigned())
	}
	select {
	case <-first.Lost():
		t.Error("the first has lost before it noticed")
	default:
	}
	if err := first.SetFact(t.Context(), "x", "2"); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the first still tells: %v", err)
	}
	<-first.Lost()
	_ = first.Close()
	if l, err := peers.Lease(t.Context()); err != nil || !l.Held() || l.Address != "http://b:1" {
		t.Errorf("after the first has ended %+v leads: %v", l, err)
	}
	if value, err := peers.Fact(t.Context(), "x"); err != nil || value != "1" {
		t.Errorf("nodes know %q: %v", value, err)
	}
	if ahead, err := peers.Ahead(t.Context()); err != nil || ahead.Abs() > time.Minute {
		t.Errorf("the clock of the same machine is %v ahead: %v", ahead, err)
	}
}

// A store of a format that is too old is refused, and left as it is.
func TestTooOldFormatIsRefused(t *testing.T) {
	shed := newShed(t)
	at := shed.URL(shed.Database(t))
	if err := open(t, postgres.Config{URL: at}).Close(); err != nil {
		t.Fatal(err)
	}
	conn := shed.Connect(t, at[strings.LastIndex(at, "/")+1:strings.Index(at, "?")])
	if _, err := conn.Exec(t.Context(), "DELETE FROM schema_versions; INSERT INTO schema_versions (version) VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	for _, reading := range []bool{true, false} {
		if _, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: at, ReadOnly: reading}); err == nil || !strings.Contains(err.Error(), "data format 3") || freshet.HintOf(err) == "" {
			t.Errorf("it is opened: %v", err)
		}
	}
}

// A node that was given a shorter lease than the one that decides waits for the longer one: the other
// takes it for its own until then, and goes on to send.
func TestShorterLeaseOfAnotherNode(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	first := open(t, postgres.Config{URL: at, Lease: time.Minute})
	defer first.Close()
	hasty := postgres.Config{Features: features.All(), URL: at, Lease: time.Second, Try: true}
	peers, err := postgres.OpenPeers(t.Context(), hasty)
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	schema := at[strings.LastIndex(at, "=")+1:]
	silentFor := func(length string) {
		t.Helper()
		if _, err := shed.conn.Exec(t.Context(), "UPDATE "+schema+".leases SET renewed = clock_timestamp() - interval '"+length+"'"); err != nil {
			t.Fatal(err)
		}
	}
	silentFor("30 seconds")
	if l, err := peers.Lease(t.Context()); err != nil || !l.Held() || l.Length != time.Minute {
		t.Errorf("half a minute after the last sign of life %+v leads: %v", l, err)
	}
	if _, err := postgres.Open(t.Context(), hasty); !errors.Is(err, freshet.ErrBusy) {
		t.Fatalf("half a minute after the last sign of life another gets %v", err)
	}
	silentFor("2 minutes")
	second := open(t, hasty)
	defer second.Close()
	if l, err := peers.Lease(t.Context()); err != nil || !l.Held() || l.Length != time.Second || l.Term != first.Term()+1 {
		t.Errorf("after an election %+v leads: %v", l, err)
	}
}

// The clock of PostgreSQL was set back by an hour when the process that led was killed: another need not wait
// for that hour, and waits for a whole lease from when it has noticed.
func TestLeaseOfTheFuture(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	cfg := postgres.Config{Features: features.All(), URL: at, Lease: time.Minute, Try: true}
	first := open(t, cfg)
	defer first.Close()
	schema := at[strings.LastIndex(at, "=")+1:]
	shift := func(by string) {
		t.Helper()
		if _, err := shed.conn.Exec(t.Context(), "UPDATE "+schema+".leases SET renewed = renewed + interval '"+by+"'"); err != nil {
			t.Fatal(err)
		}
	}
	peers, err := postgres.OpenPeers(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	for name, notice := range map[string]func() error{
		"a node that stands by": func() error { return peers.Redate(t.Context()) },
		"one that starts": func() error {
			if _, err := postgres.Open(t.Context(), cfg); !errors.Is(err, freshet.ErrBusy) {
				return fmt.Errorf("it gets %w", err)
			}
			return nil
		},
	} {
		shift("1 hour")
		if l, err := peers.Lease(t.Context()); err != nil || l.Left < 30*time.Minute {
			t.Errorf("%+v leads: %v", l, err)
		}
		if err := notice(); err != nil {
			t.Errorf("%s notices: %v", name, err)
		}
		if l, err := peers.Lease(t.Context()); err != nil || l.Left > time.Minute || l.Left < 30*time.Second {
			t.Errorf("after %s has noticed, %+v leads: %v", name, l, err)
		}
	}
	if err := peers.Redate(t.Context()); err != nil {
		t.Fatal(err)
	}
	shift("-2 minutes")
	second := open(t, cfg)
	defer second.Close()
}
