package browser

import (
	"context"
	"fmt"

	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
	"freshet/internal/units"
)

// picture returns a picture of the page or of its region, from the top to the end or as far as a
// picture goes.
func (t *tab) picture(ctx context.Context, page Page) ([]byte, error) {
	if err := t.prepare(ctx, page); err != nil {
		return nil, err
	}
	box, err := t.pictured(ctx, page)
	if err != nil {
		return nil, err
	}
	// A page that tried to open a window is behind it, and a page that is behind is not drawn.
	if err := t.call(ctx, "Page.bringToFront", map[string]any{}, nil); err != nil {
		return nil, err
	}
	var shot struct{ Data []byte }
	err = t.call(ctx, "Page.captureScreenshot", map[string]any{
		"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": box.X, "y": box.Y, "width": box.Width, "height": box.Height, "scale": 1},
	}, &shot)
	if err != nil {
		return nil, err
	}
	if len(shot.Data) > maxPicture {
		return nil, fail(failure.LargeDecoded, "choose a smaller render.viewport", "the picture of the page is larger than %s", units.FormatSize(maxPicture))
	}
	return shot.Data, nil
}

// prepare makes a picture of the page comparable with others.
func (t *tab) prepare(ctx context.Context, page Page) error {
	if page.Compare != rendering.ComparePicture {
		return nil
	}
	selectors, _ := page.Ignored()
	for _, css := range selectors {
		if err := t.eval(ctx, fmt.Sprintf(`freshet.hide(%s)`, quoted(css)), nil); err != nil {
			return err
		}
	}
	return t.eval(ctx, `freshet.still()`, nil)
}

// pictured returns which part of the page a picture shows.
func (t *tab) pictured(ctx context.Context, page Page) (rendering.Rectangle, error) {
	if page.Region == "" {
		var height int
		err := t.eval(ctx, `freshet.height()`, &height)
		return rendering.Rectangle{Width: page.Viewport.Width, Height: min(max(height, page.Viewport.Height), maxPictureHeight)}, err
	}
	var box *rendering.Rectangle
	if err := t.eval(ctx, fmt.Sprintf(`freshet.box(%s)`, quoted(page.Region)), &box); err != nil {
		return rendering.Rectangle{}, err
	}
	if box == nil || box.Width <= 0 || box.Height <= 0 {
		return rendering.Rectangle{}, fail(failure.RenderStep, "choose an element that is displayed as render.region", "there is nothing to see of %q", page.Region)
	}
	box.Width, box.Height = min(box.Width, maxPictureWidth), min(box.Height, maxPictureHeight)
	return *box, nil
}
