package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/freshet"
)

// However a path is written, an answer that sends the client elsewhere says where.
func TestOddPaths(t *testing.T) {
	r := newRig(t)
	for path, want := range map[string]int{
		"//x/": 404, "/x/../y": 404, "//": 307, "/./api/v1/status": 307, "//api//v1//status": 307, "/api/v1/sources/..": 404,
		"/api/v1/sources/%2E%2E": 404, "/api/v1/sources/.": 307, "/" + strings.Repeat("/a", 500): 404,
	} {
		conn, err := net.Dial("tcp", r.API.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		conn.Close()
		location := resp.Header.Get("Location")
		if resp.StatusCode != want || (resp.StatusCode/100 == 3) != (location != "") {
			t.Errorf("%.40s is answered with %d and the location %q, want %d", path, resp.StatusCode, location, want)
		}
	}
}

// Ids of dots are refused, and one that is there already can be named.
func TestIDsOfDots(t *testing.T) {
	r := newRig(t)
	c := client.New(r.API.URL, http.DefaultClient.Do)
	for _, id := range []freshet.SourceID{".", "..", "..."} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": "http://page.example/"}).is(422)
		err := c.Sources.Remove(t.Context(), id, false)
		if !errors.Is(err, freshet.ErrNotFound) || !strings.Contains(err.Error(), "source "+string(id)+":") {
			t.Errorf("removing %q: %v, want that there is no such source", id, err)
		}
	}
}
