package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/outlook"
)

// A count is the tally of one source while it is kept. What is new weighs more
// than what is old by a factor that grows with time, so that what is old need
// not be touched to fade.
type count struct {
	life                                                                              objective.Visibility
	polls, found, captured, happened, variance, delay, watched, stale, oldAge, behind float32

	// How far off happened would be if the rate were: that is one error for all
	// polls of a source, and does not average out.
	off float32

	missed float32 // changes that were missed, as dates tell and not chance

	rhythm rhythm
	bursts bursts
}

// A tallyScale says how much a count weighs at a moment.
type tallyScale struct {
	half float64 // ticks in which the weight doubles
	from float64 // the moment at which it was 1
}

// at returns the weight at x.
func (s *tallyScale) at(x float64) float64 { return math.Exp2((x - s.from) / s.half) }

// doublings is how often the weight doubles before everything is weighed again:
// a square of seconds has to fit in a count beside it.
const doublings = 32

// fade makes what is counted smaller, once the weight of what is new has grown
// so much that it would not fit in a count before long.
func (l *background) fade() {
	n := math.Floor((float64(l.open) - l.scale.from) / l.scale.half / doublings)
	if n < 1 {
		return
	}
	l.keepAll()
	l.scale.from += n * doublings * l.scale.half
	by := float32(math.Exp2(-n * doublings))
	for _, c := range l.counts.All {
		for _, x := range c.fading() {
			*x *= by
		}
		for k := range c.bursts.happened {
			c.bursts.happened[k] *= by
		}
	}
}

// fading returns everything that is counted and fades.
func (c *count) fading() [17]*float32 {
	return [...]*float32{
		&c.polls, &c.captured, &c.happened, &c.variance, &c.delay, &c.watched, &c.stale, &c.oldAge, &c.off,
		&c.rhythm.even, &c.rhythm.most, &c.rhythm.noise, &c.missed, &c.found, &c.behind, &c.bursts.plain, &c.bursts.room,
	}
}

// all returns everything that is kept, but for what came to it later.
func (c *count) all() [13]*float32 {
	fading := c.fading()
	all := [13]*float32{12: &c.rhythm.said}
	copy(all[:], fading[:12])
	return all
}

// Plainly returns how many changes of a source are expected in so many ticks by a
// plain count of those that it has had, and one more that may be just ahead. It is
// far from 0 as long as a source has not been watched for many times as long,
// whatever else is thought of it; for one that was never seen twice it is infinite.
// What a push would announce is not expected.
func (l *Learner) Plainly(slot freshet.Slot, ticks float64) float64 {
	c := l.counts.At(slot)
	return ticks * l.pushes.untold(slot) * l.clock.seconds() * (float64(c.happened) + l.scale.at(float64(l.open))) / float64(c.watched)
}

// add counts a poll. Last is when the source had been seen before, and seconds
// how long a tick is. The rate may be off by a factor of e^doubt.
//
// Changes that fall into the same tick count as one: what is closer together
// nobody could tell apart.
func (c *count) add(weight, last, seconds, rate, doubt float64, see *sighting) {
	ticks := see.at - last
	length := ticks * seconds
	c.polls += float32(weight)
	c.watched += float32(weight * length)
	if !see.changed {
		return
	}
	c.found += float32(weight)
	y := max(rate*see.exposure, 1e-6)
	if see.dated.n > 0 {
		c.addDated(weight, length, seconds, y, doubt, see)
		return
	}
	some := -math.Expm1(-y)
	n := toldApart(y, ticks)
	spread := max(0, (y+y*y)/some-(y/some)*(y/some))
	off := (toldApart(y*math.Exp(doubt), ticks) - toldApart(y*math.Exp(-doubt), ticks)) / 2
	alone := 1/y - math.Exp(-y)/some // of the time: before the first change, and after the last
	delay := alone * length
	c.happened += float32(weight * n)
	c.bursts.plain += float32(weight * n)
	c.bursts.room += float32(weight * n * (c.caught(n+1) - c.caught(n)))
	c.variance += float32(weight * min(spread, n*n))
	c.off += float32(weight * off)
	caught := c.caught(n)
	c.captured += float32(weight * caught)
	switch c.life.Kind {
	case objective.VisibleForever:
		c.delay += float32(weight * (delay + (n-1)*(length+delay)/2))
	case objective.VisibleLast:
		c.delay += float32(weight * (delay + (caught-1)*min(length, delay*(caught+2))/2))
	default:
		c.delay += float32(weight * delay)
	}
	c.behind += float32(weight * n * length / 2) // each is as likely early as late
	c.stale += float32(weight * (1 - alone) * length)
	c.oldAge += float32(weight * length * length * ageBefore(y) / some)
}

// addDated counts a poll that found changes that are dated, where y were expected in
// the seconds since the poll before. What came before all that is dated is as chance
// has it.
func (c *count) addDated(weight, length, seconds, y, doubt float64, see *sighting) {
	d := &see.dated
	hidden := see.hidden()
	before := max(y*hidden, 1e-9)
	apart := before
	if ticks := length / seconds * hidden; ticks > 0 { // those of one tick count as one
		apart = -ticks * math.Expm1(-before/ticks)
	}
	c.happened += float32(weight * (float64(d.n) + apart))
	c.variance += float32(weight * apart)
	c.off += float32(weight * apart * math.Sinh(doubt))
	caught := c.caught(float64(d.n) + apart)
	c.captured += float32(weight * caught)
	c.missed += float32(weight * max(0, float64(d.n)-caught))
	behind := 0.0
	for _, tick := range d.ticks[:d.n] {
		behind += see.ago(tick, length, seconds)
	}
	for _, tick := range d.ticks[:d.n] { // the newest are those that are caught
		c.delay += float32(weight * min(1, caught) * see.ago(tick, length, seconds))
		if caught--; caught <= 0 {
			break
		}
	}
	// The copy was old for as long as changes are dated, and before that since the first
	// change there was, if any.
	sure := see.ago(d.ticks[d.n-1], length, seconds)
	unsure := 0.0
	if hidden > 0 {
		unsure = length - sure
	}
	c.delay += float32(weight * max(0, caught) * (sure + unsure/2))
	c.behind += float32(weight * (behind + apart*(sure+unsure/2)))
	old := unsure * max(0, 1+math.Expm1(-before)/before)
	c.stale += float32(weight * (sure + old))
	c.oldAge += float32(weight * (sure*sure/2 + sure*old + unsure*unsure*ageBefore(before)))
}

// ago returns how many seconds before the poll a change was that is dated in a tick; at
// most the length of the time since the poll before.
func (s *sighting) ago(tick int64, length, seconds float64) float64 {
	return min(length, max(0, s.at-float64(tick)-0.5)*seconds)
}

// ageBefore returns how old a copy has been on average at the end of a time, times half
// of it, in which y changes were expected; the time is 1.
func ageBefore(y float64) float64 {
	if y < 1e-3 { // the rest of the series is lost in rounding
		return y / 6
	}
	return 0.5 - 1/y - math.Expm1(-y)/(y*y)
}

// caught returns how many of n changes a poll captures.
func (c *count) caught(n float64) float64 { return caught(c.life, n) }

// caught returns how many of n changes a poll captures, by their life.
func caught(life objective.Visibility, n float64) float64 {
	switch life.Kind {
	case objective.VisibleForever:
		return n
	case objective.VisibleLast:
		return min(n, float64(life.N))
	}
	return 1
}

// BetweenPolls returns how many changes are thought to have happened in the time between
// two polls of which the second found one, and how many of them it captured, where a
// source changes at random so often a second.
func BetweenPolls(rate float64, gap, tick time.Duration, life objective.Visibility) (happened, captured float64) {
	happened = toldApart(max(rate*gap.Seconds(), 1e-6), gap.Seconds()/tick.Seconds())
	return happened, caught(life, happened)
}

// toldApart returns how many changes are expected where y are, in so many ticks,
// once it is known that there was one; those in one tick count as one.
func toldApart(y, ticks float64) float64 {
	ticks = max(1, ticks)
	return max(1, ticks*math.Expm1(-y/ticks)/math.Expm1(-y))
}

// typical returns a rate halfway between the mean and the mean on the scale of the logarithm, and how
// far off it may be on that scale. Where little is known, the mean is that of a few high rates: on
// made-up webs a count by it is too high in the first minutes, and one by the other too low.
func (q *spread) typical(g *grid) (rate, doubt float64) {
	mean, square := 0.0, 0.0
	for i, w := range q {
		x := math.Log(g[i])
		mean += w * x
		square += w * x * x
	}
	return math.Sqrt(q.mean(g) * math.Exp(mean)), math.Sqrt(max(0, square-mean*mean))
}

// addPoll counts a poll by how often the source is thought to change in the long run.
func (l *population) addPoll(slot freshet.Slot, see *sighting) {
	p, m := l.pages.At(slot), l.minds.At(slot)
	steady, mixed := m.of[long].weigh(l.priorOf(p)), l.thought(slot)
	rate, _ := steady.typical(&l.grid)
	_, doubt := mixed.typical(&l.grid)
	l.counts.At(slot).add(l.scale.at(see.at), p.last, l.clock.seconds(), rate, doubt, see)
}

// A rhythm tells from polls alone whether a source changes more evenly than at
// random, or in bursts. At random, whether a poll finds a change says nothing of
// the next poll. A source that changes evenly is found changed more often after
// a poll that found nothing, and less often after one that did; a source that
// changes in bursts the other way round.
//
// How many changes came and went between two polls depends on it: of an even
// source that is polled more often than it changes none do, whatever chance
// would have it.
type rhythm struct {
	even  float32 // how far polls went the other way than those before them, summed
	most  float32 // the same, if the source were as even as a clock
	noise float32 // the square of what chance adds to even
	said  float32 // chance that was said of the last poll; negative if it found nothing; 0 if there was none
}

// add takes in what a poll found and the chance that was said of it.
func (r *rhythm) add(weight, chance float64, found bool) {
	p, off := chance, -chance
	said := -chance
	if found {
		off, said = 1-p, p
	}
	if r.said != 0 {
		before := math.Abs(float64(r.said))
		offBefore := -before
		if r.said > 0 {
			offBefore = 1 - before
		}
		r.even -= float32(weight * off * offBefore)
		r.most += float32(weight * min(p, 1-p) * min(before, 1-before))
		r.noise += float32(weight * p * (1 - p) * before * (1 - before))
	}
	r.said = float32(said)
}

// anyRhythm is how even sources are, where little has been seen of them: 0 is at
// random, 1 is a clock, and less than 0 is bursts. It is the standard deviation
// around random.
const anyRhythm = 0.7

// read returns how even the source is by all that is known, below 0 where it changes in
// bursts: a poll that follows one with a change is 1-even times as likely to find one as
// others. And it returns how far off that may be, and how much of it has been seen and is not just taken to be so: all at 1.
// The weight is that of a poll now.
func (r *rhythm) read(weight float64) (even, off, seen float64) {
	if !(r.most > 0) || !(r.noise > 0) {
		return 0, anyRhythm, 0
	}
	most, noise := float64(r.most)/weight, float64(r.noise)/weight
	chance := noise / (most * most)
	seen = anyRhythm * anyRhythm / (anyRhythm*anyRhythm + chance)
	even = seen * float64(r.even) / float64(r.most)
	return min(1, max(0, even)), anyRhythm * math.Sqrt(1-seen), seen
}

// bend puts what polls have shown of rhythm and bursts into a tally of changes at random, of which
// so many are known to have been missed: those are as they are.
func (c *count) bend(t outlook.Tally, known, weight float64, all *burstMix) outlook.Tally {
	const few = 8 // polls show no rhythm
	t.Shown = known
	if t.Polls > 0 {
		t.Sources = 1
	}
	if t.Polls <= 0 || t.Happened <= 0 {
		return t
	}
	total := c.bursts.of(t.Happened, weight, all)
	happened := total.Mean
	t.Fewer, t.More = total.Mean-total.Low, total.High-total.Mean
	t.Bursts = total.Mean - t.Happened
	missed := t.Happened - t.Captured - known
	if missed > 0 && t.Polls >= few {
		even, off, seen := c.rhythm.read(weight)
		left := max(0.02, 1-even)
		happened -= (1 - left) * missed
		t.Variance *= left
		t.Doubt *= left
		t.Shown, t.Uneven = known+seen*left*missed, seen*off*missed
	}
	t.Behind *= happened / t.Happened
	if c.bursts.room > 0 {
		captured := t.Captured + (happened-t.Happened)*float64(c.bursts.room/c.bursts.plain)
		t.Delay *= captured / t.Captured
		t.Captured = captured
	}
	t.Happened = happened
	return t
}
