package queries_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/units"
)

// start is when the stories of these tests begin.
var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// A story is what an engine is told, with short names for what a test needs often.
type story struct {
	events  []any // queries.Event, or a time.Time for a tick
	cursor  freshet.Cursor
	outcome freshet.Cursor
	seq     map[freshet.SourceID]int
}

// change adds a change of a source some time after the start.
func (s *story) change(id freshet.SourceID, after time.Duration, c queries.Content, edit ...func(*freshet.Change)) *story {
	if s.seq == nil {
		s.seq = map[freshet.SourceID]int{}
	}
	s.cursor++
	s.seq[id]++
	ch := freshet.Change{Cursor: s.cursor, Source: id, Seq: s.seq[id], Before: start.Add(after), After: start.Add(after - time.Hour), Label: freshet.Label{URL: "https://" + string(id) + ".example/", Tags: []string{"shop"}}}
	for _, e := range edit {
		e(&ch)
	}
	s.events = append(s.events, queries.Event{Subject: queries.Subject{ID: ch.Source, Label: ch.Label}, Change: &ch, Content: c})
	return s
}

// poll adds how a poll ended.
func (s *story) poll(id freshet.SourceID, after time.Duration, r freshet.Result) *story {
	s.outcome++
	o := freshet.Outcome{Cursor: s.outcome, Source: id, Result: r, Ended: start.Add(after)}
	s.events = append(s.events, queries.Event{Subject: queries.Subject{ID: id}, Outcome: &o})
	return s
}

// tick adds that time has come so far.
func (s *story) tick(after time.Duration) *story {
	s.events = append(s.events, start.Add(after))
	return s
}

// price is content with a price now and before.
func price(now, before float64) queries.Content {
	return queries.Content{Now: freshet.Fields{"price": now}, Before: freshet.Fields{"price": before}}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func added(text string) queries.Content { return queries.Content{Added: text, Text: text} }

func fields(name string, now, before any) queries.Content {
	return queries.Content{Now: freshet.Fields{name: now}, Before: freshet.Fields{name: before}}
}

// items is content with items that are new.
func items(titles ...string) queries.Content {
	list := &queries.Items{}
	for _, title := range titles {
		list.Added = append(list.Added, freshet.Item{Key: title, Title: title})
	}
	return queries.Content{Items: list}
}

func newEngine(t testing.TB, list ...queries.Query) *queries.Engine {
	t.Helper()
	e, err := queries.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		rep, err := queries.Check(q, nil)
		if err != nil {
			t.Fatalf("query %s: %v", q.ID, err)
		}
		if err := e.Put(rep.Query); err != nil {
			t.Fatalf("query %s: %v", q.ID, err)
		}
	}
	return e
}

// tell tells an engine one event of a story.
func tell(e *queries.Engine, event any) []queries.Match {
	if now, ok := event.(time.Time); ok {
		return e.Tick(now)
	}
	return e.Observe(event.(queries.Event))
}

// short returns a match in a line.
func short(m queries.Match) string {
	text := fmt.Sprintf("%d %s %s +%s", m.Number, m.Cause, m.Source, units.FormatDuration(m.At.Sub(start)))
	if m.Group != "" {
		text += " in " + m.Group
	}
	if m.Value != nil {
		text += fmt.Sprintf(" = %v", m.Value)
	}
	return text
}

// A told query is one with what it is told and what it answers.
type toldQuery struct {
	name  string
	query queries.Query
	story *story
	want  []string
}

// tenQueries are the queries that people ask for, as docs/reference/queries.md has them. That of
// the digest is in TestPace.
func tenQueries() []toldQuery {
	day := units.Day
	return []toldQuery{
		{
			"price below", queries.Query{When: `now.price < 100`, Value: `now.price`},
			new(story).change("a", 0, price(120, 130)).change("a", time.Hour, price(99, 120)).change("a", 2*time.Hour, price(99, 99)).change("a", 150*time.Minute, queries.Content{Now: freshet.Fields{"price": nil}}).change("b", 3*time.Hour, price(100, 99)),
			[]string{"1 change a +1h = 99"},
		},
		{
			"back in stock", queries.Query{When: `now.stock == "in stock" && before.stock != "in stock"`},
			new(story).change("a", 0, fields("stock", "sold out", "in stock")).change("a", time.Hour, fields("stock", "in stock", "sold out")).change("a", 2*time.Hour, fields("stock", "in stock", "in stock")),
			[]string{"1 change a +1h"},
		},
		{
			"new item with a keyword", queries.Query{When: `items.added.exists(i, mentions(i.title, "security"))`, Value: `items.added.filter(i, mentions(i.title, "security")).map(i, i.title)`},
			new(story).change("a", 0, items("Release 1.2")).change("a", time.Hour, items("Notes", "Security update")).change("b", 2*time.Hour, items("insecurity")),
			[]string{"1 change a +1h = [Security update]"},
		},
		{
			"any of twenty pages mentions a name", queries.Query{When: `mentions(added, "Ada Lovelace")`, Scope: queries.Scope{Tags: []string{"shop"}}},
			new(story).change("a", 0, added("A talk on ADA LOVELACE and her notes")).change("b", time.Hour, added("Ada Lovelacey")).change("c", 2*time.Hour, added("ada lovelace."), func(c *freshet.Change) { c.Label.Tags = nil }),
			[]string{"1 change a +0s"},
		},
		{
			"number changed by more than 5%", queries.Query{When: `math.abs(percent(before.users, now.users)) > 5`, Value: `percent(before.users, now.users)`},
			new(story).change("a", 0, fields("users", 104.0, 100.0)).change("a", time.Hour, fields("users", 90.0, 100.0)).change("a", 2*time.Hour, fields("users", 5.0, 0.0)),
			[]string{"1 change a +1h = -9.999999999999998"},
		},
		{
			"silent for longer than usual", queries.Query{Window: queries.Window{Silent: queries.Silence{Times: 2}}},
			new(story).change("a", 0, added("1")).change("a", day, added("2")).change("a", 2*day, added("3")).change("a", 3*day, added("4")).tick(4*day).tick(5*day).tick(6*day).change("a", 7*day, added("5")).tick(30 * day),
			[]string{"1 silent a +5d", "2 silent a +9d"},
		},
		{
			"status not green for ten minutes", queries.Query{When: `now.status != "green"`, Window: queries.Window{For: 10 * time.Minute}, Value: `now.status`},
			new(story).change("a", 0, fields("status", "red", "green")).change("a", 5*time.Minute, fields("status", "green", "red")).tick(20*time.Minute).
				change("a", 30*time.Minute, fields("status", "red", "green")).change("a", 35*time.Minute, fields("status", "yellow", "red")).tick(39*time.Minute).tick(41*time.Minute).tick(2*time.Hour).
				change("a", 3*time.Hour, fields("status", "green", "red")).change("a", 4*time.Hour, fields("status", "red", "green")).change("a", 5*time.Hour, fields("status", "green", "red")),
			[]string{"1 held a +40m = red", "2 held a +4h10m = red"},
		},
		{
			"the same change on several pages", queries.Query{When: `first(added, "1d")`, Window: queries.Window{By: "all"}},
			new(story).change("a", 0, added("We moved")).change("b", time.Hour, added("We moved")).change("c", 2*time.Hour, added("We did not")).change("b", 26*time.Hour, added("We moved")),
			[]string{"1 change a +0s", "2 change c +2h", "3 change b +26h"},
		},
		{
			"only what was never seen", queries.Query{When: `size(unseen(lines(added))) > 0`, Value: `unseen(lines(added))`, Window: queries.Window{By: "all"}},
			new(story).change("a", 0, added("one\ntwo")).change("b", time.Hour, added("two\nthree\n")).change("a", 2*day, added("three\none")),
			[]string{"1 change a +0s = [one two]", "2 change b +1h = [three]"},
		},
		{
			"down for ten minutes", queries.Query{When: `!poll.ok`, Window: queries.Window{For: 10 * time.Minute}},
			new(story).poll("a", 0, freshet.Failed).poll("a", 4*time.Minute, freshet.Failed).tick(11*time.Minute).poll("a", 12*time.Minute, freshet.Unchanged).poll("a", 20*time.Minute, freshet.Failed).poll("a", 25*time.Minute, freshet.Unchanged).tick(time.Hour),
			[]string{"1 held a +10m"},
		},
		{
			"failed three times in a row", queries.Query{When: `poll.failures >= 3`},
			new(story).poll("a", 0, freshet.Failed).poll("a", 1, freshet.Failed).poll("b", 1, freshet.Failed).poll("a", 2*time.Second, freshet.Failed).poll("a", 3*time.Second, freshet.Failed).poll("a", 4*time.Second, freshet.Unchanged),
			[]string{"1 poll a +2s"},
		},
		{
			"not a slip of the editor", queries.Query{When: `now.price != before.price`, Window: queries.Window{Lasting: 15 * time.Minute}},
			new(story).change("a", 0, price(9, 100)).change("a", 10*time.Minute, price(100, 9)).change("a", time.Hour, price(90, 100)).tick(2 * time.Hour),
			[]string{"1 held a +1h15m"},
		},
		{
			"until somebody acknowledges it", queries.Query{When: `now.price < 100`, Trigger: queries.First, Repeat: queries.Repeat(time.Hour)},
			new(story).poll("a", 0, freshet.Unchanged).change("a", time.Hour, price(99, 98)).change("a", 2*time.Hour, price(97, 99)),
			[]string{"1 change a +1h"},
		},
		{
			"more than three changes in an hour", queries.Query{When: `count("1h") > 3`},
			new(story).change("a", 0, added("")).change("a", 20*time.Minute, added("")).change("b", 25*time.Minute, added("")).change("a", 40*time.Minute, added("")).change("a", 59*time.Minute, added("")).change("a", 100*time.Minute, added("")),
			[]string{"1 change a +59m"},
		},
		{
			"lowest in thirty days", queries.Query{When: `now.price < lowest(now.price, "30d")`},
			new(story).change("a", 0, price(100, 0)).change("a", day, price(90, 0)).change("b", 2*day, price(10, 0)).change("a", 3*day, price(95, 0)).change("a", 40*day, price(94, 0)).change("a", 80*day, price(93, 0)),
			[]string{"1 change a +1d"},
		},
		{
			"one and then another within an hour", queries.Query{When: `source.id == "b" && after(source.id == "a", "1h")`, Window: queries.Window{By: "all"}},
			new(story).change("b", 0, added("")).change("a", time.Minute, added("")).change("b", 30*time.Minute, added("")).change("b", 3*time.Hour, added("")),
			[]string{"1 change b +30m"},
		},
		{
			"cheaper than at all other shops", queries.Query{When: `others(now.price, "7d").all(p, now.price < p)`, Window: queries.Window{By: "now.sku"}, Value: `now.price`},
			new(story).change("a", 0, queries.Content{Now: freshet.Fields{"sku": "x", "price": 10.0}}).change("b", time.Hour, queries.Content{Now: freshet.Fields{"sku": "x", "price": 9.0}}).change("c", 2*time.Hour, queries.Content{Now: freshet.Fields{"sku": "y", "price": 1.0}}).change("c", 3*time.Hour, queries.Content{Now: freshet.Fields{"sku": "x", "price": 9.5}}),
			[]string{"1 change b +1h in x = 9"},
		},
	}
}

// TestTenQueries tells each its story.
func TestTenQueries(t *testing.T) {
	for _, tt := range tenQueries() {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.ID, tt.query.Name = "q", tt.name
			e := newEngine(t, tt.query)
			var got []string
			for _, event := range tt.story.events {
				for _, m := range tell(e, event) {
					got = append(got, short(m))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
