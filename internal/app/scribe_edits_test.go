package app_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// traits returns what a scheduler says of the sources, as far as learning goes by them.
func (p *press) traits() uint64 {
	p.Helper()
	s := sched.New(&policy.RoundRobin{}, p.settings().Limits)
	for w, err := range p.store().Sources(p.Context()) {
		if err != nil {
			p.Fatal(err)
		}
		s.Put(time.Now(), w)
	}
	return s.Sum()
}

// follows wants a copy to be what follows from another one by the log, to the bit.
func (p *press) follows(from, c saved) {
	p.Helper()
	s := p.settings()
	_, l, err := policy.Wire(s.Policy, policy.InDaemon(s.Policy, s.Limits.Budget, pressed))
	if err != nil {
		p.Fatal(err)
	}
	slots, ok := learn.SlotsOf(from.common)
	if !ok {
		p.Fatal("a copy does not say in how many slots sources lay")
	}
	l.MakeRoom(slots)
	seats := map[freshet.SourceID]freshet.Slot{}
	for w, err := range p.store().Sources(p.Context()) {
		if err != nil {
			p.Fatal(err)
		}
		seats[w.ID], _ = learn.SeatOf(from.memories[w.ID])
		l.Put(time.Now(), seats[w.ID], w.Source, time.Time{})
	}
	restore := func(slot freshet.Slot, memory []byte) {
		if err := l.Restore(slot, memory); err != nil {
			p.Fatal(err)
		}
	}
	restore(-1, from.common)
	for id, slot := range seats {
		restore(slot, from.memories[id])
	}
	found, err := p.store().Outcomes(p.Context(), freshet.OutcomeQuery{After: from.upto, Limit: int(c.upto - from.upto)})
	if err != nil || len(found) == 0 {
		p.Fatalf("between %d and %d there are %d outcomes: %v", from.upto, c.upto, len(found), err)
	}
	for _, o := range found {
		if slot, known := seats[o.Source]; known && o.Cursor <= c.upto {
			l.Observe(o.Ended, slot, o)
		}
	}
	err = l.Save(func(slot freshet.Slot, memory []byte) error {
		if slot < 0 && !bytes.Equal(memory, c.common) {
			p.Errorf("at %d what is saved of all sources together does not follow from what was saved at %d", c.upto, from.upto)
		}
		for id, at := range seats {
			if at == slot && !bytes.Equal(memory, c.memories[id]) {
				p.Errorf("at %d what is saved of %s does not follow from what was saved at %d", c.upto, id, from.upto)
			}
		}
		return nil
	})
	if err != nil {
		p.Fatal(err)
	}
}

// After sources have come, gone and moved the brain saves what was learnt itself, and then a standby does again, what
// follows from that to the bit. So it does for the next brain.
func TestStandbySavesAfterEdits(t *testing.T) {
	p := newPress(t)
	first := p.node()
	p.takenBy(first, 0)
	second := p.node()
	p.takenBy(second, 0)
	p.add(first, p.pages, "before") // by its ID it comes before all others, and lies behind them
	p.add(first, p.pages, "t")
	p.wants(http.StatusNoContent, "", http.MethodDelete, first.url+"/api/v1/sources/before", "")
	p.wants(http.StatusOK, "", http.MethodPatch, first.url+"/api/v1/sources/s4", `{"url":"`+p.pages.URL+`/elsewhere"}`)
	p.add(first, p.pages, "a") // where that was
	p.sources += 2
	p.poke(first)
	from := p.newest() // what was saved before does not have all sources
	taken := p.takenBy(second, int64(from.upto))
	var c saved
	until(t, "that is what counts", func() bool { c = p.newest(); return int64(c.upto) >= taken.Upto })
	p.follows(from, c)
	third := p.node()
	first.end()
	until(t, "a standby saves for the next brain", func() bool {
		p.poke(third)
		by := p.notes(third).By
		return by != "" && by != p.brain(third)
	})
}

// brain returns the address of the node that decides, as a node says.
func (p *press) brain(says *member) string {
	p.Helper()
	var all client.Cluster
	_, text := p.ask("", http.MethodGet, says.url+"/api/v1/cluster", "")
	_ = json.Unmarshal([]byte(text), &all) // a node that changes its role may say nothing
	return all.Brain.Address
}
