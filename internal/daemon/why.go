package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
)

// A Why explains the next poll of a source.
type Why struct {
	Source  freshet.Source
	Outlook outlook.Outlook // only At and Since if the policy says nothing of what it thinks
	Hold    sched.Hold      // at that moment
	Trouble string          // why nothing can be captured at all, if nothing can

	Index freshet.SourceID // which source says what Outlook.Heard has, if any does

	Taught imported.History // imported history

	Chances *GivenChances // forecast override; nil if there is none

	Stake *Stake // what its changes matter by the queries that they match; nil if none did

	Mates []freshet.SourceID // other sources whose polls it is read from, and which are read from its own

	Opens time.Time // when the window opens in which the policy polls at all; zero if it is open

	Waiting int           // sources that wait for their first poll, if this one does
	Within  time.Duration // in which the budget reaches for all of these

	Next  time.Time     // when the poll is expected; zero if that is not known
	Cause freshet.Cause // who is expected to want it then
}

// An explainer says why and when sources are polled.
type explainer struct {
	store    freshet.Store
	loop     *loop
	learner  *learn.Learner // may be nil
	policy   freshet.Policy
	limits   *limits
	outlooks func() (outlooker, bool)
	imports  *imports
	weights  *weights
	trouble  func() string // why nothing can be captured; "" if it can
}

// Why explains when a source will be polled next, and what it waits for.
func (e *explainer) Why(ctx context.Context, id freshet.SourceID) (Why, error) {
	source, err := e.store.Source(ctx, id)
	if err != nil {
		return Why{}, err
	}
	if !e.loop.running.Load() {
		return Why{}, notRunning()
	}
	var w Why
	var known bool
	err = e.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
		if w, known = e.explain(now, s, id); known && w.Outlook.Since.IsZero() && w.Hold.Failures == 0 {
			w.Waiting = e.unseen(s)
		}
	})
	if err != nil {
		return Why{}, fmt.Errorf("look at source %s: %w", id, err)
	}
	if !known { // removed, or added a moment ago
		return Why{}, fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
	}
	w.Source, w.Trouble = source.Source, e.trouble()
	if rate := e.limits.Limits().Budget.PerSecond(); w.Waiting > 0 && rate > 0 {
		w.Within = time.Duration(float64(w.Waiting) / rate * float64(time.Second))
	}
	if w.Taught, err = e.imports.Taught(ctx, id); err != nil {
		return Why{}, err
	}
	if w.Chances, err = e.imports.givenTo(ctx, id, w.Outlook.At); err != nil {
		return Why{}, err
	}
	if stake, matters := e.weights.get(id); matters {
		w.Stake = &stake
	}
	if w.Outlook.Since.IsZero() {
		w.Outlook.Since = source.Status.Seen
	}
	return w, nil
}

// Outlooks returns what is expected of sources. Unknown sources are left out.
func (e *explainer) Outlooks(ctx context.Context, ids []freshet.SourceID) (map[freshet.SourceID]outlook.Outlook, error) {
	found := make(map[freshet.SourceID]outlook.Outlook, len(ids))
	from, ok := e.outlooks()
	if !ok {
		return found, nil
	}
	for part := range slices.Chunk(ids, askAtOnce) {
		err := e.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
			for _, id := range part {
				if slot, ok := s.Slot(id); ok {
					found[id] = from.Outlook(now, slot)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// unseen returns how many sources that are not paused wait for their first poll.
func (e *explainer) unseen(s *sched.Scheduler) (n int) {
	if e.learner == nil {
		return 0
	}
	for slot := range freshet.Slot(s.Slots()) {
		if source, ok := s.Source(slot); ok && !source.Paused && e.learner.Seen(slot).IsZero() {
			n++
		}
	}
	return n
}

// explain says what is known of the next poll of a source, in dates, and whether
// there is such a source. It runs within the loop.
func (e *explainer) explain(now time.Time, s *sched.Scheduler, id freshet.SourceID) (w Why, known bool) {
	slot, ok := s.Slot(id)
	if !ok {
		return w, false
	}
	w.Hold, _ = s.Hold(now, id)
	w.Mates = s.Mates(id)
	w.Outlook.At = now
	if from, ok := e.outlooks(); ok {
		w.Outlook = from.Outlook(now, slot)
	}
	if w.Hold.Strategy != nil { // which comes before what a poll is worth to the policy
		w.Outlook.Worth, w.Outlook.Price, w.Outlook.Idle, w.Outlook.Due = 0, 0, false, w.Hold.Planned
	}
	heard := &w.Outlook.Heard
	if index, ok := s.Source(heard.Index); ok && (!heard.Dated.IsZero() || !heard.Until.IsZero()) {
		w.Index = index.ID
	}
	for _, t := range []*time.Time{&w.Outlook.At, &w.Outlook.Since, &w.Outlook.Due, &heard.Dated, &heard.Until, &w.Outlook.Foretold.At, &w.Hold.Until, &w.Hold.Deadline, &w.Hold.Again, &w.Hold.Planned, &w.Hold.Pushed} {
		*t = e.loop.dates.Date(*t)
	}
	if p, ok := e.policy.(interface{ Opens(now time.Time) time.Time }); ok && w.Hold.Strategy == nil {
		w.Opens = e.loop.dates.Date(p.Opens(now))
	}
	w.foresee()
	return w, true
}

// notRunning says that there is nobody to explain anything.
func notRunning() error {
	return freshet.WithHint(ErrNotRunning, "only a daemon at work knows what it will do next; start it with freshet serve")
}

// foresee says when the poll is expected, and who will want it.
func (w *Why) foresee() {
	now := w.Outlook.At
	w.Next, w.Cause = w.Outlook.Due, freshet.ByPolicy
	switch deadline := w.Hold.Deadline; {
	case w.Hold.Kind == sched.HoldUnderWay:
		w.Next = now
		return
	case w.Hold.Asked:
		if w.Next, w.Cause = now, freshet.ByHand; w.Hold.Push.Urgent {
			w.Cause = freshet.ByPush
		}
	case w.Hold.Kind == sched.HoldPaused:
		w.Next = time.Time{}
		return
	case w.Hold.Strategy != nil:
		w.Next, w.Cause = w.Hold.Planned, freshet.ByStrategy
	case !deadline.IsZero() && (w.Next.IsZero() || deadline.Before(w.Next)):
		w.Next, w.Cause = deadline, freshet.ByBound
	}
	if again := w.Hold.Again; !w.Hold.Asked && !again.IsZero() && (w.Next.IsZero() || again.Before(w.Next)) {
		w.Next, w.Cause = again, freshet.ByDoubt
	}
	if opens := w.Opens; !opens.IsZero() && !w.Hold.Asked && w.Cause != freshet.ByBound && w.Next.Before(opens) {
		w.Next, w.Cause = opens, freshet.ByPolicy
	}
	if w.Next.IsZero() {
		return
	}
	if w.Hold.Active != nil && !w.Hold.Asked {
		w.Next = w.Hold.Active.Opens(w.Next)
	}
	for _, at := range []time.Time{now, w.Hold.Until} {
		if at.After(w.Next) {
			w.Next = at
		}
	}
}

// A Rhythm is what was learned of when a source changes, at a moment.
type Rhythm struct {
	outlook.Rhythm
	At      time.Time
	Chances *GivenChances // forecast override; nil if there is none
}

// Rhythm returns what was learnt of when a source changes.
func (e *explainer) Rhythm(ctx context.Context, id freshet.SourceID) (r Rhythm, err error) {
	if _, err := e.store.Source(ctx, id); err != nil {
		return r, err
	}
	if !e.loop.running.Load() {
		return r, notRunning()
	}
	known := false
	err = e.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
		slot, ok := s.Slot(id)
		if known = ok && e.learner != nil; known {
			r.At, r.Rhythm = e.loop.dates.Date(now), e.learner.Rhythm(now, slot)
			r.Foretold.At = e.loop.dates.Date(r.Foretold.At)
		}
	})
	switch {
	case err != nil:
		return r, err
	case !known:
		return r, fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
	}
	r.Chances, err = e.imports.givenTo(ctx, id, r.At)
	return r, err
}
