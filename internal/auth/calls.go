package auth

import (
	"context"
	"errors"
)

// errRevoked ends the requests of a caller whose rights were revoked.
var errRevoked = errors.New("the session or token has ended")

// A call is a request under way.
type call struct {
	caller Caller
	cancel context.CancelCauseFunc
}

// Bind returns a context for a request that ends when the caller's pass does: streams do
// not outlive what they were begun with. The function must be called at the end.
func (g *Gate) Bind(ctx context.Context, c Caller) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	under := &call{c, cancel}
	g.mu.Lock()
	g.calls[under] = struct{}{}
	g.mu.Unlock()
	stop := func() {}
	if p := c.Credential; p.ID != "" {
		left := SessionIdle
		if !p.Expires.IsZero() {
			left = min(left, p.Expires.Sub(g.Now()))
		}
		ctx, stop = context.WithTimeoutCause(ctx, left, errRevoked)
	}
	return With(ctx, c), func() {
		stop()
		cancel(nil)
		g.mu.Lock()
		delete(g.calls, under)
		g.mu.Unlock()
	}
}

// end ends the requests of callers for which a condition holds, but for those with one
// pass.
func (g *Gate) end(whose func(Caller) bool, but string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.calls {
		if whose(c.caller) && (but == "" || c.caller.Credential.ID != but) {
			c.cancel(errRevoked)
		}
	}
}
