package learn

// Courses are how the clock of a site ran over the last ticks: as it is, times the activity
// of all sources, and times that of the site.
type courses struct {
	of             *site
	plain, bent, a course
}

// Views are the courses of the sites that were looked at last. They take more than all else
// that is kept of a site, and are worked out at each look: so they are kept for as many sites
// as a look has at most where sources are looked at in parts, and not for all.
type views struct {
	of   []*courses
	next int
}

// mostViews is how many there are at most. If a look has more sites with several pages, some
// are worked out again.
const mostViews = 1 << 13

// room returns the courses that are to be those of a site.
func (v *views) room(s *site) *courses {
	if v.next == len(v.of) && v.next < mostViews {
		v.of = append(v.of, &courses{})
	}
	v.next %= len(v.of)
	c := v.of[v.next]
	c.of, s.view = s, int32(v.next)
	v.next++
	return c
}

// viewOf returns the courses of a site with several pages. Nothing may have been learnt
// since observeSite was called for it.
func (l *Learner) viewOf(s *site) *courses {
	if int(s.view) < len(l.views.of) {
		if c := l.views.of[s.view]; c.of == s {
			return c
		}
	}
	l.observeSite(s)
	return l.views.of[s.view]
}

// observeSite works out the courses of a site.
func (l *Learner) observeSite(s *site) {
	if s.pulse == nil {
		return
	}
	c := l.views.room(s)
	c.plain.total, c.bent.total, c.a.total = 0, 0, 0
	for t := l.oldest(); t <= l.open; t++ {
		pace := float64(s.pulse.pace[place(t)])
		world := float64(l.course.value[place(t)])
		c.plain.run(t, pace)
		c.bent.run(t, pace*world)
		c.a.run(t, pace*s.ratio(t, world, siteActivityGrip))
	}
}
