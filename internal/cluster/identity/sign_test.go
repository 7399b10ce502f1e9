package identity_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"freshet/internal/cluster/identity"
	"freshet/internal/freshet"
)

// own is the address of the node that is asked.
const own = "http://own"

// request returns a request as its receiver gets it.
func request(method, url, body, header string) *http.Request {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	r.Header.Set(identity.CallerHeader, "data directory")
	r.Header.Set(identity.Header, header)
	return r
}

// sign returns the signature of a request.
func sign(by *identity.Signer, method, url, body string) string {
	r := request(method, url, body, "")
	by.Sign(r, own, 7, []byte(body))
	return r.Header.Get(identity.Header)
}

// Nothing of a signed request can be altered, and it counts once.
func TestSignedRequests(t *testing.T) {
	node, stranger := identity.NewSigner(), identity.NewSigner()
	v := identity.NewVerifier(own, func(_ context.Context, by freshet.Hash) (bool, error) { return by == node.Public(), nil })
	const at, body = "/api/v1/sources/a%2Fb?x=1&y=%20", `{"name":"n"}`
	first, second := sign(node, "PATCH", at, body), sign(node, "PATCH", at, body)
	altered := func(alter func(*http.Request)) *http.Request {
		r := request("PATCH", at, body, first)
		alter(r)
		return r
	}
	elsewhere := request("PATCH", at, body, "")
	node.Sign(elsewhere, "http://other", 7, []byte(body))
	parts := strings.Fields(first)
	for _, c := range []struct {
		name string
		r    *http.Request
		want error
	}{
		{"another method", request("DELETE", at, body, first), identity.ErrForged},
		{"another path", request("PATCH", "/api/v1/users/a%2Fb?x=1&y=%20", body, first), identity.ErrForged},
		{"another query", request("PATCH", "/api/v1/sources/a%2Fb?x=2&y=%20", body, first), identity.ErrForged},
		{"another body", request("PATCH", at, `{"name":"m"}`, first), identity.ErrForged},
		{"a longer body", request("PATCH", at, body+strings.Repeat(" ", 100), first), identity.ErrForged},
		{"another caller", altered(func(r *http.Request) { r.Header.Set(identity.CallerHeader, "open") }), identity.ErrForged},
		{"another address", altered(func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }), identity.ErrForged},
		{"a credential", altered(func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }), identity.ErrForged},
		{"a cookie", altered(func(r *http.Request) { r.Header.Set("Cookie", "freshet=x") }), identity.ErrForged},
		{"another epoch", request("PATCH", at, body, strings.Join([]string{parts[0], "8", parts[2], parts[3], parts[4]}, " ")), identity.ErrForged},
		{"another number", request("PATCH", at, body, strings.Join([]string{parts[0], parts[1], "9", parts[3], parts[4]}, " ")), identity.ErrForged},
		{"a request to another node", request("PATCH", at, body, elsewhere.Header.Get(identity.Header)), identity.ErrForged},
		{"no signature", request("PATCH", at, body, "x"), identity.ErrForged},
		{"half a signature", request("PATCH", at, body, first[:len(first)-2]), identity.ErrForged},
		{"a stranger", request("PATCH", at, body, sign(stranger, "PATCH", at, body)), identity.ErrUnknownNode},
		{"the second overtakes", request("PATCH", at, body, second), nil},
		{"the first", request("PATCH", at, body, first), nil},
		{"the first again", request("PATCH", at, body, first), identity.ErrReplayed},
		{"the second again", request("PATCH", at, body, second), identity.ErrReplayed},
	} {
		epoch, got, err := v.Verify(c.r, 64)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || epoch != 7 || string(got) != body) {
			t.Errorf("%s: epoch %d, body %q, %v; want %v", c.name, epoch, got, err, c.want)
		}
	}
}

// A request that many others have overtaken counts as used.
func TestLateRequests(t *testing.T) {
	node := identity.NewSigner()
	v := identity.NewVerifier(own, func(context.Context, freshet.Hash) (bool, error) { return true, nil })
	first := sign(node, "GET", "/", "")
	late := ""
	for i := range 9000 {
		if header := sign(node, "GET", "/", ""); i == 8000 {
			late = header
		} else if i > 8900 {
			if _, _, err := v.Verify(request("GET", "/", "", header), 0); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
	}
	if _, _, err := v.Verify(request("GET", "/", "", late), 0); err != nil {
		t.Errorf("a late request: %v", err)
	}
	for _, header := range []string{first, late} {
		if _, _, err := v.Verify(request("GET", "/", "", header), 0); !errors.Is(err, identity.ErrReplayed) {
			t.Errorf("a request that is too late, or came: %v", err)
		}
	}
}
