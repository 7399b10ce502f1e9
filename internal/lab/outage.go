package lab

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/units"
)

// An outage is a time in which polls of a page fail.
type outage struct {
	from, to   int64 // nanoseconds since 1970
	failure    failure.Class
	retryAfter time.Duration // that the server asks for; 0 if it does not
}

// answersAgain is what a trace says where an outage ends.
const answersAgain = "ok"

// ParseFailure reads how a page fails: a class of failure, and after a colon
// for how long the server wants to be left alone, if it says so.
func ParseFailure(s string) (f failure.Class, retryAfter time.Duration, err error) {
	class, wait, told := strings.Cut(s, ":")
	if class == "" || strings.Trim(class, "abcdefghijklmnopqrstuvwxyz0123456789_.") != "" {
		return "", 0, fmt.Errorf("is not a failure; write a class such as timeout, server_error or retry_after:2m, or %s where the page answers again", answersAgain)
	}
	if !told {
		return failure.Class(class), 0, nil
	}
	retryAfter, err = units.ParseDuration(wait)
	if err != nil || retryAfter <= 0 {
		return "", 0, errors.New("does not name a length of time after the colon; write it as in retry_after:2m")
	}
	return failure.Class(class), retryAfter, nil
}

// formatFailure writes what ParseFailure reads.
func (o outage) formatFailure() string {
	if o.retryAfter > 0 {
		return string(o.failure) + ":" + units.FormatDuration(o.retryAfter)
	}
	return string(o.failure)
}

// A failureMark is a row of a trace that says how a page fails from then on, or
// that it answers again.
type failureMark struct {
	page int32 // as in a gatherer
	outage
}

// outagesOf makes outages of the marks of all pages. One lasts until the next
// mark of its page. Rank is the place of each page in byte order.
func outagesOf(marks []failureMark, rank []int32) [][]outage {
	if len(marks) == 0 {
		return nil
	}
	slices.SortStableFunc(marks, func(a, b failureMark) int { return cmp.Compare(a.from, b.from) })
	list := make([][]outage, len(rank))
	for _, m := range marks {
		page := rank[m.page]
		if n := len(list[page]); n > 0 && list[page][n-1].to > m.from {
			list[page][n-1].to = m.from
		}
		if m.failure != answersAgain {
			m.to = math.MaxInt64
			list[page] = append(list[page], m.outage)
		}
	}
	return list
}

// outageAt returns the outage of a page at a moment.
func (h *History) outageAt(page int, at int64) (o outage, ok bool) {
	if h == nil || h.outages == nil {
		return o, false
	}
	list := h.outages[page]
	n, _ := slices.BinarySearchFunc(list, at, func(o outage, at int64) int {
		if o.to > at {
			return 1
		}
		return -1
	})
	if n == len(list) || list[n].from > at {
		return o, false
	}
	return list[n], true
}

// Failures make a share of all polls fail, by chance.
type Failures struct {
	Share      float64       // of polls, from 0 to 1
	Class      failure.Class // "" means a timeout
	RetryAfter time.Duration // that servers ask for; 0 means that they do not
	Seed       uint64
}

// draw reports whether a poll fails. The same poll always does.
func (f Failures) draw(id freshet.SourceID, at time.Time) bool {
	if !(f.Share > 0) {
		return false
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %d %d", id, f.Seed, at.UnixNano())
	x := sum.Sum64() // whose low bits are the ones that are well mixed
	return float64(x*0x9E3779B97F4A7C15>>11)/(1<<53) < f.Share
}

// fail lets a poll fail if the trace or chance says so.
func (c *Conditions) fail(g *Grid, page int, out *freshet.Outcome) {
	if trouble, down := g.history.outageAt(page, out.Began.UnixNano()); down {
		trouble.befall(out)
		return
	}
	c.failByChance(out)
}

// failByChance lets a poll fail if chance says so.
func (c *Conditions) failByChance(out *freshet.Outcome) {
	if c.Failures.draw(out.Source, out.Began) {
		outage{failure: cmp.Or(c.Failures.Class, failure.Timeout), retryAfter: c.Failures.RetryAfter}.befall(out)
	}
}

// befall lets a poll fail.
func (trouble outage) befall(out *freshet.Outcome) {
	out.Result, out.Failure = freshet.Failed, trouble.failure
	if trouble.retryAfter > 0 {
		out.NotBefore = out.Ended.Add(trouble.retryAfter)
	}
}
