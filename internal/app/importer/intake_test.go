package importer_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"freshet/internal/app/importer"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		as   importer.Format
		want []string
	}{
		"list": {"# mine\nrail.example/status.json transport, gov\n\nhttp://a.example/x\nlocalhost:8080/y", importer.List, []string{
			`2 https://rail.example/status.json  [transport gov] null`, `4 http://a.example/x  [] null`, `5 https://localhost:8080/y  [] null`,
		}},
		"opml": {`<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><body>
<outline text="Local News"><outline text="Post" xmlUrl="https://post.example/feed"/></outline>
<outline title="Blog" text="b" xmlUrl="https://blog.example/atom" category="/tech,/go"/>
</body></opml>`, importer.OPML, []string{
			`3 https://post.example/feed Post [Local-News] null`, `4 https://blog.example/atom Blog [tech go] null`,
		}},
		"urlwatch": {`name: Board
url: https://board.example/
filter:
  - css: main
  - html2text
  - grep: EUR
---
navigate: https://app.example/
---
url: https://old.example/
filter: element-by-id:content,html2text
timeout: 30
---
command: uptime
---
just words
`, importer.Urlwatch, []string{
			`1 https://board.example/ Board [] [{"css":"main"},"text"] | filter grep is not carried over`,
			`8 https://app.example/  [] null rendered`,
			`10 https://old.example/  [] [{"css":"#content"},"text"] | timeout is not carried over`,
			`wrong: commands are not brought over: list it as an exec: source in the configuration file`,
			`wrong: a job has keys and values, such as url: https://…`,
		}},
		"changedetection": {`{"watching": {
"b": {"url": "https://b.example/", "title": "B", "tags": ["6f0a9a36-7d3c-4b0e-9a39-0123456789ab"], "include_filters": [".price", "h1"], "subtractive_selectors": ["nav"], "paused": true},
"a": {"url": "https://a.example/api", "include_filters": ["json:$.n"], "trigger_text": ["x"]},
"c": {"title": "none"}}, "settings": {"application": {"tags": {"6f0a9a36-7d3c-4b0e-9a39-0123456789ab": {"title": "Shops"}}}}}`, importer.Changedetection, []string{
			`0 https://a.example/api  [] [{"jsonpath":"$.n"}] | trigger_text (a query does that) is not carried over`,
			`0 https://b.example/ B [Shops] [{"css":".price, h1"},{"drop":"nav"}] paused`,
			`wrong: a watch has no url`,
		}},
	} {
		if got := importer.Guess(c.text); got != c.as {
			t.Errorf("%s is taken for %s", name, got)
		}
		entries, err := importer.Read(c.as, c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, e := range entries {
			read, _ := json.Marshal(e.Source.Read)
			got := fmt.Sprintf("%d %s %s %v %s", e.Line, e.Source.URL, e.Source.Name, e.Source.Tags, read)
			if e.Source.Render == true {
				got += " rendered"
			}
			if e.Source.Paused {
				got += " paused"
			}
			if len(e.Notes) > 0 {
				got += " | " + strings.Join(e.Notes, "; ")
			}
			if e.Err != nil {
				got = "wrong: " + e.Err.Error()
			}
			if i >= len(c.want) || got != c.want[i] {
				t.Errorf("%s, entry %d:\n%s\nwant\n%s", name, i, got, append(c.want, make([]string, 9)...)[i])
			}
		}
		if len(entries) != len(c.want) {
			t.Errorf("%s has %d entries, want %d", name, len(entries), len(c.want))
		}
	}
	for format, text := range map[importer.Format]string{importer.OPML: "<html><body/></html>", importer.Changedetection: "[]", importer.Urlwatch: "a: [", "csv": "x"} {
		if _, err := importer.Read(format, text); err == nil {
			t.Errorf("%s is read from %q", format, text)
		}
	}
}

// Whatever comes, reading ends without a panic.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"https://a.example/ x", "<opml><outline xmlUrl='x'/>", "url: a\n---\n- 3\n", `{"watching": {"a": {"url": 3}}}`, "url: &a [*a]\n", "filter: {css: {x: 1}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		for _, format := range importer.Formats {
			_, _ = importer.Read(format, text)
		}
	})
}

// A text of 200 KB that nests or refers to itself takes neither minutes nor gigabytes, in any
// format.
func TestHostileTexts(t *testing.T) {
	merges := "a0: &a0 {k: v}\n"
	for i := range 30 {
		merges += fmt.Sprintf("a%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i+1, i+1, i, i, i)
	}
	const size = 200_000
	texts := map[string]string{"merge keys": merges, "merge keys of a job": "- url: x\n" + strings.ReplaceAll("  "+merges, "\n", "\n  ")}
	for _, unit := range []string{"[", "{", `{"a":`, "- ", "a: ", `"`, "<outline>", "<outline text='a' xmlUrl='http://a.example/'>", "<a ", "&lt;", "- !a\n", "- a:\n", "https://a.example/ x\n", `{"watching":{"a":{"url":[`} {
		texts[unit] = strings.Repeat(unit, size/len(unit))
		texts["<opml>"+unit] = "<opml><body>" + texts[unit]
		texts["{watching}"+unit] = `{"watching": ` + texts[unit]
	}
	for name, text := range texts {
		for _, format := range importer.Formats {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = importer.Read(format, text)
			}()
			select {
			case <-done:
			case <-time.After(5 * time.Minute):
				t.Fatalf("%s as %s is not read within a minute", name, format)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("%s as %s takes %d MB", name, format, n>>20)
			}
		}
	}
}
