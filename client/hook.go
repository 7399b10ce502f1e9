package client

import (
	"context"
	"net/http"
	"net/url"

	"freshet/internal/freshet"
)

// A Hook is how others say that a source has changed.
type Hook struct {
	Source freshet.SourceID `json:"source"`
	Path   string           `json:"path" doc:"Send a POST request here to have the source polled; keep it secret"`
	URL    string           `json:"url,omitempty" doc:"The same with api.url, if that is set"`
}

// Hook returns the hook of a source. It is made if there is none, or anew: then the old
// one is no longer valid.
func (c *Client) Hook(ctx context.Context, id freshet.SourceID, anew bool) (h Hook, err error) {
	q := query{}
	q.flag("rotate", anew)
	err = c.call(ctx, http.MethodPost, sourcePath(id)+"/hook", url.Values(q), nil, &h)
	return h, err
}

// RemoveHook makes the hook of a source invalid.
func (c *Client) RemoveHook(ctx context.Context, id freshet.SourceID) error {
	return c.call(ctx, http.MethodDelete, sourcePath(id)+"/hook", nil, nil, nil)
}
