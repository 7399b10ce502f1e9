package queries

import "slices"

// grams finds which of many texts stand in another one, in a time that grows with the
// other one and with what is found, and not with how many are looked for.
//
// Each text that is looked for is filed under a few bytes of it, those that the fewest
// others are filed under. A set of bits says for most places at once that nothing is
// filed there. Unlike with an automaton, adding and removing a text touches nothing
// else.
type grams struct {
	files    [len(gramSizes)]map[uint64][]*needle
	needles  map[string]*needle
	bits     []uint64 // of a size that is a power of two
	searches uint64
}

// gramSizes are how many bytes texts are filed under: the most that they have.
var gramSizes = [...]int{8, 4, 2, 1}

// A needle is a text that is looked for.
type needle struct {
	text   string
	class  int // in gramSizes
	offset int // of its gram
	found  uint64
	by     []*entry
}

func newGrams() *grams {
	g := &grams{needles: map[string]*needle{}, bits: make([]uint64, 64)}
	for i := range g.files {
		g.files[i] = map[uint64][]*needle{}
	}
	return g
}

func gramAt(text string, at, size int) (key uint64) {
	for i := range size {
		key = key<<8 | uint64(text[at+i])
	}
	return key
}

func (g *grams) bit(key uint64, class int) (word int, mask uint64) {
	h := (key + uint64(class)) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	n := int(h>>20) & (len(g.bits)*64 - 1)
	return n / 64, 1 << (n % 64)
}

func (g *grams) mark(n *needle) {
	word, mask := g.bit(gramAt(n.text, n.offset, gramSizes[n.class]), n.class)
	g.bits[word] |= mask
}

// add files a text that is not empty.
func (g *grams) add(text string, e *entry) {
	if n := g.needles[text]; n != nil {
		n.by = append(n.by, e)
		return
	}
	n := &needle{text: text, by: []*entry{e}}
	for gramSizes[n.class] > len(text) {
		n.class++
	}
	size, best := gramSizes[n.class], -1
	for at := range min(len(text)-size+1, 64) {
		if filed := len(g.files[n.class][gramAt(text, at, size)]); best < 0 || filed < best {
			best, n.offset = filed, at
		}
	}
	key := gramAt(text, n.offset, size)
	g.files[n.class][key] = append(g.files[n.class][key], n)
	g.needles[text] = n
	if len(g.needles) > len(g.bits)*4 {
		g.bits = make([]uint64, len(g.bits)*4)
		for _, n := range g.needles {
			g.mark(n)
		}
	}
	g.mark(n)
}

// remove takes a text out again.
func (g *grams) remove(text string, e *entry) {
	n := g.needles[text]
	if n == nil {
		return
	}
	if n.by = without(n.by, e); len(n.by) > 0 {
		return
	}
	delete(g.needles, text)
	key := gramAt(n.text, n.offset, gramSizes[n.class])
	if g.files[n.class][key] = without(g.files[n.class][key], n); len(g.files[n.class][key]) == 0 {
		delete(g.files[n.class], key)
	}
}

// find calls each with whoever looks for a text that stands in another one, once for
// each text.
func (g *grams) find(in string, each func(*entry)) {
	g.searches++
	for class, size := range gramSizes {
		file := g.files[class]
		if len(file) == 0 || len(in) < size {
			continue
		}
		all := ^uint64(0) >> (64 - 8*size)
		key := uint64(0)
		for i := range len(in) {
			key = (key<<8 | uint64(in[i])) & all
			at := i - size + 1
			if at < 0 {
				continue
			}
			if word, mask := g.bit(key, class); g.bits[word]&mask == 0 {
				continue
			}
			for _, n := range file[key] {
				from := at - n.offset
				if n.found == g.searches || from < 0 || len(in)-from < len(n.text) || in[from:from+len(n.text)] != n.text {
					continue
				}
				n.found = g.searches
				for _, e := range n.by {
					each(e)
				}
			}
		}
	}
}

// without returns a list without one of its elements, in another order.
func without[T comparable](list []T, x T) []T {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i] = list[last]
	var none T
	list[last] = none
	return list[:last]
}
