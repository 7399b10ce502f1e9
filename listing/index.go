package listing

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// An Index is what a list says of its pages. The zero Index lists nothing. It is not
// safe for use by several goroutines.
type Index struct {
	pages  []page   // by key
	starts []uint32 // where the keys of each prefix begin, and where all end
	shift  uint     // by which a key is moved to get its prefix
	digest uint64   // of all pages

	saving
}

// A page is what is known of one.
type page struct {
	key   Key
	date  int64 // in seconds since 1970, or undated
	since int64 // in seconds since 1970
}

// undated is the date of a page to which the list gives none.
const undated = math.MinInt64

// seconds returns a time as it is kept.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return undated
	}
	return t.Unix()
}

// instant returns a time that was kept.
func instant(s int64) time.Time {
	if s == undated {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// mark returns a number that stands for all that is known of a page.
func (p page) mark() uint64 {
	var b [24]byte
	binary.LittleEndian.PutUint64(b[:], uint64(p.key))
	binary.LittleEndian.PutUint64(b[8:], uint64(p.date))
	binary.LittleEndian.PutUint64(b[16:], uint64(p.since))
	return xxhash.Sum64(b[:])
}

// Len returns how many pages are listed.
func (x *Index) Len() int { return len(x.pages) }

// Page returns the date that the list gives a page, zero if it gives none, and since
// when the page is listed. It reports false if it is not.
func (x *Index) Page(k Key) (date, since time.Time, listed bool) {
	i := x.find(k)
	if i < 0 {
		return date, since, false
	}
	return instant(x.pages[i].date), instant(x.pages[i].since), true
}

// inBucket is how many pages have the same prefix, on average.
const inBucket = 8

// arrange takes pages in the order of their keys and makes them quick to find.
func (x *Index) arrange(pages []page) {
	x.pages = pages
	n := bits.Len(uint(len(pages) / inBucket)) // prefixes of so many bits
	x.shift = uint(64 - n)
	x.starts = slices.Grow(x.starts[:0], 1<<n+1)[:1<<n+1]
	at := 0
	for prefix := range x.starts {
		for at < len(pages) && x.prefix(pages[at].key) < prefix {
			at++
		}
		x.starts[prefix] = uint32(at)
	}
}

func (x *Index) prefix(k Key) int {
	return int(uint64(k) >> x.shift) // all of 64 bits moved out leave 0
}

// find returns where a page is; -1 if it is not listed.
func (x *Index) find(k Key) int {
	if len(x.pages) == 0 {
		return -1
	}
	prefix := x.prefix(k)
	from, to := int(x.starts[prefix]), int(x.starts[prefix+1])
	if to-from > 4*inBucket { // somebody has chosen the keys
		i, ok := slices.BinarySearchFunc(x.pages[from:to], k, func(p page, k Key) int { return cmp.Compare(p.key, k) })
		if !ok {
			return -1
		}
		return from + i
	}
	for i := from; i < to; i++ {
		if x.pages[i].key == k {
			return i
		}
	}
	return -1
}
