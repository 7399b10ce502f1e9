package learn

// span is how many ticks back activity is remembered.
const span = 128

// An activity is what was seen of late: for each of the last ticks, how many
// changes fell into it as far as can be told, and how many were expected. It is
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
