package extract

import (
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// How many of the lines that differ a change lists, added and removed ones each.
const (
	mostToldLines = 20
	mostToldLine  = 400  // bytes
	mostToldBytes = 1000 // in all
)

// TextChange returns the lines that differ, as changes list them; nil if none do. Lines that were
// only moved do not.
func (d Delta) TextChange() *freshet.TextChange {
	c := &freshet.TextChange{AddedCount: d.Added, RemovedCount: d.Removed, Cut: d.Coarse}
	if d.Added+d.Removed == 0 {
		return nil
	}
	added, removed := toldLines{list: &c.Added, most: d.Added}, toldLines{list: &c.Removed, most: d.Removed}
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			switch {
			case l.Moved != 0:
			case l.Op == Add:
				added.tell(l.Text)
			case l.Op == Remove:
				removed.tell(l.Text)
			}
		}
	}
	c.Cut = c.Cut || added.cut || removed.cut
	return c
}

// toldLines are lines that a change lists.
type toldLines struct {
	list  *[]string
	most  int // lines that there can be
	bytes int
	cut   bool
}

func (t *toldLines) tell(line string) {
	if len(*t.list) == mostToldLines || t.bytes >= mostToldBytes {
		t.cut = true
		return
	}
	if *t.list == nil {
		*t.list = make([]string, 0, min(mostToldLines, t.most))
	}
	told := mask.Shorten(line, min(mostToldLine, mostToldBytes-t.bytes))
	t.cut = t.cut || told != line
	t.bytes += len(told)
	*t.list = append(*t.list, told)
}
