package storetest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/suspect"
	"freshet/internal/invalid"
)

// A listMachine drives a store, and holds its lists against what the sources add up to
// when all of them are read.
type listMachine struct {
	*testing.T
	place string
	open  Open
	store freshet.Store
	now   time.Time
}

// runLists takes random steps with sources, pages and polls, and asks for random lists.
func runLists(t *testing.T, open Open) {
	if raced {
		t.Skip("one step at a time has no races")
	}
	rapid.Check(t, func(rt *rapid.T) {
		place, err := os.MkdirTemp(t.TempDir(), "lists-")
		if err != nil {
			rt.Fatal(err)
		}
		m := &listMachine{T: t, place: place, open: open, store: open(t, place), now: noon}
		defer func() {
			if err := m.store.Close(); err != nil {
				rt.Errorf("closing the store: %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"add":    m.add,
			"page":   m.page,
			"edit":   m.edit,
			"remove": m.remove,
			"poll":   m.poll,
			"poll 2": m.poll,
			"hold":   m.hold,
			"accept": m.accept,
			"reopen": m.reopen,
			"walk":   m.walk,
			"":       m.compare,
		})
	})
}

var (
	listIDs  = []freshet.SourceID{"a", "B", "c", "c.d", "site"}
	listTags = []string{"news", "docs", "News"}
)

// said returns a source as somebody might add or edit it.
func (m *listMachine) said(rt *rapid.T, id freshet.SourceID) freshet.Source {
	m.now = m.now.Add(time.Minute)
	s := freshet.Source{
		ID: id, URL: fmt.Sprintf("https://%s.example/%s", rapid.SampledFrom([]string{"one", "two", "TWO"}).Draw(rt, "host"), id), Created: m.now,
		Name: rapid.SampledFrom([]string{"", "Äpfel", "a page"}).Draw(rt, "name"), Paused: rapid.IntRange(0, 3).Draw(rt, "paused") == 0,
		Tags: rapid.SliceOfNDistinct(rapid.SampledFrom(listTags), 0, 2, rapid.ID).Draw(rt, "tags"),
	}
	if id == "site" {
		s.Site = &crawl.Settings{Limit: 9}
	}
	return s
}

// done fails the test on an error that is not one of those that steps can have.
func done(rt *rapid.T, err error) {
	if _, refused := errors.AsType[*invalid.Error](err); refused || err == nil || errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrConflict) {
		return
	}
	rt.Fatalf("a step gives %v", err)
}

func (m *listMachine) add(rt *rapid.T) {
	_, err := m.store.AddSource(m.Context(), m.said(rt, rapid.SampledFrom(listIDs).Draw(rt, "source")))
	done(rt, err)
}

// page adds a page of the site, which says some things otherwise.
func (m *listMachine) page(rt *rapid.T) {
	site, err := m.store.Source(m.Context(), "site")
	if err != nil || site.Site == nil {
		return
	}
	id := freshet.SourceID(fmt.Sprint("page-", rapid.IntRange(0, 2).Draw(rt, "page")))
	p := site.Page(id, site.URL+"/"+string(id))
	p.Created = m.now
	if rapid.Bool().Draw(rt, "own") {
		p.Tags, p.Paused = []string{"own"}, !p.Paused
	}
	_, err = m.store.AddSource(m.Context(), p)
	done(rt, err)
}

// ids returns all sources that are watched.
func (m *listMachine) ids(rt *rapid.T) (all []freshet.SourceID) {
	for w, err := range m.store.Sources(m.Context()) {
		if err != nil {
			rt.Fatal(err)
		}
		all = append(all, w.ID)
	}
	return all
}

// one returns a source that is watched, or "".
func (m *listMachine) one(rt *rapid.T) freshet.SourceID {
	all := m.ids(rt)
	if len(all) == 0 {
		return ""
	}
	return rapid.SampledFrom(all).Draw(rt, "watched")
}

func (m *listMachine) edit(rt *rapid.T) {
	id := m.one(rt)
	if id == "" {
		return
	}
	now, err := m.store.Source(m.Context(), id)
	if err != nil {
		rt.Fatal(err)
	}
	next := m.said(rt, id)
	if now.Of != "" {
		next.URL = now.URL
	}
	next.Created, next.Of = now.Created, now.Of
	done(rt, m.store.UpdateSource(m.Context(), next))
}

func (m *listMachine) remove(rt *rapid.T) {
	if id := m.one(rt); id != "" {
		done(rt, m.store.RemoveSource(m.Context(), id, rapid.Bool().Draw(rt, "purge")))
	}
}

func (m *listMachine) poll(rt *rapid.T) {
	id := m.one(rt)
	if id == "" {
		return
	}
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(rt, "seconds")) * time.Second)
	r := failed(id, m.now, "dns")
	if result := rapid.SampledFrom([]freshet.Result{freshet.Unchanged, freshet.First, freshet.Changed, freshet.Failed}).Draw(rt, "result"); result != freshet.Failed {
		r = saw(id, m.now, result, fmt.Sprint(m.now))
		r.Outcome.Suspect = rapid.SampledFrom([]suspect.Class{"", "", suspect.Login}).Draw(rt, "suspect")
		if rapid.IntRange(0, 3).Draw(rt, "moved") == 0 {
			r.Moved = freshet.Moved{URL: "https://elsewhere.example/", At: m.now}
		}
		if r.Capture != nil {
			r.Capture.Title = rapid.SampledFrom([]string{"", "A Title", "TWO words"}).Draw(rt, "title")
		}
	}
	_, _, err := m.store.Commit(m.Context(), r)
	done(rt, err)
}

// hold polls a source and holds what came.
func (m *listMachine) hold(rt *rapid.T) {
	id := m.one(rt)
	if id == "" {
		return
	}
	if w, err := m.store.Source(m.Context(), id); err != nil || w.Status.Head.Number == 0 {
		return
	}
	m.now = m.now.Add(time.Minute)
	r := doubted(id, m.now, fmt.Sprint("log in ", m.now), freshet.Held{Since: m.now, Looks: 1, Agreed: 1, Again: m.now.Add(time.Minute)})
	r.Capture.Title = "Log IN"
	_, _, err := m.store.Commit(m.Context(), r)
	done(rt, err)
}

// accept confirms what is held.
func (m *listMachine) accept(rt *rapid.T) {
	for _, id := range m.ids(rt) {
		if w, err := m.store.Source(m.Context(), id); err == nil && w.Status.Held.Number > 0 {
			_, err := m.store.Confirm(m.Context(), id, w.Status.Held.Number)
			done(rt, err)
		}
	}
}

func (m *listMachine) reopen(rt *rapid.T) {
	if err := m.store.Close(); err != nil {
		rt.Fatalf("closing the store: %v", err)
	}
	m.store = m.open(m.T, m.place)
}

// query draws a query. Every other is for one of a few lists, so that stores that keep lists
// are asked again for those that they have.
func query(rt *rapid.T) freshet.SourceQuery {
	if rapid.Bool().Draw(rt, "again") {
		return freshet.SourceQuery{
			By:           rapid.SampledFrom([]freshet.SourceOrder{freshet.ByID, freshet.ByChanged, freshet.BySeen, freshet.ByPolls, freshet.ByAttention}).Draw(rt, "by"),
			SourceFilter: rapid.SampledFrom([]freshet.SourceFilter{{}, {Named: true}, {Tag: "news"}, {Removed: true}}).Draw(rt, "filter"),
			Reverse:      rapid.Bool().Draw(rt, "reverse"),
		}
	}
	q := freshet.SourceQuery{
		By:      rapid.SampledFrom([]freshet.SourceOrder{freshet.ByID, freshet.ByChanged, freshet.BySeen, freshet.ByPolls, freshet.ByChanges, freshet.ByAttention}).Draw(rt, "by"),
		Reverse: rapid.Bool().Draw(rt, "reverse"), Offset: rapid.IntRange(0, 3).Draw(rt, "offset"), Limit: rapid.IntRange(0, 4).Draw(rt, "limit"),
	}
	if rapid.Bool().Draw(rt, "filtered") {
		q.SourceFilter = freshet.SourceFilter{
			Tag:  rapid.SampledFrom(append([]string{"", "", "own", "none"}, listTags...)).Draw(rt, "tag"),
			Host: rapid.SampledFrom([]string{"", "", "one.example", "two.example"}).Draw(rt, "host"),
			Text: rapid.SampledFrom([]string{"", "", "TWO", "äpf", "c", "title", "log in"}).Draw(rt, "text"),
			In:   freshet.Conditions(rapid.SampledFrom([]int{0, 0, 1, 2, 4, 8, 16, 32, 64, 5}).Draw(rt, "in")),
			Of:   rapid.SampledFrom([]freshet.SourceID{"", "", "site"}).Draw(rt, "of"), Named: rapid.Bool().Draw(rt, "named"), Removed: rapid.IntRange(0, 3).Draw(rt, "removed") == 0,
		}
	}
	return q
}

// compare holds a list and the counts against what the sources add up to.
func (m *listMachine) compare(rt *rapid.T) {
	q := query(rt)
	all := m.store.Sources(m.Context())
	if q.Removed {
		all = m.store.RemovedSources(m.Context(), "")
	}
	if rapid.IntRange(0, 2).Draw(rt, "after") == 0 {
		q.After = &freshet.SourceRank{Key: int64(rapid.IntRange(-3, 1).Draw(rt, "key")), ID: rapid.SampledFrom(append([]freshet.SourceID{"", "b", "zz"}, listIDs...)).Draw(rt, "after ID")}
		for w, err := range all {
			if err == nil && w.ID == q.After.ID {
				*q.After = q.By.Rank(w)
			}
		}
	}
	want, err := q.List(all)
	if err != nil {
		rt.Fatal(err)
	}
	got, err := m.store.ListSources(m.Context(), q)
	if err != nil {
		rt.Fatal(err)
	}
	if got.End != want.End {
		rt.Fatalf("the list %+v ends at %+v, want %+v", q, got.End, want.End)
	}
	if diff := cmp.Diff(names(want), names(got)); diff != "" {
		rt.Fatalf("the list %+v is not as it should be (-want +got):\n%s", q, diff)
	}
	if diff := cmp.Diff(want.Sources, got.Sources, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("the sources of the list %+v are not as they should be (-want +got):\n%s", q, diff)
	}
	m.compareNamed(rt, want.Sources, q.Removed)
	ids, err := m.store.SourceIDs(m.Context(), q.SourceFilter)
	if err != nil || len(ids) != want.Total || !slices.IsSorted(ids) {
		rt.Fatalf("the IDs of %+v are %v (%v), want %d in order", q.SourceFilter, ids, err, want.Total)
	}
	counts, err := freshet.Count(m.store.Sources(m.Context()))
	if err != nil {
		rt.Fatal(err)
	}
	counted, err := m.store.CountSources(m.Context())
	if err != nil {
		rt.Fatal(err)
	}
	none := func(n int) bool { return n == 0 }
	if diff := cmp.Diff(counts, counted, ignoreEntries(none)); diff != "" {
		rt.Fatalf("the counts are not as they should be (-want +got):\n%s", diff)
	}
}

// compareNamed asks for sources by their IDs, in another order and with one that is gone.
func (m *listMachine) compareNamed(rt *rapid.T, want []freshet.SourceWithStatus, removed bool) {
	want = slices.Clone(want)
	slices.Reverse(want)
	ids := []freshet.SourceID{"nobody"}
	for _, w := range want {
		ids = append(ids, w.ID)
	}
	got, err := m.store.NamedSources(m.Context(), ids, removed)
	if err != nil {
		rt.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatalf("the sources %v are not as they should be (-want +got):\n%s", ids, diff)
	}
}

// walk goes through a list a page at a time, as its ends say, while sources are polled, edited
// and removed. Those that stay where they are must come once each, and in order.
func (m *listMachine) walk(rt *rapid.T) {
	q := query(rt)
	q.Offset, q.Limit = 0, rapid.IntRange(2, 4).Draw(rt, "page")
	stay := m.ranks(rt, q)
	var walked []freshet.SourceID
	for more := true; more; {
		part, err := m.store.ListSources(m.Context(), q)
		if err != nil {
			rt.Fatal(err)
		}
		for _, w := range part.Sources {
			walked = append(walked, w.ID)
		}
		end := part.End
		q.After, more = &end, part.More
		rapid.SampledFrom([]func(*rapid.T){m.poll, m.poll, m.edit, m.remove, m.add}).Draw(rt, "meanwhile")(rt)
		now := m.ranks(rt, q)
		for id, rank := range stay {
			if now[id] != rank {
				delete(stay, id)
			}
		}
	}
	var want, got []freshet.SourceID
	for id := range stay {
		want = append(want, id)
	}
	slices.SortFunc(want, func(a, b freshet.SourceID) int { return q.Compare(stay[a], stay[b]) })
	for _, id := range walked {
		if _, ok := stay[id]; ok {
			got = append(got, id)
		}
	}
	if !slices.Equal(want, got) {
		rt.Fatalf("the pages of %+v have %v of those that did not move, want %v", q, got, want)
	}
}

// ranks returns where the sources of a list stand.
func (m *listMachine) ranks(rt *rapid.T, q freshet.SourceQuery) map[freshet.SourceID]freshet.SourceRank {
	q.After, q.Offset, q.Limit = nil, 0, 0
	all := m.store.Sources(m.Context())
	if q.Removed {
		all = m.store.RemovedSources(m.Context(), "")
	}
	list, err := q.List(all)
	if err != nil {
		rt.Fatal(err)
	}
	ranks := map[freshet.SourceID]freshet.SourceRank{}
	for _, w := range list.Sources {
		ranks[w.ID] = q.By.Rank(w)
	}
	return ranks
}

// ignoreEntries leaves entries of maps out whose counts are such.
func ignoreEntries(such func(int) bool) cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool {
		at, ok := p.Last().(cmp.MapIndex)
		if !ok {
			return false
		}
		x, y := at.Values()
		return (!x.IsValid() || such(int(x.Int()))) && (!y.IsValid() || such(int(y.Int())))
	}, cmp.Ignore())
}

// names returns a list in short.
func names(l freshet.SourceList) string {
	text := fmt.Sprintf("%d, more: %v:", l.Total, l.More)
	for _, w := range l.Sources {
		text += " " + string(w.ID)
	}
	return text
}
