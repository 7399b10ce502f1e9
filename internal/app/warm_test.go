package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// A counter serves pages, and counts who asks for them.
type counter struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newCounter(t *testing.T) *counter {
	n := &counter{asked: map[string]int{}}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.asked[r.URL.Path]++
		fmt.Fprintln(w, "as ever")
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *counter) times(path string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[path]
}

// is waits until the standby among two nodes is warm or cold.
func (c *crew) is(how string, says *member) {
	c.Helper()
	kit.Until(c.T, "the standby is "+how, func() bool {
		resp, text := c.ask("", http.MethodGet, says.url+"/api/v1/cluster", "")
		return resp.StatusCode == http.StatusOK && strings.Contains(text, `"role":"standby","standby":"`+how+`"`)
	})
}

// tookOver wants a node to have gone on with what it followed, or not.
func (c *crew) tookOver(m *member, warm bool) {
	c.Helper()
	kit.Until(c.T, "it leads", func() bool { return strings.Contains(m.log.String(), "this node leads") })
	if log := m.log.String(); !strings.Contains(log, fmt.Sprintf("warm=%v", warm)) {
		c.Errorf("it took over in another way: %s", log)
	}
}

// add adds a source, as soon as somebody decides.
func (c *crew) add(to *member, pages *counter, id string) {
	c.Helper()
	kit.Until(c.T, "source "+id+" is added", func() bool {
		resp, _ := c.ask("", "POST", to.url+"/api/v1/sources", fmt.Sprintf(`{"id":%q,"url":"%s/%s"}`, id, pages.URL, id))
		return resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict
	})
}

// A standby that is warm goes on with what it followed, edits of the last moment included; who
// decided before follows it, and takes over from it.
func TestStandbyTakesOverWarm(t *testing.T) {
	c, pages := newCrew(t), newCounter(t)
	first, second := c.serve(), c.serve()
	c.leads(first, second, "")
	c.add(first, pages, "a")
	c.add(first, pages, "b")
	kit.Until(t, "both are polled", func() bool { return pages.times("/a") > 0 && pages.times("/b") > 0 })
	c.is("warm", second)
	_, text := c.wants(http.StatusOK, "", "GET", second.url+"/metrics", "")
	if !strings.Contains(text, "freshet_cluster_warm 1\n") || !strings.Contains(text, "freshet_cluster_brain 0\n") {
		t.Errorf("of the standby it is told: %s", text)
	}
	c.add(second, pages, "c")
	c.wants(http.StatusNoContent, "", "DELETE", second.url+"/api/v1/sources/b", "")
	first.end()
	c.leads(second, second, "")
	c.add(second, pages, "e")
	kit.Until(t, "it goes on", func() bool { return pages.times("/e") > 0 })
	c.tookOver(second, true)
	if _, text := c.wants(http.StatusOK, "", "GET", second.url+"/api/v1/sources", ""); strings.Contains(text, `"id":"b"`) || !strings.Contains(text, `"id":"c"`) {
		t.Errorf("the sources are %s", text)
	}

	third := c.serve()
	c.is("warm", second)
	c.add(third, pages, "d")
	second.end()
	c.leads(third, third, "")
	kit.Until(t, "it goes on", func() bool { return pages.times("/d") > 0 })
	c.tookOver(third, true)
}

// No poll waits for a client that takes its time to read what it asked the standby for.
func TestTakeOverDoesNotWaitForGuests(t *testing.T) {
	c, pages := newCrew(t), newCounter(t)
	page := strings.Repeat("a long page\n", 650_000) // more than a connection has room for
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, page)
	}))
	defer large.Close()
	first, second := c.serve(), c.serve()
	c.leads(first, second, "")
	c.wants(http.StatusCreated, "", "POST", first.url+"/api/v1/sources", fmt.Sprintf(`{"id":"large","url":%q}`, large.URL))
	kit.Until(t, "the large page is there", func() bool {
		resp, _ := c.ask("", "GET", second.url+"/api/v1/sources/large/versions/1", "")
		return resp.StatusCode == http.StatusOK
	})
	guest, err := net.Dial("tcp", strings.TrimPrefix(second.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if _, err := fmt.Fprintf(guest, "GET /api/v1/sources/large/versions/1/raw HTTP/1.1\r\nHost: %s\r\n\r\n", guest.RemoteAddr()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(guest), nil) // it has begun
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	c.is("warm", second)
	first.end()
	c.add(second, pages, "a")
	kit.Until(t, "the second polls", func() bool { return pages.times("/a") > 0 })
	if n, err := io.Copy(io.Discard, answer.Body); err != nil || n != int64(len(page)) {
		t.Errorf("until it polled, the client that reads slowly was sent away with %d of %d bytes: %v", n, len(page), err)
	}
}

// One that is cold takes over, too. So does a warm one whose node was set otherwise meanwhile.
func TestStandbyTakesOverCold(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	for how, standby := range map[string]string{"cold": config.ColdStandby, "warm": config.WarmStandby} {
		t.Run(how, func(t *testing.T) {
			c, pages := crewAt(t, server), newCounter(t)
			first := c.serve()
			s := c.settings()
			s.Cluster.Standby = standby
			second := c.serveWith(s)
			c.leads(first, second, "")
			c.add(first, pages, "a")
			c.is(how, first)
			kit.Until(t, "it is polled", func() bool { return pages.times("/a") > 0 })
			c.wants(http.StatusOK, "", "PATCH", first.url+"/api/v1/settings", `{"set":{"budget":"70/s"}}`)
			first.end()
			c.leads(second, second, "")
			c.add(second, pages, "b")
			kit.Until(t, "it goes on", func() bool { return pages.times("/b") > 0 })
			if how == "cold" {
				c.tookOver(second, false)
			}
			if _, text := c.wants(http.StatusOK, "", "GET", second.url+"/api/v1/settings", ""); !strings.Contains(text, `"value":"70/s"`) {
				t.Errorf("the settings are %s", text)
			}
		})
	}
}

// A standby does not take over a database whose data was moved elsewhere.
func TestStandbyRefusesWhatWasMoved(t *testing.T) {
	c := newCrew(t)
	first := c.serve()
	s, there, ended := c.settings(), make(chan string, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		ended <- app.Serve(ctx, s, app.ServeConfig{
			Load:     func() (config.Settings, error) { return s, nil },
			Announce: func(url string) error { there <- url; return nil },
		})
	}()
	<-there
	c.is("warm", first)
	if _, err := c.conn.Exec(t.Context(), "INSERT INTO moves (id, state, move, other, at) VALUES (1, 'away', 'm', 'another store', $1)", time.Now().UnixNano()); err != nil {
		t.Fatal(err)
	}
	first.end()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "moved to another store") || freshet.HintOf(err) == "" {
		t.Errorf("it ends with %v", err)
	}
}
