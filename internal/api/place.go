package api

import (
	"context"
	"fmt"

	"freshet/internal/freshet"
)

// parsePlace reads a cursor that was given at a location such as "query.after".
// None is the beginning.
func parsePlace(location, text string) (freshet.Place, error) {
	if text == "" {
		return freshet.Place{}, nil
	}
	p, err := freshet.ParsePlace(text)
	if err != nil {
		return p, invalid(location, err.Error(), text)
	}
	return p, nil
}

// findChange returns the cursor of a place in the log of changes, or a
// *freshet.GoneError.
func (a *api) findChange(ctx context.Context, p freshet.Place) (freshet.Cursor, error) {
	end, err := a.Store.LastChange(ctx)
	if err != nil {
		return 0, fmt.Errorf("end of the change log: %w", err)
	}
	epochs, err := a.Store.ChangeEpochs(ctx)
	if err != nil {
		return 0, err
	}
	return a.find(epochs, p, end)
}

// find returns the cursor of a place in a log, or a *freshet.GoneError. A process that is not sure
// to know the end of the log does not say of a place that it is gone: another may have given
// it out since.
func (a *api) find(epochs freshet.Epochs, p freshet.Place, end freshet.Cursor) (freshet.Cursor, error) {
	at, err := epochs.Find(p, end)
	if err != nil && a.Sure != nil && !a.Sure() {
		return 0, freshet.WithHint(fmt.Errorf("cursor %s: %w: another node may have taken over", p, freshet.ErrBusy), "try again in a few seconds, or ask another node")
	}
	return at, err
}

// findOutcome returns the cursor of a place in the log of outcomes, or a
// *freshet.GoneError.
func (a *api) findOutcome(ctx context.Context, location, text string) (freshet.Place, freshet.Cursor, error) {
	p, err := parsePlace(location, text)
	if err != nil {
		return p, 0, err
	}
	end, err := a.Store.LastOutcome(ctx)
	if err != nil {
		return p, 0, fmt.Errorf("end of the log of outcomes: %w", err)
	}
	epochs, err := a.Store.OutcomeEpochs(ctx)
	if err != nil {
		return p, 0, err
	}
	at, err := a.find(epochs, p, end)
	return p, at, err
}

// changePlace returns the place of a cursor in the log of changes.
func (a *api) changePlace(ctx context.Context, at freshet.Cursor) (freshet.Place, error) {
	epochs, err := a.Store.ChangeEpochs(ctx)
	return epochs.Place(at), err
}
