package policy

// A lot is how many polls are chosen before what they find is waited for. Where the
// budget of one moment suffices for a good part of all sources, as in a crawl that
// downloads all its pages of a week in one go, the first few polls of a site tell
// what the others are worth. To choose all at once would be to choose blindly.
type lot struct {
	size  int   // polls, at most; 0 if there is no bound
	taken int   // of them, begun
	under int   // polls of it that are under way
	at    int64 // when it was chosen
	late  bool  // outcomes come at another moment, as in a daemon: they are not waited for
}

// Where at least so many polls, and such a part of all sources, can be polled at
// once, they are in so many lots.
const (
	leastBatch = 16
	batchPart  = 16 // sources of which one can be polled
	lots       = 32
)

// next reports whether sources are to be ranked anew: at a new instant, or when a
// lot is used up and what it found is known.
func (l *lot) next(at int64, instant bool, n, sources int) bool {
	l.pass(at)
	switch {
	case instant:
		*l = lot{at: at, late: l.late}
		if n >= max(leastBatch, sources/batchPart) && !l.late {
			l.size = (n + lots - 1) / lots
		}
		return true
	case l.size > 0 && l.taken >= l.size && l.under == 0:
		l.taken = 0
		return true
	}
	return false
}

// most returns how many of n polls can be begun now.
func (l *lot) most(n int) int {
	if l.size == 0 {
		return n
	}
	return max(0, min(n, l.size-l.taken))
}

// take notes that a poll has begun, and land that one has ended.
func (l *lot) take() { l.taken, l.under = l.taken+1, l.under+1 }
func (l *lot) land(at int64) {
	l.pass(at)
	l.under = max(0, l.under-1)
}

// pass notes what time it is. If it goes by while polls are under way, there is no
// use in lots.
func (l *lot) pass(at int64) {
	if l.size > 0 && l.under > 0 && at != l.at {
		l.late, l.size = true, 0
	}
}

// stranger is by how much more at most a poll is worth in a lot that is one of the
// first at its site. By how much is drawn for each source: so the first lots are a
// sample of all sites of which nothing is known, and not the whole of one of them.
const stranger = 0.5

// shuffled returns a number from 0 to 1 for a slot, always the same, and in no order.
func shuffled(slot int) float64 {
	h := (uint64(slot) + 1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	return float64((h^h>>27)>>11) / (1 << 53)
}
