package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/test/daemontest"
)

// A rig is a whole daemon with its API, and pages to watch.
type rig struct {
	*daemontest.Daemon
	close func()
}

// newRig starts a daemon that has nothing to do until it is asked.
func newRig() (*rig, error) {
	dir, err := os.MkdirTemp("", "freshet-client-")
	if err != nil {
		return nil, err
	}
	d, err := daemontest.New(dir, nil)
	if err != nil {
		return nil, err
	}
	stop := d.Start()
	return &rig{d, func() {
		_ = stop()
		d.Close()
		os.RemoveAll(dir)
	}}, nil
}

// put sets the text of the page that a source watches.
func (r *rig) put(id freshet.SourceID, text string) {
	r.Origin.Put("/"+string(id), "text/plain", text)
}

func rigged(t *testing.T) (*rig, *client.Client) {
	t.Helper()
	r, err := newRig()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r, client.New(r.API.URL+"/", http.DefaultClient.Do)
}

// must returns what a call answered, and ends the test if it failed.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// add watches a page, and polls it once for each text that it has in turn.
func (r *rig) add(t *testing.T, c *client.Client, id freshet.SourceID, texts ...string) client.Source {
	t.Helper()
	r.put(id, "one\n")
	s := must[client.Source](t)(c.Sources.Add(t.Context(), client.NewSource{ID: id, URL: r.Origin.URL + "/" + string(id)}))
	for _, text := range texts {
		r.put(id, text)
		must[client.PollAnswer](t)(c.Sources.Poll(t.Context(), id, 30*time.Second, false))
	}
	return s
}

func TestSources(t *testing.T) {
	r, c := rigged(t)
	ctx := t.Context()
	r.add(t, c, "b")
	added := must[client.Source](t)(c.Sources.Add(ctx, client.NewSource{
		ID: "a", URL: r.Origin.URL + "/a", Name: "The page", Tags: []string{"shop"}, Paused: true, MaxGap: client.Duration(26 * time.Hour),
	}))
	if added.Name != "The page" || !added.Paused || added.MaxGap != client.Duration(26*time.Hour) {
		t.Errorf("a source was added as %+v", added)
	}
	for _, tt := range []struct {
		query client.SourceQuery
		want  string
	}{
		{client.SourceQuery{}, "a b"},
		{client.SourceQuery{Tag: "shop"}, "a"},
		{client.SourceQuery{Text: "the PAGE"}, "a"},
		{client.SourceQuery{Tag: "shop", Text: "/b"}, ""},
	} {
		var ids []string
		for _, s := range must[[]client.Source](t)(c.Sources.List(ctx, tt.query)) {
			ids = append(ids, string(s.ID))
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%+v selects %q, want %q", tt.query, got, tt.want)
		}
	}
	name, paused := "", false
	edited := must[client.Source](t)(c.Sources.Edit(ctx, "a", client.Patch{"name": name, "paused": paused}, 0))
	if edited.Name != "" || edited.Paused || edited.MaxGap != added.MaxGap || len(edited.Tags) != 1 {
		t.Errorf("with name and pause taken away a source is %+v", edited)
	}
	if now := must[client.Source](t)(c.Sources.Get(ctx, "a")); added.Revision != 1 || edited.Revision != 2 || now.Revision != 2 {
		t.Errorf("the revisions are %d, %d and %d, want 1, 2 and 2", added.Revision, edited.Revision, now.Revision)
	}
	if _, err := c.Sources.Edit(ctx, "a", client.Patch{"name": name}, added.Revision); !errors.Is(err, freshet.ErrStale) || freshet.HintOf(err) == "" {
		t.Errorf("an edit of an old revision gives %v, with the hint %q", err, freshet.HintOf(err))
	}
	if s := must[client.Source](t)(c.Sources.Edit(ctx, "a", client.Patch{"name": name}, edited.Revision)); s.Revision != 3 {
		t.Errorf("an edit makes revision %d, want 3", s.Revision)
	}
	if err := c.Sources.Remove(ctx, "a", true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sources.Get(ctx, "a"); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("a removed source answers %v", err)
	}
}

// A list that is longer than a page is read to its end.
func TestSourcesOverPages(t *testing.T) {
	r, c := rigged(t)
	const n = 1003
	for i := range n {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%04d", i)), URL: fmt.Sprint("http://page.example/", i)}
		if _, err := r.Store.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	all := must[[]client.Source](t)(c.Sources.List(t.Context(), client.SourceQuery{}))
	if len(all) != n || all[n-1].ID != "s1002" {
		t.Errorf("of %d sources %d are listed, the last %q", n, len(all), all[len(all)-1].ID)
	}
}

func TestHistory(t *testing.T) {
	r, c := rigged(t)
	ctx := t.Context()
	r.add(t, c, "page", "one\n", "two\n", "three\n")
	versions := must[[]client.Version](t)(c.Sources.Versions(ctx, "page", freshet.Between{}, 0))
	if len(versions) != 3 || versions[0].Number != 3 {
		t.Fatalf("three versions are listed as %+v", versions)
	}
	if two := must[[]client.Version](t)(c.Sources.Versions(ctx, "page", freshet.Between{}, 2)); len(two) != 2 {
		t.Errorf("at most two versions are %d", len(two))
	}
	if v := must[client.Version](t)(c.Sources.Version(ctx, "page", 2)); !reflect.DeepEqual(v, versions[1]) {
		t.Errorf("version 2 is %+v, and listed as %+v", v, versions[1])
	}
	for number, want := range map[int]string{0: "three\n", 1: "one\n", 2: "two\n"} {
		if got := must[[]byte](t)(c.Sources.Text(ctx, "page", number)); string(got) != want {
			t.Errorf("the text of version %d is %q, want %q", number, got, want)
		}
		if got := must[[]byte](t)(c.Sources.Raw(ctx, "page", number)); string(got) != want {
			t.Errorf("the body of version %d is %q, want %q", number, got, want)
		}
	}
	d := must[client.Diff](t)(c.Sources.Diff(ctx, "page", 1, 3))
	if d.From.Number != 1 || d.To.Number != 3 || d.Added != 1 || d.Removed != 1 || len(d.Hunks) != 1 || d.Hunks[0].Lines[0].Text != "one" || d.Hunks[0].Lines[0].Op != "-" {
		t.Errorf("versions 1 and 3 differ by %+v", d)
	}
	if d := must[client.Diff](t)(c.Sources.Diff(ctx, "page", 0, 0)); d.From.Number != 2 || d.To.Number != 3 {
		t.Errorf("by itself versions %d and %d are compared", d.From.Number, d.To.Number)
	}
	if text := must[string](t)(c.Sources.FormattedDiff(ctx, "page", 1, 2, client.DiffUnified)); !strings.Contains(text, "-one\n+two\n") {
		t.Errorf("the unified diff is %q", text)
	}
	outcomes := must[client.OutcomePage](t)(c.Outcomes(ctx, client.OutcomeQuery{}))
	if len(outcomes.Items) != 3 || outcomes.Items[0].Result != "first" || outcomes.Items[2].Result != "changed" {
		t.Fatalf("three polls are told as %+v", outcomes.Items)
	}
	newest := must[client.OutcomePage](t)(c.Outcomes(ctx, client.OutcomeQuery{Newest: true, Limit: 1}))
	if len(newest.Items) != 1 || newest.Items[0].Cursor != outcomes.Items[2].Cursor {
		t.Errorf("the newest poll is told as %+v", newest.Items)
	}
	older := must[client.OutcomeHistory](t)(c.Sources.Outcomes(ctx, "page", outcomes.Items[2].Cursor, 1))
	if len(older.Items) != 1 || older.Items[0].Cursor != outcomes.Items[1].Cursor {
		t.Errorf("the poll before the newest is told as %+v", older.Items)
	}
}

func TestChangesAndStream(t *testing.T) {
	r, c := rigged(t)
	ctx := t.Context()
	r.add(t, c, "other", "x\n", "y\n")
	r.add(t, c, "page", "one\n", "two\n", "three\n")
	page := must[client.ChangesPage](t)(c.Changes(ctx, client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: "page"}}))
	if len(page.Items) != 2 || page.Items[0].Seq != 1 || page.Items[1].Number != 3 {
		t.Fatalf("two changes are told as %+v", page.Items)
	}
	rest := must[client.ChangesPage](t)(c.Changes(ctx, client.ChangeQuery{After: page.Items[0].Cursor, Limit: 1}))
	if len(rest.Items) != 1 || rest.Items[0].Cursor != page.Items[1].Cursor {
		t.Errorf("after the first change comes %+v", rest.Items)
	}

	// What waits is woken by a change.
	waited := make(chan client.ChangesPage, 1)
	go func() {
		page, err := c.Changes(ctx, client.ChangeQuery{After: page.Next, Wait: time.Minute})
		if err != nil {
			t.Error(err)
		}
		waited <- page
	}()
	following, stop := context.WithCancel(ctx)
	defer stop()
	streamed := make(chan client.Event)
	go func() {
		defer close(streamed)
		for e, err := range c.Stream(following, page.Items[0].Cursor, client.ChangeFilter{Source: "page"}) {
			if err != nil {
				t.Errorf("the stream broke: %v", err)
			}
			streamed <- e
		}
	}()
	if e := <-streamed; e.Data.Cursor != page.Items[1].Cursor || e.Type != client.EventType {
		t.Errorf("the stream begins with %+v", e)
	}
	r.put("page", "four\n")
	must[client.PollAnswer](t)(c.Sources.Poll(ctx, "page", 30*time.Second, false))
	if e := <-streamed; e.Data.Number != 4 {
		t.Errorf("the stream goes on with %+v", e)
	}
	if got := <-waited; len(got.Items) != 1 || got.Items[0].Number != 4 {
		t.Errorf("the wait ended with %+v", got.Items)
	}
	stop()
	if e, more := <-streamed; more {
		t.Errorf("a stream that was stopped goes on with %+v", e)
	}
}

// A stream that breaks off says so: the reader must know that it has missed
// something.
func TestStreamBreaks(t *testing.T) {
	r, c := rigged(t)
	r.add(t, c, "page", "one\n", "two\n")
	n := 0
	for e, err := range c.Stream(t.Context(), freshet.Place{}, client.ChangeFilter{}) {
		if n++; n == 1 {
			if err != nil || e.Data.Source != "page" {
				t.Fatalf("the stream begins with %+v, %v", e, err)
			}
			go r.API.CloseClientConnections()
			continue
		}
		if err == nil {
			t.Errorf("a broken stream yields %+v", e)
		}
	}
	if n != 2 {
		t.Errorf("a stream with one event and a break yields %d times", n)
	}
}

func TestProgram(t *testing.T) {
	r, c := rigged(t)
	ctx := t.Context()
	r.add(t, c, "page", "one\n")
	s := must[client.Status](t)(c.Status(ctx))
	for s.Polls == 0 { // who asked for a poll hears of it before it is counted
		s = must[client.Status](t)(c.Status(ctx))
	}
	if !s.Running || s.Sources != 1 || s.Polls != 1 || s.Version != "test" {
		t.Errorf("the status is %+v", s)
	}
	if w := must[client.Why](t)(c.Sources.Why(ctx, "page")); w.ID != "page" || w.Sentence == "" {
		t.Errorf("a source is explained as %+v", w)
	}
	b := must[client.Budget](t)(c.Budget(ctx, client.BudgetQuery{Share: "90%", Delay: time.Minute, Drop: []string{"page", "tag:x"}, Eaters: 1, Points: 3, Span: 4}))
	if b.Sources != 1 || len(b.Curve) != 3 || b.Goal == nil || b.Drop == nil || len(b.Eaters) != 1 {
		t.Errorf("the budget is %+v", b)
	}
	if got, want := b.Curve[2].PollsPerDay/b.Curve[0].PollsPerDay, 16.0; got < want*0.999 || got > want*1.001 {
		t.Errorf("a curve that reaches 4 times both ways spans %v times, want %v", got, want)
	}
}

// What the API refuses can be told apart, and names what is wrong.
func TestProblems(t *testing.T) {
	r, c := rigged(t)
	ctx := t.Context()
	first := r.add(t, c, "page")
	refused := func(err error) *client.Problem {
		t.Helper()
		p, ok := errors.AsType[*client.Problem](err)
		if !ok {
			t.Fatalf("the error is %v, which is no problem", err)
		}
		return p
	}

	_, err := c.Sources.Add(ctx, client.NewSource{URL: first.URL})
	if p := refused(err); !errors.Is(err, freshet.ErrConflict) || p.Existing != "page" || p.Status != 409 {
		t.Errorf("the same source again is refused with %+v", p)
	}
	_, err = c.Sources.Version(ctx, "page", 7)
	if p := refused(err); !errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrConflict) || p.Status != 404 {
		t.Errorf("a missing version is refused with %+v", p)
	}
	_, err = c.Sources.Edit(ctx, "page", client.Patch{"tags": []string{"good", "not good"}}, 0)
	if p := refused(err); p.Status != 422 || !strings.HasPrefix(err.Error(), "tags[1]: ") {
		t.Errorf("a wrong tag is refused with %q, %+v", err, p)
	}
	_, err = c.Numbers(ctx, client.NumbersQuery{By: "colour"})
	if refused(err); !strings.HasPrefix(err.Error(), "by: ") {
		t.Errorf("a wrong parameter is refused with %q", err)
	}
	if err := c.Reload(ctx); refused(err).Status != 501 {
		t.Errorf("a reload without a file answers %v", err)
	}
}

// What is no Freshet is told apart from a refusal.
func TestOtherServers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/status") {
			fmt.Fprint(w, "<html>hello</html>")
			return
		}
		http.Error(w, "go away", http.StatusTeapot)
	}))
	defer other.Close()
	c := client.New(other.URL, http.DefaultClient.Do)
	_, err := c.Sources.Get(t.Context(), "page")
	if p, ok := errors.AsType[*client.Problem](err); !ok || p.Status != http.StatusTeapot || !strings.Contains(err.Error(), "418") {
		t.Errorf("another server's error is told as %v", err)
	}
	if _, err := c.Status(t.Context()); err == nil || freshet.HintOf(err) == "" {
		t.Errorf("another server's page is told as %v, without a hint", err)
	}
	other.Close()
	_, err = c.Status(t.Context())
	if _, refused := errors.AsType[*client.Problem](err); refused || err == nil || strings.Count(err.Error(), other.URL) != 1 {
		t.Errorf("a server that is gone is told as %v", err)
	}
}

// A handler of this process answers as the same one does over the network.
func TestInProcess(t *testing.T) {
	r, c := rigged(t)
	r.add(t, c, "page", "one\n", "two\n")
	here := client.New("http://localhost", client.InProcess(r.Handler))
	if near, far := must[client.Source](t)(here.Sources.Get(t.Context(), "page")), must[client.Source](t)(c.Sources.Get(t.Context(), "page")); near.URL != far.URL || !reflect.DeepEqual(near.Standing, far.Standing) {
		t.Errorf("in process a source is %+v, over the network %+v", near, far)
	}
	paused := true
	if s := must[client.Source](t)(here.Sources.Edit(t.Context(), "page", client.Patch{"paused": paused}, 0)); !s.Paused {
		t.Errorf("an edit in process leaves %+v", s)
	}
	if _, err := here.Sources.Get(t.Context(), "nothing"); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("in process a missing source answers %v", err)
	}
}
