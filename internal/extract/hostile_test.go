package extract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
)

// zoo makes the responses of the cases in testdata/hostile.json, by id.
var zoo = map[string]func() freshet.Response{
	"parse-html_deep":      func() freshet.Response { return page(strings.Repeat("<div>", 200_000) + "bottom") },
	"parse-html_adoption":  func() freshet.Response { return page(strings.Repeat("<b><p>", 20_000) + "bottom") },
	"parse-html_attrs":     func() freshet.Response { return page("<p" + strings.Repeat(" a", 1_000_000) + ">bottom") },
	"parse-html_text_50MB": func() freshet.Response { return page(strings.Repeat("0123456789abcde ", 30<<16)) },
	"parse-xml_deep": func() freshet.Response {
		return feedOf("<rss><channel>" + strings.Repeat("<a>", 1_000_000))
	},
	"parse-xml_entities": func() freshet.Response {
		return feedOf(`<!DOCTYPE rss [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>` +
			`<rss version="2.0"><channel><item><title>x&b;&c;y</title></item></channel></rss>`)
	},
	"parse-json_wide": func() freshet.Response { return jsonOf("[" + strings.Repeat("0,", 5_000_000) + "0]") },
	"parse-json_deep": func() freshet.Response { return jsonOf(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)) },
	"parse-json_indent": func() freshet.Response {
		return jsonOf(strings.Repeat("[", 9_999) + strings.Repeat("0,", 1_000_000) + "0" + strings.Repeat("]", 9_999))
	},
	"parse-json_number": func() freshet.Response { return jsonOf("[1e999999999, " + strings.Repeat("9", 1<<20) + "]") },
	"parse-feed_1M_items": func() freshet.Response {
		return feedOf(`<rss version="2.0"><channel><title>T</title>` + strings.Repeat("<item><title>i</title></item>", 1_000_000) + "</channel></rss>")
	},
	"parse-feed_date_future": func() freshet.Response {
		resp := feedOf(`<rss version="2.0"><channel>` +
			`<item><title>a</title><pubDate>Thu, 01 Jan 2099 00:00:00 GMT</pubDate></item>` +
			`<item><title>b</title><pubDate>Sat, 01 Jan 0000 00:00:00 GMT</pubDate></item>` +
			`<item><title>c</title><pubDate>Sun, 01 Mar 2026 00:00:00 GMT</pubDate></item></channel></rss>`)
		resp.Header = map[string][]string{"Date": {"Mon, 02 Mar 2026 00:00:00 GMT"}}
		return resp
	},
	"parse-zip_bomb": func() freshet.Response {
		return freshet.Response{MediaType: "application/zip", Body: []byte("PK\x03\x04\x00\x00")}
	},
	"parse-pdf_svg_image": func() freshet.Response {
		return freshet.Response{MediaType: "application/pdf", Body: []byte("%PDF-1.7\x00\xff")}
	},
	"enc-utf8_invalid": func() freshet.Response { return page("<p>a\xffb\xc3(</p>") },
	"enc-charset_conflict": func() freshet.Response {
		return freshet.Response{MediaType: "text/html; charset=iso-8859-1", Body: utf16le("\ufeff<meta charset=utf-8><p>größer")}
	},
	"enc-iso2022jp": func() freshet.Response {
		return freshet.Response{MediaType: "text/html; charset=iso-2022-jp", Body: []byte("<p>\x1b$B$\"\x1b(B</p><script>x</script>")}
	},
	"enc-nul_bytes": func() freshet.Response { return page("<p>a\x00b</p><\x00p>\x00c") },
	"enc-bidi":      func() freshet.Response { return page("<title>\u202eevil\u202c gpj.exe</title><p>\u202eb") },
	"content-nonce": func() freshet.Response {
		return page(`<form><input type=hidden name=csrf value=` + fmt.Sprint(time.Now().UnixNano()) + `><p>same</p></form><script nonce=x>now</script>`)
	},
}

func feedOf(s string) freshet.Response {
	return freshet.Response{MediaType: "application/rss+xml", Body: []byte(s)}
}

func jsonOf(s string) freshet.Response {
	return freshet.Response{MediaType: "application/json", Body: []byte(s)}
}

func utf16le(s string) (b []byte) {
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return b
}

// A hostileCase says what is expected of one beast, or of it under a recipe.
type hostileCase struct {
	ID     string // of the beast, and behind a "+" what is special
	Recipe reading.Recipe
	Fails  failure.Class // "" if it can be read
	Text   string        // the start of the text
	Title  string
	Lines  int // if not zero
}

// TestHostile reads what hostile servers send. The cases and what is expected
// of them are in testdata/hostile.json.
func TestHostile(t *testing.T) {
	data, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []hostileCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		id, _, _ := strings.Cut(c.ID, "+")
		t.Run(c.ID, func(t *testing.T) {
			resp := zoo[id]
			if resp == nil {
				t.Fatal("there is no such beast in the zoo")
			}
			rd, err := extract.Extract(c.Recipe, resp())
			if classOf(err) != c.Fails || (err != nil) != (c.Fails != "") {
				t.Fatalf("it fails with %q (%v), want %q", classOf(err), err, c.Fails)
			}
			checkText(t, rd.Text)
			if !strings.HasPrefix(string(rd.Text), c.Text) || c.Text == "" && len(rd.Text) > 0 {
				t.Errorf("the text starts with %.60q, want %.60q", rd.Text, c.Text)
			}
			if rd.Title != c.Title {
				t.Errorf("the title is %q, want %q", rd.Title, c.Title)
			}
			if n := bytes.Count(rd.Text, []byte("\n")); c.Lines > 0 && n != c.Lines {
				t.Errorf("the text has %d lines, want %d", n, c.Lines)
			}
		})
	}
	for id := range zoo {
		if !slices.ContainsFunc(cases, func(c hostileCase) bool { return strings.HasPrefix(c.ID, id) }) {
			t.Errorf("nothing is expected of %s", id)
		}
	}
}

func TestModifiedIgnoresSlips(t *testing.T) {
	rd, err := extract.Extract(reading.Recipe{}, zoo["parse-feed_date_future"]())
	if want := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC); err != nil || !rd.Modified.Equal(want) {
		t.Errorf("the feed is dated %v, want %v (%v)", rd.Modified, want, err)
	}
}
