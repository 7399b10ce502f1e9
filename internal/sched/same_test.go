package sched_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

var update = flag.Bool("update", false, "write what is found to the golden file")

// Whoever makes deciding cheaper does not change what is decided: some thousand sources
// of all sorts are polled in the same order, at the same times and for the same worth as
// ever, through failures, redirects, edits and other limits. A change that is meant is
// taken over with -update.
func TestSamePollsAsEver(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round otherwise")
	}
	const golden = "testdata/same.txt"
	got := samePolls(t)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("other polls are made than ever, first in line %d:\n%s\nwant\n%s", i+1, is[i], was[i])
		}
	}
	if len(was) != len(is) {
		t.Fatalf("there are %d lines, want %d", len(is), len(was))
	}
}

// samePolls returns the polls of each second, summed up.
func samePolls(t *testing.T) string {
	const sources, seconds = 3000, 60
	draw := rand.New(rand.NewPCG(7, 11))
	budget := sched.Budget{Polls: 6000, Per: time.Minute}
	p, err := policy.New("auto", policy.InDaemon("auto", budget, sources))
	if err != nil {
		t.Fatal(err)
	}
	limits := sched.DefaultLimits()
	limits.Budget, limits.Workers = budget, 40
	limits.Shares = []sched.Share{{Tag: "news", Min: 0.1}, {Tag: "slow", Max: 0.05}}
	w := &world{now: start, s: sched.New(p, limits)}
	made := 0
	w.latency = func(freshet.Poll) time.Duration {
		made++
		return 30*time.Millisecond + time.Duration(made*7919%997)*200*time.Microsecond
	}
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { answerOfAllSorts(draw, o) }
	for i := range sources {
		w.s.Put(w.now, sourceOfAllSorts(draw, i, w.now))
	}
	var text strings.Builder
	for second := range seconds {
		w.polls = w.polls[:0]
		w.run(time.Second)
		sum := fnv.New64a()
		for _, p := range w.polls {
			fmt.Fprintln(sum, p.Source.ID, p.At.UnixNano(), p.Since.UnixNano(), p.Worth, p.Cause, p.Host, p.Source.Weight, p.Source.Tags, p.Source.Revision, len(p.Along))
		}
		fmt.Fprintf(&text, "%d: %d polls, %016x\n", second, len(w.polls), sum.Sum64())
		editOfAllSorts(draw, w, &limits, second, sources)
	}
	return text.String()
}

// sourceOfAllSorts returns a source, and how things stand with it.
func sourceOfAllSorts(draw *rand.Rand, i int, now time.Time) (s freshet.SourceWithStatus) {
	s.ID, s.URL, s.Revision = id(i), fmt.Sprintf("https://h%d.example/%d", i/7, i-i%40/39), 1
	one := func(in int) bool { return draw.IntN(in) == 0 }
	if one(3) {
		s.Tags = [][]string{{"news"}, {"slow"}, {"news", "other"}}[draw.IntN(3)]
	}
	if one(4) {
		s.Weight = float64(1 + draw.IntN(3))
	}
	if one(10) {
		s.MinGap = time.Duration(10+draw.IntN(50)) * time.Second
	}
	if one(10) {
		s.MaxGap = time.Duration(20+draw.IntN(100)) * time.Second
	}
	if one(50) {
		s.Paused = true
	}
	if one(20) {
		s.Level = objective.ServiceLevel{Share: 0.9, Within: time.Minute}
	}
	if one(5) {
		return s // never seen
	}
	s.Status.Seen = now.Add(-time.Duration(draw.IntN(7200)) * time.Second)
	s.Status.Begun, s.Status.Upto = s.Status.Seen, 0
	if one(30) {
		s.Status.Failures, s.Status.Failure = 1+draw.IntN(3), failure.Timeout
		s.Status.Begun = now.Add(-time.Duration(draw.IntN(100)) * time.Second)
	}
	return s
}

// answerOfAllSorts says what a poll brings.
func answerOfAllSorts(draw *rand.Rand, o *freshet.Outcome) {
	switch n := draw.IntN(100); {
	case n < 15:
		o.Result = freshet.Changed
	case n < 20:
		o.Result, o.Failure = freshet.Failed, failure.Timeout
	case n < 22:
		o.Result, o.LookAgain = freshet.Doubted, 20*time.Second
	case n < 24:
		o.NotBefore = o.Ended.Add(30 * time.Second)
	case n < 34:
		o.FreshFor = time.Duration(draw.IntN(300)) * time.Second
	case n < 38:
		o.Requests, o.Route = 2, "h1.example h2.example"
	case n < 45:
		o.Modified = o.Began.Add(-time.Duration(draw.IntN(100)) * time.Second)
	}
}

// editOfAllSorts makes an edit after some seconds.
func editOfAllSorts(draw *rand.Rand, w *world, l *sched.Limits, second, sources int) {
	i := draw.IntN(sources)
	switch second % 5 {
	case 1:
		s := sourceOfAllSorts(draw, i, w.now)
		s.Revision = int64(second)
		w.s.Put(w.now, s)
	case 2:
		w.s.Ask(id(i))
	case 3:
		w.s.Remove(id(i))
	case 4:
		if second == 49 {
			l.Budget.Polls, l.SourceGap = 4000, 5*time.Second
			w.s.SetLimits(w.now, *l)
		}
	}
}
