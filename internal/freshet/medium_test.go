package freshet_test

import (
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

func TestShortNames(t *testing.T) {
	tests := []struct{ short, url, path string }{
		{"github:golang/go", "https://github.com/golang/go/releases.atom", ""},
		{"gitlab:group/sub/project", "https://gitlab.com/api/v4/projects/group%2Fsub%2Fproject/releases?per_page=20", `$[*]["tag_name","released_at"]`},
		{"npm:@scope/name", "https://registry.npmjs.org/-/package/@scope%2fname/dist-tags", ""},
		{"pypi:requests", "https://pypi.org/rss/project/requests/releases.xml", ""},
		{"crates:serde", "https://crates.io/api/v1/crates/serde/versions", "$.versions[*].num"},
		{"go:github.com/BurntSushi/toml", "https://proxy.golang.org/github.com/!burnt!sushi/toml/@latest", "$.Version"},
		{"docker:library/nginx", "https://hub.docker.com/v2/repositories/library/nginx/tags?page_size=50&ordering=last_updated", "$.results[*].name"},
	}
	for _, tt := range tests {
		s, err := freshet.Source{URL: tt.short}.Check()
		if err != nil || s.URL != tt.url || s.Name != tt.short || s.Recipe.JSONPath != tt.path {
			t.Errorf("%s becomes %s, called %s, read by %q: %v", tt.short, s.URL, s.Name, s.Recipe.JSONPath, err)
		}
		again, err := s.Check()
		if err != nil || again.URL != s.URL {
			t.Errorf("%s is expanded twice: %s, %v", tt.short, again.URL, err)
		}
	}
	own, err := freshet.Source{URL: "crates:serde", Name: "mine", Recipe: reading.Recipe{JSONPath: "$.a"}}.Check()
	if err != nil || own.Name != "mine" || own.Recipe.JSONPath != "$.a" {
		t.Errorf("what the source says itself is passed over: %+v, %v", own, err)
	}
	for _, bad := range []string{"github:golang", "github:a/b/c", "github:../x/y", "npm:a b", "pypi:a/b", "docker:nginx", "go:", "gitlab:a"} {
		if _, err := (freshet.Source{URL: bad}).Check(); err == nil || !strings.Contains(err.Error(), "short name") {
			t.Errorf("%s is taken: %v", bad, err)
		}
	}
}

func TestHostsOfMedia(t *testing.T) {
	for url, want := range map[string]string{
		"exec:df -h /": "exec", "file:///srv/a": "file", "dns:Example.com?type=MX": "example.com",
		"tls:example.com:443": "example.com", "tls:example.com:8443": "example.com:8443", "https://a.example:8443/x": "a.example:8443",
	} {
		if got := freshet.HostOf(url); got != want {
			t.Errorf("the host of %s is %q, want %q", url, got, want)
		}
	}
}

// FuzzMedium holds every URL to having one medium and one host, also after it was
// checked, and short names to standing for pages of the Web.
func FuzzMedium(f *testing.F) {
	for _, url := range []string{"github:golang/go", "npm:@scope/name", "go:github.com/BurntSushi/toml", "exec:df -h /", "FILE:///srv/a", "dns:Example.com?type=MX", "tls:example.com:443", "https://a.example:8443/x", ":", "gitlab:a/b"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		host := freshet.HostOf(url)
		if host != strings.ToLower(host) {
			t.Errorf("the host of %q is %q", url, host)
		}
		s, err := freshet.Source{URL: url}.Check()
		if err != nil {
			return
		}
		again, err := s.Check()
		if err != nil || again.URL != s.URL || again.Name != s.Name {
			t.Errorf("%q becomes %q, and that %q: %v", url, s.URL, again.URL, err)
		}
		if s.URL != url && s.Name == url && freshet.MediumOf(s.URL) != freshet.OnWeb {
			t.Errorf("the short name %q stands for %q", url, s.URL)
		}
	})
}
