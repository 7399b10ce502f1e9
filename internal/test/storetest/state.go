package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
)

// beliefs returns what an estimator has saved.
func (b *bench) beliefs(estimator string) (found []freshet.State) {
	b.Helper()
	for f, err := range b.Store.States(b.Context(), estimator) {
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
			if _, err := b.State(b.Context(), freshet.NoiseState, id); !errors.Is(err, freshet.ErrNotFound) {
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
			found, err := b.State(b.Context(), freshet.NoiseState, "a")
			b.ok("belief", err)
			want := freshet.State{Source: "a", Key: freshet.NoiseState, Upto: o.Cursor, Value: []byte(memory)}
			if memory == "" { // which leaves what is kept
				want.Upto, want.Value = found.Upto, []byte("one")
			}
			same(b, "the belief", found, want)
		}
		none("of another source", "b")
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		_, err := b.State(b.Context(), freshet.NoiseState, "a")
		b.ok("belief of a removed source", err)
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		none("after a purge", "a")
	}},
	{"a belief about all sources together is there by itself", func(b *bench) {
		b.add("a")
		if _, err := b.State(b.Context(), "e", ""); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("before it is saved it is there, or %v", err)
		}
		want := freshet.State{Key: "e", Upto: 7, Value: []byte("all")}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{want, {Source: "a", Key: "e", Upto: 3, Value: []byte("one")}}))
		b.reopen()
		found, err := b.State(b.Context(), "e", "")
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
		versions, err := b.Versions(b.Context(), "a", freshet.Between{}, 0, 0)
		b.ok("versions", err)
		if len(versions) != 2 || versions[0].Hash != versions[1].Hash {
			b.Fatalf("the versions are %+v, want two of the same text", versions)
		}
		same(b, "the first values", versions[1].Fields, first.Capture.Fields)
		same(b, "the next values", versions[0].Fields, next.Capture.Fields)
		same(b, "the values of the head", b.watched("a").Status.Head.Fields, next.Capture.Fields)
		changes, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		if len(changes) != 1 {
			b.Fatalf("the changes are %+v, want one", changes)
		}
		same(b, "the details in the log", changes[0].Details, next.Capture.Details)
		long := saw("a", minute(6), freshet.Changed, "two")
		long.Capture.Details = freshet.Details{Text: &freshet.TextChange{AddedCount: 1, Added: []string{strings.Repeat("a line that is long ", 50)}}}
		_, _, err = b.Commit(b.Context(), long)
		b.ok("commit", err)
		changes, err = b.Changes(b.Context(), freshet.ChangeQuery{After: changes[0].Cursor})
		b.ok("changes", err)
		same(b, "long details in the log", changes[0].Details, long.Capture.Details)
		belief, err := b.State(b.Context(), freshet.ItemState, "a")
		b.ok("the items", err)
		same(b, "what is known of the items", string(belief.Value), "one item")
	}},
	{"items that were asked for when there were none are there once they are kept", func(b *bench) {
		b.add("a")
		for range 2 {
			if _, err := b.State(b.Context(), freshet.ItemState, "a"); !errors.Is(err, freshet.ErrNotFound) {
				b.Fatalf("the items of a source that has none: %v", err)
			}
		}
		for _, memory := range []string{"one", "two"} {
			b.ok("save", b.SaveState(b.Context(), []freshet.State{{Source: "a", Key: freshet.ItemState, Value: []byte(memory)}}))
			belief, err := b.State(b.Context(), freshet.ItemState, "a")
			b.ok("the items", err)
			same(b, "what is known of the items", string(belief.Value), memory)
		}
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		b.add("a")
		if _, err := b.State(b.Context(), freshet.ItemState, "a"); !errors.Is(err, freshet.ErrNotFound) {
			b.Fatalf("the items of a source that was purged: %v", err)
		}
	}},
	{"what was given of a source is kept with it and can be taken back", func(b *bench) {
		b.add("a")
		given, err := imported.Forecast{Rate: new(2.0), Until: noon.Add(time.Hour), Times: []imported.Chance{{At: noon, Chance: new(0.25)}}}.Given(noon)
		b.ok("chances", err)
		belief := freshet.State{Source: "a", Key: imported.ForecastState, Value: given.Memory()}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{belief}))
		b.ok("remove", b.RemoveSource(b.Context(), "a", false))
		same(b, "the chances of watched sources", b.beliefs(imported.ForecastState), nil)
		b.add("a")
		b.reopen()
		same(b, "the chances of a source that came back", b.beliefs(imported.ForecastState), []freshet.State{belief})
		read, there, err := imported.ParseForecast(b.beliefs(imported.ForecastState)[0].Value)
		b.ok("chances", err)
		same(b, "the chances", read, given)
		if belief.Value = nil; !there {
			b.Error("there are no chances")
		}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{belief}))
		b.reopen()
		belief, err = b.State(b.Context(), imported.ForecastState, "a")
		b.ok("belief", err)
		if read, there, err = imported.ParseForecast(belief.Value); there || err != nil {
			b.Errorf("%+v are there when they were taken back, or %v", read, err)
		}
	}},
	{"beliefs come back, each estimator's own", func(b *bench) {
		b.add("a")
		b.add("b")
		one := freshet.State{Source: "a", Key: "x", Upto: 5, Value: []byte("\x00\x01")}
		two := freshet.State{Source: "b", Key: "x", Upto: 6, Value: []byte("m")}
		other := freshet.State{Source: "a", Key: "y", Upto: 7, Value: []byte("n")}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{two, one, other}))
		b.reopen()
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.State{one, two})
		same(b, "the beliefs of y", b.beliefs("y"), []freshet.State{other})
		one.Upto, one.Value = 9, []byte("newer")
		b.ok("save", b.SaveState(b.Context(), []freshet.State{one}))
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.State{one, two})
		same(b, "the beliefs of nobody", b.beliefs("z"), nil)
	}},
	{"a belief about all sources together comes first", func(b *bench) {
		b.add("a")
		common := freshet.State{Key: "x", Upto: 5, Value: []byte("\x02")}
		one := freshet.State{Source: "a", Key: "x", Upto: 5, Value: []byte("m")}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{one, common, {Key: "y", Upto: 9}}))
		b.reopen()
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.State{common, one})
		common.Upto, common.Value = 6, []byte("newer")
		b.ok("save", b.SaveState(b.Context(), []freshet.State{common}))
		same(b, "the beliefs of x", b.beliefs("x"), []freshet.State{common, one})
	}},
	{"many beliefs come back, in the order of their sources", func(b *bench) {
		var want []freshet.State
		for i := range 1203 {
			id := freshet.SourceID(fmt.Sprintf("s%04d", i))
			b.add(id)
			want = append(want, freshet.State{Source: id, Key: "x", Upto: freshet.Cursor(i), Value: []byte(id)})
		}
		saved := slices.Clone(want)
		slices.Reverse(saved)
		b.ok("save", b.SaveState(b.Context(), saved))
		b.ok("remove", b.RemoveSource(b.Context(), "s0007", false))
		b.reopen()
		same(b, "the beliefs", b.beliefs("x"), slices.Delete(want, 7, 8))
		for range b.Store.States(b.Context(), "x") {
			break // must not hang
		}
	}},
	{"beliefs about sources that are gone are passed over", func(b *bench) {
		b.add("a")
		known := freshet.State{Source: "a", Key: "x", Value: []byte("m")}
		b.ok("save", b.SaveState(b.Context(), []freshet.State{{Source: "gone", Key: "x"}, known}))
		same(b, "the beliefs", b.beliefs("x"), []freshet.State{known})
		b.ok("save nothing", b.SaveState(b.Context(), nil))
	}},
}
