package forecast

import (
	"cmp"
	"math"
)

// manyClasses is how many classes a Market works with. Up to so many sources
// each is a class of its own and all is exact; beyond, those that are all but
// alike are lumped together.
const manyClasses = 8192

// A likeness is what sources of one class have in common, in steps.
type likeness struct {
	manner                    *manner
	rate, spread, worth, toll int32
	least, most               int32
	floor, stretch            int32
}

// classed returns the prospects in classes, no more than a limit if that can be,
// and the class of each. Where there are too many to go one by one, likeness is
// taken ever less strictly until there are few enough.
func (m *Market) classed(limit int, hosts map[string]ration) ([]class, []int32) {
	if len(m.prospects) <= limit {
		all, of := make([]class, len(m.prospects)), make([]int32, len(m.prospects))
		for i := range all {
			all[i], of[i] = m.single(i, hosts), int32(i)
		}
		return all, of
	}
	for width := 0.02; ; width *= 1.25 {
		if width > 10 { // only manners are left, and those do not mix
			limit = math.MaxInt
		}
		if classes, of := m.lumped(width, limit, hosts); classes != nil {
			return classes, of
		}
	}
}

// single returns a class of one prospect.
func (m *Market) single(i int, hosts map[string]ration) class {
	c := m.terms.classOf(&m.prospects[i], m.manners[i])
	if r, ok := hosts[m.prospects[i].Host]; ok {
		c.floor = r.price
		c.most *= r.stretch
		c.settle()
	}
	return c
}

// A lump gathers prospects that become one class: the sums of what its means
// are made of.
type lump struct {
	manner                              *manner
	n, rate, spread, worth, toll, floor float64
	least, most                         float64
}

// lumped returns classes of prospects that differ by no more than a width, on
// the scale of logarithms; nil if that is more than the limit.
func (m *Market) lumped(width float64, limit int, hosts map[string]ration) ([]class, []int32) {
	// What tells less on the result is taken less strictly.
	step := func(x, ease float64) int32 {
		if !(x > 0) {
			return math.MinInt32
		}
		return int32(math.Round(math.Log(x) / (ease * width)))
	}
	index, lumps := map[likeness]int32{}, []lump{}
	of := make([]int32, len(m.prospects))
	for i := range m.prospects {
		p, r := &m.prospects[i], ration{stretch: 1}
		if held, ok := hosts[p.Host]; ok {
			r = held
		}
		wide, worth, toll := spread(p.Rate), cmp.Or(p.Weight, 1)/cmp.Or(p.Cost, 1), cmp.Or(p.Requests, 1)
		least, most := m.terms.bounds(p)
		like := likeness{
			manner: m.manners[i], rate: step(p.Rate.Mean, 1), spread: int32(math.Round(wide / (3 * width))),
			worth: step(worth, 2), toll: step(toll, 2), floor: step(r.price, 4), stretch: step(r.stretch, 2),
			least: step(least, 4), most: step(most, 1),
		}
		at, ok := index[like]
		if !ok {
			if len(lumps) == limit {
				return nil, nil
			}
			at = int32(len(lumps))
			index[like], lumps = at, append(lumps, lump{manner: like.manner})
		}
		of[i] = at
		lumps[at].take(lump{n: 1, rate: p.Rate.Mean, spread: wide, worth: worth, toll: toll, floor: r.price, least: least, most: most * r.stretch})
	}
	classes := make([]class, len(lumps))
	for i := range lumps {
		classes[i] = lumps[i].class()
	}
	return classes, of
}

// take adds one prospect.
func (l *lump) take(o lump) {
	l.n += o.n
	l.rate += o.rate
	l.spread += o.spread * o.spread
	l.worth += o.worth
	l.toll += o.toll
	l.floor += o.floor
	l.least += o.least
	l.most += o.most
}

// class returns the class that a lump has become.
func (l *lump) class() class {
	c := class{
		n: l.n, manner: l.manner, rate: l.rate / l.n, worth: l.worth / l.n, toll: l.toll / l.n,
		least: l.least / l.n, most: l.most / l.n, floor: l.floor / l.n,
		doubt: doubtOf(l.rate/l.n, math.Sqrt(l.spread/l.n)),
	}
	c.settle()
	return c
}
