package freshet_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
)

// The host of a URL is the one that net/url finds, in small letters; most are found
// without it.
func TestHostOfWeb(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "example", ".", "-", ":", "8080", "/", "?", "#", "%41", "%", "%zz", "A", "é", " ", "\x7f", "\n", "@", "[", "::1", "]", "_", "=", "\\", "//"})
	scheme := rapid.SampledFrom([]string{"http://", "https://", "HTTP://", "http:/", "http:", "//", ""})
	rapid.Check(t, func(t *rapid.T) {
		raw := scheme.Draw(t, "scheme") + strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
		want := ""
		if u, err := url.Parse(raw); err == nil {
			want = strings.ToLower(u.Host)
		}
		if got := freshet.HostOf(raw); got != want {
			t.Errorf("the host of %q is %q, want %q", raw, got, want)
		}
	})
}
