package storetest

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

// epochs returns the epochs of the change log.
func (b *bench) epochs() freshet.Epochs {
	b.Helper()
	epochs, err := b.ChangeEpochs(b.Context())
	b.ok("epochs", err)
	return epochs
}

// find looks for a place in the change log.
func (b *bench) find(p freshet.Place) (freshet.Cursor, error) {
	b.Helper()
	end, err := b.LastChange(b.Context())
	b.ok("the end", err)
	return b.epochs().Find(p, end)
}

// isGone fails the test unless the change log has a place only up to another.
func (b *bench) isGone(p, resume freshet.Place) {
	b.Helper()
	_, err := b.find(p)
	b.is(fmt.Sprintf("the place %s", p), err, freshet.ErrGone)
	if gone, ok := err.(*freshet.GoneError); ok && gone.Resume != resume {
		b.Errorf("at the place %s one is sent on from %s, want %s", p, gone.Resume, resume)
	}
}

var numberTests = []test{
	{"the numbers of a source go on after it was purged", func(b *bench) {
		var versions, changes int
		for life := range 4 { // the second is removed first, and nothing is captured in the third
			s := b.add("a")
			if s.Revision != int64(1+life) {
				b.Errorf("in life %d the revision is %d", life, s.Revision)
			}
			if st := b.watched("a").Status; st.Head.Number != 0 || st.Changes != 0 || st.Polls != 0 {
				b.Errorf("a source without a history stands at %+v", st)
			}
			if life == 2 {
				b.ok("purge", b.RemoveSource(b.Context(), "a", true))
				b.reopen()
				continue
			}
			o, _ := b.commit(saw("a", minute(life*10), freshet.Changed, fmt.Sprintf("first in life %d", life)))
			if o.Result != freshet.First || o.Version != versions+1 {
				b.Errorf("the first version in life %d is %d (%v), want %d", life, o.Version, o.Result, versions+1)
			}
			b.reopen()
			_, c := b.commit(saw("a", minute(life*10+1), freshet.Changed, fmt.Sprintf("second in life %d", life)))
			if c.Seq != changes+1 || c.Number != versions+2 {
				b.Errorf("the change in life %d is number %d to version %d, want %d to %d", life, c.Seq, c.Number, changes+1, versions+2)
			}
			versions, changes = c.Number, c.Seq
			if life == 1 {
				b.ok("remove", b.RemoveSource(b.Context(), "a", false))
				b.reopen()
			}
			b.ok("purge", b.RemoveSource(b.Context(), "a", true))
			b.reopen()
		}
	}},
	{"cursors go on when the newest entries are gone", func(b *bench) {
		b.add("a")
		b.add("b")
		b.history("b", 2)
		b.history("a", 4)
		end, err := b.LastOutcome(b.Context())
		b.ok("end", err)
		last, err := b.LastChange(b.Context())
		b.ok("end", err)
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		b.prune(minute(1e6), freshet.Keep{}, time.Second) // all outcomes
		b.reopen()
		b.ok("purge", b.RemoveSource(b.Context(), "b", true))
		b.reopen()
		b.add("c")
		o, _ := b.commit(saw("c", minute(50), freshet.First, "one"))
		_, c := b.commit(saw("c", minute(51), freshet.Changed, "two"))
		if o.Cursor != end+1 || c.Cursor != last+1 {
			b.Errorf("the next outcome is at %d and the next change at %d, want %d and %d", o.Cursor, c.Cursor, end+1, last+1)
		}
	}},
	{"outcomes that were pruned while others came keep their cursors", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		b.prune(minute(1), freshet.Keep{}, time.Second)
		o, _ := b.commit(saw("a", minute(-100), freshet.Unchanged, "one")) // the clock was set back
		b.prune(minute(1), freshet.Keep{}, time.Second)
		b.reopen()
		if next, _ := b.commit(saw("a", minute(2), freshet.Unchanged, "one")); next.Cursor != o.Cursor+1 {
			b.Errorf("the next outcome is at %d, after %d", next.Cursor, o.Cursor)
		}
	}},
	{"a change keeps its name and its place", func(b *bench) {
		b.add("a")
		var all []freshet.Change
		for i, text := range []string{"one", "two", "three", "four"} {
			_, c := b.commit(saw("a", minute(i), freshet.Changed, text))
			if i > 0 {
				all = append(all, c)
			}
			b.reopen()
		}
		if all[0].Epoch == "" || all[0].Epoch == all[1].Epoch || all[1].Epoch == all[2].Epoch || all[0].Epoch == all[2].Epoch {
			b.Errorf("the changes of three runs are %s, %s and %s, want three epochs", all[0].ID(), all[1].ID(), all[2].ID())
		}
		got, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		same(b, "the log", got, all)
		for _, c := range all {
			at, err := b.find(c.Place())
			b.ok("its place", err)
			same(b, "the cursor", at, c.Cursor)
			same(b, "the place", b.epochs().Place(c.Cursor), c.Place())
		}
	}},
	{"a place that is not of this log is gone", func(b *bench) {
		b.add("a")
		changes := b.history("a", 3)
		last := changes[1].Place()
		if at, err := b.find(freshet.Place{}); at != 0 || err != nil {
			b.Errorf("the beginning is at %d: %v", at, err)
		}
		b.isGone(freshet.Place{Cursor: last.Cursor + 1, Epoch: last.Epoch}, last)
		b.isGone(freshet.Place{Cursor: 1, Epoch: "zzzzzzzz"}, freshet.Place{})
		b.isGone(freshet.Place{Cursor: 1}, freshet.Place{}) // from before there were epochs
	}},
	{"an older copy that is put back gives out nothing that was given out", func(b *bench) {
		b.add("a")
		b.history("a", 3)
		kept := b.copyPlace()
		_, common := b.commit(saw("a", minute(10), freshet.Changed, "in both"))
		copied := b.copyPlace()
		_, lost := b.commit(saw("a", minute(20), freshet.Changed, "lost"))
		b.reopen()
		_, later := b.commit(saw("a", minute(30), freshet.Changed, "lost too"))

		b.restore(copied)
		_, anew := b.commit(saw("a", minute(40), freshet.Changed, "another"))
		if anew.Cursor != lost.Cursor || anew.Seq != lost.Seq || anew.ID() == lost.ID() || anew.Place() == lost.Place() {
			b.Errorf("after %s at %s was lost there is %s at %s, want the same number by another name", lost.ID(), lost.Place(), anew.ID(), anew.Place())
		}
		if at, err := b.find(common.Place()); err != nil || at != common.Cursor {
			b.Errorf("the place before the copy is at %d: %v", at, err)
		}
		b.isGone(lost.Place(), freshet.Place{}) // of a run that the copy knows nothing of
		b.isGone(later.Place(), freshet.Place{})

		b.restore(kept) // older still, and put back twice
		b.isGone(common.Place(), freshet.Place{})
		_, other := b.commit(saw("a", minute(50), freshet.Changed, "yet another"))
		b.restore(kept)
		_, third := b.commit(saw("a", minute(50), freshet.Changed, "yet another"))
		if other.ID() == third.ID() || other.ID() == common.ID() {
			b.Errorf("the change after the copy was %s, then %s, then %s", common.ID(), other.ID(), third.ID())
		}
		b.isGone(other.Place(), freshet.Place{})
	}},
	{"a change is told by the label that the source had then", func(b *bench) {
		s := b.addSource(freshet.Source{ID: "a", URL: "https://a.example/", Name: "Old", Tags: []string{"x", "y"}})
		changes := b.history("a", 2)
		old := freshet.Label{URL: s.URL, Name: "Old", Tags: []string{"x", "y"}}
		same(b, "the label as committed", changes[0].Label, old)
		s.URL, s.Name, s.Tags, s.Revision = "https://b.example/", "New", nil, 0
		b.ok("edit", b.UpdateSource(b.Context(), s))
		_, c := b.commit(saw("a", minute(9), freshet.Changed, "after the edit"))
		same(b, "the label after the edit", c.Label, freshet.Label{URL: s.URL, Name: "New"})
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		for range 2 {
			got, err := b.Changes(b.Context(), freshet.ChangeQuery{})
			b.ok("changes", err)
			same(b, "the labels", []freshet.Label{got[0].Label, got[1].Label}, []freshet.Label{old, c.Label})
			b.ok("owe", b.Advance(b.Context(), "r", sinks.PositionOf(got[1]), messages(got)))
			due, _ := b.debts(minute(60), 10)
			same(b, "what is owed", owed(due), got)
			b.reopen()
		}
	}},
}
