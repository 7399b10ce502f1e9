package extract_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		recipe reading.Recipe
		field  string // "" if it is good
		reason string
	}{
		{"nothing", reading.Recipe{}, "", ""},
		{"a kind", reading.Recipe{Kind: reading.Feed}, "", ""},
		{"a selector", reading.Recipe{CSS: "main > p:not(.x), #a [href^='x']"}, "", ""},
		{"a selector and its kind", reading.Recipe{Kind: reading.HTML, CSS: "p"}, "", ""},
		{"a path", reading.Recipe{JSONPath: "$.a[?@.b > 1]..c"}, "", ""},
		{"no such kind", reading.Recipe{Kind: "xlm"}, "select.kind", `unknown kind "xlm" (did you mean "xml"?); use html, json, feed, text, xml, csv, ical, pdf, xlsx, docx, or leave it out`},
		{"a selector for JSON", reading.Recipe{Kind: reading.JSON, CSS: "p"}, "select.kind", "a CSS selector needs html, not json"},
		{"a path for a feed", reading.Recipe{Kind: reading.Feed, JSONPath: "$"}, "select.kind", "a JSONPath needs json, not feed"},
		{"both", reading.Recipe{CSS: "p", JSONPath: "$"}, "select.jsonpath", "use a CSS selector or a JSONPath, not both"},
		{"a blank selector", reading.Recipe{CSS: "  "}, "select.css", "is blank; leave it out to watch the whole page"},
		{"an open bracket", reading.Recipe{CSS: "p > a[href"}, "select.css", `unexpected EOF in attribute selector at character 10 of "p > a[href"`},
		{"a stray character", reading.Recipe{CSS: "größe p$"}, "select.css", `unexpected character at character 8 of "größe p$"`},
		{"an unknown pseudo-class", reading.Recipe{CSS: "p:hoover > a"}, "select.css", `unknown pseudoclass or pseudoelement :hoover at character 8 of "p:hoover > a"`},
		{"a path without its root", reading.Recipe{JSONPath: "items[0]"}, "select.jsonpath", `unexpected identifier at position 1 in "items[0]"`},
		{"an open path", reading.Recipe{JSONPath: "$.items["}, "select.jsonpath", `unexpected eof at position 9 in "$.items["`},
		{"a path that is too long", reading.Recipe{JSONPath: "$" + strings.Repeat(".a", 600)}, "select.jsonpath", "is 1201 bytes long; the most is 1024"},
		{"a selector that is too long", reading.Recipe{CSS: strings.Repeat("a ", 600)}, "select.css", "is 1200 bytes long; the most is 1024"},
		{"a selector in no encoding", reading.Recipe{CSS: "p\xff"}, "select.css", "is not valid UTF-8"},
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
	_, err := extract.Extract(reading.Recipe{Kind: reading.JSON}, page("{"))
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
		want        reading.Kind
	}{
		{"text/html", "<p>a", reading.HTML},
		{"TEXT/HTML; charset", "<p>a", reading.HTML},
		{"application/xhtml+xml", "<html/>", reading.HTML},
		{"application/problem+json", "{}", reading.JSON},
		{"application/json", `{"version": "https://jsonfeed.org/version/1", "title": "T", "items": []}`, reading.Feed},
		{"application/atom+xml", atom, reading.Feed},
		{"text/xml", atom, reading.Feed},
		{"text/xml", "<urlset/>", reading.Text},
		{"image/svg+xml", "<svg/>", reading.Text},
		{"text/plain", `{"a": 1}`, reading.Text},
		{"text/csv", "a,b", reading.CSV},
		{"application/x-ndjson", "{}\n{}", reading.Text},
		{"application/javascript", "x", reading.Text},
		{"", "<!doctype html><p>a", reading.HTML},
		{"", atom, reading.Feed},
		{"", `  {"a": 1}`, reading.JSON},
		{"", `{not json`, reading.Text},
		{"", "just text", reading.Text},
		{"", "", reading.Text},
		{"application/octet-stream", "[1]", reading.JSON},
	}
	for _, tt := range tests {
		rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: tt.media, Body: []byte(tt.body)})
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
		r := reading.Recipe{Kind: reading.Kind(kind), CSS: css, JSONPath: path}
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
		rd, err := extract.Extract(reading.Recipe{Kind: reading.JSON}, resp)
		clean := strings.TrimPrefix(strings.ToValidUTF8(string(src), "\ufffd"), "\ufeff")
		if markless := !strings.HasPrefix(string(src), "\xff\xfe") && !strings.HasPrefix(string(src), "\xfe\xff"); markless && (err == nil) != json.Valid([]byte(clean)) {
			t.Fatalf("%q is read with %v, but the standard library says %v", src, err, json.Valid([]byte(clean)))
		}
		if err != nil {
			return
		}
		checkText(t, rd.Text)
		again, err := extract.Extract(reading.Recipe{Kind: reading.JSON}, freshet.Response{Body: rd.Text})
		if err != nil || string(again.Text) != string(rd.Text) {
			t.Errorf("%q becomes %q and then %q (%v)", src, rd.Text, again.Text, err)
		}
		if _, err := extract.Extract(reading.Recipe{JSONPath: "$..*"}, resp); err != nil && classOf(err) != extract.FailSelector {
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
		rd, err := extract.Extract(reading.Recipe{Kind: reading.Feed}, freshet.Response{Body: src})
		if err == nil {
			checkText(t, rd.Text)
		} else if classOf(err) == "" {
			t.Errorf("a feed fails with %v", err)
		}
	})
}
