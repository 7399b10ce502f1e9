package learn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"freshet/internal/freshet"
)

// stateVersion tells states apart whose layout or meaning differs. One of a version
// before oldestVersion is no use: what was learnt is then learnt anew from the log.
const (
	stateVersion   = 13
	withoutSeats   = 12 // did not say in which slots sources lay, in which order sites came and which tags they go by: that is as after a start
	withoutChores  = 11 // had no part of a sweep that was left for later
	withoutClaims  = 10 // had nothing that sitemaps say of how often pages change: it is heard when they are read anew
	withoutWords   = 9  // had nothing that sources say of when they will change: it is learnt from then on
	withoutFigures = 8  // did not count polls that found a change, nor how far copies lay behind: both are guessed
	withoutLessons = 7  // had nothing that was taught: it is taught again
	withoutPushes  = 6  // had no pushes: how far they are true is learnt from then on
	withoutBeats   = 5  // had no minutes of the hour: they are learnt from then on
	withoutIndexes = 4  // had no indexes: what those had said is told again when it changes
	withoutMissed  = 3  // had no changes that are known to have been missed
	oldestVersion  = 2  // had no credit either; it is learnt from then on
)

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
		l.here()
	} else {
		p := l.pages.At(slot)
		p.tick, p.site.tick = uint16(l.open), l.open
	}
	return nil
}

// encode writes or reads what is known of all sources together.
func (l *Learner) encode(c *codec) {
	version := int64(stateVersion)
	c.int(&version)
	c.bad = c.bad || version < oldestVersion || version > stateVersion
	l.restored = version
	if c.writing || version > withoutSeats {
		slots := int64(l.pages.Len())
		c.int(&slots)
		c.bad = c.bad || slots < 0 || slots > math.MaxInt32
	}
	c.expect(l.clock.start)
	c.expect(l.clock.length)
	c.expect(points)
	c.int(&l.open)
	c.flag(&l.began)
	c.float(&l.pace)
	c.float(&l.polls)
	c.floats(l.world[:])
	c.activity(&l.active)
	c.correction(&l.fix)
	if version > oldestVersion {
		c.correction(&l.credit.correction)
	}
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
	if c.writing || version > withoutIndexes {
		l.encodeKinds(c)
	}
	if c.writing || version > withoutPushes {
		c.conviction(&l.pushes.all.bears)
		c.conviction(&l.pushes.all.keeps[byPush])
	}
	if c.writing || version > withoutClaims {
		l.encodeUnclaimed(c)
	}
	if c.writing || version > withoutChores {
		l.todo.encode(c)
	}
	if !c.writing && !c.bad {
		for t := l.open - window + 1; t <= l.open; t++ {
			l.phases[int(uint64(t)%window)] = l.clock.phase(t)
		}
		l.sweep = min(l.sweep, l.pages.Len())
	}
}

// encode writes or reads what is left of a sweep. Else all is done before it is saved.
func (do *chores) encode(c *codec) {
	owed, prior := int64(do.owed), int64(do.prior)
	c.int(&owed)
	c.flag(&do.ending)
	c.int(&prior)
	c.bad = c.bad || owed < 0 || owed > math.MaxInt32 || prior < 0 || prior > math.MaxInt32
	do.owed, do.prior = int(owed), int(prior)
}

// encodeFamilies writes or reads what is known of sources with the same tags.
func (l *Learner) encodeFamilies(c *codec) {
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
	l.encodePage(c, slot)
	withSite := false
	if c.flag(&withSite); !withSite || c.bad {
		return
	}
	at := l.pages.At(slot).site
	at.encode(c)
	if l.restored > withoutClaims {
		at.encodeClaims(c)
	}
	if l.restored > withoutSeats {
		l.readSiteSeat(c, at)
	}
}

// encodePage writes or reads what is known of one source.
func (l *Learner) encodePage(c *codec, slot freshet.Slot) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	if c.writing || l.restored > withoutSeats {
		c.half(uint32(slot)) // where it is put now has been decided: see SeatOf
	}
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
	c.float32s(m.mix[:])
	c.float32s(m.rate[:])
	for _, x := range l.counts.At(slot).all() {
		c.float32(x)
	}
	if c.writing || l.restored > withoutMissed {
		c.float32(&l.counts.At(slot).missed)
	}
	if c.writing || l.restored > withoutFigures {
		c.float32(&l.counts.At(slot).found)
		c.float32(&l.counts.At(slot).behind)
	} else {
		l.counts.At(slot).guessFigures()
	}
	l.encodeOwn(c, slot)
	if c.writing || l.restored > withoutIndexes {
		l.encodeVoices(c, slot)
		l.encodeIndex(c, slot)
	}
	if c.writing || l.restored > withoutBeats {
		l.encodeBeat(c, slot)
	}
	if c.writing || l.restored > withoutPushes {
		l.encodePushes(c, slot)
	}
	if c.writing || l.restored > withoutLessons {
		taught := int64(p.taught)
		c.int(&taught)
		c.bad = c.bad || taught < 0 || taught > math.MaxInt32
		p.taught = int32(taught)
	}
	if c.writing || l.restored > withoutWords {
		l.encodeSays(c, slot)
	}
	if c.writing || l.restored > withoutClaims {
		claim := c.half(uint32(p.claim))
		c.bad = c.bad || claim >= freshet.ChangeFreqs
		p.claim = freshet.ChangeFreq(claim % freshet.ChangeFreqs)
	}
}

// encode writes or reads what is known of a site.
func (s *site) encode(c *codec) {
	c.pool(&s.pool)
	c.profile(s.profile)
	c.flag(&s.dirty)
	c.float(&s.pace)
	c.float(&s.upto)
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

// pool leaves out how many sources there are, which is known from the sources.
func (c *codec) pool(p *pool) {
	c.floats(p.prior[:])
	c.floats(p.sum[:])
}
