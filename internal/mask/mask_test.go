package mask_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/mask"
)

func TestMaskURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://a.example/feed?key=abc":                                       "https://a.example/feed?key=***",
		"https://a.example/feed?page=2&api_key=abc&sort=date":                  "https://a.example/feed?page=2&api_key=***&sort=date",
		"https://a.example/?apiKey=abc":                                        "https://a.example/?apiKey=***",
		"https://a.example/?access_token=a;x=1":                                "https://a.example/?access_token=***;x=1",
		"https://a.example/?X-Amz-Signature=abcdef&X-Amz-Date=20260101T000000": "https://a.example/?X-Amz-Signature=***&X-Amz-Date=20260101T000000",
		"https://a.example/?X-Amz-Credential=AKIA%2Fx&n=1":                     "https://a.example/?X-Amz-Credential=***&n=1",
		"https://a.example/?sig=a%2Bb#access_token=abc":                        "https://a.example/?sig=***#access_token=***",
		"https://user:pass@a.example/x@y?q=1":                                  "https://***@a.example/x@y?q=1",
		"https://token@a.example":                                              "https://***@a.example",
		"https://a.example/?client%5Fsecret=abc":                               "https://a.example/?client%5Fsecret=***",
		"https://a.example/?v=9f86d081884c7d659a2feaa0c55ad015":                "https://a.example/?v=***",
		"https://a.example/?v=dGhpcyBpcyBhIHNlY3JldCEx":                        "https://a.example/?v=***",
		"https://a.example/?password=":                                         "https://a.example/?password=",

		"https://a.example/?keyword=rivers&q=flood+levels&page=10": "",
		"https://a.example/?from=2026-01-01T00:00:00Z&signed=no":   "",
		"https://a.example/?fields=name,level,changed_at,station":  "",
		"https://a.example/?title=the-quick-brown-fox-jumps-over":  "",
		"https://a.example/?id=12345678901234567890123":            "",
		"https://a.example/path/key=abc/#part-2":                   "",
		"not a url":                                                "",
		"":                                                         "",
	} {
		if want == "" {
			want = raw
		}
		got := mask.URL(raw)
		if got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
		if mask.Applied(got) != (got != raw) || mask.Applied(raw) {
			t.Errorf("%s is taken to be masked: %v, %s: %v", got, mask.Applied(got), raw, mask.Applied(raw))
		}
	}
}

// A mask is masked as itself, and shows nothing of what it covers.
func TestMaskCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9]{4,40}`).Draw(t, "secret")
		name := rapid.SampledFrom([]string{"key", "token", "Sig", "authToken", "x-api-key", "client.secret"}).Draw(t, "name")
		raw := "https://a.example/" + rapid.StringMatching(`[a-z/]{0,9}`).Draw(t, "path") + "?a=1&" + name + "=" + secret + rapid.StringMatching(`(&[a-z]=[0-9]){0,2}`).Draw(t, "rest")
		got := mask.URL(raw)
		if strings.Contains(got, "="+secret) || mask.URL(got) != got || !mask.Applied(got) {
			t.Errorf("%s is shown as %s", raw, got)
		}
		text := mask.Text("get \"" + raw + "\": refused")
		if text != "get \""+got+"\": refused" {
			t.Errorf("in a text it is shown as %s", text)
		}
	})
}

func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "0123456789": "0123456789", "0123456789a": "0123456789... (1 bytes more)", "012345678äb": "012345678... (3 bytes more)"} {
		if got := mask.Shorten(text, 10); got != want {
			t.Errorf("%s is shortened to %s, want %s", text, got, want)
		}
	}
}

func FuzzMaskURL(f *testing.F) {
	f.Add("https://user:pass@a.example/?key=abc#token=1")
	f.Add("?&=;#?***@://")
	f.Fuzz(func(t *testing.T, raw string) {
		if got := mask.URL(raw); mask.URL(got) != got {
			t.Errorf("%q is shown as %q, and that as %q", raw, got, mask.URL(got))
		}
	})
}
