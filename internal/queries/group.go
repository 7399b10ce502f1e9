package queries

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/units"
)

// A group is what a query remembers of changes that are counted together.
type group struct {
	of   *running
	text string // what they have in common; "" if it is everything
	hash string // by which its notes are named

	records []record // in the order of their times
	next    int64
	seen    map[int]*seen // for each function that looks at what was ever seen
	pages   map[int64]bool

	source   freshet.SourceID // of the last event that counted
	ref      freshet.ChangeRef
	state    state
	was      string // hash of the text before a change that has to last
	values   string // likewise the values that it is about
	changed  bool   // since it was saved
	position int    // in the queue of what is due; -1 if it is not there
}

// A state is what a group remembers beside changes.
type state struct {
	last     int64   // time of the newest event that counted
	holds    bool    // the condition, since
	since    int64   // this time
	fired    bool    // its match was made
	gaps     []int64 // between changes that fitted, the oldest first
	failures int64   // polls in a row
	due      int64   // when a match is due if nothing happens before; zero: never
	value    []byte  // of the match that is due, as JSON
}

const (
	recordPage = 64 // records that are saved together
	maxGaps    = 16
	lateBy     = units.Day // that a change can be reported late, at least
	minGaps    = 3         // before which nothing is usual
)

// insert puts a record in its place and returns it.
func (g *group) insert(r record) (at int) {
	r.nth = g.next
	g.next++
	at = len(g.records)
	for at > 0 && g.records[at-1].at > r.at {
		at--
	}
	g.records = slices.Insert(g.records, at, r)
	g.touch(r.nth)
	return at
}

// touch says that a record is to be saved.
func (g *group) touch(nth int64) {
	g.pages[nth/recordPage] = true
	g.changed = true
}

// trim forgets the records that no function looks at any more, many at a time. Some of
// before are kept, because what comes late looks back from its own time. It returns how
// many were forgotten sooner.
func (g *group) trim(keep time.Duration) (over int) {
	most, old := maxRecords, 0
	if keep == 0 {
		most = maxUnasked
	} else {
		oldest := g.records[len(g.records)-1].at - int64(keep) - int64(max(keep, lateBy))
		old = sort.Search(len(g.records), func(i int) bool { return g.records[i].at > oldest })
	}
	if many := len(g.records) - most; many > most/10 && many > old {
		old, over = many, many-old
	}
	if old <= len(g.records)/10 {
		return 0
	}
	for i := range old {
		g.touch(g.records[i].nth)
	}
	g.records = slices.Delete(g.records, 0, old)
	if keep == 0 {
		over = 0 // nobody was promised more
	}
	return over
}

func (g *group) forget(yes bool) {
	if yes {
		g.of.tally.Forgotten++
	}
}

// usual returns the time that usually lies between two changes; zero if too few have
// been seen.
func (s *state) usual() time.Duration {
	if len(s.gaps) < minGaps {
		return 0
	}
	numbers := make([]float64, len(s.gaps))
	for i, gap := range s.gaps {
		numbers[i] = float64(gap)
	}
	return time.Duration(median(numbers))
}

// dueAfter returns when a silence has lasted long enough; zero if that is not known.
func (s *state) dueAfter(silence Silence) int64 {
	length := silence.For
	if silence.Times > 0 {
		length = time.Duration(float64(s.usual()) * silence.Times)
	}
	if length <= 0 {
		return 0
	}
	return s.last + int64(length)
}

// A queue has the groups in which something is due, the earliest first.
type queue []*group

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(a.state.due, b.state.due), cmp.Compare(a.of.query.ID, b.of.query.ID), cmp.Compare(a.hash, b.hash)) < 0
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	g := x.(*group)
	g.position = len(*q)
	*q = append(*q, g)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	g := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	g.position = -1
	return g
}
