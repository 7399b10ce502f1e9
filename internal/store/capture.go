package store

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
)

// A finding is a capture made ready to be written.
type finding struct {
	*freshet.Capture
	text, raw *encoded
	picture   *encoded // nil if there is none
	envelope  envelope
	header    []byte // of this version, beside that of its envelope
	steadier  int64  // the envelope of the version before that the header of this one is complete with; 0 if it needs its own
}

// prepare encodes a capture against the newest version of its source.
func (s *Store) prepare(ctx context.Context, id freshet.SourceID, c *freshet.Capture) (*finding, error) {
	s.mu.RLock()
	e := s.entries[id]
	if e == nil {
		s.mu.RUnlock()
		return nil, unknown(id)
	}
	text, raw, before, beforeSum := e.text, e.raw, e.envelope, e.envelopeSum
	s.mu.RUnlock()

	f := &finding{Capture: c}
	f.envelope, f.header = newEnvelope(c)
	var err error
	if before != 0 && f.envelope.sum() == beforeSum {
		if err = s.shareEnvelope(ctx, f, before); err != nil {
			return nil, err
		}
	}
	if f.text, err = s.encodeBody(ctx, text, c.Text); err != nil {
		return nil, err
	}
	f.text.hash = c.Hash
	if len(c.Picture) > 0 {
		if f.picture, err = s.encodeBody(ctx, 0, c.Picture); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(c.Text, c.Raw.Body) {
		f.raw = f.text
		return f, nil
	}
	f.raw, err = s.encodeBody(ctx, raw, c.Raw.Body)
	return f, err
}

// capture writes a new version of a source and, if the source has changed, the change
// that led to it. If that has the text of the version that is held, it is that one.
func (b *batch) capture(e *entry, o freshet.Outcome, f *finding) (c freshet.Change, err error) {
	from, seen := e.hash, MomentOf(o.Ended)
	if held := e.held.get(); o.Result == freshet.Changed && held.Number != 0 && held.Hash == f.Hash && held.Recipe == f.Recipe {
		seen = MomentOf(held.Seen)
		err = b.promote(e)
	} else {
		err = b.advance(e, o, f)
	}
	if err != nil || o.Result != freshet.Changed {
		return c, err
	}
	e.changedAt = seen
	o.Ended = seen.Time() // it had happened by then
	return b.change(e, o, from, f.Summary, f.Details)
}

// advance writes a new version of a source, which becomes its head.
func (b *batch) advance(e *entry, o freshet.Outcome, f *finding) error {
	text, raw, envelope, picture, err := b.keepFinding(e, f)
	if err != nil {
		return err
	}
	e.envelope, e.envelopeSum, e.title = envelope, f.envelope.sum(), strings.ToLower(f.envelope.title)
	if text != e.text && raw != e.raw {
		b.forget = append(b.forget, e.raw)
		if e.raw != e.text && !b.store.index.awaits(e) { // to be indexed, it is wanted once more
			b.forget = append(b.forget, e.text)
		}
	}
	e.head = e.lastVersion() + 1
	e.newest = 0
	e.hash, e.recipe, e.text, e.raw = f.Hash, f.Recipe, text, raw
	if e.first == 0 {
		e.first = e.head
	}
	quiet := f.Quiet
	switch quiet {
	case freshet.QuietNoise:
		e.quieted(0, 1)
	case freshet.QuietSuspect: // the first version, which there is nothing to compare with
		quiet = ""
	}
	e.note(e.head, f.Hash)
	return b.insert(&versionsTable, e.key, e.head, f.Hash[:], MomentOf(o.Ended).Value(), text, raw, e.envelope, Blob(f.header),
		TextOrNull(string(o.Suspect)), TextOrNull(string(quiet)), picture, JSONOrNull(f.Fields))
}

// keepFinding writes the bodies and the envelope of a capture, and returns them. There
// may be no picture.
func (b *batch) keepFinding(e *entry, f *finding) (text, raw, envelope int64, picture driver.Value, err error) {
	if text, err = b.keep(e, f.text); err != nil {
		return 0, 0, 0, nil, err
	}
	raw = text
	if f.raw != f.text {
		if raw, err = b.keep(e, f.raw); err != nil {
			return 0, 0, 0, nil, err
		}
	}
	if f.picture != nil {
		if picture, err = b.keep(e, f.picture); err != nil {
			return 0, 0, 0, nil, err
		}
	}
	if f.steadier != 0 && f.steadier == e.envelope {
		return text, raw, e.envelope, picture, nil
	}
	b.next.envelope++
	n := f.envelope
	header, err := b.store.codec.packSteady(n.header)
	if err != nil {
		return 0, 0, 0, nil, err
	}
	err = b.insert(&envelopesTable, b.next.envelope, e.key, n.status, n.url, n.mediaType, n.title, Blob(header))
	return text, raw, b.next.envelope, picture, err
}

// change appends the step to the newest version to the log of changes.
func (b *batch) change(e *entry, o freshet.Outcome, from freshet.Hash, summary string, details freshet.Details) (freshet.Change, error) {
	if err := b.beginEpoch(); err != nil {
		return freshet.Change{}, err
	}
	label, err := b.called(e)
	if err != nil {
		return freshet.Change{}, err
	}
	e.changes = e.lastChange() + 1
	b.next.change++
	b.changed = true
	c := freshet.Change{
		Cursor:  b.next.change,
		Epoch:   b.store.cfg.Epoch,
		Source:  e.id,
		Seq:     int(e.changes),
		Number:  int(e.head),
		From:    from,
		To:      e.hash,
		After:   MomentOf(o.Since).Time(),
		Before:  MomentOf(o.Ended).Time(),
		Summary: summary,
		Suspect: o.Suspect,
		Landed:  o.Landed,
		Label:   label,
		Details: details,
	}
	if c.After.IsZero() {
		c.After = e.seen.Time()
	}
	if o.Modified.After(c.After) && !o.Modified.After(c.Before) {
		c.Modified = MomentOf(o.Modified).Time()
	}
	prev := e.changed
	e.changed = c.Cursor
	text, packed := storedDetails(c.Details)
	err = b.appendTo(&changesTable, int64(c.Cursor), e.key, int64(prev), int64(c.Seq), int64(c.Number), c.From[:], c.To[:],
		MomentOf(c.After).Value(), MomentOf(c.Before).Value(), MomentOf(c.Modified).Value(), summary, e.label, TextOrNull(string(c.Suspect)), TextOrNull(c.Landed), text, packed)
	return c, err
}

// mostHeld is how many held versions of a source are kept that never became a change.
// A page that is another wrong one at every poll must not fill the store.
const mostHeld = 3

// A heldRow is a freshet.Held as it is stored.
type heldRow struct {
	Number  int    `json:"number"`
	Hash    string `json:"hash"`
	Recipe  string `json:"recipe"`
	Suspect string `json:"suspect"`
	Landed  string `json:"landed,omitempty"`
	Summary string `json:"summary,omitempty"`
	Seen    int64  `json:"seen"`
	Since   int64  `json:"since"`
	Looks   int    `json:"looks"`
	Agreed  int    `json:"agreed"`
	Again   int64  `json:"again,omitempty"`

	Confirmed bool `json:"confirmed,omitempty"` // the head, as in entry
}

// heldOrNull returns what is held as it is stored, nothing as NULL.
func (e *entry) heldOrNull() driver.Value {
	h := e.held.get()
	if h.Number == 0 {
		if e.confirmed {
			return `{"number":0,"confirmed":true}`
		}
		return nil
	}
	row := heldRow{
		Number: h.Number, Hash: h.Hash.String(), Recipe: h.Recipe, Suspect: string(h.Suspect), Landed: h.Landed, Summary: h.Summary,
		Seen: int64(MomentOf(h.Seen)), Since: int64(MomentOf(h.Since)), Looks: h.Looks, Agreed: h.Agreed, Confirmed: e.confirmed,
	}
	if !h.Again.IsZero() {
		row.Again = int64(MomentOf(h.Again))
	}
	text, err := json.Marshal(row)
	if err != nil {
		panic(err) // a struct of strings and numbers always marshals
	}
	return string(text)
}

// readHeld reads what heldOrNull returned.
func readHeld(text string) (h freshet.Held, confirmed bool, err error) {
	if text == "" {
		return h, false, nil
	}
	var row heldRow
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return h, false, fmt.Errorf("what is held: %w", err)
	}
	if row.Number == 0 {
		return h, row.Confirmed, nil
	}
	h = freshet.Held{
		Number: row.Number, Recipe: row.Recipe, Suspect: suspect.Class(row.Suspect), Landed: row.Landed, Summary: row.Summary,
		Seen: Moment(row.Seen).Time(), Since: Moment(row.Since).Time(), Looks: row.Looks, Agreed: row.Agreed,
	}
	if row.Again != 0 {
		h.Again = Moment(row.Again).Time()
	}
	hash, err := hex.DecodeString(row.Hash)
	copy(h.Hash[:], hash)
	return h, row.Confirmed, err
}

// rounded returns what is held with its times as they are stored.
func rounded(h freshet.Held) freshet.Held {
	h.Seen, h.Since = MomentOf(h.Seen).Time(), MomentOf(h.Since).Time()
	h.Again = MomentOf(h.Again).Time()
	return h
}

// doubt takes over what a look that is doubted says of what is held, with the version
// that it brought, if it brought one.
func (b *batch) doubt(e *entry, o freshet.Outcome, f *finding, held freshet.Held) error {
	before := e.held.get()
	if f == nil && before.Number == 0 { // it was confirmed meanwhile
		return nil
	}
	if f == nil {
		held.Summary, held.Seen = before.Summary, before.Seen
		held.Number, held.Hash, held.Recipe = before.Number, before.Hash, before.Recipe
		e.held.set(rounded(held))
		return nil
	}
	text, raw, envelope, picture, err := b.keepFinding(e, f)
	if err != nil {
		return err
	}
	e.newest = e.lastVersion() + 1
	e.quieted(1, 0)
	e.note(e.newest, f.Hash)
	err = b.insert(&versionsTable, e.key, e.newest, f.Hash[:], MomentOf(o.Ended).Value(), text, raw, envelope, Blob(f.header),
		TextOrNull(string(o.Suspect)), string(freshet.QuietSuspect), picture, JSONOrNull(f.Fields))
	if err != nil {
		return err
	}
	held.Number, held.Hash, held.Recipe, held.Summary, held.Seen = int(e.newest), f.Hash, f.Recipe, f.Summary, o.Ended
	e.held.set(rounded(held))
	return b.dropHeld(e)
}

// dropHeld drops the oldest held versions that never became a change, but for the newest few.
func (b *batch) dropHeld(e *entry) error {
	var old []int64
	err := b.Query("SELECT number FROM versions WHERE source = ? AND quiet = ? ORDER BY number DESC LIMIT 9223372036854775807 OFFSET ?",
		[]driver.Value{e.key, string(freshet.QuietSuspect), int64(mostHeld)}, func(v []driver.Value) error {
			old = append(old, v[0].(int64))
			return nil
		})
	if err != nil || len(old) == 0 {
		return err
	}
	if err := b.keepCounters(); err != nil {
		return err
	}
	for _, number := range old {
		if err := b.remove(&versionsTable, "source = ? AND number = ?", e.key, number); err != nil {
			return err
		}
		if err := b.noteDropped(e, number); err != nil {
			return err
		}
	}
	if err := b.dropEnvelopes(e.key); err != nil {
		return err
	}
	_, err = b.dropBodies(e.key)
	return err
}

// noteDropped notes that a version was dropped from among others that stay.
func (b *batch) noteDropped(e *entry, number int64) (err error) {
	if number == e.first {
		e.first, err = b.Number("SELECT min(number) FROM versions WHERE source = ?", e.key)
		return err
	}
	first := number
	err = b.Query("SELECT first FROM cuts WHERE log = 'versions' AND source = ? AND last = ?", []driver.Value{e.key, number - 1}, func(v []driver.Value) error {
		first = v[0].(int64)
		return nil
	})
	if err != nil {
		return err
	}
	return b.put(&truncationsTable, "versions", e.key, first, number, int64(0), int64(0))
}

// promote makes the version that is held the head of its source.
func (b *batch) promote(e *entry) error {
	held := e.held.get()
	number := int64(held.Number)
	text, raw, envelope := int64(0), int64(0), int64(0)
	err := b.amend(&versionsTable, "source = ? AND number = ?", []driver.Value{e.key, number}, func(row []driver.Value) {
		text, raw, envelope = row[4].(int64), row[5].(int64), row[6].(int64)
		row[8], row[9] = nil, nil // no longer suspect or quiet
	})
	if err != nil {
		return err
	}
	if text == 0 {
		return noVersion(e.id, held.Number)
	}
	b.forget = append(b.forget, e.text, e.raw)
	e.head, e.newest, e.hash, e.recipe, e.text, e.raw = number, 0, held.Hash, held.Recipe, text, raw
	e.envelope, e.envelopeSum = envelope, 0 // the next version has its own
	e.quieted(-1, 0)
	return b.Query("SELECT title FROM envelopes WHERE id = ?", []driver.Value{envelope}, func(v []driver.Value) error {
		title, _ := v[0].(string)
		e.title = strings.ToLower(title)
		return nil
	})
}

// trustHead takes the mark from a head that is suspect since the first look at its source.
func (e *entry) trustHead(b *batch) error {
	err := b.amend(&versionsTable, "source = ? AND number = ?", []driver.Value{e.key, e.head}, func(row []driver.Value) { row[8] = nil })
	if err != nil {
		return err
	}
	e.release()
	e.suspect = ""
	return b.writeHead(e)
}

// Confirm implements [freshet.Archive].
func (s *Store) Confirm(ctx context.Context, id freshet.SourceID, number int) (c freshet.Change, err error) {
	err = s.write(ctx, "confirming a version of source "+string(id), func(b *batch) (err error) {
		e := b.entry(id)
		if e == nil {
			return unknown(id)
		}
		switch {
		case number == 0 || e.held.get().Number != number && (int64(number) != e.head || e.suspect == ""):
			return fmt.Errorf("version %d of source %s is not suspect: %w", number, id, freshet.ErrNotFound)
		case int64(number) == e.head:
			b.result = c
			return e.trustHead(b)
		}
		from, held := e.hash, e.held.get()
		if err := b.promote(e); err != nil {
			return err
		}
		e.release()
		e.confirmed, e.changedAt = true, MomentOf(held.Seen)
		// What the head before it was asked after with means nothing to this one.
		e.told(freshet.Validators{}, e.moved.get())
		e.sums, e.asked, e.suspect, e.landed = freshet.Sums{}, never, "", held.Landed
		if c, err = b.change(e, freshet.Outcome{Since: e.seen.Time(), Ended: held.Seen, Landed: held.Landed}, from, held.Summary, freshet.Details{}); err != nil {
			return err
		}
		b.result = c
		return b.writeHead(e)
	})
	return c, err
}

// acknowledge returns an outcome as it stands in the log. A confirmed version became a change
// outside the log of outcomes; the first poll that sees it is logged as changed, or the learner
// would take the page for unchanged. It reports whether this is that poll.
func (e *entry) acknowledge(o *freshet.Outcome, stored bool) bool {
	if !e.confirmed || !o.Result.Seen() || o.Result == freshet.Unchanged && stored {
		return false
	}
	if e.confirmed = false; o.Result == freshet.Unchanged {
		o.Result = freshet.Changed
	}
	return true
}

// release ends what is held, and reports whether that is news.
func (e *entry) release() bool {
	news := e.held.get().Number != 0
	e.held.set(freshet.Held{})
	return news
}

// A recent is which texts the newest versions of a source have, as far as this process
// has written them: so that a text that is new is known to be without reading anything.
type recent struct {
	from   int64 // the number from which on all versions are known; 0 if none is
	hashes [mostRecent]uint32
}

// mostRecent is how many versions are known. It is as many as pages are held against to
// see whether they flap.
const mostRecent = 16

// add notes the text of a new version.
func (r *recent) add(number int64, text freshet.Hash) {
	if r.from == 0 {
		r.from = number
	}
	r.hashes[number%mostRecent] = shortHash(text)
}

// lacks reports whether it is known that no version from one number to another has a
// text.
func (r *recent) lacks(text freshet.Hash, from, to int64) bool {
	from = max(from, 1)
	if r.from == 0 || r.from > from || to-from >= mostRecent {
		return false
	}
	for n := from; n <= to; n++ {
		if r.hashes[n%mostRecent] == shortHash(text) {
			return false
		}
	}
	return true
}

func shortHash(text freshet.Hash) uint32 { return binary.LittleEndian.Uint32(text[:]) }
