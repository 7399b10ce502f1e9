package policy_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/test/policytest"
)

// A drift is a set of sources that change at random, each at its own rate, and
// are polled by a policy.
type drift struct {
	rates  []float64 // changes an instant
	chance *rand.Rand
	last   []int // instant of the last poll
	polls  []int
	now    int
}

const tick = time.Minute

func (d *drift) time() time.Time { return noon.Add(time.Duration(d.now) * tick) }

func newDrift(p freshet.Policy, rates []float64, seed uint64) *drift {
	d := &drift{rates: rates, chance: rand.New(rand.NewPCG(seed, 3)), last: make([]int, len(rates)), polls: make([]int, len(rates))}
	for slot := range rates {
		p.Put(noon, freshet.Slot(slot), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%03d", slot))}, noon)
	}
	return d
}

// step lets one instant pass, in which the policy has n polls.
func (d *drift) step(p freshet.Policy, n int) (taken int) {
	d.now++
	var slots []freshet.Slot
	p.Choose(d.time(), n, func(slot freshet.Slot, _ float64) bool {
		slots = append(slots, slot)
		return true
	})
	for _, slot := range slots {
		o := freshet.Outcome{Began: d.time(), Ended: d.time()}
		if d.chance.Float64() < -math.Expm1(-d.rates[slot]*float64(d.now-d.last[slot])) {
			o.Result = freshet.Changed
		}
		d.last[slot] = d.now
		d.polls[slot]++
		p.Observe(d.time(), slot, o)
	}
	return len(slots)
}

// Learning the rates as it goes, the policy comes to poll as often as would be
// best had it known them: the table of Cho and Garcia-Molina.
func TestFrequencyComesToTheBest(t *testing.T) {
	const day = 40 // instants, of which one in eight has a poll
	for name, o := range map[string]policy.Objective{"recall": policy.Recall, "freshness": policy.Freshness, "age": policy.Age} {
		t.Run(name, func(t *testing.T) {
			p := policy.NewFrequency(policy.FrequencyConfig{Objective: o, Instant: tick, Floor: 0.01})
			rates := make([]float64, 50) // ten of each
			daily := []float64{1, 2, 3, 4, 5}
			for i := range rates {
				rates[i] = daily[i%5] / day
			}
			d := newDrift(p, rates, 1)
			steps := 600 * day
			for i := range steps {
				if i == steps/3 {
					clear(d.polls)
				}
				if i%4 == 0 {
					d.step(p, 5)
				} else {
					d.now++
				}
			}
			days := float64(steps) * 2 / 3 / day
			want := allocate(o, daily, []float64{1, 1, 1, 1, 1}, 5)
			got := make([]float64, len(daily))
			for i := range rates {
				got[i%5] += float64(d.polls[i]) / days / 10
			}
			t.Logf("polls a day %.2f, best %.2f", got, want)
			if o == policy.Freshness { // what it gives up it cannot know well
				if !(got[4] < got[3] && got[3] < got[2] && got[4] < got[0]) {
					t.Errorf("polls a day %.2f, want the fewest of what changes too fast", got)
				}
				return
			}
			for k := range daily {
				if math.Abs(got[k]-want[k]) > 0.12*want[k]+0.1 {
					t.Errorf("a source that changes %v times a day gets %.2f polls, want about %.2f", daily[k], got[k], want[k])
				}
			}
		})
	}
}

func TestFrequencyVisitsAllBeforeAnyTwice(t *testing.T) {
	p := policy.NewFrequency(policy.FrequencyConfig{Instant: tick})
	rates := make([]float64, 100)
	for i := range rates {
		rates[i] = float64(i) / 2000
	}
	d := newDrift(p, rates, 2)
	for range 20 {
		d.step(p, 5)
	}
	for slot, n := range d.polls {
		if n != 1 {
			t.Errorf("source %d was polled %d times in the first round", slot, n)
		}
	}
	for d.now < 4000 {
		d.step(p, 5)
	}
	if d.polls[5] == 0 || d.polls[90] < 5*d.polls[5] {
		t.Errorf("%d polls of a quick source and %d of a slow one, want many more of the quick one", d.polls[90], d.polls[5])
	}
	if d.polls[0] < 2 {
		t.Errorf("%d polls of a source that does not change, want it to be looked at again", d.polls[0])
	}
}

// Sources that change their habits are polled by their new ones before long.
func TestFrequencyForgets(t *testing.T) {
	p := policy.NewFrequency(policy.FrequencyConfig{Instant: tick})
	rates := []float64{0.2, 0.2, 0.01, 0.01}
	d := newDrift(p, rates, 4)
	for d.now < 5000 {
		d.step(p, 1)
	}
	rates[0], rates[1], rates[2], rates[3] = 0.01, 0.01, 0.2, 0.2
	for d.now < 7000 {
		d.step(p, 1)
	}
	clear(d.polls)
	for d.now < 8000 {
		d.step(p, 1)
	}
	if was, is := d.polls[0]+d.polls[1], d.polls[2]+d.polls[3]; is < 3*was {
		t.Errorf("%d polls of what used to be quick and %d of what is now, want many more of the latter", was, is)
	}
}

// After a restart a policy is told of outcomes that are older than when its
// sources were last seen, and learns from them all the same.
func TestFrequencyLearnsFromOldOutcomes(t *testing.T) {
	p := policy.NewFrequency(policy.FrequencyConfig{Instant: tick, Rate: 1})
	const n = 10
	for slot := range freshet.Slot(n) {
		put(p, slot, freshet.SourceID(fmt.Sprintf("s%d", slot)))
		for i := range 20 {
			o := freshet.Outcome{Since: noon.Add(time.Duration(i-22) * 10 * tick), Began: noon.Add(time.Duration(i-21) * 10 * tick)}
			if slot == 7 && i%2 == 0 {
				o.Result = freshet.Changed
			}
			p.Observe(noon, slot, o)
		}
	}
	polls := 0
	for i := range 100 {
		now := noon.Add(time.Duration(i) * tick)
		var taken []freshet.Slot
		p.Choose(now, 1, func(s freshet.Slot, _ float64) bool { taken = append(taken, s); return true })
		for _, slot := range taken {
			if slot == 7 {
				polls++
			}
			p.Observe(now, slot, freshet.Outcome{Began: now, Result: freshet.Failed})
		}
	}
	if polls < 50 {
		t.Errorf("%d of 100 polls went to the one source that used to change, want most", polls)
	}
}

// Seen at the same time, sources are due in the order of their rates.
func TestQuickerSourcesAreDueSooner(t *testing.T) {
	p := policy.NewFrequency(policy.FrequencyConfig{Instant: tick, Rate: 1, Memory: -1})
	const n = 40
	changes := func(slot freshet.Slot) int { return int(slot) * 7 % n }
	for slot := range freshet.Slot(n) {
		p.Put(noon, slot, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%02d", slot))}, noon.Add(-tick))
		for i := range n {
			o := freshet.Outcome{Since: noon.Add(time.Duration(i-n-1) * tick), Began: noon.Add(time.Duration(i-n) * tick)}
			if i < changes(slot) {
				o.Result = freshet.Changed
			}
			p.Observe(noon, slot, o)
		}
	}
	last, taken := n, 0
	p.Choose(noon, n, func(slot freshet.Slot, _ float64) bool {
		if changes(slot) >= last {
			t.Errorf("a source with %d changes comes after one with %d", changes(slot), last)
		}
		last = changes(slot)
		taken++
		return true
	})
	if taken != n {
		t.Errorf("%d sources taken, want %d", taken, n)
	}
}

// Whatever comes and goes, nothing is offered that is not there, nothing twice
// at one time, and nothing is lost.
func TestFrequencyKeepsCount(t *testing.T) {
	policytest.KeepsCount(t, func() freshet.Policy {
		return policy.NewFrequency(policy.FrequencyConfig{Objective: policy.Freshness, Instant: tick})
	}, true)
}

// The worth of a poll is in proportion to the weight of its source and to the price of a
// poll, before anything is known of it and after.
func TestFrequencyWorthHasWeight(t *testing.T) {
	p := policy.NewFrequency(policy.FrequencyConfig{Instant: tick})
	p.Put(noon, 0, freshet.Source{ID: "plain"}, noon)
	p.Put(noon, 1, freshet.Source{ID: "heavy", Weight: 3}, noon)
	p.Put(noon, 2, freshet.Source{ID: "dear", Cost: 2}, noon)
	worths := func(now time.Time) (worth [3]float64) {
		p.Choose(now, 3, func(slot freshet.Slot, w float64) bool {
			worth[slot] = w
			return true
		})
		for slot := range freshet.Slot(3) {
			p.Observe(now, slot, freshet.Outcome{Began: now, Ended: now, Result: freshet.Changed})
		}
		return worth
	}
	now := noon
	for range 50 { // more than enough outcomes for a plan
		now = now.Add(100 * tick)
		w := worths(now)
		if w[0] <= 0 || math.Abs(w[1]-3*w[0]) > 1e-6 || math.Abs(w[2]-w[0]/2) > 1e-6 {
			t.Fatalf("polls of sources of weight 1, of weight 3 and at cost 2 are worth %v at %v", w, now)
		}
	}
}
