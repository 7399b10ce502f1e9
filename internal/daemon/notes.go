package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// notes are what the learner has come to think, kept in the store as beliefs so
// that a start need not go through the whole log.
//
// They are taken down and written beside the polls, a piece at a time, and a crash may
// come between two pieces. Therefore there are two copies, of which the older one is
// written over, and a copy counts from the moment at which its last piece is
// written: what is known of all sources together.
type notes struct {
	upto freshet.Cursor // place in the log of those last taken down; only for the loop
	next int            // the copy to write over; only for who writes
}

// noteCopies are the estimators under which the copies are saved.
var noteCopies = [2]string{"learn", "learn-2"}

// A snapshot is what a learner thought at a place in the log. It is taken down a piece at a
// time, between the polls.
type snapshot struct {
	*learn.Snapshot
	sched   *sched.Scheduler
	left    map[freshet.Slot]freshet.SourceID // sources that were removed before they were taken down
	sources int                               // taken down so far
	size    int                               // of the last piece
	sum     uint64                            // of what was taken down so far
	edits   int                               // as when it began, see lineage
}

// A piece is what was thought of some sources.
type piece struct {
	ids  []freshet.SourceID
	ends []int  // of each memory, in data
	data []byte // memories, one after the other
	last bool
}

// snap begins a snapshot. It must be called from within the loop, as all that follows but
// write.
func snap(l *learn.Learner, s *sched.Scheduler) *snapshot {
	shot := &snapshot{sched: s, left: map[freshet.Slot]freshet.SourceID{}}
	shot.Snapshot = l.Snapshot(func(slot freshet.Slot) { shot.left[slot], _ = s.ID(slot) })
	return shot
}

// next takes down the next piece.
func (s *snapshot) next() (p piece, err error) {
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

// seal returns a piece as beliefs of a copy.
func (s *snapshot) seal(p *piece, name string) []freshet.Belief {
	beliefs := make([]freshet.Belief, len(p.ids))
	from := 0
	for i, id := range p.ids {
		beliefs[i] = freshet.Belief{Source: id, Estimator: name, Upto: s.Upto(), Memory: sealed(p.data[from:p.ends[i]])}
		from = p.ends[i]
		s.sum += sumOf(id, beliefs[i].Memory)
	}
	return beliefs
}

// sealCommon returns what was thought of all sources together as the last belief of a copy.
func (s *snapshot) sealCommon(name string) freshet.Belief {
	common := freshet.Belief{Estimator: name, Upto: s.Upto(), Memory: sealed(s.Common())}
	s.sum += sumOf("", common.Memory)
	return common
}

// sealed adds to a memory what shows whether it was damaged.
func sealed(memory []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(memory), crc32.ChecksumIEEE(memory))
}

var errBrokenSeal = errors.New("it is damaged")

// unsealed returns what was sealed, unless it was damaged.
func unsealed(b []byte) ([]byte, error) {
	if n := len(b) - 4; n >= 0 && crc32.ChecksumIEEE(b[:n]) == binary.LittleEndian.Uint32(b[n:]) {
		return b[:n], nil
	}
	return nil, errBrokenSeal
}

// notesWorth is how many beliefs can be written in the time in which one outcome
// is read and learnt from.
const notesWorth = 2

// worthNotes reports whether enough was learnt since the last snapshot. Until then it takes less to go
// through the log again than to write all sources. It must be called from within the loop, or after it
// has ended.
func (b *brain) worthNotes() bool {
	return b.learner != nil && b.sched != nil && int64(b.learner.Upto()-b.notes.upto) > int64(b.sched.Slots()/notesWorth)
}

// snapIfWorth begins a snapshot if that is worth it. It must be called as worthNotes.
func (b *brain) snapIfWorth() *snapshot {
	if !b.worthNotes() {
		return nil
	}
	shot := snap(b.learner, b.sched)
	shot.edits = b.edits()
	return shot
}

// save takes a snapshot down and writes it, if there is one. If it cannot be written, the
// next one may. What inLoop is given runs while nothing else happens. It reports whether it was written.
func (b *brain) save(ctx context.Context, shot *snapshot, inLoop func(func()) error) bool {
	if shot == nil {
		return false
	}
	began := time.Now()
	if err := b.writeAll(ctx, shot, inLoop); err != nil {
		inLoop(shot.End)
		if ctx.Err() == nil {
			b.log.Error("cannot save the learning state", "err", err)
		}
		return false
	}
	inLoop(func() { b.rest(Basis{shot.Upto(), shot.sum}, shot.edits) })
	b.notes.next = 1 - b.notes.next
	b.log.Debug("saved the learning state", "upto", shot.Upto(), "sources", shot.sources, "took", time.Since(began))
	return true
}

// writeAll puts a snapshot in the place of the older copy. The last to be written is what was
// thought of all sources together.
func (b *brain) writeAll(ctx context.Context, shot *snapshot, inLoop func(func()) error) error {
	name := noteCopies[b.notes.next]
	for last := false; !last; {
		var p piece
		var broken error
		err := inLoop(func() {
			if p, broken = shot.next(); p.last {
				b.notes.upto = shot.Upto()
			}
		})
		if err = cmp.Or(err, broken); err != nil {
			return err
		}
		if err := b.store.SaveBeliefs(ctx, shot.seal(&p, name)); err != nil {
			return err
		}
		last = p.last
	}
	return b.store.SaveBeliefs(ctx, []freshet.Belief{shot.sealCommon(name)})
}
