package simulate

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"freshet/internal/sched"
)

// A plan is what a seed makes of a run: what is watched, and how often what
// goes wrong. Many kinds of fault are left out of a run altogether, because
// faults hide one another.
type plan struct {
	storm time.Duration // for which things go wrong
	calm  time.Duration // after it, for which they do not

	pages     []pagePlan
	receivers int
	crawl     time.Duration // between two requests, as every robots.txt asks; 0 if none does
	limits    sched.Limits

	// Of a request, once in so many; 0 means never.
	refuse, hang, reset, cutBody, stallBody, serverError, retryAfter, slow int
	wall                                                                   int // in front of the page: a captcha that a server calls a success
	hookFault                                                              int

	deaths    []deathPlan
	diskSlow  int // a write or sync takes long, once in so many
	full      int // times that the disk is full
	syncFails int // syncs that fail in all
	jumps     int // of the clock
	edits     int // of sources, over the API
	budgets   int // changes of the budget
}

// A pagePlan is a page of the simulated web.
type pagePlan struct {
	id     string
	of     string // another page: this is one more source that watches it, and reads it in its own way
	host   string
	hops   []string // hosts that redirect to it, the first first
	status int      // of the redirects
	every  time.Duration
	etag   bool
	gap    time.Duration // MaxGap of its source
}

// A deathPlan is a way for the daemon to end.
type deathPlan struct {
	how   string // "kill", "power", "stop"
	after time.Duration
	ops   int // if not 0: at this operation of the disk after that time, and not at once
	down  time.Duration
}

// drawPlan draws a plan.
func drawPlan(rng *rand.Rand) plan {
	p := plan{
		storm:     pause(rng, 60*time.Second, 150*time.Second),
		calm:      90*time.Second + time.Duration(rng.IntN(1000)),
		receivers: rng.IntN(3),
		limits: sched.Limits{
			Budget: sched.Budget{Polls: float64(8 + rng.IntN(30)), Per: pause(rng, 20*time.Second, 60*time.Second)},
			Hosts:  sched.Politeness{Delay: pause(rng, 300*time.Millisecond, 4*time.Second)},
			Backoff: sched.Backoff{
				Start: pause(rng, time.Second, 4*time.Second), Most: pause(rng, 8*time.Second, 15*time.Second),
				Host: pause(rng, time.Second, 3*time.Second), RetryAfter: pause(rng, 15*time.Second, 25*time.Second),
				Gone: pause(rng, 10*time.Second, 15*time.Second),
			},
			Workers: 1 + rng.IntN(8),
		},
	}
	sometimes := func(n int) int {
		if rng.IntN(2) == 0 {
			return 0
		}
		return n + rng.IntN(2*n)
	}
	p.refuse, p.hang, p.reset = sometimes(12), sometimes(40), sometimes(12)
	p.cutBody, p.stallBody = sometimes(15), sometimes(40)
	p.serverError, p.retryAfter, p.slow = sometimes(10), sometimes(8), sometimes(10)
	p.hookFault, p.diskSlow = sometimes(3), sometimes(10)
	p.full, p.syncFails, p.jumps = sometimes(1), sometimes(1), sometimes(1)
	p.edits, p.budgets = sometimes(6), sometimes(1)
	p.drawPages(rng)
	p.drawDeaths(rng)
	p.wall = sometimes(6)
	if rng.IntN(2) == 0 {
		p.limits.Hosts.CrawlDelay = 10 * time.Second
		p.crawl = time.Duration(rng.IntN(12)) * 500 * time.Millisecond
	}
	p.drawTwins(rng)
	return p
}

// drawTwins has some pages be watched by two sources.
func (p *plan) drawTwins(rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		return
	}
	for i, page := range p.pages[:1+rng.IntN(len(p.pages))] {
		page.id, page.of = fmt.Sprintf("twin%d", i), page.id
		page.gap = pause(rng, 10*time.Second, 40*time.Second).Round(time.Millisecond)
		p.pages = append(p.pages, page)
	}
}

// watched returns the page that the source of a page watches: that, or another.
func (p *pagePlan) watched() string { return cmp.Or(p.of, p.id) }

// read returns how the source of a page is read, beyond what goes without saying.
func (p *pagePlan) read() []string {
	if p.of != "" {
		return []string{"text"}
	}
	return nil
}

// listed reports whether the sources are listed in a file of settings, and not
// added over the API.
func (p *plan) listed() bool { return p.edits == 0 }

// drawPages draws the web.
func (p *plan) drawPages(rng *rand.Rand) {
	hosts := 1 + rng.IntN(4)
	host := func() string { return fmt.Sprintf("host%d.example", rng.IntN(hosts)) }
	redirects := rng.IntN(2) == 0
	for i := range 2 + rng.IntN(5) {
		page := pagePlan{
			id: fmt.Sprintf("page%d", i), host: host(), status: 302, etag: rng.IntN(2) == 0,
			every: pause(rng, 4*time.Second, 60*time.Second), gap: pause(rng, 10*time.Second, 40*time.Second).Round(time.Millisecond),
		}
		for redirects && rng.IntN(2) == 0 && len(page.hops) < 3 {
			page.hops = append(page.hops, host())
		}
		if rng.IntN(3) == 0 {
			page.status = 301
		}
		p.pages = append(p.pages, page)
	}
}

// drawDeaths draws how the daemon ends during the storm.
func (p *plan) drawDeaths(rng *rand.Rand) {
	for range rng.IntN(4) {
		d := deathPlan{
			how:   []string{"kill", "power", "power", "stop"}[rng.IntN(4)],
			after: pause(rng, 5*time.Second, p.storm/2),
			down:  pause(rng, 100*time.Millisecond, 12*time.Second),
		}
		if d.how != "stop" && rng.IntN(2) == 0 {
			d.ops = 1 + rng.IntN(60)
		}
		p.deaths = append(p.deaths, d)
	}
}
