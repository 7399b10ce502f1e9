package worker_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// An owner is a fetcher whose answers are for one source alone.
type owner struct{ freshet.Fetcher }

// Fetch says that the answer is the source's own.
func (o owner) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	resp, err := o.Fetcher.Fetch(ctx, r)
	resp.Own = true
	return resp, err
}

// part returns a task for a part of the page, by what an earlier look found of it.
func (s *site) part(css string, found *worker.Result) worker.Task {
	o := s.order(found)
	o.Source.ID, o.Source.Recipe.CSS = freshet.SourceID(css), css
	return o
}

// From one response several sources are read, each against what it has seen itself.
func TestLookAlong(t *testing.T) {
	const one, two = "<i>a</i><b>b</b><u>c</u>", "<i>a</i><b>B</b><u>c</u>"
	s := newSite(t, says(one, "Etag", `"1"`))
	whole := s.order(nil)
	whole.Shared = []worker.Task{s.part("i", nil), s.part("b", nil), s.part(".none", nil)}
	first := s.look(t, whole)
	if n := len(s.requests); n != 1 || first.Requests != 1 || len(first.Shared) != 3 {
		t.Fatalf("%d requests were made, %d are told of, and %d were read from a shared fetch, want 1, 1 and 3", n, first.Requests, len(first.Shared))
	}
	for i, want := range []string{"a\n", "b\n"} {
		f := first.Shared[i]
		if f.Result != freshet.First || string(f.Capture.Text) != want || f.Requests != 0 || f.Bytes != 0 || f.Took != first.Took || f.Validators.ETag != `"1"` {
			t.Errorf("part %d is found as %+v", i, f)
		}
	}
	if f := first.Shared[2]; f.Result != freshet.Failed || !f.Failure.Is(failure.Extract) {
		t.Errorf("a part that is not there is found as %s %s", f.Result, f.Failure)
	}

	i, b := s.part("i", &first.Shared[0]), s.part("b", &first.Shared[1])
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		along  []worker.Task
		asks   string
		want   []freshet.Result // of all, the first first; only that if it says nothing of the others
	}{
		{"as all have seen it", refuses(304, "Etag", `"1"`), []worker.Task{i, b}, `"1"`, []freshet.Result{freshet.Unchanged, freshet.Unchanged, freshet.Unchanged}},
		{"changed in part", says(two), []worker.Task{i, b}, `"1"`, []freshet.Result{freshet.Changed, freshet.Unchanged, freshet.Changed}},
		{"never seen by one", says(one), []worker.Task{i, s.part("u", nil)}, "", []freshet.Result{freshet.Unchanged, freshet.Unchanged, freshet.First}},
		{"seen otherwise by one", says(two), []worker.Task{amended(i, func(o *worker.Task) { o.Head.Validators.ETag = `"0"` })}, "", []freshet.Result{freshet.Changed, freshet.Unchanged}},
		{"long trusted by one", says(one), []worker.Task{amended(i, func(o *worker.Task) { o.Head.Asked = noon.Add(-24 * time.Hour) })}, "", []freshet.Result{freshet.Unchanged, freshet.Unchanged}},
		{"moved, as the first knows", says(one), []worker.Task{amended(i, func(o *worker.Task) { o.Head.Moved = freshet.Moved{URL: s.URL + "/old", At: noon} })}, `"1"`, []freshet.Result{freshet.Unchanged, freshet.Unchanged}},
		{"gone", refuses(404), []worker.Task{i, b}, `"1"`, []freshet.Result{freshet.Failed, freshet.Failed, freshet.Failed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.answer, s.requests = tt.answer, nil
			o := s.order(&first)
			o.Shared = tt.along
			f := s.look(t, o)
			if n := len(s.requests); n != 1 || s.requests[0].Header.Get("If-None-Match") != tt.asks {
				t.Fatalf("%d requests were made, the first by %q, want one by %q", n, s.requests[0].Header.Get("If-None-Match"), tt.asks)
			}
			got := []freshet.Result{f.Result}
			for _, a := range f.Shared {
				got = append(got, a.Result)
				if a.Moved != f.Moved {
					t.Errorf("it has moved to %+v for one and to %+v for the other", a.Moved, f.Moved)
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("the results are %v, want %v", got, tt.want)
			}
			for i := range got {
				if got[i] != tt.want[i] {
					t.Errorf("the results are %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func amended(o worker.Task, amend func(*worker.Task)) worker.Task {
	amend(&o)
	return o
}

// What says nothing of the document says nothing of the others that watch it.
func TestLookSaysNothingOfOthers(t *testing.T) {
	s := newSite(t, says("<p>one"))
	deferred := &freshet.FetchError{Class: failure.DeferredHost, Err: errors.New("not now")}
	for name, amend := range map[string]func(*worker.Task){
		"deferred": func(o *worker.Task) { o.Permit = func(context.Context, freshet.Hop) error { return deferred } },
		"out of room": func(o *worker.Task) {
			o.Room = func(context.Context, int64) error {
				return &freshet.FetchError{Class: failure.LocalMemory, Err: errors.New("full")}
			}
		},
		"another jar": nil,
	} {
		o := s.order(nil)
		o.Shared = []worker.Task{s.part("p", nil)}
		var f worker.Result
		if amend != nil {
			amend(&o)
			f = s.look(t, o)
		} else {
			f = worker.New(owner{fetcher()}, nil).Look(t.Context(), o)
		}
		if len(f.Shared) != 0 || (f.Result == freshet.Failed) != (amend != nil) {
			t.Errorf("%s: a look that is %s %s brings %d results of others", name, f.Result, f.Failure, len(f.Shared))
		}
	}
}

// Where several are captured from one response, there has to be room for all of them.
func TestRoomAlong(t *testing.T) {
	s := newSite(t, says("<i>a</i><b>b</b>"))
	o := s.order(nil)
	var held []int64
	o.Room = func(_ context.Context, size int64) error {
		if held = append(held, size); len(held) > 3 {
			return &freshet.FetchError{Class: failure.LocalMemory, Err: errors.New("full")}
		}
		return nil
	}
	o.Shared = []worker.Task{s.part("i", nil), s.part("b", nil)}
	f := s.look(t, o)
	if n := len(held); n != 4 || held[2] != 2*held[1] || held[3] != 3*held[1] {
		t.Errorf("room was held for %v bytes, want for the body, once for what is read, then twice and three times as much", held)
	}
	if f.Result != freshet.First || f.Shared[0].Result != freshet.First || f.Shared[1].Failure != failure.LocalMemory {
		t.Errorf("the results are %s, %s and %s, want only the last without room", f.Result, f.Shared[0].Result, f.Shared[1].Failure)
	}
}
