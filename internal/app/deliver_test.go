package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/delivery"
	"freshet/internal/cluster/identity"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sched"
	"freshet/internal/sinks"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// A mailbox is a receiver that judges what it gets.
type mailbox struct {
	*httptest.Server
	t     *testing.T
	delay time.Duration

	mu    sync.Mutex
	got   map[string][]byte // by path and id
	seen  map[string]int    // by path and source: the last seq that came for the first time
	under map[string]int    // by path and source: requests under way
}

func newMailbox(t *testing.T, delay time.Duration) *mailbox {
	m := &mailbox{t: t, delay: delay, got: map[string][]byte{}, seen: map[string]int{}, under: map[string]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

// ServeHTTP takes a message, and holds that those of a source come in order, one at a time, and as
// the same bytes each time.
func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var e client.Event
	if err != nil || json.Unmarshal(body, &e) != nil {
		return // it broke off
	}
	line, id := r.URL.Path+" "+string(e.Data.Source), r.URL.Path+" "+e.ID
	m.mu.Lock()
	if m.under[line]++; m.under[line] > 1 {
		m.t.Errorf("two messages for %s are under way at once", line)
	}
	m.mu.Unlock()
	if m.delay > 0 {
		select {
		case <-time.After(m.delay):
		case <-r.Context().Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under[line]--
	if before, had := m.got[id]; had && !bytes.Equal(before, body) {
		m.t.Errorf("%s came as %s and as %s", id, before, body)
	} else if !had && e.Data.Seq != m.seen[line]+1 {
		m.t.Errorf("%s came with change %d after %d", line, e.Data.Seq, m.seen[line])
	}
	m.got[id] = body
	m.seen[line] = max(m.seen[line], e.Data.Seq)
}

func (m *mailbox) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.got)
}

// more waits for more messages.
func (m *mailbox) more(n int) {
	m.t.Helper()
	from := m.count()
	kit.Until(m.t, "more messages", func() bool { return m.count() >= from+n })
}

// whole waits until all receivers have all changes.
func (m *mailbox) whole(receivers, changes int) {
	m.t.Helper()
	for m.count() < receivers*changes {
		m.more(1)
	}
	if got := m.count(); got != receivers*changes {
		m.t.Errorf("%d messages came for %d changes to %d receivers", got, changes, receivers)
	}
}

// busy has settings under which pages are polled often.
func (c *crew) busy() config.Settings {
	s := c.settings()
	s.Limits.Budget = sched.Budget{Polls: 4, Per: time.Second}
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share, s.Limits.Hosts.CrawlDelay = 0, 1, 1, 0
	s.Limits.Hosts.Concurrency = 8
	s.Policy = "uniform"
	return s
}

// withSinks adds sinks to a file.
func withSinks(s config.Settings, box *mailbox, count int) config.Settings {
	for i := range count {
		s.Sinks = append(s.Sinks, sinks.Sink{
			Name: fmt.Sprint("f", i), Kind: "webhook", URL: profile.Value(fmt.Sprintf("%s/f%d", box.URL, i)), Settings: map[string]profile.Value{"unsigned": "true"}, Origin: freshet.FromFile,
		})
	}
	return s
}

// changing serves pages that differ each time, until it is told to stop.
func changing(t *testing.T) (url string, stop func()) {
	var mu sync.Mutex
	n, frozen := 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !frozen {
			n++
		}
		fmt.Fprintf(w, "edition %d", n)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() { mu.Lock(); frozen = true; mu.Unlock() }
}

// signature returns the signature of a node that nobody knows.
func signature(t *testing.T, method, node, path, body string) string {
	req, err := http.NewRequest(method, node+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	identity.NewSigner().Sign(req, node, 1, []byte(body))
	return req.Header.Get(identity.Header)
}

// watch adds sources.
func (c *crew) watch(at, pages string, sources int) {
	c.Helper()
	for i := range sources {
		c.wants(http.StatusCreated, "", "POST", at+"/api/v1/sources", fmt.Sprintf(`{"id":"p%d","url":"%s/p%d"}`, i, pages, i))
	}
}

// subscribe adds sinks until each node has some, and returns how many there are.
func (c *crew) subscribe(at string, box *mailbox, nodes int) (sinks int) {
	c.Helper()
	kit.Until(c.T, "each node has sinks", func() bool {
		if sinks < 30 {
			c.wants(http.StatusOK, "", "PUT", fmt.Sprintf("%s/api/v1/sinks/s%d", at, sinks), fmt.Sprintf(`{"kind":"webhook","url":"%s/s%d","settings":{"unsigned":"true"}}`, box.URL, sinks))
			sinks++
		}
		_, busy := c.sharing(at)
		return busy == nodes
	})
	return sinks
}

// sharing returns to how many sinks how many nodes deliver.
func (c *crew) sharing(at string) (sinks, nodes int) {
	_, text := c.ask("", "GET", at+"/api/v1/cluster", "")
	var all client.Cluster
	_ = json.Unmarshal([]byte(text), &all) // it is asked again
	for _, n := range all.Nodes {
		if sinks += n.Sinks; n.Sinks > 0 {
			nodes++
		}
	}
	return sinks, nodes
}

// by returns which nodes made the last attempts to deliver to sinks and to those of the file. Those of one kind alone
// may all be with one node.
func (c *crew) by(at string, sinks, files int) map[string]int {
	made := map[string]int{}
	for i := range sinks + files {
		name := fmt.Sprint("s", i)
		if i >= sinks {
			name = fmt.Sprint("f", i-sinks)
		}
		_, text := c.ask("", "GET", fmt.Sprintf("%s/api/v1/sinks/%s/attempts", at, name), "")
		var list client.AttemptList
		_ = json.Unmarshal([]byte(text), &list)
		for _, a := range list.Items {
			if made[a.Node]++; !a.Accepted {
				c.Errorf("an attempt of %s failed: %s", a.Node, a.Error)
			}
		}
	}
	return made
}

// changes returns how many changes there are.
func (c *crew) changes() (n int) {
	c.Helper()
	if err := c.conn.QueryRow(c.Context(), "SELECT count(*) FROM changes").Scan(&n); err != nil {
		c.Fatal(err)
	}
	return n
}

// settled waits until there are no more changes, and returns how many there are.
func (c *crew) settled(stop func()) (n int) {
	c.Helper()
	stop()
	since := time.Now()
	kit.Until(c.T, "no more changes", func() bool {
		now := c.changes()
		if now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	return n
}

// All nodes deliver, to sinks of the store and of the file. Nodes that end, one after the other, lose
// no delivery.
func TestEveryNodeDelivers(t *testing.T) {
	c := crewAt(t, pgtest.Start(t, "fsync=on"))
	box := newMailbox(t, 30*time.Millisecond)
	pages, stop := changing(t)
	const files = 2
	first := c.serveWith(withSinks(c.busy(), box, files))
	c.wants(http.StatusOK, "", "PUT", first.url+"/api/v1/sinks/s0", fmt.Sprintf(`{"kind":"webhook","url":"%s/s0","settings":{"unsigned":"true"}}`, box.URL)) // from now on there is a key
	join := func() *member {
		t.Helper()
		return c.serveWith(withSinks(c.busy(), box, files))
	}
	second, third := join(), join()
	sinks := c.subscribe(first.url, box, 3)
	c.watch(first.url, pages, 4)
	kit.Until(t, "all nodes deliver", func() bool {
		_, text := c.ask("", "GET", first.url+"/metrics", "")
		for _, m := range []*member{first, second, third} {
			if !strings.Contains(text, fmt.Sprintf(`freshet_node_deliveries_total{node="%s",result="delivered"}`, m.url)) {
				return false
			}
		}
		return true
	})
	kit.Until(t, "attempts are told with who made them", func() bool { return len(c.by(first.url, sinks, files)) >= 2 })
	kit.Until(t, "a standby says who delivers", func() bool {
		all, nodes := c.sharing(second.url)
		return all == sinks+files && nodes == 3
	})
	third.end()
	box.more(sinks * 2)
	third = join()
	box.more(sinks * 2)
	first.end()
	kit.Until(t, "another decides", func() bool {
		_, text := c.ask("", "GET", second.url+"/api/v1/cluster", "")
		return strings.Contains(text, `"brain":{"address":"`+second.url) || strings.Contains(text, `"brain":{"address":"`+third.url)
	})
	box.more(sinks * 2)
	box.whole(sinks+files, c.settled(stop))
}

// A node that has not the key cannot open sinks of the store. The leader sends for it, and that is no
// failure of the receiver. Nobody but a node can have anything sent.
func TestOnlyNodesOrderDeliveries(t *testing.T) {
	c := crewAt(t, pgtest.Start(t, "fsync=on"))
	box := newMailbox(t, 0)
	pages, stop := changing(t)
	c.secrets = ""
	s := c.busy()
	s.Cluster.TokenFile = workerToken(t)
	first, second := c.serveWith(s), c.serveWith(c.busy())
	kit.Until(t, "the second is there", func() bool { return strings.Contains(first.log.String(), "a node makes deliveries") })
	sinks := c.subscribe(first.url, box, 2)
	c.watch(first.url, pages, 2)
	kit.Until(t, "the second cannot make a delivery", func() bool { return strings.Contains(first.log.String(), "a node cannot make deliveries to a sink") })
	if told := first.log.String(); !strings.Contains(told, "there is no secret.key in "+second.data) || !strings.Contains(told, "copy secret.key from the data directory of another node") {
		t.Errorf("what to do about it is not told:\n%s", told)
	}
	box.more(sinks)
	if made := c.by(first.url, sinks, 0); made[second.url] > 0 {
		t.Errorf("deliveries were made by %v", made)
	}
	hello := `{"format":1,"epoch":1}` + "\n"
	for _, shown := range []string{"0123456789abcdef", signature(t, "POST", second.url, delivery.Path, hello)} {
		c.wants(http.StatusForbidden, "", "POST", second.url+delivery.Path, hello, identity.Header, shown)
	}
	c.wants(http.StatusNotFound, "", "POST", second.url+delivery.Path, hello)
	worker, err := app.ReadToken(s.Cluster.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	c.wants(http.StatusNotFound, worker, "POST", second.url+delivery.Path, hello)
	box.whole(sinks, c.settled(stop))
}
