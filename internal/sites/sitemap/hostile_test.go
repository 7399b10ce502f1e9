package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/internal/sites/sitemap"
)

// A pattern repeats a text for so many bytes, without holding them.
type pattern struct {
	text string
	at   int
	left int
}

func (p *pattern) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(len(b), p.left)]
	for n := 0; n < len(b); {
		k := copy(b[n:], p.text[p.at:])
		p.at = (p.at + k) % len(p.text)
		n += k
	}
	p.left -= len(b)
	return len(b), nil
}

// large returns a sitemap of so many entries, made while it is read.
func large(entries int) io.Reader {
	at := 0
	var rest []byte
	return readerFunc(func(b []byte) (int, error) {
		for len(rest) == 0 {
			switch {
			case at == 0:
				rest = []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset" + ns + ">\n")
			case at <= entries:
				rest = append(rest, "  <url>\n    <loc>https://www.a.example/shop/category/product-"...)
				rest = strconv.AppendInt(rest, int64(at)*2654435761, 10)
				rest = append(rest, ".html?lang=en&amp;ref=sitemap</loc>\n    <lastmod>2026-03-"...)
				rest = append(rest, byte('0'+at%3), byte('1'+at%9))
				rest = append(rest, "T10:15:30+02:00</lastmod>\n    <changefreq>weekly</changefreq>\n    <priority>0.5</priority>\n  </url>\n"...)
			case at == entries+1:
				rest = []byte("</urlset>\n")
			default:
				return 0, io.EOF
			}
			at++
		}
		n := copy(b, rest)
		rest = rest[n:]
		return n, nil
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// A sitemap larger than the protocol allows is read in a few megabytes of memory.
func TestMemoryIsConstant(t *testing.T) {
	const entries = 240_000 // 55 MB
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	n := 0
	s, err := sitemap.Read(large(entries), sitemap.Options{}, func(sitemap.Entry) error {
		if n++; n%50_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return nil
	})
	if err != nil || n != entries || !s.Complete || s.Bytes < sitemap.MaxBytes {
		t.Fatalf("%d entries, %+v, %v", n, s, err)
	}
	problems(t, s, []string{"50000 entries", "50 MB"})
	used := int64(most) - int64(before.HeapAlloc)
	t.Logf("%d KB of memory for %d MB", used>>10, s.Bytes>>20)
	if used > 1<<20 {
		t.Errorf("reading %d MB held %d KB of memory", s.Bytes>>20, used>>10)
	}
}

// Whatever is sent, reading ends soon and holds little.
func TestHostile(t *testing.T) {
	const much = 4 << 20
	head := "<urlset" + ns + ">"
	packed := func(r io.Reader) io.Reader {
		pr, pw := io.Pipe()
		go func() {
			w := gzip.NewWriter(pw)
			_, err := io.Copy(w, r)
			pw.CloseWithError(errors.Join(err, w.Close()))
		}()
		return pr
	}
	tests := []struct {
		name string
		list io.Reader
		err  error
	}{
		{"endless text", &pattern{text: "x", left: much}, sitemap.ErrNotSitemap},
		{"endless blanks", &pattern{text: " ", left: much}, sitemap.ErrNotSitemap},
		{"endless <", io.MultiReader(strings.NewReader(head), &pattern{text: "<", left: much}), nil},
		{"endless quotes", io.MultiReader(strings.NewReader(head), &pattern{text: `<a b="`, left: much}), nil},
		{"an endless tag", io.MultiReader(strings.NewReader(head), &pattern{text: `<a `, left: 3}, &pattern{text: `b="c" `, left: much}), nil},
		{"an endless comment", io.MultiReader(strings.NewReader(head+"<!--"), &pattern{text: "- ->", left: much}), nil},
		{"endless CDATA", io.MultiReader(strings.NewReader(head+"<url><loc><![CDATA["), &pattern{text: "]] ", left: much}), nil},
		{"an endless URL", io.MultiReader(strings.NewReader(head+"<url><loc>https://a.example/"), &pattern{text: "&amp;", left: much}), nil},
		{"endless ampersands", io.MultiReader(strings.NewReader(head+"<url><loc>"), &pattern{text: "&", left: much}), nil},
		{"endless depth", io.MultiReader(strings.NewReader(head), &pattern{text: "<a>", left: much}), nil},
		{"an endless document type", io.MultiReader(strings.NewReader("<!DOCTYPE a ["), &pattern{text: "<!ELEMENT a>", left: much}), sitemap.ErrNotSitemap},
		{"endless prefixes", io.MultiReader(strings.NewReader(head), &pattern{text: `<a xmlns:b="c" xmlns:d="e"/>`, left: much}), nil},
		{"endless alternates", io.MultiReader(strings.NewReader(head+"<url><loc>https://a.example/</loc>"), &pattern{text: `<link rel="alternate" hreflang="de" href="/x"/>`, left: much}), nil},
		{"endless end tags", io.MultiReader(strings.NewReader(head), &pattern{text: "</a>", left: much}), nil},
		{"an endless line", io.MultiReader(strings.NewReader("https://a.example/\n"), &pattern{text: "y", left: much}), nil},
		{"an endless item", io.MultiReader(strings.NewReader(`{"items": [{"url": "https://a.example/", "x": "`), &pattern{text: "z", left: much}), nil},
		{"JSON that nests", io.MultiReader(strings.NewReader(`{"items": [{"url": `), &pattern{text: "[", left: much}), nil},
		{"a gzip bomb", packed(io.MultiReader(strings.NewReader(head), &pattern{text: "<url><loc>https://a.example/</loc></url>", left: much})), sitemap.ErrBomb},
		{"a gzip bomb in another", packed(packed(io.MultiReader(strings.NewReader(head), &pattern{text: "<url><loc>https://a.example/</loc></url>", left: much}))), sitemap.ErrBomb},
		{"endless empty pieces of gzip", &pattern{text: string(pack(t, nil)), left: 20 << 20}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			s, err := sitemap.Read(tt.list, sitemap.Options{Base: "https://a.example/", Limits: sitemap.Limits{Bytes: 4 * much}}, func(sitemap.Entry) error { return nil })
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if tt.err != nil && !errors.Is(err, tt.err) || s.Complete && tt.name != "an endless line" {
				t.Errorf("%v, %+v", err, s)
			}
			if took > 5*time.Minute {
				t.Errorf("it took %v", took)
			}
			if held := int64(after.HeapInuse) - int64(before.HeapInuse); held > 40<<20 {
				t.Errorf("%d MB are in use", held>>20)
			}
		})
	}
}

// Private addresses are what a list says like any other; it is fetch that refuses
// them. An index may list itself.
func TestListsWhatItSays(t *testing.T) {
	got, s, err := read(t, "<sitemapindex"+ns+"><sitemap><loc>https://a.example/s.xml</loc></sitemap><sitemap><loc>http://169.254.169.254/latest</loc></sitemap></sitemapindex>", "https://a.example/s.xml")
	if err != nil || len(got) != 2 || !s.Complete {
		t.Errorf("%q, %+v, %v", got, s, err)
	}
	problems(t, s, []string{"another host"})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		small, "https://a.example/1\nwww.a.example\n", `{"items": [{"url": "https://a.example/1"}]}`, "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>a</sm:loc></sm:url>",
		`<rss><channel><item><link>a</link><guid isPermaLink="false">b</guid></item></channel></rss>`, `<feed><entry><link href="a"/></entry></feed>`,
		"<!DOCTYPE a [<!ENTITY % b 'c'>]><urlset><url><loc><![CDATA[x]]>&amp;</loc><lastmod>2026</lastmod><a><b></url></urlset>", "\xff\xfe<\x00u\x00", "<url><loc>http:\\\\a</loc><url>",
	} {
		f.Add([]byte(s))
		f.Add(pack(f, []byte(s)))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		n := 0
		s, err := sitemap.Read(bytes.NewReader(list), sitemap.Options{Base: "https://a.example/dir/", Now: fetched}, func(e sitemap.Entry) error {
			n++
			if e.URL == "" || strings.ContainsAny(e.URL, "\n\r\t ") || e.Priority < 0 || e.Priority > 1 || len(e.URL) > 4*8192 {
				t.Errorf("an entry is %+v", e)
			}
			return nil
		})
		if n != s.Pages+s.Sitemaps || err != nil && s.Complete || len(s.Problems) > 40 {
			t.Errorf("%d entries, %+v, %v", n, s, err)
		}
		if err == nil && s.Kind == "" {
			t.Error("a list of no kind")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	list, err := io.ReadAll(large(sitemap.MaxEntries))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(list)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if _, err := sitemap.Read(bytes.NewReader(list), sitemap.Options{Base: "https://www.a.example/sitemap.xml"}, func(sitemap.Entry) error { n++; return nil }); err != nil || n != sitemap.MaxEntries {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkTokens is what it costs to take the same apart with encoding/xml.
func BenchmarkTokens(b *testing.B) {
	list, err := io.ReadAll(large(sitemap.MaxEntries))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(list)))
	b.ReportAllocs()
	for b.Loop() {
		d := xml.NewDecoder(bytes.NewReader(list))
		for {
			if _, err := d.RawToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
