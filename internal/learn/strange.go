package learn

import (
	"math"

	"freshet/internal/freshet"
)

// Strange sets dst[slot], for every slot up to len(dst), to how little is known of
// the site of a source of which nothing is known itself: 1 if no poll has told
// anything of any page of the site, 0 if a sample of the site has been seen, as large
// as the square root of its pages, or if something is known of the source or it is
// alone at its site. Once the priors have been renewed, they say something of every
// source, and none is strange any more.
func (l *Learner) Strange(dst []float64) {
	for _, s := range l.sites {
		s.known = 0
	}
	for _, p := range l.pages.All {
		if p.site != nil && p.rate > 0 && p.kind&lists == 0 {
			p.site.known++
		}
	}
	for slot := range dst {
		dst[slot] = 0
		if slot >= l.pages.Len() {
			continue
		}
		p := l.pages.At(freshet.Slot(slot))
		if p.site == nil || p.rate > 0 || p.kind&lists != 0 || p.site.pages < 2 {
			continue
		}
		dst[slot] = max(0, 1-float64(p.site.known)/math.Sqrt(float64(p.site.pages)))
	}
}
