package sites

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// A Fate is what becomes of a URL that was found.
type Fate uint8

// The fates of a URL.
const (
	Waiting Fate = iota // it is a page of the site; its links will be read
	Known               // it was found before
	Outside             // it does not belong to the site
	TooDeep             // it is too many links away from the root
	Full                // the site has as many pages as it may have
	Trapped             // the site is endless there
)

// String returns the name of a fate.
func (f Fate) String() string {
	return [...]string{"waiting", "known", "outside", "too deep", "full", "trapped"}[f]
}

// A Found is a link on a page, with the page that it was found on.
type Found struct {
	URL   string // normalised
	From  string // the page; empty if a sitemap or a feed listed the URL
	Depth int    // links away from the root
}

// A Step is a page whose links are to be read next.
type Step struct {
	URL   string
	Depth int
	// Was is the URL under which the page was waiting, if meanwhile a part of it was
	// found to make no other page.
	Was string
	// Dropped says why the page is not to be fetched after all: it was found out
	// meanwhile that the site is endless there.
	Dropped string
}

// A Frontier crawls in the tests of this package, which have no store. It holds the pages
// of a site whose links are still to be read: those first that
// are fewest links away from the root, and of these the one that was found first.
//
// It is rebuilt from the pages that a store holds: each has a URL, a depth, and a
// [State]. Give them to [Frontier.Restore] in the order in which they were
// found, and the frontier goes on as before. What [Traps] learnt is stored by itself.
type Frontier struct {
	scope   *Scope
	traps   *Traps
	seen    hashes
	waiting []queue // by depth
	first   int     // no page waits at a smaller depth
	pages   int
}

// NewFrontier returns a frontier in which nothing waits, not even the root.
func NewFrontier(scope *Scope, traps *Traps) *Frontier {
	return &Frontier{scope: scope, traps: traps}
}

// Add takes in a URL that was found. It returns the URL under which the page is known,
// what becomes of it, and for some fates the reason.
func (f *Frontier) Add(found Found) (url string, fate Fate, reason string) {
	url = f.scope.Home(found.URL)
	if f.seen.has(hashOf(url)) {
		return url, Known, ""
	}
	if ok, why := f.scope.Contains(url); !ok {
		return url, Outside, why
	}
	if url = f.traps.Clean(url); f.seen.has(hashOf(url)) {
		return url, Known, ""
	}
	if most := f.scope.Depth(); most > 0 && found.Depth > most {
		return url, TooDeep, ""
	}
	if most := f.scope.Limit(); most > 0 && f.pages >= most {
		return url, Full, ""
	}
	if ok, why := f.traps.Judge(url, found.From); !ok {
		return url, Trapped, why
	}
	f.seen.add(hashOf(url))
	f.pages++
	f.wait(url, found.Depth, found.From == "")
	return url, Waiting, ""
}

// A State is how far a page has come.
type State uint8

// The states of a page.
const (
	Unread  State = iota // its links are to be read
	Read                 // they were
	Dropped              // it is not to be fetched
)

// Restore takes in a page that was known before, without judging it again.
func (f *Frontier) Restore(page Found, state State) {
	if f.seen.has(hashOf(page.URL)) {
		return
	}
	f.seen.add(hashOf(page.URL))
	if state != Dropped {
		f.pages++
	}
	if state == Unread {
		f.wait(page.URL, page.Depth, page.From == "")
	}
}

// wait puts a page into its queue.
func (f *Frontier) wait(url string, depth int, listed bool) {
	for len(f.waiting) <= depth {
		f.waiting = append(f.waiting, queue{})
	}
	f.waiting[depth].push(url, listed)
	f.first = min(f.first, depth)
}

// Next takes out the page whose links are to be read next. It returns false if none waits.
func (f *Frontier) Next() (Step, bool) {
	for ; f.first < len(f.waiting); f.first++ {
		if url, listed, ok := f.waiting[f.first].pop(); ok {
			return f.step(url, listed), true
		}
	}
	return Step{}, false
}

// step looks at a page again whose turn it is.
func (f *Frontier) step(url string, listed bool) Step {
	step := Step{URL: f.traps.Clean(url), Depth: f.first}
	switch {
	case step.URL != url:
		step.Was = url
		if f.seen.has(hashOf(step.URL)) {
			step.Dropped = "the page is known as " + step.URL
		}
		f.seen.add(hashOf(step.URL))
	case !listed:
		_, step.Dropped = f.traps.Again(url)
	}
	if step.Dropped != "" {
		f.pages--
	}
	return step
}

// Len returns how many pages wait.
func (f *Frontier) Len() (n int) {
	for i := range f.waiting {
		n += f.waiting[i].n
	}
	return n
}

// Pages returns how many pages the site has so far, without those that were dropped.
func (f *Frontier) Pages() int { return f.pages }

func hashOf(url string) uint64 { return max(1, xxhash.Sum64String(url)) }

// hashes is a set of hashes in eight bytes each and some room. Of a million pages, two
// share a hash with a chance of one in thirty millions; the second is then not read.
type hashes struct {
	slots []uint64 // 0 is empty; a power of two
	n     int
}

func (h *hashes) has(hash uint64) bool {
	return len(h.slots) > 0 && h.slots[h.at(hash)] == hash
}

// at returns where a hash is, or where it would go.
func (h *hashes) at(hash uint64) int {
	last := len(h.slots) - 1
	i := int(hash) & last
	for h.slots[i] != 0 && h.slots[i] != hash {
		i = (i + 1) & last
	}
	return i
}

func (h *hashes) add(hash uint64) {
	if 8*(h.n+1) > 7*len(h.slots) {
		old := h.slots
		h.slots = make([]uint64, max(64, 2*len(old)))
		for _, one := range old {
			if one != 0 {
				h.slots[h.at(one)] = one
			}
		}
	}
	if i := h.at(hash); h.slots[i] == 0 {
		h.slots[i] = hash
		h.n++
	}
}

// A queue holds URLs one after the other, each with its length before it, and whether the site listed it. A million of
// them are a few large blocks of memory and no work for the garbage collector.
type queue struct {
	blocks [][]byte
	read   int // of the first block
	n      int
}

const blockSize = 16 << 10

func (q *queue) push(url string, listed bool) {
	need := len(url) + 2
	if last := len(q.blocks) - 1; last < 0 || len(q.blocks[last])+need > max(cap(q.blocks[last]), blockSize) {
		q.blocks = append(q.blocks, nil)
	}
	block := &q.blocks[len(q.blocks)-1]
	head := uint16(len(url)) << 1 // a URL is far shorter than 32 KB
	if listed {
		head |= 1
	}
	*block = binary.BigEndian.AppendUint16(*block, head)
	*block = append(*block, url...)
	q.n++
}

func (q *queue) pop() (url string, listed, ok bool) {
	if q.n == 0 {
		return "", false, false
	}
	if q.read == len(q.blocks[0]) {
		q.blocks[0] = nil
		q.blocks, q.read = q.blocks[1:], 0
	}
	block := q.blocks[0][q.read:]
	head := binary.BigEndian.Uint16(block)
	size := int(head >> 1)
	q.read += size + 2
	q.n--
	return string(block[2 : 2+size]), head&1 == 1, true
}
