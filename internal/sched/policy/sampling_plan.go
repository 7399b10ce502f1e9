package policy

import (
	"cmp"
	"slices"

	"freshet/internal/freshet"
)

// drawSamples takes up to n samples, one of each site in turn.
func (p *Sampling) drawSamples(at int64, n int, take func(freshet.Slot, float64) bool) int {
	d := &p.draw
	taken := 0
	for vain := 0; vain < len(d.sites) && taken < n && p.affordsSample(); {
		site := &p.sites[d.sites[d.cursor%len(d.sites)]]
		d.cursor = (d.cursor + 1) % len(d.sites)
		if !site.wants() || !p.sample(at, site, take) {
			vain++
			continue
		}
		vain = 0
		taken++
		site.drawn++
		d.left -= p.cfg.SampleCost
		if !site.wants() {
			d.wanting--
		}
	}
	return taken
}

// affordsSample reports whether there is more to draw and to pay it with.
func (p *Sampling) affordsSample() bool {
	return p.draw.wanting > 0 && p.draw.left-float64(p.draw.pending) >= p.cfg.SampleCost
}

func (s *sampledSite) wants() bool { return s.drawn < s.want && s.next < len(s.pages) }

// sample takes one page of a site. When it may not be polled another will do as
// well, as they come in no order; but when two may not, it is likely the host.
func (p *Sampling) sample(at int64, site *sampledSite, take func(freshet.Slot, float64) bool) bool {
	const tries = 2
	for try := 0; try < tries && site.next+try < len(site.pages); {
		slot := site.pages[site.next+try]
		switch {
		case !p.free(at, slot):
			site.pages[site.next+try] = site.pages[site.next]
			site.pages[site.next] = slot
			site.next++
			if site.next == len(site.pages) {
				p.draw.wanting--
			}
		case p.take(at, slot, asSample, float64(p.pages[slot].weight), take):
			site.pages[site.next+try] = site.pages[site.next]
			site.pages[site.next] = slot
			site.next++
			return true
		default:
			try++
		}
	}
	return false
}

// settled reports whether the samples that were to be drawn have been, as far
// as they can, and all are back.
func (p *Sampling) settled() bool {
	return p.draw.flying == 0 && (p.draw.hurried || !p.affordsSample())
}

// settle makes of the samples what the method makes of them.
func (p *Sampling) settle() {
	if p.cfg.Method == SampleAdaptive {
		p.decide()
		return
	}
	p.draw.sampling = false
	places := p.ranked(nil)
	if p.cfg.Method == SampleProportional {
		p.planProportional(places)
	}
	p.planRest(places)
}

// ranked returns those sites of the cycle that are kept, as their places in it,
// the most worth first.
func (p *Sampling) ranked(keep func(place int) bool) []int {
	places := make([]int, 0, len(p.draw.sites))
	for place := range p.draw.sites {
		if keep == nil || keep(place) {
			places = append(places, place)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(p.at(b).Worth(), p.at(a).Worth()) })
	return places
}

// at returns the site at a place of the cycle.
func (p *Sampling) at(place int) *sampledSite { return &p.sites[p.draw.sites[place]] }

// planRest adds what has not been drawn of the sites at the places to the plan.
func (p *Sampling) planRest(places []int) {
	for _, place := range places {
		site := p.at(place)
		p.draw.plan = append(p.draw.plan, site.pages[site.next:]...)
		p.draw.pending += len(site.pages) - site.next
		site.next = len(site.pages)
	}
}

// measured returns the sites at the places, as large as what was sampled of
// them and what can still be downloaded.
func (p *Sampling) measured(places []int) []Site {
	sites := make([]Site, len(places))
	for i, place := range places {
		site := p.at(place)
		sites[i] = site.Site
		sites[i].Size = site.Sampled + len(site.pages) - site.next
	}
	return sites
}

// planProportional plans of every site its share, the sites mixed evenly.
func (p *Sampling) planProportional(places []int) {
	type turn struct {
		when float64
		slot freshet.Slot
	}
	var turns []turn
	for i, n := range Whole(ShareProportional(p.measured(places), p.draw.left)) {
		site := p.at(places[i])
		for j, slot := range site.pages[site.next:][:n] {
			turns = append(turns, turn{(float64(j) + 0.5) / float64(n), slot})
		}
		site.next += n
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.when, b.when) })
	for _, t := range turns {
		p.draw.plan = append(p.draw.plan, t.slot)
	}
	p.draw.pending += len(turns)
}

// decide ends a round of adaptive sampling: sites that are clearly above the
// threshold are downloaded, those clearly below are left until the end, and of
// the others more samples are drawn. When no more can be, what downloads there
// are go to all the others, the most worth first.
func (p *Sampling) decide() {
	d := &p.draw
	places := p.ranked(func(place int) bool { return d.open[place] })
	sites := p.measured(places)
	threshold := CautiousThreshold(sites, d.left-float64(d.pending))
	d.wanting = 0
	for i, verdict := range Judge(sites, threshold, p.interval) {
		site := p.at(places[i])
		site.want = site.drawn + site.step
		switch {
		case verdict == Download:
			d.open[places[i]] = false
			p.planRest(places[i : i+1])
		case verdict == Discard || !site.wants():
			d.open[places[i]] = false
			site.want = site.drawn
		default:
			d.wanting++
		}
	}
	if d.hurried || !p.affordsSample() {
		d.sampling = false
		p.planRest(p.ranked(nil))
	}
}

func (p *Sampling) interval(s Site) Interval {
	return FiniteWilsonInterval(s.Changed, s.Sampled, s.Size, p.cfg.Alpha)
}

// follow takes up to n pages of the plan, as far as the downloads go.
func (p *Sampling) follow(at int64, n int, take func(freshet.Slot, float64) bool) int {
	const done = -1
	d := &p.draw
	taken := 0
	for i := d.head; i < len(d.plan) && taken < n && d.left >= 1; i++ {
		slot := d.plan[i]
		switch {
		case slot == done:
		case !p.free(at, slot): // has been visited otherwise, or is gone
			d.plan[i] = done
			d.pending--
		case p.take(at, slot, asDownload, p.worth(slot), take):
			d.plan[i] = done
			d.pending--
			d.left--
			taken++
		}
		if d.head == i && d.plan[i] == done {
			d.head++
		}
	}
	return taken
}

// worth returns what the download of a page is expected to bring. It is drawn a
// little towards a half, as no sample says that a site never changes.
func (p *Sampling) worth(slot freshet.Slot) float64 {
	page := &p.pages[slot]
	site := &p.sites[page.site]
	return float64(page.weight) * (float64(site.Changed) + 0.5) / (float64(site.Sampled) + 1)
}
