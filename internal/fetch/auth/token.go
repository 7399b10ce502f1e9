package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
)

// How long a token is used if its issuer does not say, and how long before its end it is renewed.
const (
	tokenLife  = 10 * time.Minute
	tokenSlack = 30 * time.Second
	maxToken   = 8 << 10
	maxAnswer  = 64 << 10
)

// A token lets a source be asked for until it expires.
type token struct {
	text    string
	expires time.Time
	refused atomic.Bool // by the source
}

// A grant is where a token comes from. Sources that would get the same share it.
type grant struct {
	turn  chan struct{} // holds one: whose turn it is to get a token
	token *token
	pause pause
}

// tokens are the grants, by all that a token depends on.
type tokens struct {
	mu     *sync.Mutex
	grants map[string]*grant
}

func newTokens() tokens { return tokens{mu: new(sync.Mutex), grants: map[string]*grant{}} }

func (t tokens) grant(key string) *grant {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.grants[key]
	if g == nil {
		g = &grant{turn: make(chan struct{}, 1)}
		t.grants[key] = g
	}
	return g
}

// forget has the next poll get a new token in the place of this one.
func (t tokens) forget(old *token) {
	if old != nil {
		old.refused.Store(true)
	}
}

// token returns the token that a source needs, nil if it needs none, and whether it
// was got just now.
func (a *asking) token(ctx context.Context) (*token, bool, error) {
	if a.profile.Auth == nil || a.profile.Auth.OAuth2 == nil {
		return nil, false, nil
	}
	ask, err := a.tokenRequest(*a.profile.Auth.OAuth2)
	if err != nil {
		return nil, false, err
	}
	if err := a.mayUseToken(ask.url); err != nil {
		return nil, false, err
	}
	g := a.client.tokens.grant(ask.key)
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	now := a.client.cfg.Now()
	if g.token != nil && now.Before(g.token.expires) && !g.token.refused.Load() {
		a.remember(g.token.text)
		return g.token, false, nil
	}
	if until := g.pause.over(now); !until.IsZero() {
		return nil, false, tokenFailure("the last request for a token failed; the next is made after %s", until.UTC().Format(time.RFC3339))
	}
	got, err := a.getToken(ctx, ask)
	if err != nil {
		if spent(err) {
			g.pause.lengthen(a.client.cfg.Now())
		}
		return nil, false, err
	}
	g.token, g.pause = got, pause{}
	a.remember(got.text)
	return got, true, nil
}

// mayUseToken returns an error if a token of a URL must not be sent to the source, because
// the secrets that it is granted for are bound to other hosts.
func (a *asking) mayUseToken(from string) error {
	foreign := a.Source.Origin != freshet.FromFile && a.Source.Request.Auth != nil
	if err := checkDerived(freshet.HostOf(from), a.hosts, a.Source.Host(), foreign); err != nil {
		return &freshet.FetchError{Class: failure.Secret, Err: fmt.Errorf("the token of auth.oauth2: %w", err), Hint: freshet.HintOf(err)}
	}
	return nil
}

// A tokenRequest is what is sent to get a token.
type tokenRequest struct {
	url string
	how fetch.Sending
	key string
}

func (a *asking) tokenRequest(o profile.OAuth2) (ask tokenRequest, err error) {
	host := freshet.HostOf(o.TokenURL)
	form := url.Values{"grant_type": {"client_credentials"}}
	if o.Scope != "" {
		form.Set("scope", o.Scope)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		text, err := a.fill(o.Params[name], host)
		if err != nil {
			return ask, err
		}
		form.Set(name, text)
	}
	id, err := a.fill(o.ClientID, host)
	if err != nil {
		return ask, err
	}
	key, err := a.fill(o.ClientSecret, host)
	if err != nil {
		return ask, err
	}
	if ask.how, err = a.way(); err != nil {
		return ask, err
	}
	ask.url, ask.how.Method = o.TokenURL, http.MethodPost
	ask.how.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if o.InBody {
		form.Set("client_id", id)
		form.Set("client_secret", key)
	} else {
		ask.how.Secret = http.Header{"Authorization": {a.basic(url.QueryEscape(id), url.QueryEscape(key))}}
	}
	ask.how.Body = []byte(form.Encode())
	sum := sha256.Sum256([]byte(strings.Join([]string{ask.url, id, key, form.Encode()}, "\n")))
	ask.key = hex.EncodeToString(sum[:])
	return ask, nil
}

func tokenFailure(format string, args ...any) error {
	return &freshet.FetchError{Class: failure.Token, Err: fmt.Errorf(format, args...), Hint: "check auth.oauth2: token_url, client_id, client_secret and scope"}
}

// spent reports whether something went wrong that asking again at once would repeat:
// not that we had no leave or no secret, nor that we gave up.
func spent(err error) bool {
	e, ok := errors.AsType[*freshet.FetchError](err)
	return !ok || !e.Class.Is(failure.Deferred) && !e.Class.Is(failure.Canceled) && !e.Class.Is(failure.Secret) && !e.Class.Ours()
}

// getToken asks for a token.
func (a *asking) getToken(ctx context.Context, ask tokenRequest) (*token, error) {
	resp, err := a.client.cfg.Fetcher.Send(ctx, freshet.Request{URL: ask.url, Leave: aside(a.Leave), Room: a.Room}, ask.how)
	a.aside += resp.Requests
	if err != nil {
		if e, ok := errors.AsType[*freshet.FetchError](err); ok && e.Class.Is(failure.HTTP) {
			return nil, tokenFailure("%s gave no token: %w", freshet.HostOf(ask.url), e.Err)
		}
		return nil, err
	}
	var answer struct {
		Token   string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Expires float64 `json:"expires_in"`
	}
	if len(resp.Body) > maxAnswer || json.Unmarshal(resp.Body, &answer) != nil {
		return nil, tokenFailure("%s answered with something else than a token", freshet.HostOf(ask.url))
	}
	switch {
	case answer.Token == "" || len(answer.Token) > maxToken || !profile.ValidHeaderValue(answer.Token):
		return nil, tokenFailure("%s answered without a token that can be used", freshet.HostOf(ask.url))
	case answer.Type != "" && !strings.EqualFold(answer.Type, "bearer"):
		return nil, tokenFailure("%s gave a token of type %.40q; only bearer tokens can be used", freshet.HostOf(ask.url), answer.Type)
	}
	life := tokenLife
	if answer.Expires > 0 {
		life = time.Duration(min(answer.Expires, 365*24*3600) * float64(time.Second))
	}
	life = max(life-tokenSlack, life/2)
	return &token{text: answer.Token, expires: a.client.cfg.Now().Add(life)}, nil
}
