package shards_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// A member is a brain as the table sees it: it makes as many polls as it may, and each takes
// as long as a poll can.
type member struct {
	number  int
	run     int64
	kept    shards.Report // what it has on its disk: Run, Known, Uses
	uses    sched.Budget
	known   int64
	waiting int64 // version that it waits for
	until   time.Duration
	price   float64
	wants   sched.Budget
	made    float64
	sources int // more than ten
	polls   []poll
}

// A poll is seen by its server at some time from its beginning to its end.
type poll struct{ began, ended time.Duration }

const longest = 700 * time.Millisecond

func (m *member) report(now time.Duration) shards.Report {
	r := shards.Report{
		Store: fmt.Sprint("store", m.number), Sources: 10 + m.sources, Wants: m.wants, Longest: longest, Uses: m.uses, Known: m.known,
		Price: m.price, Made: m.made, Given: m.made, Spoke: 100 * time.Millisecond,
	}
	if m.waiting != 0 && now >= m.until {
		r.Waited = m.waiting
	}
	m.made = 0
	return r
}

// hear goes by what the table says.
func (m *member) hear(now time.Duration, a shards.Allowance) {
	if a.Wait > 0 && m.waiting != a.Version {
		m.waiting, m.until = a.Version, now+a.Wait
	}
	if a.Wait == 0 {
		m.waiting = 0
	}
	m.kept = shards.Report{Run: m.run, Known: a.Version, Uses: a.Part}
	m.uses, m.known = a.Part, a.Version
}

// sit begins anew with what is on the disk.
func (m *member) sit(t *shards.Table, now time.Duration, clock time.Time) error {
	m.waiting, m.uses, m.known, m.made = 0, m.kept.Uses, m.kept.Known, 0
	r := m.report(now)
	r.Run = m.kept.Run
	run, a, err := t.Sit(m.number, r, clock)
	if err == nil {
		m.run = run
		m.hear(now, a)
	}
	return err
}

func (m *member) tell(t *shards.Table, now time.Duration, clock time.Time) error {
	a, err := t.Tell(m.number, m.run, m.report(now), clock)
	if err == nil {
		m.hear(now, a)
	}
	return err
}

// spend makes as many polls as the brain may.
func (m *member) spend(now time.Duration) {
	for len(m.polls) > 0 && m.polls[0].ended+m.uses.Per <= now {
		m.polls = m.polls[1:]
	}
	for float64(len(m.polls)) < m.uses.Polls {
		m.polls = append(m.polls, poll{now, now + longest})
		m.made++
	}
}

func copied(t interface{ Fatal(...any) }, table *shards.Table) *shards.Table {
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	var back shards.Table
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return &back
}

// Whatever happens, all brains together never make more requests in a stretch than the budget
// has: prices jump, answers get lost, brains stop and begin anew, the clock of the table is
// set, more brains come, and the table is replaced by an older copy of itself.
func TestTableKeepsTheBudget(t *testing.T) {
	moves, grown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		brains := rapid.IntRange(2, 4).Draw(t, "brains")
		budget := sched.Budget{Polls: float64(rapid.IntRange(brains, 20).Draw(t, "budget")), Per: time.Second}
		clock := epoch
		table, err := shards.NewTable(budget, brains, clock)
		if err != nil {
			t.Fatal(err)
		}
		old := copied(t, table)
		members := make([]*member, brains)
		for i := range members {
			members[i] = &member{number: i + 1, price: 1, wants: budget}
		}
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		steps := 100 + draw.IntN(800)
		for step := range steps {
			now := time.Duration(step) * 100 * time.Millisecond
			clock = clock.Add(100 * time.Millisecond)
			switch luck := draw.IntN(1000); {
			case luck < 10:
				clock = clock.Add(time.Duration(luck-4) * time.Minute)
			case luck < 20:
				old = copied(t, table)
			case luck < 26:
				table = copied(t, old)
			case luck < 29:
				if table.Grow(len(members)+1, clock) == nil {
					old = copied(t, table)
					members = append(members, &member{number: len(members) + 1, price: 1, wants: budget})
					grown++
				}
			}
			for _, m := range members {
				luck := draw.IntN(1000)
				switch {
				case m.run == 0 && luck < 100, luck < 10:
					err = m.sit(table, now, clock)
				case m.run == 0:
				case luck < 30: // the answer is lost
					_, err = table.Tell(m.number, m.run, m.report(now), clock)
				case luck < 40: // somebody who sat there before speaks
					if _, err := table.Tell(m.number, m.run-1, m.report(now), clock); !errors.Is(err, shards.ErrUnseated) && table.Seats[m.number-1].Run >= m.run {
						t.Fatalf("a run before may speak: %v", err)
					}
				case luck < 400:
					err = m.tell(table, now, clock)
				case luck < 420:
					m.price = []float64{0.01, 1, 100}[luck%3]
				}
				if err != nil {
					t.Fatal(err)
				}
				m.spend(now)
			}
			under := 0
			for _, m := range members {
				for _, p := range m.polls {
					if p.began <= now && now < p.ended+budget.Per {
						under++
					}
				}
			}
			if float64(under) > budget.Polls {
				t.Fatalf("%d requests in a stretch after %v, and the budget is %v: %+v", under, now, budget, table)
			}
		}
		moves += table.Moves
	})
	if moves == 0 || grown == 0 {
		t.Errorf("parts moved %d times and %d brains came: not all was tried", moves, grown)
	}
}

// play lets brains speak and spend for a while.
func play(t *testing.T, table *shards.Table, members []*member, from, length time.Duration) time.Duration {
	t.Helper()
	for now := from; now < from+length; now += 100 * time.Millisecond {
		for _, m := range members {
			if m == nil {
				continue
			}
			do := m.tell
			if m.run == 0 {
				do = m.sit
			}
			if err := do(table, now, epoch.Add(now)); err != nil {
				t.Fatal(err)
			}
			m.spend(now)
		}
	}
	return from + length
}

func newTable(t *testing.T, budget sched.Budget, prices ...float64) (*shards.Table, []*member) {
	t.Helper()
	table, err := shards.NewTable(budget, len(prices), epoch)
	if err != nil {
		t.Fatal(err)
	}
	var members []*member
	for i, price := range prices {
		members = append(members, &member{number: i + 1, price: price, wants: budget})
	}
	return table, members
}

func held(table *shards.Table) (all []float64) {
	for _, s := range table.Seats {
		all = append(all, s.Part)
	}
	return all
}

func sum(all []float64) (x float64) {
	for _, y := range all {
		x += y
	}
	return x
}

// Parts go to whom a poll is worth most, all of the budget is given out, and what is left to
// the others is enough to see by.
func TestTableFollowsPrices(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 60, Per: time.Second}, 1, 1, 30)
	play(t, table, members, 0, 20*time.Minute)
	got := held(table)
	if sum(got) != 60 || got[2] < 50 || got[0] < 1 || got[1] < 1 {
		t.Errorf("the parts are %v", got)
	}
	if table.Moves == 0 || table.Met {
		t.Errorf("after %d moves the prices, which stay as they are, have met: %v", table.Moves, table.Met)
	}
}

// A brain that is gone in the middle of a move keeps what it may be spending, and the others
// go on without it.
func TestTableGoesOnWithoutOne(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 30, Per: time.Second}, 1, 10, 10)
	at := play(t, table, members, 0, 5*time.Second)
	for table.Seats[0].Part == members[0].uses.Polls && at < time.Minute {
		at = play(t, table, []*member{nil, members[1], members[2]}, at, 100*time.Millisecond)
	}
	spends := members[0].uses.Polls // it has not heard that it is to have less
	at = play(t, table, []*member{nil, members[1], members[2]}, at, 5*time.Minute)
	if got := held(table); got[1]+got[2]+spends > 30 {
		t.Errorf("the parts are %v while the first may spend %v of 30", got, spends)
	}
	members[1].price, members[2].price = 1, 30
	at = play(t, table, []*member{nil, members[1], members[2]}, at, 30*time.Minute)
	if got := held(table); got[0] != spends || sum(got) != 30 || got[2] < 2*got[1] {
		t.Errorf("the parts are %v, want %v for the one that is gone, and the others' by their prices", got, spends)
	}
	members[0].price = 100
	play(t, table, members, at, 30*time.Minute)
	if got := held(table); sum(got) != 30 || got[0] < 15 {
		t.Errorf("the first is back and worth most: the parts are %v", got)
	}
}

// A brain that has more now, and is to have less before it speaks again, may be spending
// it: nobody gets more until it says that it does not.
func TestTableWaitsForTheSilent(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 30, Per: time.Second}, 1, 1, 30)
	var at time.Duration
	for members[2].uses.Polls <= 10 && at < 2*time.Minute {
		at = play(t, table, members, at, 100*time.Millisecond)
	}
	before := members[2].uses.Polls
	members[0].price, members[2].price = 900, 1
	table.Seats[2].Claim.Price = 0.1
	play(t, table, members[:2], at, 100*time.Second) // it is taken to be there all the time
	if got := held(table); got[2] == before || got[0]+got[1]+before > 30 {
		t.Errorf("the parts are %v, and the last may still spend %v of 30", got, before)
	}
}

// Of two brains that are to have more, one does not come for it. The other keeps what it has,
// and gets the rest.
func TestTableGivesTheRestToOthers(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 40, Per: time.Second}, 1, 1, 1, 1)
	members[0].sources, members[1].sources = -9, -9 // one each
	at := play(t, table, members, 0, 1900*time.Millisecond)
	for table.Began.IsZero() {
		at = play(t, table, members, at, 100*time.Millisecond)
	}
	at = play(t, table, members[:3], at, 5*time.Second)
	got := held(table)
	if got[2] <= 10 || got[3] != 10 {
		t.Fatalf("the parts are %v, want more for the third", got)
	}
	play(t, table, members[:3], at, 12*time.Minute)
	if now := held(table); now[2] < got[2] || now[3] != 10 || sum(now) != 40 {
		t.Errorf("the parts are %v, and were %v", now, got)
	}
}

// While brains were told of different budgets the smallest holds; when all know of the new
// one, all of it is given out.
func TestTableTakesOnAnotherBudget(t *testing.T) {
	for _, to := range []sched.Budget{{Polls: 12, Per: time.Second}, {Polls: 90, Per: time.Second}, {Polls: 3600, Per: time.Hour}} {
		from := sched.Budget{Polls: 30, Per: time.Second}
		table, members := newTable(t, from, 1, 1, 1)
		at := play(t, table, members, 0, 10*time.Second)
		members[1].wants = to
		at = play(t, table, members, at, 10*time.Second)
		if want := map[bool]sched.Budget{true: from, false: to}[to.Polls == 90]; table.Budget != want || sum(held(table)) > want.Polls {
			t.Errorf("%v to %v: while one knows of it the budget is %v, the parts are %v", from, to, table.Budget, held(table))
		}
		for _, m := range members {
			m.wants = to
		}
		play(t, table, members, at, 10*time.Second)
		if table.Budget != to || sum(held(table)) != to.Polls {
			t.Errorf("%v to %v: the budget is %v and the parts are %v", from, to, table.Budget, held(table))
		}
	}
}

// After the table was replaced by an older copy of itself all of the budget is given out again.
func TestTableIsReplaced(t *testing.T) {
	table, members := newTable(t, sched.Budget{Polls: 60, Per: time.Second}, 1, 1, 30)
	at := play(t, table, members, 0, 5*time.Second)
	old := copied(t, table)
	at = play(t, table, members, at, 10*time.Minute)
	if held(table)[2] == held(old)[2] {
		t.Fatal("nothing has moved meanwhile")
	}
	at = play(t, old, members, at, time.Second)
	if got := held(old); sum(got) > 60 {
		t.Errorf("the parts are %v", got)
	}
	play(t, old, members, at, time.Minute)
	if got := held(old); sum(got) != 60 {
		t.Errorf("after a minute the parts are %v", got)
	}
}

func TestSeatsAreRefused(t *testing.T) {
	b := sched.Budget{Polls: 10, Per: time.Second}
	if _, err := shards.NewTable(sched.Budget{Polls: 2, Per: time.Minute}, 3, epoch); err == nil {
		t.Error("2/m is divided between three")
	} else if field, _ := freshet.FieldOf(err); field != "budget" {
		t.Errorf("the error is %v, want one of the budget", err)
	}
	table, _ := newTable(t, b, 1, 1)
	run, _, err := table.Sit(1, shards.Report{Store: "a", Wants: b}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := table.Sit(1, shards.Report{Store: "b", Wants: b}, epoch); !errors.Is(err, shards.ErrTaken) {
		t.Errorf("another store sits down at a seat that is taken: %v", err)
	}
	again, _, err := table.Sit(1, shards.Report{Store: "a", Wants: b}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Tell(1, run, shards.Report{Store: "a", Wants: b}, epoch); !errors.Is(err, shards.ErrUnseated) {
		t.Errorf("a run that has ended may speak: %v", err)
	}
	if run, _, err := table.Sit(2, shards.Report{Store: "c", Run: 7, Wants: b}, epoch); run != 8 || err != nil {
		t.Errorf("a brain that was run 7, by a newer table, is run %d: %v", run, err)
	}
	table.Forget(1)
	if _, err := table.Tell(1, again, shards.Report{Store: "a", Wants: b}, epoch); !errors.Is(err, shards.ErrUnseated) {
		t.Errorf("one that was forgotten may speak: %v", err)
	}
	if _, _, err := table.Sit(1, shards.Report{Store: "b", Wants: b}, epoch); err != nil {
		t.Errorf("a seat that is free again is refused: %v", err)
	}
}
