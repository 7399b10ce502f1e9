package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
)

// A company is the store of the node that leads, that of one that stands by, and what both know of nodes.
type company struct {
	*testing.T
	shed         *shed
	at           string
	leads, reads *postgres.Store
	peers        *postgres.Peers
}

func newCompany(t *testing.T) *company {
	c := &company{T: t, shed: newShed(t)}
	c.at = c.shed.URL(c.shed.Database(t))
	c.leads = open(t, postgres.Config{URL: c.at})
	t.Cleanup(func() { c.leads.Close() })
	for i := range 3 {
		add(t, c.leads, freshet.SourceID(fmt.Sprintf("s%d", i)))
	}
	c.reads = open(t, postgres.Config{URL: c.at, ReadOnly: true})
	t.Cleanup(func() { c.reads.Close() })
	var err error
	c.peers, err = postgres.OpenPeers(t.Context(), postgres.Config{URL: c.at})
	c.must(err)
	t.Cleanup(func() { c.peers.Close() })
	return c
}

func (c *company) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// give gives a turn to a node.
func (c *company) give(term, number int64, node string) postgres.Turn {
	c.Helper()
	t := postgres.Turn{Term: term, Number: number, Node: node, Copy: "learn"}
	c.must(c.peers.GiveTurn(c.Context(), t))
	return t
}

// beliefs are what somebody thinks of all sources.
func beliefs(upto freshet.Cursor, memory string) (all []freshet.Belief) {
	for i := range 3 {
		all = append(all, freshet.Belief{Source: freshet.SourceID(fmt.Sprintf("s%d", i)), Estimator: "learn", Upto: upto, Memory: []byte(memory)})
	}
	return all
}

// saved returns what is saved.
func (c *company) saved() string {
	c.Helper()
	var b strings.Builder
	for f, err := range c.leads.Beliefs(c.Context(), "learn") {
		c.must(err)
		fmt.Fprintf(&b, "%s %d %s;", f.Source, f.Upto, f.Memory)
	}
	return b.String()
}

// What a node saves in its turn lies there as if the one that leads had saved it.
func TestSaveInTurn(t *testing.T) {
	c := newCompany(t)
	c.must(c.leads.SaveBeliefs(t.Context(), beliefs(1, "x")))
	turn := c.give(c.leads.Term(), 1, "one")
	n, err := c.reads.SaveInTurn(t.Context(), turn, beliefs(7, "yy"))
	if want := "s0 7 yy;s1 7 yy;s2 7 yy;"; err != nil || n != 3 || c.saved() != want {
		t.Errorf("saved are %d: %s; want %s (%v)", n, c.saved(), want, err)
	}
	report, err := c.leads.Verify(t.Context(), func(store.Progress) {})
	if err != nil || len(report.Damages) > 0 {
		t.Errorf("then is found: %+v, %v", report, err)
	}
	c.must(c.leads.RemoveSource(t.Context(), "s1", true))
	if n, err := c.reads.SaveInTurn(t.Context(), turn, beliefs(8, "z")); err != nil || n != 2 {
		t.Errorf("of a source that was purged %d are saved: %v", n, err)
	}
	if n, err := c.reads.SaveInTurn(t.Context(), turn, nil); err != nil || n != 0 {
		t.Errorf("of none %d are saved: %v", n, err)
	}
}

// Whoever has no turn, or none any more, writes nothing.
func TestTurnsEnd(t *testing.T) {
	c := newCompany(t)
	term := c.leads.Term()
	never := postgres.Turn{Term: term, Number: 1, Node: "one", Copy: "learn"}
	refused := func(turn postgres.Turn) {
		t.Helper()
		if n, err := c.reads.SaveInTurn(t.Context(), turn, beliefs(7, "y")); !errors.Is(err, postgres.ErrTurnOver) || n != 0 || c.saved() != "" {
			t.Errorf("saved are %d: %s (%v)", n, c.saved(), err)
		}
	}
	refused(never)
	first := c.give(term, 2, "one")
	second := c.give(term, 3, "two")
	refused(first)
	third := c.give(term, 4, "two")
	refused(second)
	conn := c.shed.Connect(t, c.at[strings.LastIndex(c.at, "/")+1:strings.Index(c.at, "?")])
	lead := func(term int64) {
		t.Helper()
		_, err := conn.Exec(t.Context(), "UPDATE leases SET epoch = $1 WHERE name = 'brain'", term)
		c.must(err)
	}
	lead(term + 1) // by a version that gives no turns
	refused(third)
	lead(term)
	next := c.give(term+1, 1, "")
	refused(third)
	if err := c.peers.GiveTurn(t.Context(), postgres.Turn{Term: term, Number: 5, Node: "one", Copy: "learn"}); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("one that led before gives a turn: %v", err)
	}
	if now, err := c.peers.Turn(t.Context()); err != nil || now != next {
		t.Errorf("the turn is %+v: %v", now, err)
	}
}

// A turn is not taken away while something is being written by it.
func TestTurnIsTakenAfterTheLastPiece(t *testing.T) {
	c := newCompany(t)
	term := c.leads.Term()
	c.must(c.leads.SaveBeliefs(t.Context(), beliefs(1, "x")))
	turn := c.give(term, 1, "one")
	conn := c.shed.Connect(t, c.at[strings.LastIndex(c.at, "/")+1:strings.Index(c.at, "?")])
	holding, err := conn.Begin(t.Context()) // a piece takes as long as this
	c.must(err)
	_, err = holding.Exec(t.Context(), "SELECT 1 FROM beliefs FOR UPDATE")
	c.must(err)
	saved := make(chan error, 1)
	go func() { _, err := c.reads.SaveInTurn(t.Context(), turn, beliefs(7, "y")); saved <- err }()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for waits := false; !waits; { // within a transaction nothing new would be seen
		c.must(c.shed.conn.QueryRow(patience, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH held%')").Scan(&waits))
	}
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := c.peers.GiveTurn(soon, postgres.Turn{Term: term, Number: 2}); err == nil {
		t.Error("it is taken away while a piece is being written")
	}
	c.must(holding.Commit(t.Context()))
	c.must(<-saved)
	c.give(term, 3, "")
}

// What is said at the end of a turn is heard as that of this turn.
func TestOfferOfATurn(t *testing.T) {
	c := newCompany(t)
	var said string
	offered := func(turn postgres.Turn) bool {
		t.Helper()
		there, err := c.peers.Offered(t.Context(), turn, &said)
		c.must(err)
		return there
	}
	first := c.give(1, 1, "one")
	if offered(first) {
		t.Error("somebody has said something")
	}
	c.must(c.peers.Offer(t.Context(), first, "all of it"))
	if !offered(first) || said != "all of it" {
		t.Errorf("said is %q", said)
	}
	second := c.give(1, 2, "two")
	c.must(c.peers.Offer(t.Context(), first, "late"))
	if offered(second) {
		t.Errorf("of another turn is said %q", said)
	}
	c.must(c.peers.Offer(t.Context(), second, "mine"))
	if !offered(second) || said != "mine" {
		t.Errorf("said is %q", said)
	}
}
