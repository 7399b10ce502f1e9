package worker

import (
	"context"
	"errors"

	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// see brings the present state of a source: as it is fetched or, if that is asked for,
// as a browser shows it. What is no page is taken as it is fetched all the same.
func (h *Hand) see(ctx context.Context, o *Order) (browser.View, error) {
	how := o.Source.Recipe.Render
	if !how.On {
		resp, err := h.fetcher.Fetch(ctx, o.request())
		return browser.View{Response: resp}, err
	}
	if h.show == nil {
		return browser.View{}, &freshet.FetchError{Class: failure.RenderMissing, Err: errors.New("pages cannot be rendered here")}
	}
	// The page is fetched when there is a browser for it, or it would be old by then.
	b, err := h.show.Open(ctx)
	if err != nil {
		return browser.View{}, err
	}
	defer b.Close()
	resp, err := h.fetcher.Fetch(ctx, o.request())
	if err != nil || !browser.Readable(resp) {
		return browser.View{Response: resp}, err
	}
	return b.Render(ctx, browser.Page{Render: how, Document: resp, Source: o.Source.ID, Leave: o.Leave, Room: o.Room})
}
