package hand

import (
	"context"
	"errors"

	"freshet/internal/freshet"
	"freshet/render"
)

// see brings the present state of a source: as it is fetched or, if that is asked for,
// as a browser shows it. What is no page is taken as it is fetched all the same.
func (h *Hand) see(ctx context.Context, o *Order) (render.View, error) {
	how := o.Source.Recipe.Render
	if !how.On {
		resp, err := h.fetcher.Fetch(ctx, o.request())
		return render.View{Response: resp}, err
	}
	if h.show == nil {
		return render.View{}, &freshet.FetchError{Class: freshet.FailRenderMissing, Err: errors.New("pages cannot be rendered here")}
	}
	// The page is fetched when there is a browser for it, or it would be old by then.
	b, err := h.show.Open(ctx)
	if err != nil {
		return render.View{}, err
	}
	defer b.Close()
	resp, err := h.fetcher.Fetch(ctx, o.request())
	if err != nil || !render.Readable(resp) {
		return render.View{Response: resp}, err
	}
	return b.Render(ctx, render.Page{Render: how, Document: resp, Source: o.Source.ID, Leave: o.Leave, Room: o.Room})
}
