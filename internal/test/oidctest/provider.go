// Package oidctest runs an OpenID Connect provider in the process of a test: discovery,
// the code flow with PKCE, keys that are really used, and the ways in which a provider, or
// somebody who plays one, can be wrong.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// What a client is called at the provider, and how it shows that.
const (
	ClientID     = "freshet"
	ClientSecret = "the secret of the client"
)

// A Provider is one in the process. Its fields are changed between logins.
type Provider struct {
	*httptest.Server
	Now func() time.Time

	// Person has the claims of the user who logs in: sub, groups and so on.
	Person map[string]any

	// Elsewhere is what is said only at the userinfo endpoint; nil means that there is
	// no such endpoint.
	Elsewhere map[string]any

	// Twist changes the claims of an ID token before it is signed.
	Twist func(claims map[string]any)

	// Forge makes an ID token in the place of the provider.
	Forge func(claims map[string]any) string

	// Offers is what the provider says of itself beyond the truth, or against it.
	Offers map[string]any

	// Deny is the error that people come back with; "" means none.
	Deny string

	// Post says that a client sends its secret in the body.
	Post bool

	mu       sync.Mutex
	key      key
	redirect string
	codes    map[string]asked
	asked    map[string]int // requests by path
}

// A key signs ID tokens.
type key struct {
	id     string
	alg    jose.SignatureAlgorithm
	signer crypto.Signer
}

// asked is what a code was given for.
type asked struct{ nonce, challenge, redirect string }

// New starts a provider that knows a client with a redirect URI. It signs with RS256.
func New(t testing.TB, redirect string) *Provider {
	t.Helper()
	p := &Provider{Now: time.Now, redirect: redirect, codes: map[string]asked{}, asked: map[string]int{}}
	p.UseRSA(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userInfo)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[r.URL.Path]++
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// UseRSA has the provider sign with a new key and RS256.
func (p *Provider) UseRSA(t testing.TB) {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.use(jose.RS256, k)
}

// UseEC has the provider sign with a new key and ES256.
func (p *Provider) UseEC(t testing.TB) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.use(jose.ES256, k)
}

func (p *Provider) use(alg jose.SignatureAlgorithm, signer crypto.Signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key{rand.Text(), alg, signer}
}

// Redirect changes where the client may be sent back to.
func (p *Provider) Redirect(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redirect = to
}

// Asked returns how often a path was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Sign returns an ID token that a key signs which says it is the provider's. A nil key means
// the provider's own; Forge may call it.
func (p *Provider) Sign(alg jose.SignatureAlgorithm, with any, claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	if with == nil {
		alg, with = p.key.alg, p.key.signer
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: with, KeyID: p.key.id}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

// Public returns the public key that the provider signs for now; Forge may call it.
func (p *Provider) Public() crypto.PublicKey { return p.key.signer.Public() }

// Signer returns the key itself; Forge may use it.
func (p *Provider) Signer() crypto.Signer { return p.key.signer }

// KeyID returns the name of that key; Forge may call it.
func (p *Provider) KeyID() string { return p.key.id }

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	says := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		// It claims more than anybody should take.
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "PS256", "none"},
	}
	if p.Post {
		says["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	if p.Elsewhere != nil {
		says["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	maps.Copy(says, p.Offers)
	tell(w, http.StatusOK, says)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	tell(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.signer.Public(), KeyID: p.key.id, Algorithm: string(p.key.alg), Use: "sig"}}})
}

// authorize logs every client in, as the user Person.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("redirect_uri") != p.redirect || q.Get("response_type") != "code" ||
		!strings.Contains(" "+q.Get("scope")+" ", " openid ") || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "this client must not ask so: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {p.URL}, "session_state": {"x"}}
	if p.Deny != "" {
		back.Set("error", p.Deny)
	} else {
		code := rand.Text()
		p.codes[code] = asked{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
		back.Set("code", code)
	}
	http.Redirect(w, r, p.redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if id, _ = url.QueryUnescape(id); basic {
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if basic == p.Post || id != ClientID || secret != ClientSecret {
		tell(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	got, ok := p.codes[code]
	delete(p.codes, code) // each is good once
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != got.redirect ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != got.challenge {
		tell(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	now := p.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "nonce": got.nonce, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	for name, value := range p.Person {
		claims[name] = value
	}
	if p.Twist != nil {
		p.Twist(claims)
	}
	token := ""
	if p.Forge != nil {
		token = p.Forge(claims)
	} else {
		token = p.Sign("", nil, claims)
	}
	tell(w, http.StatusOK, map[string]any{"access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": token})
}

func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	if p.Elsewhere == nil || r.Header.Get("Authorization") != "Bearer access" {
		tell(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	tell(w, http.StatusOK, p.Elsewhere)
}

func tell(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}
