package api_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
)

// Sources sorted by their next polls come once each over all pages, those without one last,
// and those that are alike by their IDs.
func TestPagesByNextPoll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(rt, "sources")
		ids, next := make([]freshet.SourceID, n), make([]time.Time, n)
		when := map[freshet.SourceID]int{}
		for i := range ids {
			ids[i] = freshet.SourceID(fmt.Sprintf("s%02d", i))
			when[ids[i]] = 99
			if seconds := rapid.IntRange(0, 4).Draw(rt, "seconds"); seconds > 0 {
				next[i], when[ids[i]] = time.Unix(int64(seconds), 0), seconds
			}
		}
		want := slices.Clone(ids)
		slices.SortStableFunc(want, func(a, b freshet.SourceID) int { return cmp.Compare(when[a], when[b]) })
		reverse := rapid.Bool().Draw(rt, "reverse")
		if reverse {
			slices.Reverse(want)
		}
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		offset := rapid.IntRange(0, n).Draw(rt, "offset")
		if part, _ := api.PartByNext(ids, next, reverse, nil, offset, limit); !slices.Equal(part, want[offset:min(n, offset+limit)]) {
			rt.Fatalf("%d from the %dth on are %v, want them from %v", limit, offset, part, want)
		}
		got, end := api.PartByNext(ids, next, reverse, nil, 0, limit)
		for end != nil {
			var part []freshet.SourceID
			part, end = api.PartByNext(ids, next, reverse, end, 0, limit)
			got = append(got, part...)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("the pages have %v, want %v", got, want)
		}
	})
}

// The order by next poll is kept for a moment, for the same sources alone.
func TestNextOrderHasWhatIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t).run()
	list := func(query string) (ids []freshet.SourceID) {
		var page client.SourcePage
		r.do("GET", "/api/v1/sources?sort=next"+query, nil).is(200).into(&page)
		for _, s := range page.Items {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		return ids
	}
	var all []freshet.SourceID
	for _, id := range []freshet.SourceID{"a", "b", "c"} {
		all = append(all, id)
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + string(id), "tags": []string{"of-" + string(id)}}).is(201)
		if got := list(""); !slices.Equal(got, all) {
			t.Errorf("with %s the list has %v, want %v", id, got, all)
		}
	}
	for _, id := range all {
		if got := list("&tag=of-" + string(id)); !slices.Equal(got, []freshet.SourceID{id}) {
			t.Errorf("with the tag of %s it has %v", id, got)
		}
	}
}

// Sources that change most come first, and so do those of whose changes least is captured; what is not known yet
// comes last.
func TestRanks(t *testing.T) {
	t.Parallel()
	source := func(perDay, captured, happened float64) outlook.Outlook {
		o := outlook.Outlook{Tally: outlook.Tally{Polls: 1000, Captured: captured, Happened: happened, Watched: 1e6}}
		if perDay > 0 {
			o.Rate = outlook.Rate{Range: outlook.Range{Mean: perDay / 86400, Low: perDay / 86400, High: perDay / 86400}, Known: outlook.Estimated}
		}
		return o
	}
	for sort, want := range map[string][]outlook.Outlook{
		"rate":     {source(86400, 1, 1), source(24, 50, 50), source(0.001, 9, 9), source(0, 0, 0)},
		"captured": {source(1, 10, 100), source(1, 60, 100), source(1, 100, 100), source(1, 0, 0)},
	} {
		for i := range want[1:] {
			if a, b := api.KeyOf(sort, want[i]), api.KeyOf(sort, want[i+1]); a >= b {
				t.Errorf("by %s, source %d has the key %d and the next %d", sort, i, a, b)
			}
		}
	}
	r := newRig(t).run()
	for _, id := range []string{"b", "a", "c"} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id}).is(201)
	}
	for _, sort := range []string{"rate", "captured"} {
		var page client.SourcePage
		r.do("GET", "/api/v1/sources?limit=2&sort="+sort, nil).is(200).into(&page)
		if len(page.Items) != 2 || page.Items[0].ID != "a" || page.Next == nil {
			t.Fatalf("by %s the first page is %+v", sort, page)
		}
		r.do("GET", "/api/v1/sources?limit=2&sort="+sort+"&after="+*page.Next, nil).is(200).into(&page)
		if len(page.Items) != 1 || page.Items[0].ID != "c" {
			t.Errorf("by %s the second page is %+v", sort, page)
		}
	}
}
