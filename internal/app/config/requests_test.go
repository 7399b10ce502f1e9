package config_test

import (
	"strings"
	"testing"

	"freshet/internal/app/config"
)

func TestRequests(t *testing.T) {
	tests := []struct{ name, file, problem string }{
		{"a profile and a source that uses it", "requests:\n  api:\n    headers: {X-A: b}\n    auth: {bearer: '${env:T}'}\nsources:\n  - {url: 'https://a.example/', request: {use: api, language: de}}\n", ""},
		{"a profile for one host", "requests: {api: {hosts: [A.example], language: de}}\nsources: [{url: 'https://a.example/', request: {use: api}}]\n", ""},
		{"no such profile", "requests: {api: {language: de}}\nsources:\n  - url: https://a.example/\n    request:\n      use: apo\n", `f.yaml:5:12: sources[0].request.use: there is no profile "apo" under requests: in the configuration file (did you mean "api"?)`},
		{"a profile for another host", "requests: {api: {hosts: [b.example], language: de}}\nsources: [{url: 'https://a.example/', request: {use: api}}]\n", "is not for a.example"},
		{"an unknown key", "requests:\n  api:\n    langage: de\n", `f.yaml:3:5: requests.api: unknown key "langage"`},
		{"a header that breaks the request", "requests:\n  api:\n    headers:\n      X-A: \"a\\r\\nb\"\n", "f.yaml:4:12: requests.api.headers.X-A: contains a line break"},
		{"a secret that is written down", "sources:\n  - url: https://a.example/\n    request:\n      auth:\n        bearer: abc\n", "f.yaml:5:17: sources[0].request.auth.bearer: is a secret"},
		{"a profile that uses another", "requests: {a: {use: b}, b: {language: de}}\n", "cannot use another"},
		{"a bad name", "requests: {'a b': {language: de}}\n", "cannot name a profile"},
		{"no mapping", "requests: [a]\n", "expected profiles by their names"},
		{"what comes of both together", "requests: {api: {headers: {Authorization: '${env:T}'}}}\nsources: [{url: 'https://a.example/', request: {use: api, auth: {bearer: '${env:T}'}}}]\n", "not both"},
		{"a proxy that is not allowed", "sources: [{url: 'https://a.example/', request: {proxy: 'socks5://127.0.0.1:1080'}}]\n", "allow_proxy: [127.0.0.1:1080]"},
		{"a proxy that is", "allow_proxy: [127.0.0.1:1080]\nsources: [{url: 'https://a.example/', request: {proxy: 'socks5://127.0.0.1'}}]\n", ""},
		{"a page that is rendered, and a proxy of its profile", "allow_proxy: [127.0.0.1:1080]\nrequests: {far: {proxy: 'socks5://127.0.0.1'}}\nsources:\n  - url: https://a.example/\n    request: {use: far}\n    render: true\n", "f.yaml:6:13: sources[0].render: cannot be used together with the proxy of the profile far"},
		{"no proxy", "allow_proxy: [nonsense]\n", "is not a proxy with its port"},
		{"twice the same", "sources:\n  - {url: 'https://a.example/', request: {language: de}}\n  - {url: 'https://a.example/', request: {language: de, timeout: 5s}}\n", "already in line 2"},
		{"other requests", "sources:\n  - https://a.example/\n  - {url: 'https://a.example/', request: {language: de}}\n", ""},
		{"what is expected", "sources:\n  - url: https://a.example/\n    expect: {match: '('}\n", "sources[0].expect.match: missing closing )"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := config.Input{File: "f.yaml", Env: func(string) string { return "" }, Flag: func(string) (string, bool) { return "", false }}
			s, err := config.LoadText(in, tt.file)
			if tt.problem == "" {
				if err != nil {
					t.Fatalf("it is refused: %v", err)
				}
				shown, err := s.YAML()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := config.LoadText(in, string(shown)); err != nil {
					t.Errorf("what check prints is refused: %v\n%s", err, shown)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("the error is %v, want %s", err, tt.problem)
			}
		})
	}
}
