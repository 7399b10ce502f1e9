package sinks_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// The headline of a message says what happened: how values differ, or else the first new line.
func TestWhatHappened(t *testing.T) {
	ctx := t.Context()
	kettle := change()
	kettle.Label.Name, kettle.Details.Fields = "Red kettle", []freshet.FieldChange{{Name: "price", From: "101 EUR", To: "97 EUR"}}
	several := change()
	several.Details.Fields = []freshet.FieldChange{{Name: "price", From: 101.0, To: 97.0}, {Name: "stock", To: "3 left"}}
	items := change()
	items.Summary, items.Details.Items = "1 new item: Story 6", &freshet.ItemChanges{AddedCount: 1}
	gone := change()
	gone.Details.Page = "gone"
	only := func(before, after string) sinks.Texts {
		return func(context.Context) ([]byte, []byte, error) { return []byte(before), []byte(after), nil }
	}
	for _, tt := range []struct {
		name   string
		change freshet.Change
		texts  sinks.Texts
		want   string
	}{
		{"a value", kettle, texts, "101 EUR → 97 EUR"},
		{"several values", several, texts, "price 101 → 97, stock none → 3 left"},
		{"items", items, texts, "1 new item: Story 6"},
		{"a page that is gone", gone, texts, "is gone"},
		{"text that is new", change(), only("a\n", "a\n\n  Open   again\nb\n"), "Open again"},
		{"text that is gone", change(), only("a\nclosed\n", "a\n"), "gone: closed"},
		{"a long line", change(), only("a\n", "a\n"+strings.Repeat("é", 300)+"\n"), strings.Repeat("é", 119) + "…"},
		{"texts that are not kept", change(), only("", ""), `+1 -1 line: <b>"new"</b>`},
	} {
		if got, err := sinks.NewEvent(ctx, tt.change, "", tt.texts).What(); got != tt.want || err != nil {
			t.Errorf("%s: what happened is %q, want %q: %v", tt.name, got, tt.want, err)
		}
	}
}

// New text comes first, without the marks of a unified diff.
func TestNews(t *testing.T) {
	both := func(context.Context) ([]byte, []byte, error) {
		return []byte("one\nold price\nthree\n"), []byte("one\nnew price\nthree\n"), nil
	}
	news, err := sinks.NewEvent(t.Context(), change(), "", both).News()
	if want := "+ new price\n- old price"; news != want || err != nil {
		t.Errorf("the news are %q, want %q: %v", news, want, err)
	}
}

// With a public URL a message has links to the difference and to where it is stopped; names in them are escaped.
func TestLinksOfMessages(t *testing.T) {
	const base = "https://freshet.example/"
	e := sinks.NewEvent(t.Context(), change(), base, texts)
	if got, want := e.DiffLink(), "https://freshet.example/sources/page/versions?to=4"; got != want {
		t.Errorf("the difference is at %q, want %q", got, want)
	}
	if got, want := e.Why(), "You get this because every change of this source is sent here. Stop or change it: https://freshet.example/sinks"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	c := change()
	m := sinks.Match{Match: queries.Match{Query: "cheap", Number: 3, Cause: queries.MatchChange, At: time.Unix(0, 0), Source: c.Source}, Change: &c, Texts: texts}
	e = sinks.NewMatchEvent(t.Context(), m, "Cheap", base)
	if got, want := e.Why(), "You get this because the alert “Cheap” is sent here. Stop or change it: https://freshet.example/queries/cheap"; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	if got := sinks.NewEvent(t.Context(), change(), "", texts).DiffLink(); got != "" {
		t.Errorf("without a public URL the difference is at %q", got)
	}
}
