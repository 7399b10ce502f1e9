package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/auth/access"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
)

// planted are texts that only some may read: the key is the text, the value says who. The marks are those of
// garden.callers. Nobody reads what has no mark, not even in the log.
var planted = map[string]string{
	"plantparameter": "", "plantlanded": "", "plantmoved": "",
	"plantsealed": "", "plantcookie": "",
	"plantwebhook": "", "plantsinkheader": "", "plantbottoken": "",
	"plant-of-ada": "", "plant-of-ed": "", "plant-of-vi": "",

	"plantaname": "lktrvea", "plantatext": "lktrvea",
	"plantbname": "rvea", "plantbtext": "rvea", "plantbtitle": "rvea", "plantbtag": "rvea", "plantbpath": "rvea",
	"plantquery": "rvea", "plantcondition": "rvea",
	"plantidler": "a",
	"plantsite":  "rvea", // the sitemap is a version
}

// A garden is a daemon with planted texts, and callers of every kind.
type garden struct {
	*testing.T
	at      string
	admin   *client.Client
	log     sharedBuffer
	made    []string // secrets of tokens, links and sessions, which nobody reads
	callers []visitor
	files   string       // the data directory
	told    sharedBuffer // messages that sinks received
}

// A visitor is somebody with a credential.
type visitor struct{ mark, name, header, value string }

// newGarden returns one whose sources have been polled twice.
func newGarden(t *testing.T) *garden {
	g := &garden{T: t}
	s := settings(t)
	g.files = s.Data
	web := newPlantedWeb(t)
	vault := secrets.Open(s.Data)
	host := strings.TrimPrefix(web.URL, "http://")
	if err := vault.Set(secrets.Entry{Name: "sealed", Hosts: []string{host}}, []byte("plantsealed")); err != nil {
		t.Fatal(err)
	}
	c, at, _ := serve(t, s, app.ServeConfig{Log: slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	g.at, g.admin = at, c
	g.must(c.Users.Add(t.Context(), client.NewUser{Name: "ada", Role: access.Admin, Password: "plant-of-ada"}))
	session := g.login(client.Login{User: "ada", Password: "plant-of-ada"})
	g.admin = client.New(at, func(r *http.Request) (*http.Response, error) {
		r.Header.Set("Cookie", session)
		return http.DefaultClient.Do(r)
	})
	g.plant(web.URL)
	g.let(session)
	return g
}

// must ends the test if something could not be made.
func (g *garden) must(_ any, err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// newPlantedWeb returns a server that repeats what it is sent, redirects, and changes at each visit.
func newPlantedWeb(t *testing.T) *httptest.Server {
	var visits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Etag", fmt.Sprintf("%q", r.Header.Get("X-Sealed")+fmt.Sprint(visits.Add(1))))
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "plantcookie", Path: "/"})
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/a?key=plantmoved", http.StatusMovedPermanently)
		case r.URL.Path == "/lands":
			http.Redirect(w, r, "/a?key=plantlanded", http.StatusFound)
		case r.URL.Path == "/fails":
			http.Error(w, r.Header.Get("X-Sealed")+string(sent), http.StatusForbidden)
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/sitemap.xml":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<urlset><url><loc>http://%s/site/one?token=plantsite</loc></url></urlset>`, r.Host)
		case strings.HasPrefix(r.URL.Path, "/plantbpath"):
			fmt.Fprintf(w, "<title>plantbtitle</title><p>plantbtext %d</p>", visits.Load())
		default:
			fmt.Fprintf(w, "<title>the page</title><p>plantatext %d</p><p>%s</p>", visits.Load(), r.Header.Get("X-Sealed")+string(sent))
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// hearingKinds are kinds of sinks that send to any URL.
var hearingKinds = []string{"webhook", "slack", "discord", "mattermost", "teams"}

// plant adds sources, queries, sinks and users with what is planted, and polls.
func (g *garden) plant(web string) {
	ctx := g.Context()
	parameter := "?token=plantparameter#key=plantparameter"
	sealed := map[string]any{"headers": map[string]any{"X-Sealed": "${secret:sealed}"}, "form": map[string]any{"a": "${secret:sealed}"}, "jar": "own"}
	sources := []client.NewSource{
		{ID: "a", URL: web + "/a" + parameter, Name: "plantaname", Tags: []string{"shop"}, Request: sealed},
		{ID: "b", URL: web + "/plantbpath" + parameter, Name: "plantbname", Tags: []string{"plantbtag"}},
		{ID: "moved", URL: web + "/moved" + parameter}, {ID: "lands", URL: web + "/lands" + parameter}, {ID: "fails", URL: web + "/fails" + parameter, Request: sealed},
		{ID: "site", URL: web + "/site", Site: true},
	}
	for _, s := range sources {
		g.must(g.admin.Sources.Add(ctx, s))
	}
	g.must(g.admin.Queries.Add(ctx, client.QueryToAdd{NewQuery: client.NewQuery{ID: "q", Name: "prices", When: "true", Value: "source.url", Scope: &client.Scope{Sources: []freshet.SourceID{"a"}}}}))
	g.must(g.admin.Queries.Add(ctx, client.QueryToAdd{NewQuery: client.NewQuery{ID: "other", Name: "plantquery", When: `added.contains("plantcondition") || true`}}))
	refusing := httptest.NewServer(http.NotFoundHandler())
	refusing.Close()
	sinks := map[string]client.NewSink{
		"hook": {Kind: "webhook", URL: refusing.URL + "/?token=plantwebhook", Headers: map[string]string{"X-Key": "plantsinkheader"}, Settings: map[string]string{"unsigned": "true"}},
		"bot":  {Kind: "telegram", Settings: map[string]string{"token": "123456:plantbottoken", "chat": "1"}, Queries: []string{"other"}},
	}
	hearing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintln(&g.told, r.URL.Path, r.Header, string(text))
	}))
	g.Cleanup(hearing.Close)
	for _, kind := range hearingKinds {
		sinks["to-"+kind] = client.NewSink{Kind: kind, URL: hearing.URL + "/" + kind}
	}
	sinks["to-webhook"] = client.NewSink{Kind: "webhook", URL: hearing.URL + "/webhook", Settings: map[string]string{"unsigned": "true"}}
	for name, s := range sinks {
		g.must(g.admin.Sinks.Add(ctx, name, s))
	}
	for name, role := range map[string]access.Role{"ed": access.Editor, "vi": access.Viewer, "plantidler": access.Viewer} {
		g.must(g.admin.Users.Add(ctx, client.NewUser{Name: name, Role: role, Password: "plant-of-" + strings.TrimPrefix(name, "plant")}))
	}
	for range 2 {
		for _, s := range sources {
			g.must(g.admin.Sources.Poll(ctx, s.ID, 5*time.Minute, false))
		}
	}
}

// login opens a session and returns its cookie.
func (g *garden) login(l client.Login) string {
	g.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		g.Fatal(err)
	}
	resp, err := http.Post(g.at+"/api/v1/session", "application/json", bytes.NewReader(text))
	if err != nil {
		g.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		g.Fatalf("a login is answered with %s", resp.Status)
	}
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	_, secret, _ := strings.Cut(cookie, "=")
	g.made = append(g.made, secret)
	return cookie
}

// let makes the callers: users, tokens and links, and the sessions of tokens and links.
func (g *garden) let(admin string) {
	token := func(n client.NewToken) string {
		made, err := g.admin.Tokens.Add(g.Context(), n)
		g.must(made, err)
		return made.Secret
	}
	share := func(n client.NewShare) string {
		made, err := g.admin.Shares.Add(g.Context(), n)
		g.must(made, err)
		return made.Secret
	}
	limited := []struct{ mark, name, secret string }{
		{"h", "a worker's token", token(client.NewToken{Name: "h", Scopes: []access.Right{access.Work}})},
		{"l", "a link to source a", share(client.NewShare{Source: "a"})},
		{"k", "a link to query q", share(client.NewShare{Query: "q"})},
		{"t", "a token for a tag", token(client.NewToken{Name: "t", Scopes: []access.Right{access.Read}, Tag: "shop"})},
		{"r", "a token to read", token(client.NewToken{Name: "r", Scopes: []access.Right{access.Read}})},
	}
	g.callers = append(g.callers, visitor{mark: "s", name: "a stranger"})
	for _, l := range limited {
		g.made = append(g.made, l.secret)
		g.callers = append(g.callers,
			visitor{l.mark, l.name, "Authorization", "Bearer " + l.secret},
			visitor{l.mark, "a session of " + l.name, "Cookie", g.login(client.Login{Token: l.secret})})
	}
	g.callers = append(g.callers,
		visitor{"v", "a viewer", "Cookie", g.login(client.Login{User: "vi", Password: "plant-of-vi"})},
		visitor{"e", "an editor", "Cookie", g.login(client.Login{User: "ed", Password: "plant-of-ed"})},
		visitor{"a", "an admin", "Cookie", admin})
}

// paths returns the paths of all routes that answer a GET, with every name that is planted.
func (g *garden) paths() (paths []string) {
	var description struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	_, text, _ := strings.Cut(g.ask(visitor{}, "GET", "/openapi.json", ""), "\n")
	if err := json.Unmarshal([]byte(text), &description); err != nil {
		g.Fatal(err)
	}
	fill := map[string][]string{
		"{id}": {"a", "b", "moved", "lands", "fails", "site"}, "{name}": {"hook", "bot", "plantidler", "title"}, "{number}": {"1", "2"},
	}
	for path, methods := range description.Paths {
		if methods["get"] == nil {
			continue
		}
		filled := []string{path}
		if strings.Contains(path, "/queries/") {
			filled = []string{strings.Replace(path, "{id}", "q", 1), strings.Replace(path, "{id}", "other", 1)}
		}
		for key, values := range fill {
			var next []string
			for _, p := range filled {
				if !strings.Contains(p, key) {
					next = append(next, p)
					continue
				}
				for _, v := range values {
					next = append(next, strings.Replace(p, key, v, 1))
				}
			}
			filled = next
		}
		paths = append(paths, filled...)
	}
	paths = append(paths, "/metrics", "/", "/sources/a", "/readyz", "/api/v1/sources?sort=url", "/api/v1/sources?removed=true", "/api/v1/changes?details=true",
		"/api/v1/sources/a/diff?from=1&to=2", "/api/v1/sources/b/diff?from=1&to=2")
	slices.Sort(paths)
	return paths
}

// ask sends a request and returns headers and body of the response. It reads a stream until it has an event, or none comes.
func (g *garden) ask(c visitor, method, path, body string) string {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), 5*time.Minute)
	defer cancel()
	stream := strings.HasSuffix(path, "/stream")
	if stream {
		path += "?after=0"
	}
	req, err := http.NewRequestWithContext(ctx, method, g.at+path, strings.NewReader(body))
	if err != nil {
		g.Fatal(err)
	}
	if c.header != "" {
		req.Header.Set(c.header, c.value)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		g.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	if stream {
		time.AfterFunc(time.Second, cancel) // what it has, it sends at once
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil && !stream {
		g.Fatalf("%s %s: %v", method, path, err)
	}
	return fmt.Sprintln(resp.Status, resp.Header) + string(text)
}

// mayRead reports as an error each planted text that somebody without a right to it has read.
func (g *garden) mayRead(mark, where, text string) {
	g.Helper()
	for plant, readers := range planted {
		if i := strings.Index(text, plant); i >= 0 && !strings.Contains(where, plant) && (mark == "" || !strings.Contains(readers, mark)) {
			g.Errorf("%s shows %s: ...%q...", where, plant, text[max(0, i-100):min(len(text), i+60)])
		}
	}
	for _, secret := range g.made {
		if strings.Contains(text, secret) {
			g.Errorf("%s shows the secret of a token, link or session", where)
		}
	}
}

// Secrets are planted in URLs, headers, forms, names, texts, sinks and passwords. Every answer of the API to every
// kind of visitor, the log and the files hold none that its reader may not see.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	kit.Until(t, "the webhook has failed", func() bool {
		return strings.Contains(g.ask(g.callers[len(g.callers)-1], "GET", "/api/v1/sinks/hook/attempts", ""), "connect")
	})
	paths := g.paths()
	if len(paths) < 120 {
		t.Fatalf("there are only %d paths", len(paths))
	}
	seen := map[string]bool{}
	for _, c := range g.callers {
		for _, path := range paths {
			text := g.ask(c, "GET", path, "")
			g.mayRead(c.mark, c.name+": "+path, text)
			for plant := range planted {
				seen[plant+c.mark] = seen[plant+c.mark] || strings.Contains(text, plant)
			}
		}
		g.tryOracles(c)
		for _, r := range g.requests() {
			g.mayRead(c.mark, c.name+": "+r.path+" "+r.body, g.ask(c, "POST", r.path, r.body))
		}
	}
	for plant, readers := range planted { // else the walk proves nothing
		for _, mark := range readers {
			if key := plant + string(mark); !seen[key] && plant != "plantsite" {
				t.Errorf("nobody with the mark %c has seen %s", mark, plant)
			}
		}
	}
	for plant, readers := range planted {
		if readers == "" && strings.Contains(g.log.String(), plant) {
			t.Errorf("the log holds %s", plant)
		}
	}
	g.checkMessages()
	g.checkFiles()
}

// requests are those with a body whose answers repeat what is stored, and change nothing.
func (g *garden) requests() (all []struct{ path, body string }) {
	add := func(path, body string) { all = append(all, struct{ path, body string }{path, body}) }
	for _, id := range []string{"a", "b", "moved", "lands", "fails"} {
		add("/api/v1/sources/"+id+"/test", `{"read":["text"]}`)
		add("/api/v1/sources/"+id+"/poll?wait=1ms", "")
		add("/api/v1/sources", `{"id":"`+id+`","url":"https://taken.example/"}`)
		add("/api/v1/sources/batch", `{"sources":[{"id":"`+id+`","url":"https://taken.example/"}]}`)
	}
	for name := range map[string]bool{"hook": true, "bot": true, "to-slack": true} {
		add("/api/v1/sinks/"+name+"/test", "{}")
	}
	add("/api/v1/sources/bulk", `{"dry_run":true,"select":{"all":true},"action":"pause"}`)
	add("/api/v1/import", `{"dry_run":true,"text":"https://new.example/"}`)
	for _, kind := range hearingKinds {
		add("/api/v1/sinks-preview", `{"kind":"`+kind+`","url":"https://c.example/","template":"{{.}}"}`)
	}
	return all
}

// checkMessages looks at what sinks received: what an editor may read, since it is the one who adds them.
func (g *garden) checkMessages() {
	for _, kind := range hearingKinds {
		kit.Until(g.T, "a message of "+kind, func() bool {
			_, rest, _ := strings.Cut(g.told.String(), "/"+kind+" ")
			return strings.Contains(rest, "plantatext")
		})
	}
	g.mayRead("e", "a message", g.told.String())
}

// sealedPlants are never in a file as they are.
var sealedPlants = []string{"plantsealed", "plantcookie", "plantwebhook", "plantsinkheader", "plantbottoken", "plant-of-ada", "plant-of-ed", "plant-of-vi"}

// checkFiles looks for secrets in the files of the data directory.
func (g *garden) checkFiles() {
	read := 0
	err := filepath.WalkDir(g.files, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read += bytes.Count(content, []byte("plantbname"))
		for _, secret := range slices.Concat(sealedPlants, g.made) {
			if bytes.Contains(content, []byte(secret)) {
				g.Errorf("the file %s holds %s", entry.Name(), secret)
			}
		}
		return nil
	})
	if err != nil || read == 0 {
		g.Errorf("the files cannot be read, or nothing is in them: %v", err)
	}
}

// tryOracles asks what a visitor may not read, and finds it out if answers differ.
func (g *garden) tryOracles(c visitor) {
	if strings.Contains(g.ask(c, "GET", "/api/v1/sites/site/pages", ""), "plantsite") {
		g.Errorf("%s: the pages of a site show a token in a URL", c.name)
	}
	tests := []string{`{"when":"true","value":"source.url"}`, `{"when":"true","value":"[source.url, source.name]"}`, `{"when":"true","value":"string(now)","scope":{"sources":["b"]}}`}
	for _, body := range tests {
		g.mayRead(c.mark, c.name+": a query on trial", g.ask(c, "POST", "/api/v1/queries/test", body))
	}
	for _, query := range []string{"source.url, source.name, text", "source.id, b.text, b.source.url join b", "first(text) by source.url", "text from b"} {
		g.mayRead(c.mark, c.name+": states", g.ask(c, "GET", "/api/v1/states?query="+url.QueryEscape(query), ""))
	}
	for _, plant := range slices.Sorted(maps.Keys(planted)) {
		if strings.Contains(planted[plant], c.mark) {
			continue
		}
		for _, path := range []string{"/api/v1/sources?q=", "/api/v1/changes?q=", "/api/v1/search?q=", "/api/v1/polls?q=", "/api/v1/sources?tag="} {
			for _, word := range []string{plant, plant[:len(plant)-1] + "*", "token=" + plant} {
				answer := g.ask(c, "GET", path+url.QueryEscape(word), "")
				_, body, _ := strings.Cut(answer, "\n")
				var found struct {
					Items []json.RawMessage `json:"items"`
				}
				if strings.HasPrefix(answer, "200") && json.Unmarshal([]byte(body), &found) == nil && len(found.Items) > 0 {
					g.Errorf("%s: %s%s finds %s", c.name, path, word, found.Items)
				}
			}
		}
	}
}
