package learn

import (
	"maps"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
)

// A sitemap can say of each page how often it changes. Whether that is true is for polls to
// tell: of a page of which little is known, the rate is taken to be that of the pages of its
// site of which the same is said. Where the words mean nothing, all of these have the rates
// of the whole site, and nothing is gained or lost by them.

// A claimed is the pages of a site of which a sitemap says the same.
type claimed struct {
	pool
	swept int     // pages that the sweep has met
	mean  float64 // rate of a page of which nothing is known, at the last look
}

// leastClaimed is how many pages must have been polled of which the same is said, for them
// to say anything of another.
const leastClaimed = 3

// claims returns the pages of the site of which the same is said as of a page; nil if nothing
// is, or nothing is known of them.
func (p *page) claims() *claimed {
	if p.claim == 0 || p.site.claimed == nil {
		return nil
	}
	if c := &p.site.claimed[p.claim]; c.prior[0] > 0 {
		return c
	}
	return nil
}

// addClaims takes in how often pages change by a sitemap.
func (l *indexHints) addClaims(slot freshet.Slot, w *evidence.IndexHint) {
	for _, c := range w.Claims {
		freq := c.Freq % evidence.ChangeFreqs
		at, known := l.keys[c.Page]
		if !known {
			if freq == 0 {
				delete(l.unclaimed, c.Page)
			} else if len(l.unclaimed) < mostUnmatched {
				l.unclaimed[c.Page] = freq
			}
			continue
		}
		for ; at >= 0; at = l.alike[at] {
			if at != slot {
				l.keep(at)
				l.pages.At(at).claim = freq
			}
		}
	}
}

// sweepClaim lets what is thought of a page go into what is thought of those of which the
// same is said.
func (l *background) sweepClaim(p *page, q *spread) {
	if p.claim == 0 {
		return
	}
	if p.site.claimed == nil {
		p.site.claimed = &[evidence.ChangeFreqs]claimed{}
	}
	c := &p.site.claimed[p.claim]
	c.swept++
	for i, w := range q {
		c.sum[i] += w
	}
}

// learnClaims makes new priors of what the sweep has gathered.
func (s *site) learnClaims(parent *spread) {
	if s.claimed == nil {
		return
	}
	for i := range s.claimed {
		c := &s.claimed[i]
		if c.swept >= leastClaimed {
			c.learn(parent)
		} else {
			c.prior, c.sum = spread{}, spread{}
		}
		c.swept = 0
	}
}

// encodeClaims writes or reads what is known of the pages of a site by what is said of them.
func (s *site) encodeClaims(c *codec) {
	has := s.claimed != nil
	if c.flag(&has); !has || c.bad {
		return
	}
	if s.claimed == nil {
		s.claimed = &[evidence.ChangeFreqs]claimed{}
	}
	for i := range s.claimed {
		of := &s.claimed[i]
		c.pool(&of.pool)
		swept := int64(of.swept)
		c.int(&swept)
		of.swept = int(swept)
	}
}

// encodeUnclaimed writes or reads how often pages change by sitemaps that are no sources.
func (l *indexHints) encodeUnclaimed(c *codec) {
	keys := slices.Sorted(maps.Keys(l.unclaimed))
	n := c.length(len(keys), mostUnmatched)
	for i := range n {
		key, freq := crawl.PageKey(0), evidence.ChangeFreq(0)
		if c.writing {
			key, freq = keys[i], l.unclaimed[keys[i]]
		}
		key = crawl.PageKey(c.word(uint64(key)))
		freq = evidence.ChangeFreq(c.half(uint32(freq)))
		if c.bad = c.bad || freq >= evidence.ChangeFreqs; c.bad {
			return
		}
		if !c.writing {
			if l.unclaimed == nil {
				l.unclaimed = map[crawl.PageKey]evidence.ChangeFreq{}
			}
			l.unclaimed[key] = freq
		}
	}
}
