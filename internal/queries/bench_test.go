//go:build unix

package queries_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// kinds are ways in which many count can be alike: the same condition with another
// constant. Each is said for the nth of all.
var kinds = []struct {
	name string
	of   func(n int) queries.Query
}{
	{"keyword", func(n int) queries.Query { return queries.Query{When: fmt.Sprintf(`added.contains("word%06d")`, n)} }},
	{"name", func(n int) queries.Query { return queries.Query{When: fmt.Sprintf(`mentions(added, "Name%06d")`, n)} }},
	{"price", func(n int) queries.Query { return queries.Query{When: fmt.Sprintf(`now.price < %d.5`, n)} }},
	{"source", func(n int) queries.Query {
		return queries.Query{When: `now.price < before.price * 0.9`, Scope: queries.Scope{Sources: []freshet.SourceID{freshet.SourceID(fmt.Sprintf("s%d", n))}}}
	}},
	{"item", func(n int) queries.Query {
		return queries.Query{When: fmt.Sprintf(`items.added.exists(i, i.title.contains("thing%06d") && i.price < 50)`, n)}
	}},
}

// mixed returns the nth of count of all kinds.
func mixed(n int) queries.Query { return kinds[n%len(kinds)].of(n / len(kinds)) }

// benchEvent returns a change of one of many sources, with a text of two kilobytes.
// Of the count of each kind about one matches.
func benchEvent(n, count int) queries.Event {
	words := make([]string, 0, 300)
	for i := range 250 {
		words = append(words, fmt.Sprintf("lorem%d", i*7%100))
	}
	words = append(words, fmt.Sprintf("word%06d Name%06d", n%max(count, 1), n%max(count, 1)))
	price := float64(count) - 1 // below the last bound alone
	c := freshet.Change{Cursor: freshet.Cursor(n + 1), Source: freshet.SourceID(fmt.Sprintf("s%d", n%max(count, 1))), Seq: n + 1, Before: start.Add(time.Duration(n) * time.Second), Label: freshet.Label{URL: "https://example.com/", Tags: []string{"shop"}}}
	list := &queries.Items{Added: []freshet.Item{{Key: "1", Title: fmt.Sprintf("a thing%06d", n%max(count, 1)), Fields: freshet.Fields{"price": 10.0}}, {Key: "2", Title: "another"}}}
	return queries.Event{Subject: queries.Subject{ID: c.Source, Label: c.Label}, Change: &c, Content: queries.Content{Added: strings.Join(words, " "), Now: freshet.Fields{"price": price}, Before: freshet.Fields{"price": 2 * price}, Items: list}}
}

func benchEngine(b *testing.B, count int, of func(int) queries.Query) *queries.Engine {
	b.Helper()
	e, err := queries.NewEngine()
	if err != nil {
		b.Fatal(err)
	}
	for n := range count {
		q := of(n)
		q.ID = queries.ID(fmt.Sprintf("q%06d", n))
		if err := e.Put(q); err != nil {
			b.Fatal(err)
		}
	}
	return e
}

// tellAll measures what it takes to tell changes that were made beforehand.
func tellAll(b *testing.B, e *queries.Engine, alike int) {
	var events []queries.Event
	for n := range 100 {
		events = append(events, benchEvent(n, alike))
	}
	matches, n := 0, 0
	began := cpuTime(b)
	for b.Loop() {
		event := events[n%len(events)]
		event.Change.Cursor = freshet.Cursor(n + 1)
		matches += len(e.Observe(event))
		n++
	}
	b.ReportMetric(float64(matches)/float64(n), "matches/op")
	used := cpuTime(b) - began
	b.ReportMetric(float64(used.Microseconds())/float64(n), "cpu-µs/op")
	b.ReportMetric(float64(n)/used.Seconds(), "changes/cpu-s")
}

// cpuTime returns what the process has used so far. On a busy machine the wall clock says
// more about the others.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkTell(b *testing.B) {
	all := append(kinds[:len(kinds):len(kinds)], struct {
		name string
		of   func(int) queries.Query
	}{"mixed", mixed})
	for _, kind := range all {
		for _, count := range []int{1, 100, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, count), func(b *testing.B) {
				e := benchEngine(b, count, kind.of)
				alike := count
				if kind.name == "mixed" {
					alike = max(1, count/len(kinds))
				}
				tellAll(b, e, alike)
			})
		}
	}
}

// BenchmarkOneByOne is what the same costs if every condition is evaluated.
func BenchmarkOneByOne(b *testing.B) {
	for _, count := range []int{1, 100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("mixed/%d", count), func(b *testing.B) {
			e := benchEngine(b, count, func(n int) queries.Query {
				q := mixed(n)
				// What an index cannot read is tried at every change.
				if q.When = `true ? (` + q.When + `) : false`; len(q.Scope.Sources) > 0 {
					q.When = fmt.Sprintf(`source.id in [%q] && (%s)`, q.Scope.Sources[0], q.When)
					q.Scope = queries.Scope{}
				}
				return q
			})
			tellAll(b, e, max(1, count/len(kinds)))
		})
	}
}

func BenchmarkPut(b *testing.B) {
	e := benchEngine(b, 0, mixed)
	n := 0
	for b.Loop() {
		q := mixed(n)
		q.ID = queries.ID(fmt.Sprintf("q%d", n))
		if err := e.Put(q); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := queries.NewEngine(); err != nil {
			b.Fatal(err)
		}
	}
}
