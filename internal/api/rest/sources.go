package rest

import (
	"context"
	"errors"

	"freshet/internal/freshet"
)

// SourcePath is the path of an operation on a source.
type SourcePath struct {
	ID freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
}

// A SourceReader reads sources by their IDs.
type SourceReader interface {
	Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error)
	RemovedSource(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error)
}

// FindSource returns a source that is watched, or an error that names it.
func FindSource(ctx context.Context, sources SourceReader, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	w, err := sources.Source(ctx, id)
	if err != nil {
		return w, OfSource(id, err)
	}
	return w, nil
}

// FindSourceOrRemoved returns a source that is watched, or one that was removed and whose
// history is kept.
func FindSourceOrRemoved(ctx context.Context, sources SourceReader, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	w, err := sources.Source(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		w, err = sources.RemovedSource(ctx, id)
	}
	if err != nil {
		return w, OfSource(id, err)
	}
	return w, nil
}
