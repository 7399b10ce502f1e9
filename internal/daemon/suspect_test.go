package daemon_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/sched"
)

// A member is a page that sends who asks for it to log in, if it does.
type member struct{ loggedOut atomic.Bool }

// Fetch implements [freshet.Fetcher].
func (m *member) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
		return freshet.Response{}, err
	}
	resp := freshet.Response{Status: 200, URL: r.URL, Header: http.Header{}, MediaType: "text/html", Requests: 1, Body: []byte("<p>what members read")}
	if m.loggedOut.Load() {
		resp.URL, resp.Body = "https://s0.example/login", []byte("<p>who are you?")
	}
	return resp, nil
}

// A page that redirects to a login is stored as suspect and not told, logged once, and
// in the clear again when it is seen as before. All of that survives a restart.
func TestSuspectSource(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w, log := &member{}, &bytes.Buffer{}
		run := func() *bench {
			return begin(t, dir, daemon.Config{
				Fetcher: w, Log: slog.New(slog.NewTextHandler(log, nil)), Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}},
			}, numbered(1, "https://s%d.example/member")...)
		}
		check := func(b *bench, what string, want suspect.Class, landed string, logged, cleared int) {
			t.Helper()
			synctest.Wait() // for a poll of this very moment
			s, err := b.store.Source(t.Context(), "s0")
			if err != nil || s.Status.Suspect != want || s.Status.Landed != landed {
				t.Errorf("%s the source is suspect by %q, landed on %q (%v); want %q and %q", what, s.Status.Suspect, s.Status.Landed, err, want, landed)
			}
			if n, m := strings.Count(log.String(), "the source is suspect"), strings.Count(log.String(), "no longer suspect"); n != logged || m != cleared {
				t.Errorf("%s it was logged as suspect %d times and as clear %d times, want %d and %d:\n%s", what, n, m, logged, cleared, log)
			}
		}
		b := run()
		time.Sleep(5 * time.Minute)
		check(b, "at first", "", "", 0, 0)
		w.loggedOut.Store(true)
		time.Sleep(5 * time.Minute)
		check(b, "logged out,", suspect.Login, "https://s0.example/login", 1, 0)
		b.stop()
		b = run()
		time.Sleep(5 * time.Minute)
		check(b, "after a restart", suspect.Login, "https://s0.example/login", 1, 0)
		w.loggedOut.Store(false)
		time.Sleep(5 * time.Minute)
		check(b, "logged in again,", "", "", 1, 1)
		changes, err := b.store.Changes(t.Context(), freshet.ChangeQuery{})
		if err != nil || len(changes) != 0 {
			t.Errorf("the changes are %+v (%v), want none", changes, err)
		}
		versions, err := b.store.Versions(t.Context(), "s0", freshet.Between{}, 0, 0)
		if err != nil || len(versions) != 2 || versions[0].Quiet != freshet.QuietSuspect {
			t.Errorf("the versions are %+v (%v), want the second to be held", versions, err)
		}
		b.stop()
	})
}

// A shrinking page is one whose text goes away for good.
type shrinking struct{ short atomic.Bool }

// Fetch implements [freshet.Fetcher].
func (s *shrinking) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
		return freshet.Response{}, err
	}
	text := strings.Repeat("<p>a line of the page", 200)
	if s.short.Load() {
		text = "<p>closed for good"
	}
	return freshet.Response{Status: 200, URL: r.URL, Header: http.Header{}, MediaType: "text/html", Requests: 1, Body: []byte(text)}, nil
}

// A page that shrank for good is told once, at the second look, also if the daemon was
// restarted between the two; and it happened by the first.
func TestShrunkPageIsToldAfterASecondLook(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &shrinking{}
		run := func() *bench {
			return begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}}}, numbered(1, "https://s%d.example/page")...)
		}
		b := run()
		time.Sleep(5 * time.Minute)
		w.short.Store(true)
		for held := false; !held; time.Sleep(time.Second) {
			s, err := b.store.Source(t.Context(), "s0")
			if err != nil {
				t.Fatal(err)
			}
			held = s.Status.Held.Number == 2
		}
		if changes, err := b.store.Changes(t.Context(), freshet.ChangeQuery{}); err != nil || len(changes) != 0 {
			t.Errorf("after the first look the changes are %+v (%v)", changes, err)
		}
		b.stop()
		b = run()
		defer b.stop()
		time.Sleep(10 * time.Minute)
		changes, err := b.store.Changes(t.Context(), freshet.ChangeQuery{})
		if err != nil || len(changes) != 1 || changes[0].Number != 2 || changes[0].Suspect != "" {
			t.Fatalf("after the second look the changes are %+v (%v), want one", changes, err)
		}
		v, err := b.store.Version(t.Context(), "s0", 2)
		if err != nil || v.Quiet != "" || !v.SeenAt.Equal(changes[0].Before) {
			t.Errorf("the version is %+v (%v), and the change happened by %v", v, err, changes[0].Before)
		}
	})
}
