package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet"
	"freshet/sqlite"
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
			o.Dates = rapid.SliceOfN(moment, 1, freshet.MostDates).Draw(t, "dates")
		}
		if rapid.Bool().Draw(t, "pushed") {
			o.Pushed = moment.Draw(t, "at")
		}
		if rapid.Bool().Draw(t, "foretold") {
			o.Foretold = &freshet.Foretelling{Rests: freshet.Rests(rapid.Uint32Max(1<<23).Draw(t, "rests"))}
			for range rapid.IntRange(0, freshet.NextKinds).Draw(t, "times") {
				o.Foretold.Next = append(o.Foretold.Next, freshet.NextWord{
					By: freshet.NextKind(rapid.IntRange(0, freshet.NextKinds-1).Draw(t, "by")), At: moment.Draw(t, "next"),
					Every: time.Duration(rapid.Int64().Draw(t, "every")), Zoneless: rapid.Bool().Draw(t, "zoneless"), Dayless: rapid.Bool().Draw(t, "dayless"),
				})
			}
		}
		if rapid.Bool().Draw(t, "spoke") {
			o.Word = &freshet.Word{Kind: freshet.IndexKind(rapid.IntRange(0, 2).Draw(t, "kind"))}
			if rapid.Bool().Draw(t, "begins") {
				o.Word.From = moment.Draw(t, "from")
			}
			for range rapid.IntRange(0, 20).Draw(t, "pages") {
				p := freshet.PageWord{Page: freshet.PageKey(rapid.Uint64().Draw(t, "key")), Gone: rapid.Bool().Draw(t, "gone")}
				if rapid.Bool().Draw(t, "dated") {
					p.Date = moment.Draw(t, "date")
				}
				o.Word.Pages = append(o.Word.Pages, p)
			}
		}
		got, err := sqlite.Unsay(sqlite.Say(o))
		if diff := cmp.Diff(o, got); err != nil || diff != "" {
			t.Fatalf("%v (-said +read):\n%s", err, diff)
		}
	})
}

// What no version of the store has written is refused, and takes no more memory than it
// has bytes for.
func FuzzUnsay(f *testing.F) {
	f.Add(sqlite.Say(freshet.Outcome{Dates: []time.Time{noon}, Word: &freshet.Word{From: noon, Pages: []freshet.PageWord{{Page: 3, Date: noon}, {Page: 4}}}}))
	f.Add(sqlite.Say(freshet.Outcome{Foretold: &freshet.Foretelling{Rests: 3, Next: []freshet.NextWord{{By: freshet.NextByText, At: noon, Every: time.Hour}}}}))
	f.Add([]byte{2, 0, 255, 255, 255, 255, 15})
	f.Add([]byte{1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, said []byte) {
		o, err := sqlite.Unsay(said)
		if err != nil && (o.Dates != nil || o.Word != nil || o.Foretold != nil) {
			t.Errorf("%x is refused (%v), and says %+v", said, err, o)
		}
		if err == nil && o.Word != nil && 9*len(o.Word.Pages) > len(said) {
			t.Errorf("%d bytes tell of %d pages", len(said), len(o.Word.Pages))
		}
	})
}

// A source whose saying is damaged keeps its outcome, and Check names it.
func TestDamagedSaying(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		at := noon.Add(time.Duration(i) * time.Minute)
		_, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: at, Ended: at, Requests: 1, Dates: []time.Time{noon}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	meddle(t, dir, "UPDATE evidence SET said = x'0000' WHERE outcome = 2")
	if checked(t, dir) == nil {
		t.Error("the damage is not found")
	}
	s = open(t, sqlite.Config{Dir: dir})
	found, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil || len(found) != 3 || len(found[1].Dates) != 0 || len(found[2].Dates) != 1 {
		t.Errorf("the log is %+v (%v)", found, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "mended")
	r, err := sqlite.Repair(t.Context(), dir, into, nil)
	if err != nil || len(r.Lost) != 1 || r.Outcomes != 3 {
		t.Errorf("repair says %+v (%v)", r, err)
	}
	meddle(t, dir, "DELETE FROM outcomes WHERE cursor = 3")
	if err := checked(t, dir); err == nil {
		t.Error("what was said at an outcome that is gone is not found")
	}
}

// BenchmarkIndexOutcome is the commit of a poll of an index of 50,000 pages that tells
// of 1,000, and reading it from the log.
func BenchmarkIndexOutcome(b *testing.B) {
	for _, pages := range []int{0, 1000, 50_000} {
		o := freshet.Outcome{Source: "a", Status: 200, Requests: 1}
		if pages > 0 {
			o.Word = &freshet.Word{}
		}
		for i := range pages {
			o.Word.Pages = append(o.Word.Pages, freshet.PageWord{Page: freshet.PageKeyOf(fmt.Sprintf("https://a.example/%d", i)), Date: noon.Add(-time.Duration(i*i) * time.Second)})
		}
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			s := open(b, sqlite.Config{Dir: b.TempDir()})
			defer s.Close()
			if _, err := s.AddSource(b.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			began := cpuTime()
			for i := range b.N {
				o.Began = noon.Add(time.Duration(i) * time.Minute)
				o.Ended = o.Began
				if _, _, err := s.Commit(b.Context(), freshet.Record{Outcome: o}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-began).Microseconds())/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(len(sqlite.Say(o))), "bytes")
			b.StopTimer()
			began, n := cpuTime(), 0
			for after := freshet.Cursor(0); ; {
				found, err := s.Outcomes(b.Context(), freshet.OutcomeQuery{Newest: true, After: after, Limit: 1000})
				if err != nil {
					b.Fatal(err)
				}
				if len(found) == 0 {
					break
				}
				n += len(found)
				after = found[len(found)-1].Cursor
			}
			if n != b.N {
				b.Errorf("%d outcomes were read, want %d", n, b.N)
			}
			b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(n)/1000, "read-us/op")
		})
	}
}
