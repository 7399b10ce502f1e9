package worker_test

import (
	"context"
	"net/http"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/worker"
)

// then returns a task for a look at a site as one that has seen what an earlier look found.
func (s *site) then(found *worker.Result, recipe reading.Recipe) worker.Task {
	o := s.order(found)
	o.Source.Recipe = recipe
	items := []byte{}
	if found != nil {
		items = found.Items
		pastOf(&o).fields = func(context.Context) (freshet.Fields, error) { return found.Capture.Fields, nil }
	}
	pastOf(&o).items = func(context.Context) ([]byte, error) { return items, nil }
	return o
}

// A value that is other is a change, even if the text is as before.
func TestFieldsAreCompared(t *testing.T) {
	recipe := reading.Recipe{
		Read:    []reading.Step{{Name: "css", Arg: `"h1"`}},
		Extract: reading.Extracts{"price": {CSS: "b@data-price", As: reading.AsNumber}, "name": {CSS: "h1"}},
	}
	s := newSite(t, says(`<h1>Pump</h1><b data-price="10 €">`))
	first := s.look(t, s.then(nil, recipe))
	if first.Capture == nil || first.Capture.Fields["price"] != 10.0 || first.Capture.Fields["name"] != "Pump" {
		t.Fatalf("the first look found %+v", first)
	}
	s.answer = says(`<h1>Pump</h1> <b data-price="10,00 €">`)
	if f := s.look(t, s.then(&first, recipe)); f.Capture != nil {
		t.Errorf("the same values written otherwise are %s: %+v", f.Result, f.Capture)
	}
	s.answer = says(`<h1>Pump</h1><b data-price="12 €">`)
	f := s.look(t, s.then(&first, recipe))
	if f.Result != freshet.Changed || f.Capture.Hash != first.Capture.Hash || f.Capture.Summary != "price 10 → 12" {
		t.Fatalf("another price is %s: %+v", f.Result, f.Capture)
	}
	if d := f.Capture.Details.Fields; len(d) != 1 || d[0] != (freshet.FieldChange{Name: "price", From: 10.0, To: 12.0}) {
		t.Errorf("the values that differ are %+v", d)
	}
	o := s.then(&first, recipe)
	o.Head.Sums = freshet.Sums{} // as after a restart
	if f := s.look(t, o); f.Result != freshet.Changed {
		t.Errorf("after a restart another price is %s", f.Result)
	}
	s.answer = says(`<h1>Pump X</h1>`)
	if f := s.look(t, s.then(&first, recipe)); f.Result != freshet.Changed || f.Capture.Summary != "name Pump → Pump X; price 10 → none; +1 -1 line: # Pump X" {
		t.Errorf("a value that has gone is %s: %q", f.Result, f.Capture.Summary)
	}
}

// A change of a feed says which entries are new, other and gone; one that comes back
// is not new.
func TestItemsAreCompared(t *testing.T) {
	feed := func(items string) string {
		return `<rss version="2.0"><channel><title>f</title>` + items + `</channel></rss>`
	}
	one := `<item><guid>1</guid><title>One</title></item>`
	two := `<item><guid>2</guid><title>Two</title></item>`
	s := newSite(t, says(feed(one+two)))
	look := func(found *worker.Result, items string) worker.Result {
		t.Helper()
		s.answer = says(feed(items))
		f := s.look(t, s.then(found, reading.Recipe{}))
		if f.Capture == nil || f.Items == nil {
			t.Fatalf("the look found %+v", f)
		}
		return f
	}
	first := look(nil, one+two)
	next := look(&first, `<item><guid>3</guid><title>Three</title></item><item><guid>2</guid><title>Two, mended</title></item>`)
	c := next.Capture.Details.Items
	if c == nil || c.AddedCount != 1 || c.Added[0].Title != "Three" || c.UpdatedCount != 1 || c.Updated[0].Fields[0] != "title" || c.GoneCount != 1 || c.Gone[0].Title != "One" {
		t.Fatalf("the items that differ are %+v", c)
	}
	if next.Capture.Summary != "1 new item: Three, 1 updated, 1 gone" {
		t.Errorf("the summary is %q", next.Capture.Summary)
	}
	back := look(&next, one+two)
	c = back.Capture.Details.Items
	if c == nil || c.AddedCount != 0 || c.BackCount != 1 || c.Back[0].Key != "1" {
		t.Errorf("an item that comes back is %+v", c)
	}
}

// Values that are extracted from now on are compared with those of the head, which is read for them.
func TestAddedFieldsAreCompared(t *testing.T) {
	page := func(price, review string) http.HandlerFunc {
		return says(`<h1>Pump</h1><p>` + review + `</p><b data-price="` + price + `">`)
	}
	with := reading.Recipe{Extract: reading.Extracts{"price": {CSS: "b@data-price", As: reading.AsNumber}}}
	s := newSite(t, page("10", "good"))
	first := s.look(t, s.then(nil, reading.Recipe{}))
	look := func(now http.HandlerFunc) worker.Result {
		t.Helper()
		s.answer = now
		o := s.then(&first, with)
		pastOf(&o).body = func(context.Context) ([]byte, error) { return first.Capture.Raw.Body, nil }
		return s.look(t, o)
	}
	if f := look(says(`<h1>Pump</h1> <p>good</p><b data-price="10">`)); f.Result != freshet.Unchanged {
		t.Errorf("the same text and price are %s: %+v", f.Result, f.Capture)
	}
	if f := look(page("10", "very good")); f.Result != freshet.Changed || len(f.Capture.Details.Fields) > 0 || f.Capture.Fields["price"] != 10.0 {
		t.Errorf("another text with the same price is %s: %+v", f.Result, f.Capture)
	}
	if f := look(page("12", "good")); f.Result != freshet.Changed || f.Capture.Summary != "price 10 → 12" {
		t.Errorf("another price is %s: %+v", f.Result, f.Capture)
	}
	o := s.then(&first, with) // the response of the head is gone
	s.answer = page("12", "good")
	if f := s.look(t, o); f.Result != freshet.Changed || f.Capture.Summary != "price none → 12" {
		t.Errorf("a price that cannot be compared is %s: %+v", f.Result, f.Capture)
	}
}
