package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A shown web shows what a test says, by the path of the URL.
type shown struct {
	mu     sync.Mutex
	bodies map[string]string
}

func (w *shown) show(path, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodies[path] = body
}

// Fetch implements [freshet.Fetcher].
func (w *shown) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
		return freshet.Response{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	path := strings.TrimPrefix(r.URL, "https://a.example/")
	return freshet.Response{Status: 200, URL: r.URL, Header: http.Header{}, MediaType: "text/html", Requests: 1, Body: []byte("<p>" + path + w.bodies[path])}, nil
}

// watchedPages returns sources of the pages of a.example.
func watchedPages(paths ...string) (sources []freshet.Source) {
	for _, p := range paths {
		sources = append(sources, freshet.Source{ID: freshet.SourceID(p), URL: "https://a.example/" + p})
	}
	return sources
}

// polled polls a source and returns which pages it spoke of, by their paths, in order.
func (b *bench) polled(t *testing.T, id freshet.SourceID) string {
	t.Helper()
	o, err := b.Poll(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	found, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: id, Newest: true, Limit: 1})
	if err != nil || len(found) != 1 || found[0].Cursor != o.Cursor {
		t.Fatalf("the log ends with %+v (%v), not with %+v", found, err, o)
	}
	if (found[0].Word == nil) != (o.Word == nil) {
		t.Errorf("the log has the word %+v, who asked heard %+v", found[0].Word, o.Word)
	}
	if o.Word == nil {
		return ""
	}
	names := map[crawl.PageKey]string{}
	for _, p := range []string{"hub", "a", "b", "c", "new"} {
		names[crawl.PageKeyOf("https://a.example/"+p)] = p
	}
	var said []string
	for _, p := range o.Word.Pages {
		said = append(said, names[p.Page])
	}
	return o.Word.Kind.String() + " " + strings.Join(said, " ")
}

func linkTo(pages ...string) (body string) {
	for _, p := range pages {
		body += fmt.Sprintf(` <a href="/%s">a link</a>`, p)
	}
	return body
}

var byHand = sched.Limits{Budget: sched.Budget{Polls: 100, Per: time.Second}}

// A page that links to watched pages speaks for them, and for no others: whoever it is.
func TestPageSpeaksForTheWatched(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &shown{bodies: map[string]string{}}
		run := func() *bench {
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: byHand, Policy: &idle{}}, watchedPages("hub", "a", "b", "c")...)
			time.Sleep(time.Second)
			return b
		}
		b := run()
		step := func(text string, links []string, want string) {
			t.Helper()
			w.show("hub", text+linkTo(links...))
			if got := b.polled(t, "hub"); got != want {
				t.Errorf("with %s and links to %v the hub says %q, want %q", text, links, got, want)
			}
		}
		step("one", []string{"a", "x", "hub"}, "")
		step("two", []string{"a", "x", "hub"}, "")
		step("three", []string{"a", "b", "y"}, "hub b")
		step("four", []string{"b"}, "")
		step("five", []string{"b", "new"}, "")
		if _, err := b.AddSource(t.Context(), freshet.Source{ID: "new", URL: "https://a.example/new"}); err != nil {
			t.Fatal(err)
		}
		step("six", []string{"b", "c", "a"}, "hub c a")
		step("seven", []string{"b", "new"}, "hub new")
		b.stop()
		b = run()
		step("eight", []string{"a"}, "hub a")
		b.stop()
	})
}

// A page without links to watched pages is looked at when its versions have become twice
// as many, and when it turns out to have some, it speaks from there on.
func TestPageIsLookedAtNowAndThen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &shown{bodies: map[string]string{}}
		b := begin(t, dir, daemon.Config{Fetcher: w, Limits: byHand, Policy: &idle{}}, watchedPages("hub", "a", "b", "c")...)
		defer b.stop()
		time.Sleep(time.Second)
		said := map[int]string{}
		for version := 1; version <= 11; version++ {
			var links []string
			switch {
			case version >= 11:
				links = []string{"a", "b", "c"}
			case version >= 9:
				links = []string{"a", "b"}
			case version >= 5: // which nobody looks at before the eighth
				links = []string{"a"}
			}
			w.show("hub", fmt.Sprint(version)+linkTo(links...))
			if word := b.polled(t, "hub"); word != "" {
				said[version] = word
			}
		}
		if len(said) != 2 || said[9] != "hub b" || said[11] != "hub c" {
			t.Errorf("the page says %v, want b at its ninth version and c at its eleventh", said)
		}
	})
}

// idle is a policy that wants no polls.
type idle struct{ policy.RoundRobin }

func (*idle) Choose(time.Time, int, func(freshet.Slot, float64) bool) (again time.Time) { return again }
