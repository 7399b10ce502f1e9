package baselines

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// Noisy polls by noisy signals of changes, as GREEDY-NCIS does (Busa-Fekete, Zimmert,
// Gyorgy and others, "A scalable crawling algorithm utilizing noisy change-indicating
// signals", 2025): what has the highest crawl value goes first. A signal is an index that
// says of a page that it has changed since it was last polled. How many changes have a
// signal, and how many signals are false, is estimated over all pages. Without signals it
// goes by the rates alone.
type Noisy struct {
	grid     ranking.Instants
	captures bool // are what it aims at
	budget   float64
	reached  int64 // the instant that the values are of
	pages    []noisyPage
	values   []float64 // by slot
	rank     ranking.Ranking
	slots    map[crawl.PageKey]freshet.Slot
	all      estimate.Looks
	present  int
	hits     float64 // polls that found a change after a signal
	misled   float64 // polls that found none after one
	unsigned float64 // polls that found a change without one
}

// A noisyPage is what a Noisy knows of a source.
type noisyPage struct {
	looks   estimate.Looks // in instants
	last    time.Time
	signals float64 // since it was last seen
	key     crawl.PageKey
	there   bool
}

// noisyPrior is how many changes the rate of all sources counts for in the rate of each.
const noisyPrior = 0.5

func newNoisy(at policy.Setting, o *policy.Options) *Noisy {
	return &Noisy{
		grid: ranking.NewInstants(at.Start, at.Instant), budget: at.Polls, captures: aimsAtCaptures(o),
		slots: map[crawl.PageKey]freshet.Slot{},
	}
}

// HearsIndexes says that Observe takes in what polls of indexes report.
func (n *Noisy) HearsIndexes() {}

// Put implements [freshet.Policy].
func (n *Noisy) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	n.grid.Begin(now)
	if s.Index {
		return // it is read on request
	}
	n.pages, n.values = ranking.Grown(n.pages, slot), ranking.Grown(n.values, slot)
	if !n.rank.Put(slot, s) {
		return
	}
	if since.IsZero() {
		since = now
	}
	p := &n.pages[slot]
	if !p.there {
		n.present++
	}
	*p = noisyPage{last: since, there: true, key: crawl.PageKeyOf(s.URL)}
	n.slots[p.key] = slot
}

// Remove implements [freshet.Policy].
func (n *Noisy) Remove(slot freshet.Slot) {
	if int(slot) < len(n.pages) && n.pages[slot].there {
		delete(n.slots, n.pages[slot].key)
		n.pages[slot], n.values[slot] = noisyPage{}, 0
		n.present--
		n.rank.Remove(slot)
	}
}

// Choose implements [freshet.Policy].
func (n *Noisy) Choose(now time.Time, polls int, take func(freshet.Slot, float64) bool) time.Time {
	n.grid.Begin(now)
	if at := n.grid.At(now); at > n.reached {
		n.reached = at
		n.weigh(now)
		n.rank.Begin(polls)
		n.rank.Scan(n.values, 0, len(n.values))
		n.rank.End()
	}
	n.rank.Offer(n.values, polls, take)
	return n.grid.Time(n.reached + 1)
}

// weigh works out what a poll of each source is worth.
func (n *Noisy) weigh(now time.Time) {
	general, recall, precision := n.general(), 0.0, 1.0
	if n.hits+n.misled > 0 {
		recall = (n.hits + 1) / (n.hits + n.unsigned + 2)
		precision = (n.hits + 1) / (n.hits + n.misled + 2)
	}
	for slot := range n.pages {
		p := &n.pages[slot]
		if !p.there {
			continue
		}
		rate := p.looks.Shrunk(general, noisyPrior)
		n.values[slot] = crawlValue(signalModel{
			unsigned: rate * (1 - recall), signals: rate * recall / precision, wrong: rate * recall / precision * (1 - precision),
		}, n.instants(now.Sub(p.last)), p.signals)
		if n.captures {
			n.values[slot] *= rate
		}
	}
}

// general returns the rate of sources in general, in changes an instant. At first half of
// the polls are expected to find one.
func (n *Noisy) general() float64 {
	first := n.budget / 2 / float64(max(1, n.present))
	if first <= 0 {
		first = 1
	}
	return (1 + n.all.Changes) / (1/first + n.all.Exposure())
}

// Observe implements [freshet.Policy].
func (n *Noisy) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if o.Word != nil {
		for _, hint := range o.Word.Pages {
			if slot, ok := n.slots[hint.Page]; ok && hint.Date.After(n.pages[slot].last) {
				n.pages[slot].signals++
			}
		}
		return
	}
	if int(slot) >= len(n.pages) || !n.pages[slot].there {
		return
	}
	n.rank.Land(slot)
	n.values[slot] = 0
	if !o.Result.Seen() {
		return
	}
	if o.Began.IsZero() {
		o.Began = now
	}
	p := &n.pages[slot]
	gap := n.instants(o.Began.Sub(p.last))
	if gap > 0 && (o.Result == freshet.Changed || o.Result == freshet.Unchanged) {
		changed := o.Result == freshet.Changed
		p.looks.See(gap, changed)
		n.all.See(gap, changed)
		switch {
		case p.signals > 0 && changed:
			n.hits++
		case p.signals > 0:
			n.misled++
		case changed:
			n.unsigned++
		}
	}
	if p.last.Before(o.Began) {
		p.last = o.Began
	}
	p.signals = 0
}

func (n *Noisy) instants(d time.Duration) float64 { return float64(d) / float64(n.grid.Length) }

// A signalModel says how often things happen to a page.
type signalModel struct {
	unsigned float64 // changes without a signal
	signals  float64 // true and false ones
	wrong    float64 // signals without a change
}

// mostSignals bounds the number of signals between two polls that the policy distinguishes.
const mostSignals = 64

// crawlValue returns what a poll of a page is worth for freshness when so much time has
// passed and so many signals have come since the last: with w(x) and psi(x) the expected
// fresh time and the expected length between polls that come when the page is as likely to
// have changed as after a time x without signals, it is w - exp(-unsigned*x)*psi. It is the
// price at which polling at x is optimal.
func crawlValue(m signalModel, elapsed, signals float64) float64 {
	if m.signals <= 0 {
		x := m.unsigned * elapsed
		if x <= 0 {
			return 0
		}
		return (-math.Expm1(-x) - x*math.Exp(-x)) / m.unsigned
	}
	total := m.unsigned + m.signals
	each := math.Inf(1) // as much time as a signal counts for
	if m.wrong > 0 && m.unsigned > 0 {
		each = math.Log(m.signals/m.wrong) / m.unsigned
	}
	if signals > 0 {
		elapsed += signals * each
	}
	if math.IsInf(elapsed, 1) { // it has changed for certain
		return 1 / total
	}
	fresh, length, power := 0.0, 0.0, 1/total
	for i := 0; i < mostSignals && float64(i)*min(each, math.MaxFloat64) < elapsed; i++ {
		left := elapsed
		if i > 0 {
			left -= float64(i) * each
		}
		length += atLeast(i, m.signals*left) / m.signals
		fresh += power * atLeast(i, total*left)
		power *= m.wrong / total
	}
	return max(0, fresh-math.Exp(-m.unsigned*elapsed)*length)
}

// atLeast returns the chance that more than n events come where x are expected.
func atLeast(n int, x float64) float64 {
	term := math.Exp(-x)
	sum := term
	for i := 1; i <= n; i++ {
		term *= x / float64(i)
		sum += term
	}
	return max(0, 1-sum)
}
