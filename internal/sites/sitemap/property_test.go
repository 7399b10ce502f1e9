package sitemap_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/sites/sitemap"
)

// plainSet is a sitemap as encoding/xml reads it.
type plainSet struct {
	URLs []struct {
		Loc     string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 loc"`
		LastMod string `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 lastmod"`
	} `xml:"url"`
}

// document draws a sitemap that is well formed, with all that XML allows.
func document(t *rapid.T) string {
	prefix := rapid.SampledFrom([]string{"", "sm:", "x:"}).Draw(t, "prefix")
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "<?xml version=\"1.0\"?>\n", "<?xml version='1.0' encoding='utf-8'?><?xml-stylesheet href='a>b'?><!-- <urlset> -->"}).Draw(t, "prolog"))
	name := "xmlns"
	if prefix != "" {
		name += ":" + strings.TrimSuffix(prefix, ":")
	}
	fmt.Fprintf(&b, "<%surlset %s='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\" a='>' >", prefix, name)
	for range rapid.IntRange(0, 20).Draw(t, "entries") {
		fmt.Fprintf(&b, "<%surl>", prefix)
		for _, part := range rapid.SliceOfN(rapid.IntRange(0, 5), 0, 5).Draw(t, "parts") {
			switch part {
			case 0:
				b.WriteString("<image:image><image:loc>https://i.example/p.png</image:loc></image:image>")
			case 1:
				b.WriteString("<!-- <loc>https://no.example/</loc> -->")
			case 2:
				fmt.Fprintf(&b, "<%spriority >0.3</%spriority\n>", prefix, prefix)
			case 3:
				b.WriteString("<empty a='b'/>")
			case 4:
				b.WriteString("\n<?pi <loc> ?>\t")
			case 5:
				b.WriteString("<other><deep>&#65;</deep></other>")
			}
		}
		loc := "https://a.example/" + rapid.StringMatching(`[a-zäß€0-9/&<>'=?%;_-]{0,20}`).Draw(t, "path")
		if rapid.Bool().Draw(t, "cdata") {
			fmt.Fprintf(&b, "<%sloc>\n <![CDATA[%s]]></%sloc>", prefix, loc, prefix)
		} else {
			fmt.Fprintf(&b, "<%sloc> ", prefix)
			_ = xml.EscapeText(&b, []byte(loc))
			fmt.Fprintf(&b, "\n</%sloc>", prefix)
		}
		if rapid.Bool().Draw(t, "dated") {
			fmt.Fprintf(&b, "<%slastmod>2026-0%d-1%d</%slastmod>", prefix, rapid.IntRange(1, 9).Draw(t, "month"), rapid.IntRange(0, 9).Draw(t, "day"), prefix)
		}
		fmt.Fprintf(&b, "</%surl>\n", prefix)
	}
	fmt.Fprintf(&b, "</%surlset>\n<!-- end -->", prefix)
	return b.String()
}

// What encoding/xml reads of a sitemap that is well formed is read, and nothing else.
func TestReadsWhatXMLSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := document(t)
		var set plainSet
		if err := xml.Unmarshal([]byte(list), &set); err != nil {
			t.Fatalf("not well formed: %v\n%s", err, list)
		}
		escaped := strings.NewReplacer("<", "%3C", ">", "%3E") // as a URL must be
		var want, got []string
		for _, u := range set.URLs {
			want = append(want, escaped.Replace(strings.TrimSpace(u.Loc))+" "+u.LastMod)
		}
		s, err := sitemap.Read(strings.NewReader(list), sitemap.Options{}, func(e sitemap.Entry) error {
			got = append(got, e.URL+" "+e.LastMod.String())
			return nil
		})
		if err != nil || !s.Complete || !cmp.Equal(want, got) {
			t.Fatalf("%v, %+v\n%s\n%s", err, s, cmp.Diff(want, got), list)
		}
		// However much of it is missing, what is read is the beginning.
		cut := rapid.IntRange(0, len(list)).Draw(t, "cut")
		n := 0
		s, err = sitemap.Read(strings.NewReader(list[:cut]), sitemap.Options{}, func(e sitemap.Entry) error {
			if n >= len(want) || e.URL+" "+e.LastMod.String() != want[n] {
				t.Fatalf("cut at %d, entry %d is %+v", cut, n, e)
			}
			n++
			return nil
		})
		if err == nil && s.Complete && n != len(want) {
			t.Fatalf("cut at %d it is complete with %d of %d entries", cut, n, len(want))
		}
	})
}
