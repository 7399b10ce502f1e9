package noise

import "strings"

// Blocks of a page that take turns: advertisements, related products, carousels. Their lines may hold prices and other
// numbers, which outside of them are what a page is about.

// rotates reports whether a line stands where the same lines take turns at nearly every poll, and is one of them. Where
// hardly any new ones come, a new one is taken for one of them, too, if it says no more than words, or if lines
// that differ from it only in numbers have come and gone there.
func (m *Memory) rotates(l line, d *difference) bool {
	g := m.gap(l.before)
	if l.copied || !m.often(g.habit) || saysState(l.text) || d.revalues(l) {
		return false
	}
	h, known := m.comer(l.hash)
	switch {
	case !known && !l.added && !l.promoted(): // it has stood there for long
		return false
	case known && g.again >= 3 && 3*int(g.again) >= int(g.added) && (g.closed() || h.within(longer) >= 2):
		return true
	case len(l.tokens) == 0 && g.closed():
		return true
	case !d.replaced(l.before):
		return false
	}
	h, _ = m.comer(shapeOf(l))
	return g.closed() && h.within(longer) >= 3 || l.promoted()
}

// turns reports whether a line that stayed but for its numbers is one of those that take turns. That it differs often is
// not enough: a price beside an advertisement may, too. It must come and go.
func (m *Memory) turns(p pair) bool {
	g := m.gap(p.new.before)
	h, _ := m.comer(shapeOf(p.new))
	return m.often(g.habit) && g.closed() && h.within(longer) >= 3 && !saysState(p.new.text)
}

// closed reports whether hardly any new lines come after a line that stays.
func (g gap) closed() bool { return g.again >= 3 && 2*int(g.again) >= int(g.added) }

// promotes reports whether a line that stayed but for its numbers belongs to an advertisement or the like, and differs at
// nearly every poll.
func (m *Memory) promotes(p pair) bool {
	if !p.new.promoted() || saysState(p.new.text) {
		return false
	}
	for _, i := range p.differ {
		if known, _ := m.place(p.placeKey(i)); !m.often(known.habit) {
			return false
		}
	}
	return len(p.differ) > 0
}

// shapeOf names the lines that differ from one only in numbers and the like, among the lines that come and go.
func shapeOf(l line) uint64 { return l.shape ^ 0x9e3779b9 }

// known reports whether a line, or one that differs only in numbers, has come and gone.
func (m *Memory) known(l line) bool {
	if _, known := m.comer(l.hash); known {
		return true
	}
	_, known := m.comer(shapeOf(l))
	return known && len(l.tokens) > 0
}

// replaced reports whether lines have come in the place of others after a line that stays. Where some come at the top and others
// go at the end, as in news and logs, they are no turns.
func (d *difference) replaced(before uint64) bool {
	if d.turned != nil {
		return d.turned[before]
	}
	d.turned = map[uint64]bool{}
	type place struct{ before, near uint64 }
	went := map[place]bool{}
	for _, l := range d.loose {
		if !l.added {
			went[place{l.before, l.near}] = true
		}
	}
	for _, l := range d.loose {
		if l.added && went[place{l.before, l.near}] {
			d.turned[l.before] = true
		}
	}
	return d.turned[before]
}

// revalues reports whether a line gives another value to what a line of the other text names, as in "crew: on its way". Among a few
// values that is no turn.
func (d *difference) revalues(l line) bool {
	if d.labels == nil {
		d.labels = map[string]bool{}
		sides := map[string][2]bool{}
		for _, l := range d.loose {
			label := l.label()
			sides[label] = [2]bool{sides[label][0] || l.added, sides[label][1] || !l.added}
		}
		for label, both := range sides {
			d.labels[label] = label != "" && both[0] && both[1]
		}
	}
	return d.labels[l.label()]
}

// even reports whether as many whole lines have come as have gone.
func (d *difference) even() bool {
	come := 0
	for _, l := range d.loose {
		if l.added {
			come++
		}
	}
	return 2*come == len(d.loose)
}

// label returns what stands before the first colon of a line, "" if that is no name.
func (l line) label() string {
	const longest = 40 // bytes
	label, _, found := strings.Cut(l.text[:min(len(l.text), longest)], ":")
	if !found {
		return ""
	}
	return label
}

// How far a caption reaches, and how long it is.
const (
	mostAbove   = 12 // lines
	mostCaption = 60 // bytes
)

// promoted reports whether a line is an advertisement by its own words, or stands below a caption that says that what
// follows is, or is only related to what the page is about.
func (l line) promoted() bool {
	if len(l.text) <= 2*mostCaption && advertWords.in(l.text) {
		return true
	}
	return l.under
}

// captions finds the captions of a text, going through it once.
type captions struct {
	lines []string
	next  int // the line to look at next
	at    int // the last caption that holds; -1 if there is none
}

// above returns the caption that a line stands below, -1 if there is none. Lines are asked for in their order.
func (c *captions) above(i int) int {
	for c.next = max(c.next, i-mostAbove); c.next < i; c.next++ {
		text := c.lines[c.next]
		switch {
		case len(text) <= mostCaption && (captionWords.in(text) || advertWords.in(text)):
			c.at = c.next
		case strings.HasPrefix(text, "#"): // another part begins
			c.at = -1
		}
	}
	if i-c.at > mostAbove {
		return -1
	}
	return c.at
}

var (
	advertWords = lexiconOf(`ad ads advert adverts advertisement advertisements advertising sponsored sponsor sponsors promoted promotion`,
		`anzeige anzeigen werbung gesponsert publicité sponsorisé annonce publicidad anuncio patrocinado pubblicità sponsorizzato annuncio`,
		`advertentie gesponsord publicidade anúncio patrocinado reklama sponsorowane реклама annons sponsrad reklam mainos hirdetés διαφήμιση`)

	captionWords = lexiconOf(`related recommended recommendation recommendations you_may_also you_might_also you_may_like you_might_like also_like also_bought also_viewed also_interesting`,
		`more_from more_like_this similar_products similar_items similar_articles customers_also people_also trending_now popular_now picked_for_you recently_viewed from_our_partners from_around_the_web`,
		`ähnliche empfohlen empfehlungen das_könnte kunden_kauften auch_interessant passend_dazu articles_similaires vous_aimerez recommandé recommandés produits_similaires`,
		`relacionados recomendados también_te productos_similares consigliati correlati potrebbe_interessarti aanbevolen gerelateerd vergelijkbare podobne polecane рекомендуем похожие`)
)
