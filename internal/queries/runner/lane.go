package runner

import (
	"context"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// A lane is queries that are equally far in the logs.
type lane struct {
	engine *queries.Engine
	only   queries.ID // the query that catches up here; "" in the main lane
	moved  bool       // since it was kept
}

func (r *Runner) newLane() (*lane, error) {
	e, err := queries.New()
	return &lane{engine: e}, err
}

// advance goes on with all lanes, keeps what comes of it, and reports whether there is
// more to go through.
func (r *Runner) advance(ctx context.Context) (more bool, err error) {
	if more, err = r.advanceMain(ctx); err != nil {
		return false, err
	}
	for id, l := range r.behind {
		joined, err := r.catchUp(ctx, l)
		if err != nil {
			return false, err
		}
		if joined {
			delete(r.behind, id)
			r.show(id)
		} else {
			more = true
		}
	}
	r.tellDue()
	if err = r.keep(ctx); err == nil && !more && len(r.edited) == 0 { // those that came with an edit have not run
		r.showUpto()
	}
	return more, err
}

// advanceMain goes on with the main lane. Queries join it where they begin.
func (r *Runner) advanceMain(ctx context.Context) (more bool, err error) {
	if err := r.passOver(ctx); err != nil {
		return false, err
	}
	bound := r.joinReached()
	events, whole, err := r.events(ctx, r.main, place{changes: bound, outcomes: endless})
	if err != nil {
		return false, err
	}
	if err := r.run(ctx, r.main, events); err != nil {
		return false, err
	}
	switch {
	case !whole:
		return true, nil
	case bound < endless: // what lies before it may have been purged
		_, outcomes := r.main.engine.Upto()
		r.main.engine.Begin(bound, outcomes)
		return true, nil
	}
	return false, r.tell(r.main.engine.Tick(r.cfg.Now()))
}

// passOver moves the main lane over what no query in it is to hear of, without reading it:
// most daemons have no query, and few queries are about polls.
func (r *Runner) passOver(ctx context.Context) error {
	changes, outcomes := r.main.engine.Upto()
	if !r.main.engine.HearsPolls() {
		end, err := r.cfg.Store.LastOutcome(ctx)
		if err != nil {
			return err
		}
		outcomes = end
	}
	if r.main.engine.Len() == 0 {
		end, err := r.cfg.Store.LastChange(ctx)
		if err != nil {
			return err
		}
		if len(r.ahead) > 0 { // which begins there
			end = min(end, r.ahead[0].From)
		}
		changes = max(changes, end)
	}
	r.main.engine.Skip(changes, outcomes)
	return nil
}

// joinReached lets the queries take part whose beginning the main lane has reached. It
// returns where the next one begins, or endless.
func (r *Runner) joinReached() freshet.Cursor {
	for len(r.ahead) > 0 {
		changes, _ := r.main.engine.Upto()
		q := r.ahead[0]
		if q.From > changes {
			return q.From
		}
		r.put(r.main, q)
		r.note(q.ID, laneNote, []byte{})
		r.ahead = slices.Delete(r.ahead, 0, 1)
	}
	return endless
}

// catchUp goes on with a query that is behind, up to where the others are. It reports
// whether it has joined them.
func (r *Runner) catchUp(ctx context.Context, l *lane) (joined bool, err error) {
	var end place
	end.changes, end.outcomes = r.main.engine.Upto()
	events, whole, err := r.events(ctx, l, end)
	if err != nil {
		return false, err
	}
	if err := r.run(ctx, l, events); err != nil {
		return false, err
	}
	l.moved = true
	if !whole {
		return false, nil
	}
	for _, n := range l.engine.Save() {
		if n.Query == l.only {
			r.note(n.Query, n.Name, n.Body)
		}
	}
	if err := r.main.engine.Take(l.engine, l.only); err != nil {
		r.cfg.Log.Error("a query cannot be run; edit it", "query", l.only, "err", err)
	}
	r.main.engine.Begin(r.main.engine.Upto())
	r.note(l.only, laneNote, []byte{})
	return true, nil
}

// run tells the engine of a lane what happened.
func (r *Runner) run(ctx context.Context, l *lane, events []queries.Event) error {
	for _, event := range events {
		matches, err := r.happen(ctx, l, event)
		if err == nil {
			err = r.tell(matches)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// happen tells the engine of a lane of an event, and of the time that has passed until
// then, and returns what matched.
func (r *Runner) happen(ctx context.Context, l *lane, event queries.Event) ([]queries.Match, error) {
	matches := l.engine.Tick(timeOf(event).Add(-1))
	if event.Change != nil {
		if err := r.loader.load(ctx, &event, l.engine.Needs(event.Subject)); err != nil {
			return nil, err
		}
	}
	return append(matches, l.engine.Tell(event)...), nil
}

// timeOf returns when an event was seen.
func timeOf(e queries.Event) time.Time {
	if e.Change != nil {
		return e.Change.Before
	}
	return e.Outcome.Ended
}

// A place is how far something is in the logs.
type place struct{ changes, outcomes freshet.Cursor }

// endless is past the end of every log.
const endless freshet.Cursor = math.MaxInt64

// events returns what comes next for a lane, in the order in which it was seen, and
// whether that is all up to a place.
func (r *Runner) events(ctx context.Context, l *lane, end place) (events []queries.Event, whole bool, err error) {
	var at place
	at.changes, at.outcomes = l.engine.Upto()
	changes, err := r.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: at.changes, Limit: eventsAtOnce})
	if err != nil {
		return nil, false, err
	}
	fullChanges := len(changes) == eventsAtOnce
	changes = slices.DeleteFunc(changes, func(c freshet.Change) bool { return c.Cursor > end.changes })
	fullChanges = fullChanges && len(changes) == eventsAtOnce
	var outcomes []freshet.Outcome
	fullOutcomes := false
	if l.engine.HearsPolls() {
		if outcomes, err = r.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{After: at.outcomes, Limit: eventsAtOnce}); err != nil {
			return nil, false, err
		}
		fullOutcomes = len(outcomes) == eventsAtOnce
		outcomes = slices.DeleteFunc(slices.Clone(outcomes), func(o freshet.Outcome) bool { return o.Cursor > end.outcomes })
		fullOutcomes = fullOutcomes && len(outcomes) == eventsAtOnce
	}
	for len(changes)+len(outcomes) > 0 {
		changeNext := len(outcomes) == 0 || len(changes) > 0 && !changes[0].Before.After(outcomes[0].Ended)
		if changeNext && len(outcomes) == 0 && fullOutcomes || !changeNext && len(changes) == 0 && fullChanges {
			break // which of the logs goes on first is not known yet
		}
		if changeNext {
			c := changes[0]
			changes = changes[1:]
			events = append(events, queries.Event{Change: &c})
		} else {
			o := outcomes[0]
			outcomes = outcomes[1:]
			events = append(events, queries.Event{Outcome: &o})
		}
	}
	for i := range events {
		if events[i].Subject, err = r.loader.subject(ctx, events[i]); err != nil {
			return nil, false, err
		}
	}
	return events, !fullChanges && !fullOutcomes, nil
}
