package client

import (
	"context"
	"net/http"

	"freshet/internal/freshet"
)

// A Hook is how others say that a source has changed.
type Hook struct {
	Source freshet.SourceID `json:"source"`
	Path   string           `json:"path" doc:"Send a POST request here to have the source polled; keep it secret"`
	URL    string           `json:"url,omitempty" doc:"The same with api.url, if that is set"`
}

// Hook returns the hook of a source. It is made if there is none. With rotate
// a new one replaces it.
func (r Sources) Hook(ctx context.Context, id freshet.SourceID, rotate bool) (Hook, error) {
	q := query{}
	q.flag("rotate", rotate)
	return post[Hook](ctx, r.c, r.sourcePath(id, "hook"), q, nil)
}

// RemoveHook makes the hook of a source invalid.
func (r Sources) RemoveHook(ctx context.Context, id freshet.SourceID) error {
	return r.c.Call(ctx, http.MethodDelete, r.sourcePath(id, "hook"), nil, nil, nil)
}
