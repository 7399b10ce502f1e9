package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/store/postgres"
)

// A press is a crew whose brain saves what it learns every other second, of sources that were there before it.
type press struct {
	*crew
	pages   *counter
	sources int
	reads   *postgres.Store // opened when it is needed
}

const (
	pressed    = 6               // sources at first
	pressLease = 3 * time.Second // a standby looks for its turn five times in it, and a turn lasts two seconds
)

func newPress(t *testing.T) *press {
	p := &press{crew: newCrew(t), pages: newCounter(t), sources: pressed}
	store, err := postgres.Open(t.Context(), postgres.Config{URL: p.at, Lease: pressLease})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pressed {
		if _, err := store.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%d", i)), URL: fmt.Sprintf("%s/%d", p.pages.URL, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	p.saveEvery = 2 * time.Second
	return p
}

// settings returns those of a node that polls often.
func (p *press) settings() config.Settings {
	s := p.crew.settings()
	s.Lease = pressLease
	s.Limits.SourceGap, s.Limits.Budget.Polls, s.Limits.Budget.Per = time.Millisecond, 100, time.Second
	return s
}

// node starts a node.
func (p *press) node() *member { return p.serveWith(p.settings()) }

// notes returns when what was learnt was last saved, as a node says.
func (p *press) notes(says *member) client.ClusterNotes {
	p.Helper()
	var all client.Cluster
	_, text := p.ask("", http.MethodGet, says.url+"/api/v1/cluster", "")
	_ = json.Unmarshal([]byte(text), &all) // a node that changes its role may say nothing
	if all.Brain.Notes == nil {
		return client.ClusterNotes{}
	}
	return *all.Brain.Notes
}

// poke has all pages polled, however rarely they would be by now: without outcomes there is nothing to save.
func (p *press) poke(m *member) {
	p.Helper()
	for i := range pressed {
		until(p.T, "a poll is asked for", func() bool {
			resp, _ := p.ask("", "POST", fmt.Sprintf("%s/api/v1/sources/s%d/poll?wait=0", m.url, i), "")
			return resp.StatusCode == http.StatusAccepted
		})
	}
}

// takenBy waits until a node has taken down what was learnt after some outcome.
func (p *press) takenBy(m *member, after int64) (last client.ClusterNotes) {
	p.Helper()
	poked := time.Time{}
	until(p.T, "the notes are those of "+m.url, func() bool {
		if time.Since(poked) > p.saveEvery {
			p.poke(m)
			poked = time.Now()
		}
		last = p.notes(m)
		return last.By == m.url && last.Upto > after
	})
	return last
}

// store returns the store as one that stands by sees it.
func (p *press) store() *postgres.Store {
	p.Helper()
	if p.reads == nil {
		var err error
		if p.reads, err = postgres.Open(p.Context(), postgres.Config{URL: p.at, ReadOnly: true, Lease: pressLease}); err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() { p.reads.Close() })
	}
	return p.reads
}

// A saved is a copy of what was learnt.
type saved struct {
	name     string
	upto     freshet.Cursor
	common   []byte
	memories map[freshet.SourceID][]byte
}

// newest returns the newest copy that is whole, without its seals.
func (p *press) newest() (found saved) {
	p.Helper()
	for found.upto == 0 {
		for _, name := range []string{"learn", "learn-2"} {
			c := saved{name: name, memories: map[freshet.SourceID][]byte{}}
			whole := true
			for b, err := range p.store().Beliefs(p.Context(), name) {
				if err != nil {
					p.Fatal(err)
				}
				if b.Source == "" {
					c.upto, c.common = b.Upto, b.Memory[:len(b.Memory)-4]
					continue
				}
				whole = whole && b.Upto == c.upto // it is not being written
				c.memories[b.Source] = b.Memory[:len(b.Memory)-4]
			}
			if whole && len(c.memories) == p.sources && c.upto > found.upto {
				found = c
			}
		}
	}
	return found
}

// learnt returns what the log teaches up to a place.
func (p *press) learnt(upto freshet.Cursor) saved {
	p.Helper()
	s := p.settings()
	_, l, err := policy.Wire(s.Policy, policy.InDaemon(s.Policy, s.Limits.Budget, pressed))
	if err != nil {
		p.Fatal(err)
	}
	slots := map[freshet.SourceID]freshet.Slot{}
	for w, err := range p.store().Sources(p.Context()) {
		if err != nil {
			p.Fatal(err)
		}
		slots[w.ID] = freshet.Slot(len(slots))
		l.Put(time.Now(), slots[w.ID], w.Source, time.Time{})
	}
	found, err := p.store().Outcomes(p.Context(), freshet.OutcomeQuery{Limit: int(upto)})
	if err != nil || len(found) != int(upto) {
		p.Fatalf("of %d outcomes %d are there: %v", upto, len(found), err)
	}
	for _, o := range found {
		l.Observe(o.Ended, slots[o.Source], o)
	}
	want := saved{upto: upto, memories: map[freshet.SourceID][]byte{}}
	err = l.Save(func(slot freshet.Slot, memory []byte) error {
		if slot < 0 {
			want.common = bytes.Clone(memory)
		}
		for id, at := range slots {
			if at == slot {
				want.memories[id] = bytes.Clone(memory)
			}
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
	return want
}

// same wants a copy to be what the log teaches, to the bit.
func (p *press) same(c saved) {
	p.Helper()
	want := p.learnt(c.upto)
	if !bytes.Equal(c.common, want.common) {
		p.Errorf("at %d what is saved of all sources together is not what the log teaches", c.upto)
	}
	for id, memory := range c.memories {
		if !bytes.Equal(memory, want.memories[id]) {
			p.Errorf("at %d what is saved of %s is not what the log teaches", c.upto, id)
		}
	}
}

// A standby saves what was learnt for the brain, to the bit what the log teaches and so the brain knows, and
// a start loads that.
func TestStandbySavesForTheBrain(t *testing.T) {
	p := newPress(t)
	first := p.node()
	p.takenBy(first, 0) // there was nobody else
	second, third := p.node(), p.node()
	chosen := second
	if third.url < second.url {
		chosen = third
	}
	until(t, "a standby saves", func() bool { by := p.notes(first).By; return by == second.url || by == third.url })
	until(t, "it is the first of both", func() bool { return p.notes(first).By == chosen.url })
	taken := p.notes(first)
	for range 3 {
		c := p.newest()
		p.same(c)
		p.poke(first)
		until(t, "more is saved", func() bool { now := p.notes(first); return now.Upto > max(taken.Upto, int64(c.upto)) })
		taken = p.notes(first)
	}
	s := p.settings()
	warm := daemon.NewWarm(daemon.WarmConfig{
		Edited: func(context.Context) ([]freshet.SourceID, bool, error) { return nil, true, nil },
		Open: func(context.Context) (*daemon.Daemon, error) {
			chosen, learner, err := policy.Wire(s.Policy, policy.InDaemon(s.Policy, s.Limits.Budget, pressed))
			return daemon.New(daemon.Config{Store: p.store(), Policy: chosen, Learner: learner, Limits: s.Limits}), err
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go warm.Run(ctx)
	until(t, "a start loads it", func() bool { return warm.Warmth().Ready })
	if from := warm.Warmth().From; int64(from.Upto) < taken.Upto {
		t.Errorf("a start loads what goes up to %d; saved was %+v", from.Upto, taken)
	}
}

// A ghost is a standby that says it is warm, and does only what the test does for it.
type ghost struct {
	*press
	peers *postgres.Peers
	turn  postgres.Turn
}

const haunt = "http://0.example" // is where it is

// newGhost has a brain hear of one that runs a program of some build.
func newGhost(p *press, build string) *ghost {
	p.Helper()
	g := &ghost{press: p}
	var err error
	if g.peers, err = postgres.OpenPeers(p.Context(), postgres.Config{URL: p.at, Lease: pressLease}); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { g.peers.Close() })
	g.beat(build)
	return g
}

// beat gives a sign of life.
func (g *ghost) beat(build string) {
	g.Helper()
	var said struct{ Origin json.RawMessage }
	var told string
	until(g.T, "the brain says what it rests on", func() bool {
		err := g.conn.QueryRow(g.Context(), "SELECT told FROM nodes WHERE role = 'brain'").Scan(&told)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			g.Fatal(err)
		}
		return err == nil && json.Unmarshal([]byte(told), &said) == nil && said.Origin != nil
	})
	told = fmt.Sprintf(`{"standby":"warm","from":%s,"build":%q}`, said.Origin, build)
	if err := g.peers.Beat(g.Context(), postgres.Node{Name: "ghost", Address: haunt, Role: postgres.Standby, Told: told, Started: time.Now()}); err != nil {
		g.Fatal(err)
	}
}

// asked waits until it is its turn.
func (g *ghost) asked(build string) {
	g.Helper()
	until(g.T, "the ghost is asked", func() bool {
		var err error
		if g.turn, err = g.peers.Turn(g.Context()); err != nil {
			g.Fatal(err)
		}
		if g.turn.Node != "ghost" {
			g.beat(build)
		}
		return g.turn.Node == "ghost"
	})
}

// save saves something of some sources.
func (g *ghost) save(upto freshet.Cursor, sources int) (int, error) {
	var some []freshet.Belief
	for i := range sources {
		some = append(some, freshet.Belief{Source: freshet.SourceID(fmt.Sprintf("s%d", i)), Estimator: g.turn.Copy, Upto: upto, Memory: []byte("half done")})
	}
	return g.store().SaveInTurn(g.Context(), g.turn, some)
}

// inTurn saves something of some sources as soon as it is its turn.
func (g *ghost) inTurn(upto freshet.Cursor, sources int) {
	g.Helper()
	until(g.T, "the ghost saves", func() bool {
		g.asked(app.BuildOf(""))
		n, err := g.save(upto, sources)
		if errors.Is(err, postgres.ErrTurnOver) {
			return false // it came too late
		}
		if err != nil || n != sources {
			g.Fatalf("it saves %d of %d: %v", n, sources, err)
		}
		return true
	})
}

// over waits until it may not write any more.
func (g *ghost) over() {
	g.Helper()
	until(g.T, "its turn is over", func() bool {
		_, err := g.save(1<<40, 1)
		if err != nil && !errors.Is(err, postgres.ErrTurnOver) {
			g.Fatal(err)
		}
		return err != nil
	})
}

// One that dies in the midst of it leaves nothing that counts, and the brain saves itself.
func TestStandbyDiesWhileItSaves(t *testing.T) {
	p := newPress(t)
	first := p.node()
	before := p.takenBy(first, 0)
	g := newGhost(p, app.BuildOf(""))
	g.inTurn(1<<40, pressed/2)
	p.same(p.newest()) // the other copy counts
	g.over()
	after := p.takenBy(first, before.Upto)
	if c := p.newest(); int64(c.upto) < after.Upto {
		t.Errorf("what counts goes up to %d, and the brain saved up to %d", c.upto, after.Upto)
	}
	p.same(p.newest())
}

// What a standby offers is not taken if it says that it is of another state than the brain would have
// saved.
func TestBrainRefusesWhatItDidNotAskFor(t *testing.T) {
	for name, change := range map[string]func(*daemon.Offer){
		"of nothing saved": func(o *daemon.Offer) { o.From.Sum++ },
		"no newer":         func(o *daemon.Offer) { o.Upto = 1 },
		"of few sources":   func(o *daemon.Offer) { o.Sources = pressed - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPress(t)
			first := p.node()
			before := p.takenBy(first, 0)
			g := newGhost(p, app.BuildOf(""))
			o := daemon.Offer{Upto: freshet.Cursor(before.Upto + 1), Sources: pressed, Traits: p.traits(), Common: []byte("\x00\x00\x00\x00")}
			g.inTurn(o.Upto, pressed)
			var told string
			if err := p.conn.QueryRow(t.Context(), "SELECT told FROM nodes WHERE name = 'ghost'").Scan(&told); err != nil {
				t.Fatal(err)
			}
			var said struct{ From daemon.Basis }
			if err := json.Unmarshal([]byte(told), &said); err != nil {
				t.Fatal(err)
			}
			o.From = said.From
			change(&o)
			if err := g.peers.Offer(t.Context(), g.turn, o); err != nil {
				t.Fatal(err)
			}
			p.poke(first)
			until(t, "the brain saves itself", func() bool {
				now := p.notes(first)
				if now.By == haunt {
					t.Fatal("the offer is taken")
				}
				return now.By == first.url && now.Upto > before.Upto
			})
			p.same(p.newest())
		})
	}
}

// One of another version, or on a machine that calculates otherwise, is not asked.
func TestOtherBuildsAreNotAsked(t *testing.T) {
	p := newPress(t)
	first := p.node()
	before := p.takenBy(first, 0)
	g := newGhost(p, app.BuildOf("another"))
	for range 3 {
		before = p.takenBy(first, before.Upto)
		g.beat(app.BuildOf("another"))
	}
	turn, err := g.peers.Turn(t.Context())
	if err != nil || turn.Node != "" {
		t.Errorf("the turn is %+v: %v", turn, err)
	}
}

// One that was asked by a brain before writes nothing any more when the next one saves.
func TestBrainChangesWhileAStandbySaves(t *testing.T) {
	p := newPress(t)
	first := p.node()
	p.takenBy(first, 0)
	g := newGhost(p, app.BuildOf(""))
	g.inTurn(1<<40, pressed/2)
	if _, err := p.conn.Exec(t.Context(), "UPDATE leases SET epoch = epoch + 1, renewed = clock_timestamp(), holder = 'another' WHERE name = 'brain'"); err != nil { // it is taken for dead
		t.Fatal(err)
	}
	if _, err := g.save(1<<40, 1); !errors.Is(err, postgres.ErrTurnOver) {
		t.Errorf("as soon as another decides it saves with %v", err)
	}
	until(t, "it decides again", func() bool { return strings.Count(first.log.String(), "this node decides") >= 2 })
	if err := g.peers.Offer(t.Context(), g.turn, daemon.Offer{Upto: 1 << 40, Sources: pressed}); err != nil {
		t.Fatal(err)
	}
	after := p.takenBy(first, 0)
	g.over()
	if turn, err := g.peers.Turn(t.Context()); err != nil || turn.Term <= g.turn.Term {
		t.Errorf("the turn is %+v, and was %+v: %v", turn, g.turn, err)
	}
	c := p.newest()
	if int64(c.upto) < after.Upto {
		t.Errorf("what counts goes up to %d, and the brain saved up to %d", c.upto, after.Upto)
	}
	p.same(c)
}
