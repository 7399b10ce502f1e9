package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// A madeUp is a world of sources that are made up, in virtual time. It implements
// [sched.World], and costs next to nothing itself.
type madeUp struct {
	now, end time.Time
	ends     [latencies][]underWay // polls under way, by how long they take: each in the order of its ends
	told     freshet.Cursor

	notes   noteTaking
	polls   int
	turned  time.Duration // the thread's CPU time when the loop was last given something to do; 0 before the first time
	longest time.Duration // CPU time of a turn of the loop
}

// An underWay is a poll that ends at some time.
type underWay struct {
	source      int
	cause       freshet.Cause
	since       time.Time
	began, ends time.Time
}

// Polls take so long, and so much longer, each in its turn.
const (
	latencies    = 8
	shortLatency = 40 * time.Millisecond
	nextLatency  = 20 * time.Millisecond
)

// newMadeUp returns a world that ends after so long.
func newMadeUp(length time.Duration) *madeUp {
	start := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	return &madeUp{now: start, end: start.Add(length)}
}

// madeUpID returns the ID of a source.
func madeUpID(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("s%09d", i)) }

// source returns a source.
func (b *Brain) source(i int) freshet.Source {
	directory := "page"
	if b.PerDir > 0 {
		directory = fmt.Sprintf("pages%d", i/b.PerDir)
	}
	return freshet.Source{
		ID:  madeUpID(i),
		URL: fmt.Sprintf("https://h%d.example/%s/%d", i/b.PerHost, directory, i),
	}
}

// Now implements [sched.World].
func (w *madeUp) Now() time.Time { return w.now }

// Begin implements [sched.World].
func (w *madeUp) Begin(_ context.Context, p freshet.Poll) {
	i, err := strconv.Atoi(string(p.Source.ID[1:]))
	if err != nil {
		panic("a poll of a source that nobody made up: " + string(p.Source.ID))
	}
	queue := w.polls % latencies
	w.polls++
	ends := w.now.Add(shortLatency + time.Duration(queue)*nextLatency)
	w.ends[queue] = append(w.ends[queue], underWay{source: i, cause: p.Cause, since: p.Since, began: w.now, ends: ends})
}

// Wait implements [sched.World].
func (w *madeUp) Wait(ctx context.Context, alarm time.Time) (ev sched.Event, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if w.turned > 0 {
		w.longest = max(w.longest, threadTime()-w.turned)
	}
	defer func() { w.turned = threadTime() }()
	if w.notes.due(w.now) {
		return sched.Call(w.notes.take), false, nil
	}
	first := -1
	for q, queue := range w.ends {
		if len(queue) > 0 && (first < 0 || queue[0].ends.Before(w.ends[first][0].ends)) {
			first = q
		}
	}
	if first < 0 || !alarm.IsZero() && alarm.Before(w.ends[first][0].ends) {
		if alarm.IsZero() || alarm.After(w.end) {
			return nil, false, io.EOF
		}
		w.now = alarm
		return nil, false, nil
	}
	u := w.ends[first][0]
	if u.ends.After(w.end) {
		return nil, false, io.EOF
	}
	w.ends[first] = w.ends[first][1:]
	w.now = u.ends
	o := w.outcome(u.source, u.since, u.began, u.ends)
	o.Cause = u.cause
	return sched.PollEnded{Outcome: &o}, false, nil
}

// outcome returns the next outcome: of a poll of a source that had been seen before.
func (w *madeUp) outcome(i int, since, began, ended time.Time) freshet.Outcome {
	w.told++
	o := freshet.Outcome{Cursor: w.told, Source: madeUpID(i), Since: since, Began: began, Ended: ended, Status: 200, Requests: 1}
	if version(i, since) != version(i, began) {
		o.Result = freshet.Changed
	}
	return o
}

// version returns how often a source has changed by a time. Each changes evenly; some
// every ten minutes, some once a month.
func version(i int, at time.Time) int64 {
	h := (uint64(i) + 1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h ^= h >> 27
	const often, seldom = 10 * time.Minute, 30 * units.Day
	share := float64(h>>40) / (1 << 24)
	every := int64(float64(often) * math.Pow(float64(seldom)/float64(often), share))
	return (at.UnixNano() + int64(h%uint64(every))) / every
}
