package sites_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/sites"
)

const home = "https://example.com/docs/"

func urls(p sites.Page) (list []string) {
	for _, l := range p.Links {
		list = append(list, strings.TrimPrefix(l.URL, "https://example.com"))
	}
	return list
}

func TestLinks(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"anchors and areas", `<a href=a>A</a><area href="/b"><A HREF='c?x=1&amp;y=2'>`, []string{"/docs/a", "/b", "/docs/c?x=1&y=2"}},
		{"once each", `<a href=a></a><a href="./a#top"></a><a href=/docs/a></a>`, []string{"/docs/a"}},
		{"a base counts for all", `<a href=a></a><base href="/other/"><base href="/third/"><a href=b></a>`, []string{"/other/a", "/other/b"}},
		{"a base that is none", `<base href="mailto:x"><a href=b></a>`, []string{"/docs/b"}},
		{"a base without href", `<base target=_blank><base href=/x/><a href=b></a>`, []string{"/x/b"}},
		{"comments, scripts and titles", `<!-- <a href=a> --><script>"<a href=b>"</script><title><a href=c></title><textarea><a href=d></textarea><a href=e>`, []string{"/docs/e"}},
		{"without scripts", `<noscript><a href=a></a></noscript>`, []string{"/docs/a"}},
		{"templates", `<template><a href="{{url}}"></a><template></template><a href=x></a></template><a href=b></a><template shadowrootmode=open><a href=c></a></template>`, []string{"/docs/b", "/docs/c"}},
		{"frames", `<frameset><frame src="menu.html"><noframes><a href=plain.html></a></noframes></frameset>`, []string{"/docs/menu.html", "/docs/plain.html"}},
		{"a redirect", `<meta http-equiv="Refresh" content="5; URL='/new'">`, []string{"/new"}},
		{"a page that loads itself again", `<meta http-equiv=refresh content="5">`, nil},
		{"drawings", `<svg><a xlink:href="/x"></a></svg>`, []string{"/x"}},
		{"no pages", `<a href="mailto:a@b"></a><a href="javascript:go()"></a><a href="tel:1"></a><a href="#!/x"></a><a href=a download></a><a></a><a name=x></a>`, nil},
		{"files", `<a href=a.JPG></a><a href=b.zip?x=1></a><a href=c.woff2></a><a href=d.mp4></a><a href=e.css></a><a href=f.pdf></a><a href=g.html></a><a href=v1.zip/></a>`,
			[]string{"/docs/f.pdf", "/docs/g.html", "/docs/v1.zip/"}},
		{"pages with the names of files", `<a href=/wiki/Node.js></a><a href=/wiki/File:Cat.jpg></a><a href=/tags/socket.io.js></a><a href=/js/node.js></a>`, []string{"/wiki/Node.js", "/wiki/File:Cat.jpg", "/tags/socket.io.js"}},
		{"broken tags", `<a href="a><a href=b>`, nil},
		{"cut off", `<a href=a><a href=b`, []string{"/docs/a"}},
		{"links that are no links", `<link rel=stylesheet href=a.css><link rel=preload href=b><img src=c><iframe src=d></iframe>`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := sites.Links([]byte(tt.body), home, sites.Asked{})
			if diff := cmp.Diff(tt.want, urls(got)); diff != "" {
				t.Errorf("links differ (-want +got):\n%s", diff)
			}
			if got.Cut {
				t.Error("cut")
			}
		})
	}
}

func TestLinksSayMore(t *testing.T) {
	body := `<head><link rel="Canonical" href="/docs/?utm_source=x"><link rel=canonical href=/second>
		<link rel=alternate hreflang=de href=/de/><link rel=alternate hreflang=x-default href=/>
		<link rel=alternate type="application/rss+xml; charset=utf-8" title="All news" href=/feed.xml><link rel=alternate type=text/html href=/amp>
		<link rel=next href="?page=3"><link rel=prev href="?page=1"></head>
		<a href=a rel="nofollow noopener"></a><a href=b rel=ugc></a><a href=c rel=Sponsored></a>
		<a href=d rel=nofollow></a><a href=d></a><a href=e rel="nofollow"></a><a href=./e rel="ugc"></a>`
	want := sites.Page{
		Links: []sites.Link{
			{URL: home + "a", NoFollow: true}, {URL: home + "b", UGC: true}, {URL: home + "c", Sponsored: true},
			{URL: home + "d"}, {URL: home + "e"},
		},
		Canonical:  home,
		Alternates: []sites.Alternate{{"de", "https://example.com/de/"}, {"x-default", "https://example.com/"}},
		Feeds:      []sites.Feed{{"https://example.com/feed.xml", "application/rss+xml; charset=utf-8", "All news"}},
		Next:       home + "?page=3",
		Prev:       home + "?page=1",
	}
	got := sites.Links([]byte(body), home, sites.Asked{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page differs (-want +got):\n%s", diff)
	}
	if got.Links[0].Follow() || got.Links[1].Follow() || got.Links[2].Follow() || !got.Links[3].Follow() {
		t.Error("nofollow, ugc and sponsored links are not followed; others are")
	}
}

func TestRobotsDirectives(t *testing.T) {
	tests := []struct {
		name, body        string
		tags              []string
		noIndex, noFollow bool
	}{
		{"nothing", `<meta name=description content=noindex>`, nil, false, false},
		{"for all", `<meta name="ROBOTS" content="NoIndex, follow">`, nil, true, false},
		{"none", `<meta name=robots content=none>`, nil, true, true},
		{"for us", `<meta name=Freshet content=nofollow>`, nil, false, true},
		{"for another", `<meta name=googlebot content="noindex,nofollow">`, nil, false, false},
		{"the stricter", `<meta name=robots content="index,follow"><meta name=freshet content=noindex>`, nil, true, false},
		{"header", ``, []string{"noindex"}, true, false},
		{"two headers", ``, []string{"noarchive, noindex", "nofollow"}, true, true},
		{"header for another", ``, []string{"otherbot: noindex, nofollow"}, false, false},
		{"header for another, then us", ``, []string{"otherbot: noindex, freshet: nofollow"}, false, true},
		{"header for all", ``, []string{"*: noindex"}, true, false},
		{"header with a date", ``, []string{"unavailable_after: 25 Jun 2010 15:00:00 PST, max-snippet: 20, nofollow"}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := sites.Links([]byte(tt.body), home, sites.Asked{Agent: "freshet", RobotsTag: tt.tags})
			if got.NoIndex != tt.noIndex || got.NoFollow != tt.noFollow {
				t.Errorf("noindex %v, nofollow %v; want %v, %v", got.NoIndex, got.NoFollow, tt.noIndex, tt.noFollow)
			}
		})
	}
}

func TestLinksAreBounded(t *testing.T) {
	var body strings.Builder
	for i := range sites.MostLinks + 100 {
		fmt.Fprintf(&body, "<a href=/p/%d></a><a href=/p/0></a>", i)
	}
	got := sites.Links([]byte(body.String()), home, sites.Asked{})
	if len(got.Links) != sites.MostLinks || !got.Cut {
		t.Errorf("%d links, cut %v; want %d, true", len(got.Links), got.Cut, sites.MostLinks)
	}
	long := fmt.Sprintf("<a href=/%s></a><a href=/b></a>", strings.Repeat("a", sites.LongestURL))
	if got := urls(sites.Links([]byte(long), home, sites.Asked{})); len(got) != 1 {
		t.Errorf("links %q; the long one is no page", got)
	}
}

func FuzzLinks(f *testing.F) {
	for _, odd := range []string{
		"<A HREF=\"a&ampb=1&amp;c\" href=b>", "<frame><frame x><frame src=y>", "<a href='x\r\ny\x00z'>", "<a =href=q href=r/>", "<area xlink:href=a href=b>",
		"<noscript><a href=a></noscript><noframes><a href=b></noframes><plaintext><a href=c>", "<script/><a href=a></script><a href=b>", "<svg><style><a href=a></style></svg>",
		"<templates><template shadowrootmode><template/><a href=a></TEMPLATE ><a href=b>", "<title/><a href=a></title><xmp><a href=b></xmp><math><a href=c>", "<a/href=x><a href = y><!-- --!><a href=z>",
	} {
		f.Add([]byte(odd), home, "")
	}
	f.Add(longPage(), home, "")
	f.Add([]byte(`<base href=/x/><a href=a rel=nofollow><link rel=canonical href="?b"><meta name=robots content=none><template><a href=q>`), home, "noindex")
	f.Fuzz(func(t *testing.T, body []byte, base, tag string) {
		asked := sites.Asked{Agent: "freshet", RobotsTag: []string{tag}}
		p := sites.Links(body, base, asked)
		if diff := cmp.Diff(sites.LinksByTokenizer(body, base, asked), p); diff != "" {
			t.Fatalf("the tokenizer of x/net finds other links (-want +got):\n%s", diff)
		}
		seen := map[string]bool{}
		for _, l := range p.Links {
			again, err := sites.Normalise("", l.URL)
			if err != nil || again != l.URL || seen[l.URL] || !sites.PageName(l.URL) {
				t.Fatalf("link %q (again %q, %v), seen before %v", l.URL, again, err, seen[l.URL])
			}
			seen[l.URL] = true
		}
	})
}

// longPage is a page as documentation has them: half of it is navigation.
func longPage() []byte {
	var body strings.Builder
	body.WriteString("<html><head><link rel=canonical href=/docs/><meta name=robots content=index></head><body><nav>")
	for i := range 200 {
		fmt.Fprintf(&body, `<li class="nav-item toc-l2"><a class="link internal" href="/docs/chapter-%d/section.html" title="Section %d">Section</a></li>`, i, i)
	}
	body.WriteString("</nav><main>")
	for i := range 400 {
		fmt.Fprintf(&body, `<p class=text>Words that say something about the matter, <a href="/docs/chapter-%d/section.html#part-%d">and a link</a> <code>code</code> and so on.</p>`, i%250, i)
	}
	body.WriteString("</main></body></html>")
	return []byte(body.String())
}

func BenchmarkLinks(b *testing.B) {
	body := longPage()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		sites.Links(body, home, sites.Asked{Agent: "freshet"})
	}
}
