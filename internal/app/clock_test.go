package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/test/kit"
)

// The clock of the database is set while a node leads. What it sends from then on is dated by it, so that the
// next leader, which reads that clock, knows how long ago it was.
func TestDatesFollowTheClockOfTheDatabase(t *testing.T) {
	c := newCrew(t)
	for _, statement := range []string{
		"CREATE SCHEMA data", "CREATE SCHEMA faults", "CREATE TABLE faults.clock (ahead INTERVAL NOT NULL)", "INSERT INTO faults.clock VALUES ('0')",
		"CREATE FUNCTION faults.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM faults.clock'",
	} {
		if _, err := c.conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	c.at += "&search_path=data,faults,pg_catalog"
	s := c.settings()
	s.Cluster.Lease, s.Limits.SourceGap = time.Minute, 0
	node := c.serveWith(s)
	web := kit.NewOrigin(t)
	web.PutHTML("/", "a page")
	c.wants(http.StatusCreated, "", "POST", node.url+"/api/v1/sources", fmt.Sprintf(`{"id":"a","url":%q}`, web.URL+"/"))
	api := client.New(node.url, c.client.Do)
	early := func() time.Duration { // by how much a poll is dated later than it is made
		t.Helper()
		p, err := api.Sources.Poll(t.Context(), "a", 30*time.Second, true)
		if err != nil || p.Outcome == nil {
			t.Fatalf("a poll ends with %+v, %v", p, err)
		}
		return time.Until(p.Outcome.Ended)
	}
	if by := early(); by > time.Second {
		t.Errorf("a poll is dated %v from now", by)
	}
	if _, err := c.conn.Exec(t.Context(), "UPDATE faults.clock SET ahead = '20 s'"); err != nil {
		t.Fatal(err)
	}
	kit.Until(t, "polls are dated by the clock of the database", func() bool { return early() > 10*time.Second })
}
