package worker

import (
	"context"
	"errors"

	"freshet/internal/extract/visual"
	"freshet/internal/freshet"
)

// mostRegions is how many regions of a picture a change names.
const mostRegions = 20

// pictureChange returns how a picture differs from that of the head, and whether that is a
// change. The head is the last version that was reported, so that small differences add up. If it
// has no picture, that is a change.
func (t *Task) pictureChange(ctx context.Context, picture []byte) (*freshet.PictureChange, bool, error) {
	base, err := t.History.Picture(ctx)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	if t.Room != nil {
		if err := t.Room(ctx, visual.Memory(base, picture)); err != nil {
			return nil, false, err
		}
	}
	how := t.Source.Recipe.Render
	_, ignored := how.Ignored()
	d, err := visual.Compare(base, picture, ignored)
	if err != nil {
		return nil, false, err
	}
	if len(d.Regions) == 0 || d.Share < how.Threshold {
		return nil, false, nil
	}
	return &freshet.PictureChange{Share: d.Share, Count: len(d.Regions), Regions: d.Regions[:min(len(d.Regions), mostRegions)]}, true, nil
}
