package learn

import (
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// Pages in one directory of a site are often alike, and unlike those in the next. Which
// directories are, and how alike their pages, is for polls to tell.
//
// Each directory in the path of a page is a group, of all pages below it. The pages of a
// group are taken to have rates around a centre; what polls have found of each of them says
// where the centre can be, and the group above says where it is thought to be otherwise. So
// what is thought of a page that nothing is known of comes from its nearest relatives of which
// something is. How far it does is learned for each site and depth, by how well it has foretold
// what polls found, next to what the group above foretold.

// A kinship is how alike the pages of a group are taken to be. Where they are no kin, a page of a
// group is like those of the group above.
const (
	distant = iota
	near
	kinships
)

// kinSpread is the standard deviation of the logarithms of the rates of a group.
var kinSpread = [kinships]float64{distant: 2, near: 0.7}

// centres is how many rates a centre can have: each lies between two of the grid.
const centres = points / 2

// changingAsOne is how many pages of a group count for one, because pages of one directory often
// change together.
const changingAsOne = 5

// A group is the pages of one directory and of those below it.
type group struct {
	site   *site
	parent *group // nil at the top of a host
	key    uint64
	depth  int
	pages  int
	only   freshet.Slot // its page, if it has had only one
	*kin                // nil if it has had only one
}

// A kin is what is known of a group of several pages.
type kin struct {
	fit   contribution // of all its pages
	prior spread       // what is thought of the rate of a page of which nothing is known
	mean  float64      // rate of that
	age   uint64       // of what prior was worked out from
}

// A contribution says how well each rate of a centre fits what was seen of a page, as a logarithm in
// units of 1/fitUnit. Those of a group are added up. Whole numbers add up to the same in any order: so
// the sums need not be saved, and come out the same when they are made again of the pages.
type contribution [kinships][centres]int64

const fitUnit = 1 << 20

// add adds what one page contributes, or takes it away.
func (c *contribution) add(of *contribution, sign int64) {
	for k := range of {
		for i, x := range of[k] {
			c[k][i] += sign * x
		}
	}
}

// A kinMatrix says for each kinship and each rate of a centre how likely a page has each rate.
type kinMatrix [kinships][centres]spread

func newKinMatrix(g *grid) (m kinMatrix) {
	for k := range m {
		for i := range m[k] {
			for j, rate := range g {
				d := math.Log(rate/math.Sqrt(g[2*i]*g[2*i+1])) / kinSpread[k]
				m[k][i][j] = math.Exp(-d * d / 2)
			}
			m[k][i].scale()
		}
	}
	return m
}

// depths is the number of directory levels; deeper directories belong to the last one.
const depths = 4

// A kinTrust says how well each kinship has foretold of late what polls found, by depth: the logarithm
// of how likely it made that, less the same of no kinship.
type kinTrust [depths][kinships]float64

// groups are the directories of all sites.
type groups struct {
	of     map[uint64]*group
	matrix kinMatrix
	found  kinTrust // at all sites
	trust  kinTrust // the same when the priors were renewed last, which counts for every site
	made   uint64   // changes of what is thought of all sites
}

// How far kinships are believed.
const (
	kinDoubt = 1.5   // before any poll, as a logarithm: four or five times less than no kinship
	kinGrip  = 0.999 // how much what a site has shown before still counts, a poll
	kinWorld = 0.02  // how much what all sites have shown counts for each
	mostKin  = 30    // most, as a logarithm, so that no rate becomes impossible
)

// mostDepth is how many directories of a path count.
const mostDepth = 8

// directories visits the directories in the path of a URL, from the top. Pages that differ in
// their queries alone are in one, too.
func directories(url string, visit func(depth int, directory string)) {
	end := len(url)
	query := false
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		end, query = i, url[i] == '?'
	}
	path := strings.TrimSuffix(url[:end], "/")
	at := strings.Index(path, "://")
	if at < 0 {
		return
	}
	at += len("://")
	slash := strings.IndexByte(path[at:], '/') // where the host ends
	for depth := 0; slash >= 0 && depth < mostDepth; depth++ {
		at += slash + 1
		if slash = strings.IndexByte(path[at:], '/'); slash >= 0 {
			visit(depth, path[:at+slash])
		} else if query {
			visit(depth, path)
		}
	}
}

// joinGroup puts a source into the group of its directory, if it is not there.
func (l *population) joinGroup(slot freshet.Slot, s freshet.Source) {
	p := l.pages.At(slot)
	key := uint64(0)
	directories(s.URL, func(_ int, directory string) { key = groupKey(p.site, directory) })
	if p.group != nil && p.group.key == key || p.group == nil && key == 0 {
		return
	}
	l.leaveGroup(slot) // before the new group is looked up: this may have been the only page of one above it
	var to *group
	directories(s.URL, func(depth int, directory string) {
		key := groupKey(p.site, directory)
		g := l.groups.of[key]
		if g == nil {
			g = &group{site: p.site, parent: to, key: key, depth: min(depth, depths-1)}
			l.groups.of[key] = g
		}
		to = g
	})
	if p.group = to; to == nil {
		return
	}
	to.site.stamp++
	var c, other contribution
	l.contribute(slot, &c)
	for g := to; g != nil; g = g.parent {
		if g.pages++; g.pages == 1 {
			g.only = slot
			continue
		}
		if g.kin == nil {
			g.kin = &kin{}
			l.contribute(g.only, &other)
			g.fit.add(&other, 1)
		}
		g.fit.add(&c, 1)
	}
}

// leaveGroup takes a source out of its group. A group without pages is forgotten.
func (l *population) leaveGroup(slot freshet.Slot) {
	p := l.pages.At(slot)
	if p.group == nil {
		return
	}
	p.group.site.stamp++
	var c contribution
	l.contribute(slot, &c)
	for g := p.group; g != nil; g = g.parent {
		if g.kin != nil {
			g.fit.add(&c, -1)
		}
		if g.pages--; g.pages == 0 {
			delete(l.groups.of, g.key)
		}
	}
	p.group = nil
}

// groupKey returns the key of a directory.
func groupKey(s *site, directory string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s.name)
	h.Write([]byte{0})
	io.WriteString(h, directory)
	return h.Sum64()
}

// contribute works out what a page contributes to its groups.
func (l *population) contribute(slot freshet.Slot, c *contribution) {
	*c = contribution{}
	p, seen := l.pages.At(slot), &l.minds.At(slot).of[long]
	if p.group == nil || p.kind&lists != 0 || seen.isBlank() {
		return
	}
	var likely spread
	for i, x := range seen {
		likely[i] = exp(float64(x))
	}
	for k := range c {
		for i := range c[k] {
			sum := 0.0
			for j, w := range l.groups.matrix[k][i] {
				sum += w * likely[j]
			}
			c[k][i] = int64(math.Round(math.Log(max(sum, math.SmallestNonzeroFloat32)) * fitUnit))
		}
	}
}

// noteBlank notes whether anything is known of the rate of a source.
func (l *population) noteBlank(slot freshet.Slot) {
	p := l.pages.At(slot)
	if p.kind &^= blank; l.minds.At(slot).of[long].isBlank() {
		p.kind |= blank
	}
}

// isBlank reports whether all rates fit alike.
func (l *likelihood) isBlank() bool { return *l == likelihood{} }

// recontribute replaces what a page contributed to its groups by what it does now.
func (l *population) recontribute(slot freshet.Slot, was *contribution) {
	p := l.pages.At(slot)
	if p.group == nil {
		return
	}
	var now contribution
	if l.contribute(slot, &now); now == *was {
		return
	}
	p.group.site.stamp++
	for g := p.group; g != nil; g = g.parent {
		if g.kin != nil {
			g.fit.add(was, -1)
			g.fit.add(&now, 1)
		}
	}
}

// tells reports whether a group says anything that the one above does not: it has several pages, and
// not all of those.
func (g *group) tells() bool {
	whole := g.site.pages
	if g.parent != nil {
		whole = g.parent.pages
	}
	return g.pages > 1 && g.pages < whole
}

// inGroup returns what is known of the nearest group of a page of which anything is; nil if there
// is none.
func (l *population) inGroup(g *group) *kin {
	for ; g != nil; g = g.parent {
		if !g.tells() {
			continue
		}
		if age := l.groups.made<<32 + uint64(g.site.stamp) + 1; g.age != age {
			g.age = age
			g.prior = l.mixed(g)
			g.mean = g.prior.mean(&l.grid)
		}
		return g.kin
	}
	return nil
}

// above returns what is thought of a page of the group above.
func (l *population) above(g *group) *spread {
	if k := l.inGroup(g.parent); k != nil {
		return &k.prior
	}
	return l.priorAt(g.site)
}

// viewsOf returns what each kinship makes of a page of which nothing is known, and what the group
// above does.
func (l *population) viewsOf(g *group) (views [kinships]spread, above *spread) {
	above = l.above(g)
	for k := range views {
		fit := &g.fit[k]
		top := slices.Max(fit[:])
		var at [centres]float64
		sum := 0.0
		for i, x := range fit {
			at[i] = (above[2*i] + above[2*i+1]) * exp(float64(x-top)/(changingAsOne*fitUnit))
			sum += at[i]
		}
		for i, w := range at {
			if w /= sum; w < tiny {
				continue
			}
			for j, x := range l.groups.matrix[k][i] {
				views[k][j] += w * x
			}
		}
	}
	return views, above
}

// mixed returns the mean of what kinships make of a page, and the group above, as far as each is trusted.
func (l *population) mixed(g *group) (q spread) {
	views, above := l.viewsOf(g)
	var trust [kinships]float64
	for k := range trust {
		trust[k] = kinWorld*l.groups.trust[g.depth][k] - kinDoubt
		if own := g.site.kinTrust; own != nil {
			trust[k] += own[g.depth][k]
		}
		trust[k] = min(mostKin, trust[k])
	}
	top := max(0, slices.Max(trust[:]))
	rest := math.Exp(-top)
	for i, x := range above {
		q[i] = rest * x
	}
	for k, x := range trust {
		w := math.Exp(x - top)
		for i, x := range views[k] {
			q[i] += w * x
		}
	}
	q.scale()
	return q
}

// judgeKin holds kinships to what a poll found of a page.
func (l *population) judgeKin(slot freshet.Slot, see *sighting) {
	p := l.pages.At(slot)
	if l.inGroup(p.group) == nil {
		return
	}
	var known, stays spread
	for i, x := range l.minds.At(slot).of[long] {
		known[i], stays[i] = exp(float64(x)), exp(-l.grid[i]*see.exposure)
	}
	s := p.site
	if s.kinTrust == nil {
		s.kinTrust = &kinTrust{}
	}
	for g := p.group; g != nil; g = g.parent {
		if !g.tells() {
			continue
		}
		views, above := l.viewsOf(g)
		otherwise := above.foresees(&known, &stays, see.changed)
		for k := range views {
			more := views[k].foresees(&known, &stays, see.changed) - otherwise
			own, all := &s.kinTrust[g.depth][k], &l.groups.found[g.depth][k]
			*own, *all = kinGrip**own+more, worldGrip**all+more
		}
	}
	s.stamp++
}

// foresees returns the logarithm of how likely a prior makes what a poll found, where what was known
// of the page has such likelihoods, and it stays as it is with such chances.
func (q *spread) foresees(known, stays *spread, changed bool) float64 {
	whole, same := 0.0, 0.0
	for i, w := range q {
		whole += w * known[i]
		same += w * known[i] * stays[i]
	}
	if changed {
		same = whole - same
	}
	return math.Log(bounded(same / whole))
}
