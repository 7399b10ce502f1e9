package learn

import (
	"errors"
	"math"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
)

// A Snapshot is what was known at one place in the log, shown some sources at a time while
// the Learner goes on. Whatever is about to change what is known of a source that has not
// been shown yet keeps it first, by keep, keepBrief, keepSite, keepSiteFor or keepAll. So what is shown
// is the same to the bit as if all had been shown at once.
type Snapshot struct {
	learner *Learner
	number  uint32 // of the snapshots of a learner
	open    int64  // the tick that was under way
	upto    freshet.Cursor
	common  []byte
	leaves  func(freshet.Slot)

	next, end int // slots that have not been shown yet
	chunks    []*keptChunk
	sites     map[*site][]byte // that are kept in whole, and were not shown yet
	briefs    []siteBrief      // room for more
	room      []byte           // for what is kept
	scratch   codec
}

// snapshots keep what a snapshot under way has yet to show.
type snapshots struct {
	population
	shot  *Snapshot // that is under way; nil if none is
	shots uint32    // begun so far
}

// SnapshotSlice is of how many sources a snapshot is shown at once where polls wait meanwhile:
// it takes some milliseconds.
const SnapshotSlice = 1000

// A keptChunk is what is kept of some sources that follow each other.
type keptChunk [keptSize]kept

// keptSize is how many those are.
const keptSize = 1 << 10

// A kept is how a source was when a snapshot began. What background work change, of many sources at
// a time, is kept in brief.
type kept struct {
	how    keptKind
	memory []byte
	site   *site // nil if there was no source
	left   bool  // it has been removed
	brief  brief
}

// A keptKind says how a source is kept.
type keptKind uint8

const (
	asItIs  keptKind = iota // nothing has changed
	inBrief                 // but for what background work change
	inWhole
)

// A brief is what background work change of a source.
type brief struct {
	mass  float64
	rate  float32
	rates [memories]float32
}

// errSnapshotOver means that a snapshot cannot be gone on with: another one was begun, or
// the Learner was made to know something else.
var errSnapshotOver = errors.New("the snapshot is over")

// Snapshot begins a snapshot. It ends one that is under way. Leaves is called with a source that
// is removed before it was shown, while all else still knows it; it may be nil.
func (l *Learner) Snapshot(leaves func(freshet.Slot)) *Snapshot {
	l.shots++
	s := &Snapshot{
		learner: l, number: l.shots, open: l.open, upto: l.upto, leaves: leaves, end: l.pages.Len(), sites: map[*site][]byte{},
		chunks: make([]*keptChunk, l.pages.Len()/keptSize+1), scratch: codec{writing: true},
	}
	common := codec{writing: true}
	l.encode(&common)
	s.common = common.data
	l.shot = s
	return s
}

// Upto returns the last outcome that had been learned from when the snapshot began.
func (s *Snapshot) Upto() freshet.Cursor { return s.upto }

// Common returns what was known of all sources together.
func (s *Snapshot) Common() []byte { return s.common }

// Next shows what was known of sources in the next n slots, in their order. It reports
// whether those were the last. A memory is only good until the next one is shown.
func (s *Snapshot) Next(n int, show func(slot freshet.Slot, memory []byte) error) (last bool, err error) {
	if s.learner.shot != s {
		return false, errSnapshotOver
	}
	for until := min(s.end, s.next+min(n, s.end)); s.next < until; s.next++ {
		slot := freshet.Slot(s.next)
		if memory := s.take(slot); memory != nil {
			if err := show(slot, memory); err != nil {
				s.End()
				return false, err
			}
		}
		if (s.next+1)%keptSize == 0 {
			s.chunks[s.next/keptSize] = nil
		}
	}
	if s.next < s.end {
		return false, nil
	}
	s.End()
	return true, nil
}

// End ends a snapshot, shown or not.
func (s *Snapshot) End() {
	if s.learner.shot == s {
		s.learner.shot = nil
	}
}

// take returns what was known of a source, with its site if it is the first of that; nil if
// there was none.
func (s *Snapshot) take(slot freshet.Slot) []byte {
	l, c := s.learner, &s.scratch
	k := s.keptOf(slot)
	c.data = c.data[:0]
	var at *site
	switch {
	case k != nil && k.how == inWhole:
		if at = k.site; at == nil {
			return nil
		}
		c.data = append(c.data, k.memory...)
	default:
		if at = l.pages.At(slot).site; at == nil {
			return nil
		}
		s.write(c, slot, k)
	}
	was, changed := s.sites[at]
	first := changed || at.kept != s.number
	c.flag(&first)
	switch {
	case changed:
		c.data = append(c.data, was...)
		delete(s.sites, at)
	case first:
		at.kept = s.number
		s.writeSite(c, at)
	}
	return c.data
}

// write writes what was known of a source that is not kept in whole.
func (s *Snapshot) write(c *codec, slot freshet.Slot, k *kept) {
	l := s.learner
	if l.open == s.open { // what the tick asks of it is no news
		l.enter(slot)
	}
	if k == nil || k.how == asItIs {
		l.encodePage(c, slot)
		return
	}
	now := l.briefOf(slot)
	l.setBrief(slot, k.brief)
	l.encodePage(c, slot)
	l.setBrief(slot, now)
}

// newTick reports whether another tick is under way than when the snapshot began. To enter
// that one is part of what was known.
func (l *snapshots) newTick() bool { return l.shot != nil && l.shot.open != l.open }

// keptOf returns what is kept of a source; nil if that is nothing.
func (s *Snapshot) keptOf(slot freshet.Slot) *kept {
	if c := s.chunks[slot/keptSize]; c != nil {
		return &c[slot%keptSize]
	}
	return nil
}

// lacks returns where to keep a source that is about to change; nil if it has been shown, or
// came after the snapshot began.
func (s *Snapshot) lacks(slot freshet.Slot) *kept {
	if s == nil || int(slot) < s.next || int(slot) >= s.end {
		return nil
	}
	if s.chunks[slot/keptSize] == nil {
		s.chunks[slot/keptSize] = new(keptChunk)
	}
	return s.keptOf(slot)
}

// keep keeps what is known of a source and of its site for the snapshot under way. All that
// changes what is known of a source calls it first.
func (l *snapshots) keep(slot freshet.Slot) {
	s := l.shot
	k := s.lacks(slot)
	if k == nil || k.how == inWhole {
		return
	}
	at := l.pages.At(slot).site
	if at == nil {
		k.how = inWhole
		return
	}
	l.keepSite(at)
	s.scratch.data = s.scratch.data[:0]
	s.write(&s.scratch, slot, k)
	*k = kept{how: inWhole, memory: s.store(s.scratch.data), site: at}
}

// keepBrief keeps what background work change of a source.
func (l *snapshots) keepBrief(slot freshet.Slot) {
	if k := l.shot.lacks(slot); k != nil && k.how == asItIs {
		if l.open == l.shot.open {
			l.shot.learner.enter(slot)
		}
		k.how, k.brief = inBrief, l.briefOf(slot)
	}
}

// keepAll keeps all that has not been shown. It is for what changes all sources at once.
func (l *snapshots) keepAll() {
	if l.shot == nil {
		return
	}
	for slot := l.shot.next; slot < l.shot.end; slot++ {
		l.keep(freshet.Slot(slot))
	}
}

// keepNamed keeps the indexes that have said something of a page that is no source.
func (l *indexHints) keepNamed(key crawl.PageKey) {
	if l.shot == nil {
		return
	}
	for _, note := range l.unmatched[key] {
		if note.id != 0 {
			l.keep(note.slot)
		}
	}
}

// keepLeaving keeps a source that is about to be removed, and calls Leaves.
func (l *snapshots) keepLeaving(slot freshet.Slot) {
	l.keep(slot)
	if k := l.shot.lacks(slot); k != nil && k.site != nil && !k.left {
		if k.left = true; l.shot.leaves != nil {
			l.shot.leaves(slot)
		}
	}
}

func (l *population) briefOf(slot freshet.Slot) brief {
	p := l.pages.At(slot)
	return brief{mass: p.mass, rate: p.rate, rates: l.minds.At(slot).rate}
}

func (l *population) setBrief(slot freshet.Slot, b brief) {
	p := l.pages.At(slot)
	p.mass, p.rate, l.minds.At(slot).rate = b.mass, b.rate, b.rates
}

// roomSize is how much room for what is kept is made at once.
const roomSize = 1 << 20

// store returns a copy of a memory.
func (s *Snapshot) store(memory []byte) []byte {
	if len(memory) > cap(s.room)-len(s.room) {
		s.room = make([]byte, 0, max(roomSize, len(memory)))
	}
	n := len(s.room)
	s.room = append(s.room, memory...)
	return s.room[n:len(s.room):len(s.room)]
}

// Save shows all that is known, in parts: first what is known of all sources together, with
// the slot -1, then what is known of each. Restored in a Learner that is set the same and was
// told of the same sources in the same order, they make it the same to the bit. A memory is
// only good until the next one is shown.
func (l *Learner) Save(show func(slot freshet.Slot, memory []byte) error) error {
	s := l.Snapshot(nil)
	if err := show(-1, s.Common()); err != nil {
		s.End()
		return err
	}
	_, err := s.Next(math.MaxInt, show)
	return err
}

// A siteBrief is what most background work change of a site, as it was when a snapshot began. It has no
// pointers, because there may be as many as there are sites.
type siteBrief struct {
	number     uint32 // of the snapshot
	prior, sum spread
	upto, pace float64
}

// briefsAtOnce is for how many of them room is made at once.
const briefsAtOnce = 256

// hasBrief reports whether a site is kept in brief.
func (s *Snapshot) hasBrief(at *site) bool { return at.was != nil && at.was.number == s.number }

// keepSite keeps what is known of a site.
func (l *snapshots) keepSite(at *site) {
	s := l.shot
	if s == nil || at.kept == s.number {
		return
	}
	at.kept = s.number
	s.scratch.data = s.scratch.data[:0]
	s.writeSite(&s.scratch, at)
	s.sites[at] = s.store(s.scratch.data)
}

// keepSiteFor keeps what is known of a site for background work, which changes more than what is kept
// in brief or not.
func (l *snapshots) keepSiteFor(at *site, more bool) {
	s := l.shot
	if more {
		l.keepSite(at)
	}
	if s == nil || at.kept == s.number || s.hasBrief(at) {
		return
	}
	s.enterSite(at)
	if len(s.briefs) == 0 {
		s.briefs = make([]siteBrief, briefsAtOnce)
	}
	at.was, s.briefs = &s.briefs[0], s.briefs[1:]
	*at.was = at.brief(s.number)
}

// writeSite writes what was known of a site that is not kept in whole.
func (s *Snapshot) writeSite(c *codec, at *site) {
	s.enterSite(at)
	write := func() {
		at.encode(c)
		at.encodeClaims(c)
		at.writePlace(c)
	}
	if !s.hasBrief(at) {
		write()
		return
	}
	now := at.brief(0)
	at.setBrief(at.was)
	write()
	at.setBrief(&now)
	at.was = nil
}

// enterSite lets a site enter the tick that was under way when the snapshot began.
func (s *Snapshot) enterSite(at *site) {
	if s.learner.open == s.open {
		s.learner.enterSite(at)
	}
}

func (s *site) brief(number uint32) siteBrief {
	return siteBrief{number: number, prior: s.prior, sum: s.sum, upto: s.upto, pace: s.pace}
}

func (s *site) setBrief(b *siteBrief) {
	s.prior, s.sum, s.upto, s.pace = b.prior, b.sum, b.upto, b.pace
}
