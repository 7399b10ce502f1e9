package urlenc_test

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/urlenc"
)

var path = urlenc.NewSet(urlenc.Unreserved, "/:@!$&'()*+,;=")

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"/a/b-c_d.e~f": "/a/b-c_d.e~f",
		"/%7euser/%41": "/~user/A",
		"/a%2fb%2F":    "/a%2Fb%2F",
		"/ü x":         "/%C3%BC%20x",
		"/100%":        "/100%25",
		"/%zz%4":       "/%25zz%254",
		"/%%41":        "/%25A",
		"/a?b":         "/a%3Fb",
	} {
		if got := urlenc.Normalize(in, path); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	kept := urlenc.NewSet(urlenc.Unreserved, "/%")
	if got := urlenc.Normalize("/100%/%7e", kept); got != "/100%/~" {
		t.Errorf("a percent sign that is allowed becomes %q", got)
	}
}

// What is normal stays so, and means what it meant before.
func TestNormalizeKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringMatching(`(/|%[0-9A-Fa-f]{2}|[ -~]|ü){0,12}`).Draw(t, "in")
		once := urlenc.Normalize(in, path)
		if twice := urlenc.Normalize(once, path); twice != once {
			t.Errorf("%q becomes %q, and that %q", in, once, twice)
		}
		before, err := url.PathUnescape(in)
		if after, _ := url.PathUnescape(once); err == nil && after != before {
			t.Errorf("%q means %q, and %q means %q", in, before, once, after)
		}
	})
}

func TestEscape(t *testing.T) {
	if got := urlenc.Escape("/a b%20%", urlenc.NewSet(urlenc.Unreserved, "/%")); got != "/a%20b%20%" {
		t.Errorf("it becomes %q", got)
	}
}
