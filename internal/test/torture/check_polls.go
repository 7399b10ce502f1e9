//go:build unix

package torture

import (
	"context"
	"fmt"
	"slices"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
)

// lateness is how long a change may go unseen of a source that is to be polled
// every two seconds: those, and a moment for hosts, budget and a busy machine.
const lateness = 4500 * time.Millisecond

// checkFresh wants every change of a page that is to be polled often to have
// been captured, when the daemon was left alone for long enough. On a machine that
// is busy it is left alone once more before it is judged.
func (e *episode) checkFresh(ctx context.Context) {
	if stale := e.stale(ctx, lateness); len(stale) == 0 {
		return
	}
	e.dwell(ctx, calm)
	for _, words := range e.stale(ctx, lateness+calm) {
		e.violate("detection", "%s", words)
	}
}

// stale tells of pages that are to be polled often, and of which a change has not
// been captured for so long.
func (e *episode) stale(ctx context.Context, late time.Duration) (words []string) {
	if e.now.over() || e.settings.budget.Polls < plenty {
		return nil
	}
	sources, err := e.now.api.Sources.List(ctx, client.SourceQuery{})
	if err != nil {
		e.unanswered(ctx, "list sources", err)
		return nil
	}
	for _, s := range sources {
		at := slices.IndexFunc(e.settings.sources, func(spot spot) bool { return spot.id == s.ID && spot.maxGap > 0 })
		if at < 0 || s.Standing.Failures > 0 {
			continue // it may be left alone for a while after a poll that we broke
		}
		page := e.settings.sources[at].pages[0]
		due := e.web.pages.VersionAt(page, time.Now().Add(-late))
		raw, err := e.now.api.Sources.Raw(ctx, s.ID, 0)
		if err != nil {
			words = append(words, fmt.Sprintf("nothing was captured of %s: %v", s.ID, err))
			continue
		}
		e.report.checked("detection", 1)
		if edition, _ := synth.VersionIn(raw); edition < due {
			words = append(words, fmt.Sprintf("%s was at edition %d for %v, and %d was the last captured; the source stands at %+v", page, due, late, edition, s.Standing))
		}
	}
	return words
}

// checkWanted wants no poll of a source that is paused or not watched, and none
// sooner than its min_gap or, if it has no gaps of its own, source_gap allows.
func (e *episode) checkWanted(v visit) {
	if !v.first {
		return
	}
	before, polled := e.traffic.polled[v.source]
	e.traffic.polled[v.source] = v.at
	id := freshet.SourceID(v.source)
	if g := e.editor.guests[id]; g != nil {
		// A poll under way when the edit was answered may go on to its end.
		const underWay = totalTimeout + 2*time.Second
		if g.may == nil && !g.changed.IsZero() && v.at.Sub(g.changed) > underWay && (!g.is.watched || g.is.paused) {
			e.violate("edits", "%s was polled %v after it became %+v", id, v.at.Sub(g.changed), g.is)
		}
		return
	}
	at := slices.IndexFunc(e.settings.sources, func(s spot) bool { return s.id == id })
	if at < 0 || !polled {
		return
	}
	least, key := e.settings.sources[at].minGap, "min_gap"
	if least == 0 && e.settings.sources[at].maxGap == 0 {
		least, key = sourceGap, "source_gap"
	}
	// The gap counts from when a poll is written down; the request may leave
	// later than that, if the disk or the machine is slow, and much later if the
	// daemon was stopped in its tracks.
	if gap := v.at.Sub(before); gap < least/2 && !e.excusedBy(before, v.at) && !e.stalledAt(before) {
		e.violate(key, "%s was polled at %v, %v after the poll before, want %v; daemons died at %v", id, v.at, gap, least, e.deaths)
	}
}

// checkGone wants a receiver that said it is gone to be left alone, once the
// daemon has had the time to write that down.
func (e *episode) checkGone() {
	at, late := e.receivers[2].farewell()
	if at.IsZero() {
		return
	}
	if e.goneBy.IsZero() {
		if e.now.began.Before(at) && time.Since(at) > 2*time.Second {
			e.goneBy = time.Now()
		}
		return
	}
	e.report.checked("gone", 1)
	for _, t := range late {
		if t.After(e.goneBy) {
			e.violate("gone", "a delivery came %v after the receiver had said that it is gone", t.Sub(at))
			e.receivers[2].forget()
			return
		}
	}
}

// stalledAt reports whether the daemon was held up shortly before a moment.
func (e *episode) stalledAt(t time.Time) bool {
	return slices.ContainsFunc(e.stalls, func(at time.Time) bool { return !at.After(t) && t.Sub(at) < 3*time.Second })
}
