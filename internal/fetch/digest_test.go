package fetch_test

import (
	"net/http"
	"strings"
	"testing"

	"freshet/internal/fetch"
)

// The examples of RFC 7616 (3.9) and RFC 2617 (3.5).
func TestDigestExamples(t *testing.T) {
	const nonces = `nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for _, tt := range []struct{ challenge, user, password, uri, own, want string }{
		{`Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, ` + nonces, "Mufasa", "Circle of Life", "/dir/index.html",
			"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "8ca523f5e9506fed4657c9700eebdbec"},
		{`Basic realm="a, Digest b", Digest realm="http-auth@example.org",qop="auth, auth-int",algorithm=SHA-256,` + nonces, "Mufasa", "Circle of Life", "/dir/index.html",
			"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"},
		{`Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"`,
			"Mufasa", "Circle Of Life", "/dir/index.html", "0a4f113b", "6629fae49393a05397450978507c4ef1"},
		{`Digest nonce="n", qop="auth-int"`, "u", "p", "/", "c", ""},
		{`Digest nonce="n", algorithm=ROT13, Digest realm="r", nonce=n`, "u", "p", "/", "c", `response="`},
		{`Digest realm="unfinished`, "u", "p", "/", "c", ""},
		{`Negotiate`, "u", "p", "/", "c", ""},
	} {
		got := fetch.Proof(http.Header{"Www-Authenticate": {tt.challenge}}, tt.user, tt.password, tt.uri, tt.own)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("the answer to %s is %q, want one with %q", tt.challenge, got, tt.want)
		}
	}
}
