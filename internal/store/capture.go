package store

import (
	"bytes"
	"context"
	"database/sql/driver"
	"strings"

	"freshet/internal/freshet"
)

// A finding is a capture made ready to be written.
type finding struct {
	*freshet.Capture
	text, raw *encoded
	picture   *encoded // nil if there is none
	envelope  envelope
	header    []byte // of this version alone
}

// prepare encodes a capture against the newest version of its source.
func (s *Store) prepare(ctx context.Context, id freshet.SourceID, c *freshet.Capture) (*finding, error) {
	s.mu.RLock()
	e := s.entries[id]
	if e == nil {
		s.mu.RUnlock()
		return nil, unknown(id)
	}
	text, raw := e.text, e.raw
	s.mu.RUnlock()

	f := &finding{Capture: c}
	f.envelope, f.header = newEnvelope(c)
	var err error
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
		b.forget = append(b.forget, e.text, e.raw)
	}
	e.head = e.lastVersion() + 1
	e.newest = 0
	e.hash, e.recipe, e.text, e.raw = f.Hash, f.Recipe, text, raw
	if e.first == 0 {
		e.first = e.head
	}
	var quiet freshet.Quiet
	if o.Result == freshet.Unchanged {
		quiet = freshet.QuietNoise
		e.quieted(0, 1)
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
	if e.envelope != 0 && f.envelope.sum() == e.envelopeSum {
		return text, raw, e.envelope, picture, nil
	}
	b.next.envelope++
	n := f.envelope
	err = b.insert(&envelopesTable, b.next.envelope, e.key, n.status, n.url, n.mediaType, n.title, Blob(n.header))
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
	err = b.appendTo(&changesTable, int64(c.Cursor), e.key, int64(prev), int64(c.Seq), int64(c.Number), c.From[:], c.To[:],
		MomentOf(c.After).Value(), MomentOf(c.Before).Value(), MomentOf(c.Modified).Value(), summary, e.label, TextOrNull(string(c.Suspect)), TextOrNull(c.Landed), JSONOrNull(c.Details))
	return c, err
}
