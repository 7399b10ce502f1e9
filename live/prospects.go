package live

import (
	"context"
	"math"
	"slices"
	"time"

	"freshet"
	"freshet/policy"
	"freshet/sched"
	"freshet/whatif"
)

// An outlooker is a policy that can say what it thinks of a source.
type outlooker interface {
	Outlook(now time.Time, slot freshet.Slot) freshet.Outlook
}

// Prospects returns what is expected of every source that is polled, with the
// service level that holds for it. How often each changes is what the policy has
// learned. If it does not learn, or is not at work, it is taken from what is on
// record of polls, and for a source with few of them more from the others.
func (d *Daemon) Prospects(ctx context.Context) ([]whatif.Prospect, error) {
	levels := d.levels.tags()
	var all []whatif.Prospect
	var sights []sight
	for w, err := range d.cfg.Store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if w.Paused {
			continue
		}
		p := whatif.ProspectOf(w.Source, freshet.Range{})
		p.Level = freshet.LevelOf(w.Source, levels)
		p.Requests = float64(max(1, w.Standing.Requests))
		all = append(all, p)
		sights = append(sights, sightOf(w))
	}
	typical := pooled(sights)
	for i, s := range sights {
		all[i].Rate = s.rate(typical)
	}
	if from, ok := d.cfg.Policy.(outlooker); ok && d.running.Load() {
		return all, d.askOutlooks(ctx, from, all)
	}
	return all, nil
}

// askAtOnce is how many sources are asked after in one go. In the meantime the
// loop can do nothing else.
const askAtOnce = 500

// askOutlooks completes prospects by what the policy has learned.
func (d *Daemon) askOutlooks(ctx context.Context, from outlooker, all []whatif.Prospect) error {
	for part := range slices.Chunk(all, askAtOnce) {
		outlooks := make([]freshet.Outlook, len(part))
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
			for i := range part {
				if slot, ok := s.Slot(part[i].ID); ok {
					outlooks[i] = from.Outlook(now, slot)
				}
			}
		})
		if err != nil {
			return err
		}
		for i, o := range outlooks {
			learned(&part[i], o)
		}
	}
	return nil
}

// inLoop has the loop run a function while nothing else happens, and returns
// when it has.
func (d *Daemon) inLoop(ctx context.Context, f func(now time.Time, s *sched.Scheduler)) error {
	done := make(chan struct{})
	d.inbox.post(sched.Event{Call: func(now time.Time, s *sched.Scheduler) {
		defer close(done)
		f(now, s)
	}})
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// For its mean rate to be the mean over its rhythm, a source has to have been
// watched for so long, and to have changed so often.
const (
	longEnough  = 24 * time.Hour
	oftenEnough = 3
)

// learned completes a prospect by what is thought of its source. What is thought
// of the moment bends with the time of day; over a longer time it does not.
func learned(p *whatif.Prospect, o freshet.Outlook) {
	if !(o.Rate.Mean > 0) {
		return
	}
	p.Rate = o.Rate
	if o.Watched >= longEnough.Seconds() && o.Happened >= oftenEnough {
		p.Rate = overTime(o)
	}
	// A policy that goes by a price polls as is expected here, and at once so
	// when the budget changes. How another one polls can only be seen.
	const few = 3 // polls do not tell how far apart they are
	if o.Price == 0 && o.Polls >= few {
		p.Gap = time.Duration(o.Watched / o.Polls * float64(time.Second))
	}
}

// overTime returns how often a source has changed, on average over its rhythm.
// At least as often as was seen; and, if it changes at random, as much more often
// as chance then hides from polls. If it is regular, nothing is hidden. Polls do
// not tell which, and what they tell lies between the two: the nearer to what was
// seen, the more of the polls found a change, since then nothing but the model
// speaks for more.
func overTime(o freshet.Outlook) freshet.Range {
	random := o.Happened / o.Watched
	unbend := random / o.Rate.Mean
	r := freshet.Range{Mean: random, Low: o.Rate.Low * unbend, High: o.Rate.High * unbend}
	if seen := o.Captured / o.Watched; seen > 0 && seen < random {
		found := min(1, o.Captured/o.Polls)
		r.Mean, r.Low = math.Pow(seen, found)*math.Pow(random, 1-found), min(r.Low, seen)
	}
	return r
}

// Terms returns the terms that the present limits set.
func (d *Daemon) Terms() whatif.Terms {
	l := d.Limits()
	t := whatif.Terms{HostGap: l.Hosts.Delay}
	if _, ok := d.cfg.Policy.(*policy.Auto); ok {
		t.Curiosity = policy.Curiosity
	}
	if l.Budget.Polls > 0 && l.Budget.Per > 0 {
		t.Budget = l.Budget.PerSecond()
	}
	return t
}

// A sight is what polls of a source have seen of it, in the large: how many
// there were after the first, how far apart they were on average, and how many
// of them found a change.
type sight struct{ polls, gap, changed float64 }

func sightOf(w freshet.Watched) sight {
	st := w.Standing
	span := st.Seen.Sub(w.Created).Seconds()
	if st.Polls < 2 || span <= 0 {
		return sight{}
	}
	n := float64(st.Polls - 1)
	return sight{polls: n, gap: span / n, changed: min(n, float64(st.Changes))}
}

// logRate returns the logarithm of the rate of changes that a sight speaks for,
// and how far that can be off. A poll sees one change at most, so the rate is
// higher than that of the changes seen (Cho and Garcia-Molina).
func (s sight) logRate() (middle, sd float64) {
	q := (s.changed + 0.5) / (s.polls + 1)
	expected := -math.Log1p(-q) // between two polls
	return math.Log(expected / s.gap), math.Sqrt(q/((1-q)*(s.polls+1))) / expected
}

// alike is how alike sources are held to be, as a standard deviation of the
// logarithms of their rates: nine times in ten within a factor of seven.
const alike = 1.2

// pooled returns the logarithm of the rate that is typical of the sources that
// were seen. Without any, once a day is as good a guess as there is.
func pooled(sights []sight) float64 {
	weight, sum := 0.0, 0.0
	for _, s := range sights {
		if s.polls == 0 {
			continue
		}
		middle, sd := s.logRate()
		w := 1 / (sd*sd + alike*alike)
		weight += w
		sum += w * middle
	}
	if weight == 0 {
		return -math.Log(24 * 3600)
	}
	return sum / weight
}

// rate returns how often the source changes, from what was seen of it and from
// what is typical, each as far as it is known.
func (s sight) rate(typical float64) freshet.Range {
	middle, sd := typical, alike
	if s.polls > 0 {
		own, ownSD := s.logRate()
		a, b := 1/(ownSD*ownSD), 1/(sd*sd)
		middle, sd = (a*own+b*middle)/(a+b), 1/math.Sqrt(a+b)
	}
	const nine = 1.6449 // standard deviations either way hold nine in ten
	return freshet.Range{
		Mean: math.Exp(middle + sd*sd/2), Low: math.Exp(middle - nine*sd), High: math.Exp(middle + nine*sd),
	}
}
