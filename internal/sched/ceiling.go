package sched

import (
	"math"
	"slices"
	"time"
)

// A ceiling counts the requests that a server may have seen within the last
// stretch of time, and so keeps the budget hard: a request counts from before
// it leaves until a whole stretch after its answer is in. Whenever in between
// the server saw it, no stretch holds more than most.
type ceiling struct {
	most    int
	per     time.Duration
	flying  int           // requests reserved by polls under way
	bucket  time.Duration // requests that ended within one are kept as one; 0 if each is kept
	landed  []spent       // in the order of their ends
	past    int           // how many of landed are forgotten
	counted int           // sum over the others
}

// spent is requests that ended at a time, or a little before.
type spent struct {
	ended    time.Time
	requests int
}

// buckets is in how many parts the stretch of a budget is divided that allows more
// requests than that. What ended in one part counts until the last of it is a whole
// stretch ago: never too short, and too long by at most a bucket.
const buckets = 4096

func newCeiling(b Budget) (c ceiling) {
	c.allow(b)
	return c
}

// allow sets what is allowed from now on. What was spent stays spent.
func (c *ceiling) allow(b Budget) {
	c.most, c.per, c.bucket = int(math.Ceil(b.Polls)), b.Per, 0
	if c.most > buckets {
		c.bucket = b.Per / buckets
	}
}

// forget drops what ended a whole stretch before now.
func (c *ceiling) forget(now time.Time) {
	for c.past < len(c.landed) && !c.landed[c.past].ended.Add(c.per).After(now) {
		c.counted -= c.landed[c.past].requests
		c.past++
	}
	if c.past > len(c.landed)/2 {
		c.landed = c.landed[:copy(c.landed, c.landed[c.past:])]
		c.past = 0
	}
}

// room reports whether so many more requests fit below the ceiling.
func (c *ceiling) room(requests int) bool { return c.used()+requests <= c.most }

// atMost returns how many of so many requests a poll can reserve: if it needs
// more than the whole budget, it waits for the rest on the way.
func (c *ceiling) atMost(requests int) int { return min(requests, c.most) }

// used returns how many requests are counted.
func (c *ceiling) used() int { return c.flying + c.counted }

func (c *ceiling) begin(requests int) { c.flying += requests }

func (c *ceiling) end(now time.Time, reserved, made int) {
	c.flying -= reserved
	if made <= 0 {
		return
	}
	c.counted += made
	if last := len(c.landed) - 1; last >= c.past && c.together(c.landed[last].ended, now) {
		c.landed[last].ended = later(c.landed[last].ended, now)
		c.landed[last].requests += made
		return
	}
	c.landed = append(c.landed, spent{now, made})
}

// together reports whether requests that ended at two times are kept as one. In a replay
// all polls of an instant end at once: one entry for them keeps the list as short as
// there are instants.
func (c *ceiling) together(a, b time.Time) bool {
	return a.Equal(b) || c.bucket > 0 && a.UnixNano()/int64(c.bucket) == b.UnixNano()/int64(c.bucket)
}

// sort restores the order of ends after they were told in another order.
func (c *ceiling) sort() {
	slices.SortStableFunc(c.landed[c.past:], func(a, b spent) int { return a.ended.Compare(b.ended) })
	kept := c.landed[:c.past]
	for _, s := range c.landed[c.past:] {
		if last := len(kept) - 1; last >= c.past && c.together(kept[last].ended, s.ended) {
			kept[last] = spent{s.ended, kept[last].requests + s.requests}
			continue
		}
		kept = append(kept, s)
	}
	c.landed = kept
}

// opens returns when the oldest counted request is forgotten; zero if none is.
func (c *ceiling) opens() time.Time {
	if c.past == len(c.landed) {
		return time.Time{}
	}
	return c.landed[c.past].ended.Add(c.per)
}
