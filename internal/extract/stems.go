package extract

import "sync"

// A stemFinder finds the stems of all announcements in one pass over a text. A byte is looked up in a table for each of
// the first places of a stem, whose bits say which stems can have it there: where a bit is left, the stem is compared.
type stemFinder struct {
	stems []string
	ways  []int // the index in announcements of each
	may   [4][256]uint32
}

// stems returns the finder, which is made when a text is first read.
var stems = sync.OnceValue(func() *stemFinder {
	f := &stemFinder{}
	for w, way := range announcements {
		for _, stem := range way.stems {
			f.add(stem, w)
		}
	}
	return f
})

func (f *stemFinder) add(stem string, way int) {
	bit := uint32(1) << len(f.stems)
	f.stems, f.ways = append(f.stems, stem), append(f.ways, way)
	for i := range f.may {
		f.may[i][stem[i]] |= bit
		for c := range 256 { // capitals, and the second byte of accented ones, which lowered knows for sure
			if small := smallLetter(byte(c)); small == stem[i] {
				f.may[i][c] |= bit
			}
		}
	}
}

// smallLetter returns a byte of a text in small letters; one that can be part of an accented letter as if it were.
func smallLetter(c byte) byte {
	if c >= 'A' && c <= 'Z' || c >= 0x80 && c <= 0x9e {
		return c + 0x20
	}
	return c
}

// at returns which stem a text begins with, in small or capital letters; -1 means none.
func (f *stemFinder) at(text []byte) int {
	if len(text) < len(f.may) {
		return -1
	}
	left := f.may[0][text[0]] & f.may[1][text[1]] & f.may[2][text[2]] & f.may[3][text[3]]
	for stem := 0; left != 0; stem, left = stem+1, left>>1 {
		if left&1 != 0 && beginsWithStem(text, f.stems[stem]) {
			return stem
		}
	}
	return -1
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
