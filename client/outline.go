package client

import (
	"context"
	"fmt"
	"net/url"

	"freshet/internal/freshet"
)

// An Outline lists the elements of a version that say something, in the order of the page.
type Outline struct {
	Version int           `json:"version"`
	Items   []OutlineItem `json:"items" nullable:"false"`
	Cut     bool          `json:"cut,omitempty" doc:"There are more"`
}

// An OutlineItem is an element of a page.
type OutlineItem struct {
	Number   int    `json:"number" doc:"Its place among all elements of the page; the rendered version takes it as mark"`
	Depth    int    `json:"depth" doc:"How many listed elements are around it"`
	Tag      string `json:"tag"`
	Selector string `json:"selector" doc:"CSS that finds this element alone"`
	Text     string `json:"text" doc:"The beginning of what it says"`
	Chars    int    `json:"chars" doc:"How much it says, as far as that was looked at"`
}

// Outline lists the elements of a version; a number of zero means the newest.
func (c *Client) Outline(ctx context.Context, id freshet.SourceID, number int) (o Outline, err error) {
	version := "latest"
	if number > 0 {
		version = fmt.Sprint(number)
	}
	err = c.get(ctx, "/sources/"+url.PathEscape(string(id))+"/versions/"+version+"/outline", nil, &o)
	return o, err
}
