package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// A checkpointer saves the state of the learner in the store, so that a start need not
// read the whole log.
//
// A checkpoint is taken and written beside the polls, a slice at a time, and a crash
// may come between two slices. Therefore there are two copies, of which the older
// one is overwritten, and a copy counts from the moment at which its last part is
// written: the state common to all sources.
type checkpointer struct {
	store   freshet.Store
	loop    *loop
	learner *learn.Learner // nil if nothing is learnt
	robots  *robotsKeeper  // saved at the same times
	every   time.Duration
	now     func() time.Time
	log     *slog.Logger

	upto freshet.Cursor // place in the log of the last one; only for the loop
	next int            // the copy to overwrite; only for the writer
	last atomic.Pointer[Checkpoint]
}

// inLoop has the loop run a function while nothing else happens, and returns when it has.
type inLoop func(func(*sched.Scheduler)) error

// directly returns an inLoop for when the loop does not run.
func directly(s *sched.Scheduler) inLoop {
	return func(f func(*sched.Scheduler)) error { f(s); return nil }
}

// checkpointCopies are the estimators under which the copies are saved.
var checkpointCopies = [2]string{"learn", "learn-2"}

// A Checkpoint describes a saved state of the learner.
type Checkpoint struct {
	At      time.Time
	Upto    freshet.Cursor // the last outcome that it contains
	Sources int
}

// LastCheckpoint returns the last checkpoint, and whether there was one since the
// daemon started.
func (k *checkpointer) LastCheckpoint() (Checkpoint, bool) {
	if last := k.last.Load(); last != nil {
		return *last, true
	}
	return Checkpoint{}, false
}

// Run saves the states of the learner and of robots.txt files at intervals until ctx is
// done.
func (k *checkpointer) Run(ctx context.Context) error {
	inLoop := func(f func(*sched.Scheduler)) error {
		return k.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) { f(s) })
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(k.every):
		}
		var shot *snapshot
		if inLoop(func(s *sched.Scheduler) { shot = k.snapIfWorth(s) }) == nil && k.save(ctx, shot, inLoop) {
			k.last.Store(&Checkpoint{At: k.now(), Upto: shot.Upto(), Sources: shot.sources})
		}
		k.robots.save(ctx, inLoop)
	}
}

// saveAtEnd saves the same states when the loop has ended.
func (k *checkpointer) saveAtEnd(ctx context.Context, s *sched.Scheduler) {
	k.save(ctx, k.snapIfWorth(s), directly(s))
	k.robots.save(ctx, directly(s))
}

// A snapshot is the state of a learner at a place in the log. It is read a slice at a
// time, between the polls.
type snapshot struct {
	*learn.Snapshot
	sched   *sched.Scheduler
	left    map[freshet.Slot]freshet.SourceID // sources that were removed before they were read
	sources int                               // read so far
	size    int                               // of the last slice
}

// A slice is the state of some sources.
type slice struct {
	ids  []freshet.SourceID
	ends []int  // of each memory, in data
	data []byte // memories, one after the other
	last bool
}

// snap begins a snapshot. It must be called from within the loop, as next.
func snap(l *learn.Learner, s *sched.Scheduler) *snapshot {
	shot := &snapshot{sched: s, left: map[freshet.Slot]freshet.SourceID{}}
	shot.Snapshot = l.Snapshot(func(slot freshet.Slot) { shot.left[slot], _ = s.ID(slot) })
	return shot
}

// next reads the next slice.
func (s *snapshot) next() (p slice, err error) {
	p.data = make([]byte, 0, s.size*9/8)
	p.last, err = s.Next(learn.SnapshotSlice, func(slot freshet.Slot, memory []byte) error {
		id, left := s.left[slot]
		if !left {
			id, _ = s.sched.ID(slot)
		}
		if id != "" {
			p.ids, p.data = append(p.ids, id), append(p.data, memory...)
			p.ends = append(p.ends, len(p.data))
		}
		return nil
	})
	s.sources, s.size = s.sources+len(p.ids), len(p.data)
	return p, err
}

// beliefs returns a slice as rows of a copy.
func (s *snapshot) beliefs(p *slice, name string) []freshet.State {
	beliefs := make([]freshet.State, len(p.ids))
	from := 0
	for i, id := range p.ids {
		beliefs[i] = freshet.State{Source: id, Key: name, Upto: s.Upto(), Value: withChecksum(p.data[from:p.ends[i]])}
		from = p.ends[i]
	}
	return beliefs
}

// withChecksum appends a checksum to a memory.
func withChecksum(memory []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(memory), crc32.ChecksumIEEE(memory))
}

var errChecksum = errors.New("it is damaged")

// verified returns a memory without its checksum, unless it is damaged.
func verified(b []byte) ([]byte, error) {
	if n := len(b) - 4; n >= 0 && crc32.ChecksumIEEE(b[:n]) == binary.LittleEndian.Uint32(b[n:]) {
		return b[:n], nil
	}
	return nil, errChecksum
}

// writesPerOutcome is how many beliefs can be written in the time in which one
// outcome is read and learnt from.
const writesPerOutcome = 2

// snapIfWorth begins a snapshot, unless replaying the log since the last one costs
// less than writing all sources. It must be called from within the loop, or after
// it has ended.
func (k *checkpointer) snapIfWorth(s *sched.Scheduler) *snapshot {
	if k.learner == nil || int64(k.learner.Upto()-k.upto) <= int64(s.Slots()/writesPerOutcome) {
		return nil
	}
	return snap(k.learner, s)
}

// save reads a snapshot and writes it, if there is one. If it cannot be written, the
// next one may. The functions that inLoop gets run while nothing else happens. It
// reports whether the snapshot was written.
func (k *checkpointer) save(ctx context.Context, shot *snapshot, inLoop inLoop) bool {
	if shot == nil {
		return false
	}
	began := time.Now()
	if err := k.writeAll(ctx, shot, inLoop); err != nil {
		inLoop(func(*sched.Scheduler) { shot.End() })
		if ctx.Err() == nil {
			k.log.Error("cannot save the learning state", "err", err)
		}
		return false
	}
	k.next = 1 - k.next
	k.log.Debug("saved the learning state", "upto", shot.Upto(), "sources", shot.sources, "took", time.Since(began))
	return true
}

// writeAll overwrites the older copy with a snapshot. The state common to all
// sources is written last.
func (k *checkpointer) writeAll(ctx context.Context, shot *snapshot, inLoop inLoop) error {
	name := checkpointCopies[k.next]
	for last := false; !last; {
		var p slice
		var broken error
		err := inLoop(func(*sched.Scheduler) {
			if p, broken = shot.next(); p.last {
				k.upto = shot.Upto()
			}
		})
		if err = cmp.Or(err, broken); err != nil {
			return err
		}
		if err := k.store.SaveState(ctx, shot.beliefs(&p, name)); err != nil {
			return err
		}
		last = p.last
	}
	return k.store.SaveState(ctx, []freshet.State{{Key: name, Upto: shot.Upto(), Value: withChecksum(shot.Common())}})
}

// A savedCopy is a checkpoint in the store. Without a name there is none, and the
// log is read from there.
type savedCopy struct {
	name string
	upto freshet.Cursor
}

// savedCopies returns the checkpoints in the store that are complete and of this
// log, the newest first.
func (k *checkpointer) savedCopies(ctx context.Context, end freshet.Cursor) (complete []savedCopy, err error) {
	if k.learner == nil {
		return nil, nil
	}
	for i, name := range checkpointCopies {
		upto, err := k.examine(ctx, name)
		switch {
		case errors.Is(err, errChecksum):
			k.log.Warn("a saved learning state cannot be read", "copy", name, "err", err)
		case err != nil:
			return nil, err
		case upto > end:
			k.log.Warn("a saved learning state belongs to other data", "copy", name, "upto", upto, "end", end)
		case upto > 0:
			complete = append(complete, savedCopy{name, upto})
			if upto > k.upto {
				k.upto, k.next = upto, 1-i
			}
		}
	}
	slices.SortFunc(complete, func(a, b savedCopy) int { return cmp.Compare(b.upto, a.upto) })
	return complete, nil
}

// examine returns the place in the log of a copy; 0 if it is incomplete, or if there
// is none.
func (k *checkpointer) examine(ctx context.Context, name string) (upto freshet.Cursor, err error) {
	for belief, err := range k.store.States(ctx, name) {
		if err != nil {
			return 0, err
		}
		if _, err := verified(belief.Value); err != nil {
			return 0, fmt.Errorf("belief about %q: %w", belief.Source, err)
		}
		if belief.Source == "" {
			upto = belief.Upto
		}
		if belief.Upto > upto { // the writing of it was cut off
			return 0, nil
		}
	}
	return upto, nil
}

// findOlder finds out which copy is the older one, without reading all of it.
func (k *checkpointer) findOlder(ctx context.Context) error {
	k.upto, k.next = 0, 0
	for i, name := range checkpointCopies {
		belief, err := k.store.State(ctx, name, "")
		switch {
		case errors.Is(err, freshet.ErrNotFound):
		case err != nil:
			return err
		case belief.Upto > k.upto:
			k.upto, k.next = belief.Upto, 1-i
		}
	}
	return nil
}

// restore sets the learner to the state of a copy. The sources have been put; those
// that the copy does not contain are put again.
func (k *checkpointer) restore(ctx context.Context, s *sched.Scheduler, c savedCopy, put func(freshet.SourceWithStatus)) error {
	if c.name == "" {
		return nil
	}
	known := make([]bool, s.Slots())
	n := 0
	for belief, err := range k.store.States(ctx, c.name) {
		if err != nil {
			return err
		}
		slot, ok := s.Slot(belief.Source)
		switch {
		case belief.Source == "" && belief.Upto != c.upto:
			return errors.New("the checkpoint is being overwritten; it is read again in a moment")
		case belief.Source == "":
			slot = -1
		case !ok || belief.Upto != c.upto: // it was not watched when the copy was made
			continue
		}
		memory, err := verified(belief.Value)
		if err == nil {
			err = k.learner.Restore(slot, memory)
		}
		if err != nil {
			return fmt.Errorf("belief about %q: %w", belief.Source, err)
		}
		if slot >= 0 {
			known[slot], n = true, n+1
		}
	}
	if n == s.Len() {
		return nil
	}
	for w, err := range k.store.Sources(ctx) {
		if err != nil {
			return err
		}
		if slot, ok := s.Slot(w.ID); !ok || !known[slot] {
			put(w)
		}
	}
	return nil
}
