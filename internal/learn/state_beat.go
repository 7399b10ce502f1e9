package learn

import "freshet/internal/freshet"

// encodeBeat writes or reads the minutes of the hour to which a source keeps. What
// follows from the changes is worked out anew.
func (l *Learner) encodeBeat(c *codec, slot freshet.Slot) {
	b := l.beats[slot]
	is := b != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if b == nil {
		b = &beat{}
		l.beats[slot] = b
	}
	b.since = c.half(b.since)
	seen := c.half(b.seen)
	c.flag(&b.good)
	for _, x := range []*float32{&b.kept, &b.score, &b.found} {
		c.float32(x)
	}
	c.bad = c.bad || b.kept > mostSure || b.score > mostSure || !isShare(float64(b.found))
	n := c.length(len(b.changes), beatChanges)
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
