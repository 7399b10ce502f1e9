package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/store"
)

// Whatever a source says is read as it was written.
func TestSaidComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moments := rapid.SampledFrom([]func(int64) time.Time{
			func(n int64) time.Time { return time.Unix(n%(1<<33), 0).UTC() },
			func(n int64) time.Time { return time.Unix(0, n).UTC() },
			func(n int64) time.Time { return noon.Add(time.Duration(n % 1e15)) },
		}).Draw(t, "moments")
		moment := rapid.Custom(func(t *rapid.T) time.Time { return moments(rapid.Int64Min(-1<<63+1).Draw(t, "n")) })
		var o freshet.Outcome
		if rapid.Bool().Draw(t, "dated") {
			o.Dates = rapid.SliceOfN(moment, 1, evidence.MaxDates).Draw(t, "dates")
		}
		if rapid.Bool().Draw(t, "pushed") {
			o.Pushed = moment.Draw(t, "at")
		}
		if rapid.Bool().Draw(t, "foretold") {
			o.Foretold = &evidence.Announcement{Rests: evidence.QuietHours(rapid.Uint32Max(1<<23).Draw(t, "rests"))}
			for range rapid.IntRange(0, evidence.NextKinds).Draw(t, "times") {
				o.Foretold.Next = append(o.Foretold.Next, evidence.Next{
					By: evidence.NextKind(rapid.IntRange(0, evidence.NextKinds-1).Draw(t, "by")), At: moment.Draw(t, "next"),
					Every: time.Duration(rapid.Int64().Draw(t, "every")), Zoneless: rapid.Bool().Draw(t, "zoneless"), Dayless: rapid.Bool().Draw(t, "dayless"),
				})
			}
		}
		if rapid.Bool().Draw(t, "spoke") {
			o.Word = &evidence.IndexHint{Kind: evidence.IndexKind(rapid.IntRange(0, 2).Draw(t, "kind"))}
			if rapid.Bool().Draw(t, "begins") {
				o.Word.From = moment.Draw(t, "from")
			}
			for range rapid.IntRange(0, 20).Draw(t, "pages") {
				p := evidence.PageHint{Page: crawl.PageKey(rapid.Uint64().Draw(t, "key")), Gone: rapid.Bool().Draw(t, "gone")}
				if rapid.Bool().Draw(t, "dated") {
					p.Date = moment.Draw(t, "date")
				}
				o.Word.Pages = append(o.Word.Pages, p)
			}
		}
		got, err := store.Unsay(store.Say(o))
		if diff := cmp.Diff(o, got); err != nil || diff != "" {
			t.Fatalf("%v (-said +read):\n%s", err, diff)
		}
	})
}

// What no version of the store has written is refused, and takes no more memory than it
// has bytes for.
func FuzzUnsay(f *testing.F) {
	f.Add(store.Say(freshet.Outcome{Dates: []time.Time{noon}, Word: &evidence.IndexHint{From: noon, Pages: []evidence.PageHint{{Page: 3, Date: noon}, {Page: 4}}}}))
	f.Add(store.Say(freshet.Outcome{Foretold: &evidence.Announcement{Rests: 3, Next: []evidence.Next{{By: evidence.NextByText, At: noon, Every: time.Hour}}}}))
	f.Add([]byte{2, 0, 255, 255, 255, 255, 15})
	f.Add([]byte{1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, said []byte) {
		o, err := store.Unsay(said)
		if err != nil && (o.Dates != nil || o.Word != nil || o.Foretold != nil) {
			t.Errorf("%x is refused (%v), and says %+v", said, err, o)
		}
		if err == nil && o.Word != nil && 9*len(o.Word.Pages) > len(said) {
			t.Errorf("%d bytes tell of %d pages", len(said), len(o.Word.Pages))
		}
	})
}
