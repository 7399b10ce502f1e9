package storetest

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/test/tier"
)

// spoke returns the record of a poll that found an index as it was but for what it says
// of so many pages.
func spoke(id freshet.SourceID, at time.Time, pages int) freshet.Record {
	r := saw(id, at, freshet.Unchanged, "")
	r.Outcome.Word = &evidence.IndexHint{Kind: evidence.SitemapIndex}
	for i := range pages {
		r.Outcome.Word.Pages = append(r.Outcome.Word.Pages, evidence.PageHint{
			Page: crawl.PageKeyOf(fmt.Sprintf("https://%s.example/%d", id, i)), Date: at.Add(-time.Duration(i) * time.Second),
		})
	}
	return r
}

var evidenceTests = []test{
	{"what a source said comes back as it was said", func(b *bench) {
		b.add("a")
		odd := noon.Add(123456789)
		cases := []freshet.Outcome{
			{},
			{Cause: freshet.ByPush, Pushed: odd},
			{Foretold: &evidence.Announcement{}},
			{Foretold: &evidence.Announcement{Rests: 1<<5 | 1<<evidence.RestDays}, Dates: []time.Time{minute(3)}},
			{Foretold: &evidence.Announcement{Next: []evidence.Next{
				{By: evidence.NextByFeed, At: minute(100), Every: time.Hour}, {By: evidence.NextByText, At: odd, Zoneless: true, Dayless: true}, {By: evidence.NextByField, At: minute(-5)},
			}}},
			{Dates: []time.Time{minute(5), minute(3), minute(-50_000)}},
			{Dates: []time.Time{odd, minute(3)}},
			{Word: &evidence.IndexHint{Kind: evidence.HubIndex, From: minute(1)}},
			{Word: &evidence.IndexHint{Claims: []evidence.PageClaim{{Page: 7, Freq: evidence.ParseChangeFreq("never")}, {Page: 1<<64 - 1}}}},
			{Word: &evidence.IndexHint{From: minute(1), Pages: []evidence.PageHint{{Page: 7, Date: odd}}, Claims: []evidence.PageClaim{{Page: 9, Freq: evidence.ParseChangeFreq("daily")}}}},
			{Word: &evidence.IndexHint{Pages: []evidence.PageHint{{Page: 7, Date: minute(2)}, {Page: 1<<64 - 1, Gone: true}, {Page: 0}, {Page: 3, Date: minute(-9_000_000)}}}},
			{Dates: []time.Time{minute(5)}, Word: &evidence.IndexHint{Kind: evidence.FeedIndex, From: odd, Pages: []evidence.PageHint{{Page: 7, Date: time.Unix(-1<<33, 5).UTC()}, {Page: 8, Date: odd}, {Page: 9, Date: time.Unix(1<<33, 7).UTC()}}}},
		}
		var all []freshet.Outcome
		for i, said := range cases {
			r := saw("a", minute(i), freshet.Unchanged, "")
			r.Outcome.Cause, r.Outcome.Pushed, r.Outcome.Dates, r.Outcome.Word, r.Outcome.Foretold = said.Cause, said.Pushed, said.Dates, said.Word, said.Foretold
			got, _ := b.commit(r)
			said.Cursor, r.Outcome.Cursor = got.Cursor, got.Cursor
			same(b, "the outcome as committed", got, r.Outcome)
			all = append(all, got)
		}
		for range 2 {
			same(b, "the log", b.outcomes(0, 0), all)
			own, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{Source: "a"})
			b.ok("outcomes of the source", err)
			same(b, "the log of the source", own, all)
			b.reopen()
		}
	}},
	{"a long log of what was said is read in parts", func(b *bench) {
		tier.Slow(b, "it writes 600,000 dates")
		b.add("a")
		const outcomes, pages = 12, 50_000
		for i := range outcomes {
			b.commit(spoke("a", minute(i), pages))
		}
		for range 2 {
			for _, id := range []freshet.SourceID{"", "a"} {
				var seen, parts int
				for after := freshet.Cursor(0); ; parts++ {
					found, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{Source: id, After: after, Limit: 1000})
					b.ok("outcomes", err)
					if len(found) == 0 {
						break
					}
					for _, o := range found {
						if o.Cursor != after+1 || o.Word == nil || len(o.Word.Pages) != pages {
							b.Fatalf("outcome %d follows %d, and tells of other pages than it did", o.Cursor, after)
						}
						seen, after = seen+1, o.Cursor
					}
				}
				if seen != outcomes {
					b.Errorf("%d outcomes were read in %d parts, want %d", seen, parts, outcomes)
				}
			}
			b.reopen()
		}
	}},
	{"what was said goes with the outcome", func(b *bench) {
		b.add("a")
		b.add("b")
		for i := range 6 {
			b.commit(spoke([]freshet.SourceID{"a", "b"}[i%2], minute(i), 3))
		}
		b.prune(minute(6), freshet.Keep{}, 4*time.Minute)
		b.ok("purge", b.RemoveSource(b.Context(), "b", true))
		for range 2 {
			left := b.outcomes(0, 0)
			if len(left) != 2 || left[0].Word == nil || len(left[1].Word.Pages) != 3 {
				b.Errorf("the outcomes left are %+v", left)
			}
			b.reopen()
		}
	}},
}
