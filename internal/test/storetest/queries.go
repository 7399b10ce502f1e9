package storetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/test/kit"
)

// query adds a query.
func (b *bench) query(id queries.ID) queries.Query {
	b.Helper()
	q, err := b.AddQuery(b.Context(), queries.Query{ID: id, Name: "Query " + string(id), When: "true", Origin: freshet.FromAPI, Created: noon})
	b.ok("add query", err)
	return q
}

// matches returns the matches of a query, or of all.
func (b *bench) matches(q queries.MatchQuery) []queries.Match {
	b.Helper()
	found, err := b.Matches(b.Context(), q)
	b.ok("matches", err)
	return found
}

// notes returns what is remembered to run queries.
func (b *bench) notes() (found []string) {
	b.Helper()
	for n, err := range b.standing.States(b.Context()) {
		b.ok("notes", err)
		found = append(found, fmt.Sprintf("%s/%s=%s", n.Query, n.Name, n.Body))
	}
	return found
}

// step keeps what a step in running queries brought.
func (b *bench) step(step queries.Step) {
	b.Helper()
	b.ok("run queries", b.CommitStep(b.Context(), step))
}

// run keeps matches of queries, in order, and returns them as they are stored.
func (b *bench) run(of ...queries.ID) []queries.Match {
	b.Helper()
	var step queries.Step
	last := map[queries.ID]int64{}
	for i, id := range of {
		if _, ok := last[id]; !ok {
			q, err := b.Query(b.Context(), id)
			b.ok("query", err)
			last[id] = q.Last
		}
		last[id]++
		step.Matches = append(step.Matches, queries.Match{
			Query: id, Number: last[id], Cause: queries.MatchChange, At: noon.Add(time.Duration(i) * time.Minute), Known: noon.Add(time.Hour),
			Source: "a", Changes: []freshet.ChangeRef{{Source: "a", Seq: i + 1, Cursor: freshet.Cursor(i + 7)}}, Group: "shop", Value: 12.5,
		})
	}
	before, err := b.LastMatch(b.Context())
	b.ok("end", err)
	b.step(step)
	return b.matches(queries.MatchQuery{After: before})
}

var queryTests = []test{
	{"a query that triggers when its condition becomes true goes on as it was after a restart", triggers},
	{"a query is as it was added, after an edit, and gone after a removal", func(b *bench) {
		window := queries.Window{By: "source.site", Over: time.Hour}
		q, err := b.AddQuery(b.Context(), queries.Query{
			Name: "Cheap ones!", Scope: queries.Scope{Tags: []string{"shop"}}, When: "now.price < 5", Value: "now.price", Window: window,
			Digest: queries.Digest{Every: queries.DigestDay, At: 480, Zone: "Europe/Berlin"}, Quiet: queries.QuietHours{From: 1320, To: 420},
			Rate: queries.Rate{N: 10, Per: time.Hour}, Origin: freshet.FromAPI, Created: noon,
		})
		b.ok("add", err)
		if q.ID != "cheap-ones" || q.Revision != 1 {
			b.Errorf("it has the id %s and revision %d", q.ID, q.Revision)
		}
		again, err := b.AddQuery(b.Context(), queries.Query{Name: "Cheap ones?"})
		b.ok("add another", err)
		if again.ID != "cheap-ones-2" {
			b.Errorf("one of a name like it has the id %s", again.ID)
		}
		if _, err := b.AddQuery(b.Context(), queries.Query{ID: q.ID, Name: "x"}); !errors.Is(err, freshet.ErrConflict) {
			b.Errorf("the same id once more: %v", err)
		}
		b.reopen()
		found, err := b.Query(b.Context(), q.ID)
		b.ok("query", err)
		same(b, "the query", found, q)

		q.When = "now.price < 6"
		edited, err := b.UpdateQuery(b.Context(), q)
		b.ok("edit", err)
		if edited.Revision != 2 || edited.When != q.When || !edited.Created.Equal(noon) {
			b.Errorf("after an edit it is %+v", edited)
		}
		if _, err := b.UpdateQuery(b.Context(), q); !errors.Is(err, freshet.ErrStale) {
			b.Errorf("an edit of a query as it no longer is: %v", err)
		}
		if _, err := b.UpdateQuery(b.Context(), queries.Query{ID: "none", Name: "none"}); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("an edit of a query that is not there: %v", err)
		}
		all, err := b.Queries(b.Context())
		b.ok("queries", err)
		same(b, "the queries", all, []queries.Query{edited, again})

		b.ok("remove", b.RemoveQuery(b.Context(), q.ID))
		b.reopen()
		if _, err := b.Query(b.Context(), q.ID); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("after it was removed: %v", err)
		}
		if err := b.RemoveQuery(b.Context(), q.ID); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("removed twice: %v", err)
		}
		all, err = b.Queries(b.Context())
		b.ok("queries", err)
		same(b, "the queries", all, []queries.Query{again})
	}},
	{"matches have numbers without gaps, of each query, and places in one log", func(b *bench) {
		b.query("p")
		b.query("q")
		kept := append(b.run("p", "q", "p"), b.run("p")...)
		for i, want := range []struct {
			query  queries.ID
			number int64
		}{{"p", 1}, {"q", 1}, {"p", 2}, {"p", 3}} {
			if m := kept[i]; m.Query != want.query || m.Number != want.number || m.Cursor != freshet.Cursor(i+1) || m.Epoch == "" {
				b.Errorf("match %d is %+v, want number %d of %s", i, m, want.number, want.query)
			}
		}
		b.reopen()
		same(b, "all matches", b.matches(queries.MatchQuery{}), kept)
		same(b, "those of one query", b.matches(queries.MatchQuery{Query: "p"}), []queries.Match{kept[0], kept[2], kept[3]})
		same(b, "those after a place", b.matches(queries.MatchQuery{Query: "p", After: 2, Limit: 1}), []queries.Match{kept[2]})
		same(b, "the newest", b.matches(queries.MatchQuery{Newest: true, Limit: 2}), []queries.Match{kept[3], kept[2]})
		if _, err := b.Matches(b.Context(), queries.MatchQuery{Query: "none"}); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("of a query that is not there: %v", err)
		}
		end, err := b.LastMatch(b.Context())
		b.ok("end", err)
		if end != 4 {
			b.Errorf("the log ends at %d", end)
		}
	}},
	{"no number of a match is given twice", func(b *bench) {
		b.query("p")
		before := b.run("p", "p")
		b.ok("remove", b.RemoveQuery(b.Context(), "p"))
		b.reopen()
		q := b.query("p")
		if q.Revision != 2 {
			b.Errorf("a query that takes the id of another has revision %d", q.Revision)
		}
		if found := b.matches(queries.MatchQuery{}); len(found) != 0 {
			b.Errorf("it has the matches %+v of the one before", found)
		}
		after := b.run("p")[0]
		if after.Number != 3 || after.Cursor != 3 {
			b.Errorf("after number %d at %d comes number %d at %d", before[1].Number, before[1].Cursor, after.Number, after.Cursor)
		}
	}},
	{"a step in running queries is kept whole", func(b *bench) {
		b.query("p")
		b.query("q")
		b.step(queries.Step{
			States: []queries.State{
				{Name: "place", Body: []byte("7")}, {Query: "p", Name: "window", Body: []byte("w")}, {Query: "q", Name: "a", Body: []byte{}}, {Query: "q", Name: "b", Body: []byte("x")},
				{Query: "none", Name: "lost", Body: []byte("y")},
			},
			Matches: []queries.Match{{Query: "none", Number: 9, Cause: queries.MatchChange}},
			Batches: []queries.Batch{{Query: "none", From: 1, To: 1}},
		})
		same(b, "the notes", b.notes(), []string{"/place=7", "p/window=w", "q/a=", "q/b=x"})
		first := queries.Match{Query: "p", Number: 1, Cause: queries.MatchChange, Value: map[string]any{"a": []any{1.0, "x", nil}}}
		b.step(queries.Step{States: []queries.State{{Name: "place", Body: []byte("8")}, {Query: "q", Name: "b"}}, Matches: []queries.Match{first}})
		second := first
		second.Number = 2
		for what, step := range map[string]queries.Step{
			"a value that cannot be stored": {Matches: []queries.Match{{Query: "p", Number: 2, Value: func() {}}}},
			"a number once more":            {Matches: []queries.Match{first}},
			"a gap between numbers":         {Matches: []queries.Match{{Query: "p", Number: 3}}},
			"a batch with a gap":            {Matches: []queries.Match{second}, Batches: []queries.Batch{{Query: "p", From: 2, To: 2}}},
			"a batch of too many":           {Batches: []queries.Batch{{Query: "p", From: 1, To: 2}}},
		} {
			step.States = []queries.State{{Name: "place", Body: []byte("9")}}
			if b.CommitStep(b.Context(), step) == nil {
				b.Errorf("%s was kept", what)
			}
		}
		b.reopen()
		same(b, "the notes after that", b.notes(), []string{"/place=8", "p/window=w", "q/a="})
		if found := b.matches(queries.MatchQuery{}); len(found) != 1 || fmt.Sprint(found[0].Value) != "map[a:[1 x <nil>]]" {
			b.Errorf("the matches are %+v", found)
		}
		b.ok("remove", b.RemoveQuery(b.Context(), "q"))
		same(b, "the notes without q", b.notes(), []string{"/place=8", "p/window=w"})
	}},
	{"batches follow each other", func(b *bench) {
		b.query("p")
		b.query("q")
		told := b.run("p", "p", "q", "p")
		if end, err := b.LastBatch(b.Context()); err != nil || end != 0 {
			b.Errorf("the log of batches ends at %d, %v", end, err)
		}
		batches := []queries.Batch{
			{Query: "p", Name: "Query p", From: 1, To: 2, Delay: queries.DelayDigest, At: noon}, {Query: "q", From: 1, To: 1, At: noon}, {Query: "p", From: 3, To: 3, Delay: queries.DelayRate, At: noon.Add(time.Hour)},
		}
		b.step(queries.Step{Batches: batches[:2]})
		b.step(queries.Step{Batches: batches[2:]})
		b.reopen()
		for i := range batches {
			batches[i].Cursor = freshet.Cursor(i + 1)
			batches[i].End = told[i+1].Place()
		}
		b.ok("wait for a batch", b.WaitBatch(b.Context(), 2))
		if end, err := b.LastBatch(b.Context()); err != nil || end != 3 {
			b.Errorf("the log of batches ends at %d, %v", end, err)
		}
		found, err := b.Batches(b.Context(), queries.MatchQuery{})
		b.ok("batches", err)
		same(b, "the batches", found, batches)
		found, err = b.Batches(b.Context(), queries.MatchQuery{Query: "p", After: 1})
		b.ok("batches", err)
		same(b, "those of one query after a place", found, batches[2:])
		found, err = b.Batches(b.Context(), queries.MatchQuery{Query: "p", First: 3, Limit: 1})
		b.ok("batches", err)
		same(b, "the one with a match", found, batches[2:])
		same(b, "its matches", b.matches(queries.MatchQuery{Query: "p", First: 3, Last: 3}), told[3:])
		same(b, "the ids", []string{batches[0].ID(), batches[1].ID()}, []string{"p.1-2~" + string(told[1].Epoch), told[2].ID()})

		b.run("p")
		b.ok("remove", b.RemoveQuery(b.Context(), "p"))
		b.query("p")
		b.run("p") // which is number 5: number 4 was never told, and will not be
		b.step(queries.Step{Batches: []queries.Batch{{Query: "p", From: 5, To: 5}}})
		found, err = b.Batches(b.Context(), queries.MatchQuery{Query: "p"})
		b.ok("batches", err)
		if len(found) != 1 || found[0].From != 5 || found[0].Cursor != 4 {
			b.Errorf("after it was removed and added again its batches are %+v", found)
		}
	}},
	{"a query looks at what is committed after it", func(b *bench) {
		b.add("a")
		b.history("a", 2)
		end, err := b.LastChange(b.Context())
		b.ok("end", err)
		for from, want := range map[freshet.Cursor]freshet.Cursor{-1: end, 0: 0} {
			q, err := b.AddQuery(b.Context(), queries.Query{Name: "q", From: from})
			b.ok("add", err)
			if q.From != want || end == 0 {
				b.Errorf("a query from %d begins after %d of %d", from, q.From, end)
			}
		}
	}},
	{"many notes come in order", func(b *bench) {
		var notes []queries.State
		var want []string
		for i := range 700 {
			name := fmt.Sprintf("%04d", i)
			notes = append(notes, queries.State{Name: name, Body: []byte("n")})
			want = append(want, "/"+name+"=n")
		}
		b.step(queries.Step{States: notes})
		same(b, "the notes", b.notes(), want)
	}},
	{"who waits for a match hears of it", func(b *bench) {
		b.query("p")
		b.run("p")
		b.ok("a match that is there", b.WaitMatch(b.Context(), 0))
		ctx, cancel := context.WithCancel(b.Context())
		heard := make(chan error)
		go func() { heard <- b.WaitMatch(ctx, 1) }()
		b.run("p")
		b.ok("a match that comes", <-heard)
		cancel()
		if err := b.WaitMatch(ctx, 2); !errors.Is(err, context.Canceled) {
			b.Errorf("without one: %v", err)
		}
	}},
	{"queries over states see what each source was at a time", func(b *bench) {
		ask := func(text string, at time.Time, want ...any) {
			b.Helper()
			found, err := queries.States{Store: b.Store}.Eval(b.Context(), queries.StateQuery{Text: text, AsOf: at, Limit: 10})
			b.ok(text, err)
			var got []any
			for _, r := range found.Rows {
				got = append(got, r.Values...)
			}
			same(b, fmt.Sprintf("%s at %s", text, at.Format(time.TimeOnly)), got, want)
		}
		for i, id := range []freshet.SourceID{"a", "b"} {
			b.add(id)
			for n := range 3 {
				r := saw(id, minute(10*n+i), freshet.Changed, fmt.Sprintf("state %d of %s", n, id))
				r.Capture.Fields = freshet.Fields{"price": float64(n + 10*i), "shop": string(id)}
				b.commit(r)
			}
		}
		b.commit(doubted("a", minute(30), "log in", freshet.Held{Since: minute(30), Looks: 1, Agreed: 1, Again: minute(32)}))
		b.reopen()
		ask("min(price) by shop", minute(0).Add(time.Second), "a", 0.0)
		ask("min(price) by shop", minute(12), "a", 1.0, "b", 11.0)
		ask("max(price), count()", minute(60), 12.0, 2.0)
		ask("text join b where text.contains('2 of a') && b.text.contains('of b') from a", minute(60), "state 2 of a")
		ask("shop, b.price join b on price + 10 = price from a", minute(20).Add(time.Second)) // b is not there yet
		ask("shop, b.price join b on price + 10 = price from a", minute(22), "a", 12.0)
		ask("first(shop), last(shop)", minute(13), "a", "b")
	}},
}

// triggers runs queries over versions of a source, with a restart at each, and requires the matches of those
// that trigger when their condition becomes true.
func triggers(b *bench) {
	b.add("a")
	see := func(price float64) {
		b.Helper()
		record := kit.Changed("a", fmt.Sprint(price), "price")
		record.Capture.Fields = freshet.Fields{"price": price}
		b.commit(record)
	}
	see(120)
	for i, id := range []queries.ID{"becomes", "each"} {
		_, err := b.AddQuery(b.Context(), queries.Query{ID: id, Name: string(id), When: "now.price < 100", Trigger: []queries.Trigger{queries.Becomes, queries.Each}[i], Created: noon, From: -1})
		b.ok("add query", err)
	}
	for i, price := range []float64{99, 98, 101, 97} {
		see(price)
		ctx, cancel := context.WithCancel(b.Context())
		runner, done := queries.NewRunner(queries.RunnerConfig{Store: b.Store, Queries: b.standing, Now: time.Now, Log: slog.New(slog.DiscardHandler)}), make(chan error)
		go func() { done <- runner.Run(ctx) }()
		b.ok("matches", b.WaitMatch(b.Context(), freshet.Cursor([]int{1, 2, 2, 4}[i])))
		cancel()
		b.ok("run", <-done)
	}
	var found []string
	for _, m := range b.matches(queries.MatchQuery{}) {
		found = append(found, fmt.Sprintf("%s.%d %d", m.Query, m.Number, m.Changes[0].Seq))
	}
	slices.Sort(found) // queries match one change in any order
	if want := []string{"becomes.1 1", "becomes.2 4", "each.1 1", "each.2 2", "each.3 4"}; !slices.Equal(found, want) {
		b.Errorf("the matches are %q, want %q", found, want)
	}
}
