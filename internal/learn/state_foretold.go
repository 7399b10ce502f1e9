package learn

import "freshet/internal/freshet"

// encodeSays writes or reads what a source says of when it will change.
func (l *Learner) encodeSays(c *codec, slot freshet.Slot) {
	s := l.says[slot]
	is := s != nil
	if c.flag(&is); !is || c.bad {
		return
	}
	if s == nil {
		s = &sayer{}
		l.says[slot] = s
	}
	n := c.length(len(s.tellings), freshet.NextKinds)
	if c.bad {
		return
	}
	if !c.writing {
		s.tellings = make([]telling, n)
	}
	for i := range s.tellings {
		c.telling(&s.tellings[i])
	}
	s.rests = freshet.Rests(c.half(uint32(s.rests)))
	c.bad = c.bad || !s.rests.Sound()
	if s.rests != 0 {
		c.conviction(&s.rest.keeps)
		c.tally(&s.rest.right, &s.rest.times)
		s.rest.renew()
	}
}

func (c *codec) telling(t *telling) {
	by := c.half(uint32(t.by))
	c.bad = c.bad || by >= freshet.NextKinds
	t.by = freshet.NextKind(by)
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
