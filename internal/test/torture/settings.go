package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Rules are what a daemon is held to in an episode.
type rules struct {
	budget      sched.Budget
	delay       time.Duration
	concurrency int
}

// The limits of a poll, short enough for hostile hosts not to take the episode.
const (
	headerTimeout = time.Second
	totalTimeout  = 3 * time.Second
)

// sourceGap keeps polls of a source apart that has no gaps of its own. It is short,
// so that the campaign has many polls, and the only courtesy that is not off.
const sourceGap = time.Second

// drawRules draws the rules of an episode. The stretch of the budget is short so
// that many of them, each with several faults in it, are there to be overdrawn.
func drawRules(chance *rand.Rand) rules {
	r := rules{
		budget:      drawBudget(chance),
		concurrency: 1 + chance.IntN(3),
	}
	if chance.IntN(4) > 0 {
		r.delay = time.Duration(40+20*chance.IntN(6)) * time.Millisecond
	}
	return r
}

// drawBudget draws a budget: tight, so that it is always spent, or just enough
// for every page that is to be polled often.
func drawBudget(chance *rand.Rand) sched.Budget {
	polls := []float64{24, 32, 40, plenty, 80, 120}[chance.IntN(6)]
	return sched.Budget{Polls: polls, Per: 4 * time.Second}
}

// plenty is a budget with which no page that is to be polled often has to wait.
const plenty = 60

// A spot is what a source of the campaign is made of.
type spot struct {
	id     freshet.SourceID
	url    string
	pages  []freshet.SourceID // whose content it may capture
	heavy  bool               // it captures a large page instead
	maxGap time.Duration
	minGap time.Duration
	keep   int // versions; zero means all
}

// listed returns the sources of the file.
func listed(w *web) (all []spot) {
	add := func(s spot) { all = append(all, s) }
	direct := func(id string, page freshet.SourceID) spot {
		return spot{id: freshet.SourceID(id), url: w.pageURL(page, freshet.SourceID(id)), pages: []freshet.SourceID{page}}
	}
	for i, host := range goodHosts[:3] {
		for n := range pagesPerHost {
			s := direct(fmt.Sprintf("page%d%d", i, n), pageID(host, n))
			s.maxGap = 2 * time.Second
			switch n {
			case 0:
				s.minGap = time.Second
			case 1:
				s.keep = 5
			}
			add(s)
		}
	}
	for n := 1; n <= 5; n++ { // the default is to follow five
		page := pageID(goodHosts[3], n%pagesPerHost)
		id := freshet.SourceID(fmt.Sprintf("hops%d", n))
		add(spot{id: id, url: w.url(hopHosts[n%len(hopHosts)], hopPath(n, page), id), pages: []freshet.SourceID{page}})
	}
	add(spot{id: "toolong", url: w.url(hopHosts[0], hopPath(8, pageID(goodHosts[3], 0)), "toolong")})
	add(spot{id: "loop", url: w.url(hopHosts[0], "/loop/a", "loop")})
	a, b := pageID(goodHosts[3], 1), pageID(goodHosts[3], 2)
	add(spot{id: "turn", url: w.url(hopHosts[1], turnPath(a, b), "turn"), pages: []freshet.SourceID{a, b}})
	for i, host := range crowdHosts {
		for n := range 2 {
			page := pageID(target, (i+n)%pagesPerHost)
			id := freshet.SourceID(fmt.Sprintf("crowd%d%d", i, n))
			add(spot{id: id, url: w.url(host, hopPath(1, page), id), pages: []freshet.SourceID{page}})
		}
	}
	for i, host := range awayHosts {
		for n := range 2 {
			add(direct(fmt.Sprintf("away%d%d", i, n), pageID(host, n)))
		}
		id := freshet.SourceID(fmt.Sprintf("toaway%d", i))
		page := pageID(host, 2)
		add(spot{id: id, url: w.url(hopHosts[i], hopPath(1, page), id), pages: []freshet.SourceID{page}})
	}
	for _, host := range hostileHosts {
		id := freshet.SourceID(host)
		add(spot{id: id, url: w.url(host, "/", id), heavy: len(host) > 5 && host[:5] == "heavy"})
	}
	return all
}

// addable returns the ids of the sources that come and go over the API, and the
// pages that they may be given.
func addable() (ids, pages []freshet.SourceID) {
	for n := range 10 {
		ids = append(ids, freshet.SourceID(fmt.Sprintf("guest%d", n)))
	}
	for _, host := range goodHosts[4:] {
		for n := range pagesPerHost {
			pages = append(pages, pageID(host, n))
		}
	}
	return ids, pages
}

// settings are what the daemon's file says.
type settings struct {
	rules
	data      string
	receivers []*receiver
	sources   []spot
}

// write writes the file of settings.
func (s settings) write(path string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "data: %s\nlisten: 127.0.0.1:0\nbudget: %s\nhosts: {delay: %s, concurrency: %d, share: 100%%}\n", s.data, s.budget, s.delay, s.concurrency)
	fmt.Fprintf(&b, "source_gap: %s\nsource_share: 100%%\npolicy: auto:least_chance=0%%\n", sourceGap)
	fmt.Fprintf(&b, "allow_cidr: [127.0.0.0/8]\nlog: {level: info, format: json}\n")
	fmt.Fprintf(&b, "fetch: {header_timeout: %s, body_idle: %s, total: %s, wire_bytes: 4MB, decoded_bytes: 16MB}\n", headerTimeout, headerTimeout, totalTimeout)
	b.WriteString("webhooks:\n")
	for _, r := range s.receivers {
		fmt.Fprintf(&b, "  - {name: %s, url: %q, secret: %s}\n", r.name, r.url(), hookSecret)
	}
	b.WriteString("sources:\n")
	for _, spot := range s.sources {
		fmt.Fprintf(&b, "  - {id: %s, url: %q%s%s%s}\n", spot.id, spot.url,
			given("max_gap", spot.maxGap), given("min_gap", spot.minGap), given("keep", spot.keep))
	}
	next := path + ".next"
	if err := os.WriteFile(next, b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// given writes a key that was given a value.
func given[T comparable](key string, value T) string {
	var zero T
	if value == zero {
		return ""
	}
	if key == "keep" {
		return fmt.Sprintf(", keep: {versions: %v}", value)
	}
	return fmt.Sprintf(", %s: %v", key, value)
}
