package api_test

import (
	"bytes"
	"net/url"
	"testing"
)

// A secret in a URL cannot be read, nor guessed letter by letter, by conditions, filters and
// searches.
func TestMaskedURLsStayMasked(t *testing.T) {
	const secret = "qzjxkwvb7731"
	r := newRig(t).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page?token="+secret)
	r.poll("page")
	r.Origin.Put("/page", "text/plain", "two\n")
	r.poll("page")

	empty := func(method, path string, body any) {
		t.Helper()
		a := r.do(method, path, body).is(200)
		if !bytes.Contains(a.Body, []byte(`"items":[]`)) {
			t.Errorf("%s %s %v finds the secret: %.400s", method, path, body, a.Body)
		}
	}
	prefix := secret[:4]
	for _, when := range []string{
		`source.url.contains("` + prefix + `")`, `source.url.matches("token=q.*")`, `source.url.size() > 400`, `"` + secret + `" in source.url.split("=")`,
	} {
		empty("POST", "/api/v1/queries/test", map[string]any{"when": when})
	}
	for _, where := range []string{`source.url.contains("` + prefix + `")`, `source.url.matches("token=q.*")`, `source.url.size() > 400`} {
		empty("GET", "/api/v1/states?query="+url.QueryEscape("text where "+where), nil)
	}
	for _, path := range []string{"/api/v1/sources?q=", "/api/v1/changes?q=", "/api/v1/search?q="} {
		for _, q := range []string{prefix, prefix + "*", secret} {
			empty("GET", path+url.QueryEscape(q), nil)
		}
	}
	empty("GET", "/api/v1/sources?q="+url.QueryEscape("token="+prefix), nil)
	// The whole URL finds its source, and so does any other guess at the secret.
	for _, token := range []string{secret, "guess1234"} {
		a := r.do("GET", "/api/v1/sources?q="+url.QueryEscape(r.Origin.URL+"/page?token="+token), nil).is(200)
		if !bytes.Contains(a.Body, []byte(`"id":"page"`)) {
			t.Errorf("the URL with the secret %s finds %.200s", token, a.Body)
		}
	}
	// The value of a condition shows the URL as it is shown everywhere.
	a := r.do("POST", "/api/v1/queries/test", map[string]any{"when": "true", "value": "source.url"}).is(200)
	if bytes.Contains(a.Body, []byte(secret)) || !bytes.Contains(a.Body, []byte("token=***")) {
		t.Errorf("the value of source.url is %.400s", a.Body)
	}
	a = r.do("GET", "/api/v1/states?query="+url.QueryEscape("source.url, first(source.url) by source.url"), nil).is(200)
	if bytes.Contains(a.Body, []byte(secret)) || !bytes.Contains(a.Body, []byte("token=***")) {
		t.Errorf("the value of source.url in a query of states is %.400s", a.Body)
	}
}
