package lab_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/lab"
)

// list writes a history down as "page@seconds".
func list(h *lab.History) (lines []string) {
	for id, at := range h.All() {
		lines = append(lines, fmt.Sprintf("%s@%v", id, at.Sub(time.Unix(0, 0)).Seconds()))
	}
	return lines
}

func TestReadHistory(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"in order", "page,time\na,1\nb,2\n", "a@1 b@2"},
		{"out of order, twice the same, without a last newline", "page,time\nb,9\na,7\nb,3\nb,9", "a@7 b@3 b@9 b@9"},
		{"as a spreadsheet saves it", "\ufeffpage,time\r\n\"a,b\",5\r\n", "a,b@5"},
		{"fractions and times before 1970", "page,time\na,1.25\na,-1.5\na,0.000000001\n", "a@-1.5 a@1e-09 a@1.25"},
		{"nothing", "page,time\n", ""},
		{"with failures", "page,time,failure\na,1,\na,2,timeout\na,3,ok\nb,4\n", "a@1 b@4"},
		{"pages in byte order", "page,time\nb/1,1\nB/1,1\na,1\n", "B/1@1 a@1 b/1@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := lab.ReadHistory(strings.NewReader(tt.text), "x.csv")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(list(h), " "); got != tt.want {
				t.Errorf("read %q, want %q", got, tt.want)
			}
		})
	}
}

// What is wrong with a trace is said with file, line and column.
func TestMalformedTraces(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "x.csv: line 1, column 1: is empty"},
		{"no header", "a,5\n", `x.csv: line 1, column 1: the header names "a"`},
		{"half a header", "page\n", `x.csv: line 1, column 1: the header is "page"`},
		{"another header", "page,date\n", `x.csv: line 1, column 6: the header names "date"`},
		{"too much header", "page,time,size\n", `x.csv: line 1, column 11: the header goes on with "size"`},
		{"no number", "page,time\na,5\nbb,soon\n", `x.csv: line 3, column 4: the time "soon" is not a number of Unix seconds`},
		{"no fraction", "page,time\na,5.x\n", `x.csv: line 2, column 3: the time "5.x" is not`},
		{"a time without end", "page,time\na,1e12\n", `x.csv: line 2, column 3: the time "1e12" is not`},
		{"milliseconds", "page,time\na,1757706300000\n", "x.csv: line 2, column 3: the time \"1757706300000\" is out of range"},
		{"no time", "page,time\na\n", "x.csv: line 2, column 1: there is no time"},
		{"no page", "page,time\n,5\n", "x.csv: line 2, column 1: the page has no name"},
		{"a third field", "page,time\na,5,6\n", `x.csv: line 2, column 5: there is "6" after the time`},
		{"no such column", "page,time,failure,x\n", `x.csv: line 1, column 19: the header goes on with "x"`},
		{"a fourth field", "page,time,failure\na,5,ok,6\n", `x.csv: line 2, column 8: there is "6" after the failure`},
		{"no failure", "page,time,failure\na,5,Down!\n", `x.csv: line 2, column 5: "Down!" is not a failure`},
		{"no patience", "page,time,failure\na,5,retry_after:soon\n", `x.csv: line 2, column 5: "retry_after:soon" does not name a length of time`},
		{"a stray quote", "page,time\na\"b,5\n", `x.csv: line 2, column 2: bare "`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := lab.ReadHistory(strings.NewReader(tt.text), "x.csv")
			if where, ok := errors.AsType[*lab.TraceError](err); !ok || !strings.HasPrefix(err.Error(), tt.want) || where.Line == 0 {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestTraceFiles(t *testing.T) {
	h, err := lab.ReadHistory(strings.NewReader("page,time\nb,7\na,9\na,1.5\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"t.csv", "t.csv.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := h.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		again, err := lab.OpenHistory(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list(h), list(again)); diff != "" {
			t.Errorf("%s is read otherwise than it was written (-wrote +read):\n%s", name, diff)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if plain := strings.HasPrefix(string(raw), "page,time\na,1.5\nb,7\na,9\n"); plain != (name == "t.csv") {
			t.Errorf("%s begins with %q", name, raw[:min(len(raw), 20)])
		}
		if err := os.WriteFile(path, raw[:len(raw)-3], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := lab.OpenHistory(path); name == "t.csv.gz" && err == nil {
			t.Error("a compressed trace that was cut off is read as if it were whole")
		}
	}
	if _, err := lab.OpenHistory(filepath.Join(t.TempDir(), "none.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v of a file that is not there", err)
	}
	if err := h.WriteFile(filepath.Join(t.TempDir(), "no", "such", "place.csv")); err == nil {
		t.Error("a trace is written to where nothing can be")
	}
}

// What a trace says of failures is written as it was read.
func TestFailuresAreWritten(t *testing.T) {
	const text = "page,time,failure\na,1,\nb,1,retry_after:2m\na,2,timeout\na,3,server_error\na,4,ok\na,5,gone\n"
	h, err := lab.ReadHistory(strings.NewReader(text), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, b.String()); diff != "" {
		t.Errorf("it is written otherwise than it was read (-read +written):\n%s", diff)
	}
}

// A compressed trace that was cut off anywhere is refused, and the error says in
// which line.
func TestReadHistoryCutOff(t *testing.T) {
	for _, text := range []string{"page,time\na,1\n", "\"page\",time\na,1\n", "page,time\na,1\n\"b\",2\n"} {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Name = "trace.csv"
		for _, c := range []byte(text) { // a block for each byte
			w.Write([]byte{c})
			w.Flush()
		}
		w.Close()
		for n := 1; n < z.Len(); n++ {
			_, err := lab.ReadHistory(bytes.NewReader(z.Bytes()[:n]), "x.csv.gz")
			if _, ok := errors.AsType[*lab.TraceError](err); !ok {
				t.Errorf("the first %d of %d bytes of %q: %v, want an error that says where", n, z.Len(), text, err)
			}
		}
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte("page,time\na,1\nb,2.5\n"))
	f.Add([]byte("\ufeffpage,time\r\n\"a\"\"b\",-1\r\n"))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("page,time\na,1\n"))
	w.Close()
	f.Add(z.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := lab.ReadHistory(bytes.NewReader(data), "x")
		if err != nil {
			if _, ok := errors.AsType[*lab.TraceError](err); !ok {
				t.Fatalf("error %v does not say where", err)
			}
			return
		}
		var b bytes.Buffer
		if err := h.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := lab.ReadHistory(&b, "y")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(list(h), list(again)); diff != "" {
			t.Fatalf("read otherwise than written (-wrote +read):\n%s", diff)
		}
	})
}

// Changes fall into instants as the definition says.
func TestQuantise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.IntRange(1, 100).Draw(t, "instant")
		from := rapid.IntRange(-500, 500).Draw(t, "start")
		to := from + rapid.IntRange(1, 2000).Draw(t, "period")
		times := map[freshet.SourceID][]int{}
		h := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
			for range rapid.IntRange(0, 60).Draw(t, "changes") {
				id := freshet.SourceID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "page"))
				at := rapid.IntRange(-700, 3000).Draw(t, "time")
				times[id] = append(times[id], at)
				yield(id, time.Unix(int64(at), 0))
			}
		})
		g, err := h.Quantise(lab.Period{Start: time.Unix(int64(from), 0), End: time.Unix(int64(to), 0), Instant: time.Duration(instant) * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if want := (to - from + instant - 1) / instant; g.Instants != want {
			t.Fatalf("%d instants, want %d", g.Instants, want)
		}
		if len(g.Pages()) != len(times) {
			t.Fatalf("%d pages, want all %d, also those that do not change in the period", len(g.Pages()), len(times))
		}
		for page, id := range g.Pages() {
			want := map[int32]bool{}
			for _, at := range times[id] {
				if at >= from && at < to {
					want[int32((at-from)/instant+1)] = true
				}
			}
			got := map[int32]bool{}
			last := int32(0)
			for _, j := range g.Of(page) {
				if j <= last || int(j) > g.Instants {
					t.Fatalf("instants %v of %s are not ascending and on the grid", g.Of(page), id)
				}
				last, got[j] = j, true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("instants of %s (-want +got):\n%s", id, diff)
			}
		}
	})
}

func TestPeriodOfATrace(t *testing.T) {
	h, err := lab.ReadHistory(strings.NewReader("page,time\na,125\nb,240\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Start.Unix() != 120 || g.Instants != 3 || g.Of(0)[0] != 1 || g.Of(1)[0] != 3 {
		t.Errorf("from %d, %d instants, changes in %v and %v; want from 120, 3 instants, changes in 1 and 3", g.Start.Unix(), g.Instants, g.Of(0), g.Of(1))
	}
	for name, p := range map[string]lab.Period{
		"an end before the start": {Start: time.Unix(500, 0), End: time.Unix(400, 0)},
		"an instant below zero":   {Instant: -time.Second},
		"a start out of reach":    {Start: time.Date(1066, 1, 1, 0, 0, 0, 0, time.UTC)},
		"too many instants":       {Start: time.Unix(0, 0), End: time.Unix(4e9, 0), Instant: time.Second},
	} {
		if _, err := h.Quantise(p); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	none, err := lab.ReadHistory(strings.NewReader("page,time\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Quantise(lab.Period{}); freshet.HintOf(err) == "" {
		t.Errorf("error %v of a trace without changes gives no advice", err)
	}
}
