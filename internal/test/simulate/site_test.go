package simulate

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A site is all pages of the simulated web, on whatever host. It knows what was
// served when.
type site struct {
	*network
	pages map[string]*page

	mu   sync.Mutex
	hits []hit // every request that arrived, in order
}

// A page is one page, whose editions follow one another.
type page struct {
	pagePlan
	changes []time.Duration // since the start of the world
}

// A hit is a request that arrived at a host.
type hit struct {
	at      time.Time
	host    string
	path    string
	life    *life
	edition int           // that was served in full, or 0
	robots  bool          // a robots.txt was
	retry   time.Duration // that the answer asked for
	ended   time.Time     // when the answer was on its way, or failed
}

// newSite returns the web of a plan, and puts it on the network.
func newSite(n *network) *site {
	s := &site{network: n, pages: map[string]*page{}}
	for i, p := range n.plan.pages {
		pg := &page{pagePlan: p}
		rng := n.chance("changes", i)
		for at := time.Duration(0); at < n.plan.storm+n.plan.calm; {
			at += time.Duration(rng.ExpFloat64() * float64(p.every))
			pg.changes = append(pg.changes, at)
		}
		if p.of != "" {
			pg.changes = s.pages[p.of].changes
		}
		s.pages[p.id] = pg
		n.servers[p.host] = s
		for _, h := range p.hops {
			n.servers[h] = s
		}
	}
	return s
}

// url returns the address under which the source of a page is watched.
func (p *page) url() string {
	if len(p.hops) > 0 {
		return fmt.Sprintf("http://%s/hop/%s/0", p.hops[0], p.watched())
	}
	return p.home()
}

// home returns the address where the page really is.
func (p *page) home() string { return fmt.Sprintf("http://%s/page/%s", p.host, p.watched()) }

// edition returns which one is shown at a time, from 1.
func (p *page) edition(at time.Duration) int {
	n := 1
	for _, c := range p.changes {
		if c <= at {
			n++
		}
	}
	return n
}

// body returns the text of an edition.
func (p *page) body(edition int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s edition %d\n", p.watched(), edition)
	for i := range 3 + edition%5*4 {
		fmt.Fprintf(&b, "line %d of %s, which edition %d has\n", i, p.watched(), edition/(1+i%3))
	}
	return b.Bytes()
}

// wallTitle is how a wall begins that is shown in place of a page.
const wallTitle = "<title>Just a moment...</title>"

// isWall reports whether a body is a wall, and no edition of a page.
func isWall(body []byte) bool { return bytes.HasPrefix(body, []byte(wallTitle)) }

// editionIn returns which edition of which page a body is.
func editionIn(body []byte) (id string, edition int) {
	line, _, _ := bytes.Cut(body, []byte("\n"))
	_, _ = fmt.Sscanf(string(line), "%s edition %d", &id, &edition)
	return id, edition
}

// answer answers a request for a page or a redirect.
func (s *site) answer(r *request, line net.Conn) bool {
	h := hit{at: r.at, host: r.host, path: r.URL.Path, life: r.life}
	s.say("request to %s %s", r.host, r.URL.Path)
	s.mu.Lock()
	s.hits = append(s.hits, h)
	mine := len(s.hits) - 1
	s.mu.Unlock()
	rng := s.chance("answer "+r.host, r.n)
	wait := pause(rng, 200*time.Microsecond, 400*time.Millisecond)
	calm, p := s.isCalm(), &s.plan
	if !calm && oneIn(rng, p.slow) {
		wait = pause(rng, time.Second, 8*time.Second)
	}
	time.Sleep(wait)
	var again bool
	switch {
	case calm:
		again = s.serve(r, line, &h)
	case oneIn(rng, p.reset):
		s.say("%s hangs up", r.host)
	case oneIn(rng, p.serverError):
		again = write(line, 500, nil, []byte("out of order\n"), -1) == nil
	case oneIn(rng, p.retryAfter):
		status := []int{429, 503}[rng.IntN(2)]
		seconds := 1 + rng.IntN(14)
		again = write(line, status, http.Header{"Retry-After": {strconv.Itoa(seconds)}}, nil, -1) == nil
		if again {
			h.retry = time.Duration(seconds) * time.Second
			s.say("%s asks to be left alone for %v", r.host, h.retry)
		}
	case oneIn(rng, p.cutBody):
		_ = write(line, 200, http.Header{"Content-Type": {"text/plain"}}, []byte("half a page"), 5000)
	case oneIn(rng, p.stallBody):
		_ = write(line, 200, http.Header{"Content-Type": {"text/plain"}}, []byte("half a page"), 5000)
		time.Sleep(pause(rng, 10*time.Second, 40*time.Second))
	case pageOf(r.URL.Path) != "" && !strings.HasPrefix(r.URL.Path, "/hop/") && oneIn(rng, p.wall):
		s.say("%s shows a wall", r.host)
		again = write(line, 200, http.Header{"Content-Type": {"text/html"}}, fmt.Appendf(nil, "%s<p>Verify you are human. Ray ID %d\n", wallTitle, rng.IntN(1000)), -1) == nil
	default:
		again = s.serve(r, line, &h)
	}
	h.ended = time.Now()
	s.mu.Lock()
	s.hits[mine] = h
	s.mu.Unlock()
	return again
}

// serve answers as a server does that is in order.
func (s *site) serve(r *request, line net.Conn, h *hit) bool {
	if r.URL.Path == "/robots.txt" && s.plan.crawl > 0 {
		rules := fmt.Sprintf("User-agent: *\nCrawl-delay: %g\n", s.plan.crawl.Seconds())
		h.robots = write(line, 200, http.Header{"Content-Type": {"text/plain"}}, []byte(rules), -1) == nil
		return h.robots
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(parts) < 2 || s.pages[parts[1]] == nil {
		return write(line, 404, nil, nil, -1) == nil
	}
	p := s.pages[parts[1]]
	if parts[0] == "hop" {
		i, _ := strconv.Atoi(parts[2])
		to := p.home()
		if i+1 < len(p.hops) {
			to = fmt.Sprintf("http://%s/hop/%s/%d", p.hops[i+1], p.id, i+1)
		}
		return write(line, p.status, http.Header{"Location": {to}}, nil, -1) == nil
	}
	edition := p.edition(s.since())
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if p.etag {
		tag := fmt.Sprintf("%q", fmt.Sprintf("%s-%d", p.id, edition))
		header.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			return write(line, http.StatusNotModified, header, nil, -1) == nil
		}
	}
	if write(line, 200, header, p.body(edition), -1) != nil {
		return false
	}
	h.edition = edition
	return true
}
