package noise

import "slices"

// learn takes down what differed in a step.
func (m *Memory) learn(d difference, version uint64) {
	if slices.Contains(m.versions, version) {
		m.returns |= 1
	}
	if m.versions = append(m.versions, version); len(m.versions) > mostVersions {
		m.versions = m.versions[1:]
	}
	if d.coarse {
		return
	}
	if d.moved {
		m.order |= 1
		m.moves++
	}
	for _, p := range d.pairs {
		for _, i := range p.differ {
			// That an age grows is known; what is learnt is whether it starts anew.
			if p.new.tokens[i].kind != Age || !grownOlder(p.old.token(i), p.new.token(i)) {
				m.learnPlace(p, i)
			}
		}
		m.learnLine(p.old)
		m.learnLine(p.new)
	}
	for _, l := range d.loose {
		m.learnGap(l)
	}
	for _, l := range d.loose {
		m.learnLine(l)
	}
}

func (m *Memory) learnPlace(p pair, i int) {
	key := p.placeKey(i)
	at := slices.IndexFunc(m.places, func(p place) bool { return p.key == key })
	if at < 0 {
		m.places, at = room(m.places, mostPlaces, func(p place) habit { return p.habit })
		m.places[at] = place{key: key, kind: p.new.tokens[i].kind}
	}
	known := &m.places[at]
	if known.habit&1 == 0 {
		known.habit |= 1
		known.times++
	}
	known.pattern = shorten(p.around(i))
}

// learnGap takes down that lines came and went after one that stayed, and whether
// they had been there before.
func (m *Memory) learnGap(l line) {
	at := slices.IndexFunc(m.gaps, func(g gap) bool { return g.key == l.before })
	if at < 0 {
		m.gaps, at = room(m.gaps, mostGaps, func(g gap) habit { return g.habit })
		m.gaps[at] = gap{key: l.before}
	}
	g := &m.gaps[at]
	if g.habit&1 == 0 {
		g.habit |= 1
		g.times++
	}
	if g.sample == "" || l.added {
		g.sample = shorten(l.text)
	}
	if !l.added {
		return
	}
	if g.added >= 60 { // what was long ago counts for less
		g.added, g.again = g.added/2, g.again/2
	}
	g.added++
	if _, known := m.comer(l.hash); known {
		g.again++
	}
}

func (m *Memory) learnLine(l line) {
	at := slices.IndexFunc(m.lines, func(c comer) bool { return c.hash == uint32(l.hash) })
	if at < 0 {
		m.lines, at = room(m.lines, mostComers, func(c comer) habit { return c.habit })
		m.lines[at] = comer{hash: uint32(l.hash)}
	}
	m.lines[at].habit |= 1
}
