package baselines

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/ranking"
)

// Yardstick is what any learning policy has to beat: the simplest that learns
// both how often sources change and when. Each source has one rate, a gamma
// belief under a prior that all share; the hours of the day have one profile
// for all sources together; and what has the most changes to expect since it
// was last seen goes first, by weight and cost.
//
// It is kept plain on purpose, weaknesses included. The first poll of a source
// teaches it nothing, as if that only showed what to compare with, and its prior
// gives way slowly; it knows no sites, no bursts, and no hour of a source's own.
//
// Make one with NewYardstick.
type Yardstick struct {
	cfg     YardstickConfig
	grid    ranking.Instants
	reached int64 // the instant that the expected changes are of

	hours    dayProfile
	pages    []yardstickPage // by slot
	present  int
	changes  float64 // of all sources together, estimated
	watched  float64 // seconds, weighted by the profile
	expected []float64
	rank     ranking.Ranking
}

// A YardstickConfig says where a Yardstick works. The zero YardstickConfig
// works.
type YardstickConfig struct {
	Start   time.Time     // of the first instant; zero means when the first source is put
	Instant time.Duration // how long an instant is; zero means a minute
	Polls   float64       // budget an instant; zero means that a source is first taken to change once a day
}

// yardstickPage is what a Yardstick knows of a source.
type yardstickPage struct {
	changes, watched float64   // evidence, as for all together
	last             time.Time // when it was seen
	there, polled    bool
}

// yardstickPrior is how many changes the rate of all sources counts for in the
// rate of each.
const yardstickPrior = 2

// NewYardstick returns a Yardstick.
func NewYardstick(c YardstickConfig) *Yardstick {
	y := &Yardstick{cfg: c, grid: ranking.NewInstants(c.Start, c.Instant)}
	y.hours.settle()
	return y
}

// Put implements [freshet.Policy]. A source that was never seen counts as seen
// now.
func (y *Yardstick) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	y.grid.Begin(now)
	for int(slot) >= len(y.pages) {
		y.pages, y.expected = append(y.pages, yardstickPage{}), append(y.expected, 0)
	}
	if !y.rank.Put(slot, s) {
		return
	}
	if since.IsZero() {
		since = now
	}
	if !y.pages[slot].there {
		y.present++
	}
	y.pages[slot], y.expected[slot] = yardstickPage{last: since, there: true}, 0
}

// Remove implements [freshet.Policy].
func (y *Yardstick) Remove(slot freshet.Slot) {
	if int(slot) < len(y.pages) && y.pages[slot].there {
		y.pages[slot], y.expected[slot] = yardstickPage{}, 0
		y.present--
		y.rank.Remove(slot)
	}
}

// Choose implements [freshet.Policy].
func (y *Yardstick) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	y.grid.Begin(now)
	if at := y.grid.At(now); at > y.reached {
		y.reached = at
		y.weigh(now)
		y.rank.Begin(n)
		y.rank.Scan(y.expected, 0, len(y.expected))
		y.rank.End()
	}
	y.rank.Offer(y.expected, n, take)
	return y.grid.Time(y.reached + 1)
}

// weigh works out what to expect of each source.
func (y *Yardstick) weigh(now time.Time) {
	y.hours.settle()
	general, until := y.general(), y.hours.upTo(now)
	for slot := range y.pages {
		if p := &y.pages[slot]; p.there {
			y.expected[slot] = max(0, p.rate(general)*(until-y.hours.upTo(p.last)))
		}
	}
}

// general returns how many changes a second are expected of a source of which
// nothing is known.
func (y *Yardstick) general() float64 {
	first := 1 / dayLength.Seconds()
	if y.cfg.Polls > 0 && y.present > 0 {
		first = y.cfg.Polls / 2 / float64(y.present) / y.grid.Length.Seconds() // half of the polls find one
	}
	return (1 + y.changes) / (1/first + y.watched)
}

// rate returns how many changes a second are expected of a source, if so many
// are of sources in general.
func (p *yardstickPage) rate(general float64) float64 {
	return (yardstickPrior + p.changes) / (yardstickPrior/general + p.watched)
}

// Observe implements [freshet.Policy].
func (y *Yardstick) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	y.rank.Land(slot)
	y.expected[slot] = 0 // it has had its turn
	if !o.Result.Seen() {
		return
	}
	if o.Began.IsZero() {
		o.Began = now
	}
	p := &y.pages[slot]
	from, first := p.last, !p.polled
	if from.Before(o.Began) {
		p.last = o.Began
	}
	p.polled = true
	mass := y.hours.upTo(o.Began) - y.hours.upTo(from)
	if first || o.Result == freshet.First || mass <= 0 {
		return
	}
	rate, found := p.rate(y.general()), 0.0
	if o.Result == freshet.Changed { // at least one: how many are to be expected then?
		found = estimate.IfAny(rate * mass)
	}
	p.changes += found
	p.watched += mass
	y.changes += found
	y.watched += mass
	y.hours.learn(from, o.Began, found/mass, rate)
}
