package client

import (
	"context"
	"net/url"
)

// wholeList returns all items of a list that the API tells in pages.
func wholeList[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	all := []T{}
	for after := ""; ; {
		var page struct {
			Items []T    `json:"items"`
			Next  string `json:"next"`
		}
		asked := query{}
		asked.text("after", after)
		if err := c.get(ctx, path, url.Values(asked), &page); err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}
