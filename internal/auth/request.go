package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The cookies of sessions. Browsers take the first only over https, and only from this
// very host; the other is for plain http.
const (
	SecureCookie = "__Host-freshet"
	PlainCookie  = "freshet"
)

// ShareParam is the query parameter that a share link's secret can be in, for feed
// readers.
const ShareParam = "link"

// Ask returns who sent a request: a stranger if it shows nothing. It returns ErrUnknown if
// it shows a token or link that is not good, which is no session that has merely ended.
func (g *Gate) Ask(r *http.Request) (Caller, error) {
	if g.Follows && !g.HasUsers() { // another process may have added one
		if err := g.count(r.Context()); err != nil {
			return Caller{From: g.Address(r)}, err
		}
	}
	c, err := g.shown(r)
	if err != nil {
		return Caller{From: g.Address(r), Secure: g.Secure(r)}, err
	}
	if vouched, ok := g.vouched(r); !c.Known && ok {
		c = vouched
	}
	if !c.Known && g.comesIn(r) {
		c = everybody(viaOpen)
		if g.Inside {
			c.Via = viaData
		}
	}
	c.From, c.Secure = g.Address(r), g.Secure(r)
	return c, nil
}

// shown returns who the request says it is from.
func (g *Gate) shown(r *http.Request) (Caller, error) {
	if kind, secret, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		return g.Known(r.Context(), strings.TrimSpace(secret))
	}
	if secret := r.URL.Query().Get(ShareParam); secret != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		c, err := g.Known(r.Context(), secret)
		if err == nil && c.Credential.Kind != ShareKind { // a token has no place in an address
			return Caller{}, ErrUnknown
		}
		return c, err
	}
	for _, name := range g.cookies(r) {
		cookie, err := r.Cookie(name)
		if err != nil {
			continue
		}
		c, err := g.Known(r.Context(), cookie.Value)
		if errors.Is(err, ErrUnknown) || err == nil && c.Credential.Kind != SessionKind {
			continue
		}
		return c, err
	}
	return Caller{}, nil
}

// cookies returns the cookies that count: over https nobody can have set the plain one
// but over http.
func (g *Gate) cookies(r *http.Request) []string {
	if g.Secure(r) {
		return []string{SecureCookie}
	}
	return []string{PlainCookie}
}

// comesIn reports whether a request needs no login. While only this machine is trusted, a request
// that a proxy has passed on is not: it comes from this machine on behalf of anybody.
func (g *Gate) comesIn(r *http.Request) bool {
	switch {
	case g.Mode == Off || g.Inside:
		return true
	case !g.Open():
		return false
	}
	peer := peerOf(r)
	return peer.IsLoopback() && !forwarded(r) && isHere(r.Host)
}

// forwarding are headers that proxies add.
var forwarding = []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Server", "Forwarded", "X-Real-Ip", "Via", "Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip"}

// forwarded reports whether a proxy has passed a request on. One of HTTP/1.0 counts as
// such: it is what nginx sends by default, without any of the headers.
func forwarded(r *http.Request) bool {
	return !r.ProtoAtLeast(1, 1) && r.Proto != "" || slices.ContainsFunc(forwarding, func(name string) bool { return r.Header.Get(name) != "" })
}

// isHere reports whether a request asks for this machine by an address or a name that
// means no other.
func isHere(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// peerOf returns the address that a request came from.
func peerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// Address returns where a request comes from. A proxy that is trusted says it; of a list,
// the last that no such proxy has is taken, because the rest is what the client wrote.
func (g *Gate) Address(r *http.Request) string {
	at := peerOf(r)
	if !g.trusts(at) {
		return at.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if at = addr.Unmap(); !g.trusts(at) {
			break
		}
	}
	return at.String()
}

func (g *Gate) trusts(at netip.Addr) bool {
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// Secure reports whether a request came over https, as far as that is known.
func (g *Gate) Secure(r *http.Request) bool {
	if p, ok := r.Context().Value(passingKey{}).(Passing); ok {
		return p.Secure
	}
	if r.TLS != nil {
		return true
	}
	if g.trusts(peerOf(r)) {
		if proto := r.Header.Get("X-Forwarded-Proto"); proto != "" {
			return strings.EqualFold(proto, "https")
		}
	}
	u, err := url.Parse(g.Public)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

// Cookie returns the cookie of a session; one with no secret ends it in the browser.
func (c Caller) Cookie(secret string, expires time.Time) http.Cookie {
	cookie := http.Cookie{Name: PlainCookie, Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Expires: expires}
	if c.Secure {
		cookie.Name, cookie.Secure = SecureCookie, true
	}
	if secret == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Time{}
	}
	return cookie
}

// The cookies of logins that have begun at a provider. They come along when the provider
// sends a browser back, which those of sessions do not.
const (
	secureAttempt = "__Host-freshet-login"
	plainAttempt  = "freshet-login"
	attemptLife   = 10 * time.Minute
)

// AttemptCookie returns the cookie of a login that has begun; an empty one ends it.
func (c Caller) AttemptCookie(kept string) http.Cookie {
	cookie := http.Cookie{Name: plainAttempt, Value: kept, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(attemptLife.Seconds())}
	if c.Secure {
		cookie.Name, cookie.Secure = secureAttempt, true
	}
	if kept == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// KeptAttempt returns what a browser has kept of a login that it began; "" if nothing.
func (c Caller) KeptAttempt(r *http.Request) string {
	cookie, err := r.Cookie(c.AttemptCookie("").Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// Note writes to the audit log. What was done is done, so that the request may have ended
// meanwhile; that it cannot be written is logged.
func (g *Gate) Note(ctx context.Context, c Caller, d AuditEntry) {
	d.At, d.Who, d.Via, d.From = g.Now().UTC(), c.User, c.Via, c.From
	if err := g.Store.AppendAudit(context.WithoutCancel(ctx), d); err != nil {
		g.Log.Error("cannot write the audit log", "who", d.Who, "from", d.From, "what", d.What, "subject", d.Subject, "err", err)
	}
}
