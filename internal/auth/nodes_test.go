package auth_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"freshet/internal/auth"
	"freshet/internal/freshet"
)

// A node that was known when its request came is known until it is answered, even if its row runs
// out meanwhile; any other has to be known by then.
func TestNodeThatPassesOn(t *testing.T) {
	const node, other = auth.LocalPrefix + "node", auth.LocalPrefix + "other"
	known := ""
	r := newRig(t, auth.Config{Mode: auth.On, Nodes: func(_ context.Context, h freshet.Hash) (bool, error) { return h == auth.HashOf(known), nil }})
	passed := auth.Passed(httptest.NewRequest("PUT", "/api/v1/sources/a", nil), auth.Passing{From: "192.0.2.1", Node: auth.HashOf(node)}).Context()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		secret string
		known  string
		want   error
	}{
		{"a node that was known", passed, node, "", nil},
		{"another than the one that was known", passed, other, "", auth.ErrUnknown},
		{"a request that nobody passed on", t.Context(), node, "", auth.ErrUnknown},
		{"a node that is known", t.Context(), node, node, nil},
	} {
		known = c.known
		got, err := r.Known(c.ctx, c.secret)
		if !errors.Is(err, c.want) || c.want == nil && !got.Everybody() {
			t.Errorf("%s: %+v, %v, want %v", c.name, got, err, c.want)
		}
	}
}
