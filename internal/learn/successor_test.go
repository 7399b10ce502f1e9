package learn_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// News is something that a learner is told of.
type news struct {
	slot    freshet.Slot
	put     bool
	removed bool
	outcome freshet.Outcome
}

// tell tells a learner of it.
func (x *news) tell(l *learn.Learner, now time.Time) {
	switch source := (freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", x.slot)), URL: fmt.Sprintf("https://h%d.example/%d", x.slot%3, x.slot)}); {
	case x.put:
		l.Put(now, x.slot, source, time.Time{})
	case x.removed:
		l.Remove(x.slot)
	default:
		l.Observe(now, x.slot, x.outcome)
	}
}

// A successor that was told of the log while its predecessor went on and sources came and
// went makes it know the same, to the bit, as a learner that was configured like it and told
// of the same.
func TestSuccessor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const slots = 12
		coarse := learn.Config{Tick: 10 * time.Second, Polls: 5}
		fine := learn.New(learn.Config{Tick: time.Second, Polls: 0.5})
		now, cursor := monday, freshet.Cursor(0)
		seen := map[freshet.Slot]time.Time{}
		var known [slots]bool
		draw := func(polls bool) (x news) {
			x.slot = freshet.Slot(rapid.IntRange(0, slots-1).Draw(rt, "slot"))
			now = now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "later")) * time.Millisecond)
			switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
			case !known[x.slot] || kind == 0:
				x.put, known[x.slot] = true, true
			case kind == 1 && !polls:
				x.removed, known[x.slot] = true, false
				delete(seen, x.slot)
			default:
				cursor++
				x.outcome = freshet.Outcome{Cursor: cursor, Began: now, Ended: now, Since: seen[x.slot], Result: freshet.First}
				if !x.outcome.Since.IsZero() {
					x.outcome.Result = rapid.SampledFrom([]freshet.Result{freshet.Changed, freshet.Unchanged}).Draw(rt, "result")
				}
				seen[x.slot] = now
			}
			return x
		}
		var log []news
		for range rapid.IntRange(1, 150).Draw(rt, "before") {
			x := draw(true) // sources only come: a start does not know of those that went
			x.tell(fine, now)
			log = append(log, x)
		}
		next := fine.Successor(coarse)
		want := learn.New(coarse)
		both := func(x *news) { x.tell(next.Learner, now); x.tell(want, now) }
		for slot, there := range known {
			if there {
				both(&news{slot: freshet.Slot(slot), put: true})
			}
		}
		for range rapid.IntRange(0, 40).Draw(rt, "meanwhile") {
			x := draw(false)
			if x.tell(fine, now); !x.put && !x.removed {
				log = append(log, x)
			} else {
				x.tell(want, now) // the successor hears of it from its predecessor
			}
		}
		if cursor > 0 && next.Replace() {
			rt.Fatal("a successor that knows nothing of the log has replaced its predecessor")
		}
		for _, x := range log {
			if !x.put {
				both(&x)
			}
		}
		if !next.Replace() {
			rt.Fatal("the successor does not replace its predecessor")
		}
		if got, want := memories(rt, fine), memories(rt, want); !bytes.Equal(got, want) {
			rt.Error("what is known then is not what a learner with that tick knows")
		}
		if fine.Tick() != coarse.Tick || !fine.IsSetAs(coarse) {
			rt.Errorf("the tick is %v", fine.Tick())
		}
	})
}

// memories returns all that a learner knows.
func memories(t rapid.TB, l *learn.Learner) (all []byte) {
	err := l.Save(func(_ freshet.Slot, memory []byte) error {
		all = append(all, memory...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A successor that is abandoned, or followed by another one, hears of nothing any more.
func TestSuccessorIsAbandoned(t *testing.T) {
	l := learn.New(learn.Config{Tick: time.Second})
	first := l.Successor(learn.Config{Tick: time.Minute})
	second := l.Successor(learn.Config{Tick: time.Hour})
	first.Abandon()
	if first.Replace() {
		t.Error("a successor replaces its predecessor after another one was made")
	}
	l.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, time.Time{})
	if !second.Replace() || l.Tick() != time.Hour {
		t.Errorf("the tick is %v, want that of the second successor", l.Tick())
	}
}
