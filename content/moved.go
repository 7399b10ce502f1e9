package content

import (
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
	places := map[string][]int{}
	for i, l := range added {
		if at := places[l.Text]; len(at) < maxSamePlace {
			places[l.Text] = append(at, i)
		}
	}
	for i := 0; i < len(removed); {
		at, n := longestRun(removed, i, added, places[removed[i].Text])
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
func (d *Delta) side(op Op) (list []changedLine) {
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
