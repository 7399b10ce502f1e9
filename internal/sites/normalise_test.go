package sites_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sites"
)

func TestNormalise(t *testing.T) {
	const base = "https://example.com/docs/guide/intro.html"
	tests := []struct{ name, href, want string }{
		{"relative", "install.html", "https://example.com/docs/guide/install.html"},
		{"up", "../api/", "https://example.com/docs/api/"},
		{"up beyond the root", "../../../../x", "https://example.com/x"},
		{"from the root", "/a/b", "https://example.com/a/b"},
		{"another host", "//Other.Example/a", "https://other.example/a"},
		{"itself", "", "https://example.com/docs/guide/intro.html"},
		{"case and port", "HTTPS://EXAMPLE.com:443/A", "https://example.com/A"},
		{"another port", "http://example.com:8080/", "http://example.com:8080/"},
		{"no path", "http://example.com", "http://example.com/"},
		{"dot at the end of the host", "http://example.com./a", "http://example.com/a"},
		{"user and password", "http://ann:secret@example.com/a", "http://example.com/a"},
		{"escaped dots", "/a/%2e%2E/./b", "https://example.com/b"},
		{"escapes that are not needed", "/%7euser/%41", "https://example.com/~user/A"},
		{"escapes that are", "/a%2fb%3f", "https://example.com/a%2Fb%3F"},
		{"missing escapes", "/a b|c[1]^", "https://example.com/a%20b%7Cc%5B1%5D%5E"},
		{"a lone percent sign", "/100%?a=5%", "https://example.com/100%25?a=5%25"},
		{"letters beyond ASCII", "/büro?q=ü", "https://example.com/b%C3%BCro?q=%C3%BC"},
		{"punycode", "http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"backslashes", `\a\b`, "https://example.com/a/b"},
		{"line breaks", "/a\n/b\t", "https://example.com/a/b"},
		{"address as a number", "http://0x7f.1/", "http://127.0.0.1/"},
		{"IPv6", "http://[0:0::1]:80/", "http://[::1]/"},
		{"fragment", "/a#part", "https://example.com/a"},
		{"fragment alone", "#part", "https://example.com/docs/guide/intro.html"},
		{"empty query", "/a?", "https://example.com/a"},
		{"sorted", "/a?c=3&a=1&b=2", "https://example.com/a?a=1&b=2&c=3"},
		{"values keep their order", "/a?b=2&a=z&b=1&a=y", "https://example.com/a?a=z&a=y&b=2&b=1"},
		{"empty parameters", "/a?&&b=1&", "https://example.com/a?b=1"},
		{"a query that is a path", "/?/topic/17&page=2&b=1", "https://example.com/?/topic/17&b=1&page=2"},
		{"tracking", "/a?utm_source=x&UTM_Medium=y&id=7&gclid=1&fbclid=2&mc_cid=3", "https://example.com/a?id=7"},
		{"only tracking", "/a?utm_source=x", "https://example.com/a"},
		{"session in the path", "/a;jsessionid=0123ABCD/b;v=1", "https://example.com/a/b;v=1"},
		{"session that hides a dot segment", "/a/..;jsessionid=1/b", "https://example.com/a/..;jsessionid=1/b"},
		{"session of ASP.NET", "/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "https://example.com/a.aspx"},
		{"two sessions at once", "/(S(x));jsessionid=1/a", "https://example.com/a"},
		{"nothing but a session", "/(S(lit3py55t21z5v55vlm25s55))", "https://example.com/"},
		{"session in the query", "/a?PHPSESSID=1&ASPSESSIONIDQQ=2&id=3", "https://example.com/a?id=3"},
		{"random sid", "/a?sid=9f86d081884c7d659a2feaa0c55ad015", "https://example.com/a"},
		{"sid of a story", "/a?sid=1234", "https://example.com/a?sid=1234"},
		{"session of a conference", "/a?sessionid=opening-keynote", "https://example.com/a?sessionid=opening-keynote"},
		{"index stays", "/a/index.html", "https://example.com/a/index.html"},
		{"double slashes stay", "/a//b/", "https://example.com/a//b/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sites.Normalise(base, tt.href)
			if err != nil || got != tt.want {
				t.Errorf("Normalise(%q) = %q, %v; want %q", tt.href, got, err, tt.want)
			}
		})
	}
}

func TestNormaliseRefuses(t *testing.T) {
	tests := []struct {
		name, base, href string
		noPage           bool
	}{
		{"a script", "https://example.com/", "javascript:void(0)", true},
		{"an address", "https://example.com/", "mailto:ann@example.com", true},
		{"a telephone", "https://example.com/", "tel:+49301234", true},
		{"data", "https://example.com/", "data:text/html,x", true},
		{"a file", "https://example.com/", "file:///etc/passwd", true},
		{"a state of a script", "https://example.com/", "/#!/inbox", true},
		{"too long", "https://example.com/", "/" + strings.Repeat("a", sites.LongestURL), true},
		{"too long when escaped", "https://example.com/", "/" + strings.Repeat("ü", sites.LongestURL/3), true},
		{"no host", "https://example.com/", "http://./", false},
		{"a wrong host", "https://example.com/", "http://a%00b/", false},
		{"a wrong port", "https://example.com/", "http://a:99999/", false},
		{"many users", "https://example.com/", "http://" + strings.Repeat("@", 100) + "a/", false},
		{"nothing to be relative to", "", "/a", false},
		{"a wrong base", "mailto:x", "/a", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sites.Normalise(tt.base, tt.href)
			if err == nil {
				t.Fatalf("Normalise(%q) = %q", tt.href, got)
			}
			if errors.Is(err, sites.ErrNoPage) != tt.noPage {
				t.Errorf("error %q: is it ErrNoPage? want %v", err, tt.noPage)
			}
		})
	}
}

// anyHref draws links that exercise every part of a URL.
func anyHref() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"/", "//", "a", "B", "..", ".", "%2e", "%2F", "%41", "%zz", "%", "?", "&", "=", "#", "#!", ";jsessionid=1",
		"(S(x))", "/(S(x))/", "utm_source=1", "sid=0a1b2c3d4e5f60718", "ü", " ", "\\", "|", "[", "]", "+", ":", "@", "http:", "https://EXAMPLE.com", ":80", "c=1", "b", "index.html", "\t", "\xff", "'", "~", "^"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
	})
}

func TestNormaliseIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkNormalise(t, "https://example.com/a/b?c#d", anyHref().Draw(t, "href")) })
}

func checkNormalise(t interface{ Fatalf(string, ...any) }, base, href string) {
	once, err := sites.Normalise(base, href)
	if err != nil {
		return
	}
	for _, other := range []string{"", base, once, "http://elsewhere.example:81/x/y/"} {
		if again, err := sites.Normalise(other, once); err != nil || again != once {
			t.Fatalf("Normalise(%q, %q) = %q; from %q again %q, %v", base, href, once, other, again, err)
		}
	}
	if quick, exact := sites.BothWays(base, href); quick != exact {
		t.Fatalf("Normalise(%q, %q): the quick way says %q, the exact one %q", base, href, quick, exact)
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add("https://example.com/a/b", "../c?b=1&a=2#x")
	f.Add("http://[::1]:8080/", "//u:p@bücher.example:80/%7e%2f;jsessionid=1?utm_source=2&sid=0123456789abcdef")
	f.Add("https://example.com", "a.b/c-d_e?x=1&y")
	f.Add("", "http://a-1.b--c.example/d?e")
	f.Add("http://a.b", "https://xn--a.example/d")
	f.Add("http://a.b", "http://1.2.3.a")
	f.Fuzz(func(t *testing.T, base, href string) { checkNormalise(t, base, href) })
}

func BenchmarkNormalise(b *testing.B) {
	for _, href := range []string{"/docs/guide/chapter-one?id=17&b=2", "https://www.other.example/a/b", "/docs/gu%C3%adde/"} {
		b.Run(href, func(b *testing.B) {
			normalise := sites.FromBase("https://example.com/docs/")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := normalise(href); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
