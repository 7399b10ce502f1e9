package store

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"freshet/internal/freshet"
)

// mostHeld is how many versions of a source are kept that were held and never told.
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
		Number: row.Number, Recipe: row.Recipe, Suspect: freshet.Suspect(row.Suspect), Landed: row.Landed, Summary: row.Summary,
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
	if f == nil && before.Number == 0 { // somebody confirmed it meanwhile
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

// dropHeld drops the oldest versions that were held and never told, but for the
// newest few.
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
	return b.put(&cutsTable, "versions", e.key, first, number, int64(0), int64(0))
}

// promote makes the version that is held the head of its source.
func (b *batch) promote(e *entry) error {
	held := e.held.get()
	number := int64(held.Number)
	text, raw, envelope := int64(0), int64(0), int64(0)
	err := b.amend(&versionsTable, "source = ? AND number = ?", []driver.Value{e.key, number}, func(row []driver.Value) {
		text, raw, envelope = row[4].(int64), row[5].(int64), row[6].(int64)
		row[8], row[9] = nil, nil // suspect no more, and told
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

// Confirm implements [freshet.Archive].
func (s *Store) Confirm(ctx context.Context, id freshet.SourceID, number int) (c freshet.Change, err error) {
	err = s.write(ctx, "confirming a version of source "+string(id), func(b *batch) (err error) {
		e := b.entry(id)
		if e == nil {
			return unknown(id)
		}
		if number == 0 || e.held.get().Number != number {
			return fmt.Errorf("version %d of source %s is not held: %w", number, id, freshet.ErrNotFound)
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
		return b.writeHead(e)
	})
	return c, err
}

// acknowledge returns an outcome as it stands in the log. A version that somebody has
// confirmed was told as a change outside the log of outcomes; the first poll that sees
// it says so, or those who learn from the log would take the page to have stayed as it
// was. It reports whether that is news.
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
