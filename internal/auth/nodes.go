package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"freshet/internal/freshet"
)

// A Passing is what a node says of a request that it passes on to another: where it came from,
// whether over https, and how its caller was let in who shows no credential.
type Passing struct {
	From   string
	Secure bool
	Via    string // as in [Caller]; "" if this node is to look
}

type passingKey struct{}

// Passed returns a request that a node has passed on, as if it had come from its client.
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

// How a node lets in those who show no credential.
const (
	viaData = "data directory" // they can read it
	viaOpen = "open"           // nobody has to log in
)

// vouched returns the caller whom another node has let in without a credential. Where this node would have asked
// for one, only those count who can read the data directory of the other.
func (g *Gate) vouched(r *http.Request) (Caller, bool) {
	p, _ := r.Context().Value(passingKey{}).(Passing)
	return everybody(p.Via), p.Via == viaData || p.Via == viaOpen && g.Open()
}

// Recheck ends the requests of those who may not go on, if another process has taken their
// passes or their roles away.
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
