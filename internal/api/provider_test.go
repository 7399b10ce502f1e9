package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	"freshet/internal/fetch"
	"freshet/internal/test/oidctest"
)

// A providerRig is a rig where people log in at a provider.
type providerRig struct {
	*gateRig
	provider *oidctest.Provider
	now      time.Time
}

var staff = openid.Roles{Admins: []string{"group:ops", "email:ada@example.com"}, Editors: []string{"group:shop"}, Viewers: []string{"email:*@example.com"}}

func newProviderRig(t *testing.T, change ...func(*openid.Config)) *providerRig {
	t.Helper()
	r := &providerRig{now: time.Now()}
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	r.provider = oidctest.New(t, base+api.CallbackPath)
	r.provider.Now = func() time.Time { return r.now }
	out := fetch.Config{}.Named(30*time.Second, 1<<20)
	cfg := openid.Config{
		Settings: openid.Settings{Name: "Example", Issuer: r.provider.URL, ClientID: oidctest.ClientID, Scopes: []string{"profile"}, Groups: "groups", Roles: staff, Session: time.Hour},
		Redirect: base + api.CallbackPath, Now: func() time.Time { return r.now },
		ClientSecret: func() (string, error) { return oidctest.ClientSecret, nil },
		Reach:        func(ctx context.Context) context.Context { return oidc.ClientContext(ctx, out) },
	}
	for _, f := range change {
		f(&cfg)
	}
	r.gateRig = newGateRigWith(t, func(c *api.Config) {
		c.Base, c.Auth.Provider = base, openid.New(cfg)
	}, func(c *auth.Config) {
		c.Provider, c.Public, c.Now = r.provider.URL, base, func() time.Time { return r.now }
	})
	server.Config.Handler = r.API.Config.Handler
	server.Start()
	t.Cleanup(server.Close)
	r.API = server
	return r
}

// A browser keeps cookies and does not follow redirects by itself.
type browser struct {
	*providerRig
	http.Client
}

func (r *providerRig) browser() *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{r, http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// get returns where a page leads to.
func (b *browser) get(to string) string {
	b.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = b.API.URL + to
	}
	resp, err := b.Get(to)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		b.t.Fatalf("%s answers %s", to, resp.Status)
	}
	return resp.Header.Get("Location")
}

// away goes to the provider, and returns where that sends the browser back to.
func (b *browser) away(next string) string {
	b.t.Helper()
	return b.get(b.get("/login/oidc?next=" + url.QueryEscape(next)))
}

// login goes to the provider and back, and returns where the browser is then.
func (b *browser) login() string {
	b.t.Helper()
	return b.get(b.away("/sources?q=x"))
}

// session returns who the browser is to the API.
func (b *browser) session() (s client.Session) {
	b.t.Helper()
	resp, err := b.Get(b.API.URL + "/api/v1/session")
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// The whole way: a user is made with the role of the group, is let in, and comes out where
// they wanted to go.
func TestLoginAtProvider(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "preferred_username": "bo", "groups": []string{"shop", "others"}}
	b := r.browser()
	if s := b.session(); s.Known || s.Provider != "Example" {
		t.Fatalf("a stranger is %+v", s)
	}
	if at := b.login(); at != "/sources?q=x" {
		t.Fatalf("after the login the browser is at %s", at)
	}
	s := b.session()
	if s.User != "bo" || s.Role != access.Editor || s.Via != "session" || time.Until(s.Expires) > time.Hour {
		t.Errorf("the session is %+v", s)
	}
	u, err := auth.NewStore(r.Store.DB()).User(t.Context(), "bo")
	if err != nil || u.Password != "" || u.Subject != r.provider.URL+"#1" {
		t.Errorf("the user is %+v, %v", u, err)
	}
	deeds, err := auth.NewStore(r.Store.DB()).AuditLog(t.Context(), auth.AuditQuery{Limit: 1})
	if err != nil || len(deeds) != 1 || deeds[0].What != "login" || deeds[0].Via != "provider" || deeds[0].Who != "bo" {
		t.Errorf("the audit log says %+v, %v", deeds, err)
	}
	r.provider.Person = map[string]any{"sub": "2", "preferred_username": "cy", "groups": []string{"shop"}}
	if b.login(); b.session().User != "cy" {
		t.Errorf("somebody else who logs in with the same browser is %q", b.session().User)
	}
	ada := r.gateRig.session("ada")
	r.do("PATCH", "/api/v1/users/bo", `{"role": "admin"}`, ada...).is(409)
	r.do("PATCH", "/api/v1/users/bo", `{"password": "correct horse"}`, ada...).is(409)
	r.do("POST", "/api/v1/session", client.Login{User: "bo", Password: ""}).is(401)
}

// Each way in which a token can be wrong is refused, and nobody is let in or made.
func TestTokensOfOthers(t *testing.T) {
	r := newProviderRig(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	otherEC, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := r.provider
	der, err := x509.MarshalPKIXPublicKey(p.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	set := func(name string, value any) func(map[string]any) {
		return func(c map[string]any) { c[name] = value }
	}
	in := func(name string, d time.Duration) func(map[string]any) {
		return func(c map[string]any) { c[name] = r.now.Add(d).Unix() }
	}
	bare := func(alg string) func(map[string]any) string {
		return func(c map[string]any) string {
			text, _ := json.Marshal(c)
			head := `{"alg":"` + alg + `","kid":"` + p.KeyID() + `"}`
			return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
		}
	}
	signed := func(alg jose.SignatureAlgorithm, key any) func(map[string]any) string {
		return func(c map[string]any) string { return p.Sign(alg, key, c) }
	}
	for _, c := range []struct {
		name  string
		twist func(map[string]any)
		forge func(map[string]any) string
	}{
		{"another nonce", set("nonce", "another"), nil},
		{"no nonce", func(c map[string]any) { delete(c, "nonce") }, nil},
		{"another audience", set("aud", "another"), nil},
		{"no audience", func(c map[string]any) { delete(c, "aud") }, nil},
		{"two audiences and no word on which asked", set("aud", []string{oidctest.ClientID, "another"}), nil},
		{"asked for by another", set("azp", "another"), nil},
		{"another issuer", set("iss", "https://evil.example"), nil},
		{"no issuer", func(c map[string]any) { delete(c, "iss") }, nil},
		{"expired", in("exp", -time.Second), nil},
		{"no end", func(c map[string]any) { delete(c, "exp") }, nil},
		{"from the future", in("iat", 6*time.Minute), nil},
		{"long ago", in("iat", -11*time.Minute), nil},
		{"from no time", func(c map[string]any) { delete(c, "iat") }, nil},
		{"not yet good", in("nbf", time.Hour), nil},
		{"for nobody", func(c map[string]any) { delete(c, "sub") }, nil},
		{"for a name without end", set("sub", strings.Repeat("x", 256)), nil},
		{"alg none", nil, bare("none")},
		{"alg None", nil, bare("None")},
		{"no signature", nil, bare("RS256")},
		{"HS256 with the public key", nil, signed(jose.HS256, public)},
		{"HS256 with the bytes of the public key", nil, signed(jose.HS256, der)},
		{"HS256 with the secret of the client", nil, signed(jose.HS256, []byte(oidctest.ClientSecret+"-long-enough-for-it"))},
		{"PS256", nil, signed(jose.PS256, other)},
		{"another key of the same name", nil, signed(jose.RS256, other)},
		{"a key of another kind", nil, signed(jose.ES256, otherEC)},
		{"no token", nil, func(map[string]any) string { return "" }},
		{"nonsense", nil, func(map[string]any) string { return "a.b.c" }},
	} {
		p.Person = map[string]any{"sub": "1", "preferred_username": "eve", "groups": []string{"ops"}}
		p.Twist, p.Forge = c.twist, c.forge
		r.now = r.now.Add(time.Minute) // so that tries are forgiven
		b := r.browser()
		if at := b.login(); at != "/login?error=token&next=%2Fsources%3Fq%3Dx" {
			t.Errorf("%s: the browser is sent to %s", c.name, at)
		}
		if b.session().Known {
			t.Errorf("%s: somebody is let in", c.name)
		}
	}
	if users, err := auth.NewStore(r.Store.DB()).Users(t.Context()); err != nil || len(users) != 3 {
		t.Errorf("there are %d users, %v", len(users), err)
	}
	p.Twist, p.Forge = set("aud", []string{oidctest.ClientID, "another"}), nil
	p.Person["azp"] = oidctest.ClientID
	if at := r.browser().login(); at != "/sources?q=x" {
		t.Errorf("with two audiences and the right client: %s", at)
	}
}

// What the library takes for good and would not if it looked closer: a key of RSA that signs
// with another algorithm than those two.
func TestOnlyTwoAlgorithms(t *testing.T) {
	r := newProviderRig(t)
	p := r.provider
	p.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	for alg, good := range map[jose.SignatureAlgorithm]bool{jose.RS256: true, jose.PS256: false, jose.RS384: false, jose.RS512: false} {
		p.Forge = func(c map[string]any) string { return p.Sign(alg, p.Signer(), c) }
		b := r.browser()
		b.login()
		r.now = r.now.Add(time.Minute)
		if b.session().Known != good {
			t.Errorf("%s: somebody is let in: %v", alg, !good)
		}
	}
}

// The provider takes new keys into use whenever it likes, also of another kind.
func TestKeysRotate(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	for _, use := range []func(testing.TB){func(testing.TB) {}, r.provider.UseRSA, r.provider.UseEC, r.provider.UseRSA} {
		use(t)
		for range 2 {
			if at := r.browser().login(); at != "/sources?q=x" {
				t.Fatalf("with a new key: %s", at)
			}
		}
	}
	if n := r.provider.Asked("/keys"); n != 4 {
		t.Errorf("the keys were asked for %d times, want once for each", n)
	}
}

// An answer is good once, in the browser that asked, for what it asked last.
func TestAnswersAreBound(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	const strayed = "/login?error=state"
	refused := func(what string, b *browser, to string) {
		t.Helper()
		asked := r.provider.Asked("/token")
		if at := b.get(to); !strings.HasPrefix(at, strayed) || b.session().Known {
			t.Errorf("%s: the browser is sent to %s", what, at)
		}
		if r.provider.Asked("/token") != asked {
			t.Errorf("%s: the provider is asked about it", what)
		}
	}
	with := func(to, name, value string) string {
		u, _ := url.Parse(to)
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	one, two := r.browser(), r.browser()
	answer := one.away("/")
	refused("another browser", two, answer)
	two.away("/")
	refused("another browser that began a login, too", two, answer)
	refused("another state", one, with(answer, "state", "x"))
	refused("after a wrong one the right one", one, answer)
	answer = one.away("/")
	refused("no state", one, with(answer, "state", ""))
	answer = one.away("/")
	refused("an answer of another provider", one, with(answer, "iss", "https://evil.example"))
	answer = one.away("/")
	one.away("/changes")
	refused("the answer to the login before", one, answer)
	refused("nothing was begun", r.browser(), "/login/oidc/callback")
	refused("an answer alone", r.browser(), "/login/oidc/callback?code=x&state=")

	// A victim must not end up as somebody else by a link that was prepared.
	victim := r.browser()
	refused("a prepared link", victim, r.browser().away("/"))

	answer = one.away("/")
	kept := one.Jar.Cookies(must(url.Parse(r.API.URL)))
	if at := one.get(answer); at != "/" || !one.session().Known {
		t.Fatalf("the right one: %s", at)
	}
	refused2 := r.browser() // as if the cookie had been copied
	refused2.Jar.SetCookies(must(url.Parse(r.API.URL)), kept)
	if at := refused2.get(answer); !strings.HasPrefix(at, strayed) || refused2.session().Known {
		t.Errorf("a code that was used: %s", at)
	}
	replay := r.browser()
	replay.Jar = one.Jar
	if at := replay.get(answer); !strings.HasPrefix(at, strayed) {
		t.Errorf("the same answer again: %s", at)
	}
}

// Strangers who call the callback leave nothing in the audit log. A login that a browser has
// begun leaves one entry, and none once it is tried too often.
func TestStrangersDoNotFillTheAuditLog(t *testing.T) {
	r := newProviderRig(t)
	entries := func() int {
		t.Helper()
		found, err := auth.NewStore(r.Store.DB()).AuditLog(t.Context(), auth.AuditQuery{Limit: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	before := entries()
	for i := range 200 {
		r.browser().get(fmt.Sprintf("/login/oidc/callback?code=x&state=%d", i))
	}
	if n := entries() - before; n != 0 {
		t.Errorf("200 callbacks of strangers leave %d entries", n)
	}
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"nobody"}}
	for range 200 {
		r.browser().login()
	}
	if n := entries() - before; n == 0 || n > 50 {
		t.Errorf("200 logins that are refused leave %d entries, want a few", n)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Nobody is led to another site, whatever the address says.
func TestNextStaysInside(t *testing.T) {
	r := newProviderRig(t)
	r.provider.Person = map[string]any{"sub": "1", "groups": []string{"ops"}}
	for next, want := range map[string]string{
		"/sources/a?tab=x#y": "/sources/a?tab=x", "": "/", "/": "/", "sources": "/", "https://evil.example/": "/", "//evil.example/": "/", "///evil.example": "/",
		`/\evil.example`: "/", `\\evil.example`: "/", "/\t/evil.example": "/", "/%2f/evil.example": "/", "/%5cevil.example": "/%5Cevil.example", "javascript:alert(1)": "/",
		"http:evil.example": "/", "/a//evil.example": "/a/evil.example", "/login?next=/": "/", "/api/v1/session": "/", "/x\r\nSet-Cookie: a=b": "/", "/" + strings.Repeat("x", 2001): "/",
	} {
		b := r.browser()
		at := b.get(b.away(next))
		if at != want {
			t.Errorf("%q leads to %q, want %q", next, at, want)
		}
		// The cookie is the browser's: it can say anything.
		b = r.browser()
		answer := b.away("/")
		for _, c := range b.Jar.Cookies(must(url.Parse(r.API.URL))) {
			if a, ok := openid.ParseAttempt(c.Value); ok {
				a.Next = next
				c.Value, c.Path = a.String(), "/"
				b.Jar.SetCookies(must(url.Parse(r.API.URL)), []*http.Cookie{c})
			}
		}
		if at := b.get(answer); at != want {
			t.Errorf("%q in the cookie leads to %q, want %q", next, at, want)
		}
	}
}
