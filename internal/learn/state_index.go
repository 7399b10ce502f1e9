package learn

import (
	"math"
	"slices"

	"freshet/internal/freshet"
)

// encodeKinds writes or reads how far indexes of each kind can be believed.
func (l *Learner) encodeKinds(c *codec) {
	l.spoke = c.half(l.spoke)
	for i := range l.kinds {
		c.conviction(&l.kinds[i].bears)
		for j := range l.kinds[i].keeps {
			c.conviction(&l.kinds[i].keeps[j])
		}
	}
}

// encodeVoices writes or reads what indexes say of a page.
func (l *Learner) encodeVoices(c *codec, slot freshet.Slot) {
	n := 0
	if int(slot) < len(l.heard) {
		n = len(l.heard[slot])
	}
	if n = c.length(n, mostVoices); n == 0 {
		return
	}
	for int(slot) >= len(l.heard) {
		l.heard = append(l.heard, nil)
	}
	list := slices.Grow(l.heard[slot][:min(n, len(l.heard[slot]))], n)[:n]
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
	l.heard[slot] = list
}

// encodeIndex writes or reads what is known of an index.
func (l *Learner) encodeIndex(c *codec, slot freshet.Slot) {
	in := l.voiceOf(slot)
	is := in != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if in == nil {
		spoke := l.spoke
		in = l.newIndex(slot, 0)
		l.spoke = spoke
	}
	kind := uint32(in.kind)
	kind = c.half(kind)
	c.bad = c.bad || kind >= freshet.IndexKinds
	in.kind = freshet.IndexKind(kind % freshet.IndexKinds)
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
	l.encodeUnmet(c, slot, in.id)
}

// encodePushes writes or reads how far pushes of a source can be believed.
func (l *Learner) encodePushes(c *codec, slot freshet.Slot) {
	is := l.pushes.of[slot] != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	t := l.pushes.from(slot)
	c.float(&t.borneOut)
	c.float(&t.leaks[byPush])
	c.bad = c.bad || !isShare(t.borneOut) || !isShare(t.leaks[byPush])
	c.conviction(&t.bears)
	c.conviction(&t.keeps[byPush])
	c.float32(&t.right)
	c.float32(&t.times)
}

func isShare(x float64) bool { return x >= 0 && x <= 1 }

// encodeUnmet writes or reads what an index says of pages that are no sources.
func (l *Learner) encodeUnmet(c *codec, slot freshet.Slot, id uint32) {
	var keys []freshet.PageKey
	if c.writing {
		for key, u := range l.unmet {
			if u[0].id == id || u[1].id == id {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	n := c.length(len(keys), mostUnmet)
	for i := range n {
		var key freshet.PageKey
		var note voiceNote
		place := uint32(0)
		if c.writing {
			key = keys[i]
			if u := l.unmet[key]; u[0].id == id {
				note = u[0]
			} else {
				note, place = u[1], 1
			}
		}
		key = freshet.PageKey(c.word(uint64(key)))
		place = c.half(place)
		c.float(&note.dated)
		if c.bad = c.bad || place > 1; c.bad {
			return
		}
		if _, known := l.keys[key]; !c.writing && !known {
			u := l.unmet[key]
			u[place] = voiceNote{slot, id, note.dated}
			l.unmet[key] = u
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
