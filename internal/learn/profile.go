package learn

import (
	"freshet/internal/freshet"
	"freshet/internal/sched/column"
)

// A profile says how much more or less than usual is to be expected in each bin
// of each cycle: what was seen there, of what was expected there.
type profile struct {
	seen, due [mostBins]float32 // changes attributed to a bin, and expected in it
	factor    bends             // the ratio, drawn towards that of the parent; the mean of a cycle is 1
}

// Bends are the factors of the bins of all cycles.
type bends [mostBins]float32

func newProfile() *profile {
	p := &profile{}
	for i := range p.factor {
		p.factor[i] = 1
	}
	return p
}

// at returns the factor of a tick, over the cycles of a shape.
func (p *profile) at(s *shape, ph phase) float64 { return p.factor.at(s, ph) }

func (b *bends) at(s *shape, ph phase) float64 {
	x := float64(b[ph[byHour]])
	if s[byWeekday] > 0 {
		x *= float64(b[ph[byWeekday]])
	}
	if s[byMinute] > 0 {
		x *= float64(b[ph[byMinute]])
	}
	return x
}

// add counts changes seen and due in a tick.
func (p *profile) add(s *shape, ph phase, seen, due float64) {
	for c, bin := range ph {
		if s[c] > 0 {
			p.seen[bin] += float32(seen)
			p.due[bin] += float32(due / float64(p.factor[bin]))
		}
	}
}

// settle works the factors out again. What the parent thinks (nil: that all bins
// are alike) counts for as many changes as strength says. A profile is about
// when, not how much: what was due is first brought to the level of what was
// seen, or an error of the rate would bend the profile and the profile the rate.
func (p *profile) settle(s *shape, parent *profile, strength float64) {
	for c, n := range s {
		if n == 0 {
			continue
		}
		from := first[c]
		seen, due, factor := p.seen[from:from+n], p.due[from:from+n], p.factor[from:from+n]
		prior := func(i int) float64 {
			if parent == nil {
				return 1
			}
			return float64(parent.factor[from+i])
		}
		found, awaited := 1.0, 1.0
		for i := range factor {
			found += float64(seen[i])
			awaited += float64(due[i]) * prior(i)
		}
		level, sum := found/awaited, 0.0
		for i := range factor {
			x := (strength*prior(i) + around(seen, i)) / (strength + level*around(due, i))
			factor[i] = float32(x)
			sum += x
		}
		for i := range factor {
			factor[i] *= float32(float64(n) / sum)
		}
	}
}

// around returns a value smoothed with its neighbours on the circle, if there
// are enough of them for neighbours to be alike.
func around(bins []float32, i int) float64 {
	n := len(bins)
	if n < 12 {
		return float64(bins[i])
	}
	return float64(bins[(i+n-1)%n])/4 + float64(bins[i])/2 + float64(bins[(i+1)%n])/4
}

// Sources have profiles of their own, of the hours of the day and, where all can be polled
// often, of the minutes of the hour. There are as many of them as sources, so they keep what
// was seen and due, and work out a factor when it is asked for. It is that of a
// [profile] without a parent, to the bit.

// An hours is the profile that a source has of the hours of the day.
type hours struct {
	level     float64 // of what was seen to what was due, when that was last settled
	seen, due [24]float32
	scale     float32 // that makes the mean of the factors 1
}

// A minutes is the profile that a source has of the minutes of the hour, by fives.
type minutes struct {
	level     float64
	seen, due [12]float32
	scale     float32
}

// An own is the profile that a source has for itself.
type own struct {
	hours   *hours   // nil while sources are seen too rarely to have one
	minutes *minutes // nil while they are for that
	shape   *shape   // of all profiles
}

// profiles are how the hours, weekdays and minutes bend what is expected of sources.
type profiles struct {
	snapshots
	common   *profile                           // of all sources
	ownShape shape                              // of the profiles that sources have for themselves; zero while they have none
	hours    column.Some[freshet.Slot, hours]   // these profiles
	minutes  column.Some[freshet.Slot, minutes] // of some of those
}

// ownOf returns the profile that a source has for itself.
func (l *profiles) ownOf(slot freshet.Slot) own {
	o := own{hours: l.hours.At(slot), shape: &l.clock.shape}
	if o.hours != nil {
		o.minutes = l.minutes.At(slot)
	}
	return o
}

// beginOwn gives a source a profile of its own, if sources have one.
func (l *profiles) beginOwn(slot freshet.Slot) {
	if l.ownShape[byHour] == 0 || l.hours.At(slot) != nil {
		return
	}
	l.newHours(slot)
	p := l.pages.At(slot)
	p.mass, p.tick = max(0, float64(l.open)-p.last), uint16(l.open)
}

// ownToAdd is as ownOf, with all cycles that are counted.
func (l *profiles) ownToAdd(slot freshet.Slot) own {
	if l.ownShape[byMinute] > 0 && l.hours.At(slot) != nil && l.minutes.At(slot) == nil {
		l.newMinutes(slot)
	}
	return l.ownOf(slot)
}

func (l *profiles) newHours(slot freshet.Slot) *hours {
	h := l.hours.Make(slot)
	h.level, h.scale = 1, 1
	return h
}

func (l *profiles) newMinutes(slot freshet.Slot) *minutes {
	m := l.minutes.Make(slot)
	m.level, m.scale = 1, 1
	return m
}

// dropOwn takes the profile from a source.
func (l *profiles) dropOwn(slot freshet.Slot) {
	l.hours.Drop(slot)
	l.minutes.Drop(slot)
}

// is reports whether there is one.
func (o own) is() bool { return o.hours != nil }

// hour and minute return the factor of a bin.
func (o own) hour(bin int) float32 {
	n := o.shape[byHour]
	return ownFactor(o.hours.seen[:n], o.hours.due[:n], bin, o.hours.level, o.hours.scale)
}

func (o own) minute(bin int) float32 {
	if o.minutes == nil {
		return 1
	}
	return ownFactor(o.minutes.seen[:], o.minutes.due[:], bin, o.minutes.level, o.minutes.scale)
}

// at returns the factor of a tick, over the cycles of a shape.
func (o own) at(s *shape, ph phase) float64 {
	x := float64(o.hour(int(ph[byHour])))
	if s[byMinute] > 0 {
		x *= float64(o.minute(int(ph[byMinute]) - first[byMinute]))
	}
	return x
}

// bends returns all factors.
func (o own) bends() (b bends) {
	for i := range b {
		b[i] = 1
	}
	for i := range o.shape[byHour] {
		b[i] = o.hour(i)
	}
	if o.minutes != nil {
		for i := range o.minutes.seen {
			b[first[byMinute]+i] = o.minute(i)
		}
	}
	return b
}

// add counts changes seen and due in a tick, where what was due does not heed the profile.
// The factors hold again once it is settled.
func (o own) add(s *shape, ph phase, seen, due float64) {
	o.hours.seen[ph[byHour]] += float32(seen)
	o.hours.due[ph[byHour]] += float32(due)
	if s[byMinute] > 0 {
		bin := int(ph[byMinute]) - first[byMinute]
		o.minutes.seen[bin] += float32(seen)
		o.minutes.due[bin] += float32(due)
	}
}

// settle brings the factors up to what is counted.
func (o own) settle() {
	h, m, n := o.hours, o.minutes, o.shape[byHour]
	h.level, h.scale = settleOwn(h.seen[:n], h.due[:n])
	if m != nil {
		m.level, m.scale = settleOwn(m.seen[:], m.due[:])
	}
}

// bin returns what is known of one bin, by its place in a [profile].
func (o own) bin(bin int) (factor, seen, due float32) {
	switch {
	case bin < o.shape[byHour]:
		return o.hour(bin), o.hours.seen[bin], o.hours.due[bin]
	case bin >= first[byMinute] && o.minutes != nil:
		i := bin - first[byMinute]
		return o.minute(i), o.minutes.seen[i], o.minutes.due[i]
	}
	return 1, 0, 0
}

// ownFactor returns the factor of a bin of a cycle, by what settleOwn returned.
func ownFactor(seen, due []float32, i int, level float64, scale float32) float32 {
	return float32(ownRatio(seen, due, i, level)) * scale
}

func ownRatio(seen, due []float32, i int, level float64) float64 {
	return (ownGrip + around(seen, i)) / (ownGrip + level*around(due, i))
}

// settleOwn returns by what the factors of a cycle are worked out.
func settleOwn(seen, due []float32) (level float64, scale float32) {
	found, awaited := 1.0, 1.0
	for i := range seen {
		found += float64(seen[i])
		awaited += float64(due[i])
	}
	level = found / awaited
	sum := 0.0
	for i := range seen {
		sum += ownRatio(seen, due, i, level)
	}
	return level, float32(float64(len(seen)) / sum)
}

// encodeOwn writes or reads the profile that a source has for itself, as one of all cycles.
func (l *profiles) encodeOwn(c *codec, slot freshet.Slot) {
	o := l.ownOf(slot)
	has := o.is()
	if c.flag(&has); !has || c.bad {
		return
	}
	var whole profile
	if c.writing {
		for i := range whole.factor {
			whole.factor[i], whole.seen[i], whole.due[i] = o.bin(i)
		}
		c.profile(&whole)
		return
	}
	c.profile(&whole)
	l.dropOwn(slot)
	h := l.newHours(slot)
	copy(h.seen[:], whole.seen[:])
	copy(h.due[:], whole.due[:])
	inHour, dueInHour := [12]float32(whole.seen[first[byMinute]:]), [12]float32(whole.due[first[byMinute]:])
	if none := ([12]float32{}); inHour != none || dueInHour != none {
		m := l.newMinutes(slot)
		m.seen, m.due = inHour, dueInHour
	}
	l.ownOf(slot).settle()
}
