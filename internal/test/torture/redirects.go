package torture

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// redirectCodes are all the ways to send a client elsewhere, for ever and for
// this once.
var redirectCodes = []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect}

// turnEvery is how long a redirect that changes leads to one page.
const turnEvery = 4 * time.Second

// hopPath is the path of a chain of n redirects that ends at a page.
func hopPath(n int, page freshet.SourceID) string { return fmt.Sprintf("/hop/%d/%s", n, page) }

// turnPath is the path of a redirect that leads now to one page, now to another.
func turnPath(a, b freshet.SourceID) string { return fmt.Sprintf("/turn/%s/%s", a, b) }

// redirect sends a client on.
func (w *web) redirect(rw http.ResponseWriter, r *http.Request, v *visit) {
	parts := strings.Split(strings.TrimPrefix(v.path, "/"), "/")
	source := freshet.SourceID(v.source)
	code, to := http.StatusFound, ""
	switch parts[0] {
	case "hop":
		n, _ := strconv.Atoi(parts[1])
		code = redirectCodes[n%len(redirectCodes)]
		to = w.hopTo(v.host, n, freshet.SourceID(parts[2]), source)
	case "turn":
		leads := parts[1]
		if v.at.Sub(w.start)%(2*turnEvery) >= turnEvery {
			leads = parts[2]
		}
		to = w.pageURL(freshet.SourceID(leads), source)
	case "loop":
		next := "/loop/a"
		if parts[1] == "a" {
			next = "/loop/b"
		}
		to = w.url(hopHosts[len(parts[1])%len(hopHosts)], next, source)
	}
	rw.Header().Set("Location", to+"&hop=1")
	rw.WriteHeader(code)
}

// hopTo returns where a chain goes on: along the hosts, and at last to the page.
func (w *web) hopTo(host string, n int, page, source freshet.SourceID) string {
	if n <= 1 {
		return w.pageURL(page, source)
	}
	next := hopHosts[(slices.Index(hopHosts, host)+1)%len(hopHosts)]
	return w.url(next, hopPath(n-1, page), source)
}
