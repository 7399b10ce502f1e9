package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"freshet"
	"freshet/learn"
	"freshet/sched"
)

// notes are what the learner has come to think, kept in the store as beliefs so
// that a start need not go through the whole log.
//
// They are written beside the polls, a piece at a time, and a crash may come
// between two pieces. Therefore there are two copies, of which the older one is
// written over, and a copy counts from the moment at which its last piece is
// written: what is known of all sources together.
type notes struct {
	upto freshet.Cursor // place in the log of those last taken; only for the loop
	next int            // the copy to write over; only for who writes
}

// noteCopies are the estimators under which the copies are saved.
var noteCopies = [2]string{"learn", "learn-2"}

// notePiece is how many beliefs are written at once.
const notePiece = 1000

// A snapshot is what a learner thought at a place in the log.
type snapshot struct {
	upto    freshet.Cursor
	pieces  []piece
	common  []byte // memory of all sources together
	sources int
}

// A piece is what was thought of some sources.
type piece struct {
	ids  []freshet.SourceID
	ends []int  // of each memory, in data
	data []byte // memories, one after the other
}

// snap takes a snapshot. It must be called from within the loop.
func snap(l *learn.Learner, s *sched.Scheduler) (*snapshot, error) {
	ids := make([]freshet.SourceID, s.Slots())
	for slot, source := range s.All() {
		ids[slot] = source.ID
	}
	shot := &snapshot{upto: l.Upto()}
	err := l.Save(func(slot freshet.Slot, memory []byte) error {
		switch {
		case slot < 0:
			shot.common = bytes.Clone(memory)
		case int(slot) < len(ids) && ids[slot] != "":
			shot.add(ids[slot], memory)
		}
		return nil
	})
	return shot, err
}

func (s *snapshot) add(id freshet.SourceID, memory []byte) {
	if s.sources%notePiece == 0 {
		s.pieces = append(s.pieces, piece{})
	}
	s.sources++
	p := &s.pieces[len(s.pieces)-1]
	p.ids = append(p.ids, id)
	p.data = append(p.data, memory...)
	p.ends = append(p.ends, len(p.data))
}

// write puts a snapshot in the place of a copy.
func (s *snapshot) write(ctx context.Context, store freshet.BeliefStore, name string) error {
	for _, p := range s.pieces {
		var beliefs []freshet.Belief
		from := 0
		for i, id := range p.ids {
			beliefs = append(beliefs, freshet.Belief{Source: id, Estimator: name, Upto: s.upto, Memory: sealed(p.data[from:p.ends[i]])})
			from = p.ends[i]
		}
		if err := store.SaveBeliefs(ctx, beliefs); err != nil {
			return err
		}
	}
	return store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: name, Upto: s.upto, Memory: sealed(s.common)}})
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

// snapIfWorth takes a snapshot if enough was learnt since the last one. Until
// then it takes less to go through the log again than to write all sources. It
// must be called from within the loop, or after it has ended.
func (b *brain) snapIfWorth() *snapshot {
	if b.learner == nil || b.sched == nil || int64(b.learner.Upto()-b.notes.upto) <= int64(b.sched.Slots()/notesWorth) {
		return nil
	}
	began := time.Now()
	shot, err := snap(b.learner, b.sched)
	if err != nil {
		b.log.Error("cannot take a snapshot of the learning state", "err", err)
		return nil
	}
	b.notes.upto = shot.upto
	b.log.Debug("took a snapshot of the learning state", "upto", shot.upto, "sources", shot.sources, "took", time.Since(began))
	return shot
}

// save writes a snapshot, if there is one. If it cannot be written, the next one
// may.
func (b *brain) save(ctx context.Context, shot *snapshot) {
	if shot == nil {
		return
	}
	began := time.Now()
	if err := shot.write(ctx, b.store, noteCopies[b.notes.next]); err != nil {
		if ctx.Err() == nil {
			b.log.Error("cannot save the learning state", "err", err)
		}
		return
	}
	b.notes.next = 1 - b.notes.next
	b.log.Debug("saved the learning state", "upto", shot.upto, "sources", shot.sources, "took", time.Since(began))
}
