package daemon

import (
	"context"
	"errors"

	"freshet/internal/freshet"
)

// errUnequal means that a Warm may know something else than the daemon that it follows.
var errUnequal = errors.New("this node was told of more than outcomes since it began")

// basis returns the copy from which all that it knows follows by the log, if there is one: then it knows
// the same to the bit as a daemon of which that is true, too.
func (w *Warm) basis() (from Basis, ok bool) {
	if w.daemon == nil || w.edited || w.told {
		return from, false
	}
	return w.daemon.brain.basis()
}

// astray reports whether it may know something else than the daemon, and would not if it began anew.
func (w *Warm) astray(ctx context.Context) bool {
	if w.cfg.Origin == nil {
		return false
	}
	origin, err := w.cfg.Origin(ctx)
	if err != nil || origin.Upto == 0 { // it is looked again soon
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	from, ok := w.basis()
	return !ok || from.Upto < origin.Upto || from.Upto == origin.Upto && from != origin
}

// TakeNotes takes down what was learnt, in the place of the daemon that it follows, while it goes on to
// follow it. Sources are handed to write a piece at a time, which returns how many of them it wrote. It can
// only be used while Run is at work.
func (w *Warm) TakeNotes(ctx context.Context, copy string, write func(context.Context, []freshet.Belief) (int, error)) (o Offer, err error) {
	w.mu.Lock()
	from, ok := w.basis()
	if !ok {
		w.mu.Unlock()
		return o, errUnequal
	}
	shot := snap(w.daemon.brain.learner, w.daemon.brain.sched)
	o.Traits = w.daemon.brain.sched.Sum()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		shot.End()
	}()
	o.From, o.Upto = from, shot.Upto()
	for last := false; !last; {
		w.mu.Lock()
		p, err := shot.next()
		w.mu.Unlock()
		if err != nil {
			return o, err
		}
		n, err := write(ctx, shot.seal(&p, copy))
		if err != nil {
			return o, err
		}
		o.Sources += n
		last = p.last
	}
	o.Common, o.Sum = shot.sealCommon(copy).Memory, shot.sum
	return o, nil
}
