package rest

import (
	"context"
	"fmt"

	"freshet/internal/freshet"
)

// ParsePlace reads a cursor that was given at a location such as "query.after".
// None is the beginning.
func ParsePlace(location, text string) (freshet.Place, error) {
	if text == "" {
		return freshet.Place{}, nil
	}
	p, err := freshet.ParsePlace(text)
	if err != nil {
		return p, Invalid(location, err.Error(), text)
	}
	return p, nil
}

// ResumeAt reads the cursor that a stream goes on after, and whether the client gave one.
func ResumeAt(lastEventID, after string) (at freshet.Place, given bool, err error) {
	text, location := lastEventID, "header.Last-Event-ID"
	if text == "" {
		text, location = after, "query.after"
	}
	at, err = ParsePlace(location, text)
	return at, text != "", err
}

// FindChange returns the cursor of a place in the log of changes, or a
// *freshet.GoneError.
func (s *Server) FindChange(ctx context.Context, log freshet.ChangeLog, p freshet.Place) (freshet.Cursor, error) {
	end, err := log.LastChange(ctx)
	if err != nil {
		return 0, fmt.Errorf("end of the change log: %w", err)
	}
	epochs, err := log.ChangeEpochs(ctx)
	if err != nil {
		return 0, err
	}
	return s.Find(epochs, p, end)
}

// Find returns the cursor of a place in a log, or a *freshet.GoneError. A process that is not sure
// to know the end of the log does not say of a place that it is gone: another may have given
// it out since.
func (s *Server) Find(epochs freshet.Epochs, p freshet.Place, end freshet.Cursor) (freshet.Cursor, error) {
	at, err := epochs.Find(p, end)
	if err != nil && s.Sure != nil && !s.Sure() {
		return 0, freshet.WithHint(fmt.Errorf("cursor %s: %w: another node may have taken over", p, freshet.ErrBusy), "try again in a few seconds, or ask another node")
	}
	return at, err
}

// FindOutcome returns the cursor of a place in the log of outcomes, or a
// *freshet.GoneError.
func (s *Server) FindOutcome(ctx context.Context, log freshet.OutcomeLog, location, text string) (freshet.Place, freshet.Cursor, error) {
	p, err := ParsePlace(location, text)
	if err != nil {
		return p, 0, err
	}
	end, err := log.LastOutcome(ctx)
	if err != nil {
		return p, 0, fmt.Errorf("end of the log of outcomes: %w", err)
	}
	epochs, err := log.OutcomeEpochs(ctx)
	if err != nil {
		return p, 0, err
	}
	at, err := s.Find(epochs, p, end)
	return p, at, err
}

// ChangePlace returns the place of a cursor in the log of changes.
func ChangePlace(ctx context.Context, log freshet.ChangeLog, at freshet.Cursor) (freshet.Place, error) {
	epochs, err := log.ChangeEpochs(ctx)
	return epochs.Place(at), err
}
