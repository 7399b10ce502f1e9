package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

// load reads into memory what the writing process has to know: a few numbers
// and an entry for each source, with the outcomes since the last mark folded
// into its tally.
func (s *mirror) load(ctx context.Context) (err error) {
	ctx = context.WithoutCancel(ctx)
	tx, err := s.reader.BeginTx(ctx, s.cfg.Reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()

	mark, err := readMark(ctx, tx)
	if err != nil {
		return err
	}
	to, err := s.readReached(ctx, tx, nil)
	if err != nil {
		return err
	}
	sites, err := s.readSites(ctx, tx)
	if err != nil {
		return err
	}
	entries, err := readEntries(ctx, tx, s.showing(sites), "")
	if err != nil {
		return err
	}
	opens, err := readOpens(ctx, tx)
	if err != nil {
		return err
	}
	unmarked, latest, err := foldOutcomes(ctx, tx, entries, mark)
	if err != nil {
		return err
	}
	to.next.latest = max(to.next.latest, latest)
	byID := make(map[freshet.SourceID]*entry, len(entries))
	var unflushed []*entry
	for _, e := range entries {
		byID[e.id] = e
		e.begin(opens)
		if e.dirty = !s.cfg.ReadOnly && (e.last > mark || e.open != never); e.dirty {
			unflushed = append(unflushed, e)
		}
		to.next.latest = max(to.next.latest, e.begun)
	}
	to.opens = opens
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unmarked, s.reached = to.next, unmarked, to
	s.takeEpochs(to.epochs)
	s.tail.clear()
	s.sites, s.entries, s.unflushed = sites, byID, unflushed
	if s.hasSourceIndex() {
		s.sourceIndex = newSourceIndex()
		for _, e := range entries {
			s.sourceIndex.insert(e)
		}
	}
	return nil
}

// readMark returns up to which outcome the standings are written.
func readMark(ctx context.Context, tx Querier) (mark freshet.Cursor, err error) {
	err = EachRow(ctx, tx, "SELECT coalesce(max(upto), 0) FROM marks", nil, func(scan func(...any) error) error { return scan(&mark) })
	return mark, err
}

// showing returns what makes the row of a source of its row, over what these sites say; nil if there
// is no index.
func (s *mirror) showing(sites map[int64]freshet.Source) func(*sourceRow) *indexRow {
	if !s.hasSourceIndex() {
		return nil
	}
	return func(row *sourceRow) *indexRow { return storedIndexRow(row, sites[row.site]) }
}

// readSums reads the sums of the tables, and lets no cursor be given out again that a log has had.
func readSums(ctx context.Context, tx *sql.Tx, schema *Schema, next *counter) error {
	by := map[string]tableSum{}
	err := EachRow(ctx, tx, "SELECT name, upto, value FROM seals", nil, func(scan func(...any) error) error {
		var name string
		var s tableSum
		err := scan(&name, &s.upto, &s.value)
		by[name] = s
		return err
	})
	for i, t := range schema.counted {
		next.sums[i] = by[t.Name]
	}
	next.outcome = max(next.outcome, freshet.Cursor(next.sums[sumOutcomes].upto))
	next.change = max(next.change, freshet.Cursor(next.sums[sumChanges].upto))
	return err
}

// readEntries returns the sources by key, as the tables have them: all, or those that a condition
// lets through. No row is kept longer than it takes to show its row.
func readEntries(ctx context.Context, tx *sql.Tx, show func(*sourceRow) *indexRow, where string, args ...any) (map[int64]*entry, error) {
	entries := map[int64]*entry{}
	err := EachRow(ctx, tx, `SELECT s.key, s.id, s.url, coalesce(s.site, 0), s.removed, t.begun, t.seen, t.not_before, t.failures, t.failure, t.err,
		t.requests, coalesce(t.route, ''), t.polls, t.last_outcome, t.moved, t.moved_at, coalesce(t.suspect, ''), coalesce(t.landed, ''), coalesce(t.belied, 0), coalesce(t.newest, 0), coalesce(t.held, ''), coalesce(t.quiet_suspect, 0), coalesce(t.quiet_noise, 0), t.fresh, t.first, t.head, t.changes, t.last_change, t.changed_at, t.etag, t.last_modified,
		coalesce(t.checksum, 0), t.head_recipe, v.seen, v.hash, coalesce(v.text, 0), coalesce(v.raw, 0), coalesce(v.envelope, 0),
		coalesce(n.status, 0), coalesce(n.url, ''), coalesce(n.media_type, ''), coalesce(n.title, ''),
		s.label, coalesce(g.version, 0), coalesce(g.change, 0), coalesce(g.revision, 0), `+sourceColumns+`
		FROM sources s JOIN standings t ON t.source = s.key
		LEFT JOIN tombstones g ON g.id = s.id
		LEFT JOIN versions v ON v.source = s.key AND v.number = t.head
		LEFT JOIN envelopes n ON n.id = v.envelope `+where, args,
		func(scan func(...any) error) error {
			e := newEntry(0, "")
			var hash []byte
			var url, held string
			var movedAt Moment
			var moved freshet.Moved
			var before tombstone
			var kept freshet.Held
			var quiets freshet.Quiets
			var env envelope
			var row sourceRow
			err := scan(append([]any{&e.key, &e.id, &url, &e.site, &e.removed, &e.begun, &e.seen, &e.notBefore, &e.failures, &e.failure, &e.err,
				&e.requests, &e.route, &e.polls, &e.last, &moved.URL, &movedAt, &e.suspect, &e.landed, &e.belied, &e.newest, &held, &quiets.Suspect, &quiets.Noise, &e.fresh, &e.first, &e.head, &e.changes, &e.changed, &e.changedAt, &e.validators.ETag, &e.validators.LastModified,
				&e.headSum, &e.recipe, &e.asked, &hash, &e.text, &e.raw, &e.envelope,
				&env.status, &env.url, &env.mediaType, &env.title,
				&e.label, &before.version, &before.change, &before.revision}, row.places()...)...)
			if err == nil {
				kept, e.confirmed, err = readHeld(held)
			}
			copy(e.hash[:], hash)
			moved.At = movedAt.Time()
			e.moved.set(moved)
			e.before.set(before)
			e.held.set(kept)
			e.quiets.set(quiets)
			e.url = xxhash.Sum64String(url)
			if e.envelope != 0 {
				e.envelopeSum = env.sum()
			}
			e.title = strings.ToLower(env.title)
			if show != nil && err == nil {
				e.row = show(&row)
			}
			entries[e.key] = e
			return err
		})
	return entries, err
}

// readOpens returns when the newest attempts without an outcome began, by source.
func readOpens(ctx context.Context, tx *sql.Tx) (map[freshet.SourceID]Moment, error) {
	opens := map[freshet.SourceID]Moment{}
	err := EachRow(ctx, tx, "SELECT s.id, max(a.began) FROM attempts a JOIN sources s ON s.key = a.source GROUP BY s.id", nil, func(scan func(...any) error) error {
		var id freshet.SourceID
		var began Moment
		err := scan(&id, &began)
		opens[id] = began
		return err
	})
	return opens, err
}

// begin notes when the newest attempt of the source without an outcome began, if there is one.
func (e *entry) begin(opens map[freshet.SourceID]Moment) {
	e.ended = e.begun
	open, is := opens[e.id]
	if !is {
		return
	}
	e.open, e.strays = open, true
	e.begun = max(e.begun, open)
}

// foldOutcomes adds the outcomes after a mark to the tallies. It returns how many
// there are, and the latest that one is dated.
func foldOutcomes(ctx context.Context, tx *sql.Tx, entries map[int64]*entry, mark freshet.Cursor) (n int, latest Moment, err error) {
	latest = never
	err = EachRow(ctx, tx, "SELECT source, "+outcomeColumns+" FROM outcomes o WHERE cursor > ? ORDER BY cursor", []any{mark},
		func(scan func(...any) error) error {
			var key int64
			o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&key}, dst...)...) })
			if err != nil {
				return err
			}
			n++
			latest = max(latest, MomentOf(o.Began))
			if e := entries[key]; e != nil {
				e.add(&o)
			}
			return nil
		})
	return n, latest, err
}

// A reached is how far a store has read what another process writes.
type reached struct {
	next   counter
	epochs epochs
	edits  EditPlace
	last   EditPlace                   // the last transaction
	opens  map[freshet.SourceID]Moment // attempts without an outcome
	known  bool                        // what follows can be read alone
}

// hasSourceIndex reports whether there is an index: not in a store that is read as a whole each time.
func (s *mirror) hasSourceIndex() bool { return !s.cfg.ReadOnly || s.cfg.Edits.Since != nil }

// Follow reads what another process has written since this one last looked. Every read does so; a
// standby calls it now and then, to have little left to read when it takes over.
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
	if to.next, err = readCounters(ctx, tx, s.schema); err != nil {
		return to, err
	}
	if to.epochs, err = readEpochs(ctx, tx); err != nil {
		return to, err
	}
	if err := readSums(ctx, tx, s.schema, &to.next); err != nil || s.cfg.Edits.Since == nil {
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
	heads   map[int64]int64             // checksums of the rows of these sources
	touched map[freshet.SourceID]bool
	edited  map[freshet.SourceID]bool // of those, the ones that differ by more than polls
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
	h := happened{
		logged: map[int64][]freshet.Outcome{}, heads: map[int64]int64{},
		touched: map[freshet.SourceID]bool{}, edited: map[freshet.SourceID]bool{}, entries: map[freshet.SourceID]*entry{},
	}
	if h.to, err = s.readReached(ctx, tx, &edits); err != nil {
		return false, err
	}
	if !edits.Whole || !s.reached.goesOn(&h.to) || int(h.to.next.outcome-s.reached.next.outcome) > max(mostFollowed, len(s.entries)/2) {
		return false, nil
	}
	for _, id := range edits.IDs {
		h.touched[id], h.edited[id] = true, true
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
	found := 0
	err = EachRow(ctx, tx, "SELECT s.id, o.source, coalesce(t.checksum, 0), "+outcomeColumns+" FROM outcomes o JOIN sources s ON s.key = o.source JOIN standings t ON t.source = o.source WHERE o.cursor > ? ORDER BY o.cursor",
		[]any{from.next.outcome}, func(scan func(...any) error) error {
			var id freshet.SourceID
			var key, sum int64
			o, err := scanOutcome(func(dst ...any) error { return scan(append([]any{&id, &key, &sum}, dst...)...) })
			h.logged[key] = append(h.logged[key], o)
			h.heads[key] = sum
			h.touched[id] = true
			found++
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
	if h.sites, err = s.readSites(ctx, tx); err != nil {
		return err
	}
	whole := found == int(h.to.next.outcome-from.next.outcome)
	var unknown []freshet.SourceID
	for id := range h.touched {
		if e := s.polled(h, id); e != nil && whole {
			h.entries[id] = e
		} else {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	for ids := range slices.Chunk(unknown, sourcePage) {
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

// polled returns a copy of the entry of a source that differs by polls alone, which stored nothing but outcomes: what it
// was without them, so that its row need not be read. For any other source it returns nil.
func (s *mirror) polled(h *happened, id freshet.SourceID) *entry {
	old := s.entries[id]
	if old == nil || h.edited[id] {
		return nil
	}
	if sum, is := h.heads[old.key]; is && sum != old.headSum {
		return nil
	}
	if _, was := s.reached.opens[id]; was && len(h.logged[old.key]) == 0 {
		if _, is := h.to.opens[id]; !is { // its attempt is gone
			return nil
		}
	}
	e := *old
	e.begun, e.attempt, e.strays, e.row = old.ended, attempt{open: never}, false, nil
	return &e
}

// take takes over what has happened.
func (s *mirror) take(h *happened) {
	for key, src := range h.sites {
		if old, known := s.sites[key]; known && old.Revision != src.Revision {
			s.sourceIndex.stale[key] = true
		}
	}
	s.sites = h.sites
	for id := range h.touched {
		old, e := s.entries[id], h.entries[id]
		if e == nil {
			if old != nil {
				s.sourceIndex.remove(old)
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
			s.sourceIndex.insert(e)
			continue
		}
		e.place = old.place
		*old = *e
		s.sourceIndex.update(old)
	}
	s.ring(&h.to.next)
	s.next, s.reached = h.to.next, h.to
	s.takeEpochs(h.to.epochs)
}

// LoadFrom is Load, for a store that is to be written, with what another one has read of the same
// database up to now: only what was written since is read. Both have one memory of the sources from then on, so
// that nothing is copied: reads of the other one see what this one knows, until one of them is
// closed.
func (s *Store) LoadFrom(ctx context.Context, other *Store) (err error) {
	if err := s.checkMark(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.part()
		}
	}()
	taken, err := s.inherit(ctx, other.mirror)
	if err == nil && !taken {
		err = s.load(ctx)
	}
	if err != nil {
		return s.fault("reading the store", err)
	}
	return s.resume(ctx)
}

// inherit goes on in the memory of the sources of another store, and reports whether that could be brought up to
// date. The other one does not follow any more.
func (s *mirror) inherit(ctx context.Context, other *mirror) (bool, error) {
	other.following.Lock()
	defer other.following.Unlock()
	if other.heir != nil {
		return false, nil
	}
	if followed, err := other.follow(ctx); !followed || err != nil {
		return false, err
	}
	unwritten, err := s.readUnwritten(ctx)
	if err != nil {
		return false, err
	}
	s.sourceMemory, other.heir = other.sourceMemory, s
	s.from.Store(other)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.unmarked = other.reached.next, len(unwritten)
	s.takeEpochs(other.reached.epochs)
	for _, id := range unwritten {
		s.markUnflushed(id)
	}
	for id := range other.reached.opens {
		s.markUnflushed(id)
	}
	return true, nil
}

// readUnwritten returns the sources of all outcomes since the last mark: none has been added to
// what is written of them. One that is gone is empty.
func (s *mirror) readUnwritten(ctx context.Context) (ids []freshet.SourceID, err error) {
	mark, err := readMark(ctx, s.reader)
	if err != nil {
		return nil, err
	}
	const query = "SELECT coalesce(s.id, '') FROM outcomes o LEFT JOIN sources s ON s.key = o.source WHERE o.cursor > ?"
	err = EachRow(ctx, s.reader, query, []any{mark}, func(scan func(...any) error) error {
		var id freshet.SourceID
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// markUnflushed notes that the tally of a source is newer than what is written of it.
func (s *sourceMemory) markUnflushed(id freshet.SourceID) {
	if e := s.entries[id]; e != nil && !e.dirty {
		e.dirty = true
		s.unflushed = append(s.unflushed, e)
	}
}

// part has two stores with one memory of the sources go their own ways, because this one ends. If it was the
// one that writes, the other reads everything anew: what is in the memory of the sources is not what it read.
func (s *mirror) part() {
	s.following.Lock()
	if s.heir != nil {
		s.heir.from.CompareAndSwap(s, nil)
	}
	s.following.Unlock()
	other := s.from.Swap(nil)
	if other == nil {
		return
	}
	other.following.Lock()
	defer other.following.Unlock()
	if other.heir == s {
		other.heir, other.reached = nil, reached{}
	}
}

// An EditPlace is a cursor in the log of edits of sources.
type EditPlace struct {
	Batch int64 // the transaction of the last of them
	Term  int64 // which process made it, counted from the first that wrote
}

// Edits are the sources that were edited after a place.
type Edits struct {
	IDs   []freshet.SourceID // some more than once, and some gone; an empty one if update times or forecasts were imported
	Upto  EditPlace
	Whole bool // none is missing between the two places
}

// An EditLog keeps for others which sources are not as they were, other than by polls. All
// of it may be nil: then they have to read everything anew.
type EditLog struct {
	// Note records some, within a transaction that writes.
	Note func(w *Writer, ids []freshet.SourceID) error

	// Since returns those after a place; without one only where the log ends.
	Since func(ctx context.Context, q Querier, after *EditPlace) (Edits, error)

	// Last returns the last transaction, whatever it did.
	Last func(ctx context.Context, q Querier) (EditPlace, error)
}

// noteEdits notes which sources the batch edits: all that it changes, but for what begins or
// ends a poll.
func (b *batch) noteEdits() error {
	note := b.store.cfg.Edits.Note
	if note == nil {
		return nil
	}
	var edited []freshet.SourceID
	if b.told {
		edited = append(edited, "")
	}
	for id, e := range b.staged {
		if b.edits(b.store.entries[id], e) {
			edited = append(edited, id)
		}
	}
	if len(edited) == 0 {
		return nil
	}
	slices.Sort(edited)
	return note(b.Writer, slices.Compact(edited))
}

// edits reports whether a source is edited: it is added or gone, its row was written, or it
// differs without a poll having ended.
func (b *batch) edits(old, e *entry) bool {
	if old == nil || e == nil {
		return old != e
	}
	if e.row != nil || e.removed != old.removed {
		return true
	}
	if e.last != old.last {
		return false
	}
	same := *e
	same.begun, same.open, same.opens, same.strays, same.dirty, same.place = old.begun, old.open, old.opens, old.strays, old.dirty, old.place
	same.called, same.siteRevision, same.recent = old.called, old.siteRevision, old.recent
	return same != *old
}
