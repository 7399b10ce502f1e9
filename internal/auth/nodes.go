package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"freshet/internal/freshet"
)

// A Passing is what a node says of a request that it passes on to another: where it came from,
// and whether over https.
type Passing struct {
	From   string
	Secure bool
	Node   freshet.Hash // of the secret by which the node was known
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

// ofNode reports whether a secret is that of another node on the same store, who speaks for
// whoever may do everything there.
func (g *Gate) ofNode(ctx context.Context, secret string) (bool, error) {
	if g.Nodes == nil || !strings.HasPrefix(secret, LocalPrefix) {
		return false, nil
	}
	hash := hashOf(secret)
	if p, ok := ctx.Value(passingKey{}).(Passing); ok && p.Node == hash {
		return true, nil // whoever took the request looked: a node is not a stranger a moment later
	}
	return g.Nodes(ctx, hash)
}

// HashOf returns what is kept of a secret.
func HashOf(secret string) freshet.Hash { return hashOf(secret) }

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
