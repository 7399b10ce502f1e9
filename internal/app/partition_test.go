package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
	"freshet/internal/test/pgtest"
)

// behind returns a wire to a server, and has nodes that are started now reach it over that.
func (c *crew) behind(server *pgtest.Server) *netfault.Wire {
	c.Helper()
	w, err := netfault.New(server.Address)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { w.Close() })
	at, err := url.Parse(c.at)
	if err != nil {
		c.Fatal(err)
	}
	at.Host = w.Address()
	q := at.Query()
	q.Set("connect_timeout", "5")
	at.RawQuery = q.Encode()
	c.at = at.String()
	return w
}

// The network between the leader and PostgreSQL swallows everything. The leader begins nothing more,
// another node decides, and when the network is good again the first one stands by: it passes on
// edits, and reads what the other has written.
func TestLeaderIsCutOffFromTheDatabase(t *testing.T) {
	server := pgtest.Start(t, "fsync=on")
	c := crewAt(t, server)
	near := c.behind(server)
	first := c.serve()
	c.behind(server)
	second := c.serve()
	c.leads(first, second, "")
	var asked atomic.Int32
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "edition %d", asked.Add(1)) }))
	defer page.Close()
	c.wants(http.StatusCreated, "", "POST", first.url+"/api/v1/sources", fmt.Sprintf(`{"id":"a","url":%q}`, page.URL+"/a"))
	kit.Until(t, "the first leader polls", func() bool { return asked.Load() > 0 })

	near.Set(netfault.Dead)
	c.leads(second, second, "")
	kit.Until(t, "a source is added", func() bool { // it may still pass on to the first when it has the lease
		resp, _ := c.ask("", "POST", second.url+"/api/v1/sources", fmt.Sprintf(`{"id":"b","url":%q}`, page.URL+"/b"))
		return resp.StatusCode == http.StatusCreated
	})

	near.Set(netfault.State{})
	kit.Until(t, "the first stands by", func() bool {
		resp, text := c.ask("", http.MethodGet, first.url+"/metrics", "")
		return resp.StatusCode == http.StatusOK && strings.Contains(text, "freshet_cluster_brain 0\n")
	})
	kit.Until(t, "an edit through it is made", func() bool {
		resp, _ := c.ask("", "PATCH", first.url+"/api/v1/sources/b", `{"name":"through the first"}`)
		return resp.StatusCode == http.StatusOK
	})
	kit.Until(t, "it reads what the other has written", func() bool {
		_, text := c.ask("", http.MethodGet, first.url+"/api/v1/sources/b", "")
		return strings.Contains(text, "through the first")
	})
	first.end() // before it can take over
}
