package sched_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// FuzzScheduler checks what must hold whatever happens: the budget as the
// servers count it, the politeness owed to hosts, one poll of a source at a
// time, a source's own bounds, the gap of all sources, and no alarm in the past.
func FuzzScheduler(f *testing.F) {
	f.Add(uint64(1), uint8(10), uint8(60), uint8(3))
	f.Add(uint64(2), uint8(200), uint8(3), uint8(1))
	f.Add(uint64(3), uint8(40), uint8(255), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, sources, polls, hosts uint8) {
		r := rand.New(rand.NewPCG(seed, 0))
		limits := sched.Limits{
			Budget:  sched.Budget{Polls: float64(polls) + 1, Per: time.Duration(1+r.IntN(60)) * time.Second},
			Workers: 1 + r.IntN(30),
			Slow:    -1 + r.IntN(30),
			Hosts:   sched.Politeness{Delay: time.Duration(r.IntN(3)) * time.Second, Concurrency: 1 + r.IntN(3)},

			SourceGap:   time.Duration(r.IntN(3)) * 5 * time.Second,
			SourceShare: float64(r.IntN(3)) / 8,
		}
		limits.Hosts.Share = float64(r.IntN(3)) / 4
		name := policy.Names[r.IntN(len(policy.Names))]
		p, err := policy.New(name, policy.Setting{})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{s: sched.New(p, limits), now: start}
		c := &checker{t: t, limits: limits, busy: map[freshet.SourceID]string{}, flying: map[string]int{}, last: map[string]time.Time{}, away: map[string]time.Time{}, polled: map[freshet.SourceID]time.Time{}, sees: map[freshet.SourceID]time.Time{}, slow: map[freshet.SourceID]bool{}, aboard: map[freshet.SourceID]bool{}}
		w.latency = func(freshet.Poll) time.Duration { return time.Duration(r.Int64N(int64(3 * time.Second))) }
		w.answer = func(p freshet.Poll, o *freshet.Outcome) {
			switch r.IntN(6) {
			case 0:
				o.Result, o.Failure = freshet.Failed, "connect"
			case 1:
				o.Result, o.Failure, o.NotBefore = freshet.Failed, "retry_after", p.At.Add(time.Duration(r.IntN(20))*time.Second)
			default:
				o.Result = freshet.Result(r.IntN(2))
			}
		}
		for i := range int(sources) {
			url := "https://" + string(rune('a'+i%(1+int(hosts)%26))) + ".example/"
			if i%3 == 0 { // several of a host watch one document
				url += "document"
			}
			w.put(freshet.Source{
				ID: id(i), URL: url,
				MinGap: time.Duration(r.IntN(4)) * time.Second, MaxGap: time.Duration(r.IntN(2)) * 40 * time.Second,
			})
		}
		for range 400 {
			c.step(w, r)
		}
		c.budget()
	})
}

// A checker knows what has to hold, and looks at every poll.
type checker struct {
	t      *testing.T
	limits sched.Limits
	busy   map[freshet.SourceID]string // the host of each poll under way
	flying map[string]int
	last   map[string]time.Time // when each host last saw a poll begin or end
	away   map[string]time.Time // until when each host asked us to stay away
	seen   []time.Time          // requests, as the servers saw them
	polled map[freshet.SourceID]time.Time
	sees   map[freshet.SourceID]time.Time // when the server sees the request under way
	slow   map[freshet.SourceID]bool      // polls under way that were told to be
	aboard map[freshet.SourceID]bool      // read along with a poll under way
}

// step makes one thing happen.
func (c *checker) step(w *world, r *rand.Rand) {
	p, wake, ok := w.s.Next(w.now)
	switch {
	case ok:
		c.begun(w.now, p)
		c.boarded(w.now, p.Along)
		w.begin(p)
		o := w.ends[slices.IndexFunc(w.ends, func(o *freshet.Outcome) bool { return o.Source == p.Source.ID })]
		c.sees[p.Source.ID] = o.Began.Add(time.Duration(r.Int64N(int64(o.Ended.Sub(o.Began)) + 1)))
		c.seen = append(c.seen, c.sees[p.Source.ID])
		return
	case !wake.IsZero() && !wake.After(w.now):
		c.t.Fatalf("asked to be woken at %v, and it is %v", wake, w.now)
	}
	switch {
	case len(w.ends) > 0 && (wake.IsZero() || r.IntN(2) == 0):
		o := w.ends[0]
		w.finish()
		c.ended(w.now, *o)
	case !wake.IsZero() && (len(w.ends) == 0 || w.ends[0].Ended.After(wake)):
		w.now = wake
	case len(w.ends) > 0 && r.IntN(2) == 0:
		late := w.ends[r.IntN(len(w.ends))].Source
		c.slow[late] = !c.aboard[late]
		w.s.Apply(w.now, sched.SlowPoll{Source: late, Begun: c.polled[late], Seen: !c.sees[late].After(w.now)})
		w.s.Apply(w.now, sched.SlowPoll{Source: late, Begun: c.polled[late].Add(-1), Seen: true}) // of a poll before
	case r.IntN(10) == 0:
		w.s.Remove(id(r.IntN(50)))
	default:
		w.s.Ask(id(r.IntN(50)))
	}
}

func (c *checker) begun(now time.Time, p freshet.Poll) {
	host := p.Source.Host()
	switch {
	case c.busy[p.Source.ID] != "" || c.aboard[p.Source.ID]:
		c.t.Fatalf("%s is polled while a poll of it is under way", p.Source.ID)
	case !p.Since.IsZero() && now.Before(p.Since.Add(p.Source.MinGap)):
		c.t.Fatalf("%s is polled after %v, sooner than %v", p.Source.ID, now.Sub(p.Since), p.Source.MinGap)
	case p.Cause == freshet.ByPolicy && p.Source.MinGap == 0 && !c.polled[p.Source.ID].IsZero() && now.Sub(c.polled[p.Source.ID]) < c.limits.SourceGap:
		c.t.Fatalf("%s is polled after %v, sooner than the gap of %v", p.Source.ID, now.Sub(c.polled[p.Source.ID]), c.limits.SourceGap)
	case now.Before(c.away[host]):
		c.t.Fatalf("%s is polled %v before it wants to be", host, c.away[host].Sub(now))
	case !c.last[host].IsZero() && now.Sub(c.last[host]) < c.limits.Hosts.Delay:
		c.t.Fatalf("%s is polled again after %v, sooner than its delay of %v", host, now.Sub(c.last[host]), c.limits.Hosts.Delay)
	}
	c.busy[p.Source.ID] = host
	c.polled[p.Source.ID] = now
	c.last[host] = now
	if c.flying[host]++; c.flying[host] > c.limits.Hosts.Concurrency {
		c.t.Fatalf("%d polls of %s under way", c.flying[host], host)
	}
	most := c.limits.Slow
	if most == 0 {
		most = 8 * c.limits.Workers
	}
	maps.DeleteFunc(c.slow, func(_ freshet.SourceID, is bool) bool { return !is })
	if n := len(c.busy) - max(0, min(len(c.slow), most)); n > c.limits.Workers {
		c.t.Fatalf("%d polls under way that are not slow, more than %d workers", n, c.limits.Workers)
	}
}

// boarded looks at the sources that are read along with a poll.
func (c *checker) boarded(now time.Time, along []freshet.Companion) {
	for _, one := range along {
		s := one.Source
		switch last := c.polled[s.ID]; {
		case c.busy[s.ID] != "" || c.aboard[s.ID]:
			c.t.Fatalf("%s is read along while a poll of it is under way", s.ID)
		case !last.IsZero() && now.Sub(last) < s.MinGap:
			c.t.Fatalf("%s is read along after %v, sooner than %v", s.ID, now.Sub(last), s.MinGap)
		}
		c.aboard[s.ID], c.polled[s.ID] = true, now
	}
}

func (c *checker) ended(now time.Time, o freshet.Outcome) {
	if c.aboard[o.Source] {
		delete(c.aboard, o.Source)
		return
	}
	host := c.busy[o.Source]
	delete(c.busy, o.Source)
	delete(c.slow, o.Source)
	c.flying[host]--
	c.last[host] = now
	if o.NotBefore.After(c.away[host]) {
		c.away[host] = o.NotBefore
	}
}

// budget checks that no stretch of time saw more requests than the budget.
func (c *checker) budget() {
	slices.SortFunc(c.seen, time.Time.Compare)
	most := int(c.limits.Budget.Polls)
	for i := most; i < len(c.seen); i++ {
		if apart := c.seen[i].Sub(c.seen[i-most]); apart < c.limits.Budget.Per {
			c.t.Fatalf("%d requests within %v, over a budget of %v", most+1, apart, c.limits.Budget)
		}
	}
}
