package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/sites/frontier"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
)

// known returns all that a store knows of its sources.
func known(t testing.TB, s *postgres.Store) string {
	t.Helper()
	ctx := context.Background()
	var b strings.Builder
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, removed := range []bool{false, true} {
		for _, by := range []freshet.SourceOrder{freshet.ByID, freshet.ByChanged, freshet.ByPolls} {
			list, err := s.ListSources(ctx, freshet.SourceQuery{SourceFilter: freshet.SourceFilter{Removed: removed}, By: by})
			must(err)
			for _, w := range list.Sources {
				fmt.Fprintf(&b, "%s ", w.ID)
			}
			fmt.Fprintln(&b, list.Total, list.More)
		}
		all := s.Sources(ctx)
		if removed {
			all = s.RemovedSources(ctx, "")
		}
		for w, err := range all {
			must(err)
			head, err := s.Head(ctx, w.ID)
			if err != nil && !errors.Is(err, freshet.ErrNotFound) {
				must(err)
			}
			head.Sums, head.Asked = freshet.Sums{}, time.Time{} // which only who writes knows
			fmt.Fprintf(&b, "%s %s %d %s\n%+v\n%+v\n", w.ID, w.URL, w.Revision, w.Definition(), w.Status, head)
			if w.Site != nil && !removed {
				n, err := frontier.NewStore(s.DB()).CountPages(ctx, w.ID)
				must(err)
				fmt.Fprintf(&b, "%+v\n", n)
			}
		}
	}
	counts, err := s.CountSources(ctx)
	must(err)
	outcome, err := s.LastOutcome(ctx)
	must(err)
	change, err := s.LastChange(ctx)
	must(err)
	fmt.Fprintf(&b, "%+v %d %d\n", counts, outcome, change)
	return b.String()
}

// same wants two stores to know the same.
func same(t testing.TB, what string, got, want *postgres.Store) {
	t.Helper()
	is, should := strings.Split(known(t, got), "\n"), strings.Split(known(t, want), "\n")
	for i := range max(len(is), len(should)) {
		if i >= len(is) || i >= len(should) || is[i] != should[i] {
			t.Fatalf("%s, line %d:\n%v\nwant\n%v", what, i, is[i:min(i+1, len(is))], should[i:min(i+1, len(should))])
		}
	}
}

// An editor makes random edits and polls.
type editor struct {
	*testing.T
	store *postgres.Store
	at    string // where it is
	r     *rand.Rand
	now   time.Time
}

func (e *editor) any() freshet.SourceID {
	return freshet.SourceID(fmt.Sprintf("s%d", e.r.IntN(8)))
}

// step makes one. What cannot be done at the moment is not.
func (e *editor) step() {
	ctx, id := e.Context(), e.any()
	e.now = e.now.Add(time.Duration(1+e.r.IntN(100)) * time.Second)
	var err error
	switch e.r.IntN(12) {
	case 0, 1:
		_, err = e.store.AddSource(ctx, freshet.Source{ID: id, URL: fmt.Sprintf("https://%s.example/", id), Tags: []string{"x"}})
	case 2:
		err = e.store.UpdateSource(ctx, freshet.Source{ID: id, URL: fmt.Sprintf("https://%s.example/%d", id, e.r.IntN(2)), Paused: e.r.IntN(2) == 0, Name: "N"})
	case 3:
		err = e.store.RemoveSource(ctx, id, e.r.IntN(2) == 0)
	case 4:
		_, err = e.store.Begin(ctx, freshet.Poll{Source: freshet.Source{ID: id}, At: e.now})
	case 5:
		_, err = e.store.Prune(ctx, e.now, freshet.Keep{Versions: 2}, time.Hour)
	case 6:
		err = e.site(ctx)
	case 7:
		for w, failed := range e.store.Sources(ctx) {
			if err = failed; err == nil && w.Status.Held.Number > 0 {
				_, err = e.store.Confirm(ctx, w.ID, w.Status.Held.Number)
			}
		}
	default:
		err = e.poll(ctx, id)
	}
	if err != nil && !errors.Is(err, freshet.ErrNotFound) && !errors.Is(err, freshet.ErrConflict) {
		e.Fatal(err)
	}
}

// site makes a site, edits it, or takes pages of it.
func (e *editor) site(ctx context.Context) error {
	const id = "site"
	site := freshet.Source{ID: id, URL: "https://site.example/", Site: &crawl.Settings{}, Tags: []string{fmt.Sprint(e.r.IntN(3))}}
	if _, err := e.store.AddSource(ctx, site); err == nil || !errors.Is(err, freshet.ErrConflict) {
		return err
	}
	switch e.r.IntN(4) {
	case 0:
		return e.store.UpdateSource(ctx, site)
	case 1:
		_, err := frontier.NewStore(e.store.DB()).PromotePages(ctx, id, 1)
		return err
	}
	_, _, err := frontier.NewStore(e.store.DB()).AddPages(ctx, id, []frontier.Page{{URL: fmt.Sprintf("https://site.example/%d", e.r.IntN(20)), Found: crawl.ByLink, Depth: 1}})
	return err
}

// poll makes a poll that ends in some way.
func (e *editor) poll(ctx context.Context, id freshet.SourceID) error {
	if e.r.IntN(2) == 0 {
		if _, err := e.store.Begin(ctx, freshet.Poll{Source: freshet.Source{ID: id}, At: e.now}); err != nil {
			return err
		}
	}
	text := []byte(fmt.Sprint("text ", e.r.IntN(4)))
	r := freshet.Record{
		Outcome:    freshet.Outcome{Source: id, Began: e.now, Ended: e.now.Add(time.Second), Status: 200, Requests: 1 + e.r.IntN(2), Result: freshet.Unchanged},
		Validators: freshet.Validators{ETag: fmt.Sprint(e.r.IntN(2))},
	}
	switch e.r.IntN(6) {
	case 4, 5:
		r.Outcome.Status = 304
	case 0:
		r.Outcome.Result, r.Outcome.Failure, r.Outcome.Err = freshet.Failed, failure.Timeout, "no answer"
		r.Outcome.NotBefore = e.now.Add(time.Duration(e.r.IntN(2)) * time.Minute)
	case 1:
		r.Outcome.Result = freshet.Changed
	case 2:
		r.Outcome.Result, r.Outcome.Suspect = freshet.Doubted, suspect.Shrunk
	}
	if r.Outcome.Result == freshet.Changed || r.Outcome.Result == freshet.Doubted {
		r.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Title: string(text), Raw: freshet.Raw{Body: text, Status: 200}}
	}
	if r.Outcome.Result == freshet.Doubted {
		r.Capture.Quiet = freshet.QuietSuspect
	}
	_, _, err := e.store.Commit(ctx, r)
	return err
}

// settle polls one source until all that is known of the others has been written down, and wants it to
// be read as it is known.
func (e *editor) settle() {
	const id = "one"
	if _, err := e.store.AddSource(e.Context(), freshet.Source{ID: id, URL: "https://one.example/"}); err != nil && !errors.Is(err, freshet.ErrConflict) {
		e.Fatal(err)
	}
	for range 10 {
		e.now = e.now.Add(time.Minute)
		if err := e.poll(e.Context(), id); err != nil {
			e.Fatal(err)
		}
	}
	read := open(e.T, postgres.Config{URL: e.at, ReadOnly: true})
	same(e.T, "what was written down", read, e.store)
	if err := read.Close(); err != nil {
		e.Fatal(err)
	}
}

// Whoever follows what another process writes knows what one who reads everything does, and can go on
// in its place.
func TestFollowsAndTakesOver(t *testing.T) {
	shed := newShed(t)
	name := shed.Database(t)
	at, conn := shed.URL(name), shed.Connect(t, name)
	writing := func(from func() *postgres.Store) postgres.Config {
		return postgres.Config{Features: features.All(), URL: at, FlushEvery: 7, Partition: 100, From: from}
	}
	e := editor{T: t, store: open(t, writing(nil)), at: at, r: rand.New(rand.NewPCG(1, 2)), now: noon}
	for term := range 4 {
		follower := open(t, postgres.Config{URL: at, ReadOnly: true})
		for i := range 40 {
			e.step()
			if e.r.IntN(5) == 0 { // sometimes there is more to follow, and sometimes less
				same(t, fmt.Sprintf("term %d, step %d", term, i), follower, e.store)
			}
		}
		before := e.store
		if term%2 == 0 {
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
		} else if _, err := conn.Exec(t.Context(), "UPDATE leases SET renewed = '-infinity'"); err != nil {
			t.Fatal(err)
		}
		e.store = open(t, writing(func() *postgres.Store { return follower }))
		if term%2 == 1 {
			_ = before.Close() // as after a crash, it can write nothing more
		}
		anew := open(t, postgres.Config{URL: at, ReadOnly: true})
		same(t, "whoever took over", e.store, anew)
		same(t, "whoever was asked after that", follower, anew)
		for _, s := range []*postgres.Store{anew, follower} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		e.settle()
	}
	report, err := e.store.Verify(t.Context(), func(store.Progress) {})
	if err != nil || len(report.Damages) > 0 {
		t.Errorf("in the end there is %+v: %v", report.Damages, err)
	}
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
}
