package sites_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"freshet/internal/sites"
)

// kept says that a mirror has everything on example.com but /missing.
func kept(url string) (string, bool) {
	rest, ok := strings.CutPrefix(url, "https://example.com/")
	return "../" + rest + `"local"`, ok && !strings.HasPrefix(rest, "missing")
}

func TestRelink(t *testing.T) {
	const l = `&#34;local&#34;`
	tests := []struct{ name, body, want string }{
		{"links", `<a  href="/a" class=x>A</a>`, `<a href="../a` + l + `" class="x">A</a>`},
		{"quotes", `<a href='/a'><a href=/b><a href = /c ><img src=/d/>`, `<a href="../a` + l + `"><a href="../b` + l + `"><a href="../c` + l + `"><img src="../d/` + l + `">`},
		{"kinds", `<img src=/a><form action="/b"><video poster="/c"></video><link href="/d">`, `<img src="../a` + l + `"><form action="../b` + l + `"><video poster="../c` + l + `"></video><link href="../d` + l + `">`},
		{"entities", `<a href="/a?x=1&amp;y=2&copy=3">`, `<a href="../a?copy=3&amp;x=1&amp;y=2` + l + `">`},
		{"fragment", `<a href="/a#part">`, `<a href="../a` + l + `#part">`},
		{"no file", `<a HREF="missing">x</a><A Href=https://other.example/a>`, `<a href="https://example.com/missing">x</a><A Href=https://other.example/a>`},
		{"no file, from elsewhere", `<link href="//cdn.example/a.css"><a href="missing?a=1&amp;b#c">`, `<link href="https://cdn.example/a.css"><a href="https://example.com/missing?a=1&amp;b#c">`},
		{"left alone", `<a href="#x"><a href=""><a href><a href="mailto:a@b"><a title="/a"><p style="background: url(/a)">`, `<a href="#x"><a href=""><a href><a href="mailto:a@b"><a title="/a"><p style="background: url(/a)">`},
		{"not tags", `<!-- <a href=/a> --><script>"<a href=/a>"</script><style>a{}</style>&lt;a href=/a>`, `<!-- <a href=/a> --><script>"<a href=/a>"</script><style>a{}</style>&lt;a href=/a>`},
		{"without scripts", `<noscript><img src=/a></noscript>`, `<noscript><img src="../a` + l + `"></noscript>`},
		{"srcset", `<img srcset="/a 1x, /missing 2x,/c (x,y) , /d,  /e">`, `<img srcset="../a` + l + ` 1x, https://example.com/missing 2x,../c` + l + ` (x,y) , ../d` + l + `,  ../e` + l + `">`},
		{"twice", `<a href=/a href=/b>`, `<a href="../a` + l + `">`},
		{"base", `<base target=x HREF="/docs/"><a href=a><a href=/missing?><a href=#x>`, `<base target="x" href=""><a href="../docs/a` + l + `"><a href="https://example.com/missing?"><a href=#x>`},
		{"cut off", `<a href=/a><a href="/b`, `<a href="../a` + l + `"><a href="/b`},
		{"odd", "<a\n/ =x href\t=\r\n'/a'/>\x00<>< a href=/b></a href=/c>", "<a =x=\"\" href=\"../a" + l + "\"/>\x00<>< a href=/b></a href=/c>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := kept
			if tt.name == "base" {
				file = func(url string) (string, bool) { return kept(strings.TrimSuffix(url, "?")) }
			}
			if got := string(sites.Relink([]byte(tt.body), "https://example.com/", file)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestRelinkWithFilePath(t *testing.T) {
	body := `<a href="b?x=1"><img src="i.png">`
	got := sites.Relink([]byte(body), "https://example.com/a/", func(url string) (string, bool) { return "../../" + sites.FilePath(url), true })
	want := `<a href="../../example.com/a/b=qx=3d1=.html"><img src="../../example.com/a/i.png">`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// shape returns the tokens of a page without the values of links.
func shape(body []byte) (list []string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for z.Next() != html.ErrorToken {
		token := z.Token()
		if token.Type == html.StartTagToken && (token.Data == "noscript" || token.Data == "noframes") {
			z.NextIsNotRawText()
		}
		for i, a := range token.Attr {
			switch a.Key {
			case "href", "src", "srcset", "action", "poster":
				token.Attr[i].Val = ""
			}
		}
		list = append(list, token.String())
	}
	return list
}

func FuzzRelink(f *testing.F) {
	f.Add([]byte(`<base href=/x/><a href='/a' =x src/=y srcset="a 1x, b (,) ,c" / href=b><noscript><img src=c></noscript>`))
	f.Add([]byte(`<BAse href srC="0"href=0>`))
	f.Add([]byte("<a\n/ =x href\t=\r\n'/a'/>\x00<><a/href=/b/c><p/ href=d><a href==x>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		url := "https://example.com/docs/"
		none := func(string) (string, bool) { return "", false }
		whole := sites.Relink(body, url, none)
		if again := sites.Relink(whole, url, none); !bytes.Equal(again, whole) {
			t.Fatalf("nothing to change, but\n%q became\n%q", whole, again)
		}
		asked := map[string]bool{}
		changed := sites.Relink(body, url, func(url string) (string, bool) { asked[url] = true; return "x'\"<>& y", true })
		if a, b := shape(body), shape(changed); strings.Join(a, "\x01") != strings.Join(b, "\x01") {
			t.Fatalf("more than links changed:\n%q\n%q", body, changed)
		}
		for _, word := range []string{"<base", "refresh", "xlink", "#"} { // links that are no links of a mirror
			if bytes.Contains(bytes.ToLower(body), []byte(word)) {
				return
			}
		}
		for _, l := range sites.Links(body, url, sites.Asked{}).Links {
			if !asked[l.URL] && l.URL != url {
				t.Fatalf("%q is a link that was not asked for: %q", l.URL, body)
			}
		}
	})
}

func BenchmarkRelink(b *testing.B) {
	body := longPage()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		sites.Relink(body, home, kept)
	}
}
