package openid

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"freshet/internal/mask"
)

// A Config says how a provider is used.
type Config struct {
	Settings
	Redirect string // URL that the provider sends people back to

	// ClientSecret returns the secret of the client; nil means that it has none.
	ClientSecret func() (string, error)

	// Reach adds the way out to a context: package fetch has it.
	Reach func(context.Context) context.Context

	Now func() time.Time // nil means time.Now
}

// A Provider is where people log in.
type Provider struct {
	Config

	mu     sync.Mutex
	known  *discovered
	failed error // why the last discovery failed
	at     time.Time
}

// What the provider says of itself.
type discovered struct {
	*oidc.Provider
	style oauth2.AuthStyle
}

const (
	knownFor  = time.Hour        // until the provider is asked again what it offers
	failedFor = 5 * time.Second  // until it is asked again after a failure
	patience  = 15 * time.Second // for all that one step of a login asks of the provider
	skew      = 5 * time.Minute  // that clocks may differ by
	oldest    = 10 * time.Minute // of an ID token: it was made for this login
)

// New returns a provider. It is not contacted before the first login.
func New(cfg Config) *Provider {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Provider{Config: cfg}
}

// Label returns what people call the provider.
func (p *Provider) Label() string {
	if p.Name != "" {
		return p.Name
	}
	u, err := url.Parse(p.Issuer)
	if err != nil {
		return p.Issuer
	}
	return u.Hostname()
}

// A Refusal is why a login failed, of a kind that the page has words for.
type Refusal struct {
	Kind Kind
	Err  error
}

// A Kind is a kind of refusal.
type Kind string

// The kinds of refusal.
const (
	Strayed     Kind = "state"    // the browser did not begin this login, or too long ago
	Denied      Kind = "denied"   // the provider did not let the person in
	Unreachable Kind = "provider" // the provider does not answer as it should
	Unproven    Kind = "token"    // what the provider said cannot be believed
)

// Error says what happened.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns what happened.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(kind Kind, format string, args ...any) error {
	return &Refusal{kind, fmt.Errorf(format, args...)}
}

// Begin returns where to send a browser to log in, and what it has to keep until it is back.
func (p *Provider) Begin(ctx context.Context, next string) (to string, a Attempt, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return "", a, err
	}
	a = newAttempt(next)
	conf := p.oauth(d, "")
	return conf.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), a, nil
}

// Finish returns who came back from the provider with an answer to an attempt.
func (p *Provider) Finish(ctx context.Context, a Attempt, answer url.Values) (Person, error) {
	if err := p.checkAnswer(a, answer); err != nil {
		return Person{}, err
	}
	ctx, cancel := context.WithTimeout(p.Reach(ctx), patience)
	defer cancel()
	d, err := p.discover(ctx)
	if err != nil {
		return Person{}, err
	}
	secret := ""
	if p.ClientSecret != nil {
		if secret, err = p.ClientSecret(); err != nil {
			return Person{}, refuse(Unreachable, "api.oidc.client_secret: %w", err)
		}
	}
	token, err := p.oauth(d, secret).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return Person{}, exchangeError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, refuse(Unproven, "the provider sent no ID token")
	}
	id, err := d.Verifier(&oidc.Config{ClientID: p.ClientID, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256}, Now: p.Now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, refuse(Unproven, "the ID token is not good: %w", err)
	}
	said := claims{}
	if err := id.Claims(&said); err != nil {
		return Person{}, refuse(Unproven, "the ID token cannot be read: %w", err)
	}
	if err := p.checkToken(a, id, said); err != nil {
		return Person{}, err
	}
	if said, err = p.complete(ctx, d, token, id.Subject, said); err != nil {
		return Person{}, err
	}
	return p.person(id.Subject, said), nil
}

// checkAnswer judges what a browser brings back, before anybody is asked about it.
func (p *Provider) checkAnswer(a Attempt, answer url.Values) error {
	switch iss := answer.Get("iss"); {
	case a.State == "" || subtle.ConstantTimeCompare([]byte(a.State), []byte(answer.Get("state"))) != 1:
		return refuse(Strayed, "this browser did not begin the login, or has begun another since")
	case iss != "" && iss != p.Issuer: // RFC 9207
		return refuse(Strayed, "the answer is from %.200q", iss)
	case answer.Get("error") != "":
		return refuse(Denied, "the provider says %.100q: %.200q", answer.Get("error"), answer.Get("error_description"))
	case answer.Get("code") == "":
		return refuse(Denied, "the provider sent no code")
	}
	return nil
}

// checkToken judges what the library leaves to its users.
func (p *Provider) checkToken(a Attempt, id *oidc.IDToken, said claims) error {
	now := p.Now()
	azp, has := said["azp"].(string)
	switch {
	case subtle.ConstantTimeCompare([]byte(a.Nonce), []byte(id.Nonce)) != 1:
		return refuse(Unproven, "the ID token was made for another login")
	case has && azp != p.ClientID:
		return refuse(Unproven, "the ID token was made for %.200q", azp)
	case !has && len(id.Audience) > 1:
		return refuse(Unproven, "the ID token is for %d clients and does not say which of them asked", len(id.Audience))
	case id.IssuedAt.After(now.Add(skew)):
		return refuse(Unproven, "the ID token is from the future: %s", id.IssuedAt.UTC().Format(time.RFC3339))
	case now.Sub(id.IssuedAt) > oldest:
		return refuse(Unproven, "the ID token is too old: %s", id.IssuedAt.UTC().Format(time.RFC3339))
	case id.Subject == "" || len(id.Subject) > 255:
		return refuse(Unproven, "the ID token does not say for whom it is")
	}
	return nil
}

// exchangeError tells a code that the provider does not take from one that it does not
// answer to.
func exchangeError(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok && e.ErrorCode == "invalid_grant" {
		return refuse(Strayed, "the provider does not take the code: it was used before, or is too old")
	}
	return refuse(Unreachable, "ask the provider for a token: %w", withoutBody(err))
}

// withoutBody drops what a provider answered, which could be anything.
func withoutBody(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("%s %.100q", e.Response.Status, e.ErrorCode)
	}
	return err
}

func (p *Provider) oauth(d *discovered, secret string) *oauth2.Config {
	end := d.Endpoint()
	if end.AuthStyle = d.style; secret == "" {
		end.AuthStyle = oauth2.AuthStyleInParams // the client says only its name
	}
	scopes := append([]string{oidc.ScopeOpenID}, p.Scopes...)
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: secret, Endpoint: end, RedirectURL: p.Redirect, Scopes: scopes}
}

// discover returns what the provider says of itself. It is asked once in a while, by one
// caller for all. What is known already holds while it does not answer.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.Now().Sub(p.at)
	switch {
	case p.known != nil && age < knownFor:
		return p.known, nil
	case p.failed != nil && age < failedFor:
		return nil, p.failed
	}
	d, err := p.ask(ctx)
	p.at = p.Now()
	if err != nil && p.known != nil {
		return p.known, nil
	}
	if p.failed = err; err == nil {
		p.known = d
	}
	return d, err
}

func (p *Provider) ask(ctx context.Context) (*discovered, error) {
	found, err := oidc.NewProvider(p.Reach(context.WithoutCancel(ctx)), p.Issuer)
	if err != nil {
		return nil, refuse(Unreachable, "ask %s what it offers: %s", p.Issuer, mask.Shorten(err.Error(), 300))
	}
	var more struct {
		Keys    string   `json:"jwks_uri"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, refuse(Unreachable, "read what %s offers: %w", p.Issuer, err)
	}
	ends := []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL, more.Keys}
	if info := found.UserInfoEndpoint(); info != "" {
		ends = append(ends, info) // it is shown a token
	}
	for _, at := range ends {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && isHere(u.Host)) {
			return nil, refuse(Unreachable, "%s offers %.200q, which is not a URL of https", p.Issuer, at)
		}
	}
	d := &discovered{Provider: found, style: oauth2.AuthStyleInHeader} // the default of the standard
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		d.style = oauth2.AuthStyleInParams
	}
	return d, nil
}

// SubjectOf returns the identifier of a user at an issuer.
func SubjectOf(issuer, sub string) string { return strings.TrimSuffix(issuer, "/") + "#" + sub }
