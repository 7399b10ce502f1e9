package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// A zoneGuess finds out in which time zone a source means the times that it names without
// one: that in which changes come when they are told. Each poll is held against what every
// zone would have it find. Zones are whole hours; the few others are not found.
type zoneGuess struct {
	fits    [zones]float32 // logarithm of how well each fits; that of the best is 0
	hours   int            // of the zone that is gone by, ahead of UTC
	raw     float64        // the moment that was told last, if it was meant in UTC; NaN if none is
	told    float64        // when
	dayless bool           // it is a time of day
}

const (
	zones       = 27
	westernmost = -12

	zoneKeeps = 0.97 // of what was seen, by a poll
	zoneTrue  = 0.8  // how often a source is taken to tell the truth
	zoneLeaks = 0.5
	surelyNot = 3 // how much better another zone has to fit to be gone by, as a logarithm
	zoneMost  = 10
)

// moment returns when what was told is meant, if the clock of the source is so many hours
// ahead.
func (z *zoneGuess) moment(hours int, c *clock) float64 {
	hour := time.Hour.Seconds() / c.seconds()
	at := z.raw - float64(hours)*hour
	if z.dayless {
		day := 24 * hour
		at += day * math.Ceil((z.told-at)/day)
	}
	return at
}

// hear takes in a moment that was told at x.
func (z *zoneGuess) hear(raw, x float64, dayless bool) { z.raw, z.told, z.dayless = raw, x, dayless }

// see holds the zones against a poll at x that was made after one at last, where so many
// changes were expected. It reports whether another one is gone by from now on.
func (z *zoneGuess) see(c *clock, last, x, whole float64, changed bool) bool {
	if math.IsNaN(z.raw) || !(x > last) {
		return false
	}
	top := math.Inf(-1)
	for i := range z.fits {
		likely := -math.Expm1(-zoneLeaks * whole)
		if m := z.moment(i+westernmost, c); m > last && m <= x {
			likely = zoneTrue + (1-zoneTrue)*likely
		}
		if !changed {
			likely = 1 - likely
		}
		z.fits[i] = zoneKeeps*z.fits[i] + float32(math.Log(bounded(likely)))
		top = max(top, float64(z.fits[i]))
	}
	best := z.hours
	for i := range z.fits {
		z.fits[i] = max(z.fits[i]-float32(top), -zoneMost)
		if z.fits[i] == 0 {
			best = i + westernmost
		}
	}
	if z.fits[z.hours-westernmost] > -surelyNot {
		return false
	}
	z.hours = best
	return true
}

// zone writes or reads a guess at a zone.
func (c *codec) zone(z **zoneGuess) {
	has := *z != nil
	if c.flag(&has); !has || c.bad {
		return
	}
	if *z == nil {
		*z = &zoneGuess{}
	}
	g := *z
	c.float32s(g.fits[:])
	hours := int64(g.hours)
	c.int(&hours)
	if c.bad = c.bad || hours < westernmost || hours >= westernmost+zones; c.bad {
		return
	}
	g.hours = int(hours)
	told := !math.IsNaN(g.raw)
	if c.flag(&told); !told {
		g.raw = math.NaN()
		return
	}
	c.float(&g.raw)
	c.float(&g.told)
	c.flag(&g.dayless)
}

// inZone returns what is told by words that name no zone, as it is meant by what is known.
// Words that name one, or no moment, end the guess.
func (t *telling) inZone(l *Learner, n freshet.NextWord, at, x float64) float64 {
	if n.At.IsZero() {
		if t.zone != nil {
			t.zone.raw = math.NaN()
		}
		return at
	}
	if !n.Zoneless {
		t.zone = nil
		return at
	}
	if t.zone == nil {
		t.zone = &zoneGuess{}
	}
	t.zone.hear(at, x, n.Dayless && n.Every == 0)
	return t.zone.moment(t.zone.hours, &l.clock)
}

// seeZone holds the zone of what is told against a poll at x. In another zone than before,
// nothing is known of how far the words are true.
func (t *telling) seeZone(l *Learner, last, x, whole float64, changed bool) {
	if t.zone == nil || !t.zone.see(&l.clock, last, x, whole, changed) {
		return
	}
	zone, every, told := t.zone, t.every, t.told
	*t = newTelling(t.by)
	t.zone, t.every, t.told = zone, every, told
	if t.at = zone.moment(zone.hours, &l.clock); every > 0 {
		t.at += every * max(0, math.Ceil((x-t.at)/every))
	}
	t.open = t.at > x
}
