package extract

import (
	"slices"
	"strings"
	"unicode"
)

// Bounds on the search for blocks that were moved.
const (
	maxMovable   = 50_000 // changed lines; beyond that nothing is looked for
	maxSamePlace = 8      // places of a line that are tried
	movedLetters = 20     // letters and digits that a block has at least: short ones repeat by chance
)

// A changedLine is a line that was added or removed, and where it is in the delta.
type changedLine struct {
	*Line
	block int // lines of one block follow each other in their text
}

// findMoved notes which blocks of removed lines were added elsewhere. A block is moved
// as a whole: its lines follow each other in both texts.
func (d *Delta) findMoved() {
	if d.Added == 0 || d.Removed == 0 || d.Added+d.Removed > maxMovable {
		return
	}
	removed, added := d.side(Remove), d.side(Add)
	first, next := make(map[string]int, len(added)), make([]int, len(added)) // where a line is, and where it is again, plus one
	for i, l := range slices.Backward(added) {
		next[i], first[l.Text] = first[l.Text], i+1
	}
	places := make([]int, 0, maxSamePlace)
	for i := 0; i < len(removed); {
		places = places[:0]
		for p := first[removed[i].Text]; p > 0 && len(places) < maxSamePlace; p = next[p-1] {
			places = append(places, p-1)
		}
		at, n := longestRun(removed, i, added, places)
		if !worthMoving(removed[i : i+n]) {
			i++
			continue
		}
		for k := range n {
			removed[i+k].Moved, added[at+k].Moved = added[at+k].New, removed[i+k].Old
		}
		d.Moved += n
		i += n
	}
}

// side returns the lines of one side, in order.
func (d *Delta) side(op Op) []changedLine {
	list := make([]changedLine, 0, max(d.Added, d.Removed))
	block, last := 0, -1
	for h := range d.Hunks {
		for l := range d.Hunks[h].Lines {
			line := &d.Hunks[h].Lines[l]
			if line.Op != op {
				continue
			}
			at := line.Old + line.New // one of them is zero
			if at != last+1 {
				block++
			}
			last = at
			list = append(list, changedLine{line, block})
		}
	}
	return list
}

// longestRun returns where among the places the most lines from removed[i] on were
// added, none of which has been found before, and how many.
func longestRun(removed []changedLine, i int, added []changedLine, places []int) (at, most int) {
	for _, p := range places {
		n := 0
		for i+n < len(removed) && p+n < len(added) &&
			removed[i+n].block == removed[i].block && added[p+n].block == added[p].block &&
			removed[i+n].Text == added[p+n].Text && added[p+n].Moved == 0 {
			n++
		}
		if n > most {
			at, most = p, n
		}
	}
	return at, most
}

// worthMoving reports whether a block says enough to be known again.
func worthMoving(block []changedLine) bool {
	letters := 0
	for _, l := range block {
		for _, r := range strings.TrimSpace(l.Text) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				letters++
			}
			if letters >= movedLetters {
				return true
			}
		}
	}
	return false
}
