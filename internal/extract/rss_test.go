package extract_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
)

// sampleFeeds are feeds that the reader of RSS has to understand, but for those that are called otherwise.
var sampleFeeds = map[string]string{
	"plain":         `<rss version="2.0"><channel><title>T</title><item><title>one</title><link>http://a.example/1</link><guid isPermaLink="false">1</guid><pubDate>Tue, 06 Jan 2026 12:30:00 GMT</pubDate><description>text</description></item></channel></rss>`,
	"entities":      "<rss><channel><title> A &amp; B &copy; </title><item><title>&lt;b&gt;x&lt;/b&gt; &amp;amp; &#39;q&#39; &nbsp; AT&T a&copy=2;</title><link>http://a.example/?a=1&amp;b=2</link><description>&#8217;\r\n &hellip;</description></item></channel></rss>",
	"cdata":         `<rss><channel><title><![CDATA[T & U]]></title><item><title>a <![CDATA[<b>b</b>]]> c &amp; <![CDATA[&amp;]]></title><description><![CDATA[<p>x</p>]]></description></item></channel></rss>`,
	"markup":        `<rss><channel><item><title>a <b class="x">b</b> <br/> c</title><description><div><p>one</p></div></description></item></channel></rss>`,
	"namespaces":    `<rss xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link href="http://a.example/feed" rel="self"/><d:title>dublin</d:title><item><d:title>t</d:title><d:creator><![CDATA[ Me &amp; ]]></d:creator><d:date>2026-01-02T03:04:05+01:00</d:date><d:subject>s1</d:subject><d:subject>s2 &amp; s3</d:subject><category domain="x">c</category><content:encoded><![CDATA[<p>c</p>]]></content:encoded><media:content url="http://a.example/i.png"><media:title>no</media:title></media:content></item></channel></rss>`,
	"podcast":       `<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>P</title><itunes:author>Feed</itunes:author><item><itunes:author>a@b.example (Jane (J) Doe)</itunes:author><itunes:summary>sum</itunes:summary><itunes:keywords>a, b,c</itunes:keywords></item><item><author>"Jane Doe" &lt;a@b.example&gt;</author></item><item><author>Jane (a@b.example)</author></item><item><author>a@b.example</author></item></channel></rss>`,
	"undeclared":    `<rss><channel><item><dc:creator>x</dc:creator><dc:date>2026-01-02T03:04:05Z</dc:date><content:encoded>e</content:encoded><foo:bar>1</foo:bar></item></channel></rss>`,
	"rdf":           `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="http://a.example/"><title>R</title><items><rdf:Seq><rdf:li rdf:resource="x"/></rdf:Seq></items></channel><item rdf:about="x"><title>one</title><link>http://a.example/1</link><dc:date>2026-01-02T03:04:05Z</dc:date></item></rdf:RDF>`,
	"comments":      "<!-- head -->\n<rss><!-- a --><channel>text<title>T<!-- b --></title><item><!-- c --><title>x</title></item></channel></rss><!-- tail",
	"case":          `<RSS><Channel><TITLE>T</TITLE><Item><Title>x</Title><PubDate>Tue, 06 Jan 2026 12:30:00 +0100</PubDate><GUID>g</GUID></Item></Channel></RSS>`,
	"twice":         `<rss><channel><item><title>a</title><title>b</title><guid>1</guid><guid/><pubDate>Tue, 06 Jan 2026 12:30:00 GMT</pubDate><pubDate></pubDate><description>d</description><description></description></item></channel></rss>`,
	"empty":         `<rss><channel/></rss>`,
	"empty item":    `<rss><channel><item/><item></item></channel></rss>`,
	"unlike":        "<rss version='2.0' xmlns='http://backend.userland.com/rss2'>\n<channel >\n<item ><title\n>é</title\n></item></channel></rss>",
	"instructions":  `<?xml-stylesheet type="text/xsl" href="x"?><rss><channel><?a?><title>T<?b c?></title><item><title>x</title></item></channel></rss>`,
	"not: atom":     `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>x</title></entry></feed>`,
	"not: cut":      `<rss><channel><item><title>x</title></item>`,
	"not: mismatch": `<rss><channel><item><title>x</b></title></item></channel></rss>`,
	"not: date":     `<rss><channel><item><pubDate>6 Jan 26</pubDate></item></channel></rss>`,
	"not: named":    `<rss><channel><item><pubDate>Tue, 06 Jan 2026 12:30:00 EST</pubDate></item></channel></rss>`,
	"not: base":     `<rss xml:base="http://a.example/"><channel><item><link>b</link></item></channel></rss>`,
	"not: href":     `<rss><channel><item><link href="http://a.example/ b"/></item></channel></rss>`,
	"not: atom in":  `<rss xmlns:a="http://www.w3.org/2005/Atom"><channel><item><a:updated>2026-01-02T03:04:05Z</a:updated></item></channel></rss>`,
	"not: end":      `<rss><channel><item><title>a]]></title><description>&lt;![CDATA[</description></item></channel></rss>`,
	"not: comment":  `<rss><channel><title>a<!-- -- --></title></channel></rss>`,
	"not: number":   `<rss><channel><item><title>a&#1;</title></item></channel></rss>`,
	"not: control":  "<rss><channel><item><title>a\x01b</title></item></channel></rss>",
	"not: doctype":  `<!DOCTYPE rss [<!ENTITY a "b">]><rss><channel><item><title>&a;</title></item></channel></rss>`,
	"not: two":      `<rss><channel><item><title>a</title></item></channel><channel><title>T</title></channel></rss>`,
	"not: foreign":  `<rss xmlns:dc="http://a.example/"><channel><item><dc:date>2026-01-02T03:04:05Z</dc:date></item></channel></rss>`,
	"not: own":      `<rss><channel><item xmlns="http://www.w3.org/2005/Atom"><title>x</title></item></channel></rss>`,
	"not: text":     `x<rss><channel><item><title>x</title></item></channel></rss>`,
	"not: json":     `{"version":"https://jsonfeed.org/version/1","items":[{"id":"1"}]}`,
}

func TestRSSReadsAsGofeed(t *testing.T) {
	for name, src := range sampleFeeds {
		found, want, understood, err := extract.ReadRSS([]byte(src))
		if understood == strings.HasPrefix(name, "not: ") {
			t.Errorf("%s: it is understood: %v", name, understood)
		}
		if understood && (found != want || err != nil) {
			t.Errorf("%s: it reads\n%sand gofeed (%v)\n%s", name, found, err, want)
		}
	}
}

// gofeed comes with a thousand feeds that are odd in one way each.
func TestRSSReadsTheFeedsOfGofeed(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/mmcdole/gofeed").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, understood := 0, 0
	readFeedsIn(t, filepath.Join(strings.TrimSpace(string(dir)), "testdata"), func(path string, src []byte) {
		files++
		found, want, ok, err := extract.ReadRSS(src)
		if !ok {
			return
		}
		if understood++; found != want || err != nil {
			t.Errorf("%s reads\n%sand by gofeed (%v)\n%s", path, found, err, want)
		}
	})
	if files < 500 || understood < 200 {
		t.Errorf("%d of %d feeds are understood, want 200 of 500 and more", understood, files)
	}
}

// readFeedsIn calls a function with each file of a directory, as it would be handed to a parser.
func readFeedsIn(t *testing.T, dir string, read func(path string, src []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bound, err := extract.BoundFeed(src); err == nil {
			read(path, bound)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Feeds that are put together from pieces of others read as by gofeed, if they are understood.
func TestRSSReadsAnyPieces(t *testing.T) {
	pieces := []string{
		"<rss>", "</rss>", "<channel>", "</channel>", "<item>", "</item>", "<title>", "</title>", "<title/>", "<link>", "</link>", "<dc:date>", "</dc:date>",
		"<pubDate>", "</pubDate>", "Tue, 06 Jan 2026 12:30:00 GMT", "2026-01-02T03:04:05Z", "<![CDATA[", "]]>", "<!--", "-->", "--", "<?a", "<?xml", "?>", "&amp;", "&", "&#39;", "&#x1;", ";", "&copy=1;",
		"\r\n", "a", "é", "<b>", "</b>", "<br/>", " x=\"1\"", "<content:encoded>", "</content:encoded>", "<rss xmlns:dc=\"http://purl.org/dc/elements/1.1/\">", "<", ">", "\"", "<author>", "</author>", "a@b (c)", "\u00a0",
	}
	rapid.Check(t, func(t *rapid.T) {
		inside := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		for _, src := range []string{inside, "<rss><channel>" + inside + "</channel></rss>", "<rss><channel><item>" + inside + "</item></channel></rss>", "<rss><channel><item><title>" + inside + "</title></item></channel></rss>"} {
			found, want, understood, err := extract.ReadRSS([]byte(src))
			if understood && (found != want || err != nil) {
				t.Fatalf("%q reads\n%sand by gofeed (%v)\n%s", src, found, err, want)
			}
		}
	})
}

func FuzzRSS(f *testing.F) {
	for _, src := range sampleFeeds {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		found, want, understood, err := extract.ReadRSS(src)
		if understood && (found != want || err != nil) {
			t.Errorf("it reads\n%sand by gofeed (%v)\n%s", found, err, want)
		}
	})
}

// A text without markup is as it is written.
func TestPlainTitlesStay(t *testing.T) {
	pieces := []string{"a", "word", " ", "  ", "\t", "\n", "-", "#", "|", "&", "&amp;", "<b>", ">", "é", "\u00a0", "\u200b", "\x7f", "\xff", strings.Repeat("x", 400)}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		if title, want := extract.PlainTitles(in); title != want {
			t.Fatalf("%q reads %q, want %q", in, title, want)
		}
	})
}
