package importer_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html/charset"

	"freshet/internal/app/importer"
)

// read returns the entries of a list.
func read(format importer.Format, text string, o importer.Options) (entries []importer.Entry, err error) {
	err = importer.Each(format, text, o, func(e importer.Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		as   importer.Format
		want []string
	}{
		"list": {"# mine\nrail.example/status.json transport, gov\n\nhttp://a.example/x\nlocalhost:8080/y", importer.URLs, []string{
			`2 https://rail.example/status.json  [transport gov] null`, `4 http://a.example/x  [] null`, `5 https://localhost:8080/y  [] null`,
		}},
		"opml": {`<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><body>
<outline text="Local News"><outline text="Post" xmlUrl="https://post.example/feed"/></outline>
<outline title="Blog" text="b" xmlUrl="https://blog.example/atom" category="/tech,/go"/>
<outline text="Private" xmlUrl="https://me:secret@private.example/feed"/>
</body></opml>`, importer.OPML, []string{
			`3 https://post.example/feed Post [Local-News] null`, `4 https://blog.example/atom Blog [tech go] null`,
			"5 https://private.example/feed Private [] null | the login in the URL is not carried over: it is secret; freshet settings secret set NAME --host HOST, then freshet edit SOURCE --user 'USER:${secret:NAME}'",
		}},
		"urlwatch": {`name: Board
url: https://board.example/
filter:
  - css: main
  - html2text
  - ocr: EUR
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
			`1 https://board.example/ Board [] [{"css":"main"},"text"] | filter ocr is not carried over: texts in pictures are not read; the picture itself is compared`,
			`8 https://app.example/  [] null rendered`,
			`10 https://old.example/  [] [{"css":"[id=\"content\"]"},"text"] {"timeout":"30s"}`,
			`wrong 14: a command cannot be imported; add the source to the configuration file, with allow_exec: true and url: "exec:uptime"`,
			`wrong 16: a job has keys and values, such as url: https://…`,
		}},
		"changedetection": {`{"watching": {
"b": {"url": "https://b.example/", "title": "B", "tags": ["6f0a9a36-7d3c-4b0e-9a39-0123456789ab"], "include_filters": [".price", "h1"], "subtractive_selectors": ["nav"], "paused": true},
"a": {"url": "https://a.example/api", "include_filters": ["json:$.n"], "trigger_text": ["x"]},
"c": {"title": "none"}}, "settings": {"application": {"tags": {"6f0a9a36-7d3c-4b0e-9a39-0123456789ab": {"title": "Shops"}}}}}`, importer.Changedetection, []string{
			`watching.a https://a.example/api  [] [{"jsonpath":"$.n"}] when text.matches("(?i:x)")`,
			`watching.b https://b.example/ B [Shops] [{"drop":{"css":["nav"]}},{"css":".price, h1"}] paused`,
			`wrong watching.c: the watch has no url`,
		}},
		"documents that are empty, broken and doubled": {"url: https://a.example/\nname: one\nname: two\n---\n---\n# nothing\n---\nurl: [\n---\n- url: https://b.example/\n-\n- navigate: https://c.example/\n", importer.Urlwatch, []string{
			`1 https://a.example/ two [] null`, "wrong 7: this is not YAML: line 8: sequence end token ']' not found", `10 https://b.example/  [] null`, `12 https://c.example/  [] null rendered`,
		}},
		"filters of urlwatch": {`url: https://a.example/
headers: {X-Api-Key: abc, Accept: text/html, Cookie: a=1; b=2}
data: {q: x}
enabled: false
filter:
  - xpath: {path: //li, skip: 1, maxitems: 2, exclude: //i}
  - grep: '^a'
  - grepi: '^b'
  - re.sub: {pattern: '(\d+) EUR', repl: '\1 $'}
  - re.sub: ' x'
  - sort: {reverse: true}
  - remove-duplicate-lines
  - strip
  - pdf2text
  - re.sub: '(?=x)'
`, importer.Urlwatch, []string{
			`1 https://a.example/  [] [{"drop":{"xpath":["//i"]}},{"xpath":{"first":2,"selector":"//li","skip":1}},"text",{"lines":{"keep":"^a"}},{"lines":{"drop":"^b"}},{"replace":{"pattern":"(\\d+) EUR","with":"${1} $$"}},{"replace":{"pattern":" x","with":""}},{"lines":{"fold":true,"reverse":true,"sort":true}},{"lines":{"unique":true}},"pdf"] {"cookies":{"a":"1","b":"2"},"form":{"q":"x"},"headers":{"Accept":"text/html"},"method":"POST"} paused | ` +
				"request.headers.X-Api-Key is not carried over: is a secret and must not be written here; refer to it as ${env:NAME}, ${file:/path} or ${secret:NAME} (freshet settings secret set NAME); " +
				"read {\"replace\":{\"pattern\":\"(?=x)\",\"with\":\"\"}} is not carried over: invalid or unsupported Perl syntax \"(?=\", which RE2 does not have in the pattern \"(?=x)\"",
		}},
		"webchanges": {"url: https://a.example/\nuse_browser: true\nnote: News\nfilters:\n  - keep_lines_containing: {text: a.b}\n  - delete_lines_containing: {re: c.d}\n", importer.Webchanges, []string{
			`1 https://a.example/ News [] ["source",{"lines":{"keep":"a\\.b"}},{"lines":{"drop":"c.d"}}] rendered`,
		}},
		"parts of a change, and parameters": {"url: https://a.example/?a=1\nadditions_only: true\nproxy: http://p.example:3128\nparams: {b: [2, 3]}\nreferer: https://r.example/\nretries: 3\nnote: x\nuse_browser: false\n", importer.Webchanges, []string{
			`1 https://a.example/?a=1&b=2&b=3 x [] null {"headers":{"Referer":"https://r.example/"},"proxy":"http://p.example:3128"} when (added.matches("\\S") || size(text) * 3 + size(added) <= size(removed)) | messages show all of a change; a template of the sink with {{.Added}} or {{.Removed}} shows a part`,
		}},
		"settings of a watch": {`{"url": "https://a.example/", "include_filters": ["xpath://p", "//b"], "extract_text": ["/(\\d+) EUR/i", "sold out"], "ignore_text": ["Ad."],
"headers": {"Accept": "*/*"}, "method": "POST", "body": "q", "fetch_backend": "html_webdriver", "time_between_check": {"minutes": 30}, "sort_text_alphabetically": true,
"browser_steps": [{"operation": "Click element", "selector": "#ok"}, {"operation": "Choose one"}, {"operation": "Click X,Y", "optional_value": "1,2"}], "notification_urls": ["json://x"]}`, importer.Changedetection, []string{
			`watching.000000 https://a.example/  [] [{"xpath":"//p | //b"},{"regex":"(?:(?i)(\\d+) EUR)|(?i:sold out)"},{"lines":{"drop":"(?i:Ad\\.)"}},{"lines":{"sort":true}}] {"body":"q","headers":{"Accept":"*/*"},"method":"POST"} 90% within 30m map[steps:[map[click:#ok]]]` +
				` | the browser step "Click X,Y" is not carried over: click, fill, scroll and wait exist to json://x`,
		}},
		"distill": {`{"client": {"local": 1}, "data": [{"name": "N", "uri": "https://a.example/", "state": 40, "tags": [{"name": "t"}], "schedule": "{\"type\":\"INTERVAL\",\"params\":{\"interval\":3600}}",
"config": "{\"selections\":[{\"dynamic\":true,\"frames\":[{\"includes\":[{\"type\":\"css\",\"expr\":\"p\"}],\"excludes\":[{\"type\":\"xpath\",\"expr\":\"//i\"}]}]}]}"}, {"name": "none"}]}`, importer.Distill, []string{
			`data[0] https://a.example/ N [t] [{"drop":{"xpath":["//i"]}},{"css":"p"}] rendered 90% within 1h`, `wrong data[1]: the monitor has no uri`,
		}},
		"huginn": {`{"name": "s", "links": [{"source": 0, "receiver": 2}], "agents": [
{"type": "Agents::WebsiteAgent", "name": "W", "schedule": "every_2d", "options": {"url": ["https://a.example/", "{{url}}"], "type": "html", "extract": {"the title": {"css": "h1", "value": "string(.)"}, "link": {"css": "a", "value": "@href"}}}},
{"type": "Agents::RssAgent", "name": "R", "disabled": true, "options": {"url": "https://b.example/feed"}}, {"type": "Agents::TriggerAgent", "name": "T", "options": {}}]}`, importer.Huginn, []string{
			`agents[0] https://a.example/ W [] null 90% within 48h map[link:map[as:list attr:href css:a] the_title:map[as:list css:h1]]`,
			`wrong agents[0].options.url[1]: the URL is a Liquid template: {{url}}`,
			`agents[1] https://b.example/feed R [] null paused`,
		}},
		"csv": {"Title;Link;Folder;Price\nOne;https://a.example/;x,y;3\n;b.example/p;;\n\n", importer.CSV, []string{
			`2 https://a.example/ One [x y] null | the column "Price" is not carried over`, `3 https://b.example/p  [] null`,
		}},
		"csv without a header": {"https://a.example/,Name one,t\nhttps://b.example/,\"Two, three\",", importer.CSV, []string{
			`1 https://a.example/ Name one [t] null`, `2 https://b.example/ Two, three [] null`,
		}},
		"bookmarks": {"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><H3>My news</H3>\n<DL><p>\n<DT><A HREF=\"https://a.example/\" TAGS=\"x,y\">A &amp; B</A>\n<DT><A HREF=\"javascript:x\">s</A>\n</DL>\n<DT><A HREF=\"https://b.example/\">B</A></DL>", importer.Bookmarks, []string{
			`5 https://a.example/ A & B [My-news x y] null`, "wrong 6: \"javascript:x\" is not the URL of a page", `8 https://b.example/ B [] null`,
		}},
		"bookmarks without end tags": {"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><A HREF=\"https://a.example/\">A\n<DT><A HREF=\"https://b.example/\">B\n<DT><H3>F</H3><DL><DT><A HREF=\"https://c.example/\">C", importer.Bookmarks, []string{
			`2 https://a.example/ A [] null`, `3 https://b.example/ B [] null`, `4 https://c.example/ C [F] null`,
		}},
		"odd values": {"url: https://a.example/\ntimeout: 99999999999999999999\ncookies: a=1; b=2\n", importer.Urlwatch, []string{
			`1 https://a.example/  [] null {"cookies":{"a":"1","b":"2"}} | timeout 99999999999999999999 is not carried over: request: {timeout: 30s} says how long a request may take`,
		}},
		"monitors that are none": {`{"client": {}, "data": [null, 3, {"uri": "https://a.example/"}]}`, importer.Distill, []string{
			`wrong data[0]: the monitor has no uri`, `wrong data[1]: the monitor has no uri`, `data[2] https://a.example/  [] null`,
		}},
		"a list of monitors": {`[{"uri": "https://a.example/", "name": "A", "config": "{}"}]`, importer.Distill, []string{`data[0] https://a.example/ A [] null`}},
		"defaults of a kind of job": {"report: {stdout: {enabled: true}}\njob_defaults:\n  url: {timeout: 3}\n  scraper: {timeout: 5}\n---\nkind: scraper\nurl: https://a.example/\n", importer.Urlwatch, []string{
			`6 https://a.example/  [] null {"timeout":"5s"}`,
		}},
		"rules of agents": {`{"agents": [{"type": "Agents::WebsiteAgent", "options": {"url": "https://a.example/", "extract": {"n": {"css": "b"}, "t": {"css": "i"}}}},
{"type": "Agents::TriggerAgent", "options": {"rules": [{"type": "field>=value", "value": "5", "path": "n"}, {"type": "!regex", "value": ["x", "y"], "path": "t"}, {"type": "regex", "value": [], "path": "t"}]}}], "links": [{"source": "0", "receiver": 1}]}`, importer.Huginn, []string{
			`agents[0] https://a.example/  [] null map[n:map[as:number css:b] t:map[as:list css:i]] when now.n >= 5 && now.t.exists(x, !x.matches("(?i)x|y")) | the rule t regex  of TriggerAgent "" is not carried over: freshet query add --when CONDITION reports only such changes`,
		}},
		"a body in JSON": {"url: https://a.example/\ndata: {a: 1}\ndata_as_json: true\nfilters:\n  - strip: {chars: x, side: left}\n", importer.Webchanges, []string{
			`1 https://a.example/  [] [{"replace":{"pattern":"\\A[x]+","with":""}}] {"body":"{\"a\":1}","headers":{"Content-Type":"application/json"},"method":"POST"}`,
		}},
		"schemes of feed readers": {"<opml><outline xmlUrl='feed://a.example/f'/><outline xmlUrl='feed:http://b.example/f'/><outline xmlUrl='//c.example/f'/></opml>", importer.OPML, []string{
			`1 https://a.example/f  [] null`, `1 http://b.example/f  [] null`, `1 https://c.example/f  [] null`,
		}},
		"broken opml": {"\ufeff junk <opml><title/><outline text='F, G'><outline text=a xmlUrl=https://a.example/?a=1&b=2><outline text='B' xmlUrl='https://b.example/'/></opml>", importer.OPML, []string{
			`1 https://a.example/?a=1&b=2 a [F-G] null`, `1 https://b.example/ B [F-G] null`,
		}},
	} {
		if got, _ := importer.Detect(c.text); got != c.as {
			t.Errorf("%s is taken for %q", name, got)
		}
		entries, err := read(c.as, c.text, importer.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, e := range entries {
			steps, _ := json.Marshal(e.Source.Read)
			got := fmt.Sprintf("%s %s %s %v %s", strings.TrimPrefix(e.At(), "line "), e.Source.URL, e.Source.Name, e.Source.Tags, steps)
			if len(e.Source.Request) > 0 {
				request, _ := json.Marshal(e.Source.Request)
				got += " " + string(request)
			}
			if e.Source.Render == true {
				got += " rendered"
			}
			if e.Source.Level != "" {
				got += " " + e.Source.Level
			}
			if settings, ok := e.Source.Render.(map[string]any); ok {
				got += fmt.Sprint(" ", settings)
			}
			if len(e.Source.Extract) > 0 {
				got += fmt.Sprint(" ", e.Source.Extract)
			}
			if e.Source.Paused {
				got += " paused"
			}
			if e.When != "" {
				got += " when " + e.When
			}
			if len(e.Notes) > 0 {
				got += " | " + strings.Join(e.Notes, "; ")
			}
			for _, r := range e.Receivers {
				got += " to " + r.Sink.URL
			}
			if e.Err != nil {
				got = "wrong " + strings.TrimPrefix(e.At(), "line ") + ": " + e.Err.Error()
			}
			if i >= len(c.want) || got != c.want[i] {
				t.Errorf("%s, entry %d:\n%s\nwant\n%s", name, i, got, append(c.want, make([]string, 9)...)[i])
			}
		}
		if len(entries) != len(c.want) {
			t.Errorf("%s has %d entries, want %d", name, len(entries), len(c.want))
		}
	}
	for format, text := range map[importer.Format]string{importer.OPML: "<html><body/></html>", importer.Changedetection: "3", importer.Distill: "x", importer.Huginn: "[]", "word": "x"} {
		if _, err := read(format, text, importer.Options{}); err == nil {
			t.Errorf("%s is read from %q", format, text)
		}
	}
}

// Nothing is guessed: a text in no known format is none.
func TestUnknownFormats(t *testing.T) {
	for _, text := range []string{
		"", "\x00GITCRYPT\x00", "<html><body>", "{}", "[]", `{"a": 3}`, "[section]\nkey = value", "ASP.NET_SessionId: abc\nHost: x", "just words\nand more",
		"report:\n  email:\n    to: a@b.example\n", "display: {}\n", "a,b,c\n1,2,3",
	} {
		if got, ok := importer.Detect(text); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

// A list is read in whichever encoding it is.
func TestEncodings(t *testing.T) {
	const list = "<opml><body><outline text='Zażółć gęślą jaźń' xmlUrl='https://a.example/feed'/></body></opml>"
	for label, mark := range map[string]string{"utf-8": "\ufeff", "utf-16le": "\ufeff", "utf-16be": "\ufeff", "iso-8859-2": "<?xml version='1.0' encoding='ISO-8859-2'?>"} {
		enc, _ := charset.Lookup(label)
		text, err := enc.NewEncoder().String(mark + list)
		if err != nil {
			t.Fatal(err)
		}
		format, _ := importer.Detect(text)
		entries, err := read(format, text, importer.Options{})
		if err != nil || len(entries) != 1 || entries[0].Source.Name != "Zażółć gęślą jaźń" {
			t.Errorf("%s: %s: %+v, %v", label, format, entries, err)
		}
	}
}

// A condition that no query can have is left out, and the others hold.
func TestInvalidConditions(t *testing.T) {
	entries, err := read(importer.Changedetection, `[{"url": "https://a.example/", "trigger_text": ["/(?=x)/"], "text_should_not_be_present": ["sold"]}]`, importer.Options{})
	if err != nil || len(entries) != 1 || entries[0].When != `!text.matches("(?i:sold)")` || len(entries[0].Notes) != 1 || !strings.Contains(entries[0].Notes[0], "(?=x)") {
		t.Errorf("%+v, %v", entries, err)
	}
}

// Intervals become levels, gaps or nothing.
func TestIntervals(t *testing.T) {
	const watch = `[{"url": "https://a.example/", "time_between_check": {"hours": 1, "minutes": 30}, "time_between_check_use_default": false}]`
	for as, want := range map[importer.Intervals]string{importer.AsLevels: "90% within 1h30m 0s", importer.AsGaps: " 1h30m", importer.Ignored: " 0s"} {
		entries, err := read(importer.Changedetection, watch, importer.Options{Intervals: as})
		if err != nil || len(entries) != 1 || entries[0].Source.Level+" "+entries[0].Source.MaxGap.String() != want {
			t.Errorf("%s: %+v, %v", as, entries, err)
		}
	}
}

// A setting that no source can have is left out, and the entry is not lost.
func TestInvalidSettings(t *testing.T) {
	for _, watch := range []string{
		`{"url": "https://a.example/", "time_between_check": {"seconds": 0.001}}`,
		`{"url": "https://a.example/", "headers": {"X": "a\nb"}}`, `{"url": "https://a.example/", "include_filters": ["p[", "xpath:///"]}`,
		`{"url": "https://a.example/", "tag": "` + strings.Repeat("x", 500) + `"}`, `{"url": "https://a.example/", "browser_steps": [{"operation": "Wait for seconds", "optional_value": "soon"}]}`,
	} {
		for _, as := range []importer.Intervals{importer.AsLevels, importer.AsGaps} {
			entries, err := read(importer.Changedetection, "["+watch+"]", importer.Options{Intervals: as})
			if err != nil || len(entries) != 1 || entries[0].Err != nil || len(entries[0].Notes) == 0 {
				t.Errorf("%s becomes %+v, %v", watch, entries, err)
			}
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
			_, _ = read(format, text, importer.Options{})
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
				_, _ = read(format, text, importer.Options{})
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

// A watch that cannot be read does not spoil the others, and an archive of one file is read as that file.
func TestFolders(t *testing.T) {
	l, err := importer.ReadFolder(fstest.MapFS{
		"changedetection.json": {Data: []byte("\ufeff{}")}, "a/watch.json": {Data: []byte(`{"url":`)}, "b/watch.json": {Data: []byte(`{"url": "https://b.example/"}`)},
	})
	entries, _ := read(l.Format, l.Text, importer.Options{})
	if err != nil || len(entries) != 2 || !strings.Contains(fmt.Sprint(entries[0].Err), "read a/watch.json") || entries[1].Source.URL != "https://b.example/" {
		t.Errorf("%+v, %v", entries, err)
	}
	l, err = importer.ReadFolder(fstest.MapFS{"feeds.opml": {Data: []byte("<opml>")}, "__MACOSX/._feeds.opml": {}})
	if err != nil || l.Text != "<opml>" {
		t.Errorf("an archive of one file is %+v, %v", l, err)
	}
}
