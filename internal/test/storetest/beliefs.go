package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// beliefs returns what an estimator has saved.
func (b *bench) beliefs(estimator string) (found []freshet.Belief) {
	b.Helper()
	for f, err := range b.Beliefs(b.Context(), estimator) {
		b.ok("beliefs", err)
		found = append(found, f)
	}
	return found
}

var beliefTests = []test{
	{"what is known of noise is kept with the poll that taught it", func(b *bench) {
		b.add("a")
		b.add("b")
		none := func(what string, id freshet.SourceID) {
			b.Helper()
			if _, err := b.Belief(b.Context(), freshet.NoiseBelief, id); !errors.Is(err, freshet.ErrNotFound) {
				b.Errorf("%s: the belief is there, or %v", what, err)
			}
		}
		none("before a poll", "a")
		for i, memory := range []string{"one", "", "two"} {
			rec := freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: noon.Add(time.Duration(i) * time.Hour), Ended: noon.Add(time.Duration(i) * time.Hour), Result: freshet.Unchanged, Requests: 1}}
			if memory != "" {
				rec.Noise = []byte(memory)
			}
			o, _, err := b.Commit(b.Context(), rec)
			b.ok("commit", err)
			b.reopen()
			found, err := b.Belief(b.Context(), freshet.NoiseBelief, "a")
			b.ok("belief", err)
			want := freshet.Belief{Source: "a", Estimator: freshet.NoiseBelief, Upto: o.Cursor, Memory: []byte(memory)}
			if memory == "" { // which leaves what is kept
				want.Upto, want.Memory = found.Upto, []byte("one")
			}
			same(b, "the belief", found, want)
		}
		none("of another source", "b")
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		_, err := b.Belief(b.Context(), freshet.NoiseBelief, "a")
		b.ok("belief of a removed source", err)
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		none("after a purge", "a")
	}},
	{"a belief about all sources together is there by itself", func(b *bench) {
		b.add("a")
		if _, err := b.Belief(b.Context(), "e", ""); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("before it is saved it is there, or %v", err)
		}
		want := freshet.Belief{Estimator: "e", Upto: 7, Memory: []byte("all")}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{want, {Source: "a", Estimator: "e", Upto: 3, Memory: []byte("one")}}))
		b.reopen()
		found, err := b.Belief(b.Context(), "e", "")
		b.ok("belief", err)
		same(b, "the belief", found, want)
	}},
	{"named values, and which values and items are other, are kept", func(b *bench) {
		b.add("a")
		first := saw("a", noon, freshet.First, "one")
		first.Capture.Fields = freshet.Fields{"price": 12.5, "stock": true, "none": nil, "title": "Pump", "tags": []any{"x", "y"}}
		first.Items = []byte("one item")
		_, _, err := b.Commit(b.Context(), first)
		b.ok("commit", err)
		next := saw("a", minute(5), freshet.Changed, "one") // with the same text
		next.Capture.Fields = freshet.Fields{"price": 13.0}
		next.Capture.Details = freshet.Details{
			Fields: []freshet.FieldChange{{Name: "price", From: 12.5, To: 13.0}},
			Items:  &freshet.ItemChanges{AddedCount: 1, Added: []freshet.Item{{Key: "k", Title: "T", Fields: freshet.Fields{"n": 1.0}}}},
		}
		_, c, err := b.Commit(b.Context(), next)
		b.ok("commit", err)
		same(b, "the details of the change", c.Details, next.Capture.Details)
		b.reopen()
		versions, err := b.Versions(b.Context(), "a", 0, 0)
		b.ok("versions", err)
		if len(versions) != 2 || versions[0].Hash != versions[1].Hash {
			b.Fatalf("the versions are %+v, want two of the same text", versions)
		}
		same(b, "the first values", versions[1].Fields, first.Capture.Fields)
		same(b, "the next values", versions[0].Fields, next.Capture.Fields)
		same(b, "the values of the head", b.watched("a").Standing.Head.Fields, next.Capture.Fields)
		changes, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		if len(changes) != 1 {
			b.Fatalf("the changes are %+v, want one", changes)
		}
		same(b, "the details in the log", changes[0].Details, next.Capture.Details)
		belief, err := b.Belief(b.Context(), freshet.ItemBelief, "a")
		b.ok("the items", err)
		same(b, "what is known of the items", string(belief.Memory), "one item")
	}},
	{"items that were asked for when there were none are there once they are kept", func(b *bench) {
		b.add("a")
		for range 2 {
			if _, err := b.Belief(b.Context(), freshet.ItemBelief, "a"); !errors.Is(err, freshet.ErrNotFound) {
				b.Fatalf("the items of a source that has none: %v", err)
			}
		}
		for _, memory := range []string{"one", "two"} {
			b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{{Source: "a", Estimator: freshet.ItemBelief, Memory: []byte(memory)}}))
			belief, err := b.Belief(b.Context(), freshet.ItemBelief, "a")
			b.ok("the items", err)
			same(b, "what is known of the items", string(belief.Memory), memory)
		}
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		b.add("a")
		if _, err := b.Belief(b.Context(), freshet.ItemBelief, "a"); !errors.Is(err, freshet.ErrNotFound) {
			b.Fatalf("the items of a source that was purged: %v", err)
		}
	}},
	{"what was given of a source is kept with it and can be taken back", func(b *bench) {
		b.add("a")
		given, err := freshet.Chances{Rate: new(2.0), Until: noon.Add(time.Hour), Times: []freshet.Chance{{At: noon, Chance: new(0.25)}}}.Given(noon)
		b.ok("chances", err)
		belief := freshet.Belief{Source: "a", Estimator: freshet.ChancesBelief, Memory: given.Memory()}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{belief}))
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		same(b, "the chances of watched sources", b.beliefs(freshet.ChancesBelief), nil)
		b.add("a")
		b.reopen()
		same(b, "the chances of a source that came back", b.beliefs(freshet.ChancesBelief), []freshet.Belief{belief})
		read, there, err := freshet.ParseChances(b.beliefs(freshet.ChancesBelief)[0].Memory)
		b.ok("chances", err)
		same(b, "the chances", read, given)
		if belief.Memory = nil; !there {
			b.Error("there are no chances")
		}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{belief}))
		b.reopen()
		belief, err = b.Belief(b.Context(), freshet.ChancesBelief, "a")
		b.ok("belief", err)
		if read, there, err = freshet.ParseChances(belief.Memory); there || err != nil {
			b.Errorf("%+v are there when they were taken back, or %v", read, err)
		}
	}},
	{"beliefs come back, each estimator's own", func(b *bench) {
		b.add("a")
		b.add("b")
		one := freshet.Belief{Source: "a", Estimator: "x", Upto: 5, Memory: []byte("\x00\x01")}
		two := freshet.Belief{Source: "b", Estimator: "x", Upto: 6, Memory: []byte("m")}
		other := freshet.Belief{Source: "a", Estimator: "y", Upto: 7, Memory: []byte("n")}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{two, one, other}))
		b.reopen()
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.Belief{one, two})
		same(b, "the beliefs of y", b.beliefs("y"), []freshet.Belief{other})
		one.Upto, one.Memory = 9, []byte("newer")
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{one}))
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.Belief{one, two})
		same(b, "the beliefs of nobody", b.beliefs("z"), nil)
	}},
	{"a belief about all sources together comes first", func(b *bench) {
		b.add("a")
		common := freshet.Belief{Estimator: "x", Upto: 5, Memory: []byte("\x02")}
		one := freshet.Belief{Source: "a", Estimator: "x", Upto: 5, Memory: []byte("m")}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{one, common, {Estimator: "y", Upto: 9}}))
		b.reopen()
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.Belief{common, one})
		common.Upto, common.Memory = 6, []byte("newer")
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{common}))
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.Belief{common, one})
	}},
	{"many beliefs come back, in the order of their sources", func(b *bench) {
		var want []freshet.Belief
		for i := range 1203 {
			id := freshet.SourceID(fmt.Sprintf("s%04d", i))
			b.add(id)
			want = append(want, freshet.Belief{Source: id, Estimator: "x", Upto: freshet.Cursor(i), Memory: []byte(id)})
		}
		saved := slices.Clone(want)
		slices.Reverse(saved)
		b.ok("save", b.SaveBeliefs(b.Context(), saved))
		b.ok("remove", b.RemoveSource(b.Context(), "s0007", false))
		b.reopen()
		same(b, "the beliefs", b.beliefs("x"), slices.Delete(want, 7, 8))
		for range b.Beliefs(b.Context(), "x") {
			break // must not hang
		}
	}},
	{"beliefs about sources that are gone are passed over", func(b *bench) {
		b.add("a")
		known := freshet.Belief{Source: "a", Estimator: "x", Memory: []byte("m")}
		b.ok("save", b.SaveBeliefs(b.Context(), []freshet.Belief{{Source: "gone", Estimator: "x"}, known}))
		same(b, "the beliefs", b.beliefs("x"), []freshet.Belief{known})
		b.ok("save nothing", b.SaveBeliefs(b.Context(), nil))
	}},
}
