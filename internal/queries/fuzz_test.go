package queries_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// FuzzCondition reads any text as a condition and, if it is one, holds a change against
// it. Neither takes long.
func FuzzCondition(f *testing.F) {
	for _, tt := range tenQueries() {
		f.Add(tt.query.When, tt.query.Value, tt.query.Window.By)
	}
	for _, text := range []string{
		`now.price <`, `((((((((((`, `"` + "\xff", `items.added.exists(i, i.exists(j, j))`, `count("1h", "1h")`, `[1,2,3].map(x, x*x).exists(y, y > 2)`, `{"a": 1}.a == 1`,
		`first(first(added))`, `size(unseen(items.added)) > 0`, `-9223372036854775808 < now.x`, `others(now.price, "1h").map(x, x + 1.0)[0] > 1.0`, `added.matches("(a|b)*")`, `has(now.a.b)`, `now.a.b.c == 1`, `Item{key: "x"}.key == "x"`,
		`type(now) == type(1)`, `dyn(now) == before`, `optional.of(1)`, `slot0__`, `1 / 0 == 1`, `timestamp("2026-01-01T00:00:00Z") < change.at`, `count(count("1h") > 1, "1h") > 1`, `[now, before].exists(f, f.price > 1)`, `items == items`, `source`,
	} {
		f.Add(text, "", "")
		f.Add("true", text, text)
	}
	c := price(5, 4)
	c.Added, c.Text = "some text\nof two lines", "some text"
	c.Items = &queries.Items{Added: []freshet.Item{{Key: "1", Title: "one", Fields: freshet.Fields{"price": 1.0}}}, Updated: []queries.ItemUpdate{{Now: freshet.Item{Key: "2"}}}}
	f.Fuzz(func(t *testing.T, when, value, by string) {
		began := time.Now()
		q := queries.Query{ID: "q", Name: "q", When: when, Value: value, Window: queries.Window{By: by}}
		rep, err := queries.Check(q, schema)
		if err == nil {
			e, err := queries.NewEngine()
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Put(rep.Query); err != nil {
				t.Fatalf("%q %q %q is fine, and cannot be put: %v", when, value, by, err)
			}
			s := new(story).change("a", 0, c).change("b", time.Minute, added("x"))
			s.poll("a", 2*time.Minute, freshet.Failed)
			for _, event := range s.events {
				tell(e, event)
			}
			again, err := queries.NewEngine()
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Put(rep.Query); err != nil {
				t.Fatal(err)
			}
			if err := again.Restore(e.Save()); err != nil {
				t.Fatalf("%q %q %q: what was saved is not restored: %v", when, value, by, err)
			}
		}
		if took := time.Since(began); took > 5*time.Minute {
			t.Fatalf("%q %q %q took %v", when, value, by, took)
		}
	})
}

// FuzzRestore reads any bytes as notes. They are refused, or the engine works.
func FuzzRestore(f *testing.F) {
	list := []queries.Query{
		{ID: "a", Name: "a", When: `count("1h") > 2 && now.price < lowest(now.price, "1h")`, Window: queries.Window{By: "all"}},
		{ID: "b", Name: "b", When: `first(added)`},
		{ID: "c", Name: "c", When: `now.price > 1`, Value: `now.price`, Window: queries.Window{For: time.Hour}},
		{ID: "d", Name: "d", Window: queries.Window{Silent: queries.Silence{Times: 2}}},
	}
	fresh := func(t testing.TB) *queries.Engine {
		e, err := queries.NewEngine()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			if err := e.Put(q); err != nil {
				t.Fatal(err)
			}
		}
		return e
	}
	e := fresh(f)
	s := new(story)
	for i := range 6 {
		s.change("s", time.Duration(i)*time.Minute, price(float64(i), 1))
	}
	for _, event := range s.events {
		tell(e, event)
	}
	groups := map[string]queries.State{} // without which other notes cannot be restored
	for _, n := range e.Save() {
		if n.Name[:2] == "g:" {
			groups[string(n.Query)+n.Name[2:]] = n
		}
		f.Add(string(n.Query), n.Name, n.Body)
	}
	f.Fuzz(func(t *testing.T, id, key string, data []byte) {
		e := fresh(t)
		notes := []queries.State{{Query: queries.ID(id), Name: key, Body: data}}
		if len(key) > 26 {
			if g, ok := groups[id+key[2:26]]; ok {
				notes = append(notes, g)
			}
		}
		if err := e.Restore(notes); err != nil {
			return
		}
		for _, event := range s.events {
			tell(e, event)
		}
		if due, ok := e.Due(); ok {
			e.Tick(due)
		}
		e.Save()
	})
}

// FuzzPace reads any bytes as what a pace remembers.
func FuzzPace(f *testing.F) {
	q := queries.Query{ID: "q", Digest: queries.Digest{Every: queries.DigestDay, Count: 3}, Rate: queries.Rate{N: 2, Per: time.Hour}}
	p, err := queries.NewPace(q, 0)
	if err != nil {
		f.Fatal(err)
	}
	for n := range int64(8) {
		if _, err := p.Add(queries.Match{Query: "q", Number: n + 1}, start.Add(time.Duration(n)*time.Minute)); err != nil {
			f.Fatal(err)
		}
		f.Add(p.Save())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := queries.NewPace(q, 0)
		if err != nil {
			t.Fatal(err)
		}
		if p.Restore(data) == nil {
			p.Tick(start)
			if again, err := queries.NewPace(q, 0); err != nil || again.Restore(p.Save()) != nil {
				t.Errorf("what was restored is not restored again: %v", err)
			}
		}
	})
}
