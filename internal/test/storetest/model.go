package storetest

import (
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A model is a store without a disk: what the real one must look like from
// outside, said as simply as can be.
type model struct {
	sources map[freshet.SourceID]*modelSource
	changes []freshet.Change
	buried  map[freshet.SourceID]numbers
	last    freshet.Cursor // of all changes there ever were
	polls   int
}

// numbers are the last ones that a purged source had.
type numbers struct {
	version, change int
	revision        int64
}

type modelSource struct {
	source   freshet.Source
	watched  bool
	standing freshet.Status
	texts    map[int]string
	newest   int          // number of the newest version, told or not
	doubted  map[int]bool // of the versions, those that were held and never told
	heldAs   freshet.Version
	accepted bool    // the head was confirmed, and not seen since
	before   numbers // of those with its ID that were purged
}

// numbers returns the last ones of the source and of those with its ID before it.
func (k *modelSource) numbers() numbers {
	return numbers{max(k.before.version, k.newest), max(k.before.change, k.standing.Changes), k.source.Revision}
}

// runModel takes random steps with a store and with a model of it, and
// compares the two.
func runModel(t *testing.T, open Open) {
	if raced {
		t.Skip("one step at a time has no races")
	}
	rapid.Check(t, func(rt *rapid.T) {
		place, err := os.MkdirTemp(t.TempDir(), "model-")
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{T: t, rt: rt, place: place, open: open, store: open(t, place), model: model{sources: map[freshet.SourceID]*modelSource{}, buried: map[freshet.SourceID]numbers{}}, now: noon}
		defer func() {
			if err := m.store.Close(); err != nil {
				rt.Errorf("closing the store: %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"add":    m.add,
			"edit":   m.edit,
			"remove": m.remove,
			"begin":  m.begin,
			"poll":   m.poll,
			"poll 2": m.poll,
			"poll 3": m.poll,
			"doubt":  m.doubt,
			"accept": m.accept,
			"prune":  m.prune,
			"reopen": m.reopen,
			"":       m.compare,
		})
	})
}

var modelIDs = []freshet.SourceID{"a", "b", "c"}

// commit does to the model what Commit does to a store.
func (m *model) commit(k *modelSource, r freshet.Record, got freshet.Change) (c freshet.Change) {
	st, o := &k.standing, r.Outcome
	switch from := st.Head; {
	case o.Result == freshet.Doubted:
		k.doubt(r)
	case r.Capture == nil:
	case o.Result == freshet.Changed && st.Held.Number > 0 && st.Held.Hash == r.Capture.Hash:
		o.Ended = st.Held.Seen
		m.promote(k)
		c = m.change(k, o, from.Hash, r.Capture.Summary, got)
		o.Ended = r.Outcome.Ended
	default:
		st.Head = k.version(r)
		st.Recipe = r.Capture.Recipe
		if o.Result == freshet.Changed && from.Number > 0 {
			c = m.change(k, o, from.Hash, r.Capture.Summary, got)
		}
		if st.Head.Quiet != "" {
			st.Quiets.Noise++
		}
	}
	st.Begun, st.Requests = o.Began, o.Requests
	st.Polls++
	st.Failures, st.Failure, st.Err = st.Failures+1, o.Failure, o.Err
	if o.Result != freshet.Failed {
		st.Failures, st.Failure, st.Err = 0, "", ""
	}
	if !o.Result.Seen() {
		return c
	}
	st.Held = freshet.Held{}
	st.Belied = st.Belied || c.Number > 0 && o.Belies(st.Fresh)
	st.Suspect, st.Landed, st.Fresh = o.Suspect, o.Landed, o.FreshUntil()
	st.Seen, st.Validators = o.Began, r.Validators
	return c
}

// version returns the version that a poll stores.
func (k *modelSource) version(r freshet.Record) freshet.Version {
	k.newest = k.numbers().version + 1
	k.texts[k.newest] = string(r.Capture.Text)
	return freshet.Version{
		Source: r.Outcome.Source, Number: k.newest, Hash: r.Capture.Hash, SeenAt: r.Outcome.Ended,
		TextBytes: int64(len(r.Capture.Text)), RawBytes: int64(len(r.Capture.Raw.Body)), MediaType: "text/html",
		URL: r.Capture.Raw.URL, Suspect: r.Outcome.Suspect, Quiet: r.Capture.Quiet,
	}
}

// doubt does to the model what Commit does to a store with what is held.
func (k *modelSource) doubt(r freshet.Record) {
	st, held := &k.standing, r.Held
	if held.Number, held.Hash, held.Seen, held.Summary = st.Held.Number, st.Held.Hash, st.Held.Seen, st.Held.Summary; r.Capture != nil {
		k.heldAs = k.version(r)
		held.Number, held.Hash, held.Seen, held.Summary = k.newest, r.Capture.Hash, r.Outcome.Ended, r.Capture.Summary
		k.doubted[k.newest] = true
		st.Quiets.Suspect++
		if old := slices.Sorted(maps.Keys(k.doubted)); len(old) > 3 {
			delete(k.doubted, old[0])
			delete(k.texts, old[0])
		}
	}
	held.Recipe, held.Suspect, held.Landed = reading.Recipe{}.Key(), r.Outcome.Suspect, r.Outcome.Landed
	st.Held, st.Suspect, st.Landed = held, held.Suspect, held.Landed
}

// promote makes what is held the head.
func (m *model) promote(k *modelSource) {
	st := &k.standing
	k.heldAs.Suspect, k.heldAs.Quiet = "", ""
	st.Head, st.Recipe, st.Held = k.heldAs, st.Held.Recipe, freshet.Held{}
	delete(k.doubted, st.Head.Number)
	st.Quiets.Suspect--
}

// change tells of the head as a change.
func (m *model) change(k *modelSource, o freshet.Outcome, from freshet.Hash, summary string, got freshet.Change) freshet.Change {
	st := &k.standing
	st.Changes = k.numbers().change + 1
	st.ChangedAt = o.Ended
	c := freshet.Change{
		Cursor: got.Cursor, Source: o.Source, Seq: st.Changes, Number: st.Head.Number, From: from, To: st.Head.Hash,
		After: st.Seen, Before: o.Ended, Summary: summary, Suspect: o.Suspect, Landed: o.Landed,
		Epoch: got.Epoch, Label: freshet.Label{URL: k.source.URL, Name: k.source.Name, Tags: k.source.Tags},
	}
	if got.Cursor <= m.last {
		c.Cursor = m.last + 1 // the cursor given is a fault
	}
	m.last = c.Cursor
	m.changes = append(m.changes, c)
	return c
}
