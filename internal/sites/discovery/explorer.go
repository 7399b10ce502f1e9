package discovery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sites/frontier"
)

// A Store is the store, with the sources after an ID: the empty ID comes before all.
type Store interface {
	freshet.Store
	SourcesAfter(ctx context.Context, after freshet.SourceID) iter.Seq2[freshet.SourceWithStatus, error]
}

// Config says what an Explorer works with. All of it is needed.
type Config struct {
	Store    Store
	Frontier *frontier.Store
	Daemon   *daemon.Daemon
	Agent    string // the name that pages may address us by
	Log      *slog.Logger
	Now      func() time.Time
}

// An Explorer finds the pages of the sites that a daemon watches.
type Explorer struct {
	cfg     Config
	place   freshet.Cursor // in the log of outcomes, up to which all has been read
	kept    freshet.Cursor // the place that is on disk
	surveys map[freshet.SourceID]*survey
}

// New returns an Explorer. It does nothing until Run.
func New(cfg Config) *Explorer {
	return &Explorer{cfg: cfg, surveys: map[freshet.SourceID]*survey{}}
}

const (
	outcomesAtOnce = 500

	// lookEvery is how often sites are looked after when nothing happens.
	lookEvery = 5 * time.Second
)

// Run explores until ctx is done. The daemon has to be running.
func (e *Explorer) Run(ctx context.Context) error {
	if err := e.begin(ctx); err != nil {
		return ended(ctx, err)
	}
	for {
		n, err := e.follow(ctx)
		if err == nil {
			err = e.lookAfter(ctx, n == 0)
		}
		if err == nil {
			err = e.keep(ctx)
		}
		if err == nil {
			err = e.draw(ctx, false)
		}
		if err == nil && n == 0 {
			err = e.wait(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return e.draw(context.WithoutCancel(ctx), true)
		case err != nil: // the store cannot be written for now: the daemon says so, and so do we
			e.cfg.Log.Error("cannot explore sites; trying again", "err", err)
			if err := pause(ctx, lookEvery); err != nil {
				return nil
			}
		}
	}
}

// ended returns an error, unless it comes of being asked to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// wait returns when there are more outcomes, or sites are to be looked after.
func (e *Explorer) wait(ctx context.Context) error {
	until, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	err := e.cfg.Store.WaitOutcome(until, e.place)
	if until.Err() != nil {
		return ctx.Err()
	}
	return err
}

// begin takes up the place that is on disk. Where there is none nobody has explored, and
// what was polled before is read when a site is met. The place has to be on disk before
// that, or a crash would have the next start pass over what is polled meanwhile.
func (e *Explorer) begin(ctx context.Context) error {
	known, err := e.cfg.Store.State(ctx, stateKey, "")
	switch {
	case errors.Is(err, freshet.ErrNotFound):
		if e.place, err = e.cfg.Store.LastOutcome(ctx); err == nil {
			err = e.keepPlace(ctx)
		}
	case err == nil:
		e.place = known.Upto
	}
	e.kept = e.place
	return err
}

// keepPlace puts the place on disk.
func (e *Explorer) keepPlace(ctx context.Context) error {
	return e.cfg.Store.SaveState(ctx, []freshet.State{{Key: stateKey, Upto: e.place}})
}

// follow reads the outcomes that have come since the last time, and returns how many.
func (e *Explorer) follow(ctx context.Context) (int, error) {
	if err := e.meet(ctx); err != nil {
		return 0, err
	}
	if len(e.surveys) == 0 { // nothing of what happens is of a site
		end, err := e.cfg.Store.LastOutcome(ctx)
		e.place = max(e.place, end)
		return 0, err
	}
	found, err := e.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{After: e.place, Limit: outcomesAtOnce})
	if err != nil {
		return 0, err
	}
	for _, o := range found {
		if err := e.readOutcome(ctx, o); err != nil {
			if e.outdated(ctx, e.surveyOf(o.Source)) { // it is read again, for the site as it is then
				return len(found), nil
			}
			return 0, fmt.Errorf("outcome %d of %s: %w", o.Cursor, o.Source, err)
		}
		e.place = o.Cursor
	}
	return len(found), nil
}

// readOutcome takes in how one poll ended.
func (e *Explorer) readOutcome(ctx context.Context, o freshet.Outcome) error {
	s := e.surveyOf(o.Source)
	if s == nil {
		return nil
	}
	w, err := e.cfg.Store.Source(ctx, o.Source)
	if errors.Is(err, freshet.ErrNotFound) || err == nil && w.Of != s.site.ID && w.ID != s.site.ID {
		return nil // it was removed meanwhile, or only looks as if it were of the site
	}
	if err != nil {
		return err
	}
	s.count(w.Source, o)
	switch {
	case o.Result.Captured():
		return e.read(ctx, s, w, o)
	case o.Result == freshet.Failed:
		return e.miss(ctx, s, w, o)
	}
	return nil
}
