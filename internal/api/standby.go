package api

import (
	"net/http"
	"slices"
	"strings"

	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/ui"
)

// A Forward passes a request on to the node that decides, as its caller. If it cannot, it has
// instead answer; if that is nil it says why not.
type Forward func(w http.ResponseWriter, r *http.Request, caller auth.Caller, instead http.HandlerFunc)

// fromStore are the routes that a node which does not decide answers from the store. All others
// it passes on.
var fromStore = map[string]bool{
	"GET /healthz":          true,
	"GET /readyz":           true,
	"GET /metrics":          true,
	"GET /openapi.json":     true,
	"GET /docs/{file...}":   true,
	"GET /openapi.yaml":     true,
	"GET /openapi-3.0.json": true,
	"GET /openapi-3.0.yaml": true,
	"GET /assets/{name}":    true,
	"GET /api/v1/session":   true,
	"GET /api/v1/cluster":   true,
	"GET /api/v1/users":     true,
	"GET /api/v1/audit":     true,

	"GET /api/v1/sources":                                   true,
	"GET /api/v1/sources/facets":                            true,
	"GET /api/v1/sources/{id}":                              true,
	"GET /api/v1/sources/{id}/diff":                         true,
	"GET /api/v1/sources/{id}/fields/{name}":                true,
	"GET /api/v1/sources/{id}/outcomes":                     true,
	"GET /api/v1/sources/{id}/taught":                       true,
	"GET /api/v1/sources/{id}/feed.atom":                    true,
	"GET /api/v1/sources/{id}/feed.rss":                     true,
	"GET /api/v1/sources/{id}/feed.json":                    true,
	"GET /api/v1/sources/{id}/versions":                     true,
	"GET /api/v1/sources/{id}/versions/{number}":            true,
	"GET /api/v1/sources/{id}/versions/{number}/text":       true,
	"GET /api/v1/sources/{id}/versions/{number}/raw":        true,
	"GET /api/v1/sources/{id}/versions/{number}/rendered":   true,
	"GET /api/v1/sources/{id}/versions/{number}/screenshot": true,

	"GET /api/v1/changes":        true,
	"GET /api/v1/changes/newest": true,
	"GET /api/v1/changes/stream": true,
	"GET /api/v1/feed.atom":      true,
	"GET /api/v1/feed.rss":       true,
	"GET /api/v1/feed.json":      true,
	"GET /api/v1/search":         true,
	"GET /api/v1/outcomes":       true,

	"GET /api/v1/queries/{id}/matches":        true,
	"GET /api/v1/queries/{id}/matches/stream": true,
	"GET /api/v1/queries/{id}/feed.atom":      true,
	"GET /api/v1/queries/{id}/feed.rss":       true,
	"GET /api/v1/queries/{id}/feed.json":      true,
}

// route returns what passes a request on if another node has to answer it, and reports
// whether it did; nil if this node answers everything.
func (f Forward) route(gate *auth.Gate) func(http.ResponseWriter, *http.Request, string, auth.Caller, http.HandlerFunc) bool {
	if f == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request, pattern string, c auth.Caller, answer http.HandlerFunc) bool {
		return f.pass(gate, w, r, pattern, c, answer)
	}
}

func (f Forward) pass(gate *auth.Gate, w http.ResponseWriter, r *http.Request, pattern string, c auth.Caller, answer http.HandlerFunc) bool {
	stored := fromStore[pattern] || len(pattern) > 4 && slices.Contains(ui.Screens, pattern[4:])
	query := r.URL.Query()
	next := pattern == "GET /api/v1/sources" && (query.Has("next") || query.Get("sort") == "next")
	seen := strings.HasPrefix(pattern, "GET /api/") && !strings.HasSuffix(pattern, "/stream") && gate.Untold(c)
	switch {
	case stored && !next && !seen:
		return false
	case stored: // the next polls and the time of last use are left out rather than the answer
		f(w, r, c, answer)
	default:
		f(w, r, c, nil)
	}
	return true
}

// NoBrain says that nobody is there who decides, or that it is not known whether something was
// done, with when to try again.
func NoLeader(w http.ResponseWriter, status int, detail, hint string) {
	p := rest.NewProblem(status, detail)
	p.Hint = hint
	w.Header().Set("Retry-After", "1")
	p.Write(w)
}
