package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"freshet/internal/freshet"
)

// A reached is how far a store has read what another process writes.
type reached struct {
	next   counter
	epochs epochs
	edits  EditPlace
	last   EditPlace                   // the last transaction
	opens  map[freshet.SourceID]Moment // attempts without an outcome
	known  bool                        // what follows can be read alone
}

// keepsRoll reports whether there is a roll: not in a store that is read as a whole each time.
func (s *mirror) keepsRoll() bool { return !s.cfg.ReadOnly || s.cfg.Edits.Since != nil }

// Follow reads what another process has written since this one last looked. Whoever asks for something
// has that done; whoever wants to take over has to do it now and then, to have little left to read.
func (s *mirror) Follow(ctx context.Context) error {
	return s.fault("reading the store", s.upToDate(ctx))
}

// upToDate reads what another process has written since this one last looked, if there can be one.
func (s *mirror) upToDate(ctx context.Context) error {
	if !s.cfg.ReadOnly {
		return nil
	}
	s.following.Lock()
	defer s.following.Unlock()
	if s.heir != nil { // which is always up to date
		return nil
	}
	if s.reached.known {
		if last, err := s.cfg.Edits.Last(ctx, s.reader); last == s.reached.last || err != nil {
			return err
		}
	}
	if followed, err := s.follow(ctx); followed || err != nil {
		return err
	}
	return s.load(ctx)
}

// readReached returns the place in the logs that a transaction sees. Edits are those after another
// place, if there is one; only the end of their log is read otherwise.
func (s *mirror) readReached(ctx context.Context, tx *sql.Tx, edits *Edits) (to reached, err error) {
	if to.next, err = readCounters(ctx, tx); err != nil {
		return to, err
	}
	if to.epochs, err = readEpochs(ctx, tx); err != nil {
		return to, err
	}
	if err := readSeals(ctx, tx, &to.next); err != nil || s.cfg.Edits.Since == nil {
		return to, err
	}
	var after *EditPlace
	if edits != nil {
		after = &s.reached.edits
	}
	found, err := s.cfg.Edits.Since(ctx, tx, after)
	if edits != nil {
		*edits = found
	}
	if err == nil {
		to.last, err = s.cfg.Edits.Last(ctx, tx)
	}
	to.edits, to.known = found.Upto, true
	return to, err
}

// goesOn reports whether a place comes after another in the same logs. It does not after the
// database was replaced by an older copy.
func (r *reached) goesOn(to *reached) bool {
	then, now := r.epochs.outcomes, to.epochs.outcomes
	if to.next.outcome < r.next.outcome || to.next.change < r.next.change || len(now) < len(then) || !slices.Equal(now[:len(then)], then) {
		return false
	}
	for i := len(then); i < len(now); i++ {
		if now[i].After < r.next.outcome || to.epochs.changes[i].After < r.next.change {
			return false
		}
	}
	return true
}

// mostFollowed is how many outcomes are followed at least, whatever the number of sources: with
// more than those and half as many as there are sources, it takes less to read everything.
const mostFollowed = 10_000

// A happened is what has happened since a store was last up to date.
type happened struct {
	to      reached
	logged  map[int64][]freshet.Outcome // by the key of their source
	touched map[freshet.SourceID]bool
	entries map[freshet.SourceID]*entry
	sites   map[int64]freshet.Source
}

// follow brings the entries up to date by what was written since, and reports whether that could
// be done. Whatever a load would find, it comes to the same.
func (s *mirror) follow(ctx context.Context) (done bool, err error) {
	if !s.reached.known {
		return false, nil
	}
	ctx = context.WithoutCancel(ctx)
	tx, err := s.reader.BeginTx(ctx, s.cfg.Reading)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	var edits Edits
	h := happened{logged: map[int64][]freshet.Outcome{}, touched: map[freshet.SourceID]bool{}, entries: map[freshet.SourceID]*entry{}}
	if h.to, err = s.readReached(ctx, tx, &edits); err != nil {
		return false, err
	}
	if !edits.Whole || !s.reached.goesOn(&h.to) || int(h.to.next.outcome-s.reached.next.outcome) > max(mostFollowed, len(s.entries)/2) {
		return false, nil
	}
	for _, id := range edits.IDs {
		h.touched[id] = true
	}
	if err := s.readHappened(ctx, tx, &h); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(&h)
	return true, nil
}

// readHappened reads what has happened since the store was last up to date.
func (s *mirror) readHappened(ctx context.Context, tx *sql.Tx, h *happened) (err error) {
	from := &s.reached
	h.to.next.latest = max(h.to.next.latest, from.next.latest)
	err = eachRow(ctx, tx, "SELECT s.id, o.source, "+outcomeColumns+" FROM outcomes o JOIN sources s ON s.key = o.source WHERE o.cursor > ? ORDER BY o.cursor",
		[]any{from.next.outcome}, func(scan func(...any) error) error {
			var id freshet.SourceID
			var key int64
			o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&id, &key}, dst...)...) })
			h.logged[key] = append(h.logged[key], o)
			h.touched[id] = true
			h.to.next.latest = max(h.to.next.latest, MomentOf(o.Began))
			return err
		})
	if err != nil {
		return err
	}
	if h.to.opens, err = readOpens(ctx, tx); err != nil {
		return err
	}
	for _, opens := range []map[freshet.SourceID]Moment{from.opens, h.to.opens} {
		for id := range opens {
			h.touched[id] = true
		}
	}
	if h.sites, err = readSites(ctx, tx); err != nil {
		return err
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(h.touched)), sourcePage) {
		text, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		entries, err := readEntries(ctx, tx, s.showing(h.sites), "WHERE s.id IN (SELECT value FROM json_each(?))", string(text))
		if err != nil {
			return err
		}
		for _, e := range entries {
			h.entries[e.id] = e
		}
	}
	return nil
}

// take takes over what has happened.
func (s *mirror) take(h *happened) {
	for key, src := range h.sites {
		if old, known := s.sites[key]; known && old.Revision != src.Revision {
			s.roll.stale[key] = true
		}
	}
	s.sites = h.sites
	for id := range h.touched {
		old, e := s.entries[id], h.entries[id]
		if e == nil {
			if old != nil {
				s.roll.strike(old)
				delete(s.entries, id)
			}
			continue
		}
		if old != nil && old.key == e.key && e.last < old.last { // the table is older than what is known
			e.tally = old.tally
			e.begun = old.ended
		}
		for i := range h.logged[e.key] {
			if o := &h.logged[e.key][i]; o.Cursor > e.last {
				e.add(o)
			}
		}
		e.begin(h.to.opens)
		h.to.next.latest = max(h.to.next.latest, e.begun)
		if old == nil {
			s.entries[id] = e
			s.roll.enter(e)
			continue
		}
		e.place = old.place
		*old = *e
		s.roll.note(old)
	}
	s.ring(&h.to.next)
	s.next, s.reached = h.to.next, h.to
	s.takeEpochs(h.to.epochs)
}
