package noise

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// A Verdict says what a step from one text to the next is.
type Verdict string

// The verdicts.
const (
	Same   Verdict = "same"   // the texts are the same
	Noise  Verdict = "noise"  // all that differs is known to differ all the time
	Change Verdict = "change" // something else differs
)

// A Judgement is a verdict, and why.
type Judgement struct {
	Verdict  Verdict
	Flapping bool     // the text is one that was there before, and goes back and forth
	Where    []string // where the noise is: a few patterns of lines
}

// Judge judges the step from one text of the source to the next, and learns from it.
// It counts as one poll.
func (m *Memory) Judge(old, new []byte) Judgement {
	m.Pass(1)
	if bytes.Equal(old, new) {
		return Judgement{Verdict: Same}
	}
	if len(m.versions) == 0 {
		m.versions = append(m.versions, versionOf(old))
	}
	d := compare(old, new, func(hash uint64) bool { _, known := m.comer(hash); return known })
	version := versionOf(new)
	j := m.judge(d, version)
	m.learn(d, version)
	m.differed++
	if j.Verdict == Noise {
		m.spared++
	}
	return j
}

// versionOf names a text.
func versionOf(text []byte) uint64 { return xxhash.Sum64(text) }

// judge gives the verdict on a step, by what is known before it.
func (m *Memory) judge(d difference, version uint64) Judgement {
	if m.flaps(d, version) {
		return Judgement{Verdict: Noise, Flapping: true, Where: []string{"the whole text, which goes back and forth between known versions"}}
	}
	if d.coarse {
		return Judgement{Verdict: Change}
	}
	var where []string
	if d.moved {
		if !m.shuffles(m.order) {
			return Judgement{Verdict: Change}
		}
		where = append(where, "the order of lines")
	}
	crowd := d.crowd()
	for _, p := range d.pairs {
		if !m.excuses(p, crowd) && !m.turns(p) && !m.promotes(p) {
			return Judgement{Verdict: Change}
		}
		where = append(where, shorten(p.new.pattern(p.differ)))
	}
	back := len(d.loose) > 0
	company := slices.ContainsFunc(d.loose, func(l line) bool { return !l.copied && m.comesAndGoes(l, &d) })
	for _, l := range d.loose {
		known := m.comesAndGoes(l, &d) && (!l.copied || company)
		if !known && !m.rotates(l, &d) {
			return Judgement{Verdict: Change}
		}
		back = back && known
		where = append(where, shorten(l.text))
	}
	const few = 3
	return Judgement{Verdict: Noise, Flapping: back, Where: where[:min(few, len(where))]}
}

// flaps reports whether the text is one of a few known ones that take turns. What a user may be
// watching has to do so for longer.
func (m *Memory) flaps(d difference, version uint64) bool {
	if !slices.Contains(m.versions, version) {
		return false
	}
	if !d.small() {
		return m.returns.within(mostVersions) >= 3
	}
	few := slices.Clone(m.versions)
	slices.Sort(few)
	if len(slices.Compact(few)) > 3 {
		return false
	}
	if d.prices() {
		return false
	}
	if d.valued() {
		return m.returns.within(mostVersions) >= 8
	}
	return m.returns.within(mostVersions) >= 3
}

// small reports whether only a few lines differ.
func (d difference) small() bool { return !d.coarse && 2*len(d.pairs)+len(d.loose) <= 12 }

// prices reports whether a price differs in a line that stayed.
func (d difference) prices() bool { return slices.ContainsFunc(d.pairs, pair.prices) }

func (p pair) prices() bool {
	return slices.ContainsFunc(p.differ, func(i int) bool { return p.new.tokens[i].kind == Money })
}

// valued reports whether a price, a version, a number or a state differs.
func (d difference) valued() bool {
	for _, p := range d.pairs {
		for _, i := range p.differ {
			switch p.new.tokens[i].kind {
			case Money, Release, Number:
				return true
			}
		}
	}
	return slices.ContainsFunc(d.loose, line.saysSomething)
}

// saysSomething reports whether a line tells a state, a price or another number.
func (l line) saysSomething() bool {
	return saysState(l.text) || slices.ContainsFunc(l.tokens, func(t token) bool { return t.kind == Money || t.kind == Release || t.kind == Number })
}

// shuffles reports whether the order of lines differs at nearly every poll. The order
// of news says something, and differs often, too.
func (m *Memory) shuffles(order habit) bool {
	return order.within(lately) >= 7 || m.share(order, 5, 0.75)
}

// A crowd says how many lines differ in the same way. A clock stands in one or two
// places; a table of departures is what the page is about.
type crowd struct{ stamps, ids bool }

func (d difference) crowd() crowd {
	var stamps, ids int
	for _, p := range d.pairs {
		kinds := p.kinds()
		if (kinds[Date] || kinds[Time]) && !p.new.isStamp() {
			stamps++
		}
		if kinds[ID] {
			ids++
		}
	}
	return crowd{stamps: stamps > max(3, d.lines/20), ids: ids > max(3, d.lines/2)}
}

// kinds returns what differs in a pair.
func (p pair) kinds() (set [kinds]bool) {
	for _, i := range p.differ {
		set[p.new.tokens[i].kind] = true
	}
	return set
}

// excuses reports whether all that differs in a line is known to.
func (m *Memory) excuses(p pair, c crowd) bool {
	if len(p.differ) == 0 { // beyond what is looked at of a line
		return false
	}
	if !p.prices() && !p.old.copied && !p.new.copied && m.comesAndGoes(p.old, nil) && m.comesAndGoes(p.new, nil) {
		return true
	}
	for _, i := range p.differ {
		if !m.excusesToken(p, i, c) {
			return false
		}
	}
	return true
}

func (m *Memory) excusesToken(p pair, i int, c crowd) bool {
	old, new := p.old.token(i), p.new.token(i)
	known, _ := m.place(p.placeKey(i))
	switch p.new.tokens[i].kind {
	case Mail:
		return strings.HasPrefix(old, "[") || strings.HasPrefix(new, "[")
	case Age:
		return grownOlder(old, new) || m.often(known.habit)
	case Date, Time:
		return !c.stamps && (p.new.isStamp() && m.often(known.habit) || m.mostly(known.habit))
	case ID:
		return !c.ids && (!p.new.wordless() && m.often(known.habit) || m.mostly(known.habit))
	case Counter: // which says by its words what it is
		return m.often(known.habit) || m.share(known.habit, 3, 1./3)
	}
	return false
}

// placeKey names a token of a line.
func (p pair) placeKey(i int) uint64 { return p.key + uint64(i)*0x9e3779b97f4a7c15 }

// comesAndGoes reports whether a line has come and gone several times of late. What a user may be
// watching has to do so for longer. That there is one more or one
// less of a line that the page has many times says something, unless it happens
// together with others. A line of a step in which as many lines come as go, as those of a
// carousel do, may say numbers, unless it names what it gives another value to.
func (m *Memory) comesAndGoes(l line, d *difference) bool {
	h, _ := m.comer(l.hash)
	switch {
	case h.within(longer) >= 8:
		return true
	case h.within(10) < 3 && h.within(longer) < 4, d != nil && d.revalues(l):
		return false
	}
	return !l.saysSomething() || d != nil && d.even() && h.within(longer) >= 4 && !saysState(l.text)
}

// shorten returns the beginning of a text, for showing.
func shorten(text string) string {
	if len(text) <= mostPattern {
		return text
	}
	n := mostPattern - len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
