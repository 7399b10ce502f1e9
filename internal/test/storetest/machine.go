package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
)

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
		r.Outcome.Suspect = rapid.SampledFrom([]suspect.Class{"", "", suspect.Empty, suspect.Login}).Draw(rt, "suspect")
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
	known.accepted = true
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
	result := r.Outcome.Result
	if known.accepted && result.Seen() && (result != freshet.Unchanged || r.Capture == nil) {
		if known.accepted = false; result == freshet.Unchanged {
			result = freshet.Changed
		}
	}
	if o.Result != result && o.Result != freshet.First {
		rt.Fatalf("the poll ended as %v, want %v", o.Result, result)
	}
	want := known.standing.Head.Number
	if o.Result == freshet.Doubted {
		want = known.standing.Held.Number
	}
	if o.Result != freshet.Failed && o.Version != want {
		rt.Fatalf("the outcome saw version %d, want %d", o.Version, want)
	}
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
	var got, want []freshet.SourceWithStatus
	for w, err := range m.store.Sources(m.Context()) {
		if err != nil {
			rt.Fatalf("sources: %v", err)
		}
		got = append(got, w)
	}
	for _, id := range slices.Sorted(maps.Keys(m.model.sources)) {
		k := m.model.sources[id]
		if k.watched {
			want = append(want, freshet.SourceWithStatus{Source: k.source, Status: k.standing})
		}
		texts := map[int]string{}
		versions, err := m.store.Versions(m.Context(), id, freshet.Between{}, 0, 1000)
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
