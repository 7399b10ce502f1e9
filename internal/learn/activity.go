package learn

// span is how many ticks back activity is remembered.
const span = 128

// An activity is what was seen of late: for each of the last ticks, how many
// changes probably fell into it, and how many were expected. It is
// how a change on one page becomes evidence for the others, but only for those
// that have not been looked at since.
type activity struct {
	seen, due [span]float32
}

// open forgets the tick that makes room for a new one.
func (a *activity) open(tick int64) {
	i := place(tick)
	a.seen[i], a.due[i] = 0, 0
}

// add counts changes seen and due in a tick.
func (a *activity) add(tick int64, seen, due float64) {
	i := place(tick)
	a.seen[i] += float32(seen)
	a.due[i] += float32(due)
}

// ratio returns how much more than expected was seen in a tick; prior is what
// is thought otherwise, and counts for as many changes as grip says.
func (a *activity) ratio(tick int64, prior, grip float64) float64 {
	i := place(tick)
	return (grip*prior + float64(a.seen[i])) / (grip + float64(a.due[i]))
}

// How many changes count as much as what is thought otherwise: for all sources
// that nothing special is going on, for a site that it is as everywhere.
const (
	worldActivityGrip = 1
	siteActivityGrip  = 0.1
)

func place(tick int64) int { return int(uint64(tick) % span) }

// A course is how something ran over the last ticks: its sum up to the
// beginning of each, and its value in each. Its zero is the beginning of the
// oldest tick.
type course struct {
	sum, value [span]float32
	total      float64 // up to the end of the last tick
}

// upto returns the sum up to x, which is in a tick that is remembered.
func (c *course) upto(x float64, tick int64) float64 {
	i := place(tick)
	return float64(c.sum[i]) + (x-float64(tick))*float64(c.value[i])
}

// run adds a tick.
func (c *course) run(tick int64, value float64) {
	i := place(tick)
	c.sum[i], c.value[i] = float32(c.total), float32(value)
	c.total += value
}

// clock returns where the site's clock stood at x, if open is the tick under
// way. Before that tick it is taken to have run evenly.
func (s *site) clock(x float64, open int64) float64 {
	behind := float64(open) - x
	if behind <= 0 {
		return s.upto - behind*s.pace
	}
	return s.upto - behind
}

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

// activities are what was seen of late of all sources, and how the clocks of sites ran.
type activities struct {
	background
	active activity // of all sources
	course course   // of that activity; scratch
	views  views    // scratch
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

// viewOf returns the courses of a site with several pages. Nothing may have been learned
// since observeSite was called for it.
func (l *activities) viewOf(s *site) *courses {
	if int(s.view) < len(l.views.of) {
		if c := l.views.of[s.view]; c.of == s {
			return c
		}
	}
	l.observeSite(s)
	return l.views.of[s.view]
}

// observeSite works out the courses of a site.
func (l *activities) observeSite(s *site) {
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
