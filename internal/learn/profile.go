package learn

// A profile says how much more or less than usual is to be expected in each bin
// of each cycle: what was seen there, of what was expected there.
type profile struct {
	seen, due [mostBins]float32 // changes attributed to a bin, and expected in it
	factor    bends             // the ratio, drawn towards that of the parent; the mean of a cycle is 1
}

// Bends are the factors of the bins of all cycles.
type bends [mostBins]float32

func newProfile() *profile {
	p := &profile{}
	for i := range p.factor {
		p.factor[i] = 1
	}
	return p
}

// at returns the factor of a tick, over the cycles of a shape.
func (p *profile) at(s *shape, ph phase) float64 { return p.factor.at(s, ph) }

func (b *bends) at(s *shape, ph phase) float64 {
	x := float64(b[ph[byHour]])
	if s[byWeekday] > 0 {
		x *= float64(b[ph[byWeekday]])
	}
	if s[byMinute] > 0 {
		x *= float64(b[ph[byMinute]])
	}
	return x
}

// add counts changes seen and due in a tick.
func (p *profile) add(s *shape, ph phase, seen, due float64) {
	for c, bin := range ph {
		if s[c] > 0 {
			p.seen[bin] += float32(seen)
			p.due[bin] += float32(due / float64(p.factor[bin]))
		}
	}
}

// addPlain counts changes seen and due in a tick, where what was due does not
// yet heed the profile.
func (p *profile) addPlain(s *shape, ph phase, seen, due float64) {
	for c, bin := range ph {
		if s[c] > 0 {
			p.seen[bin] += float32(seen)
			p.due[bin] += float32(due)
		}
	}
}

// settle works the factors out anew. What the parent thinks (nil: that all bins
// are alike) counts for as many changes as strength says. A profile is about
// when, not how much: what was due is first brought to the level of what was
// seen, or an error of the rate would bend the profile and the profile the rate.
func (p *profile) settle(s *shape, parent *profile, strength float64) {
	for c, n := range s {
		if n == 0 {
			continue
		}
		from := first[c]
		seen, due, factor := p.seen[from:from+n], p.due[from:from+n], p.factor[from:from+n]
		prior := func(i int) float64 {
			if parent == nil {
				return 1
			}
			return float64(parent.factor[from+i])
		}
		found, awaited := 1.0, 1.0
		for i := range factor {
			found += float64(seen[i])
			awaited += float64(due[i]) * prior(i)
		}
		level, sum := found/awaited, 0.0
		for i := range factor {
			x := (strength*prior(i) + around(seen, i)) / (strength + level*around(due, i))
			factor[i] = float32(x)
			sum += x
		}
		for i := range factor {
			factor[i] *= float32(float64(n) / sum)
		}
	}
}

// around returns a value smoothed with its neighbours on the circle, if there
// are enough of them for neighbours to be alike.
func around(bins []float32, i int) float64 {
	n := len(bins)
	if n < 12 {
		return float64(bins[i])
	}
	return float64(bins[(i+n-1)%n])/4 + float64(bins[i])/2 + float64(bins[(i+1)%n])/4
}
