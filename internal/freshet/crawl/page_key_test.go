package crawl_test

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet/crawl"
)

func TestNormalURL(t *testing.T) {
	tests := []struct{ in, want string }{
		{"https://a.example/b?c=d", "https://a.example/b?c=d"},
		{"HTTPS://A.Example", "https://a.example/"},
		{"http://a.example:80?q", "http://a.example/?q"},
		{"https://a.example:443/#top", "https://a.example/"},
		{"https://a.example:8443/B", "https://a.example:8443/B"},
		{"https://a.example/%7eb/%c3%a4%2F", "https://a.example/~b/%C3%A4%2F"},
		{"https://a.example/ä b", "https://a.example/%C3%A4%20b"},
		{"/relative?u=http://X/", "/relative?u=http://X/"},
	}
	for _, tt := range tests {
		if got := crawl.NormalURL(tt.in); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.in, got, tt.want)
		}
		if crawl.PageKeyOf(tt.in) != crawl.PageKeyOf(tt.want) || crawl.PageKeyOf(tt.in) == crawl.PageKeyOf(tt.want+"x") {
			t.Errorf("the key of %s is not that of %s alone", tt.in, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`(HTTP|https)://[Aa.:0-9é]{1,8}[/?#%a-f0-9A]{0,12}`)).Draw(t, "url")
		once := crawl.NormalURL(s)
		if again := crawl.NormalURL(once); again != once {
			t.Fatalf("%q is %q, and that is %q", s, once, again)
		}
	})
}
