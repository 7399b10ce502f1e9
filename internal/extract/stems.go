package extract

import (
	"math/bits"
	"sync"
)

// A stemFinder finds the stems of all announcements in one pass over a text, most of which it does not read (Wu and
// Manber): the two bytes at which the shortest stem would end say how far away the next stem is at least.
type stemFinder struct {
	stems []string
	ways  []int // the index in announcements of each
	least int   // the length of the shortest
	skip  [1 << 10]uint8
	ends  [1 << 10]uint32 // which stems have two bytes there
	heads [1 << 10]uint32 // and which begin with them
}

// stems returns the finder, which is made when a text is first read.
var stems = sync.OnceValue(func() *stemFinder {
	f := &stemFinder{least: 0xff}
	for w, way := range announcements {
		for _, stem := range way.stems {
			f.stems, f.ways, f.least = append(f.stems, stem), append(f.ways, w), min(f.least, len(stem))
		}
	}
	for i := range f.skip {
		f.skip[i] = uint8(f.least - 1)
	}
	for i, stem := range f.stems {
		f.heads[stemPair(stem[0], stem[1])] |= 1 << i
		f.ends[stemPair(stem[f.least-2], stem[f.least-1])] |= 1 << i
		for end := 1; end < f.least; end++ {
			skip := &f.skip[stemPair(stem[end-1], stem[end])]
			*skip = min(*skip, uint8(f.least-1-end))
		}
	}
	return f
})

// stemPair returns two bytes by what a small letter shares with its capital, and with the second byte of an accented one.
func stemPair(a, b byte) uint16 { return uint16(a&0x1f)<<5 | uint16(b&0x1f) }

// next returns where in a text the next stem begins, in small or capital letters, and which one; -1 means none.
func (f *stemFinder) next(text []byte, from int) (at, stem int) {
	for last := from + f.least - 1; last < len(text); {
		end := stemPair(text[last-1], text[last])
		if skip := f.skip[end]; skip > 0 {
			last += int(skip)
			continue
		}
		at := last + 1 - f.least
		for left := f.ends[end] & f.heads[stemPair(text[at], text[at+1])]; left != 0; left &= left - 1 {
			if stem = bits.TrailingZeros32(left); beginsWithStem(text[at:], f.stems[stem]) {
				return at, stem
			}
		}
		last++
	}
	return -1, -1
}

// beginsWithStem reports whether a text begins with a stem, in small or capital letters.
func beginsWithStem(text []byte, stem string) bool {
	if len(text) < len(stem) {
		return false
	}
	for i := range len(stem) {
		if text[i] != stem[i] && smallLetter(text[i]) != stem[i] {
			return false
		}
	}
	return true
}

// smallLetter returns a byte of a text in small letters; one that can be part of an accented letter as if it were.
func smallLetter(c byte) byte {
	if c >= 'A' && c <= 'Z' || c >= 0x80 && c <= 0x9e {
		return c + 0x20
	}
	return c
}
