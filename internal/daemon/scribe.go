package daemon

import (
	"context"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Scribe has another process take down what was learnt, one that was told the same as the daemon and
// so knows the same to the bit. The daemon then only writes the last piece of a copy, by which it counts.
type Scribe struct {
	// Ask has somebody write a copy. It returns what there is to know of it when all sources are written.
	// From then on nobody else writes it, also after an error, unless that is ErrNotAlone. It returns
	// ErrNobody if there is nobody to ask.
	Ask func(ctx context.Context, t Turn) (Offer, error)

	// Bar has nobody else write copies from now on, whoever was asked before.
	Bar func(ctx context.Context) error
}

// A Turn is what a Scribe is asked for.
type Turn struct {
	Copy  string  // the estimator of its beliefs
	Bases []Basis // from any of which all that is known follows by the log
}

// An Offer is a copy of what was learnt, but for what was thought of all sources together.
type Offer struct {
	By      string         // who wrote it
	From    Basis          // that it rests on
	Upto    freshet.Cursor // the last outcome that it has learnt from
	Sources int            // that are written
	Traits  uint64         // what they are, as far as learning goes by it: the Sum of a Scheduler
	Sum     uint64         // as of a Basis
	Common  []byte         // what was thought of all sources together, sealed
}

// What a Scribe may say.
var (
	ErrNobody   = errors.New("there is nobody to ask")
	ErrNotAlone = errors.New("somebody else may still be writing")
)

// Taken is when what was learnt was last saved.
type Taken struct {
	By      string // who took it down; "" if the daemon itself did
	At      time.Time
	Upto    freshet.Cursor // the last outcome that it rests on
	Sources int
}

// Taken returns when what was learnt was last saved, and whether it was since the daemon started.
func (d *Daemon) Taken() (Taken, bool) {
	if last := d.taken.Load(); last != nil {
		return *last, true
	}
	return Taken{}, false
}

// keepNotes saves now and then what was learnt, of sources and of robots.txt files.
func (d *Daemon) keepNotes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(d.cfg.SaveEvery):
		}
		if !d.haveTaken(ctx) {
			d.takeNotes(ctx)
		}
		inLoop := func(f func()) error { return d.inLoop(ctx, func(time.Time, *sched.Scheduler) { f() }) }
		d.brain.keepManners(ctx, inLoop)
	}
}

// takeNotes saves what was learnt, if it is worth it.
func (d *Daemon) takeNotes(ctx context.Context) {
	inLoop := func(f func()) error { return d.inLoop(ctx, func(time.Time, *sched.Scheduler) { f() }) }
	worth := false
	if inLoop(func() { worth = d.brain.worthNotes() }) != nil || !worth || !d.writesAlone(ctx) {
		return
	}
	var shot *snapshot
	if inLoop(func() { shot = d.brain.snapIfWorth() }) == nil && d.brain.save(ctx, shot, inLoop) {
		d.taken.Store(&Taken{At: d.cfg.Now(), Upto: shot.Upto(), Sources: shot.sources})
	}
}

// takeLastNotes saves what was learnt when nothing more will be.
func (d *Daemon) takeLastNotes(ctx context.Context) {
	const patience = 5 * time.Second
	if !d.brain.worthNotes() {
		return
	}
	barring, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if d.writesAlone(barring) {
		d.brain.save(ctx, d.brain.snapIfWorth(), func(f func()) error { f(); return nil })
	}
}

// writesAlone reports whether nobody else writes copies.
func (d *Daemon) writesAlone(ctx context.Context) bool {
	if d.cfg.Scribe == nil {
		return true
	}
	err := d.cfg.Scribe.Bar(ctx)
	if err != nil {
		d.cfg.Log.Warn("what was learnt is not saved this time: somebody else may be writing it", "err", err)
	}
	return err == nil
}

// haveTaken has somebody else save what was learnt, if it is worth it and somebody knows the same. It
// reports whether the daemon need not do it itself.
func (d *Daemon) haveTaken(ctx context.Context) bool {
	if d.cfg.Scribe == nil {
		return false
	}
	turn := Turn{Copy: noteCopies[d.brain.notes.next]}
	err := d.inLoop(ctx, func(time.Time, *sched.Scheduler) {
		if _, ok := d.brain.basis(); ok && d.brain.worthNotes() {
			turn.Bases = append(turn.Bases, d.brain.lineage.copies...)
		}
	})
	if err != nil || len(turn.Bases) == 0 {
		return false
	}
	offer, err := d.cfg.Scribe.Ask(ctx, turn)
	if err == nil {
		err = d.accept(ctx, turn, offer)
	}
	switch {
	case err == nil:
		d.cfg.Log.Debug("another node saved the learning state", "by", offer.By, "upto", offer.Upto, "sources", offer.Sources)
	case !errors.Is(err, ErrNobody) && ctx.Err() == nil:
		d.cfg.Log.Info("no other node saved the learning state; this one does", "why", err)
	}
	return err == nil || errors.Is(err, ErrNotAlone)
}

// accept makes a copy count that somebody else wrote.
func (d *Daemon) accept(ctx context.Context, t Turn, o Offer) error {
	var refused error
	err := d.inLoop(ctx, func(time.Time, *sched.Scheduler) { refused = d.brain.judge(o) })
	if err == nil {
		err = refused
	}
	if err != nil {
		return err
	}
	common := freshet.Belief{Estimator: t.Copy, Upto: o.Upto, Memory: o.Common}
	if err := d.cfg.Store.SaveBeliefs(ctx, []freshet.Belief{common}); err != nil {
		return err
	}
	d.brain.notes.next = 1 - d.brain.notes.next
	d.taken.Store(&Taken{By: o.By, At: d.cfg.Now(), Upto: o.Upto, Sources: o.Sources})
	return d.inLoop(ctx, func(time.Time, *sched.Scheduler) {
		d.brain.notes.upto = o.Upto
		d.brain.rest(Basis{o.Upto, o.Sum}, d.brain.lineage.edits)
	})
}

// judge returns why an offer is not what the brain would have saved itself.
func (b *brain) judge(o Offer) error {
	_, damaged := unsealed(o.Common)
	switch {
	case !b.follows(o.From):
		return errors.New("sources were edited meanwhile, or it began from something else")
	case o.Traits != b.sched.Sum():
		return errors.New("sources are not what it takes them for")
	case o.Upto <= b.notes.upto:
		return errors.New("it is not newer than what is saved")
	case o.Upto > b.learner.Upto():
		return errors.New("it is ahead of the log that this node has learnt from")
	case o.Sources != b.sched.Len():
		return errors.New("it does not have all sources")
	}
	return damaged
}
