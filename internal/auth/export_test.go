package auth

import "context"

// A HashQueue is a hashQueue.
type HashQueue struct{ q hashQueue }

// Do calls do.
func (h *HashQueue) Do(ctx context.Context, from string, hash func()) error {
	return h.q.do(ctx, from, hash)
}

// Welcome calls welcome.
func (h *HashQueue) Welcome(from string) { h.q.welcome(from) }
