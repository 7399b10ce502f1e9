package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/queries"
	"freshet/internal/search"
	"freshet/internal/sinks"
	"freshet/internal/sites/frontier"
	"freshet/internal/store"
)

// An Open opens the store that place stands for, which is empty the first time
// and must be as it was left when it is opened again after a Close. The place
// is a directory of its own; a store that keeps its data elsewhere can take it
// for a name. The suite closes what it opens.
type Open func(t *testing.T, place string) Store

// A Store is a store under test, with its database for the features.
type Store interface {
	freshet.Store
	DB() *store.DB
	SourcesAfter(ctx context.Context, after freshet.SourceID) iter.Seq2[freshet.SourceWithStatus, error]
	CountOutcomes(ctx context.Context, after freshet.Cursor, since time.Time, length time.Duration) ([]freshet.OutcomeCount, freshet.Cursor, error)
	FirstChange(ctx context.Context, since time.Time) (freshet.Cursor, error)
	ChangesByDay(ctx context.Context, after, upto freshet.Cursor, since time.Time) ([]freshet.DayCount, error)
	Search(ctx context.Context, r search.Request) (search.Result, error)
	Index(ctx context.Context, most int) (waiting int, err error)
}

// The tables of the features.
type (
	users    = auth.Store
	outbox   = sinks.Store
	standing = queries.Store
	known    = frontier.Store
)

// Run holds a store to the behaviour that package freshet documents. If tests are named, such
// as "users/a name is taken once" or "model", it is held to these only.
func Run(t *testing.T, open Open, only ...string) {
	wanted := func(name string) bool { return len(only) == 0 || slices.Contains(only, name) }
	groups := []struct {
		name  string
		tests []test
	}{
		{"catalog", catalogTests},
		{"archive", archiveTests},
		{"attempts", attemptTests},
		{"log", logTests},
		{"evidence", evidenceTests},
		{"bodies", bodyTests},
		{"changes", changeTests},
		{"quiet", quietTests},
		{"numbers", numberTests},
		{"outbox", outboxTests},
		{"line", lineTests},
		{"batch", batchTests},
		{"account", accountTests},
		{"sinks", sinkTests},
		{"beliefs", beliefTests},
		{"queries", queryTests},
		{"search", searchTests},
		{"users", userTests},
		{"prune", pruneTests},
		{"shelf", shelfTests},
		{"pages", pageTests},
		{"announce", announceTests},
		{"answers", answerTests},
		{"together", togetherTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, tt := range g.tests {
				if !wanted(g.name + "/" + tt.name) {
					continue
				}
				t.Run(tt.name, func(t *testing.T) { tt.run(newBench(t, open)) })
			}
		})
	}
	for name, run := range map[string]func(*testing.T, Open){"model": runModel, "sites": runSiteModel, "lists": runLists, "no number twice": runNumbers} {
		if wanted(name) {
			t.Run(name, func(t *testing.T) { run(t, open) })
		}
	}
}

// A test is one behaviour, named by a sentence.
type test struct {
	name string
	run  func(*bench)
}

// noon is when the tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A bench is a store under test, with the steps that most tests take.
type bench struct {
	*testing.T
	Store
	*users
	*outbox
	*standing
	*known
	open  Open
	place string
}

func newBench(t *testing.T, open Open) *bench {
	b := &bench{T: t, open: open, place: t.TempDir()}
	b.use(open(t, b.place))
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return b
}

// reopen closes the store and opens it again.
func (b *bench) reopen() {
	b.Helper()
	if err := b.Close(); err != nil {
		b.Fatalf("closing the store: %v", err)
	}
	b.use(b.open(b.T, b.place))
}

// use has the bench work on a store.
func (b *bench) use(s Store) {
	b.Store, b.users, b.outbox, b.standing = s, auth.NewStore(s.DB()), sinks.NewStore(s.DB()), queries.NewStore(s.DB())
	b.known = frontier.NewStore(s.DB())
}

// add adds a source, with its ID in its URL.
func (b *bench) add(id freshet.SourceID) freshet.Source {
	b.Helper()
	return b.addSource(freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Created: noon})
}

func (b *bench) addSource(s freshet.Source) freshet.Source {
	b.Helper()
	added, err := b.AddSource(b.Context(), s)
	if err != nil {
		b.Fatalf("adding %s: %v", s.URL, err)
	}
	return added
}

// begin records that a poll is about to be made.
func (b *bench) begin(p freshet.Poll) error {
	_, err := b.Begin(b.Context(), p)
	return err
}

// watched returns a source with its standing.
func (b *bench) watched(id freshet.SourceID) freshet.SourceWithStatus {
	b.Helper()
	w, err := b.Source(b.Context(), id)
	if err != nil {
		b.Fatalf("source %s: %v", id, err)
	}
	return w
}

// saw returns the record of a poll at a moment that saw a text.
func saw(id freshet.SourceID, at time.Time, result freshet.Result, text string) freshet.Record {
	r := freshet.Record{Outcome: freshet.Outcome{
		Source: id, Began: at, Ended: at.Add(time.Second), Result: result, Status: http.StatusOK, Requests: 1, Bytes: int64(len(text)),
	}}
	if result.Captured() {
		r.Capture = &freshet.Capture{
			Recipe:  reading.Recipe{}.Key(),
			Text:    []byte(text),
			Hash:    freshet.HashOf([]byte(text)),
			Raw:     freshet.Raw{Status: http.StatusOK, URL: "https://" + string(id) + ".example/", Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<p>" + text)},
			Summary: "now " + text,
		}
	}
	return r
}

// failed returns the record of a poll at a moment that saw nothing.
func failed(id freshet.SourceID, at time.Time, class failure.Class) freshet.Record {
	return freshet.Record{Outcome: freshet.Outcome{
		Source: id, Began: at, Ended: at.Add(time.Second), Result: freshet.Failed, Requests: 1, Failure: class, Err: "it was " + string(class),
	}}
}

// commit records a poll.
func (b *bench) commit(r freshet.Record) (freshet.Outcome, freshet.Change) {
	b.Helper()
	o, c, err := b.Commit(b.Context(), r)
	if err != nil {
		b.Fatalf("committing a poll of %s: %v", r.Outcome.Source, err)
	}
	return o, c
}

// history captures n versions of a source, a minute apart, and returns the
// changes between them.
func (b *bench) history(id freshet.SourceID, n int) (changes []freshet.Change) {
	b.Helper()
	for i := range n {
		_, c := b.commit(saw(id, minute(i), freshet.Changed, fmt.Sprintf("state %d of %s", i+1, id)))
		if i > 0 {
			changes = append(changes, c)
		}
	}
	return changes
}

// minute returns a moment after noon.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

// same fails the test if got is not want.
func same[T any](b *bench, what string, got, want T) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s is not as it should be (-want +got):\n%s", what, diff)
	}
}

// is fails the test if err is not target.
func (b *bench) is(what string, err, target error) {
	b.Helper()
	if !errors.Is(err, target) {
		b.Errorf("%s gives %v, want %v", what, err, target)
	}
}

// ok stops the test on an error.
func (b *bench) ok(what string, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// text returns the text of a version.
func (b *bench) text(id freshet.SourceID, number int) string {
	b.Helper()
	text, err := b.Text(b.Context(), id, number)
	if err != nil {
		b.Fatalf("text of version %d of %s: %v", number, id, err)
	}
	return string(text)
}

// numbers returns the numbers of the versions of a source, the newest first.
func (b *bench) numbers(id freshet.SourceID) []int {
	b.Helper()
	versions, err := b.Versions(b.Context(), id, freshet.Between{}, 0, 1000)
	b.ok("versions", err)
	numbers := []int{}
	for _, v := range versions {
		numbers = append(numbers, v.Number)
	}
	return numbers
}
