package sites_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/sites"
)

func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"/guide/**", []string{"/guide", "/guide/", "/guide/a", "/guide/a/b?c=1"}, []string{"/guides", "/a/guide/b", "/"}},
		{"/blog/*/", []string{"/blog/a/", "/blog//"}, []string{"/blog/a", "/blog/a/b/", "/blog/"}},
		{"/blog/*", []string{"/blog/a", "/blog/", "/blog/a?page=2"}, []string{"/blog/a/", "/blog/a/b"}},
		{"*.html", []string{"/a.html", "/x/y/b.html", "/.html"}, []string{"/a.html/b", "/a.htm", "/a.html.gz"}},
		{"news/*", []string{"/news/a", "/en/news/a"}, []string{"/oldnews/a", "/news/a/b"}},
		{"/v?/", []string{"/v1/", "/vx/", "/vü/"}, []string{"/v/", "/v10/", "/v//"}},
		{"/{en,de}/**", []string{"/en/a", "/de", "/de/b/c"}, []string{"/fr/a", "/end/a"}},
		{"/a{,/*}", []string{"/a", "/a/b"}, []string{"/ab", "/a/b/c"}},
		{"/{a,{b,c}d}e", []string{"/ae", "/bde", "/cde"}, []string{"/be", "/ade"}},
		{"/a/**/b", []string{"/a/b", "/a/x/b", "/a/x/y/b"}, []string{"/ab", "/a/xb", "/a/b/c"}},
		{"**", []string{"/", "/a/b"}, nil},
		{"/**", []string{"/", "/a/b"}, nil},
		{"**draft**", []string{"/draft", "/a/my-drafts/b"}, []string{"/a"}},
		{"/büro/*", []string{"/b%C3%BCro/a", "/büro/%41"}, []string{"/buro/a"}},
		{"/a.b+c(d)", []string{"/a.b+c(d)"}, []string{"/axb+c(d)", "/a.bbc(d)"}},
		{`/a\*\{b\}`, []string{"/a*%7Bb%7D"}, []string{"/axb"}},
		{"/a/b", []string{"/a/b"}, []string{"/a%2Fb", "/A/b"}},
		{`**\?**sort=**`, []string{"/a/b?sort=up", "/?a=1&sort=x/y"}, []string{"/sort=a", "/a?b=1"}},
		{`/search\?q=*`, []string{"/search?q=a"}, []string{"/search", "/searchxq=a", "/search?b=1&q=a"}},
		{"/Größe/a,b", []string{"/Gr%C3%B6%C3%9Fe/a,b"}, nil},
	}
	for _, tt := range tests {
		p, err := sites.ParsePattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		check := func(href string, want bool) {
			url, err := sites.Normalise("https://example.com/", href)
			if err != nil {
				t.Fatal(err)
			}
			if p.Match(url) != want {
				t.Errorf("%s and %s: match %v, want %v", tt.pattern, url, !want, want)
			}
		}
		for _, href := range tt.yes {
			check(href, true)
		}
		for _, href := range tt.no {
			check(href, false)
		}
	}
}

func TestPatternErrors(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"", "pattern is empty"},
		{"/a/{b,c", `pattern "/a/{b,c": character 4: this { is never closed`},
		{"/a/b}", `pattern "/a/b}": character 5: this } was never opened`},
		{"!/a", `character 1: a pattern cannot be turned around with !; put it under exclude`},
		{"/ü/[ab]", `character 4: there are no sets in brackets`},
		{"{/a,/b}", "character 1: write the slash before the brace"},
		{`/a\`, `character 3: nothing follows the \`},
		{"{{{{{a}}}}}", "character 5: braces are nested deeper than 4"},
		{"/\xff", "character 2: this is not UTF-8"},
		{strings.Repeat("a", 501), "is longer than 500 bytes"},
	}
	for _, tt := range tests {
		if _, err := sites.ParsePattern(tt.pattern); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v; want %q", tt.pattern, err, tt.want)
		}
	}
}

// TestPatternsAreLinear gives patterns on which an engine that goes back would never end.
func TestPatternsAreLinear(t *testing.T) {
	url := "https://example.com/" + strings.Repeat("a", 2000)
	for _, pattern := range []string{strings.Repeat("**a", 160) + "b", strings.Repeat("*a", 240) + "b", "/" + strings.Repeat("{a,a,aa}", 60) + "b", strings.Repeat("{*,**}", 80) + "b"} {
		p, err := sites.ParsePattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if p.Match(url) {
			t.Errorf("%.20s... matches", pattern)
		}
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("%.20s... took %v", pattern, took)
		}
	}
}

func TestScope(t *testing.T) {
	tests := []struct {
		name    string
		bounds  sites.Bounds
		yes, no []string
	}{
		{"a host", sites.Bounds{Root: "https://www.example.com"},
			[]string{"https://www.example.com/", "http://example.com/a", "https://example.com/b?c=1"},
			[]string{"https://docs.example.com/", "https://example.com:8443/", "https://example.org/", "https://notexample.com/"}},
		{"a folder", sites.Bounds{Root: "https://example.com/docs/"},
			[]string{"https://example.com/docs", "https://www.example.com/docs/a/b"}, []string{"https://example.com/", "https://example.com/docs2/"}},
		{"a folder without its slash", sites.Bounds{Root: "https://example.com/docs"},
			[]string{"https://example.com/docs/", "https://example.com/docs/a"}, []string{"https://example.com/docsa"}},
		{"a file", sites.Bounds{Root: "https://example.com/docs/index.html"},
			[]string{"https://example.com/docs/", "https://example.com/docs/a"}, []string{"https://example.com/b"}},
		{"patterns in place of the folder", sites.Bounds{Root: "https://example.com/docs/", Match: []string{"/blog/**", "*.html"}},
			[]string{"https://example.com/docs/", "https://example.com/blog/a", "https://example.com/x/y.html"}, []string{"https://example.com/docs/a"}},
		{"excluded", sites.Bounds{Root: "https://example.com/", Match: []string{"/blog/**"}, Exclude: []string{"/blog/drafts/**"}},
			[]string{"https://example.com/blog/a"}, []string{"https://example.com/blog/drafts/a", "https://example.com/a"}},
		{"subdomains", sites.Bounds{Root: "https://www.example.com/", Subdomains: true},
			[]string{"https://docs.example.com/", "https://a.b.example.com/x"}, []string{"https://notexample.com/", "https://example.com.evil.example/"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sites.NewScope(tt.bounds)
			if err != nil {
				t.Fatal(err)
			}
			for _, url := range tt.yes {
				if ok, why := s.Contains(url); !ok {
					t.Errorf("%s is outside: %s", url, why)
				}
			}
			for _, url := range tt.no {
				if ok, why := s.Contains(url); ok || why == "" {
					t.Errorf("%s is inside (%q)", url, why)
				}
			}
		})
	}
}

func TestHome(t *testing.T) {
	s, err := sites.NewScope(sites.Bounds{Root: "https://www.example.com/docs/", Subdomains: true})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://example.com/a?b=1":      "https://www.example.com/a?b=1",
		"https://www.example.com/":      "https://www.example.com/",
		"http://docs.example.com/a":     "http://docs.example.com/a",
		"http://example.com:8080/a":     "http://example.com:8080/a",
		"https://example.com.evil.org/": "https://example.com.evil.org/",
	} {
		if got := s.Home(url); got != want {
			t.Errorf("Home(%s) = %s, want %s", url, got, want)
		}
	}
}

func TestScopeErrors(t *testing.T) {
	_, err := sites.NewScope(sites.Bounds{Root: "https://example.com/", Match: []string{"/a", "/{"}, Exclude: []string{"!b"}, Depth: -1, Limit: -2})
	for _, want := range []string{`match[1]: pattern "/{": character 2`, `exclude[0]: pattern "!b"`, "depth: -1", "limit: -2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q in it", err, want)
		}
	}
	if _, err := sites.NewScope(sites.Bounds{Root: "ftp://example.com/"}); err == nil || !strings.HasPrefix(err.Error(), "root: ") {
		t.Errorf("error %v; want one of root", err)
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("/guide/**", "/guide/a")
	f.Add(`{a,*.{html,htm}}\?`, "/a?b")
	f.Fuzz(func(t *testing.T, pattern, href string) {
		p, err := sites.ParsePattern(pattern)
		if err != nil {
			if strings.Contains(err.Error(), "regexp") {
				t.Fatal(err)
			}
			return
		}
		if url, err := sites.Normalise("https://example.com/", href); err == nil {
			p.Match(url)
		}
	})
}
