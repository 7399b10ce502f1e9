package queries_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/suspect"
	"freshet/internal/queries"
)

var words = []string{"a", "ab", "sale", "sales", "on sale", "Sale!", "securities update", "ä", "xyzzyxyzzy"}

// anyAtom draws a small condition, most of them of the forms that are indexed.
func anyAtom() *rapid.Generator[string] {
	word := rapid.SampledFrom(words)
	number := rapid.SampledFrom([]string{"1", "2", "2.5", "3", "-1"})
	sign := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="})
	value := rapid.SampledFrom([]string{"now.price", "before.price", "now.other"})
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 12).Draw(t, "form") {
		case 0:
			return fmt.Sprintf("%s.contains(%q)", rapid.SampledFrom([]string{"added", "removed", "text", "change.summary", "now.price"}).Draw(t, "in"), word.Draw(t, "word"))
		case 1:
			return fmt.Sprintf("mentions(added, %q)", word.Draw(t, "word"))
		case 2:
			return fmt.Sprintf("%s %s %s", value.Draw(t, "value"), sign.Draw(t, "sign"), number.Draw(t, "number"))
		case 3:
			return fmt.Sprintf("%s %s %s", number.Draw(t, "number"), sign.Draw(t, "sign"), value.Draw(t, "value"))
		case 4:
			return fmt.Sprintf("source.id == %q", rapid.SampledFrom([]string{"s0", "s1"}).Draw(t, "id"))
		case 5:
			return fmt.Sprintf("%q in source.tags", rapid.SampledFrom([]string{"t0", "t1"}).Draw(t, "tag"))
		case 6:
			return fmt.Sprintf("items.%s.exists(i, i.title.contains(%q))", rapid.SampledFrom([]string{"added", "removed", "back", "updated"}).Draw(t, "list"), word.Draw(t, "word"))
		case 7:
			return fmt.Sprintf("items.added.exists(i, i.price < %s && i.title != %q)", number.Draw(t, "number"), word.Draw(t, "word"))
		case 8:
			return rapid.SampledFrom([]string{"page.gone", "suspect", "noise", "now.flag", "!page.new"}).Draw(t, "truth")
		case 9:
			return fmt.Sprintf("now.name == %q", word.Draw(t, "word"))
		case 10:
			return fmt.Sprintf("items.added.exists(added, added.title == %q || added.price > 2)", word.Draw(t, "word"))
		case 11:
			return fmt.Sprintf("now.price * 2 %s %s", sign.Draw(t, "sign"), number.Draw(t, "number"))
		}
		return fmt.Sprintf("removed.startsWith(%q)", word.Draw(t, "word"))
	})
}

// anyWhen draws a condition of several small ones.
func anyWhen() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		when := anyAtom().Draw(t, "atom")
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			other := anyAtom().Draw(t, "atom")
			when = rapid.SampledFrom([]string{"(%s) && (%s)", "(%s) || (%s)", "!(%s) || (%s)", "(%s) && !(%s)"}).Draw(t, "join")
			when = fmt.Sprintf(when, other, anyAtom().Draw(t, "other"))
		}
		return when
	})
}

func anyScope() *rapid.Generator[queries.Scope] {
	return rapid.SampledFrom([]queries.Scope{{}, {}, {}, {}, {}, {}, {Sources: []freshet.SourceID{"s0"}}, {Sources: []freshet.SourceID{"s0", "s1"}, Tags: []string{"t0"}}, {Tags: []string{"t0", "t1"}}, {Sites: []freshet.SourceID{"site", "s1"}}})
}

func anyFields(t *rapid.T, label string) freshet.Fields {
	f := freshet.Fields{}
	for _, name := range []string{"price", "other", "flag", "name"} {
		value := rapid.SampledFrom([]any{nil, 1.0, 2.0, 2.5, 3.0, -1.0, "sale", "ab", true, false, []string{"a"}}).Draw(t, label)
		if rapid.Bool().Draw(t, "there") {
			f[name] = value
		}
	}
	return f
}

func anyText(t *rapid.T, label string) (text string) {
	for _, word := range rapid.SliceOfN(rapid.SampledFrom(append(words, "b", " ", "\n")), 0, 6).Draw(t, label) {
		text += word
	}
	return text
}

func anyEvent(t *rapid.T, cursor int, clock time.Duration) queries.Event {
	c := freshet.Change{
		Cursor: freshet.Cursor(cursor), Seq: cursor, Source: freshet.SourceID(rapid.SampledFrom([]string{"s0", "s1", "s2"}).Draw(t, "source")),
		Before: start.Add(clock), After: start.Add(clock - 10*time.Hour), Summary: anyText(t, "summary"),
		Label: freshet.Label{URL: "https://example.com/", Tags: rapid.SampledFrom([][]string{nil, {"t0"}, {"t0", "t1"}}).Draw(t, "tags")},
	}
	c.Modified = rapid.SampledFrom([]time.Time{{}, {}, c.Before.Add(-30 * time.Minute), c.Before.Add(-3 * time.Hour)}).Draw(t, "modified")
	c.Details.Page = rapid.SampledFrom([]crawl.PageEvent{"", "", crawl.PageCame, crawl.PageWent}).Draw(t, "page")
	c.Suspect = rapid.SampledFrom([]suspect.Class{"", suspect.Empty}).Draw(t, "suspect")
	items := &queries.Items{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		one := freshet.Item{Key: "k", Title: anyText(t, "title"), Fields: anyFields(t, "item")}
		switch rapid.IntRange(0, 3).Draw(t, "list") {
		case 0:
			items.Removed = append(items.Removed, one)
		case 1:
			items.Back = append(items.Back, one)
		case 2:
			items.Updated = append(items.Updated, queries.ItemUpdate{Now: one})
		default:
			items.Added = append(items.Added, one)
		}
	}
	return queries.Event{
		Subject: queries.Subject{ID: c.Source, Label: c.Label, Site: freshet.SourceID(rapid.SampledFrom([]string{"", "site"}).Draw(t, "site"))}, Change: &c,
		Content: queries.Content{Added: anyText(t, "added"), Removed: anyText(t, "removed"), Text: anyText(t, "text"), Now: anyFields(t, "now"), Before: anyFields(t, "before"), Items: items},
	}
}

// TestManyAreAsOneByOne holds an engine with many queries against as many engines with
// one query, which evaluate every condition.
func TestManyAreAsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		many, err := queries.NewEngine()
		if err != nil {
			t.Fatal(err)
		}
		alone := queries.NewOneByOne(many)
		ids := []queries.ID{}
		cursor := 0
		for range rapid.IntRange(5, 15).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "remove") == 0 && len(ids) > 0 {
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "which")
				many.Remove(ids[i])
				alone.Remove(ids[i])
				ids = slices.Delete(ids, i, i+1)
			}
			for range rapid.IntRange(1, 8).Draw(t, "queries") {
				q := queries.Query{ID: queries.ID(fmt.Sprintf("q%d", len(ids))), When: anyWhen().Draw(t, "when"), Scope: anyScope().Draw(t, "scope")}
				if rapid.Bool().Draw(t, "becomes") {
					q.When = fmt.Sprintf(rapid.SampledFrom([]string{"%s", "!(%s)", "now.other > 1 && %s", "%s || text.contains(\"sale\")"}).Draw(t, "state"), "now.price "+rapid.SampledFrom([]string{"< 2", "== 1", ">= 2.5"}).Draw(t, "bound"))
					q.Trigger = queries.Becomes
				}
				if err := many.Put(q); err != nil {
					t.Fatalf("%s: %v", q.When, err)
				}
				if err := alone.Put(q); err != nil {
					t.Fatalf("%s: %v", q.When, err)
				}
				if !slices.Contains(ids, q.ID) {
					ids = append(ids, q.ID)
				}
			}
			cursor++
			event := anyEvent(t, cursor, time.Duration(cursor)*time.Minute)
			if diff := cmp.Diff(alone.Observe(event), many.Observe(event)); diff != "" {
				t.Fatalf("one by one and by index differ:\n%s\n%+v", diff, event)
			}
		}
	})
}

// looking are queries that remember something.
var looking = []queries.Query{
	{ID: "count", When: `count("1h") > 2`, Window: queries.Window{By: "all"}},
	{ID: "countif", When: `count(added.contains("sale"), "2h") >= 2 && now.price > 1`, Value: `count(added.contains("sale"), "2h")`},
	{ID: "lowest", When: `now.price < lowest(now.price, "3h") || now.price > highest(now.price, "1h")`, Window: queries.Window{By: "all"}},
	{ID: "median", When: `now.price * 2 > median(now.price, "5h") + 1`, Window: queries.Window{By: "source.tags"}},
	{ID: "after", When: `source.id == "s0" && after(source.id == "s1", "1h")`, Window: queries.Window{By: "all"}},
	{ID: "others", When: `others(now.price).exists(p, p > now.price)`, Value: `others(now.price)`, Window: queries.Window{By: "now.name"}},
	{ID: "previous", When: `previous(now.name) != now.name`},
	{ID: "distinct", When: `distinct(source.id, "1h") >= 2`, Window: queries.Window{By: "all"}},
	{ID: "first", When: `first(added, "90m") && !page.gone`, Window: queries.Window{By: "all"}},
	{ID: "unseen", When: `size(unseen(lines(added))) > 0`, Value: `unseen(lines(added))`, Window: queries.Window{By: "all"}},
	{ID: "for", When: `now.price > 1`, Value: `now.price`, Window: queries.Window{For: 30 * time.Minute}},
	{ID: "silent", When: `added.contains("a")`, Window: queries.Window{Silent: queries.Silence{Times: 1.5}}},
	{ID: "silence", Window: queries.Window{Silent: queries.Silence{For: 3 * time.Hour}}},
	{ID: "polls", When: `poll.failures >= 2`},
	{ID: "everypoll", When: `!poll.ok`, Trigger: queries.Each},
	{ID: "becomes", When: `now.price > 1 || text.contains("sale")`, Trigger: queries.Becomes, Value: `now.price`},
	{ID: "below", When: `now.price < 3`, Trigger: queries.Becomes},
	{ID: "down", When: `!poll.ok`, Window: queries.Window{For: 20 * time.Minute}},
}

// TestRestartsDoNotShow restores an engine from its notes again and again, and tells it
// what came after them once more. It finds the same matches as one that never stopped,
// and in the end it remembers the same.
func TestRestartsDoNotShow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := func() *queries.Engine {
			e, err := queries.NewEngine()
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range looking {
				if err := e.Put(q); err != nil {
					t.Fatalf("%s: %v", q.ID, err)
				}
			}
			return e
		}
		type name struct{ query, key string }
		disk := map[name]queries.State{}
		write := func(e *queries.Engine) {
			for _, n := range e.Save() {
				if n.Body == nil {
					delete(disk, name{string(n.Query), n.Name})
				} else {
					disk[name{string(n.Query), n.Name}] = n
				}
			}
		}
		steady, restarted := start(), start()
		var events []any
		var want, got []queries.Match
		var saved, savedMatches int // up to which the restarted engine is on disk
		clock := time.Duration(0)
		for i := range rapid.IntRange(5, 25).Draw(t, "events") {
			clock += time.Duration(rapid.IntRange(0, 60).Draw(t, "minutes")) * time.Minute
			var event any
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				event = toldAt(clock)
			case 1:
				event = queries.Event{Subject: queries.Subject{ID: "s0"}, Outcome: &freshet.Outcome{Cursor: freshet.Cursor(i + 1), Source: "s0", Ended: toldAt(clock), Result: rapid.SampledFrom([]freshet.Result{freshet.Unchanged, freshet.Failed}).Draw(t, "result")}}
			default:
				event = anyEvent(t, i+1, clock)
			}
			events = append(events, event)
			want = append(want, tell(steady, event)...)
			got = append(got, tell(restarted, event)...)
			switch rapid.IntRange(0, 7).Draw(t, "then") {
			case 0:
				write(restarted)
				saved, savedMatches = len(events), len(got)
			case 1:
				restarted = start()
				var notes []queries.State
				for _, n := range disk {
					notes = append(notes, n)
				}
				if err := restarted.Restore(notes); err != nil {
					t.Fatal(err)
				}
				got = got[:savedMatches]
				for _, event := range events[saved:] {
					got = append(got, tell(restarted, event)...)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after %d events:\n%s", len(events), diff)
			}
			if due, ok := steady.Due(); true {
				if again, okAgain := restarted.Due(); okAgain != ok || !again.Equal(due) {
					t.Fatalf("due at %v (%v), and after a restart at %v (%v)", due, ok, again, okAgain)
				}
			}
		}
		write(restarted)
		for _, n := range saveAll(steady) {
			if on := disk[name{string(n.Query), n.Name}]; !bytes.Equal(on.Body, n.Body) {
				t.Fatalf("note %s %s differs", n.Query, n.Name)
			}
		}
	})
}

// toldAt returns a moment some time after the start.
func toldAt(after time.Duration) time.Time { return start.Add(after) }

// saveAll returns the notes of an engine that was never saved before.
func saveAll(e *queries.Engine) []queries.State {
	return slices.DeleteFunc(e.Save(), func(n queries.State) bool { return n.Body == nil })
}
