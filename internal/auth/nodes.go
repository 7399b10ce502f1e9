package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"freshet/internal/freshet"
)

// A Passing describes the origin of a request that another node forwarded: the client's address,
// whether it used https, and how the other node authenticated a caller without a credential.
type Passing struct {
	From   string
	Secure bool
	Via    string // as in [Caller]; "" if this node has to authenticate the caller
}

type passingKey struct{}

// Passed returns a forwarded request with the origin of the client's request.
func Passed(r *http.Request, p Passing) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), passingKey{}, p))
	if at, err := netip.ParseAddr(p.From); err == nil {
		r.RemoteAddr = netip.AddrPortFrom(at, 0).String()
	}
	for _, name := range forwarding {
		r.Header.Del(name)
	}
	return r
}

// How a node authenticates callers without a credential.
const (
	viaData = "data directory" // the caller can read the data directory
	viaOpen = "open"           // nobody has to log in
)

// vouched returns the caller that another node authenticated without a credential. If this node
// requires a login, that counts only for callers who can read the other node's data directory.
func (g *Gate) vouched(r *http.Request) (Caller, bool) {
	p, _ := r.Context().Value(passingKey{}).(Passing)
	return everybody(p.Via), p.Via == viaData || p.Via == viaOpen && g.Open()
}

// Recheck ends running requests whose credential or role another process has revoked.
func (g *Gate) Recheck(ctx context.Context) error {
	g.mu.Lock()
	callers := map[string]Caller{}
	for c := range g.calls {
		if c.caller.Credential.ID != "" {
			callers[c.caller.Credential.ID] = c.caller
		}
	}
	g.mu.Unlock()
	for id, was := range callers {
		p, err := g.Store.CredentialBySecret(ctx, was.Credential.Secret)
		good := err == nil && g.valid(p)
		if good && was.User != "" {
			var u User
			u, err = g.Store.User(ctx, was.User)
			good = err == nil && u.Role == was.Role
		}
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return err
		}
		if !good {
			g.end(func(c Caller) bool { return c.Credential.ID == id }, "")
		}
	}
	return nil
}
