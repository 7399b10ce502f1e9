package extract_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/invalid"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		recipe freshet.Recipe
		field  string // "" if it is good
		reason string
	}{
		{"nothing", freshet.Recipe{}, "", ""},
		{"a kind", freshet.Recipe{Kind: freshet.Feed}, "", ""},
		{"a selector", freshet.Recipe{CSS: "main > p:not(.x), #a [href^='x']"}, "", ""},
		{"a selector and its kind", freshet.Recipe{Kind: freshet.HTML, CSS: "p"}, "", ""},
		{"a path", freshet.Recipe{JSONPath: "$.a[?@.b > 1]..c"}, "", ""},
		{"no such kind", freshet.Recipe{Kind: "xlm"}, "select.kind", `unknown kind "xlm" (did you mean "xml"?); use html, json, feed, text, xml, csv, ical, pdf, xlsx, or leave it out`},
		{"a selector for JSON", freshet.Recipe{Kind: freshet.JSON, CSS: "p"}, "select.kind", "a CSS selector needs html, not json"},
		{"a path for a feed", freshet.Recipe{Kind: freshet.Feed, JSONPath: "$"}, "select.kind", "a JSONPath needs json, not feed"},
		{"both", freshet.Recipe{CSS: "p", JSONPath: "$"}, "select.jsonpath", "use a CSS selector or a JSONPath, not both"},
		{"a blank selector", freshet.Recipe{CSS: "  "}, "select.css", "is blank; leave it out to watch the whole page"},
		{"an open bracket", freshet.Recipe{CSS: "p > a[href"}, "select.css", `unexpected EOF in attribute selector at character 10 of "p > a[href"`},
		{"a stray character", freshet.Recipe{CSS: "größe p$"}, "select.css", `unexpected character at character 8 of "größe p$"`},
		{"an unknown pseudo-class", freshet.Recipe{CSS: "p:hoover > a"}, "select.css", `unknown pseudoclass or pseudoelement :hoover at character 8 of "p:hoover > a"`},
		{"a path without its root", freshet.Recipe{JSONPath: "items[0]"}, "select.jsonpath", `unexpected identifier at position 1 in "items[0]"`},
		{"an open path", freshet.Recipe{JSONPath: "$.items["}, "select.jsonpath", `unexpected eof at position 9 in "$.items["`},
		{"a path that is too long", freshet.Recipe{JSONPath: "$" + strings.Repeat(".a", 600)}, "select.jsonpath", "is 1201 bytes long; the most is 1024"},
		{"a selector that is too long", freshet.Recipe{CSS: strings.Repeat("a ", 600)}, "select.css", "is 1200 bytes long; the most is 1024"},
		{"a selector in no encoding", freshet.Recipe{CSS: "p\xff"}, "select.css", "is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := extract.Check(tt.recipe)
			if tt.field == "" {
				if err != nil {
					t.Errorf("a good recipe is refused: %v", err)
				}
				return
			}
			e, ok := errors.AsType[*invalid.Error](err)
			if !ok || e.Field != tt.field || e.Reason != tt.reason {
				t.Errorf("the error is %v, want %s: %s", err, tt.field, tt.reason)
			}
			if _, err := extract.Extract(tt.recipe, page("<p>a")); err == nil {
				t.Error("Extract takes a recipe that Check refuses")
			}
		})
	}
}

func TestErrorUnwraps(t *testing.T) {
	_, err := extract.Extract(freshet.Recipe{Kind: freshet.JSON}, page("{"))
	if !classOf(err).Is(failure.Extract) || classOf(err) != extract.FailParse {
		t.Errorf("the class is %q, want %q", classOf(err), extract.FailParse)
	}
	if freshet.HintOf(err) == "" {
		t.Error("there is no hint")
	}
}

func TestKind(t *testing.T) {
	const atom = `<?xml version="1.0"?><!-- x --><feed xmlns="http://www.w3.org/2005/Atom"><title>T</title></feed>`
	tests := []struct {
		media, body string
		want        freshet.Kind
	}{
		{"text/html", "<p>a", freshet.HTML},
		{"TEXT/HTML; charset", "<p>a", freshet.HTML},
		{"application/xhtml+xml", "<html/>", freshet.HTML},
		{"application/problem+json", "{}", freshet.JSON},
		{"application/json", `{"version": "https://jsonfeed.org/version/1", "title": "T", "items": []}`, freshet.Feed},
		{"application/atom+xml", atom, freshet.Feed},
		{"text/xml", atom, freshet.Feed},
		{"text/xml", "<urlset/>", freshet.Text},
		{"image/svg+xml", "<svg/>", freshet.Text},
		{"text/plain", `{"a": 1}`, freshet.Text},
		{"text/csv", "a,b", freshet.CSV},
		{"application/x-ndjson", "{}\n{}", freshet.Text},
		{"application/javascript", "x", freshet.Text},
		{"", "<!doctype html><p>a", freshet.HTML},
		{"", atom, freshet.Feed},
		{"", `  {"a": 1}`, freshet.JSON},
		{"", `{not json`, freshet.Text},
		{"", "just text", freshet.Text},
		{"", "", freshet.Text},
		{"application/octet-stream", "[1]", freshet.JSON},
	}
	for _, tt := range tests {
		rd, err := extract.Extract(freshet.Recipe{}, freshet.Response{MediaType: tt.media, Body: []byte(tt.body)})
		if err != nil || rd.Kind != tt.want {
			t.Errorf("%q as %q is read as %q, want %q (%v)", tt.body, tt.media, rd.Kind, tt.want, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("html", "p > a", "")
	f.Add("", "p[", "")
	f.Add("json", "", "$.a[?match(@.b, 'c')]")
	resp := page(`<p class=a>{"a": [1, {"b": "c"}]}</p>`)
	f.Fuzz(func(t *testing.T, kind, css, path string) {
		r := freshet.Recipe{Kind: freshet.Kind(kind), CSS: css, JSONPath: path}
		if err := extract.Check(r); err != nil {
			if e, ok := errors.AsType[*invalid.Error](err); !ok || e.Field == "" || e.Reason == "" || strings.ContainsAny(e.Reason, "\n\x1b") {
				t.Errorf("the error of Check is %#v", err)
			}
			return
		}
		if rd, err := extract.Extract(r, resp); err == nil {
			checkText(t, rd.Text)
		} else if classOf(err) == "" {
			t.Errorf("a good recipe fails with %v", err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"b": [1, 2.5e3, -0], "a": "\u00e4\ud83d\ude00"}`, "[[]]", "nul", `"\x"`, "01", `{"a":1,}`, "1 2", `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		resp := freshet.Response{MediaType: "application/json; charset=utf-8", Body: src}
		rd, err := extract.Extract(freshet.Recipe{Kind: freshet.JSON}, resp)
		clean := strings.TrimPrefix(strings.ToValidUTF8(string(src), "\ufffd"), "\ufeff")
		if markless := !strings.HasPrefix(string(src), "\xff\xfe") && !strings.HasPrefix(string(src), "\xfe\xff"); markless && (err == nil) != json.Valid([]byte(clean)) {
			t.Fatalf("%q is read with %v, but the standard library says %v", src, err, json.Valid([]byte(clean)))
		}
		if err != nil {
			return
		}
		checkText(t, rd.Text)
		again, err := extract.Extract(freshet.Recipe{Kind: freshet.JSON}, freshet.Response{Body: rd.Text})
		if err != nil || string(again.Text) != string(rd.Text) {
			t.Errorf("%q becomes %q and then %q (%v)", src, rd.Text, again.Text, err)
		}
		if _, err := extract.Extract(freshet.Recipe{JSONPath: "$..*"}, resp); err != nil && classOf(err) != extract.FailSelector {
			t.Errorf("a path into %q fails with %v", src, err)
		}
	})
}

func FuzzFeed(f *testing.F) {
	f.Add([]byte(`<rss version="2.0"><channel><title>T</title><item><title>&lt;b&gt;</title><pubDate>x</pubDate></item></channel></rss>`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="xhtml"><div>a</div></title></entry></feed>`))
	f.Add([]byte(`{"version": "https://jsonfeed.org/version/1", "items": [{"id": 1}]}`))
	f.Add([]byte(`<item><pubDate>0<item>`)) // the second says nothing
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY a "b">]><rdf:RDF><item><![CDATA[</item>]]></item></rdf:RDF>`))
	f.Fuzz(func(t *testing.T, src []byte) {
		rd, err := extract.Extract(freshet.Recipe{Kind: freshet.Feed}, freshet.Response{Body: src})
		if err == nil {
			checkText(t, rd.Text)
		} else if classOf(err) == "" {
			t.Errorf("a feed fails with %v", err)
		}
	})
}
