//go:build unix

package torture

import (
	"context"
	"time"

	"freshet/client"
	"freshet/internal/features"
	"freshet/internal/store/sqlite"
)

// settlePatience is how long the last daemon may take to tell all that is left.
const settlePatience = 90 * time.Second

// settle starts the daemon once more, with next to nothing to spend, so that the
// log grows no further. No delivery was refused twice, so all are soon due. When
// all is told it looks at the whole.
func (e *episode) settle(ctx context.Context) {
	e.last = "settling"
	if e.now != nil {
		e.term()
	}
	for _, r := range e.receivers {
		r.feel(fine)
	}
	e.editor.mu.Lock()
	e.editor.done = true
	e.editor.mu.Unlock()
	if !e.up(ctx, start{inside: true, env: []string{"FRESHET_BUDGET=1/d"}}) {
		return
	}
	e.await(ctx)
	e.check(ctx)
	e.checkDelivered(ctx)
	if ctx.Err() != nil || e.now.over() {
		return
	}
	e.term()
	e.autopsy(ctx)
}

// await waits until the log is told to the end.
func (e *episode) await(ctx context.Context) {
	for end := time.Now().Add(settlePatience); ctx.Err() == nil; e.dwell(ctx, 50*time.Millisecond) {
		s, err := e.now.api.Status(ctx)
		if err != nil {
			e.unanswered(ctx, "status", err)
			return
		}
		if e.allTold(s) {
			return
		}
		if time.Now().After(end) {
			reached, _ := e.follower.place()
			e.violate("deliveries", "not all was told within %v: the log ends at %v, the stream has reached %v, the webhooks stand at %+v", settlePatience, s.LastChange, reached, s.Sinks)
			return
		}
	}
}

// allTold reports whether webhooks and the stream are at the end of the log.
func (e *episode) allTold(s client.Status) bool {
	for _, sink := range s.Sinks {
		if sink.Name == "leaver" {
			continue // it may be gone
		}
		if sink.Place.Cursor < s.LastChange.Cursor || sink.Open > 0 {
			return false
		}
	}
	reached, _ := e.follower.place()
	return s.UnderWay == 0 && reached.Cursor >= s.LastChange.Cursor
}

// checkDelivered wants every change of the log to have been accepted by each
// receiver that stayed.
func (e *episode) checkDelivered(ctx context.Context) {
	changes, err := e.log(ctx)
	if err != nil {
		e.unanswered(ctx, "read the change log", err)
		return
	}
	for _, r := range e.receivers {
		if r.name == "leaver" {
			continue
		}
		accepted := r.took()
		for _, c := range changes {
			e.report.checked("deliveries", 1)
			if !accepted[toldOf(c)] {
				e.violate("deliveries", "%s never accepted change %d of %s at cursor %v", r.name, c.Seq, c.Source, c.Cursor)
			}
		}
	}
}

// autopsy opens the store that the daemon left behind: it is whole, and what was
// learnt is what the log teaches.
func (e *episode) autopsy(ctx context.Context) {
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: e.settings.data, Features: features.All()})
	if err != nil {
		e.violate("store", "it cannot be opened: %v", err)
		return
	}
	defer store.Close()
	e.report.checked("store", 1)
	if err := store.Check(ctx); err != nil {
		e.violate("store", "it is not whole: %v", err)
	}
	if e.still && !e.rebudgeted { // what is learnt depends on the budget of the start
		e.checkLearnt(ctx, store)
	}
}
