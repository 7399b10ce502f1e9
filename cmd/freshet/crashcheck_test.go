//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"freshet"
	"freshet/client"
	"freshet/content"
	"freshet/sqlite"
	"freshet/synth"
)

// crashChecks hold what is in the store after a campaign against the truth.
type crashChecks struct {
	*crashRig
	store *sqlite.Store

	hashes            map[crashVersion]freshet.Hash
	versions, changes int
	pages             int // with a version
	asked             int // answers with Retry-After
	early, excused    int // requests before that time was over
}

// check opens the store that the daemon left behind and checks every promise.
func (r *crashRig) check(t *testing.T) *crashChecks {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(r.dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &crashChecks{crashRig: r, store: store, hashes: map[crashVersion]freshet.Hash{}}
	if err := store.Check(t.Context()); err != nil {
		t.Errorf("the store is not whole: %v", err)
	}
	for _, p := range r.web.Pages() {
		c.checkVersions(t, p.ID)
	}
	changes, err := store.Changes(t.Context(), freshet.ChangeQuery{})
	if err != nil {
		t.Fatal(err)
	}
	c.changes = len(changes)
	c.checkSequences(t, changes)
	c.checkTold(t, changes)
	c.checkAcknowledged(t)
	c.checkManners(t)
	c.checkLearnt(t)
	if c.changes == 0 {
		t.Error("no change was captured, so nothing was shown")
	}
	return c
}

// checkVersions holds the versions of a page against what the web served.
func (c *crashChecks) checkVersions(t *testing.T, id freshet.SourceID) {
	ctx := t.Context()
	versions, err := c.store.Versions(ctx, id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	served := map[int]bool{}
	for _, s := range c.web.Served(id) {
		served[s.Version] = true
	}
	slices.Reverse(versions)
	if len(versions) > 0 {
		c.pages++
	}
	last := 0
	for i, v := range versions {
		if v.Number != i+1 {
			t.Errorf("version %d of %s has the number %d: there is a gap or a repeat", i+1, id, v.Number)
		}
		edition := c.checkVersion(t, v)
		if !served[edition] || edition <= last {
			t.Errorf("version %d of %s is edition %d, after edition %d; served: %v", v.Number, id, edition, last, served[edition])
		}
		last = edition
		c.hashes[crashVersion{id, v.Number}] = v.Hash
		c.versions++
	}
}

// checkVersion reads one version back and returns the edition it holds.
func (c *crashChecks) checkVersion(t *testing.T, v freshet.Version) int {
	ctx := t.Context()
	text, err := c.store.Text(ctx, v.Source, v.Number)
	if err != nil {
		t.Errorf("text of version %d of %s: %v", v.Number, v.Source, err)
	}
	raw, err := c.store.Raw(ctx, v.Source, v.Number)
	if err != nil {
		t.Errorf("response of version %d of %s: %v", v.Number, v.Source, err)
	}
	if freshet.HashOf(text) != v.Hash {
		t.Errorf("the text of version %d of %s does not hash to its name", v.Number, v.Source)
	}
	edition, ok := synth.VersionIn(raw.Body)
	if !ok || !bytes.Equal(raw.Body, c.web.Body(v.Source, edition, v.SeenAt)) {
		t.Errorf("version %d of %s is not what the web served as edition %d", v.Number, v.Source, edition)
	}
	reading, err := content.Extract(freshet.Recipe{}, freshet.Response{Status: raw.Status, URL: raw.URL, Header: raw.Header, Body: raw.Body, MediaType: v.MediaType})
	if err != nil || !bytes.Equal(reading.Text, text) {
		t.Errorf("the text of version %d of %s is not that of its response (%v)", v.Number, v.Source, err)
	}
	return edition
}

// checkSequences wants every source's changes to be numbered 1..n and each to
// lead from one version to the next, at a time when the page really changed.
func (c *crashChecks) checkSequences(t *testing.T, changes []freshet.Change) {
	seq, cursor := map[freshet.SourceID]int{}, freshet.Cursor(0)
	for _, ch := range changes {
		if ch.Cursor <= cursor {
			t.Errorf("the change %s has the cursor %d, after %d", ch.ID(), ch.Cursor, cursor)
		}
		cursor = ch.Cursor
		if seq[ch.Source]++; ch.Seq != seq[ch.Source] {
			t.Errorf("after change %d of %s comes %d", seq[ch.Source]-1, ch.Source, ch.Seq)
		}
		from, to := c.hashes[crashVersion{ch.Source, ch.Number - 1}], c.hashes[crashVersion{ch.Source, ch.Number}]
		if ch.Number != ch.Seq+1 || ch.From != from || ch.To != to {
			t.Errorf("the change %s does not lead from version %d to version %d", ch.ID(), ch.Number-1, ch.Number)
		}
		if len(c.web.Changes(ch.Source, ch.After, ch.Before)) == 0 {
			t.Errorf("the change %s is said to fall between %v and %v, when the page did not change", ch.ID(), ch.After, ch.Before)
		}
	}
	for v := range c.hashes {
		if v.number > seq[v.source]+1 {
			t.Errorf("no change leads to version %d of %s", v.number, v.source)
		}
	}
}

// checkTold wants every change to have reached the webhook and the stream, and
// nothing else to have.
func (c *crashChecks) checkTold(t *testing.T, changes []freshet.Change) {
	for _, ch := range changes {
		hooked, ok := c.hook.events[ch.ID()]
		if !ok {
			t.Errorf("the change %s never reached the webhook", ch.ID())
		}
		var streamed client.Event
		if data, ok := c.stream.data[ch.Place()]; !ok {
			t.Errorf("the change %s at %s never reached the stream", ch.ID(), ch.Place())
		} else if err := json.Unmarshal(data, &streamed); err != nil {
			t.Errorf("the event %d cannot be read: %v", ch.Cursor, err)
		}
		for _, e := range []client.Event{hooked, streamed} {
			if e.ID != ch.ID() || e.Data.Cursor != ch.Place() || e.Data.From != ch.From.String() || e.Data.To != ch.To.String() || e.Data.Summary != ch.Summary {
				t.Errorf("the change %s was told as %+v", ch.ID(), e)
			}
		}
	}
	if len(c.hook.events) != len(changes) || len(c.stream.data) != len(changes) {
		t.Errorf("%d changes are on record, but %d were told to the webhook and %d to the stream", len(changes), len(c.hook.events), len(c.stream.data))
	}
}

// checkAcknowledged wants every version that was ever shown over the API.
func (c *crashChecks) checkAcknowledged(t *testing.T) {
	for v, hash := range c.acks.seen() {
		if got := c.hashes[v].String(); got != hash {
			t.Errorf("version %d of %s was shown as %q and is now %q", v.number, v.source, hash, got)
		}
	}
}

// checkManners holds the web's log of requests against what was allowed.
func (c *crashChecks) checkManners(t *testing.T) {
	if most := c.web.MaxInWindow(crashBudget.Per); float64(most) > crashBudget.Polls {
		t.Errorf("%d requests in %v, want at most %g", most, crashBudget.Per, crashBudget.Polls)
	}
	last := map[string]synth.Request{}
	for _, r := range c.web.Requests() {
		if before, ok := last[r.Host]; ok && r.At.Sub(before.At) < crashDelay {
			t.Errorf("two requests to %s came %v apart, want at least %v:\n  %s\n  %s", r.Host, r.At.Sub(before.At), crashDelay, c.account(t, before), c.account(t, r))
		}
		last[r.Host] = r
		if r.RetryAfter > 0 {
			c.asked++
		}
	}
	for _, r := range c.web.Early() {
		c.early++
		if c.knewBetter(t.Context(), t, r) {
			t.Errorf("%s was asked for at %v, although its host had asked to be left alone and that was on record", r.Page, r.At)
		} else {
			c.excused++
		}
	}
}

// account says what the daemon has on record about a request.
func (c *crashChecks) account(t *testing.T, r synth.Request) string {
	at := func(m time.Time) string { return m.UTC().Format("15:04:05.000000") }
	life := 0
	for life < len(c.deaths) && c.deaths[life].Before(r.At) {
		life++
	}
	outcomes, err := c.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: r.Page})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if !o.Began.After(r.At) && !o.Ended.Before(r.At) {
			return fmt.Sprintf("%s at %s in life %d: began %s, ended %s", r.Page, at(r.At), life, at(o.Began), at(o.Ended))
		}
	}
	return fmt.Sprintf("%s at %s in life %d: no outcome on record", r.Page, at(r.At), life)
}

// knewBetter reports whether an answer that forbade a request was on record
// before the request was made. One that died with the daemon was not.
func (c *crashChecks) knewBetter(ctx context.Context, t *testing.T, early synth.Request) bool {
	for _, r := range c.web.Requests() {
		if r.Host != early.Host || r.RetryAfter == 0 || !r.At.Before(early.At) || !r.At.Add(r.RetryAfter).After(early.At) {
			continue
		}
		outcomes, err := c.store.Outcomes(ctx, freshet.OutcomeQuery{Source: r.Page})
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(outcomes, func(o freshet.Outcome) bool {
			return !o.Began.After(r.At) && !o.Ended.Before(r.At) && !o.NotBefore.IsZero()
		}) {
			return true
		}
	}
	return false
}
