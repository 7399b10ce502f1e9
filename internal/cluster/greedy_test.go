package cluster_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// leaves returns a question for a permit.
func leaves(part bool) map[string]any {
	return map[string]any{"what": "leave", "hop": map[string]any{"URL": "http://bank.example/", "Part": part}}
}

// order returns the next task.
func (r raw) order(t *testing.T) cluster.Head {
	t.Helper()
	for {
		f, err := r.hear()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind == "order" {
			return f
		}
	}
}

// fail ends a task with a failure.
func (r raw) fail(id uint64) {
	r.done(id, worker.Result{Result: freshet.Failed, Failure: failure.Timeout, Listed: -1})
}

// A worker that requests permits without end gets no more than the longest poll needs, and its
// questions are answered one after another.
func TestAWorkerThatAsksTooMuch(t *testing.T) {
	for name, row := range map[string]struct {
		part, renders bool
		want          int64 // leaves that were given
	}{
		"the page":                          {want: 11}, // the first, five redirects, and each of those once more
		"parts of a page that is not shown": {part: true, want: 1},
		"parts":                             {part: true, renders: true, want: 201},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			r := g.raw()
			r.say("hello", 0, map[string]any{"version": cluster.Version, "name": "greedy", "slots": 4, "renders": true})
			r.say("ping", 0, map[string]any{"at": 1})
			kit.Until(g, "it has come", func() bool { return g.has("greedy") })
			var given, under, most atomic.Int64
			asked := make(chan struct{})
			o := g.task("/")
			o.Source.Recipe.Render.On = row.renders
			o.Permit = func(_ context.Context, hop freshet.Hop) error {
				if n := under.Add(1); n > 1 && !hop.Part {
					most.Store(n)
				}
				if given.Load() > 0 { // the first is asked for before the task leaves
					<-asked
					for range 100 { // let in whoever would come in beside it
						runtime.Gosched()
					}
				}
				under.Add(-1)
				given.Add(1)
				return nil
			}
			looked := make(chan worker.Result, 1)
			go func() { looked <- g.pool.Look(t.Context(), o) }()
			f := r.order(t)
			const asks = 300
			go func() {
				for range asks {
					r.say("ask", f.ID, leaves(row.part))
				}
				r.say("ping", 0, map[string]any{"at": 2}) // it is answered when the leader has heard all
			}()
			for n := 0; n < asks; {
				f, err := r.hear()
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case f.Kind == "answer":
					n++
				case f.Kind == "pong" && strings.Contains(string(f.Say), `"at":2`):
					close(asked)
				}
			}
			r.fail(f.ID)
			if found := <-looked; !strings.HasSuffix(string(found.Failure), string(failure.Timeout)) {
				t.Errorf("the look ends with %s: %s", found.Failure, found.Err)
			}
			if given.Load() != row.want || most.Load() > 0 {
				t.Errorf("leave was given %d times, want %d; %d at once", given.Load(), row.want, most.Load())
			}
		})
	}
}

// A worker that asks too many questions at once is disconnected.
func TestAWorkerThatFloods(t *testing.T) {
	g := newRig(t)
	r := g.raw()
	r.enter("flood")
	kit.Until(g, "it has come", func() bool { return g.has("flood") })
	o := g.task("/")
	first := true
	o.Permit = func(ctx context.Context, _ freshet.Hop) error {
		if first {
			first = false
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go g.pool.Look(ctx, o)
	id := r.order(t).ID
	go func() {
		for r.say("ask", id, leaves(false)) == nil {
		}
	}()
	kit.Until(g, "it was sent away", func() bool { return !g.has("flood") })
}
