package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/units"
)

// Nodes are given different files by mistake. One that stands by says in what it differs from the one
// that decides, before it decides itself; one that is set up alike says nothing.
func TestNodesThatDiffer(t *testing.T) {
	c := newCrew(t)
	tokens := func(name string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(strings.Repeat(name, 40)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, other := tokens("a"), tokens("b")
	s := c.settings()
	s.Sources, s.Cluster.TokenFile = freshet.PackSources(freshet.Source{ID: "a", URL: "http://127.0.0.1:1/"}), one
	first := c.serveWith(s)
	alike := c.settings()
	alike.Sources, alike.Cluster.TokenFile = s.Sources, s.Cluster.TokenFile
	second := c.serveWith(alike)
	differs := c.settings()
	differs.Cluster.Lease, differs.Cluster.TokenFile = 2*s.Cluster.Lease, other
	third := c.serveWith(differs)
	why := "this node differs from the leader and would lead with its own settings: its lease is " + units.FormatDuration(differs.Cluster.Lease) +
		" instead of " + units.FormatDuration(s.Cluster.Lease) + "; its worker token differs; the sources in its configuration file differ"
	kit.Until(t, "it is told that the third differs", func() bool {
		_, text := c.ask("", "GET", first.url+"/api/v1/cluster", "")
		return strings.Count(text, `"why":"`+why+`"`) == 1 && strings.Contains(text, `"hint":"give all nodes the same --lease`)
	})
	kit.Until(t, "the third says so", func() bool { return strings.Contains(third.log.String(), why) })
	if strings.Contains(second.log.String(), "otherwise") || strings.Contains(first.log.String(), "otherwise") {
		t.Error("a node that is set up alike says that it is not")
	}
	if said := strings.Count(third.log.String(), why); said != 1 {
		t.Errorf("the third says it %d times", said)
	}
}

// A newer version has updated the format of the database, and the node that runs it has gone. One of the
// old version does not decide, and goes on to answer reads.
func TestOldNodeOnANewFormat(t *testing.T) {
	c := newCrew(t)
	first := c.serve()
	c.wants(http.StatusCreated, "", "POST", first.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`)
	second := c.serve()
	c.is("warm", second)
	if _, err := c.conn.Exec(t.Context(), "INSERT INTO schema_versions (version) VALUES (999)"); err != nil {
		t.Fatal(err)
	}
	first.end()
	kit.Until(t, "the second says that it is too old", func() bool { return strings.Contains(second.log.String(), "has data format 999") })
	for range 3 {
		c.wants(http.StatusOK, "", "GET", second.url+"/api/v1/sources/a", "")
		c.wants(http.StatusServiceUnavailable, "", "POST", second.url+"/api/v1/sources", `{"url":"http://127.0.0.1:2/"}`)
	}
	if _, err := c.conn.Exec(t.Context(), "DELETE FROM schema_versions WHERE version = 999"); err != nil {
		t.Fatal(err)
	}
	c.leads(second, second, "")
	if said := strings.Count(second.log.String(), "has data format 999"); said != 1 {
		t.Errorf("the second says %d times that it is too old", said)
	}
}
