package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sched"
)

const (
	// changesCounted is how many of the last changes of a source say what its next one is worth.
	changesCounted = 50

	// queriesEvery is how often the queries and the log of changes are read while no
	// match comes.
	queriesEvery = time.Minute

	// matchesAtOnce is how much of a log is read at once.
	matchesAtOnce = 1000
)

// A Stake is how much the changes of a source matter by the queries that they match.
type Stake struct {
	Factor  float64 // as how many changes one of the source counts, on the mean
	Changes int     // the last of the source, of which that is the mean
	Matched int     // of those, that matched a query with an importance
}

// weights are what changes of sources matter by the queries that they match. All of it
// follows from the queries, and from what the logs of matches and changes have: a reader that
// reads them again comes to the same.
type weights struct {
	store   freshet.Store
	queries *queries.Store // nil means that there are none
	loop    *loop
	log     *slog.Logger
	edited  chan struct{} // queries were edited

	mu         sync.Mutex
	importance map[queries.ID]float64 // of the queries that give one
	of         map[freshet.SourceID]*staked
	matches    freshet.Cursor // read up to here
	changes    freshet.Cursor // likewise
}

// A staked is a source with changes that matched.
type staked struct {
	changes int     // Seq of the newest
	worth   []worth // in the order of their numbers, each once
}

// A worth is as how many changes a change counts.
type worth struct {
	seq   int
	count float64
}

// match notes that a change counts as so many. Of several queries the highest decides.
func (s *staked) match(seq int, count float64) {
	at, there := slices.BinarySearchFunc(s.worth, seq, func(w worth, seq int) int { return w.seq - seq })
	if there {
		s.worth[at].count = max(s.worth[at].count, count)
		return
	}
	s.worth = slices.Insert(s.worth, at, worth{seq, count})
	if len(s.worth) > changesCounted { // of so many the oldest is never looked at again
		s.worth = slices.Delete(s.worth, 0, 1)
	}
}

// stake returns what changes of the source matter. One more than there were counts as any
// change does, so that a single match does not decide.
func (s *staked) stake() Stake {
	of := Stake{Changes: min(s.changes, changesCounted)}
	sum := float64(1 + of.Changes)
	for _, w := range s.worth {
		if w.seq > s.changes-changesCounted && w.seq <= s.changes {
			of.Matched++
			sum += w.count - 1
		}
	}
	of.Factor = sum / float64(1+of.Changes)
	return of
}

// weight returns the factor that a policy gets. It changes in steps, because a policy ranks all
// sources again when the weight of one rises.
func (s Stake) weight() float64 {
	const step = 0.05
	return math.Exp(step * math.Round(math.Log(s.Factor)/step))
}

// get returns what changes of a source matter, and whether any matched.
func (s *weights) get(id freshet.SourceID) (Stake, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.of[id]; of != nil {
		stake := of.stake()
		return stake, stake.Matched > 0
	}
	return Stake{Factor: 1}, false
}

// all returns the sources of which something is known, in their order.
func (s *weights) all() []freshet.SourceID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.of))
}

// given returns the importance of every query that gives one and is not paused.
func (s *weights) given(ctx context.Context) (map[queries.ID]float64, error) {
	if s.queries == nil {
		return nil, nil
	}
	all, err := s.queries.Queries(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the queries: %w", err)
	}
	given := map[queries.ID]float64{}
	for _, q := range all {
		if q.Importance != 0 && !q.Paused {
			given[q.ID] = q.Importance
		}
	}
	return given, nil
}

// readQueries reads the queries. If they give other importance than before, it recounts. It
// returns the sources of which something was known before or is now.
func (s *weights) readQueries(ctx context.Context) ([]freshet.SourceID, error) {
	given, err := s.given(ctx)
	if err != nil || maps.Equal(given, s.importance) {
		return nil, err
	}
	fresh := &weights{store: s.store, queries: s.queries, importance: given, of: map[freshet.SourceID]*staked{}}
	if err := fresh.recount(ctx); err != nil {
		return nil, err
	}
	touched := s.all()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.importance, s.of, s.matches, s.changes = given, fresh.of, fresh.matches, fresh.changes
	touched = slices.AppendSeq(touched, maps.Keys(s.of))
	slices.Sort(touched)
	return slices.Compact(touched), nil
}

// recount goes through all matches of the queries that give an importance.
func (s *weights) recount(ctx context.Context) (err error) {
	if s.changes, err = s.store.LastChange(ctx); err == nil {
		s.matches, err = s.queries.LastMatch(ctx)
	}
	if err != nil {
		return fmt.Errorf("end of the logs: %w", err)
	}
	for id := range s.importance {
		for place := freshet.Cursor(0); ; {
			found, err := s.queries.Matches(ctx, queries.MatchQuery{Query: id, After: place, Limit: matchesAtOnce})
			if err != nil {
				return fmt.Errorf("read the matches of query %s: %w", id, err)
			}
			if len(found) == 0 {
				break
			}
			place = found[len(found)-1].Cursor
			if err := s.count(ctx, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// count counts matches. A match is about the change that completed it.
func (s *weights) count(ctx context.Context, found []queries.Match) error {
	for _, m := range found {
		importance, counts := s.importance[m.Query]
		if !counts || len(m.Changes) == 0 {
			continue
		}
		last := m.Changes[len(m.Changes)-1]
		of := s.of[last.Source]
		if of == nil {
			w, err := s.store.Source(ctx, last.Source)
			if err != nil && !errors.Is(err, freshet.ErrNotFound) { // it may come back, and its numbers go on
				return fmt.Errorf("source %s: %w", last.Source, err)
			}
			of = &staked{changes: w.Status.Changes}
			s.of[last.Source] = of
		}
		of.changes = max(of.changes, last.Seq)
		of.match(last.Seq, importance)
	}
	return nil
}

// follow reads on in the logs, and returns the sources that their entries are about.
func (s *weights) follow(ctx context.Context) (touched []freshet.SourceID, err error) {
	if len(s.importance) == 0 {
		return nil, nil
	}
	for {
		found, err := s.queries.Matches(ctx, queries.MatchQuery{After: s.matches, Limit: matchesAtOnce})
		if err != nil {
			return touched, fmt.Errorf("read the log of matches: %w", err)
		}
		changed, err := s.store.Changes(ctx, freshet.ChangeQuery{After: s.changes, Limit: matchesAtOnce})
		if err != nil {
			return touched, fmt.Errorf("read the log of changes: %w", err)
		}
		if len(found)+len(changed) == 0 {
			slices.Sort(touched)
			return slices.Compact(touched), nil
		}
		more, err := s.apply(ctx, found, changed)
		if touched = append(touched, more...); err != nil {
			return touched, err
		}
	}
}

// apply applies matches and changes.
func (s *weights) apply(ctx context.Context, found []queries.Match, changed []freshet.Change) (touched []freshet.SourceID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.count(ctx, found); err != nil {
		return nil, err
	}
	for _, m := range found {
		s.matches = m.Cursor
		if n := len(m.Changes); n > 0 {
			touched = append(touched, m.Changes[n-1].Source)
		}
	}
	for _, c := range changed {
		s.changes = c.Cursor
		if of := s.of[c.Source]; of != nil {
			of.changes = max(of.changes, c.Seq)
			touched = append(touched, c.Source)
		}
	}
	return touched, nil
}

// QueriesEdited says that queries in the store are others than before.
func (s *weights) QueriesEdited() { signal(s.edited) }

// restore tells a scheduler at a start what changes of sources matter.
func (s *weights) restore(ctx context.Context, now time.Time, to *sched.Scheduler) error {
	if _, err := s.readQueries(ctx); err != nil {
		return err
	}
	if _, err := s.follow(ctx); err != nil {
		return err
	}
	for _, id := range s.all() {
		stake, _ := s.get(id)
		to.Apply(now, sched.Weight{Source: id, Factor: stake.weight()})
	}
	return nil
}

// Run tells the loop what changes of sources matter, as queries are edited and matches
// come, until ctx is done.
func (s *weights) Run(ctx context.Context) error {
	failing := false
	for looked := s.loop.dates.Now(); ; {
		edited, err := s.wait(ctx)
		var touched []freshet.SourceID
		if now := s.loop.dates.Now(); err == nil && (edited || now.Sub(looked) >= queriesEvery) {
			looked = now
			touched, err = s.readQueries(ctx)
		}
		if err == nil {
			var more []freshet.SourceID
			more, err = s.follow(ctx)
			touched = append(touched, more...)
		}
		for _, id := range touched {
			stake, _ := s.get(id)
			s.loop.post(sched.Weight{Source: id, Factor: stake.weight()})
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !failing {
			s.log.Error("cannot tell how much changes matter by the queries that they match", "err", err)
		}
		failing = err != nil
	}
}

// wait returns when there may be a match that counts, queries are edited, or it is
// time to read them.
func (s *weights) wait(ctx context.Context) (edited bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, queriesEvery)
	defer cancel()
	woken := make(chan error, 1)
	go func() {
		if len(s.importance) > 0 {
			err := s.queries.WaitMatch(waiting, s.matches)
			if err == nil || waiting.Err() != nil {
				woken <- nil
				return
			}
			defer func() { woken <- err }() // a store that fails is not asked all the time
		} else {
			defer func() { woken <- nil }()
		}
		<-waiting.Done()
	}()
	select {
	case err = <-woken:
		return false, err
	case <-s.edited:
		cancel()
		<-woken
		return true, nil
	}
}
