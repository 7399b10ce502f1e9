package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"freshet/internal/dates"
	"freshet/internal/sites/sitemap"
)

const ns = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

var fetched = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// read returns the entries of a list, each on one line, and how reading went.
func read(t *testing.T, list string, base string) (lines []string, s sitemap.Summary, err error) {
	t.Helper()
	s, err = sitemap.Read(strings.NewReader(list), sitemap.Options{Base: base, Now: fetched}, func(e sitemap.Entry) error {
		line := e.URL
		if e.Sitemap {
			line += " sitemap"
		}
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.String()
		}
		if !e.Published.IsZero() && e.Published != e.LastMod {
			line += " published " + e.Published.String()
		}
		for _, a := range e.Alternates {
			line += " " + a.Lang + "=" + a.URL
		}
		lines = append(lines, line)
		return nil
	})
	return lines, s, err
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, list string
		kind       sitemap.Kind
		want       []string
		problems   []string // what each is about
		cut        bool
	}{
		{"a sitemap", `<?xml version="1.0" encoding="UTF-8"?>
<urlset` + ns + `>
 <url><loc>https://a.example/1</loc><lastmod>2026-03-01T10:00:00+02:00</lastmod><changefreq>Daily</changefreq><priority>0.8</priority></url>
 <url><loc>
   https://a.example/2?a=1&amp;b=2
 </loc><lastmod>2026-03-02</lastmod></url>
 <url><lastmod>2026-03-03</lastmod><loc><![CDATA[https://a.example/3?x&y]]></loc></url>
</urlset>`, sitemap.URLSet, []string{"https://a.example/1 2026-03-01T10:00:00+02:00", "https://a.example/2?a=1&b=2 2026-03-02", "https://a.example/3?x&y 2026-03-03"}, nil, false},
		{"an index", `<sitemapindex` + ns + `><sitemap><loc>https://a.example/s1.xml.gz</loc><lastmod>2026-01-01</lastmod></sitemap><sitemap><loc>/s2.xml</loc></sitemap></sitemapindex>`,
			sitemap.Index, []string{"https://a.example/s1.xml.gz sitemap 2026-01-01", "https://a.example/s2.xml sitemap"}, []string{"relative"}, false},
		{"images, videos and news", `<urlset` + ns + ` xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:n="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
<url><image:image><image:loc>https://a.example/p.png</image:loc><image:title>A</image:title></image:image><loc>https://a.example/1</loc>
<n:news><n:publication><n:name>N</n:name></n:publication><n:publication_date>2026-02-01T08:00Z</n:publication_date></n:news>
<video:video><video:player_loc>https://a.example/v</video:player_loc><video:publication_date>2020-01-01</video:publication_date></video:video></url>
<url><image:loc>https://a.example/q.png</image:loc><loc>https://a.example/2</loc></url>
<url><image><loc>https://a.example/r.png</loc></image></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/1 published 2026-02-01T08:00:00Z", "https://a.example/2"}, []string{"no URL"}, false},
		{"other languages", `<urlset` + ns + ` xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://a.example/en</loc>
<xhtml:link rel="alternate" hreflang="de" href="https://a.example/de?a=1&amp;b=2"/><xhtml:link rel='alternate' hreflang='x-default' href='/en'/>
<xhtml:link rel="stylesheet" href="/x.css"/></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/en de=https://a.example/de?a=1&b=2 x-default=https://a.example/en"}, []string{"relative"}, false},
		{"a prefix for all", `<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9"><sm:url><sm:loc>https://a.example/</sm:loc><sm:lastmod>2026</sm:lastmod></sm:url></sm:urlset>`,
			sitemap.URLSet, []string{"https://a.example/ 2026-01-01"}, nil, false},
		{"another namespace", `<urlset xmlns="http://www.google.com/schemas/sitemap/0.84"><url><loc>https://a.example/</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/"}, []string{"namespace"}, false},
		{"none, and capitals", `<URLSET><Url><LOC>https://a.example/</LOC><lastMod>2026-01-02</lastMod></Url></URLSET>`,
			sitemap.URLSet, []string{"https://a.example/ 2026-01-02"}, []string{"namespace"}, false},
		{"no root", `<url><loc>https://a.example/1</loc></url><url><loc>https://a.example/2</loc></url>`,
			sitemap.URLSet, []string{"https://a.example/1", "https://a.example/2"}, []string{"no <urlset>"}, false},
		{"warnings in front", "<br />\n<b>Warning</b>: a & b in <b>x.php</b>\n<?xml version='1.0'?><urlset" + ns + `><url><loc>https://a.example/</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/"}, nil, false},
		{"text in front", "Notice: undefined\n<urlset" + ns + `><url><loc>https://a.example/</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/"}, nil, false},
		{"two documents", `<urlset` + ns + `><url><loc>https://a.example/1</loc></url></urlset><?xml version="1.0"?><urlset` + ns + `><url><loc>https://a.example/2</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/1", "https://a.example/2"}, nil, false},
		{"empty", `<urlset` + ns + `/>`, sitemap.URLSet, nil, nil, false},
		{"comments and a document type", `<!DOCTYPE urlset SYSTEM "x.dtd"><!-- <url><loc>https://no.example/</loc></url> --><urlset` + ns + `><url><!-- > --><loc>https://a.example/</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/"}, []string{"document type"}, false},
		{"cut in an entry", `<urlset` + ns + ">\n<url><loc>https://a.example/1</loc></url>\n<url><loc>https://a.example/2</loc><lastm",
			sitemap.URLSet, []string{"https://a.example/1"}, []string{"cannot be read", "breaks off"}, true},
		{"cut between entries", `<urlset` + ns + `><url><loc>https://a.example/1</loc></url>`, sitemap.URLSet, []string{"https://a.example/1"}, []string{"breaks off"}, true},
		{"entries not closed", `<urlset` + ns + `><url><loc>https://a.example/1</loc><url><loc>https://a.example/2<lastmod>2026-01-01</lastmod></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/1", "https://a.example/2 2026-01-01"}, []string{"not closed"}, false},
		{"an image not closed", `<urlset` + ns + `><url><loc>https://a.example/1</loc><image:image></url><url><loc>https://a.example/2</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/1", "https://a.example/2"}, []string{"comes before the end"}, false},
		{"bare ampersands and entities", `<urlset` + ns + `><url><loc>https://a.example/?a=1&b=2&copy=3&#38;c=4&#x26;d&lol;</loc></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/?a=1&b=2&copy=3&c=4&d&lol;"}, nil, false},
		{"odd URLs", `<urlset` + ns + `><url><loc>http:\\a.example\b?c\d</loc></url><url><loc>HTTPS:/a.example/x</loc></url><url><loc>www.a.example/y</loc></url>
<url><loc>a.example/z</loc></url><url><loc>//a.example/s</loc></url><url><loc>pages/a.html</loc></url><url><loc>?q</loc></url><url><loc>mailto:x@a.example</loc></url>
<url><loc>https://a.example/a b</loc></url><url><loc>https://a.example/ü</loc></url><url><loc>a.html</loc></url><url><loc></loc></url><url/></urlset>`,
			sitemap.URLSet, []string{"http://a.example/b?c\\d", "HTTPS://a.example/x", "https://www.a.example/y", "https://a.example/z", "https://a.example/s", "https://a.example/dir/pages/a.html",
				"https://a.example/dir/sitemap.xml?q", "mailto:x@a.example", "https://a.example/a%20b", "https://a.example/ü", "https://a.example/dir/a.html"},
			[]string{"not spelt", "has no http://", "another host", "relative", "not the URL of a web page", "no URL"}, false},
		{"odd dates", `<urlset` + ns + `><url><loc>https://a.example/1</loc><lastmod>2024-1-5</lastmod></url><url><loc>https://a.example/2</loc><lastmod>soon</lastmod></url>
<url><loc>https://a.example/3</loc><lastmod>0000-00-00</lastmod></url><url><loc>https://a.example/4</loc><lastmod>2030-01-01</lastmod></url>
<url><loc>https://a.example/5</loc><lastmod>0001-01-01T00:00:00Z</lastmod></url><url><loc>https://a.example/6</loc><lastmod></lastmod><priority>high</priority></url></urlset>`,
			sitemap.URLSet, []string{"https://a.example/1 2024-01-05", "https://a.example/2", "https://a.example/3", "https://a.example/4 2030-01-01", "https://a.example/5", "https://a.example/6"},
			[]string{"not a date", "stands for none", "future", "priority"}, false},
		{"plain text", "\ufeff\r\nhttps://a.example/1\r\n# more\n\nhttps://a.example/2\tx\n  /three  \nnot a page\nwww.a.example\n", sitemap.Text,
			[]string{"https://a.example/1", "https://a.example/2", "https://a.example/three", "https://www.a.example"}, []string{"relative", "not a URL", "no http://", "another host"}, false},
		{"plain text of old", "https://a.example/1\rhttps://a.example/2\r", sitemap.Text, []string{"https://a.example/1", "https://a.example/2"}, nil, false},
		{"a template that nobody filled in", "---\nlayout: null\n---\n<?xml version='1.0'?>\n<urlset" + ns + ">{% for p in pages %}<url><loc>{{ p.url }}</loc><lastmod>{{ p.date }}</lastmod></url>{% endfor %}</urlset>",
			sitemap.URLSet, []string{"https://a.example/dir/%7B%7B%20p.url%20%7D%7D"}, []string{"not a date", "not spelt", "relative"}, false},
		{"RSS", `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><link>https://a.example/</link><image><url>https://a.example/i.png</url></image>
<item><title>A</title><link>https://a.example/1</link><guid>x</guid><pubDate>Sun, 01 Mar 2026 10:00:00 +0100</pubDate></item>
<item><guid>https://a.example/2</guid><dc:date>2026-03-02</dc:date></item><item><guid isPermaLink="false">https://a.example/3</guid></item></channel></rss>`,
			sitemap.RSS, []string{"https://a.example/1 2026-03-01T10:00:00+01:00", "https://a.example/2 2026-03-02"}, []string{"no URL"}, false},
		{"RDF", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="https://a.example/"><items><rdf:Seq><rdf:li rdf:resource="https://a.example/1"/></rdf:Seq></items></channel>
<item rdf:about="https://a.example/1"><title>A</title></item></rdf:RDF>`, sitemap.RSS, []string{"https://a.example/1"}, nil, false},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><id>https://a.example/feed</id><link href="https://a.example/"/><updated>2026-01-01T00:00:00Z</updated>
<entry><id>urn:1</id><link rel="edit" href="https://a.example/edit"/><link href="https://a.example/1"/><published>2026-01-02T00:00:00Z</published><updated>2026-01-03T00:00:00Z</updated>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><link href="https://no.example/"/></div></content><source><id>x</id><updated>2020-01-01T00:00:00Z</updated></source></entry></feed>`,
			sitemap.Atom, []string{"https://a.example/1 2026-01-03T00:00:00Z published 2026-01-02T00:00:00Z"}, nil, false},
		{"JSON Feed", `{"version": "https://jsonfeed.org/version/1.1", "author": {"a": [1]}, "items": [{"id": 7, "url": "https://a.example/1", "date_published": "2026-01-02T00:00:00Z"},
"what", {"id": "https://a.example/2", "date_modified": "2026-01-03T00:00:00Z", "date_published": "2026-01-02"}, {"id": "3"}], "x": null}`,
			sitemap.JSONFeed, []string{"https://a.example/1 2026-01-02T00:00:00Z", "https://a.example/2 2026-01-03T00:00:00Z published 2026-01-02"}, []string{"not an object", "no URL"}, false},
		{"a JSON Feed that is cut", `{"items": [{"url": "https://a.example/1"}, {"url": "https://a.exam`, sitemap.JSONFeed, []string{"https://a.example/1"}, []string{"breaks off"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, s, err := read(t, tt.list, "https://a.example/dir/sitemap.xml")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if s.Kind != tt.kind || s.Complete == tt.cut || s.Pages+s.Sitemaps != len(tt.want) || s.Bytes != int64(len(tt.list)) {
				t.Errorf("read as %+v", s)
			}
			problems(t, s, tt.problems)
		})
	}
}

// problems checks what the problems are about.
func problems(t *testing.T, s sitemap.Summary, want []string) {
	t.Helper()
	ok := len(s.Problems) == len(want)
	for i := range min(len(want), len(s.Problems)) {
		ok = ok && strings.Contains(s.Problems[i].Text, want[i])
	}
	if !ok {
		t.Errorf("problems are\n%v, want some of\n%q", s.Problems, want)
	}
}

// Problems of one kind are counted, with the line of the first.
func TestProblemsAreCounted(t *testing.T) {
	list := "<urlset" + ns + ">\n\n<url><loc>https://a.example/</loc><lastmod>x</lastmod></url>\n" + strings.Repeat("<url><loc>https://a.example/</loc><lastmod>y</lastmod></url>\n", 5000) + "</urlset>"
	_, s, err := read(t, list, "")
	if err != nil || len(s.Problems) != 1 {
		t.Fatalf("%v, %v", s, err)
	}
	if p := s.Problems[0]; p.Line != 3 || p.Count != 5001 || !strings.Contains(p.Text, `"x"`) {
		t.Errorf("the problem is %+v", p)
	}
}

// What is no list is refused, and the error says what it is.
func TestRefused(t *testing.T) {
	bomb := func(name string) string {
		return `<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY ` + name + ` "&a;&a;">]><urlset><url><loc>https://a.example/&lol;</loc></url></urlset>`
	}
	tests := []struct {
		name, list, want string
		err              error
	}{
		{"nothing", "", "empty", sitemap.ErrNotSitemap},
		{"blanks", " \n\t ", "empty", sitemap.ErrNotSitemap},
		{"an HTML page", "<!DOCTYPE html>\n<html><body><a href=x>y</a></body></html>", "HTML page", sitemap.ErrNotSitemap},
		{"other XML", "<error><code>NoSuchKey</code></error>", "begins with <error>", sitemap.ErrNotSitemap},
		{"other JSON", `{"a": [1, 2]}`, "not a JSON Feed", sitemap.ErrNotSitemap},
		{"prose", "Not found.\nSorry!\n", "without any URL", sitemap.ErrNotSitemap},
		{"long prose", strings.Repeat("Not found.\n", 100_000), "without any URL", sitemap.ErrNotSitemap},
		{"long XML", "<a>" + strings.Repeat("<b>c</b>\n", 1_000_000), "begins with <a>", sitemap.ErrNotSitemap},
		{"entities", bomb("lol"), "entities", sitemap.ErrEntities},
		{"a file as an entity", `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url></urlset>`, "entities", sitemap.ErrEntities},
		{"damaged gzip", "\x1f\x8b\x08xx", "not a sitemap", sitemap.ErrNotSitemap},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, s, err := read(t, tt.list, "")
			if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) || len(got) > 0 || s.Complete {
				t.Errorf("%q, %v, %+v", got, err, s)
			}
		})
	}
}

func pack(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const small = `<urlset` + ns + `><url><loc>https://a.example/1</loc></url><url><loc>https://a.example/2</loc></url></urlset>`

func TestGzip(t *testing.T) {
	once := pack(t, []byte(small))
	tests := []struct {
		name   string
		list   []byte
		layers int
		pages  int
		cut    bool
		err    error
	}{
		{"once", once, 1, 2, false, nil},
		{"twice", pack(t, once), 2, 2, false, nil},
		{"three times", pack(t, pack(t, once)), 3, 0, true, sitemap.ErrBomb},
		{"cut in the checksum", once[:len(once)-4], 1, 2, true, nil},
		{"wrong checksum", append(append([]byte{}, once[:len(once)-8]...), 1, 2, 3, 4, 5, 6, 7, 8), 1, 2, true, nil},
		{"cut at its beginning", once[:14], 1, 0, true, sitemap.ErrNotSitemap},
		{"in pieces", append(append([]byte{}, pack(t, []byte(small[:60]))...), pack(t, []byte(small[60:]))...), 1, 2, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, s, err := read(t, string(tt.list), "")
			if !errors.Is(err, tt.err) || len(got) != tt.pages || s.Gzip != tt.layers || s.Complete == tt.cut {
				t.Errorf("%d pages, %+v, %v", len(got), s, err)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	const list = `<?xml version="1.0" encoding="%s"?><urlset` + ns + `><url><loc>https://a.example/größe</loc></url></urlset>`
	as := func(name string) string { return strings.Replace(list, "%s", name, 1) }
	latin, err := charmap.ISO8859_1.NewEncoder().String(as("iso-8859-1"))
	if err != nil {
		t.Fatal(err)
	}
	bare, err := charmap.ISO8859_1.NewEncoder().String(as("utf-8"))
	if err != nil {
		t.Fatal(err)
	}
	wide := func(order unicode.Endianness, mark unicode.BOMPolicy, s string) string {
		out, err := unicode.UTF16(order, mark).NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const want = "https://a.example/größe"
	tests := []struct{ name, list, said, want, problem string }{
		{"UTF-8", as("utf-8"), "", want, ""},
		{"UTF-8 with a mark", "\ufeff" + as("utf-8"), "iso-8859-1", want, ""},
		{"declared otherwise", as("iso-8859-1"), "", want, ""},
		{"Latin 1", latin, "", want, ""},
		{"Latin 1, as the server says", bare, "iso-8859-1", want, ""},
		{"Latin 1, and nobody says", bare, "", "https://a.example/gr%F6%DFe", "no text"},
		{"UTF-16", wide(unicode.LittleEndian, unicode.UseBOM, as("utf-16")), "", want, ""},
		{"UTF-16, big", wide(unicode.BigEndian, unicode.UseBOM, as("utf-16")), "", want, ""},
		{"UTF-16 without a mark", wide(unicode.LittleEndian, unicode.IgnoreBOM, as("utf-16")), "", want, ""},
		{"UTF-8 that says it were UTF-16", as("utf-16"), "utf-16", want, ""},
		{"an encoding that there is not", as("klingon"), "", want, "not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			s, err := sitemap.Read(strings.NewReader(tt.list), sitemap.Options{Charset: tt.said}, func(e sitemap.Entry) error {
				got = e.URL
				return nil
			})
			if err != nil || got != tt.want || !s.Complete {
				t.Errorf("read %q, %+v, %v", got, s, err)
			}
			if tt.problem == "" && len(s.Problems) > 0 || tt.problem != "" && (len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Text, tt.problem)) {
				t.Errorf("problems: %v", s.Problems)
			}
		})
	}
}

// Beyond a limit nothing is read, what came before counts, and a list that ends
// exactly there is complete.
func TestLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("<urlset" + ns + ">")
	for i := range 10 {
		fmt.Fprintf(&b, "<url><loc>https://a.example/%d</loc></url>", i)
	}
	b.WriteString("</urlset>")
	list := b.String()
	tests := []struct {
		name     string
		limits   sitemap.Limits
		pages    int
		complete bool
	}{
		{"none", sitemap.Limits{}, 10, true},
		{"as many entries", sitemap.Limits{Entries: 10}, 10, true},
		{"more entries", sitemap.Limits{Entries: 9}, 9, false},
		{"as many bytes", sitemap.Limits{Bytes: int64(len(list))}, 10, true},
		{"more bytes", sitemap.Limits{Bytes: int64(len(list)) - 60}, 8, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			s, err := sitemap.Read(strings.NewReader(list), sitemap.Options{Limits: tt.limits}, func(sitemap.Entry) error { n++; return nil })
			if err != nil || n != tt.pages || s.Pages != n || s.Complete != tt.complete || tt.complete == (len(s.Problems) > 0) {
				t.Errorf("%d pages, %+v, %v", n, s, err)
			}
		})
	}
}

// A plain list does not show that it is cut, but a limit does.
func TestLimitOfPlainList(t *testing.T) {
	const list = "https://a.example/1\nhttps://a.example/2\nhttps://a.example/3\n"
	for limit, complete := range map[int64]bool{int64(len(list)): true, int64(len(list)) - 20: false} {
		s, err := sitemap.Read(strings.NewReader(list), sitemap.Options{Limits: sitemap.Limits{Bytes: limit}}, func(sitemap.Entry) error { return nil })
		if err != nil || s.Complete != complete {
			t.Errorf("up to %d bytes: %+v, %v", limit, s, err)
		}
	}
}

// An error of the function or of the reader ends reading and is returned.
func TestErrorsAreReturned(t *testing.T) {
	stop := errors.New("stop")
	for name, list := range map[string]string{"XML": small, "text": "https://a.example/1\nhttps://a.example/2\n", "JSON": `{"items": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}`} {
		n := 0
		s, err := sitemap.Read(strings.NewReader(list), sitemap.Options{}, func(sitemap.Entry) error { n++; return stop })
		if err != stop || n != 1 || s.Complete {
			t.Errorf("%s: %v after %d", name, err, n)
		}
		broken := errors.New("connection reset")
		s, err = sitemap.Read(io.MultiReader(strings.NewReader(list[:len(list)-15]), iotest.ErrReader(broken)), sitemap.Options{}, func(sitemap.Entry) error { return nil })
		if !errors.Is(err, broken) || s.Complete {
			t.Errorf("%s: %v of a broken connection, %+v", name, err, s)
		}
	}
}

// However a list arrives, it reads the same.
func TestOneByteAtATime(t *testing.T) {
	list := "<?xml version='1.0'?><urlset" + ns + ">\n<!-- c --><url><loc><![CDATA[https://a.example/1]]>&amp;x</loc><lastmod>2026-01-02</lastmod></url><url><loc>https://a.example/2</loc></url></urlset>"
	want, _, _ := read(t, list, "")
	var got []string
	s, err := sitemap.Read(iotest.OneByteReader(strings.NewReader(list)), sitemap.Options{}, func(e sitemap.Entry) error {
		line := e.URL
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.String()
		}
		got = append(got, line)
		return nil
	})
	if err != nil || !s.Complete || !cmp.Equal(want, got) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
}

// In JSON a date is one string, and none is left out.
func TestDateInJSON(t *testing.T) {
	type dated struct {
		At dates.Date `json:"at,omitzero"`
	}
	day, _ := dates.Parse([]byte("2026-03"))
	for want, d := range map[string]dates.Date{`{"at":"2026-03-01"}`: day, `{}`: {}} {
		if got, err := json.Marshal(dated{d}); err != nil || string(got) != want {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}
