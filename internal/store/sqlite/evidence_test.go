package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/store/sqlite"
)

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
	r, err := sqlite.Repair(t.Context(), sqlite.Config{Features: features.All(), Dir: dir}, into, nil)
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
			o.Word = &evidence.IndexHint{}
		}
		for i := range pages {
			o.Word.Pages = append(o.Word.Pages, evidence.PageHint{Page: crawl.PageKeyOf(fmt.Sprintf("https://a.example/%d", i)), Date: noon.Add(-time.Duration(i*i) * time.Second)})
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
