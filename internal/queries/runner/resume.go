package runner

import (
	"context"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// The names of notes that are the Runner's own. Those of engines have other names.
const (
	laneNote = "lane" // how far a query is that catches up; empty once it has joined the others
	paceNote = "pace"
)

// load takes up where the last run ended.
func (r *Runner) load(ctx context.Context) error {
	var err error
	r.known, r.paces, r.behind, r.ahead = map[queries.ID]queries.Query{}, map[queries.ID]*queries.Pace{}, map[queries.ID]*lane{}, nil
	r.step, r.kept = queries.Step{}, place{}
	if r.main, err = r.newLane(); err != nil {
		return err
	}
	queries, err := r.cfg.Queries.Queries(ctx)
	if err != nil {
		return err
	}
	notes, err := r.notes(ctx)
	if err != nil {
		return err
	}
	all := notes[""]
	for _, q := range queries {
		own := notes[q.ID]
		if err := r.setPace(q, own.pace); err != nil {
			return err
		}
		switch {
		case own.lane == nil: // it has not begun
		case len(own.lane) == 0:
			r.put(r.main, q)
			all.engine = append(all.engine, own.engine...)
		default:
			if err := r.resume(q, own); err != nil {
				return err
			}
		}
	}
	if err := r.main.engine.Restore(all.engine); err != nil {
		return err
	}
	if changes, _ := r.main.engine.Upto(); changes == 0 && len(all.engine) == 0 {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	return r.look(ctx)
}

// begin starts at the ends of the logs.
func (r *Runner) begin(ctx context.Context) error {
	changes, err := r.cfg.Store.LastChange(ctx)
	if err != nil {
		return err
	}
	outcomes, err := r.cfg.Store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	r.main.engine.Begin(changes, outcomes)
	return r.keep(ctx)
}

// resume goes on with a query that was catching up.
func (r *Runner) resume(q queries.Query, own queryNotes) error {
	var at place
	if _, err := fmt.Sscan(string(own.lane), &at.changes, &at.outcomes); err != nil {
		return fmt.Errorf("how far query %s has caught up: %w", q.ID, freshet.ErrDamaged)
	}
	l, err := r.lag(q, at)
	if err != nil {
		return err
	}
	return l.engine.Restore(own.engine)
}

// lag gives a query a lane of its own.
func (r *Runner) lag(q queries.Query, at place) (*lane, error) {
	l, err := r.newLane()
	if err != nil {
		return nil, err
	}
	l.only = q.ID
	r.put(l, q)
	l.engine.Begin(at.changes, at.outcomes)
	r.behind[q.ID] = l
	r.show(q.ID)
	return l, nil
}

// queryNotes are what is remembered of a query, or of all of them together.
type queryNotes struct {
	engine     []queries.State
	lane, pace []byte
}

func (r *Runner) notes(ctx context.Context) (map[queries.ID]queryNotes, error) {
	by := map[queries.ID]queryNotes{}
	for n, err := range r.cfg.Queries.QueryNotes(ctx) {
		if err != nil {
			return nil, err
		}
		own := by[n.Query]
		switch n.Name {
		case laneNote:
			own.lane = append([]byte{}, n.Body...)
		case paceNote:
			own.pace = n.Body
		default:
			own.engine = append(own.engine, n)
		}
		by[n.Query] = own
	}
	return by, nil
}
