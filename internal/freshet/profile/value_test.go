package profile_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

func TestValue(t *testing.T) {
	tests := []struct {
		text profile.Value
		want string // "" if it is refused
	}{
		{"plain", "plain"},
		{"${env:A}", "<env A>"},
		{"Bearer ${secret:api-token}!", "Bearer <secret api-token>!"},
		{"${file:/run/x}", "<file /run/x>"},
		{"${csrf}", "< csrf>"},
		{"a $${env:A} b", "a ${env:A} b"},
		{"$5 {x} $", "$5 {x} $"},
		{"${file:run/x}", ""},
		{"${env:}", ""},
		{"${env:A B}", ""},
		{"${nosuch:A}", ""},
		{"${secret:../x}", ""},
		{"${open", ""},
		{"${}", ""},
	}
	for _, tt := range tests {
		got, err := tt.text.Expand(func(r profile.Reference) (string, error) {
			return "<" + string(r.Kind) + " " + r.Name + ">", nil
		})
		if (err != nil) != (tt.want == "") || got != tt.want {
			t.Errorf("%q becomes %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestValueJSON(t *testing.T) {
	for text, want := range map[string]profile.Value{
		`"a"`: "a", `12`: "12", `1.50`: "1.50", `true`: "true",
		`{"secret": "db"}`:            "${secret:db}",
		`{"secret": {"env": "A"}}`:    "${env:A}",
		`{"secret": {"file": "/a"}}`:  "${file:/a}",
		`{"secret": {"vault": "/a"}}`: "", `{}`: "", `[]`: "", `null`: "", `{"secret": {"env": "A", "file": "/b"}}`: "",
	} {
		var v profile.Value
		err := json.Unmarshal([]byte(text), &v)
		if v != want || (err == nil) != (want != "") {
			t.Errorf("%s is read as %q, %v; want %q", text, v, err, want)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{"", "${env:A}", "$${x}", "${file:/a}${b}", "${", "$$$${a}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := profile.Value(text)
		found, err := v.References()
		for _, r := range found {
			if strings.ContainsAny(r.Name, "}\n") && r.Kind != profile.FileSecret {
				t.Errorf("%q refers to %q", text, r.Name)
			}
			again, err := profile.Value(r.String()).References()
			if err != nil || len(again) != 1 || again[0] != r {
				t.Errorf("%v is read back as %v, %v", r, again, err)
			}
		}
		if err == nil && len(found) == 0 && v.Secret() {
			t.Errorf("%q is secret without a reference", text)
		}
		if _, err := v.Expand(func(profile.Reference) (string, error) { return "", errors.New("no") }); len(found) > 0 && err == nil {
			t.Errorf("%q is filled in without its secrets", text)
		}
	})
}

func TestRequestIsChecked(t *testing.T) {
	tests := []struct{ request, field, reason string }{
		{`{"method": "post", "form": {"a": 1}}`, "", ""},
		{`{"headers": {"X-A": "b"}, "cookies": {"lang": "de"}, "jar": "source", "language": "de-CH, de;q=0.9", "timeout": "5s"}`, "", ""},
		{`{"auth": {"bearer": {"secret": {"env": "A"}}}}`, "", ""},
		{`{"proxy": "socks5://u:${secret:p}@127.0.0.1:1080"}`, "", ""},
		{`{"proxy": "${env:PROXY}"}`, "", ""},
		{`{"headers": {"X-A": "b\r\nX-B: c"}}`, "request.headers.X-A", "line break"},
		{`{"headers": {"X-A\r\nX-B": "c"}}`, "request.headers.X-A\r\nX-B", "not the name of a header"},
		{`{"headers": {"Host": "a"}}`, "request.headers.Host", "set by Freshet"},
		{`{"headers": {"content-length": "1"}}`, "request.headers.content-length", "set by Freshet"},
		{`{"headers": {"Transfer-Encoding": "chunked"}}`, "request.headers.Transfer-Encoding", "set by Freshet"},
		{`{"headers": {"Connection": "x"}}`, "request.headers.Connection", "set by Freshet"},
		{`{"headers": {"Proxy-Authorization": "${env:A}"}}`, "request.headers.Proxy-Authorization", "set by Freshet"},
		{`{"headers": {"Cookie": "a=b"}}`, "request.headers.Cookie", "use cookies"},
		{`{"headers": {"a": "1", "A": "2"}}`, "request.headers.a", "twice"},
		{`{"headers": {"Authorization": "Bearer abc"}}`, "request.headers.Authorization", "is a secret"},
		{`{"headers": {"X-Api-Key": "abc"}}`, "request.headers.X-Api-Key", "is a secret"},
		{`{"form": {"password": "abc"}}`, "request.form.password", "is a secret"},
		{`{"cookies": {"session": "abc"}}`, "request.cookies.session", "is a secret"},
		{`{"cookies": {"a": "b; c=d"}}`, "request.cookies.a", "semicolon"},
		{`{"auth": {"basic": {"user": "me", "password": "abc"}}}`, "request.auth.basic.password", "is a secret"},
		{`{"auth": {"basic": {"user": "a:b", "password": "${env:A}"}}}`, "request.auth.basic.user", "colon"},
		{`{"auth": {}}`, "request.auth", "one of"},
		{`{"auth": {"bearer": "${env:A}", "basic": {"user": "me", "password": "${env:A}"}}}`, "request.auth", "one of"},
		{`{"auth": {"oauth2": {"token_url": "/t", "client_id": "a", "client_secret": "${env:A}"}}}`, "request.auth.oauth2.token_url", "absolute"},
		{`{"method": "DELETE"}`, "request.method", "cannot be used"},
		{`{"method": "GET", "body": "x"}`, "request.body", "no body"},
		{`{"body": "x", "form": {"a": "b"}}`, "request.form", "not both"},
		{`{"proxy": "ftp://a"}`, "request.proxy", "not a proxy"},
		{`{"proxy": "http://u:pw@a:1"}`, "request.proxy", "is a secret"},
		{`{"cert": {"cert": "a.pem", "key": "/k"}}`, "request.cert", "full path"},
		{`{"timeout": "1ms"}`, "request.timeout", "too short"},
		{`{"jar": "a/b"}`, "request.jar", "not a name"},
		{`{"hosts": ["a"]}`, "request.hosts", "belongs to a profile"},
		{`{"headers": {"X-A": "${env:A"}}`, "request.headers.X-A", "not closed"},
	}
	for _, tt := range tests {
		s, err := freshet.ParseDefinition([]byte(`{"url": "https://a.example/", "request": ` + tt.request + `}`))
		if err != nil {
			t.Errorf("%s: %v", tt.request, err)
			continue
		}
		_, err = s.Check()
		field, _ := invalid.FieldOf(err)
		if field != tt.field || err != nil && !strings.Contains(err.Error(), tt.reason) || (err == nil) != (tt.reason == "") {
			t.Errorf("%s: the error is %v, want %s: %s", tt.request, err, tt.field, tt.reason)
		}
	}
	if _, err := freshet.ParseDefinition([]byte(`{"url": "https://a.example/", "request": {"metod": "x"}}`)); err == nil || !strings.Contains(err.Error(), `unknown key "metod"`) {
		t.Errorf("an unknown key is told as %v", err)
	}
}

func TestExpectIsChecked(t *testing.T) {
	for expect, reason := range map[string]string{
		`{"status": [200, 404], "match": "a+"}`:   "",
		`{"status": [301]}`:                       "cannot be expected",
		`{"match": "a("}`:                         "missing closing",
		`{"no_match": "(a{100}){100}"}`:           "invalid repeat count",
		`{"no_match": "(a{50}){20}b{999}c{999}"}`: "too large",
	} {
		s, err := freshet.ParseDefinition([]byte(`{"url": "https://a.example/", "expect": ` + expect + `}`))
		if err == nil {
			_, err = s.Check()
		}
		if (err == nil) != (reason == "") || err != nil && !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: the error is %v, want %q", expect, err, reason)
		}
	}
}

func TestKeyTellsRequestsApart(t *testing.T) {
	key := func(definition string) string {
		s, err := freshet.ParseDefinition([]byte(definition))
		if err == nil {
			s, err = s.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Key()
	}
	plain := key(`{"url": "https://a.example/"}`)
	if plain != (reading.Recipe{}).Key() {
		t.Errorf("the key of a plain source is %q, which stores from before do not know", plain)
	}
	same := []string{`{}`, `{"timeout": "5s"}`}
	for _, r := range same {
		if k := key(`{"url": "https://a.example/", "request": ` + r + `}`); k != plain {
			t.Errorf("%s makes another source: %q", r, k)
		}
	}
	for _, r := range []string{`{"language": "de"}`, `{"method": "POST"}`, `{"headers": {"A": "b"}}`, `{"use": "x"}`} {
		if key(`{"url": "https://a.example/", "request": `+r+`}`) == plain {
			t.Errorf("%s does not make another source", r)
		}
	}
	a, b := key(`{"url": "https://a.example/", "request": {"headers": {"A": "1", "B": "2"}}}`), key(`{"url": "https://a.example/", "request": {"headers": {"B": "2", "A": "1"}, "timeout": "5s"}}`)
	if a != b {
		t.Errorf("the same request has two keys: %q and %q", a, b)
	}
}

// FuzzRequest holds what is accepted as a request to what must be true of any: it is
// written as it is read, and cannot smuggle a second header in.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"headers": {"A": "b"}}`, `{"auth": {"bearer": "${env:A}"}}`, `{"login": {"steps": [{"get": "https://a.example/", "take": {"a": {"css": "b@c"}}}]}}`,
		`{"form": {"a": 1}, "cookies": {"b": {"secret": "c"}}}`, `{"proxy": "socks5://a:1"}`, `{"use": "x", "jar": "source"}`, `null`, `[]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := profile.Parse(text)
		if err != nil {
			return
		}
		s := freshet.Source{URL: "https://a.example/", Request: &p}
		if s, err = s.Check(); err != nil {
			if field, ok := invalid.FieldOf(err); !ok || !strings.HasPrefix(field, "request") {
				t.Errorf("%s: %v names no field of the request", text, err)
			}
			return
		}
		again, err := freshet.ParseDefinition(s.Definition())
		if err != nil {
			t.Fatalf("%s is written as %s, which is refused: %v", text, s.Definition(), err)
		}
		if again, err = again.Check(); err != nil || again.Key() != s.Key() || string(again.Definition()) != string(s.Definition()) {
			t.Errorf("%s becomes %s and then %s (%v)", text, s.Definition(), again.Definition(), err)
		}
		if s.Request != nil {
			for name, v := range s.Request.Headers {
				if strings.ContainsAny(name+string(v), "\r\n") {
					t.Errorf("%s breaks the line of a header", text)
				}
			}
		}
	})
}
