package store_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// Lists that are kept are as if they were sorted anew, whatever was written between two
// requests, and however much.
func TestKeptLists(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := store.NewSourceIndex()
		var ids []freshet.SourceID
		draw := func(label string) freshet.SourceID { return rapid.SampledFrom(ids).Draw(rt, label) }
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(rt *rapid.T) {
				id := freshet.SourceID(fmt.Sprintf("s%03d", rapid.IntRange(0, 999).Draw(rt, "id")))
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
					r.Add(freshet.Source{ID: id, URL: "http://h.example/" + string(id)})
				}
			},
			"poll": func(rt *rapid.T) {
				for range min(len(ids), rapid.IntRange(1, 9).Draw(rt, "times")) {
					r.Poll(draw("source"), int64(rapid.IntRange(1, 3).Draw(rt, "polls")))
				}
			},
			"rename": func(rt *rapid.T) {
				if len(ids) > 0 {
					id := draw("source")
					r.Edit(freshet.Source{ID: id, URL: "http://h.example/", Name: rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "name"), Tags: []string{rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "tag")}})
				}
			},
			"remove": func(rt *rapid.T) {
				if len(ids) > 0 {
					id := draw("source")
					ids = slices.DeleteFunc(ids, func(other freshet.SourceID) bool { return other == id })
					r.Remove(id)
				}
			},
			"flood": func(rt *rapid.T) { // more than is noted
				if len(ids) > 0 {
					for range 5000 {
						r.Poll(ids[0], 0)
					}
				}
			},
			"": func(rt *rapid.T) {
				q := freshet.SourceQuery{
					By: rapid.SampledFrom([]freshet.SourceOrder{freshet.ByID, freshet.ByPolls}).Draw(rt, "by"), Reverse: rapid.Bool().Draw(rt, "reverse"),
					SourceFilter: rapid.SampledFrom([]freshet.SourceFilter{{}, {Tag: "x"}, {Text: "tw"}}).Draw(rt, "filter"),
				}
				kept, err := r.List(t.Context(), q)
				fresh, errAnew := r.ListAnew(t.Context(), q)
				if err != nil || errAnew != nil || !slices.Equal(kept, fresh) {
					rt.Fatalf("%+v: the list that is kept has %v (%v), sorted anew it has %v (%v)", q, kept, err, fresh, errAnew)
				}
			},
		})
	})
}

// What is kept is bounded: in lists, and in lines of all lists together.
func TestKeptListsAreBounded(t *testing.T) {
	t.Parallel()
	r := store.NewSourceIndex()
	const sources = 100
	for i := range sources {
		r.Add(freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%03d", i)), URL: "http://h.example/"})
	}
	for i := range 100 {
		q := freshet.SourceQuery{SourceFilter: freshet.SourceFilter{Text: fmt.Sprintf("s%02d", i%50)}, By: freshet.ByPolls}
		if i%2 == 0 {
			q.Text = fmt.Sprint("h.example"[:1+i%9])
		}
		if _, err := r.List(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if lists, lines := r.Kept(); lists > 16 || lines > 8*sources {
			t.Fatalf("%d lists of %d lines together are kept, want at most 16 and %d", lists, lines, 8*sources)
		}
	}
	if lists, _ := r.Kept(); lists < 2 {
		t.Errorf("%d lists are kept, want a few", lists)
	}
}
