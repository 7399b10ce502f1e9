package daemon_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/kit"
)

// A paper is one page with two parts, on a real server that counts who asks for it and
// how.
type paper struct {
	*httptest.Server
	mu          sync.Mutex
	price, news string
	tagged      bool // it has an ETag
	status      int  // of all answers, if it is set
	asked       []string
}

func newPaper(t *testing.T, tagged bool) *paper {
	p := &paper{price: "1 EUR", news: "nothing", tagged: tagged}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP brings the page as it is now.
func (p *paper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how := r.Header.Get("If-None-Match")
	p.asked = append(p.asked, how)
	body := fmt.Sprintf("<html><title>Paper</title><p class=price>%s</p><p class=news>%s</p></html>", p.price, p.news)
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", freshet.HashOf([]byte(body)))[:8])
	if p.tagged {
		w.Header().Set("ETag", tag)
	}
	switch {
	case p.status != 0:
		w.WriteHeader(p.status)
	case p.tagged && how == tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(body))
	}
}

// edit changes the page.
func (p *paper) edit(edit func(*paper)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit(p)
}

// requests returns how the page was asked for since the last time, each time.
func (p *paper) requests() (asked []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked, p.asked = p.asked, nil
	return asked
}

// silent is a policy that wants nothing: all polls are asked for.
type silent struct{ policy.RoundRobin }

// Choose wants nothing.
func (*silent) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time { return time.Time{} }

// A newsroom is a daemon that watches a paper in several ways.
type newsroom struct {
	*bench
	*paper
	t   *testing.T
	mu  sync.Mutex
	got map[freshet.SourceID]freshet.Outcome // since the last poll that was asked for
}

func newNewsroom(t *testing.T, p *paper, cfg daemon.Config, sources ...freshet.Source) *newsroom {
	n := &newsroom{paper: p, t: t, got: map[freshet.SourceID]freshet.Outcome{}}
	cfg.Fetcher = fetch.New(kit.Loopback())
	cfg.Policy = &silent{}
	cfg.Limits = sched.Limits{Budget: sched.Budget{Polls: 1000, Per: time.Second}, Backoff: sched.Backoff{Start: time.Hour, Most: time.Hour}}
	cfg.Observe = func(_ freshet.Source, o freshet.Outcome) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.got[o.Source] = o
	}
	n.bench = begin(t, t.TempDir(), cfg, sources...)
	<-n.Started()
	t.Cleanup(n.stop)
	return n
}

// reads returns a source that watches a part of the paper.
func (p *paper) reads(id freshet.SourceID, css string) freshet.Source {
	return freshet.Source{ID: id, URL: p.URL + "/", Recipe: reading.Recipe{CSS: css}}
}

// poll asks for a poll of a source and waits until all that it is to bring is there.
// It returns how the outcomes ended, as "id result", and what was requested.
func (n *newsroom) poll(id freshet.SourceID) (ended, requests []string) {
	n.t.Helper()
	n.paper.requests()
	n.mu.Lock()
	clear(n.got)
	n.mu.Unlock()
	if _, err := n.Poll(n.t.Context(), id); err != nil {
		n.t.Fatal(err)
	}
	for under := true; under; { // what was read from a shared fetch is recorded after the poll
		wanted, err := n.Wanted(n.t.Context())
		if err != nil {
			n.t.Fatal(err)
		}
		under = len(wanted) > 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	led := n.got[id]
	for _, one := range slices.Sorted(maps.Keys(n.got)) {
		o := n.got[one]
		ended = append(ended, fmt.Sprintf("%s %s", one, o.Result))
		if one == id {
			continue
		}
		if o.Cause != freshet.BySharing || o.Requests != 0 || o.Bytes != 0 || !o.Began.Equal(led.Began) || !o.Ended.Equal(led.Ended) || o.Status != led.Status {
			n.t.Errorf("%s was read from the poll of %s as %+v, which was %+v", one, id, o, led)
		}
	}
	return ended, n.paper.requests()
}

// wants holds what a poll brought against what it should bring.
func (n *newsroom) wants(what string, id freshet.SourceID, conditional bool, want ...string) {
	n.t.Helper()
	ended, requests := n.poll(id)
	if !slices.Equal(ended, want) {
		n.t.Errorf("%s: the poll of %s brought %q, want %q", what, id, ended, want)
	}
	if len(requests) != 1 || (requests[0] != "") != conditional {
		n.t.Errorf("%s: the page was asked for with %q, want one request, after what was seen: %t", what, requests, conditional)
	}
}

// A document that several sources watch is fetched once for all of them, and each has
// its own versions and changes of it, whatever is done to them.
func TestOneRequestForAll(t *testing.T) {
	t.Parallel()
	for _, tagged := range []bool{true, false} {
		t.Run(fmt.Sprintf("with an ETag %t", tagged), func(t *testing.T) {
			p := newPaper(t, tagged)
			all, price, news := p.reads("all", ""), p.reads("price", ".price"), p.reads("news", ".news")
			other := p.reads("other", ".news")
			other.Request = &profile.Profile{Language: "de"} // is asked for otherwise, and never read from a shared fetch
			n := newNewsroom(t, p, daemon.Config{}, all, price, news, other)
			n.wants("nobody has seen it", "all", false, "all first", "news first", "price first")
			p.edit(func(p *paper) { p.price = "2 EUR" })
			n.wants("one part has changed", "price", tagged, "all changed", "news unchanged", "price changed")
			n.wants("nothing has changed", "news", tagged, "all unchanged", "news unchanged", "price unchanged")

			price.Paused = true
			n.update(price)
			p.edit(func(p *paper) { p.price, p.news = "3 EUR", "something" })
			n.wants("one is paused", "all", tagged, "all changed", "news changed")
			price.Paused = false
			n.update(price)
			n.wants("it comes back, and has missed a change", "all", false, "all unchanged", "news unchanged", "price changed")
			n.wants("all have seen the same again", "all", tagged, "all unchanged", "news unchanged", "price unchanged")

			late := p.reads("late", "p")
			if _, err := n.AddSource(t.Context(), late); err != nil {
				t.Fatal(err)
			}
			n.wants("one comes later", "all", false, "all unchanged", "late first", "news unchanged", "price unchanged")
			news.Recipe.CSS = "html .news"
			n.update(news)
			n.wants("one is read otherwise", "price", false, "all unchanged", "late unchanged", "news first", "price unchanged")

			p.edit(func(p *paper) { p.status = 500 })
			n.wants("the server fails", "late", tagged, "all failed", "late failed", "news failed", "price failed")
			p.edit(func(p *paper) { p.status = 0; p.news = "all is well" })
			n.wants("it is well again", "late", tagged, "all changed", "late changed", "news changed", "price unchanged")

			news.Recipe.CSS = ".none"
			n.update(news)
			n.wants("one cannot be read", "late", false, "all unchanged", "late unchanged", "news failed", "price unchanged")
			n.wants("it backs off alone", "late", tagged, "all unchanged", "late unchanged", "price unchanged")
			if err := n.RemoveSource(t.Context(), "late", true); err != nil {
				t.Fatal(err)
			}
			n.wants("one is removed", "all", tagged, "all unchanged", "price unchanged")
			n.holds(13)
		})
	}
}

func (n *newsroom) update(s freshet.Source) {
	n.t.Helper()
	if _, err := n.UpdateSource(n.t.Context(), s); err != nil {
		n.t.Fatal(err)
	}
}

// holds wants what is recorded to be what happened: as many requests, changes of each
// part in the order in which they were, and each text as it was read.
func (n *newsroom) holds(requests int) {
	n.t.Helper()
	ctx := n.t.Context()
	attempts, err := n.store.Attempts(ctx, time.Time{})
	if err != nil {
		n.t.Fatal(err)
	}
	sent := 0
	for _, a := range attempts {
		sent += a.Requests
	}
	if sent != requests {
		n.t.Errorf("%d requests are recorded, want %d", sent, requests)
	}
	changes, err := n.store.Changes(ctx, freshet.ChangeQuery{Source: "price"})
	if err != nil {
		n.t.Fatal(err)
	}
	var texts []string
	for _, c := range changes {
		text, err := n.store.Text(ctx, "price", c.Number)
		if err != nil {
			n.t.Fatal(err)
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if want := []string{"2 EUR", "3 EUR"}; !slices.Equal(texts, want) {
		n.t.Errorf("the changes of the price are %q, want %q", texts, want)
	}
}

// Polls that serve several sources count once for the budget, as the servers see it, and
// each source is seen as often as if they were all its own, across a restart too.
func TestBudgetOfSharedDocuments(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		const pages, kinds, polls = 3, 4, 6
		web := manyPages(pages)
		var sources []freshet.Source
		for _, s := range web.Sources() {
			for i, kind := range []reading.Kind{reading.Auto, reading.HTML, reading.Text, reading.XML}[:kinds] {
				one := s
				one.ID, one.Recipe.Kind = freshet.SourceID(fmt.Sprintf("%s-%d", s.ID, i)), kind
				sources = append(sources, one)
			}
		}
		limits := sched.Limits{Budget: sched.Budget{Polls: polls, Per: time.Minute}}
		for range 2 {
			b := begin(t, dir, daemon.Config{Fetcher: web, Limits: limits}, sources...)
			time.Sleep(20*time.Minute + time.Second)
			b.stop()
		}
		b := begin(t, dir, daemon.Config{Fetcher: web, Limits: limits})
		defer b.stop()
		outcomes, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		sent := len(web.Requests())
		if most := web.MaxInWindow(time.Minute); most > polls {
			t.Errorf("%d requests in a minute, over a budget of %d", most, polls)
		}
		if sent < 38*polls {
			t.Errorf("%d requests in 40 minutes, want nearly all of the budget of %d a minute", sent, polls)
		}
		own := 0
		for _, o := range outcomes {
			if own += o.Requests; (o.Cause == freshet.BySharing) != (o.Requests == 0) {
				t.Fatalf("an outcome by %s has %d requests", o.Cause, o.Requests)
			}
		}
		if own > sent || own < sent-1 || len(outcomes) != kinds*own {
			t.Errorf("%d outcomes of %d polls are recorded, after %d requests, want %d for each", len(outcomes), own, sent, kinds)
		}
	})
}

// What another budget would bring goes by what polls really take: of one that serves four
// sources, each takes a quarter.
func TestProspectsOfSharedDocuments(t *testing.T) {
	t.Parallel()
	p := newPaper(t, false)
	n := newNewsroom(t, p, daemon.Config{Learner: learn.New(learn.Config{})}, p.reads("all", ""), p.reads("price", ".price"), p.reads("news", ".news"), p.reads("both", "p"))
	n.poll("news")
	prospects, err := n.Prospects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range prospects {
		if one.Requests != 0.25 {
			t.Errorf("a poll of %s takes %v requests, want a quarter of one", one.ID, one.Requests)
		}
	}
}
