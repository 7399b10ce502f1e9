package delivery

import (
	"context"
	"errors"
	"slices"

	"freshet/internal/extract/visual"
	"freshet/internal/freshet"
)

// Difference returns a function that shows what differs in the pictures of a change, as far as
// they are kept; nothing if they are not.
func Difference(store Archive) func(context.Context, freshet.Change) ([]byte, error) {
	return func(ctx context.Context, c freshet.Change) ([]byte, error) {
		picture, err := difference(ctx, store, c)
		if errors.Is(err, freshet.ErrNotFound) {
			return nil, nil
		}
		return picture, err
	}
}

func difference(ctx context.Context, store Archive, c freshet.Change) ([]byte, error) {
	const back = 20 // versions, of which some were never told
	earlier, err := store.Versions(ctx, c.Source, freshet.Between{}, c.Number, back)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(earlier, func(v freshet.Version) bool { return v.Quiet == "" && v.Picture > 0 })
	if i < 0 {
		return nil, nil
	}
	s, err := store.Source(ctx, c.Source)
	if err != nil {
		return nil, err
	}
	before, err := store.Picture(ctx, c.Source, earlier[i].Number)
	if err != nil {
		return nil, err
	}
	after, err := store.Picture(ctx, c.Source, c.Number)
	if err != nil {
		return nil, err
	}
	_, ignored := s.Recipe.Render.Ignored()
	d, err := visual.Compare(before, after, ignored)
	if err != nil || len(d.Regions) == 0 {
		return nil, err
	}
	return d.Part()
}
