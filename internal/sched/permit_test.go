package sched_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// FuzzHops checks what must hold whatever redirects do: the budget as the servers
// count it, and the politeness owed to every host that a poll reaches.
func FuzzHops(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(10+seed*3), uint8(seed*7), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, sources, polls, hosts uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		limits := sched.Limits{
			Budget:  sched.Budget{Polls: float64(polls) + 1, Per: time.Duration(1+r.IntN(60)) * time.Second},
			Workers: 1 + r.IntN(30),
			Hosts:   sched.Politeness{Delay: time.Duration(r.IntN(3)) * time.Second, Concurrency: 1 + r.IntN(3)},
		}
		w := &voyages{t: t, r: r, limits: limits, hosts: 1 + int(hosts)%20, s: sched.New(&policy.RoundRobin{}, limits), now: start, by: map[string]*port{}, polled: map[freshet.SourceID]bool{}}
		for i := range 1 + int(sources)%60 {
			url := fmt.Sprintf("https://h%d.example/", i%w.hosts)
			if i%3 > 0 { // the others of a host are read from one document
				url += fmt.Sprint(i)
			}
			w.s.Put(w.now, freshet.SourceWithStatus{Source: freshet.Source{ID: id(i), URL: url}})
		}
		for range 3000 {
			w.step()
		}
		w.settle()
		w.budget()
	})
}

// voyages are polls on their way from host to host.
type voyages struct {
	t      *testing.T
	r      *rand.Rand
	limits sched.Limits
	hosts  int
	s      *sched.Scheduler
	now    time.Time
	under  []*voyage
	by     map[string]*port
	seen   []time.Time // requests, as the servers saw them
	calm   bool        // nothing more goes wrong
	polled map[freshet.SourceID]bool
}

// A voyage is one poll under way.
type voyage struct {
	poll    freshet.Poll
	route   []string // so far
	left    int      // requests to come after the one under way
	answer  time.Time
	waits   bool // for leave
	refused error
}

// A port is a host as it sees requests.
type port struct {
	flying int
	last   time.Time // when a request of it was last made or answered
	away   time.Time
}

func (w *voyages) at(host string) *port {
	if w.by[host] == nil {
		w.by[host] = &port{}
	}
	return w.by[host]
}

func (w *voyages) step() {
	p, wake, ok := w.s.Next(w.now)
	if ok {
		v := &voyage{poll: p, left: w.r.IntN(4)}
		if w.calm {
			v.left = 0
			w.polled[p.Source.ID] = true
			for _, c := range p.Along {
				w.polled[c.Source.ID] = true
			}
		}
		w.under = append(w.under, v)
		if !w.calm && w.r.IntN(8) == 0 { // it begins elsewhere than expected
			w.hop(v, true)
			return
		}
		w.depart(v, p.FirstHost())
		return
	}
	if !wake.IsZero() && !wake.After(w.now) {
		w.t.Fatalf("asked to be woken at %v, and it is %v", wake, w.now)
	}
	if i := slices.IndexFunc(w.under, func(v *voyage) bool { return v.refused != nil }); i >= 0 {
		w.end(i, w.under[i].refused)
		return
	}
	next := -1
	for i, v := range w.under {
		if !v.waits && (next < 0 || v.answer.Before(w.under[next].answer)) {
			next = i
		}
	}
	switch {
	case next >= 0 && (wake.IsZero() || !w.under[next].answer.After(wake)):
		w.now = later(w.now, w.under[next].answer)
		w.arrive(next)
	case !wake.IsZero():
		w.now = wake
	case len(w.under) > 0:
		w.t.Fatalf("%d polls wait, and nothing will wake them", len(w.under))
	}
}

// depart sends the next request of a poll, for which it has leave.
func (w *voyages) depart(v *voyage, host string) {
	h := w.at(host)
	switch {
	case w.now.Before(h.away):
		w.t.Fatalf("%s is asked %v before it wants to be", host, h.away.Sub(w.now))
	case !h.last.IsZero() && w.now.Sub(h.last) < w.limits.Hosts.Delay:
		w.t.Fatalf("%s is asked again after %v, sooner than its delay of %v", host, w.now.Sub(h.last), w.limits.Hosts.Delay)
	case h.flying >= w.limits.Hosts.Concurrency || h.flying > 0 && w.limits.Hosts.Delay > 0:
		w.t.Fatalf("%d requests are with %s", h.flying+1, host)
	}
	h.flying++
	h.last = w.now
	v.route, v.waits = append(v.route, host), false
	took := time.Duration(w.r.Int64N(int64(3 * time.Second)))
	v.answer = w.now.Add(took)
	w.seen = append(w.seen, w.now.Add(time.Duration(w.r.Int64N(int64(took)+1))))
}

// arrive answers the request that a poll has under way.
func (w *voyages) arrive(i int) {
	v := w.under[i]
	h := w.at(v.route[len(v.route)-1])
	h.flying--
	h.last = w.now
	if v.left == 0 {
		w.end(i, nil)
		return
	}
	v.left--
	w.hop(v, false)
}

// hop asks for leave for the next request.
func (w *voyages) hop(v *voyage, first bool) {
	host := fmt.Sprintf("h%d.example", w.r.IntN(w.hosts))
	v.waits = true
	answered := false
	w.s.Apply(w.now, sched.Request{
		Source: v.poll.Source.ID, Host: host, Unsent: first, Wait: time.Duration(w.r.IntN(2)*w.r.IntN(5)) * time.Second,
		Answer: func(err error) {
			if answered {
				w.t.Fatal("a hop is answered twice")
			}
			if answered = true; err != nil {
				v.refused = err
				return
			}
			w.depart(v, host)
		},
	})
}

// end ends a poll.
func (w *voyages) end(i int, refused error) {
	v := w.under[i]
	w.under = slices.Delete(w.under, i, i+1)
	defer w.endAlong(v)
	if !w.calm && w.r.IntN(20) == 0 {
		w.s.Apply(w.now, sched.PollAbandoned{Source: v.poll.Source.ID})
		return
	}
	o := freshet.Outcome{Source: v.poll.Source.ID, Began: v.poll.At, Ended: w.now, Requests: len(v.route), Route: freshet.Route(strings.Join(v.route, " "))}
	if e, ok := errors.AsType[*freshet.FetchError](refused); ok {
		o.Result, o.Failure = freshet.Failed, e.Class
		if len(v.route) == 0 {
			o.Requests = 1
		}
	} else if !w.calm && w.r.IntN(6) == 0 {
		o.Result, o.Failure, o.NotBefore = freshet.Failed, failure.RetryAfter, w.now.Add(time.Duration(w.r.IntN(40))*time.Second)
		h := w.at(v.route[len(v.route)-1])
		h.away = later(h.away, o.NotBefore)
	}
	w.s.Observe(w.now, o)
}

// endAlong ends what was read along with a poll, or was not.
func (w *voyages) endAlong(v *voyage) {
	for _, c := range v.poll.Along {
		if w.r.IntN(4) == 0 {
			w.s.Apply(w.now, sched.PollAbandoned{Source: c.Source.ID})
			continue
		}
		o := freshet.Outcome{Source: c.Source.ID, Cause: freshet.BySharing, Began: v.poll.At, Ended: w.now}
		if !w.calm && w.r.IntN(6) == 0 {
			o.Result, o.Failure = freshet.Failed, failure.Extract
		}
		w.s.Observe(w.now, o)
	}
}

// settle lets nothing more go wrong, and checks that nothing is held up for ever by
// what did.
func (w *voyages) settle() {
	w.calm = true
	all := 0
	for range w.s.All() {
		all++
	}
	for i := 0; len(w.polled) < all; i++ {
		if i == 50_000 {
			w.t.Fatalf("%d of %d sources are not polled any more, %v after the start", all-len(w.polled), all, w.now.Sub(start))
		}
		w.step()
	}
}

func (w *voyages) budget() {
	slices.SortFunc(w.seen, time.Time.Compare)
	most := int(w.limits.Budget.Polls)
	for i := most; i < len(w.seen); i++ {
		if apart := w.seen[i].Sub(w.seen[i-most]); apart < w.limits.Budget.Per {
			w.t.Fatalf("%d requests within %v, over a budget of %v", most+1, apart, w.limits.Budget)
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A pilot asks for hops of one poll and keeps the answers.
type pilot struct {
	*world
	answers []error
}

func (p *pilot) hop(host string, wait time.Duration) {
	p.s.Apply(p.now, sched.Request{Source: "a", Host: host, Wait: wait, Answer: func(err error) { p.answers = append(p.answers, err) }})
}

// observe ends the poll under way now.
func (p *pilot) observe(o freshet.Outcome) {
	o.Source, o.Began, o.Ended = "a", p.now, p.now
	p.ends = nil
	p.s.Observe(p.now, o)
}

func newPilot(t *testing.T, l sched.Limits) *pilot {
	t.Helper()
	p := &pilot{world: newWorld(l)}
	p.latency = func(freshet.Poll) time.Duration { return 24 * time.Hour } // it ends when the test says so
	p.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	p.run(time.Millisecond)
	if len(p.polls) != 1 {
		t.Fatalf("%d polls have begun, want 1", len(p.polls))
	}
	return p
}

// What a poll with redirects has spent is what it sent, while it is under way, when
// it ends, and when it is given up.
func TestSpentOverHops(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 100, Per: time.Minute}
	for _, giveUp := range []bool{false, true} {
		p := newPilot(t, l)
		for i := range 3 {
			if used, _ := p.s.Spent(p.now); used != i+1 {
				t.Errorf("%d requests are spent after %d", used, i+1)
			}
			p.hop(fmt.Sprintf("h%d.example", i), 0)
		}
		want := 4
		if giveUp {
			p.s.Apply(p.now, sched.PollAbandoned{Source: "a"})
		} else {
			want = 3 // the last was not sent after all
			p.observe(freshet.Outcome{Requests: 3, Route: "a.example h0.example h1.example"})
		}
		if used, _ := p.s.Spent(p.now); used != want || len(p.answers) != 3 {
			t.Errorf("%d requests are spent at the end and %d hops answered, want %d and 3", used, len(p.answers), want)
		}
	}
}

// A hop of a poll that is over is forgotten.
func TestHopOfAPollThatIsOver(t *testing.T) {
	p := newPilot(t, generous())
	p.hop("b.example", 20*time.Second)
	p.observe(freshet.Outcome{Requests: 1})
	p.run(time.Minute)
	p.hop("c.example", 0) // of the next poll
	if len(p.polls) != 2 || len(p.answers) != 1 || p.answers[0] != nil {
		t.Fatalf("in %d polls the hops were answered with %v, want one leave, in the second poll", len(p.polls), p.answers)
	}
}

// A poll that could not follow its redirect sets out again when the way is open.
func TestDeferredPollComesBack(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 3, Per: time.Hour}
	p := newPilot(t, l)
	p.put(freshet.Source{ID: "b", URL: "https://b.example/", Paused: true})
	p.hop("b.example", 0)
	p.observe(freshet.Outcome{Requests: 2, Route: "a.example b.example", Result: freshet.Failed, Failure: failure.RetryAfter, NotBefore: p.now.Add(2 * time.Hour)})
	if h, _ := p.s.Hold(p.now, "b"); h.Kind != sched.HoldPaused {
		t.Errorf("b is held back by %q", h)
	}
	p.s.Ask("b")
	if h, _ := p.s.Hold(p.now, "b"); h.Kind != sched.HoldHostAway {
		t.Errorf("a source of the host that asked to be left alone is held back by %q", h)
	}
	if h, _ := p.s.Hold(p.now, "a"); h.Kind != sched.HoldHostAway || !h.Until.Equal(p.now.Add(2*time.Hour)) {
		t.Errorf("a source that redirects there is held back by %q until %v", h, h.Until)
	}
}
