package daemon

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Why explains the next poll of a source.
type Why struct {
	Source  freshet.Source
	Outlook freshet.Outlook // only At and Since if the policy says nothing of what it thinks
	Hold    sched.Hold      // at that moment
	Trouble string          // why nothing can be captured at all, if nothing can

	Index freshet.SourceID // which source says what Outlook.Heard has, if any does

	Taught freshet.Taught // when it changed, by what somebody told from elsewhere

	Chances *GivenChances // when it is likely to change, by what somebody gave; nil if nobody did

	Stake *Stake // what its changes matter by the queries that they match; nil if none did

	Mates []freshet.SourceID // other sources whose polls it is read from, and which are read from its own

	Next  time.Time     // when the poll is expected; zero if that cannot be told
	Cause freshet.Cause // who is expected to want it then
}

// Why explains when a source will be polled next, and what it waits for.
func (d *Daemon) Why(ctx context.Context, id freshet.SourceID) (Why, error) {
	source, err := d.cfg.Store.Source(ctx, id)
	if err != nil {
		return Why{}, err
	}
	if !d.running.Load() {
		return Why{}, notRunning()
	}
	var w Why
	var known bool
	err = d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) { w, known = d.explain(now, s, id) })
	if err != nil {
		return Why{}, fmt.Errorf("look at source %s: %w", id, err)
	}
	if !known { // removed, or added a moment ago
		return Why{}, fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
	}
	w.Source, w.Trouble = source.Source, d.Status().Trouble
	if w.Taught, err = d.Taught(ctx, id); err != nil {
		return Why{}, err
	}
	if w.Chances, err = d.givenTo(ctx, id, w.Outlook.At); err != nil {
		return Why{}, err
	}
	if stake, matters := d.weights.get(id); matters {
		w.Stake = &stake
	}
	if w.Outlook.Since.IsZero() {
		w.Outlook.Since = source.Standing.Seen
	}
	return w, nil
}

// explain says what is known of the next poll of a source, in dates, and whether
// there is such a source. It runs within the loop.
func (d *Daemon) explain(now time.Time, s *sched.Scheduler, id freshet.SourceID) (w Why, known bool) {
	slot, ok := s.Slot(id)
	if !ok {
		return w, false
	}
	w.Hold, _ = s.Hold(now, id)
	w.Mates = s.Mates(id)
	w.Outlook.At = now
	if from, ok := d.leader.outlooks(); ok {
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
		*t = d.dates.Date(*t)
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
	if w.Next.IsZero() {
		return
	}
	for _, at := range []time.Time{now, w.Hold.Until} {
		if at.After(w.Next) {
			w.Next = at
		}
	}
}

// Rhythm returns what was learnt of when a source changes.
func (d *Daemon) Rhythm(ctx context.Context, id freshet.SourceID) (r freshet.Rhythm, err error) {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return r, err
	}
	if !d.running.Load() {
		return r, notRunning()
	}
	known := false
	err = d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
		slot, ok := s.Slot(id)
		if known = ok && d.cfg.Learner != nil; known {
			r = d.cfg.Learner.Rhythm(now, slot)
			r.Foretold.At = d.dates.Date(r.Foretold.At)
		}
	})
	if err == nil && !known {
		err = fmt.Errorf("source %s: %w", id, freshet.ErrNotFound)
	}
	return r, err
}
