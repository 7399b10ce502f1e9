package learn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
)

// stateVersion tells states apart whose layout or meaning differs. A state of another
// version is no use: the log is then learned from again.
const stateVersion = 17

// ErrForeignState means that a saved state is damaged, or of a Learner that is
// set otherwise, and that the log has to be gone through again.
var ErrForeignState = errors.New("not a state of this learner")

// Restore takes over a part of what Save showed. The sources must have been put.
// After an error the Learner is of no use.
func (l *Learner) Restore(slot freshet.Slot, memory []byte) error {
	l.shot = nil
	r := &codec{data: memory}
	switch {
	case slot < 0:
		l.encode(r)
	case int(slot) < l.pages.Len() && l.pages.At(slot).site != nil:
		l.readSource(r, slot)
	default:
		return fmt.Errorf("there is no source in slot %d: %w", slot, ErrForeignState)
	}
	if r.bad || len(r.data) > 0 {
		return ErrForeignState
	}
	if slot < 0 {
		l.allEntered()
	} else {
		p := l.pages.At(slot)
		p.tick, p.site.tick = uint16(l.open), l.open
	}
	return nil
}

// encode writes or reads what is known of all sources together.
func (l *Learner) encode(c *codec) {
	c.expect(stateVersion)
	slots := int64(l.pages.Len()) // not used
	c.int(&slots)
	c.bad = c.bad || slots < 0 || slots > math.MaxInt32
	c.expect(l.clock.start)
	c.expect(l.clock.length)
	c.expect(points)
	c.int(&l.open)
	c.flag(&l.began)
	c.float(&l.pace)
	c.float(&l.usual)
	c.float(&l.polls)
	c.floats(l.world[:])
	c.activity(&l.active)
	c.correction(&l.fix)
	c.correction(&l.credit.correction)
	upto, sweep := int64(l.upto), int64(l.sweep)
	c.int(&upto)
	c.int(&sweep)
	c.bad = c.bad || sweep < 0
	l.upto, l.sweep = freshet.Cursor(upto), int(sweep)
	for i := range l.ownShape {
		n := int64(l.ownShape[i])
		c.int(&n)
		c.bad = c.bad || n != 0 && n != int64(l.clock.shape[i])
		l.ownShape[i] = int(n)
	}
	c.float(&l.scale.from)
	for i := range l.reliability {
		bin := &l.reliability[i]
		c.float(&bin.Polls)
		c.float(&bin.Chance)
		c.float(&bin.Found)
	}
	c.profile(l.common)
	c.pool(&l.all)
	l.encodeFamilies(c)
	c.kinTrust(&l.groups.found)
	c.kinTrust(&l.groups.trust)
	l.hints.encodeKinds(c)
	c.conviction(&l.pushes.all.bears)
	c.conviction(&l.pushes.all.keeps[byPush])
	l.hints.encodeUnclaimed(c)
	l.todo.encode(c)
	c.flag(&l.swept)
	c.floats(l.bursts.mix[:])
	c.floats(l.bursts.found[:])
	c.floats(l.bursts.due[:])
	if !c.writing && !c.bad {
		for t := l.open - window + 1; t <= l.open; t++ {
			l.phases[int(uint64(t)%window)] = l.clock.phase(t)
		}
		l.sweep = min(l.sweep, l.pages.Len())
		l.groups.made++
	}
}

// encode writes or reads what is left of a sweep. Else all is done before it is saved.
func (do *pendingWork) encode(c *codec) {
	owed, prior := int64(do.owed), int64(do.prior)
	c.int(&owed)
	c.flag(&do.ending)
	c.int(&prior)
	c.bad = c.bad || owed < 0 || owed > math.MaxInt32 || prior < 0 || prior > math.MaxInt32
	do.owed, do.prior = int(owed), int(prior)
}

// encodeFamilies writes or reads what is known of sources with the same tags.
func (l *population) encodeFamilies(c *codec) {
	n := int64(0)
	for _, f := range l.tags {
		if f.sites > 0 {
			n++
		}
	}
	c.int(&n)
	if c.writing {
		for _, key := range slices.Sorted(maps.Keys(l.tags)) {
			if f := l.tags[key]; f.sites > 0 {
				c.text(&key)
				c.pool(&f.pool)
			}
		}
		return
	}
	for range n {
		var key string
		var p pool
		c.text(&key)
		c.pool(&p)
		if c.bad {
			return
		}
		l.familyNamed(key).pool = p
	}
}

// readSource reads what was known of a source, and of its site if it was the first of that.
func (l *Learner) readSource(c *codec, slot freshet.Slot) {
	var was contribution
	l.contribute(slot, &was)
	l.encodePage(c, slot)
	l.recontribute(slot, &was)
	withSite := false
	if c.flag(&withSite); !withSite || c.bad {
		return
	}
	at := l.pages.At(slot).site
	at.encode(c)
	at.encodeClaims(c)
	l.readSitePlace(c, at)
}

// writePlace writes the position of a site among all sites, and its tags. A learner
// renews sites in the order of their positions, and sums of floating-point numbers
// depend on that.
func (s *site) writePlace(c *codec) {
	place, tagged := int64(s.place), s.family != nil
	c.int(&place)
	if c.flag(&tagged); tagged {
		c.text(&s.family.key)
	}
}

// readSitePlace moves a site to its saved position, and gives it its saved tags. All
// saved positions differ, so that no site is moved twice.
func (l *population) readSitePlace(c *codec, s *site) {
	place, tagged, key := int64(0), false, ""
	c.int(&place)
	if c.flag(&tagged); tagged {
		c.text(&key)
	}
	if c.bad = c.bad || place < 0; c.bad {
		return
	}
	if tagged {
		s.join(l.familyNamed(key))
	} else {
		s.join(nil)
	}
	if place < int64(len(l.sites)) { // some may have gone since
		other := l.sites[place]
		l.sites[s.place], other.place = other, s.place
		l.sites[place], s.place = s, int(place)
	}
}

// encodePage writes or reads what is known of one source.
func (l *Learner) encodePage(c *codec, slot freshet.Slot) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	c.half(uint32(slot)) // not used: it is in another slot now
	c.float(&p.last)
	c.float(&p.upto)
	c.float(&p.mass)
	c.float32(&p.rate)
	c.float32(&p.trust)
	isUnseen := p.kind&unseen != 0
	c.flag(&isUnseen)
	if p.kind &^= unseen; isUnseen {
		p.kind |= unseen
	}
	for k := range m.of {
		c.float32s(m.of[k][:])
		c.bad = c.bad || slices.Max(m.of[k][:]) != 0 // as the best is
	}
	if !c.writing {
		l.noteBlank(slot)
	}
	c.float32s(m.mix[:])
	c.float32s(m.rate[:])
	for _, x := range l.counts.At(slot).all() {
		c.float32(x)
	}
	c.float32(&l.counts.At(slot).missed)
	c.float32(&l.counts.At(slot).found)
	c.float32(&l.counts.At(slot).behind)
	bursts := &l.counts.At(slot).bursts
	c.float32s(bursts.underWay[:])
	c.float32s(bursts.fit[:])
	c.float32s(bursts.happened[:])
	c.float32(&bursts.plain)
	c.float32(&bursts.room)
	l.encodeOwn(c, slot)
	l.hints.encodeHints(c, slot)
	l.hints.encodeIndex(c, slot)
	l.minutely.encode(c, slot)
	l.pushes.encode(c, slot)
	imported := int64(p.imported)
	c.int(&imported)
	c.bad = c.bad || imported < 0 || imported > math.MaxInt32
	p.imported = int32(imported)
	l.announced.encode(c, slot)
	claim := c.half(uint32(p.claim))
	c.bad = c.bad || claim >= evidence.ChangeFreqs
	p.claim = evidence.ChangeFreq(claim % evidence.ChangeFreqs)
}

// encode writes or reads what is known of a site.
func (s *site) encode(c *codec) {
	c.pool(&s.pool)
	c.profile(s.profile)
	c.flag(&s.dirty)
	c.float(&s.pace)
	c.float(&s.upto)
	trusts := s.kinTrust != nil
	if c.flag(&trusts); trusts && !c.bad {
		if s.kinTrust == nil {
			s.kinTrust = &kinTrust{}
		}
		c.kinTrust(s.kinTrust)
	}
	if !c.writing {
		s.stamp++
	}
	has := s.pulse != nil
	c.flag(&has)
	if !has || c.bad {
		return
	}
	if s.pulse == nil {
		s.pulse = newPulse()
	}
	c.activity(&s.pulse.activity)
	c.float32s(s.pulse.pace[:])
}

// A codec writes values, or reads the same values in the same order.
type codec struct {
	writing bool
	data    []byte
	bad     bool // there was less, or other, to read than expected
}

// word writes or reads 64 bits.
func (c *codec) word(x uint64) uint64 {
	switch {
	case c.writing:
		c.data = binary.LittleEndian.AppendUint64(c.data, x)
	case c.bad || len(c.data) < 8:
		c.bad = true
	default:
		x = binary.LittleEndian.Uint64(c.data)
		c.data = c.data[8:]
	}
	return x
}

// half writes or reads 32 bits.
func (c *codec) half(x uint32) uint32 {
	switch {
	case c.writing:
		c.data = binary.LittleEndian.AppendUint32(c.data, x)
	case c.bad || len(c.data) < 4:
		c.bad = true
	default:
		x = binary.LittleEndian.Uint32(c.data)
		c.data = c.data[4:]
	}
	return x
}

func (c *codec) int(x *int64) { *x = int64(c.word(uint64(*x))) }
func (c *codec) float(x *float64) {
	*x = math.Float64frombits(c.word(math.Float64bits(*x)))
	c.bad = c.bad || math.IsNaN(*x)
}

func (c *codec) float32(x *float32) {
	*x = math.Float32frombits(c.half(math.Float32bits(*x)))
	c.bad = c.bad || *x != *x
}

func (c *codec) flag(x *bool) {
	n := uint32(0)
	if *x {
		n = 1
	}
	*x = c.half(n) != 0
}

// expect writes a number, or reads one that has to be the same.
func (c *codec) expect(n int64) {
	if got := int64(c.word(uint64(n))); got != n {
		c.bad = true
	}
}

func (c *codec) floats(xs []float64) {
	for i := range xs {
		c.float(&xs[i])
	}
}

func (c *codec) float32s(xs []float32) {
	if c.writing { // most of a state, so all at once
		n := len(c.data)
		c.data = slices.Grow(c.data, 4*len(xs))[:n+4*len(xs)]
		for i, x := range xs {
			binary.LittleEndian.PutUint32(c.data[n+4*i:], math.Float32bits(x))
		}
		return
	}
	for i := range xs {
		c.float32(&xs[i])
	}
}

// mostText bounds what is read as a text.
const mostText = 1 << 16

func (c *codec) text(s *string) {
	n := c.half(uint32(len(*s)))
	switch {
	case c.writing:
		c.data = append(c.data, *s...)
	case c.bad || n > mostText || int(n) > len(c.data):
		c.bad = true
	default:
		*s = string(c.data[:n])
		c.data = c.data[n:]
	}
}

func (c *codec) profile(p *profile) {
	c.float32s(p.seen[:])
	c.float32s(p.due[:])
	c.float32s(p.factor[:])
}

func (c *codec) correction(x *correction) {
	c.floats(x.weight[:])
	for i := range x.doubt {
		c.floats(x.doubt[i][:])
	}
}

func (c *codec) activity(a *activity) {
	c.float32s(a.seen[:])
	c.float32s(a.due[:])
}

func (c *codec) kinTrust(t *kinTrust) {
	for i := range t {
		c.floats(t[i][:])
	}
}

// pool leaves out how many sources there are, which is known from the sources.
func (c *codec) pool(p *pool) {
	c.floats(p.prior[:])
	c.floats(p.sum[:])
}

// encode writes or reads the minutes of the hour to which a source keeps. What
// follows from the changes is worked out again.
func (l *minuteRhythms) encode(c *codec, slot freshet.Slot) {
	b := l.of[slot]
	is := b != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if b == nil {
		b = &minuteRhythm{}
		l.of[slot] = b
	}
	b.since = c.half(b.since)
	seen := c.half(b.seen)
	c.flag(&b.good)
	for _, x := range []*float32{&b.kept, &b.score, &b.found} {
		c.float32(x)
	}
	c.bad = c.bad || b.kept > mostSure || b.score > mostSure || !isShare(float64(b.found))
	n := c.length(len(b.changes), rhythmChanges)
	if !c.writing {
		b.changes = make([]stamp, n)
	}
	for i := range b.changes {
		s := &b.changes[i]
		s.at = c.half(s.at)
		hidden := c.half(uint32(s.hidden))
		s.hidden = uint16(hidden)
		c.bad = c.bad || hidden != uint32(s.hidden) || i > 0 && s.at < b.changes[i-1].at
	}
	if !c.writing && !c.bad {
		b.lookBack(seen)
	}
}

// encode writes or reads what a source says of when it will change.
func (l *announcements) encode(c *codec, slot freshet.Slot) {
	s := l.of[slot]
	is := s != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if s == nil {
		s = &announcer{}
		l.of[slot] = s
	}
	n := c.length(len(s.list), evidence.NextKinds)
	if c.bad {
		return
	}
	if !c.writing {
		s.list = make([]announcement, n)
	}
	for i := range s.list {
		c.announcement(&s.list[i])
	}
	s.rests = evidence.QuietHours(c.half(uint32(s.rests)))
	c.bad = c.bad || !s.rests.Sound()
	if s.rests != 0 {
		c.conviction(&s.rest.keeps)
		c.tally(&s.rest.right, &s.rest.times)
		s.rest.renew()
	}
}

func (c *codec) announcement(t *announcement) {
	by := c.half(uint32(t.by))
	c.bad = c.bad || by >= evidence.NextKinds
	t.by = evidence.NextKind(by)
	c.flag(&t.open)
	for _, x := range []*float64{&t.at, &t.every, &t.told, &t.last} {
		c.float(x)
	}
	c.conviction(&t.bears)
	c.conviction(&t.keeps)
	c.float32(&t.late)
	c.tally(&t.right, &t.times)
	c.zone(&t.zone)
	c.bad = c.bad || !(t.every >= 0) || !(t.late >= 0)
	t.renew()
}

// tally writes or reads how often something was right.
func (c *codec) tally(right, times *float32) {
	c.float32(right)
	c.float32(times)
	c.bad = c.bad || !(*right >= 0) || !(*times >= *right)
}

// encodeKinds writes or reads how far indexes of each kind can be believed.
func (l *indexHints) encodeKinds(c *codec) {
	l.made = c.half(l.made)
	for i := range l.kinds {
		c.conviction(&l.kinds[i].bears)
		for j := range l.kinds[i].keeps {
			c.conviction(&l.kinds[i].keeps[j])
		}
	}
}

// encodeHints writes or reads what indexes say of a page.
func (l *indexHints) encodeHints(c *codec, slot freshet.Slot) {
	n := 0
	if int(slot) < len(l.hints) {
		n = len(l.hints[slot])
	}
	if n = c.length(n, mostHints); n == 0 {
		return
	}
	for int(slot) >= len(l.hints) {
		l.hints = append(l.hints, nil)
	}
	list := slices.Grow(l.hints[slot][:min(n, len(l.hints[slot]))], n)[:n]
	for i := range list {
		v := &list[i]
		c.slot(&v.slot)
		v.id = c.half(v.id)
		c.float(&v.dated)
		c.float(&v.told)
		c.float(&v.clear)
		v.moves = int32(c.half(uint32(v.moves)))
		c.bad = c.bad || v.moves < 0 || v.moves > mostMoves
	}
	l.hints[slot] = list
}

// encodeIndex writes or reads what is known of an index.
func (l *indexHints) encodeIndex(c *codec, slot freshet.Slot) {
	in := l.indexAt(slot)
	is := in != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if in == nil {
		spoke := l.made
		in = l.newIndex(slot, 0)
		l.made = spoke
	}
	kind := uint32(in.kind)
	kind = c.half(kind)
	c.bad = c.bad || kind >= evidence.IndexKinds
	in.kind = evidence.IndexKind(kind % evidence.IndexKinds)
	in.id = c.half(in.id)
	for _, x := range []*float64{&in.read, &in.from, &in.last, &in.finds, &in.trust.borneOut, &in.trust.leaks[0], &in.trust.leaks[1]} {
		c.float(x)
	}
	c.bad = c.bad || !isShare(in.finds) || !isShare(in.trust.borneOut) || !isShare(in.trust.leaks[0]) || !isShare(in.trust.leaks[1])
	c.conviction(&in.trust.bears)
	c.conviction(&in.trust.keeps[0])
	c.conviction(&in.trust.keeps[1])
	c.float32(&in.trust.right)
	c.float32(&in.trust.times)
	n := c.length(len(in.waiting), mostWaiting)
	if !c.writing {
		in.waiting = make([]untold, n)
	}
	for i := range in.waiting {
		u := &in.waiting[i]
		c.slot(&u.slot)
		for _, x := range []*float64{&u.at, &u.quiet, &u.rest, &u.read} {
			c.float(x)
		}
		c.bad = c.bad || !(u.quiet >= 0) || !(u.rest >= 0) || math.IsInf(u.quiet+u.rest, 1)
	}
	l.encodeUnmatched(c, slot, in.id)
}

// encode writes or reads how far pushes of a source can be believed.
func (l *pushes) encode(c *codec, slot freshet.Slot) {
	is := l.of[slot] != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	t := l.from(slot)
	c.float(&t.borneOut)
	c.float(&t.leaks[byPush])
	c.bad = c.bad || !isShare(t.borneOut) || !isShare(t.leaks[byPush])
	c.conviction(&t.bears)
	c.conviction(&t.keeps[byPush])
	c.float32(&t.right)
	c.float32(&t.times)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// encodeUnmatched writes or reads what an index says of pages that are no sources.
func (l *indexHints) encodeUnmatched(c *codec, slot freshet.Slot, id uint32) {
	var keys []crawl.PageKey
	if c.writing {
		for key, u := range l.unmatched {
			if u[0].id == id || u[1].id == id {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	n := c.length(len(keys), mostUnmatched)
	for i := range n {
		var key crawl.PageKey
		var note hintNote
		place := uint32(0)
		if c.writing {
			key = keys[i]
			if u := l.unmatched[key]; u[0].id == id {
				note = u[0]
			} else {
				note, place = u[1], 1
			}
		}
		key = crawl.PageKey(c.word(uint64(key)))
		place = c.half(place)
		c.float(&note.dated)
		if c.bad = c.bad || place > 1; c.bad {
			return
		}
		if _, known := l.keys[key]; !c.writing && !known {
			u := l.unmatched[key]
			u[place] = hintNote{slot, id, note.dated}
			l.unmatched[key] = u
		}
	}
}

// length writes or reads how many there are of something.
func (c *codec) length(n, most int) int {
	n = int(c.half(uint32(n)))
	if c.bad || n > most {
		c.bad = true
		return 0
	}
	return n
}

// slot writes or reads a slot.
func (c *codec) slot(s *freshet.Slot) {
	*s = freshet.Slot(c.half(uint32(*s)))
	c.bad = c.bad || *s < 0
}

// conviction writes or reads a conviction, whose best is 0.
func (c *codec) conviction(x *conviction) {
	c.float32s(x[:])
	c.bad = c.bad || slices.Max(x[:]) != 0
}
