package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/ui"
)

// A gateRig is a rig where everybody has to log in.
type gateRig struct {
	*rig
	gate *auth.Gate
}

func newGateRig(t *testing.T, change ...func(*auth.Config)) *gateRig {
	return newGateRigWith(t, func(*api.Config) {}, change...)
}

// newGateRigWith returns one whose handler differs from the usual one.
func newGateRigWith(t *testing.T, differ func(*api.Config), change ...func(*auth.Config)) *gateRig {
	g := &gateRig{}
	g.rig = newRig(t, func(c *api.Config) {
		differ(c)
		cfg := auth.Config{Store: c.Auth.Gate.Store, Cost: auth.Cost{Memory: 64, Passes: 1}}
		for _, f := range change {
			f(&cfg)
		}
		var err error
		if g.gate, err = auth.New(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		c.Auth.Gate = g.gate
	})
	for _, u := range []auth.User{{Name: "ada", Role: access.Admin}, {Name: "ed", Role: access.Editor}, {Name: "vi", Role: access.Viewer}} {
		if _, err := g.gate.AddUser(t.Context(), u, "password of "+u.Name); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []freshet.Source{{ID: "a", URL: "https://a.example/", Tags: []string{"shop"}}, {ID: "b", URL: "https://b.example/"}} {
		if _, err := g.Daemon.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"q", "other"} {
		if _, err := queries.NewStore(g.Store.DB()).AddQuery(t.Context(), queries.Query{ID: queries.ID(id), Name: id, When: "true", Origin: freshet.FromAPI, From: -1}); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// session logs a user in and returns the header that says so.
func (g *gateRig) session(name string) []string {
	g.t.Helper()
	got := g.do("POST", "/api/v1/session", client.Login{User: name, Password: "password of " + name}).is(200)
	cookie, _, _ := strings.Cut(got.Header.Get("Set-Cookie"), ";")
	return []string{"Cookie", cookie}
}

// pass makes a token or a link and returns the header that shows it.
func (g *gateRig) pass(p auth.Credential) (auth.Credential, []string) {
	g.t.Helper()
	p, secret, err := g.gate.Issue(g.t.Context(), p)
	if err != nil {
		g.t.Fatal(err)
	}
	return p, []string{"Authorization", "Bearer " + secret}
}

// entered returns the header of a session that was opened with a token or a link.
func (g *gateRig) entered(header []string) []string {
	g.t.Helper()
	got := g.do("POST", "/api/v1/session", client.Login{Token: strings.TrimPrefix(header[1], "Bearer ")}).is(200)
	cookie, _, _ := strings.Cut(got.Header.Get("Set-Cookie"), ";")
	return []string{"Cookie", cookie}
}

// status sends a request and returns the status, without waiting for the end of a stream.
func (g *gateRig) status(method, path string, header []string) int {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Minute)
	defer cancel()
	var body io.Reader
	if method != "GET" && method != "DELETE" {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, g.API.URL+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// mayUse says who may use each route: s strangers, l a link to source a, k a link to query
// q, r a token to read, v viewers, e editors, a admins. A link is good for the source a
// and the query q, which the paths below name.
var mayUse = map[string]string{
	"GET /healthz": "slkrvea", "GET /readyz": "slkrvea", "GET /openapi.json": "slkrvea", "GET /openapi.yaml": "slkrvea", "GET /metrics": "rvea",
	"GET /assets/x": "slkrvea", "POST /api/v1/hooks/{token}": "slkrvea", "GET /api/v1/websub/x": "slkrvea", "POST /api/v1/websub/x": "slkrvea",

	"GET /login/oidc": "slkrvea", "GET /login/oidc/callback": "slkrvea",

	"GET /api/v1/session": "slkrvea", "POST /api/v1/session": "slkrvea", "DELETE /api/v1/session": "slkrvea", "PUT /api/v1/session/password": "rvea",

	"GET /api/v1/users": "a", "POST /api/v1/users": "a", "GET /api/v1/users/{name}": "a", "PATCH /api/v1/users/{name}": "a", "DELETE /api/v1/users/{name}": "a",
	"GET /api/v1/tokens": "rvea", "POST /api/v1/tokens": "rvea", "DELETE /api/v1/tokens/{id}": "vea",
	"GET /api/v1/shares": "ea", "POST /api/v1/shares": "ea", "DELETE /api/v1/shares/{id}": "ea", "GET /api/v1/audit": "a",

	"POST /api/v1/probe": "ea", "GET /api/v1/probe/{id}/outline": "ea", "GET /api/v1/probe/{id}/rendered": "ea",
	"GET /api/v1/sources": "rvea", "POST /api/v1/sources": "ea", "GET /api/v1/sources/facets": "rvea",
	"POST /api/v1/sources/batch": "ea", "POST /api/v1/sources/bulk": "ea", "POST /api/v1/import": "ea", "POST /api/v1/import/document": "ea", "POST /api/v1/sources/bulk/{edit}/undo": "ea",
	"GET /api/v1/sources/{id}": "lrvea", "PATCH /api/v1/sources/{id}": "ea", "DELETE /api/v1/sources/{id}": "ea",
	"POST /api/v1/sources/{id}/poll": "ea", "POST /api/v1/sources/{id}/confirm": "ea", "POST /api/v1/sources/{id}/hook": "ea", "DELETE /api/v1/sources/{id}/hook": "ea",
	"POST /api/v1/sources/{id}/versions": "ea", "POST /api/v1/sources/{id}/taught": "ea", "GET /api/v1/sources/{id}/taught": "lrvea", "POST /api/v1/sources/{id}/test": "ea",
	"GET /api/v1/sources/{id}/chances": "lrvea", "PUT /api/v1/sources/{id}/chances": "ea", "DELETE /api/v1/sources/{id}/chances": "ea",
	"GET /api/v1/sources/{id}/suggestions": "lrvea", "GET /api/v1/sources/{id}/diff": "lrvea", "GET /api/v1/sources/{id}/fields/{name}": "lrvea",
	"GET /api/v1/sources/{id}/outcomes": "lrvea", "GET /api/v1/sources/{id}/rhythm": "lrvea", "GET /api/v1/sources/{id}/why": "lrvea",
	"GET /api/v1/sources/{id}/feed.atom": "lrvea", "GET /api/v1/sources/{id}/feed.rss": "lrvea", "GET /api/v1/sources/{id}/feed.json": "lrvea",
	"GET /api/v1/sources/{id}/versions": "lrvea", "GET /api/v1/sources/{id}/versions/{number}/outline": "lrvea", "GET /api/v1/sources/{id}/versions/{number}": "lrvea", "GET /api/v1/sources/{id}/versions/{number}/text": "lrvea",
	"GET /api/v1/sources/{id}/versions/{number}/raw": "lrvea", "GET /api/v1/sources/{id}/versions/{number}/response": "lrvea",
	"GET /api/v1/sources/{id}/versions/{number}/rendered": "lrvea", "GET /api/v1/sources/{id}/versions/{number}/screenshot": "lrvea",
	"POST /mcp": "rvea", "POST /mcp/write": "ea",

	"GET /api/v1/sites": "rvea", "GET /api/v1/sites/{id}": "lrvea", "GET /api/v1/sites/{id}/pages": "lrvea",

	"GET /api/v1/changes": "rvea", "GET /api/v1/changes/newest": "rvea", "GET /api/v1/changes/stream": "rvea", "GET /api/v1/feed.atom": "rvea", "GET /api/v1/feed.rss": "rvea", "GET /api/v1/feed.json": "rvea",
	"GET /api/v1/search": "rvea", "GET /api/v1/outcomes": "rvea", "GET /api/v1/polls": "rvea", "POST /api/v1/polls": "ea",

	"POST /api/v1/alerts": "ea", "POST /api/v1/alerts/preview": "ea", "POST /api/v1/alerts/test": "ea",
	"GET /api/v1/states": "rvea", "GET /api/v1/queries": "rvea", "POST /api/v1/queries": "ea", "POST /api/v1/queries/test": "rvea",
	"GET /api/v1/queries/{id}": "krvea", "PATCH /api/v1/queries/{id}": "ea", "DELETE /api/v1/queries/{id}": "ea", "POST /api/v1/queries/{id}/acknowledge": "ea",
	"GET /api/v1/queries/{id}/matches": "krvea", "GET /api/v1/queries/{id}/matches/stream": "krvea", "GET /api/v1/queries/{id}/feed.atom": "krvea", "GET /api/v1/queries/{id}/feed.rss": "krvea", "GET /api/v1/queries/{id}/feed.json": "krvea",

	"GET /api/v1/sinks": "rvea", "GET /api/v1/sinks/{name}": "rvea", "PUT /api/v1/sinks/{name}": "ea", "PATCH /api/v1/sinks/{name}": "ea", "DELETE /api/v1/sinks/{name}": "ea",
	"POST /api/v1/sinks/{name}/test": "ea", "POST /api/v1/sinks-preview": "ea", "GET /api/v1/sinks/{name}/letters": "rvea", "GET /api/v1/sinks-kinds": "rvea", "GET /api/v1/sinks/{name}/owed": "rvea", "GET /api/v1/sinks/{name}/attempts": "rvea", "POST /api/v1/sinks/{name}/replay": "ea",

	"GET /api/v1/lab": "rvea", "GET /api/v1/lab/reports/{name}": "rvea", "GET /api/v1/lab/runs": "rvea", "GET /api/v1/lab/runs/{id}": "rvea",
	"POST /api/v1/lab/runs": "ea", "DELETE /api/v1/lab/runs/{id}": "ea",
	"GET /api/v1/budget": "rvea", "GET /api/v1/numbers": "rvea", "GET /api/v1/numbers/days": "rvea", "GET /api/v1/numbers/divergence": "rvea", "GET /api/v1/overview": "rvea", "GET /api/v1/flow": "rvea",
	"GET /api/v1/status": "rvea", "GET /api/v1/browser": "rvea", "GET /api/v1/cluster": "rvea", "POST /api/v1/cluster/hands/{name}/drain": "a", "POST /api/v1/reload": "a", "GET /api/v1/settings": "rvea", "PATCH /api/v1/settings": "a",
}

// Every route that is described, every page, and what is not described: who gets what.
// A new route has to be put into mayUse.
func TestWhoMayUseWhat(t *testing.T) {
	g := newGateRig(t)
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	got := g.do("GET", "/openapi.json", nil).is(200)
	if err := json.Unmarshal(got.Body, &description); err != nil {
		t.Fatal(err)
	}
	routes := []string{"GET /healthz", "GET /readyz", "GET /openapi.json", "GET /openapi.yaml", "GET /metrics", "GET /assets/x", "GET /api/v1/websub/x", "POST /api/v1/websub/x"}
	for path, methods := range description.Paths {
		for method := range methods {
			routes = append(routes, strings.ToUpper(method)+" "+path)
		}
	}
	for _, screen := range ui.Screens {
		route := "GET " + strings.NewReplacer("{$}", "", "{rest...}", "x/y", "{secret}", "x").Replace(screen)
		routes = append(routes, route)
		mayUse[route] = "slkrvea"
	}
	routes = append(routes, "POST /mcp", "POST /mcp/write", "GET /login/oidc", "GET /login/oidc/callback", "GET /docs/")
	mayUse["GET /docs/"] = "slkrvea"
	if len(routes) < 80 {
		t.Fatalf("there are only %d routes", len(routes))
	}
	_, link := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Source: "a"}})
	_, queryLink := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Query: "q"}})
	_, token := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "t", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	_, admin := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "a", Limit: auth.Limit{Scopes: []access.Right{access.Administer}}})
	_, open := g.pass(auth.Credential{Kind: auth.TokenKind, Name: "o", Limit: auth.Limit{Scopes: []access.Right{access.Administer}}})
	_, lost := g.pass(auth.Credential{Kind: auth.TokenKind, User: "vi", Name: "l", Limit: auth.Limit{Scopes: []access.Right{access.Administer}}})
	_, worker := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ada", Name: "h", Limit: auth.Limit{Scopes: []access.Right{access.Work}}})
	callers := []struct {
		mark, name string
		header     func() []string
	}{
		{"s", "a stranger", func() []string { return nil }},
		{"h", "a token of a worker, which may what strangers may", func() []string { return worker }},
		{"l", "a link to a source", func() []string { return link }},
		{"k", "a link to a query", func() []string { return queryLink }},
		{"r", "a token to read", func() []string { return token }},
		{"h", "a session of a worker's token", func() []string { return g.entered(worker) }},
		{"l", "a session of a link to a source", func() []string { return g.entered(link) }},
		{"k", "a session of a link to a query", func() []string { return g.entered(queryLink) }},
		{"r", "a session of a token to read", func() []string { return g.entered(token) }},
		{"v", "a viewer", func() []string { return g.session("vi") }},
		{"e", "an editor", func() []string { return g.session("ed") }},
		{"a", "an admin", func() []string { return g.session("ada") }},
		{"a", "a token of the scope admin", func() []string { return admin }},
		{"a", "a session of a token of the scope admin", func() []string { return g.entered(admin) }},
		{"a", "a token of the scope admin that has no user", func() []string { return open }},
		{"r", "a token of the scope admin whose user is a viewer by now", func() []string { return lost }},
	}
	slices.SortFunc(routes, func(x, y string) int { return strings.Compare(y, x) }) // what removes comes late
	for _, c := range callers {
		header := c.header()
		for _, route := range routes {
			may, listed := mayUse[route]
			if !listed {
				t.Errorf("nobody has said who may use %s: add it to mayUse and to the rules", route)
				continue
			}
			method, path, _ := strings.Cut(route, " ")
			path = strings.NewReplacer("{name}", "nobody", "{number}", "1", "{token}", "x", "{edit}", "1").Replace(path)
			if id := "a"; strings.Contains(path, "/queries/") {
				path = strings.Replace(path, "{id}", "q", 1)
			} else {
				path = strings.Replace(path, "{id}", id, 1)
			}
			got := g.status(method, path, header)
			allowed := got != http.StatusUnauthorized && got != http.StatusForbidden
			if method == "PUT" && strings.HasSuffix(path, "/password") { // the rest is said by the handler
				allowed = allowed || got == http.StatusForbidden && strings.Contains("rvea", c.mark)
			}
			if route == "POST /api/v1/session" && got == http.StatusUnauthorized {
				allowed = true
			}
			switch want := strings.Contains(strings.Replace(may, "s", "sh", 1), c.mark); {
			case want && !allowed, !want && allowed:
				t.Errorf("%s: %s answers %d", c.name, route, got)
			case !want && c.mark == "s" && got != http.StatusUnauthorized:
				t.Errorf("%s: %s answers %d, want 401", c.name, route, got)
			}
			if route == "DELETE /api/v1/session" {
				header = c.header()
			}
		}
	}
	for _, path := range []string{"/api/v1/sources/b", "/api/v1/sources/b/versions", "/api/v1/queries/q", "/api/v1/sources/a?reveal=true"} {
		if got := g.status("GET", path, link); got != http.StatusForbidden {
			t.Errorf("the link to source a gets %d of %s", got, path)
		}
	}
	for _, path := range []string{"/api/v1/queries/other", "/api/v1/sources/q", "/api/v1/queries/other/matches"} {
		if got := g.status("GET", path, queryLink); got != http.StatusForbidden {
			t.Errorf("the link to query q gets %d of %s", got, path)
		}
	}
}

// A token for a tag reads and edits sources with the tag, and nothing else.
func TestTokenForATag(t *testing.T) {
	g := newGateRig(t)
	_, token := g.pass(auth.Credential{Kind: auth.TokenKind, User: "ed", Name: "t", Limit: auth.Limit{Scopes: []access.Right{access.Read, access.Write}, Tag: "shop"}})
	var page struct {
		Items []struct{ ID string }
	}
	got := g.do("GET", "/api/v1/sources", nil, token...).is(200)
	if err := json.Unmarshal(got.Body, &page); err != nil || len(page.Items) != 1 || page.Items[0].ID != "a" {
		t.Errorf("it lists %s", got.Body)
	}
	for path, want := range map[string]int{
		"/api/v1/sources?tag=shop": 200, "/api/v1/sources?tag=other": 403, "/api/v1/sources/a": 200, "/api/v1/sources/b": 403, "/api/v1/sources/none": 403,
		"/api/v1/changes": 200, "/api/v1/changes?tag=x": 403, "/api/v1/outcomes": 403, "/api/v1/queries": 403, "/api/v1/overview": 403, "/api/v1/users": 403,
	} {
		if got := g.status("GET", path, token); got != want {
			t.Errorf("GET %s answers %d, want %d", path, got, want)
		}
	}
	g.do("PATCH", "/api/v1/sources/a", `{"paused": true}`, token...).is(200)
	g.do("PATCH", "/api/v1/sources/b", `{"paused": true}`, token...).is(403)
	g.do("POST", "/api/v1/sources", `{"url": "https://c.example/"}`, token...).is(403)
}

// A login over the API: the cookie, the answers, the end.
func TestLogin(t *testing.T) {
	g := newGateRig(t)
	wrong := g.do("POST", "/api/v1/session", client.Login{User: "ada", Password: "wrong"}).is(401)
	nobody := g.do("POST", "/api/v1/session", client.Login{User: "nobody", Password: "wrong"}).is(401)
	if string(wrong.Body) != string(nobody.Body) {
		t.Errorf("a wrong password gets %s, a wrong name %s", wrong.Body, nobody.Body)
	}
	g.do("POST", "/api/v1/session", client.Login{}).is(422)
	g.do("POST", "/api/v1/session", client.Login{User: "ada", Password: "password of ada"}, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site").is(403)
	got := g.do("POST", "/api/v1/session", client.Login{User: "ada", Password: "password of ada"}).is(200)
	if cookie := got.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "freshet=fs_") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "Path=/;") {
		t.Errorf("the cookie is %s", cookie)
	}
	one, two := g.session("ada"), g.session("ada")
	var s client.Session
	g.do("GET", "/api/v1/session", nil, one...).is(200).into(&s)
	if s.User != "ada" || s.Role != access.Admin || !s.Known || s.Open {
		t.Errorf("the session is %+v", s)
	}
	g.do("GET", "/api/v1/session", nil).is(200).into(&s)
	if s.Known && s.User != "" {
		t.Errorf("to a stranger the session is %+v", s)
	}
	g.do("PUT", "/api/v1/session/password", client.NewPassword{Old: "wrong", New: "another password"}, one...).is(422)
	g.do("PUT", "/api/v1/session/password", client.NewPassword{Old: "password of ada", New: "another password"}, one...).is(204)
	g.do("GET", "/api/v1/users", nil, one...).is(200)
	g.do("GET", "/api/v1/users", nil, two...).is(401)
	if got := g.do("DELETE", "/api/v1/session", nil, one...).is(204); !strings.Contains(got.Header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("at the end the cookie is %s", got.Header.Get("Set-Cookie"))
	}
	g.do("GET", "/api/v1/users", nil, one...).is(401)
	var last answer
	for range 7 {
		last = g.do("POST", "/api/v1/session", client.Login{User: "vi", Password: "wrong"})
	}
	if last.is(429).Header.Get("Retry-After") == "" {
		t.Error("nothing says how long to wait")
	}
	g.session("ed")
}

// A stream ends when the token that it was begun with is revoked, and the link of a feed
// works in its address.
func TestStreamsEndWithTheirToken(t *testing.T) {
	g := newGateRig(t)
	p, token := g.pass(auth.Credential{Kind: auth.TokenKind, User: "vi", Name: "t", Limit: auth.Limit{Scopes: []access.Right{access.Read}}})
	req, err := http.NewRequestWithContext(t.Context(), "GET", g.API.URL+"/api/v1/changes/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(token[0], token[1])
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); err != nil || line != "retry: 2000\n" {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	g.do("DELETE", "/api/v1/tokens/"+p.ID, nil, g.session("vi")...).is(204)
	if _, err := io.ReadAll(lines); err != nil {
		t.Logf("the stream ended with %v", err)
	}
	g.do("GET", "/api/v1/changes", nil, token...).is(401)

	_, link := g.pass(auth.Credential{Kind: auth.ShareKind, User: "ed", Limit: auth.Limit{Source: "a"}})
	secret := strings.TrimPrefix(link[1], "Bearer ")
	g.do("GET", "/api/v1/sources/a/feed.atom?link="+secret, nil).is(200)
	g.do("GET", "/api/v1/sources/b/feed.atom?link="+secret, nil).is(403)
	g.do("GET", "/api/v1/sources/a/feed.atom?link=x", nil).is(401)
	got := g.do("POST", "/api/v1/session", client.Login{Token: secret}).is(200)
	cookie, _, _ := strings.Cut(got.Header.Get("Set-Cookie"), ";")
	g.do("GET", "/api/v1/sources/a", nil, "Cookie", cookie).is(200)
	g.do("GET", "/api/v1/sources/b", nil, "Cookie", cookie).is(403)
}

// Tokens and links are shown once, and no more is given than whoever makes them may do.
func TestMakingTokens(t *testing.T) {
	g := newGateRig(t)
	vi, ed, ada := g.session("vi"), g.session("ed"), g.session("ada")
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["write"]}`, vi...).is(403)
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["all"]}`, vi...).is(422)
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"], "expires": "soon"}`, vi...).is(422)
	var made client.MadeToken
	g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"], "expires": "90d"}`, vi...).is(201).into(&made)
	if made.User != "vi" || !strings.HasPrefix(made.Secret, "ft_") || made.Expires.Sub(made.Created).Round(time.Hour) != 90*24*time.Hour {
		t.Errorf("the token is %+v", made)
	}
	shown := []string{"Authorization", "Bearer " + made.Secret}
	g.do("GET", "/api/v1/sources", nil, shown...).is(200)
	g.do("POST", "/api/v1/tokens", `{"name": "u", "scopes": ["read"]}`, shown...).is(403)
	list := g.do("GET", "/api/v1/tokens", nil, ada...).is(200)
	if !strings.Contains(string(list.Body), made.ID) || strings.Contains(string(list.Body), made.Secret) {
		t.Errorf("an admin sees %s", list.Body)
	}
	if list := g.do("GET", "/api/v1/tokens", nil, ed...).is(200); strings.Contains(string(list.Body), made.ID) {
		t.Errorf("another user sees %s", list.Body)
	}
	g.do("DELETE", "/api/v1/tokens/"+made.ID, nil, ed...).is(404)
	g.do("DELETE", "/api/v1/tokens/"+made.ID, nil, ada...).is(204)
	g.do("GET", "/api/v1/sources", nil, shown...).is(401)

	g.do("POST", "/api/v1/shares", `{"source": "none"}`, ed...).is(404)
	g.do("POST", "/api/v1/shares", `{"source": "a", "query": "q"}`, ed...).is(422)
	g.do("POST", "/api/v1/shares", `{}`, ed...).is(422)
	var share client.MadeShare
	g.do("POST", "/api/v1/shares", `{"query": "q", "name": "for Bo"}`, ed...).is(201).into(&share)
	g.do("GET", share.Feed, nil).is(200)
	g.do("GET", share.Path, nil).is(200)
	g.do("DELETE", "/api/v1/shares/"+share.ID, nil, ada...).is(204)
	g.do("GET", share.Feed, nil).is(401)
}

// Every change and every login is written down with who did it and what differs, and
// without secrets.
func TestAudit(t *testing.T) {
	g := newGateRig(t)
	ada, ed := g.session("ada"), g.session("ed")
	g.do("POST", "/api/v1/session", client.Login{User: "ed", Password: "hunter2hunter2"}).is(401)
	g.do("POST", "/api/v1/session", client.Login{User: "hunter2hunter2", Password: ""}).is(401)
	g.do("PATCH", "/api/v1/sources/a", `{"paused": true, "request": {"headers": {"X-Note": "hunter2hunter2"}}}`, ed...).is(200)
	g.do("PATCH", "/api/v1/sources/a", `{"min_gap": "nonsense"}`, ed...).is(422)
	g.do("GET", "/api/v1/sources/a", nil, ed...).is(200)
	g.do("POST", "/api/v1/queries", `{"name": "Cheap", "when": "true"}`, ed...).is(201)
	g.do("DELETE", "/api/v1/sources/b", nil, ed...).is(204)
	g.do("POST", "/api/v1/users", `{"name": "new", "role": "viewer", "password": "hunter2hunter2"}`, ada...).is(201)
	g.do("PATCH", "/api/v1/users/new", `{"role": "editor", "password": "hunter2hunter3"}`, ada...).is(200)
	g.do("DELETE", "/api/v1/users/new", nil, ada...).is(204)
	g.do("DELETE", "/api/v1/users/ada", nil, ada...).is(422) // the last admin
	g.do("POST", "/api/v1/import", `{"text": "https://c.example/one\nhttps://c.example/two\n", "dry_run": true}`, ed...).is(200)
	g.do("POST", "/api/v1/import", `{"text": "https://c.example/one\nhttps://c.example/two\n"}`, ed...).is(200)
	g.do("POST", "/api/v1/sources/bulk", `{"action": "tag", "tag": "new", "ids": ["a"]}`, ed...).is(200)
	g.do("POST", "/api/v1/sources/bulk/1/undo", nil, ed...).is(200)
	var page client.AuditPage
	got := g.do("GET", "/api/v1/audit", nil, ada...).is(200)
	got.into(&page)
	var told []string
	for _, e := range slices.Backward(page.Items) {
		told = append(told, fmt.Sprintf("%s %s %s %d %s %s", e.User, e.What, e.Subject, e.Status, e.Before, e.After))
		if e.From != "127.0.0.1" || e.At.IsZero() {
			t.Errorf("an entry is %+v", e)
		}
	}
	want := []string{
		"ada login user ada 200  ", "ed login user ed 200  ", " login user ed 401  ", " login  401  ",
		`ed edit-source source a 200  {"paused":true,"request":"***"}`,
		`ed add-query query cheap 201  {"id":"cheap","name":"Cheap","when":"true"}`,
		`ed remove-source source b 204 {"id":"b","noise":"auto","url":"https://b.example/"} `,
		`ada add-user user new 201  `, `ada edit-user user new 200 {"password_set_at":`, `ada remove-user user new 204 `,
		`ed import import 200  {"count":2,"format":"urls","sources":["`, `ed edit-sources source 200  {"action":"tag","count":1,"sources":["a"],"tag":"new"}`,
		`ed undo-sources source 200  {"count":1,"sources":["a"]}`,
	}
	for i := range max(len(want), len(told)) {
		if i >= len(want) || i >= len(told) || !strings.HasPrefix(told[i], want[i]) {
			t.Fatalf("the log tells:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
	}
	if strings.Contains(string(got.Body), "hunter2") || strings.Contains(string(got.Body), "argon2") {
		t.Errorf("the log has a secret: %s", got.Body)
	}
	g.do("GET", "/api/v1/audit?limit=2", nil, ada...).is(200).into(&page)
	if len(page.Items) != 2 || page.Next != page.Items[1].Cursor {
		t.Errorf("a page is %+v", page)
	}
	before := page.Next
	page = client.AuditPage{}
	g.do("GET", fmt.Sprintf("/api/v1/audit?limit=2&before=%d&user=ed", before), nil, ada...).is(200).into(&page)
	if len(page.Items) != 2 || page.Items[0].User != "ed" {
		t.Errorf("the next page is %+v", page)
	}
}

// An answer is told again only to those who may still have it, and never one with a
// secret.
func TestAnswersAreKeptForTheirOwner(t *testing.T) {
	g := newGateRig(t)
	ed, vi := g.session("ed"), g.session("vi")
	key := []string{"Idempotency-Key", "k1"}
	g.do("POST", "/api/v1/queries", `{"name": "Once", "when": "true"}`, append(key, ed...)...).is(201)
	if again := g.do("POST", "/api/v1/queries", `{"name": "Once", "when": "true"}`, append(key, ed...)...).is(201); again.Header.Get("Idempotency-Replayed") == "" {
		t.Error("the answer is not told again")
	}
	g.do("POST", "/api/v1/queries", `{"name": "Once", "when": "true"}`, append(key, vi...)...).is(403)
	g.do("POST", "/api/v1/queries", `{"name": "Once", "when": "true"}`, key...).is(401)
	var one, two client.MadeToken
	for _, made := range []*client.MadeToken{&one, &two} {
		got := g.do("POST", "/api/v1/tokens", `{"name": "t", "scopes": ["read"]}`, append(key, vi...)...).is(201)
		if got.into(made); got.Header.Get("Idempotency-Replayed") != "" {
			t.Error("a token is told again")
		}
	}
	if one.Secret == two.Secret || one.ID == two.ID {
		t.Errorf("the tokens are %+v and %+v", one, two)
	}
}
