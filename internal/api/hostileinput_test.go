package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"strings"
	"testing"

	"freshet/internal/api"
	"freshet/internal/test/kit"
)

// hostileSize is how long the hostile texts are about, in bytes.
const hostileSize = 50_000

// hostileTexts returns texts that nest, repeat, are long, refer to themselves or grow when they
// are expanded, for whatever reads them.
func hostileTexts() map[string]string {
	texts := map[string]string{
		"merge keys":      "a0: &a0 {k: v}\n",
		"aliases":         "a0: &a0 [x, x]\n",
		"entities":        `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "eeeeeeeeee">`,
		"counted groups":  strings.Repeat("(", 6) + "a" + strings.Repeat("{1,100})", 6),
		"nested stars":    strings.Repeat("(", 1000) + "a*" + strings.Repeat(")*", 1000),
		"alternatives":    strings.Repeat("(a|a)", hostileSize/5),
		"macros":          strings.Repeat("[1,2,3,4,5,6,7,8,9].map(x, ", 12) + "x" + strings.Repeat(")", 12) + ".size() > 0",
		"calls":           strings.Repeat("size(", 5000) + "'x'" + strings.Repeat(")", 5000),
		"ranges":          strings.Repeat("{{range .Lines}}", 2000) + "x" + strings.Repeat("{{end}}", 2000),
		"a wide template": `{{printf "%1000000000d" 1}}`,
		"a jq that grows": "[limit(1000000000; repeat(1))]",
		"a jq that loops": "def f: f; f",
		"a text":          strings.Repeat("a", hostileSize),
		"zeros":           strings.Repeat("\x00", hostileSize),
		"a number":        strings.Repeat("9", hostileSize),
	}
	for i := range 30 {
		texts["merge keys"] += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i+1, i+1, i, i, i)
		texts["aliases"] += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
		texts["entities"] += fmt.Sprintf(`<!ENTITY e%d "&e%d;&e%d;&e%d;&e%d;">`, i+1, i, i, i, i)
	}
	texts["entities"] += `]><rss><channel><item><title>&e30;</title></item></channel></rss>`
	for _, unit := range []string{"[", "{", "(", `{"a":`, "- ", "a: ", "a || ", "!", "-", "not(", "//*", "a > ", ":not(", "{{if 1}}", "<div>", "<item>", "<outline text='a' xmlUrl='http://a.example/'>", "&lt;", "https://a.example/ x\n", "[].."} {
		texts[unit] = strings.Repeat(unit, hostileSize/len(unit))
	}
	for _, root := range []string{"<opml><body>", "<rss><channel>", "<urlset>"} {
		texts[root] = root + strings.Repeat("<item>", hostileSize/6)
	}
	return texts
}

// A place is where a text of somebody else is read.
type place struct {
	name, method, path string
	body               func(text string) any
}

// places are the endpoints that parse, with each language that they take.
func places() []place {
	field := func(name string) func(string) any { return func(text string) any { return map[string]any{name: text} } }
	step := func(name string) func(string) any {
		return func(text string) any { return map[string]any{"read": []any{map[string]any{name: text}}} }
	}
	all := []place{
		{"condition", "POST", "/api/v1/queries/test", field("when")},
		{"value", "POST", "/api/v1/queries/test", func(text string) any { return map[string]any{"when": "true", "value": text} }},
		{"query", "POST", "/api/v1/queries", func(text string) any { return map[string]any{"id": "q", "when": text} }},
		{"url", "POST", "/api/v1/sources", field("url")},
		{"definition", "POST", "/api/v1/sources", func(text string) any {
			return map[string]any{"url": "https://a.example/", "request": map[string]any{"headers": map[string]any{text: text}}, "expect": map[string]any{"match": text}, "strategy": text, "level": text}
		}},
		{"batch", "POST", "/api/v1/sources/batch", func(text string) any {
			return map[string]any{"sources": []any{map[string]any{"url": text}, map[string]any{"url": "https://b.example/", "read": []any{text}}}}
		}},
		{"raw body", "POST", "/api/v1/sources", func(text string) any { return text }},
		{"template", "POST", "/api/v1/sinks-preview", func(text string) any {
			return map[string]any{"kind": "slack", "url": "https://c.example/", "template": text}
		}},
		{"filter", "GET", "/api/v1/sources?q=", nil},
		{"search", "GET", "/api/v1/search?q=", nil},
		{"states", "GET", "/api/v1/states?query=", nil},
		{"condition of states", "GET", "/api/v1/states?query=text+where+", nil},
		{"forecast", "PUT", "/api/v1/sources/a/chances", func(text string) any { return text }},
	}
	for _, format := range []string{"", "urls", "csv", "opml", "bookmarks", "urlwatch", "changedetection", "distill", "huginn"} {
		all = append(all, place{"import " + format, "POST", "/api/v1/import", func(text string) any {
			body := map[string]any{"text": text, "dry_run": true}
			if format != "" {
				body["format"] = format
			}
			return body
		}})
	}
	for _, name := range []string{"css", "xpath", "jsonpath", "jq", "regex", "drop", "lines"} {
		all = append(all, place{"step " + name, "POST", "/api/v1/sources/a/test", step(name)})
	}
	return append(all, place{"step replace", "POST", "/api/v1/sources/a/test", func(text string) any {
		return map[string]any{"read": []any{map[string]any{"replace": map[string]any{"pattern": text, "with": text}}}}
	}})
}

// Whatever a client sends, to whatever reads it, the answer is a success or says what is wrong,
// takes a bounded amount of memory, and the work ends when the client goes.
func TestHostileInputs(t *testing.T) {
	r := newRig(t, func(c *api.Config) { c.Sinks = sinksOf(t, c) }).run()
	r.shelf()
	texts, all := hostileTexts(), places()
	r.do("GET", "/api/v1/search?q=x", nil).is(200) // opens the index
	for _, p := range all {                        // a place that answers nobody would pass
		if p.name == "template" || p.name == "condition" || p.name == "import urls" {
			fine := map[string]string{"template": "number {{.Seq}}", "condition": "true", "import urls": "https://a.example/"}[p.name]
			if status := r.offer(t.Context(), p, fine); status != http.StatusOK {
				t.Errorf("%s of %q is answered with %d", p.name, fine, status)
			}
		}
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	http.DefaultClient.CloseIdleConnections()
	before := kit.CountGoroutines()
	for _, p := range all {
		for name, text := range texts {
			var was, is runtime.MemStats
			runtime.ReadMemStats(&was)
			status := r.offer(t.Context(), p, text)
			runtime.ReadMemStats(&is)
			if status >= http.StatusInternalServerError && status != http.StatusNotImplemented { // nothing reads versions here; the steps were admitted
				t.Errorf("%s of %s is answered with %d", p.name, name, status)
			}
			if taken := is.TotalAlloc - was.TotalAlloc; taken > 512<<20 {
				t.Errorf("%s of %s takes %d MB", p.name, name, taken>>20)
			}
			if len(name) < 5 { // one of many that nest
				continue
			}
			ctx, leave := context.WithCancel(t.Context()) // and once more, without waiting for the answer
			r.offer(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }}), p, text)
			leave()
		}
	}
	http.DefaultClient.CloseIdleConnections()
	before.WaitForEnd(t)
}

// offer sends a text to a place, and returns the status of the answer; 0 if there is none.
func (r *rig) offer(ctx context.Context, p place, text string) int {
	path, body := p.path, any(nil)
	if p.body == nil {
		encoded, _ := json.Marshal(text[:min(len(text), 4000)])
		path += strings.NewReplacer(`"`, "", " ", "+", "#", "%23", "&", "%26", "\\", "", "%", "%25").Replace(string(encoded))
	} else {
		body = p.body(text)
	}
	a, err := ask(r.t, ctx, p.method, r.API.URL+path, body)
	if err != nil {
		return 0
	}
	return a.Status
}

// Feeds, sitemaps and pages that nest or grow are a poll that ends, and the daemon goes on.
func TestHostileDocuments(t *testing.T) {
	r := newRig(t).run()
	n := 0
	for name, text := range hostileTexts() {
		for _, media := range []string{"text/html", "application/rss+xml", "application/xml", "application/json", "text/csv", "text/calendar"} {
			n++
			path := fmt.Sprint("/document", n)
			r.Origin.Put(path, media, text)
			r.do("POST", "/api/v1/sources", map[string]any{"id": fmt.Sprint("s", n), "url": r.Origin.URL + path}).is(201)
			var was, is runtime.MemStats
			runtime.ReadMemStats(&was)
			a := r.do("POST", fmt.Sprintf("/api/v1/sources/s%d/poll?wait=5m", n), nil)
			runtime.ReadMemStats(&is)
			if a.Status != http.StatusOK {
				t.Errorf("a poll of %s as %s is answered with %d: %s", name, media, a.Status, a.Body)
			}
			if taken := is.TotalAlloc - was.TotalAlloc; taken > 512<<20 {
				t.Errorf("%s as %s takes %d MB", name, media, taken>>20)
			}
		}
	}
}
