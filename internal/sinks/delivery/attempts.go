package delivery

import (
	"context"
	"slices"
	"sync"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/units"
)

// maxRecent is how many attempts of a sink are remembered.
const maxRecent = 50

// recent remembers the last attempts of each sink, since the program started.
type recent struct {
	mu  sync.Mutex
	all map[string][]Delivery // the newest last
}

func (r *recent) note(d Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string][]Delivery{}
	}
	of := append(r.all[d.Sink], d)
	r.all[d.Sink] = of[max(0, len(of)-maxRecent):]
}

func (r *recent) forget(sink string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, sink)
}

func (r *recent) of(sink string) []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all[sink])
}

// observe records an attempt, and reports it.
func (s *Sinks) observe(d Delivery) {
	s.recent.note(d)
	if s.cfg.Observe != nil {
		s.cfg.Observe(d)
	}
}

// Attempts returns the last attempts at telling a sink, the newest first. They are
// remembered since the program started, and no more than fifty.
func (s *Sinks) Attempts(ctx context.Context, name string) ([]Delivery, error) {
	if _, err := s.Get(ctx, name); err != nil {
		return nil, err
	}
	made := s.recent.of(name)
	slices.Reverse(made)
	return made, nil
}

// Pending returns up to limit deliveries that a sink waits for and that wait for no other of
// their source, the next to be tried first.
func (s *Sinks) Pending(ctx context.Context, name string, limit int) ([]sinks.PendingDelivery, error) {
	if _, err := s.Get(ctx, name); err != nil {
		return nil, err
	}
	const ahead = 100 * 365 * units.Day // later than any attempt
	pending, _, err := s.cfg.Store.DueDeliveries(ctx, name, s.cfg.Now().Add(ahead), limit)
	return pending, err
}

const (
	maxCounted = 50_000 // entries of a log that are looked at to count what a replay delivers
	countPage  = 1000   // of them at once; not as many as followers read, who share what they have read before
)

// CountReplay returns how many deliveries a replay would make. More says that it would be
// more than that: not all were looked at.
func (s *Sinks) CountReplay(ctx context.Context, name string, r Replay) (n int, more bool, err error) {
	st, err := s.Get(ctx, name)
	if err != nil {
		return 0, false, err
	}
	if r.After == nil && r.Since.IsZero() {
		if len(r.Letters) == 0 {
			return st.Dead, false, nil
		}
		at, err := s.letters(ctx, name, r.Letters)
		return len(at), false, err
	}
	at, err := s.begin(ctx, st.Sink, r)
	if err != nil {
		return 0, false, err
	}
	for looked := 0; looked < maxCounted; looked += countPage {
		read, wanted, last, err := s.wantedAfter(ctx, st.Sink, at)
		if err != nil {
			return n, false, err
		}
		if n += wanted; read < countPage {
			return n, false, nil
		}
		at.Cursor = last
	}
	return n, true, nil
}

// wantedAfter reads on in a stream, and counts what a sink wants of it.
func (s *Sinks) wantedAfter(ctx context.Context, to sinks.Sink, at sinks.Position) (read, wanted int, last freshet.Cursor, err error) {
	if at.Stream == sinks.StreamBatches {
		batches, err := s.cfg.Store.Queries.Batches(ctx, queries.MatchQuery{After: at.Cursor, Limit: countPage})
		for _, p := range batches {
			if last = p.Cursor; to.WantsBatch(p) {
				wanted++
			}
		}
		return len(batches), wanted, last, err
	}
	changes, err := s.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: at.Cursor, Limit: countPage})
	for _, c := range changes {
		if last = c.Cursor; to.Wants(c) {
			wanted++
		}
	}
	return len(changes), wanted, last, err
}

// begin returns the entry of its stream after which a replay to a sink begins.
func (s *Sinks) begin(ctx context.Context, to sinks.Sink, r Replay) (at sinks.Position, err error) {
	at.Stream = to.Stream()
	switch {
	case at.Stream == sinks.StreamBatches:
		at.Cursor, err = s.batchesBefore(ctx, to, r)
	case r.After == nil:
		at.Cursor, err = s.changesBefore(ctx, r.Since)
	default:
		at.Cursor, err = s.findChange(ctx, *r.After)
	}
	return at, err
}
