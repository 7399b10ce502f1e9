package learn

import "freshet/internal/freshet"

// An IndexTrust is how far an index can be believed.
type IndexTrust struct {
	Kind     freshet.IndexKind
	BorneOut float64 // share of the changes that it tells of which are there
	Told     float64 // share of the changes of pages that it dates of which it tells

	// Of Times polls that what it said could be held against, it was true of Right. What
	// is long past counts for less.
	Right, Times float64
}

// IndexTrust returns how far a source can be believed that speaks for others, and whether
// it does.
func (l *Learner) IndexTrust(slot freshet.Slot) (IndexTrust, bool) {
	in := l.voiceOf(slot)
	if in == nil {
		return IndexTrust{}, false
	}
	t := &in.trust
	return IndexTrust{Kind: in.kind, BorneOut: t.borneOut, Told: 1 - t.leaks[1], Right: float64(t.right), Times: float64(t.times)}, true
}
