package baselines

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// NewMiniflux returns a policy that comes back as Miniflux does in its mode
// entry_frequency: a week divided by the entries a week, at least 5 minutes and
// at most 24 hours, and 24 hours when there are none. Entries a week are a week
// divided by the mean time between the entries of the last seven days, rounded
// up, so one entry counts as none.
//
// An entry is a change that was captured, dated as the source dates it or by
// the poll that saw it. So a poll brings one at most, where a feed would list
// all: of sources that change more than once between polls Miniflux itself would
// know better. Only the latest 128 of a week are remembered; at that many the
// mean time between them hardly differs from the week's.
func NewMiniflux(c policy.RevisitConfig) *policy.Revisit {
	c, scale := c.Scaled(24*time.Hour, 5*time.Minute, 24*time.Hour)
	return policy.NewRevisit(&miniflux{cfg: c, week: policy.Stretched(7*24*time.Hour, scale)})
}

// mostEntries bounds what is remembered of a source.
const mostEntries = 128

type miniflux struct {
	cfg     policy.RevisitConfig
	week    time.Duration
	entries [][]int64 // by slot: when its latest entries were published
}

// Forget implements [policy.RevisitRule].
func (m *miniflux) Forget(slot freshet.Slot) {
	m.entries = ranking.Grown(m.entries, slot)
	m.entries[slot] = nil
}

// Initial implements [policy.RevisitRule].
func (m *miniflux) Initial(freshet.Slot) time.Duration { return m.cfg.Initial }

// Next implements [policy.RevisitRule].
func (m *miniflux) Next(slot freshet.Slot, o freshet.Outcome) time.Time {
	now := o.Began.UnixNano()
	entries := m.entries[slot]
	if o.Result == freshet.Changed {
		entries = append(entries, published(o).UnixNano())
		if len(entries) > mostEntries {
			entries = slices.Delete(entries, 0, 1)
		}
	}
	entries = slices.DeleteFunc(entries, func(at int64) bool { return at < now-int64(m.week) })
	m.entries[slot] = entries
	return o.Began.Add(m.interval(entries))
}

// interval returns how long to stay away, given the entries of the last week.
func (m *miniflux) interval(entries []int64) time.Duration {
	if len(entries) < 2 {
		return m.cfg.Clamp(float64(m.cfg.Max))
	}
	mean := float64(slices.Max(entries)-slices.Min(entries)) / float64(len(entries)-1)
	if mean <= 0 {
		return m.cfg.Min
	}
	weekly := math.Ceil(float64(m.week) / mean)
	return m.cfg.Clamp(float64(m.week) / weekly)
}

// published returns when a change happened, as far as is known: never after it
// was seen.
func published(o freshet.Outcome) time.Time {
	if o.Modified.IsZero() || o.Modified.After(o.Began) {
		return o.Began
	}
	return o.Modified
}
