package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
)

// Config says what a Client works with. Fetcher is needed.
type Config struct {
	Fetcher  *fetch.Client
	Profiles Profiles
	Media    Media
	WebSub   *WebSub             // nil means that no feed is subscribed to
	Vault    *secrets.Vault      // nil means that there is none
	Store    freshet.StateStore  // where cookies are kept, encrypted; nil means that they are not
	Env      func(string) string // variables of the environment; nil means that there are none
	Now      func() time.Time    // the wall clock; nil means time.Now
	Log      *slog.Logger        // nil means silence
}

// A Client brings the present state of sources, however they are asked for. It is a
// [freshet.Fetcher], and may be used by many goroutines at once.
type Client struct {
	cfg      Config
	profiles atomic.Pointer[Profiles]
	media    atomic.Pointer[Media]
	jars     jars
	tokens   tokens
	logins   logins
	digests  digests
}

// New returns a Client.
func New(cfg Config) *Client {
	if cfg.Env == nil {
		cfg.Env = func(string) string { return "" }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg}
	c.jars = newJars(c)
	c.tokens = newTokens()
	c.logins = newLogins(c)
	c.digests = newDigests()
	c.SetProfiles(cfg.Profiles)
	c.media.Store(&cfg.Media)
	return c
}

// SetProfiles has sources use these profiles from now on.
func (c *Client) SetProfiles(ps Profiles) { c.profiles.Store(&ps) }

// Profiles returns those in use.
func (c *Client) Profiles() Profiles { return *c.profiles.Load() }

// Fetch implements [freshet.Fetcher].
func (c *Client) Fetch(ctx context.Context, req freshet.Request) (freshet.Response, error) {
	if medium := freshet.MediumOf(req.URL); medium != freshet.OnWeb {
		return c.elsewhere(ctx, medium, req)
	}
	resp, err := c.page(ctx, req)
	if err == nil && c.cfg.WebSub != nil && req.ID != "" {
		resp.Requests += c.cfg.WebSub.seen(ctx, c.cfg.Fetcher, req, resp)
	}
	return resp, err
}

// page brings a source of the Web.
func (c *Client) page(ctx context.Context, req freshet.Request) (freshet.Response, error) {
	if req.Source == nil {
		return c.cfg.Fetcher.Fetch(ctx, req)
	}
	p, err := c.profile(req.Source)
	if err != nil {
		return freshet.Response{URL: req.URL}, err
	}
	a := &asking{client: c, Request: req, profile: p, filling: c.filling(req.Source)}
	resp, err := a.fetch(ctx)
	resp.Requests += a.aside
	return resp, a.scrub(&resp, err)
}

// profile returns how a source is asked for.
func (c *Client) profile(s *freshet.Source) (profile.Profile, error) {
	profiles := *c.profiles.Load()
	p, err := profiles.Of(s)
	if err == nil && s.Origin != freshet.FromFile {
		err = profiles.CheckForeign(*s) // the file may have changed since it was added
	}
	if err != nil {
		return p, &freshet.FetchError{Class: failure.Secret, Err: err, Hint: freshet.HintOf(err)}
	}
	return p, nil
}

// aside returns how leave is asked for requests that are not for the page of a source.
func aside(leave func(context.Context, freshet.Hop) error) func(context.Context, freshet.Hop) error {
	if leave == nil {
		return nil
	}
	return func(ctx context.Context, hop freshet.Hop) error {
		hop.Aside = true
		return leave(ctx, hop)
	}
}

// An asking is one fetch of a source with a profile.
type asking struct {
	freshet.Request
	*filling
	client  *Client
	profile profile.Profile
	aside   int // requests made for other things than the source
}

func (a *asking) fetch(ctx context.Context) (freshet.Response, error) {
	if a.profile.Login != nil && !a.Bare {
		return a.inSession(ctx)
	}
	return a.withToken(ctx, nil)
}

// inSession fetches after a login, and once more after another if the session has
// expired.
func (a *asking) inSession(ctx context.Context) (resp freshet.Response, err error) {
	resp.URL = a.URL
	s, err := a.client.logins.session(ctx, a.profile, a.Source.ID)
	if err != nil {
		return resp, err
	}
	expired := 0
	for {
		now, err := a.login(ctx, s, expired)
		if err != nil {
			return resp, err
		}
		count, taken, err := s.current(ctx)
		if err != nil {
			return resp, err
		}
		a.taken = taken
		for _, v := range taken {
			a.remember(v.Text)
		}
		a.aside += resp.Requests
		resp, err = a.withToken(ctx, s.jar)
		a.settle(ctx, s, now, err)
		if now || expired != 0 || !isExpired(err) {
			return resp, err
		}
		expired = count
	}
}

// withToken fetches, and once more with a new token if the old one was taken back.
func (a *asking) withToken(ctx context.Context, j *jar) (freshet.Response, error) {
	resp, fresh, err := a.once(ctx, j)
	if !fresh && refusedToken(a.profile, err) {
		a.aside += resp.Requests
		resp, _, err = a.once(ctx, j)
	}
	return resp, err
}

// refusedToken reports whether an answer says that the token of a source is no good.
func refusedToken(p profile.Profile, err error) bool {
	e, ok := errors.AsType[*freshet.FetchError](err)
	return ok && p.Auth != nil && p.Auth.OAuth2 != nil && e.Class == failure.HTTP.WithStatus(http.StatusUnauthorized)
}

// once makes the fetch with the cookies of a session, or those of the source, and
// reports whether a token was got for it just now.
func (a *asking) once(ctx context.Context, jar *jar) (resp freshet.Response, fresh bool, err error) {
	resp.URL = a.URL
	if a.Bare {
		how, err := a.way()
		if err != nil {
			return resp, false, err
		}
		resp, err = a.client.cfg.Fetcher.Send(ctx, a.plain(), how)
		return resp, false, err
	}
	how, err := a.sending()
	if err != nil {
		return resp, false, err
	}
	token, fresh, err := a.token(ctx)
	if err != nil {
		return resp, fresh, err
	}
	if token != nil {
		how.Secret.Set("Authorization", "Bearer "+token.text)
	}
	if jar == nil {
		if jar, err = a.client.jars.open(ctx, a.profile.Jar, a.Source.ID); err != nil {
			return resp, fresh, err
		}
	}
	if jar != nil {
		how.Cookies = jar
		a.rememberAll(jar.secrets())
	}
	resp, err = a.client.cfg.Fetcher.Send(ctx, a.plain(), how)
	if jar != nil {
		resp.Own = jar.key.source != ""
		a.rememberAll(jar.secrets())
		a.client.jars.keep(ctx, jar)
	}
	if err == nil && !resp.NotModified {
		err = a.judge(a.Source.Expect, resp.Body)
	}
	if resp.Along != nil {
		resp.Along.Scrub = a.cleanBody
	}
	if refusedToken(a.profile, err) {
		a.client.tokens.forget(token)
	}
	return resp, fresh, err
}

// plain returns the request as package fetch takes it.
func (a *asking) plain() freshet.Request {
	req := a.Request
	req.Source = nil
	return req
}

// way returns how the server is reached.
func (a *asking) way() (how fetch.Sending, err error) {
	how.Within = a.profile.Limit()
	if a.profile.Proxy != "" {
		how.Proxy, err = a.proxy()
	}
	return how, err
}

// proxy returns the proxy with its user and password, if it has any. They are escaped
// as they must be in a URL, unless all of the URL is a secret.
func (a *asking) proxy() (*url.URL, error) {
	v := a.profile.Proxy
	bare, err := v.Expand(func(profile.Reference) (string, error) { return "", nil })
	if err != nil {
		return nil, err
	}
	host := ""
	if u, err := url.Parse(bare); err == nil {
		host = u.Host
	}
	text, err := v.Expand(func(r profile.Reference) (string, error) {
		s, err := a.value(r, host)
		if bare != "" {
			s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
		}
		return s, err
	})
	if err != nil {
		return nil, &freshet.FetchError{Class: failure.Secret, Err: err, Hint: freshet.HintOf(err)}
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, &freshet.FetchError{Class: failure.Proxy, Err: errors.New("request.proxy is not the URL of a proxy")}
	}
	return u, nil
}

// sending returns how the source is asked for, but for a token and cookies.
func (a *asking) sending() (how fetch.Sending, err error) {
	if how, err = a.way(); err != nil {
		return how, err
	}
	p, host := a.profile, a.Source.Host()
	how.Method, how.Header, how.Secret = p.Method, http.Header{}, http.Header{}
	if a.Source.Expect != nil {
		how.Status = a.Source.Expect.Status
	}
	if err := a.headers(&how, p.Headers, host); err != nil {
		return how, err
	}
	if p.Language != "" {
		how.Header.Set("Accept-Language", p.Language)
	}
	if err := a.body(&how, p.Body, p.Form, host); err != nil {
		return how, err
	}
	if err := a.cookies(&how, host); err != nil {
		return how, err
	}
	if err := a.authorize(&how, host); err != nil {
		return how, err
	}
	if c := p.Cert; c != nil {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return how, &freshet.FetchError{Class: failure.Secret, Err: fmt.Errorf("request.cert: %w", err)}
		}
		how.Cert = &pair
	}
	return how, nil
}
