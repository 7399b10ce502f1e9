package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
)

// A list counts the changes of each source by day. What comes later is added, and what is a week ago goes.
func TestWeek(t *testing.T) {
	now := time.Date(2026, 3, 10, 13, 0, 0, 0, time.UTC)
	r := newRig(t, func(c *api.Config) { c.Now = func() time.Time { return now } })
	r.watch("busy")
	r.watch("still")
	n := 0
	change := func(at time.Time) {
		t.Helper()
		n++
		c := kit.Changed("busy", fmt.Sprint("version ", n), "")
		c.Outcome.Began, c.Outcome.Ended = at, at
		if _, _, err := r.Store.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want ...int) {
		t.Helper()
		var page client.SourcePage
		r.do("GET", "/api/v1/sources?outlook=true", nil).is(200).into(&page)
		if len(page.Items) != 2 || !slices.Equal(page.Items[0].Week, want) || !slices.Equal(page.Items[1].Week, make([]int, 7)) {
			t.Errorf("%s: the changes by day are %v, want %v and none", when, page.Items, want)
		}
	}
	day := 24 * time.Hour
	change(now.Add(-9 * day)) // the first version, which is no change
	for _, at := range []time.Duration{-8 * day, -6 * day, -day, -day, -time.Minute} {
		change(now.Add(at))
	}
	expect("at first", 1, 0, 0, 0, 0, 2, 1)
	change(now)
	expect("after a change", 1, 0, 0, 0, 0, 2, 2)
	now = now.Add(2 * day)
	expect("two days later", 0, 0, 0, 2, 2, 0, 0)
	change(now)
	expect("after one more", 0, 0, 0, 2, 2, 0, 1)
	now = now.Add(30 * day)
	expect("a month later", make([]int, 7)...)
	var plain client.SourcePage
	r.do("GET", "/api/v1/sources", nil).is(200).into(&plain)
	if plain.Items[0].Week != nil {
		t.Errorf("a list without outlooks has %v", plain.Items[0].Week)
	}
}

// BenchmarkLongList asks for the first page of 100,000 sources as the page does, and for a page sorted by what only the
// daemon knows: in the kept order, and when that is made anew.
func BenchmarkLongList(b *testing.B) {
	now := time.Now()
	r := newRig(b, func(c *api.Config) { c.Now = func() time.Time { return now } })
	const sources = 100_000
	for from := 0; from < sources; from += 5000 {
		var some []freshet.Source
		for i := range 5000 {
			id := freshet.SourceID(fmt.Sprintf("s%06d", from+i))
			some = append(some, freshet.Source{ID: id, URL: "http://page.example/" + string(id), Origin: freshet.FromAPI})
		}
		if _, _, err := r.Store.AddSources(b.Context(), some); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 20_000 { // 10,000 sources with a change
		if _, _, err := r.Store.Commit(b.Context(), kit.Changed(freshet.SourceID(fmt.Sprintf("s%06d", i%10_000*10)), fmt.Sprint(i), "")); err != nil {
			b.Fatal(err)
		}
	}
	r.run()
	for _, c := range []struct {
		name, query string
		renewed     time.Duration // how much time passes between two requests
	}{
		{"plain", "sort=attention", 0}, {"outlook and week", "sort=attention&outlook=true", 0},
		{"by rate, kept", "sort=rate&offset=50000", 0}, {"by rate, anew", "sort=rate&offset=50000", time.Hour}, {"by captured, anew", "sort=captured", time.Hour},
	} {
		b.Run(c.name, func(b *testing.B) {
			r.do("GET", "/api/v1/sources?limit=200&total=true&"+c.query, nil).is(200)
			for b.Loop() {
				now = now.Add(c.renewed)
				r.do("GET", "/api/v1/sources?limit=200&total=true&"+c.query, nil).is(200)
			}
		})
	}
}
