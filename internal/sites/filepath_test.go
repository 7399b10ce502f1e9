package sites_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sites"
)

func TestFilePath(t *testing.T) {
	long := strings.Repeat("long-", 60)
	tests := []struct{ url, want string }{
		{"https://example.com/", "example.com/index.html"},
		{"http://example.com/", "example.com=p/index.html"},
		{"https://example.com:8443/a", "example.com=3a8443/a=.html"},
		{"https://example.com/index.html", "example.com/=69ndex.html"},
		{"https://example.com/a", "example.com/a=.html"},
		{"https://example.com/a/", "example.com/a/index.html"},
		{"https://example.com/a/b.html", "example.com/a/b.html"},
		{"https://example.com/a.html/b", "example.com/a.html=s/b=.html"},
		{"https://example.com/a.php?id=3", "example.com/a.php=qid=3d3=.html"},
		{"https://example.com/style.css?v=3", "example.com/style=qv=3d3.css"},
		{"https://example.com/?q=a%2Fb", "example.com/index=qq=3da==2fb.html"},
		{"https://example.com/Main_Page", "example.com/Main_Page=u21=.html"},
		{"https://example.com/b%C3%BCro", "example.com/b==c3==bcro=.html"},
		{"https://example.com/con", "example.com/con=.html"},
		{"https://example.com/con/aux.html", "example.com/=63on/=61ux.html"},
		{"https://example.com/.git/config", "example.com/=2egit/config=.html"},
		{"https://example.com/a./b..", "example.com/a.=s/b..=.html"},
		{"https://example.com//a", "example.com/=n/a=.html"},
		{"https://example.com/a:b*c", "example.com/a=3ab=2ac=.html"},
		{"https://example.com/~ann", "example.com/=7eann=.html"},
		{"https://[::1]/", "=5b=3a=3a1=5d/index.html"},
		{"../../etc/passwd", ""},
		{"https://example.com/" + long, ""},
		{"https://example.com/" + strings.Repeat("a/", 200), ""},
	}
	for _, tt := range tests[:len(tests)-3] {
		if got := sites.FilePath(tt.url); got != tt.want {
			t.Errorf("FilePath(%s) = %s, want %s", tt.url, got, tt.want)
		}
	}
	for _, tt := range tests {
		checkFile(t, tt.url)
	}
}

// checkFile holds a path to what it promises by itself.
func checkFile(t interface{ Fatalf(string, ...any) }, url string) {
	file := sites.FilePath(url)
	if len(file) > 200 || path.IsAbs(file) || path.Clean(file) != file {
		t.Fatalf("FilePath(%q) = %q", url, file)
	}
	for name := range strings.SplitSeq(file, "/") {
		stem, _, _ := strings.Cut(strings.ToLower(name), ".")
		switch stem {
		case "", "con", "prn", "aux", "nul", "com1", "lpt9", "com0":
			t.Fatalf("FilePath(%q) = %q: name %q", url, file, name)
		}
		if strings.HasSuffix(name, ".") || len(name) > 120 || strings.ContainsFunc(name, func(r rune) bool {
			return r <= ' ' || r > '~' || strings.ContainsRune(`<>:"|?*\~%#;&'`, r)
		}) {
			t.Fatalf("FilePath(%q) = %q: name %q", url, file, name)
		}
	}
}

// checkApart holds two URLs to files of their own, on a disk that knows no case, and
// without one being the folder of the other.
func checkApart(t interface{ Fatalf(string, ...any) }, a, b string) {
	if a == b {
		return
	}
	one, two := strings.ToLower(sites.FilePath(a)), strings.ToLower(sites.FilePath(b))
	if one == two || strings.HasPrefix(one, two+"/") || strings.HasPrefix(two, one+"/") {
		t.Fatalf("%q is kept in %q, %q in %q", a, sites.FilePath(a), b, sites.FilePath(b))
	}
}

func TestFilePathsAreApart(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "A", "b", "/", "/", ".", "=", "%3D", "%2F", "?", "&", ".html", ".HTML", ".php", "index", "INDEX", "index.html", "con", "q", "u", "=q", "=u1", "=s", "=.html", "=69ndex", "69", "~", "==c3", "%C3", strings.Repeat("x", 130), strings.Repeat("X", 130)})
	url := rapid.Custom(func(t *rapid.T) string {
		scheme := rapid.SampledFrom([]string{"https://a.example/", "http://a.example/", "https://a.example:81/"}).Draw(t, "origin")
		raw := scheme + strings.Join(rapid.SliceOfN(part, 0, 7).Draw(t, "parts"), "")
		normal, err := sites.Normalise("", raw)
		if err != nil || rapid.IntRange(0, 9).Draw(t, "raw") == 0 {
			return raw
		}
		return normal
	})
	rapid.Check(t, func(t *rapid.T) {
		a := url.Draw(t, "a")
		b := rapid.OneOf(url, rapid.Custom(func(t *rapid.T) string { // a near one
			i := rapid.IntRange(17, len(a)).Draw(t, "at")
			return a[:min(i, len(a))] + part.Draw(t, "instead") + a[min(i+rapid.IntRange(0, 2).Draw(t, "skip"), len(a)):]
		})).Draw(t, "b")
		checkFile(t, a)
		checkFile(t, b)
		checkApart(t, a, b)
	})
}

func FuzzFilePath(f *testing.F) {
	f.Add("https://example.com/a/b?c=1", "https://example.com/a=2fb")
	f.Add("https://example.com/A.html", "https://example.com/a=u1.html")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, url := range []*string{&a, &b} {
			if normal, err := sites.Normalise("https://example.com/", *url); err == nil {
				*url = normal
			}
		}
		checkFile(t, a)
		checkApart(t, a, b)
	})
}
