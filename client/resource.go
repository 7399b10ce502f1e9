package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// An endpoint is the path of a collection in the API. The parts of a collection below are
// methods of it, one for each thing that the API can do with the collection's items.
type endpoint struct {
	c    *Client
	path string
}

// at returns the path of an item, and of a part of it.
func (e endpoint) at(id string, below ...string) string {
	path := e.path + "/" + url.PathEscape(id)
	if strings.Trim(id, ".") == "" { // the path would fold it
		path = e.path + "/" + strings.Repeat("%2E", len(id))
	}
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// A lister lists all items.
type lister[T any] struct{ endpoint }

// List returns all items.
func (l lister[T]) List(ctx context.Context) ([]T, error) { return listAll[T](ctx, l.c, l.path) }

// A getter reads one item.
type getter[ID ~string, T any] struct{ endpoint }

// Get returns an item. The error is a freshet.ErrNotFound if there is none.
func (g getter[ID, T]) Get(ctx context.Context, id ID) (T, error) {
	return fetch[T](ctx, g.c, http.MethodGet, g.at(string(id)), nil, 0, nil)
}

// An adder adds items.
type adder[New, T any] struct{ endpoint }

// Add adds an item and returns it as it was stored.
func (a adder[New, T]) Add(ctx context.Context, n New) (T, error) {
	return fetch[T](ctx, a.c, http.MethodPost, a.path, nil, 0, n)
}

// An editor edits items.
type editor[ID ~string, T any] struct{ endpoint }

// Edit patches an item and returns it as it is then. If revision is not zero and the item
// has another one, nothing is edited and the error is a freshet.ErrStale.
func (e editor[ID, T]) Edit(ctx context.Context, id ID, patch Patch, revision int64) (T, error) {
	return fetch[T](ctx, e.c, http.MethodPatch, e.at(string(id)), nil, revision, patch)
}

// A remover removes items.
type remover[ID ~string] struct{ endpoint }

// Remove removes an item and everything that belongs to it alone.
func (r remover[ID]) Remove(ctx context.Context, id ID) error {
	return r.c.Call(ctx, http.MethodDelete, r.at(string(id)), nil, nil, nil)
}

// A Patch is a JSON merge patch (RFC 7396): what it names is set, nil sets a field back to
// its default, and everything else stays. Parts of a field are patched alike.
type Patch map[string]any

// fetch makes a request and returns the item of its answer, with its revision.
func fetch[T any](ctx context.Context, c *Client, method, path string, q query, revision int64, body any) (item T, err error) {
	now, err := c.callIf(ctx, method, path, url.Values(q), revision, body, &item)
	if r, ok := any(&item).(interface{ setRevision(int64) }); ok {
		r.setRevision(now)
	}
	return item, err
}

// listAll returns all items of a list that the API answers in pages.
func listAll[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		asked := query{}
		asked.text("after", after)
		page, err := get[struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}](ctx, c, path, asked)
		if err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}
