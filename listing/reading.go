package listing

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Changes are what a reading of a list found to be otherwise than before.
type Changes struct {
	Added   []Added   // in the order of the list
	Redated []Redated // by key
	Gone    []Gone    // by key
}

// Added is a page that was not listed before.
type Added struct {
	Key  Key
	URL  string    // as listed
	Date time.Time // zero if the list gives none
}

// Redated is a page to which the list gives another date than before.
type Redated struct {
	Key      Key
	URL      string    // as listed
	Old, New time.Time // zero if the list gives none
}

// Gone is a page that is no longer listed.
type Gone struct {
	Key   Key
	Date  time.Time // that the list gave it last
	Since time.Time // when it came on the list
}

// A Reading is one look at a list. Nothing of it counts before Keep.
type Reading struct {
	index *Index
	at    int64
	seen  []uint64       // a bit for each page of the index
	left  int            // pages of the index that were not seen
	dated map[int]listed // pages of the index with another date, by place
	fresh map[Key]int    // pages that are not in the index, by place among added
	added []listed
	ended bool
	whole bool
}

type listed struct {
	key  Key
	url  string
	date int64
}

// Read begins a reading of the list as it is at a time. The index must not change
// until the reading is kept or forgotten.
func (x *Index) Read(at time.Time) *Reading {
	return &Reading{
		index: x, at: at.Unix(), seen: make([]uint64, (len(x.pages)+63)/64), left: len(x.pages),
		dated: map[int]listed{}, fresh: map[Key]int{},
	}
}

// See takes an entry of the list. A date of zero means that it has none. Of a page that
// is listed more than once the newest date counts.
func (r *Reading) See(url string, date time.Time) {
	e := listed{KeyOf(url), url, seconds(date)}
	i := r.index.find(e.key)
	if i < 0 {
		r.add(e)
		return
	}
	was := r.index.pages[i].date
	now := was
	if bit := uint64(1) << (i % 64); r.seen[i/64]&bit == 0 {
		r.seen[i/64] |= bit
		r.left--
	} else {
		if other, ok := r.dated[i]; ok {
			now = other.date
		}
		if e.date <= now {
			return
		}
	}
	switch {
	case e.date != was:
		r.dated[i] = e
	case now != was:
		delete(r.dated, i)
	}
}

func (r *Reading) add(e listed) {
	if i, ok := r.fresh[e.key]; ok {
		r.added[i].date = max(r.added[i].date, e.date)
		return
	}
	r.fresh[e.key] = len(r.added)
	r.added = append(r.added, e)
}

// End says that the list has been gone through, and returns what it changes. If it was
// not read to its end, complete is false, and nothing is gone.
func (r *Reading) End(complete bool) (c Changes) {
	r.ended, r.whole = true, complete
	for _, e := range r.added {
		c.Added = append(c.Added, Added{e.key, e.url, instant(e.date)})
	}
	for _, i := range slices.Sorted(maps.Keys(r.dated)) {
		e := r.dated[i]
		c.Redated = append(c.Redated, Redated{e.key, e.url, instant(r.index.pages[i].date), instant(e.date)})
	}
	if complete && r.left > 0 {
		for i, p := range r.index.pages {
			if r.missed(i) {
				c.Gone = append(c.Gone, Gone{p.key, instant(p.date), instant(p.since)})
			}
		}
	}
	return c
}

func (r *Reading) missed(i int) bool { return r.seen[i/64]&(1<<(i%64)) == 0 }

// Keep makes the index say what the reading found. It must have ended.
func (r *Reading) Keep() {
	if !r.ended {
		panic("listing: a reading is kept that has not ended")
	}
	x := r.index
	if len(r.added) == 0 && len(r.dated) == 0 && (!r.whole || r.left == 0) {
		return
	}
	x.begin(r.at)
	for _, i := range slices.Sorted(maps.Keys(r.dated)) {
		p := &x.pages[i]
		x.digest -= p.mark()
		p.date = r.dated[i].date
		x.digest += p.mark()
		x.log(opRedate, *p, r.at)
	}
	gone := r.whole && r.left > 0
	if len(r.added) > 0 || gone {
		x.arrange(r.merged(gone))
	}
	r.index = nil
}

// merged returns the pages of the index with those that were added, and without those
// that are gone.
func (r *Reading) merged(gone bool) []page {
	x := r.index
	added := make([]page, len(r.added))
	for i, e := range r.added {
		added[i] = page{e.key, e.date, r.at}
	}
	slices.SortFunc(added, func(a, b page) int { return cmp.Compare(a.key, b.key) })
	all := make([]page, 0, len(x.pages)+len(added))
	for i, p := range x.pages {
		for len(added) > 0 && added[0].key < p.key {
			all = append(all, x.came(added[0]))
			added = added[1:]
		}
		if gone && r.missed(i) {
			x.digest -= p.mark()
			x.log(opGone, p, r.at)
			continue
		}
		all = append(all, p)
	}
	for _, p := range added {
		all = append(all, x.came(p))
	}
	return all
}

func (x *Index) came(p page) page {
	x.digest += p.mark()
	x.log(opAdd, p, p.since)
	return p
}
