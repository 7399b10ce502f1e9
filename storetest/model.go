package storetest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet"
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
	standing freshet.Standing
	texts    map[int]string
	newest   int          // number of the newest version, told or not
	doubted  map[int]bool // of the versions, those that were held and never told
	heldAs   freshet.Version
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

// A machine drives a store and its model.
type machine struct {
	*testing.T
	rt    *rapid.T
	place string
	open  Open
	store freshet.Store
	model model
	now   time.Time
}

var modelIDs = []freshet.SourceID{"a", "b", "c"}

// pick returns a source, known or not, and passes some time.
func (m *machine) pick(rt *rapid.T) (freshet.SourceID, *modelSource) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(rt, "seconds")) * time.Second)
	id := rapid.SampledFrom(modelIDs).Draw(rt, "source")
	return id, m.model.sources[id]
}

// fails reports whether there is an error, which must be there if wanted.
func fails(rt *rapid.T, err error, wanted bool) bool {
	if (err != nil) != wanted {
		rt.Fatalf("the error is %v, want one: %v", err, wanted)
	}
	return err != nil
}

func (m *machine) add(rt *rapid.T) {
	id, known := m.pick(rt)
	s := freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Created: m.now, Keep: freshet.Keep{Versions: rapid.IntRange(0, 3).Draw(rt, "keep")}}
	added, err := m.store.AddSource(m.Context(), s)
	if fails(rt, err, known != nil && known.watched) {
		return
	}
	if known == nil {
		known = &modelSource{texts: map[int]string{}, doubted: map[int]bool{}, before: m.model.buried[id]}
		s.Revision = known.before.revision + 1
		m.model.sources[id] = known
	} else {
		s.Created, s.Revision = known.source.Created, known.source.Revision+1
	}
	known.source, known.watched = s, true
	if diff := cmp.Diff(s, added); diff != "" {
		rt.Fatalf("the source was added otherwise (-want +got):\n%s", diff)
	}
}

func (m *machine) edit(rt *rapid.T) {
	id, known := m.pick(rt)
	s := freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Name: rapid.SampledFrom([]string{"", "new"}).Draw(rt, "name")}
	if known != nil {
		s = known.source
		s.Name, s.Paused = rapid.SampledFrom([]string{"", "new"}).Draw(rt, "name"), rapid.Bool().Draw(rt, "paused")
		s.Revision = rapid.SampledFrom([]int64{0, s.Revision, s.Revision - 1, s.Revision + 1}).Draw(rt, "revision")
	}
	watched := known != nil && known.watched
	err := m.store.UpdateSource(m.Context(), s)
	if fails(rt, err, !watched || s.Revision != 0 && s.Revision != known.source.Revision) {
		return
	}
	s.Revision = known.source.Revision + 1
	known.source = s
}

func (m *machine) remove(rt *rapid.T) {
	id, known := m.pick(rt)
	purge := rapid.Bool().Draw(rt, "purge")
	err := m.store.RemoveSource(m.Context(), id, purge)
	if fails(rt, err, known == nil || !known.watched && !purge) {
		return
	}
	known.watched = false
	if purge {
		m.model.buried[id] = known.numbers()
		delete(m.model.sources, id)
		m.model.changes = slices.DeleteFunc(m.model.changes, func(c freshet.Change) bool { return c.Source == id })
	}
}

func (m *machine) begin(rt *rapid.T) {
	id, known := m.pick(rt)
	_, err := m.store.Begin(m.Context(), freshet.Poll{Source: freshet.Source{ID: id}, At: m.now})
	if !fails(rt, err, known == nil || !known.watched) {
		known.standing.Begun = m.now
	}
}

func (m *machine) poll(rt *rapid.T) {
	id, known := m.pick(rt)
	result := rapid.SampledFrom([]freshet.Result{freshet.Unchanged, freshet.Changed, freshet.Changed, freshet.Failed, freshet.First}).Draw(rt, "result")
	quiet := result == freshet.Unchanged && known != nil && known.standing.Head.Number > 0 && rapid.Bool().Draw(rt, "noise")
	r := failed(id, m.now, "dns")
	if result != freshet.Failed {
		text := rapid.SampledFrom([]string{"", "one", "two", "a longer text, which is much like the others", "a longer text, which is quite like the others"}).Draw(rt, "text")
		if r = saw(id, m.now, result, text); quiet {
			r = noise(id, m.now, text)
		}
		r.Validators.ETag = rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "etag")
		r.Outcome.Suspect = rapid.SampledFrom([]freshet.Suspect{"", "", freshet.SuspectEmpty, freshet.SuspectLogin}).Draw(rt, "suspect")
		r.Outcome.Landed = rapid.SampledFrom([]string{"", "https://a.example/login"}).Draw(rt, "landed")
		r.Outcome.FreshFor = rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour}).Draw(rt, "fresh")
	}
	if known != nil {
		r.Outcome.Since = known.standing.Seen
	}
	m.commit(rt, known, r)
}

// doubt polls a source and holds what came.
func (m *machine) doubt(rt *rapid.T) {
	id, known := m.pick(rt)
	if known == nil || known.standing.Head.Number == 0 {
		return
	}
	held := freshet.Held{Since: m.now, Looks: known.standing.Held.Looks + 1, Agreed: 1, Again: m.now.Add(time.Minute)}
	text := rapid.SampledFrom([]string{"", "log in", "one", "a captcha"}).Draw(rt, "text")
	if known.standing.Held.Number == 0 && text == "" {
		return
	}
	r := doubted(id, m.now, text, held)
	r.Outcome.Since = known.standing.Seen
	m.commit(rt, known, r)
}

// accept confirms what is held.
func (m *machine) accept(rt *rapid.T) {
	id, known := m.pick(rt)
	number := 1
	if known != nil {
		number = known.standing.Held.Number
	}
	c, err := m.store.Confirm(m.Context(), id, number)
	if fails(rt, err, known == nil || number == 0) {
		return
	}
	st := &known.standing
	from, held := st.Head.Hash, st.Held
	m.model.promote(known)
	want := m.model.change(known, freshet.Outcome{Source: id, Ended: held.Seen, Landed: held.Landed}, from, held.Summary, c)
	if !cmp.Equal(want, c) {
		rt.Fatalf("the confirmed change is not as it should be (-want +got):\n%s", cmp.Diff(want, c))
	}
	st.Validators, st.Suspect, st.Landed = freshet.Validators{}, "", held.Landed
}

// commit records a poll and holds what came of it against the model.
func (m *machine) commit(rt *rapid.T, known *modelSource, r freshet.Record) {
	o, c, err := m.store.Commit(m.Context(), r)
	if fails(rt, err, known == nil) {
		return
	}
	m.model.polls++
	known.standing.Upto = o.Cursor
	if wantC := m.model.commit(known, r, c); !cmp.Equal(wantC, c) {
		rt.Fatalf("the change is not as it should be (-want +got):\n%s", cmp.Diff(wantC, c))
	}
	want := known.standing.Head.Number
	if o.Result == freshet.Doubted {
		want = known.standing.Held.Number
	}
	if o.Result != freshet.Failed && o.Version != want {
		rt.Fatalf("the outcome saw version %d, want %d", o.Version, want)
	}
}

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
	held.Recipe, held.Suspect, held.Landed = freshet.Recipe{}.Key(), r.Outcome.Suspect, r.Outcome.Landed
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

func (m *machine) prune(rt *rapid.T) {
	logs := time.Duration(rapid.IntRange(0, 100).Draw(rt, "logs")) * time.Second
	if _, err := m.store.Prune(m.Context(), m.now, freshet.Keep{}, logs); err != nil {
		rt.Fatalf("prune: %v", err)
	}
	for _, k := range m.model.sources {
		kept := slices.Sorted(maps.Keys(k.texts))
		if keep := k.source.Keep.Versions; keep > 0 && len(kept) > keep {
			first := min(kept[len(kept)-keep], k.standing.Head.Number)
			gone := func(n int, _ string) bool { return n < first }
			maps.DeleteFunc(k.texts, gone)
			maps.DeleteFunc(k.doubted, func(n int, _ bool) bool { return gone(n, "") })
		}
	}
}

func (m *machine) reopen(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "whether") > 0 {
		return // it takes longer than any other step
	}
	if err := m.store.Close(); err != nil {
		rt.Fatalf("closing the store: %v", err)
	}
	m.store = m.open(m.T, m.place)
}

// compare fails if the store and the model differ.
func (m *machine) compare(rt *rapid.T) {
	var got, want []freshet.Watched
	for w, err := range m.store.Sources(m.Context()) {
		if err != nil {
			rt.Fatalf("sources: %v", err)
		}
		got = append(got, w)
	}
	for _, id := range slices.Sorted(maps.Keys(m.model.sources)) {
		k := m.model.sources[id]
		if k.watched {
			want = append(want, freshet.Watched{Source: k.source, Standing: k.standing})
		}
		texts := map[int]string{}
		versions, err := m.store.Versions(m.Context(), id, 0, 1000)
		for _, v := range versions {
			var text []byte
			if text, err = m.store.Text(m.Context(), id, v.Number); err != nil {
				break
			}
			texts[v.Number] = string(text)
		}
		if err != nil {
			rt.Fatalf("versions of %s: %v", id, err)
		}
		if diff := cmp.Diff(k.texts, texts); diff != "" {
			rt.Fatalf("the versions of %s differ (-want +got):\n%s", id, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("the sources differ (-want +got):\n%s", diff)
	}
	changes, err := m.store.Changes(m.Context(), freshet.ChangeQuery{})
	if err != nil {
		rt.Fatalf("changes: %v", err)
	}
	if len(changes)+len(m.model.changes) > 0 && !cmp.Equal(m.model.changes, changes) {
		rt.Fatalf("the changes differ (-want +got):\n%s", cmp.Diff(m.model.changes, changes))
	}
	if last, err := m.store.LastChange(m.Context()); err != nil || last != m.model.last {
		rt.Fatalf("the log ends at %d (%v), want %d", last, err, m.model.last)
	}
	m.compareLog(rt)
}

// compareLog fails if the log of outcomes is not in order, or longer than the
// polls were.
func (m *machine) compareLog(rt *rapid.T) {
	log, err := m.store.Outcomes(m.Context(), freshet.OutcomeQuery{})
	if err != nil {
		rt.Fatalf("outcomes: %v", err)
	}
	if len(log) > m.model.polls {
		rt.Fatalf("there are %d outcomes of %d polls", len(log), m.model.polls)
	}
	own := map[freshet.SourceID][]freshet.Outcome{}
	for i, o := range log {
		if i > 0 && o.Cursor <= log[i-1].Cursor {
			rt.Fatalf("the outcome at %d comes after the one at %d", o.Cursor, log[i-1].Cursor)
		}
		own[o.Source] = append(own[o.Source], o)
	}
	for _, id := range modelIDs {
		got, err := m.store.Outcomes(m.Context(), freshet.OutcomeQuery{Source: id})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(own[id]) {
			rt.Fatalf("the outcomes of %s alone are %v (%v), and among all %v", id, got, err, own[id])
		}
	}
}
