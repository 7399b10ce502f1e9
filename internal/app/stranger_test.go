package app_test

import (
	"net/http"
	"testing"

	"freshet/internal/test/kit"
)

// A node of which the one that decides has not heard for a while is not one that is refused for
// good: what it passes on is to be sent again, and is then done.
func TestNodeThatIsNotKnownYet(t *testing.T) {
	c := newCrew(t)
	first, second := c.serve(), c.serve()
	c.leads(first, second, "")
	c.wants(http.StatusCreated, "", "POST", second.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/"}`)
	var resp *http.Response
	for status := http.StatusOK; status == http.StatusOK; { // it gives signs of life meanwhile
		if _, err := c.conn.Exec(t.Context(), "DELETE FROM nodes WHERE address = $1", second.url); err != nil {
			t.Fatal(err)
		}
		resp, _ = c.ask("", "PATCH", second.url+"/api/v1/sources/a", `{"name":"stranger"}`)
		status = resp.StatusCode
	}
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("an edit through a node that is not known gives %d, %v", resp.StatusCode, resp.Header)
	}
	kit.Until(t, "it is known again", func() bool {
		resp, _ := c.ask("", "PATCH", second.url+"/api/v1/sources/a", `{"name":"known"}`)
		return resp.StatusCode == http.StatusOK
	})
}

// A node passes a request on to one that has just lost its office, and that does not know it. The
// answer is not that the client has to log in: nothing was done, and it is to try again.
func TestAStandbyDoesNotTurnAwayANode(t *testing.T) {
	c := newCrew(t)
	first, second := c.serve(), c.serve()
	c.leads(first, second, "")
	resp, text := c.ask("", "PATCH", second.url+"/api/v1/sources/a", `{"name":"x"}`, "Freshet-Passed", "1", "Freshet-Node", "of-a-node-that-nobody-knows")
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get("Freshet-Node") == "" {
		t.Errorf("it is answered with %d %s, %v; want what a node takes for not being known yet", resp.StatusCode, text, resp.Header)
	}
}
