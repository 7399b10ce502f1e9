package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet"
	"freshet/learn"
	"freshet/sched"
)

// load returns a scheduler that knows all sources and what was polled of late,
// with a policy and a learner that know again what they had learnt.
func (d *Daemon) load(ctx context.Context) (*sched.Scheduler, error) {
	end, err := d.logEnd(ctx)
	if err != nil {
		return nil, err
	}
	d.order.reset(end)
	copies, err := d.copies(ctx, end)
	if err != nil {
		return nil, err
	}
	for _, c := range append(copies, noteCopy{upto: max(0, end-freshet.Cursor(d.cfg.Relearn))}) {
		if d.cfg.Learner != nil {
			d.cfg.Learner.Forget()
		}
		s := sched.New(d.cfg.Policy, d.Limits())
		err := d.loadWith(ctx, s, end, c)
		if !errors.Is(err, learn.ErrForeignState) {
			return s, err
		}
		d.cfg.Log.Info("what was learnt is of another kind, and is learnt anew from the log", "copy", c.name, "why", err)
		d.notes.upto = 0
	}
	return nil, errors.New("what was learnt cannot be learnt anew")
}

// loadWith fills a scheduler, with what was learnt taken up from a copy.
func (d *Daemon) loadWith(ctx context.Context, s *sched.Scheduler, end freshet.Cursor, c noteCopy) error {
	now := time.Now()
	from := max(0, end-freshet.Cursor(d.cfg.Recall))
	if d.cfg.Learner != nil {
		from = min(from, c.upto)
	}
	before, err := d.seenBefore(ctx, from)
	if err != nil {
		return err
	}
	put := func(w freshet.Watched) {
		if since, ok := before[w.ID]; ok {
			w.Standing.Seen = since
		}
		s.Put(now, w)
	}
	n := 0
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return err
		}
		d.heads.set(w)
		d.levels.notice(w.Source)
		put(w)
		n++
	}
	d.gauges.sources.Store(int64(n))
	if err := d.takeUp(ctx, s, c, put); err != nil {
		return err
	}
	if err := d.recall(ctx, s, from, end); err != nil {
		return err
	}
	// A poll that began this long ago has ended, or died with its process.
	const longestPoll = 5 * time.Minute
	attempts, err := d.cfg.Store.Attempts(ctx, now.Add(-d.Limits().Budget.Per-longestPoll))
	if err != nil {
		return err
	}
	s.Resume(now, attempts)
	return nil
}

// logEnd returns the place of the last outcome.
func (d *Daemon) logEnd(ctx context.Context) (freshet.Cursor, error) {
	end, err := d.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{Newest: true, Limit: 1})
	if err != nil || len(end) == 0 {
		return 0, err
	}
	return end[0].Cursor, nil
}

// seenBefore returns when each source in what follows a place in the log had
// last been seen before that.
func (d *Daemon) seenBefore(ctx context.Context, from freshet.Cursor) (map[freshet.SourceID]time.Time, error) {
	before := map[freshet.SourceID]time.Time{}
	err := d.outcomes(ctx, from, func(o freshet.Outcome) {
		if _, ok := before[o.Source]; !ok {
			before[o.Source] = o.Since
		}
	})
	return before, err
}

// recall tells the policy and the learner of all outcomes after a place in the
// log.
func (d *Daemon) recall(ctx context.Context, s *sched.Scheduler, from, end freshet.Cursor) error {
	const everySoOften = 5 * time.Second
	began, said, n := time.Now(), time.Now(), 0
	err := d.outcomes(ctx, from, func(o freshet.Outcome) {
		s.Recall(o)
		if n++; n%1000 == 0 && time.Since(said) > everySoOften {
			said = time.Now()
			d.cfg.Log.Info("learning from the log", "outcome", o.Cursor, "of", end)
		}
	})
	if err == nil && n > 0 {
		d.cfg.Log.Debug("learnt from the log", "outcomes", n, "took", time.Since(began))
	}
	return err
}

// outcomes shows all outcomes after a place, the oldest first.
func (d *Daemon) outcomes(ctx context.Context, after freshet.Cursor, show func(freshet.Outcome)) error {
	for {
		page, err := d.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{After: after, Limit: 1000})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, o := range page {
			show(o)
			after = o.Cursor
		}
	}
}

// A noteCopy is a copy of what was learnt, up to a place in the log. Without a
// name there is none, and the log is gone through from there.
type noteCopy struct {
	name string
	upto freshet.Cursor
}

// copies returns the copies in the store that are whole and of this log, the
// newest first.
func (d *Daemon) copies(ctx context.Context, end freshet.Cursor) (whole []noteCopy, err error) {
	if d.cfg.Learner == nil {
		return nil, nil
	}
	for i, name := range noteCopies {
		c, err := d.examine(ctx, name)
		switch {
		case errors.Is(err, errBrokenSeal):
			d.cfg.Log.Warn("what was learnt cannot be taken up from a copy", "copy", name, "err", err)
		case err != nil:
			return nil, err
		case c.upto > end:
			d.cfg.Log.Warn("what was learnt is not of this log", "copy", name, "upto", c.upto, "end", end)
		case c.upto > 0:
			whole = append(whole, c)
			if c.upto > d.notes.upto {
				d.notes = notes{upto: c.upto, next: 1 - i}
			}
		}
	}
	slices.SortFunc(whole, func(a, b noteCopy) int { return cmp.Compare(b.upto, a.upto) })
	return whole, nil
}

// examine looks whether a copy is whole. It is at 0 if not, or if there is none.
func (d *Daemon) examine(ctx context.Context, name string) (noteCopy, error) {
	c := noteCopy{name: name}
	for b, err := range d.cfg.Store.Beliefs(ctx, name) {
		if err != nil {
			return c, err
		}
		if _, err := unsealed(b.Memory); err != nil {
			return c, fmt.Errorf("belief about %q: %w", b.Source, err)
		}
		if b.Source == "" {
			c.upto = b.Upto
		}
		if b.Upto > c.upto { // the writing of it was cut off
			return noteCopy{name: name}, nil
		}
	}
	return c, nil
}

// takeUp brings the learner to what it thought when a copy was made. The sources
// have been put; those of which the copy says nothing are put again.
func (d *Daemon) takeUp(ctx context.Context, s *sched.Scheduler, c noteCopy, put func(freshet.Watched)) error {
	if c.name == "" {
		return nil
	}
	known := map[freshet.SourceID]bool{}
	for b, err := range d.cfg.Store.Beliefs(ctx, c.name) {
		if err != nil {
			return err
		}
		slot, ok := s.Slot(b.Source)
		switch {
		case b.Source == "":
			slot = -1
		case !ok || b.Upto != c.upto: // it was away when the copy was made
			continue
		}
		memory, err := unsealed(b.Memory)
		if err == nil {
			err = d.cfg.Learner.Restore(slot, memory)
		}
		if err != nil {
			return fmt.Errorf("belief about %q: %w", b.Source, err)
		}
		known[b.Source] = true
	}
	if len(known) > s.Slots() { // all sources, and what they have in common
		return nil
	}
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return err
		}
		if !known[w.ID] {
			put(w)
		}
	}
	return nil
}
