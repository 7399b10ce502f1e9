package auth_test

import (
	"strings"
	"testing"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet/profile"
)

func TestTake(t *testing.T) {
	const page = `<!doctype html><meta name="csrf-token" content="m"><form id=f><INPUT NAME=csrf VALUE="a&amp;b"><input name="csrf" value="second"></form><b class="x y">t &lt;</b><!-- <i id=no>no</i> -->`
	tests := []struct {
		taking     profile.Taking
		body, want string // "" if it is not there
	}{
		{profile.Taking{CSS: "input[name=csrf]@value"}, page, "a&b"},
		{profile.Taking{CSS: `meta[name="csrf-token"]@content`}, page, "m"},
		{profile.Taking{CSS: "form#f@id"}, page, "f"},
		{profile.Taking{CSS: "b.y"}, page, "t <"},
		{profile.Taking{CSS: "i"}, page, ""},
		{profile.Taking{CSS: "input[name=csrf]@nothing"}, page, ""},
		{profile.Taking{Regex: `name="(csrf)" value="(\w+)"`}, page, "csrf"},
		{profile.Taking{Regex: `sec\w+`}, page, "second"},
		{profile.Taking{Regex: `nothing`}, page, ""},
		{profile.Taking{JSON: "$.a[1]['b c']"}, `{"a": [1, {"b c": "yes"}]}`, "yes"},
		{profile.Taking{JSON: "$.n"}, `{"n": 12345678901234567890}`, "12345678901234567890"},
		{profile.Taking{JSON: "$.a[5]"}, `{"a": [1]}`, ""},
		{profile.Taking{JSON: "$.a.b"}, `{"a": [1]}`, ""},
		{profile.Taking{JSON: "$.a"}, `{"a": {"b": 1}}`, ""},
		{profile.Taking{JSON: "$.a"}, `{"a": ""}`, ""},
	}
	for _, tt := range tests {
		got, err := auth.Take(tt.taking, []byte(tt.body))
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%+v takes %q, %v; want %q", tt.taking, got, err, tt.want)
		}
	}
}

// Hostile answers cost time in proportion to their size. One that cost the square of it
// would take longer than a test may, however fast the machine; nothing is said of how
// long it takes, since slow machines are not hostile.
func TestTakeEnds(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n /= 10
	}
	for _, body := range []string{
		strings.Repeat("<div>", 4*n/5), strings.Repeat("<a b", n), "<input " + strings.Repeat("a=b ", n), strings.Repeat("[", 4*n), strings.Repeat("{\"a\":", 4*n/5), strings.Repeat("<!--", n),
	} {
		for _, taking := range []profile.Taking{{CSS: "input[name=csrf]@value"}, {JSON: "$.a"}, {Regex: "a+b+c"}} {
			if _, err := auth.Take(taking, []byte(body)); err == nil {
				t.Errorf("%+v finds something in %.20q", taking, body)
			}
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add("input[name=csrf]@value", "a(b)", "$.a[0]", `<input name=csrf value=x>`)
	f.Add("a", "", "$['a']", `{"a": 1}`)
	f.Fuzz(func(t *testing.T, css, regex, path, body string) {
		for _, taking := range []profile.Taking{{CSS: css}, {Regex: regex}, {JSON: path}} {
			login := profile.Login{Steps: []profile.LoginStep{{Get: "https://a.example/", Take: map[string]profile.Taking{"a": taking}}}}
			if _, err := (profile.Profile{Login: &login}).Check("request"); err != nil {
				continue // it is refused when it is written
			}
			value, err := auth.Take(taking, []byte(body))
			if err == nil && value == "" {
				t.Errorf("%+v takes nothing and says nothing", taking)
			}
		}
	})
}
