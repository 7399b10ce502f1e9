package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// robotsBelief is the estimator under which it is kept what robots.txt files said, so
// that they are not read again at every start.
const robotsBelief = "robots"

// A savedManners is what is kept of the robots.txt of a host.
type savedManners struct {
	Host  string        `json:"host"`
	Delay time.Duration `json:"delay,omitempty"`
	Read  time.Time     `json:"read"`
}

// manners are what the scheduler knows of robots.txt files so far.
type manners struct {
	hosts map[string]sched.RobotsRead
	news  bool // there are some that are not kept yet
}

// mannersAtOnce is of how many hosts it is taken down within the loop at a time what is known of them.
const mannersAtOnce = 500

// read reads what is new from the scheduler, a few hosts at a time: no poll begins meanwhile.
func (m *manners) read(inLoop inLoop) error {
	for {
		var told []sched.RobotsRead
		if err := inLoop(func(s *sched.Scheduler) { told = s.TakeRobots(mannersAtOnce) }); err != nil {
			return err
		}
		for _, t := range told {
			m.hosts[t.Host], m.news = t, true
		}
		if len(told) < mannersAtOnce {
			return nil
		}
	}
}

// list returns what is to be kept, in the order of hosts.
func (m *manners) list(dates *dates) []savedManners {
	list := make([]savedManners, 0, len(m.hosts))
	for _, t := range m.hosts {
		list = append(list, savedManners{Host: t.Host, Delay: t.Delay, Read: dates.Date(t.Read)})
	}
	slices.SortFunc(list, func(a, b savedManners) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

// A robotsKeeper keeps in the store what robots.txt files say.
type robotsKeeper struct {
	store   freshet.StateStore
	dates   *dates
	rules   *ruleBook
	manners manners // only for the goroutine that writes
	log     *slog.Logger
}

// save keeps what is known of robots.txt files, if there is news.
func (k *robotsKeeper) save(ctx context.Context, inLoop inLoop) {
	if err := k.rules.save(ctx, k.store); err != nil && ctx.Err() == nil {
		k.log.Error("cannot save what robots.txt files allow", "err", err)
	}
	if k.manners.read(inLoop) != nil || !k.manners.news {
		return
	}
	memory, err := json.Marshal(k.manners.list(k.dates))
	if err == nil {
		err = k.store.SaveState(ctx, []freshet.State{{Key: robotsBelief, Value: withChecksum(memory)}})
	}
	if err != nil {
		if ctx.Err() == nil {
			k.log.Error("cannot save what robots.txt files say", "err", err)
		}
		return
	}
	k.manners.news = false
}

// restore tells the scheduler what was kept of robots.txt files. What cannot be
// read is read again from the hosts.
func (k *robotsKeeper) restore(ctx context.Context, s *sched.Scheduler, r *clockRecovery) error {
	for belief, err := range k.store.States(ctx, robotsBelief) {
		if err != nil {
			return err
		}
		var list []savedManners
		memory, err := verified(belief.Value)
		if err == nil {
			err = json.Unmarshal(memory, &list)
		}
		if err != nil {
			k.log.Warn("cannot read what robots.txt files said", "err", err)
			continue
		}
		for _, m := range list {
			s.Apply(r.now, sched.RobotsRead{Host: m.Host, Delay: m.Delay, Read: m.Read.Add(r.shift(m.Read))})
		}
	}
	k.manners = manners{hosts: map[string]sched.RobotsRead{}}
	if err := k.manners.read(directly(s)); err != nil {
		return err
	}
	k.manners.news = false // that is where they come from
	for belief, err := range k.store.States(ctx, rulesBelief) {
		if err != nil {
			return err
		}
		if err := k.rules.restore(belief.Value, r); err != nil {
			k.log.Warn("cannot read what robots.txt files allow; they are read again", "err", err)
		}
	}
	return nil
}

// A ruleBook is what robots.txt files say, by origin: scheme, host and port. It has those that a
// source obeys.
type ruleBook struct {
	dates *dates
	agent string // the name that a robots.txt may know us by, as configured

	mu      sync.Mutex
	origins map[string]robots.Standing
	news    bool // since it was last kept
}

// MayPoll says whether the robots.txt of its origin allows to poll a page. Unknown means
// that the file has not been read, or not of late: the next poll of a page of the origin
// that obeys it reads it. A page that is not on the Web is allowed, as there are no rules
// for it, and so is the file itself. It takes about a microsecond, so that discovery can ask
// for every page that it finds.
func (b *ruleBook) MayPoll(url string) (v robots.Verdict, unknown bool) {
	origin, ok := robots.Origin(url)
	if !ok || url == robots.URL(origin) {
		return robots.Verdict{Allowed: true}, false
	}
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	now := b.dates.Now()
	return known.Verdict(now, url), known.Due(now)
}

// Agent returns the name that a robots.txt may know us by.
func (b *ruleBook) Agent() string {
	name, _, _ := strings.Cut(cmp.Or(b.agent, "freshet"), "/")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// observe notes how a read of the robots.txt of an origin ended.
func (b *ruleBook) observe(origin string, a robots.Answer) robots.Standing {
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	heard := known.Hear(b.dates.Now(), b.Agent(), a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.origins[origin], b.news = heard, true
	return heard
}

// refusal returns why a page is not asked for, or nil if it may be.
func (b *ruleBook) refusal(url string) error {
	v, _ := b.MayPoll(url)
	origin, _ := robots.Origin(url)
	switch {
	case v.Allowed:
		return nil
	case v.Unreachable:
		return &freshet.FetchError{
			Class: failure.RobotsUnreachable, Hint: robotsHint,
			Err: fmt.Errorf("%s cannot be read, and until then nothing may be polled there", robots.URL(origin)),
		}
	}
	return &freshet.FetchError{
		Class: failure.RobotsDisallow, Hint: robotsHint,
		Err: fmt.Errorf("%s disallows the page for %s: line %d says %q", robots.URL(origin), b.Agent(), v.Rule.Line, v.Rule),
	}
}

const robotsHint = "robots: ignore of the source polls it all the same"

// What is kept of robots.txt files.
const (
	rulesBelief = "robots.rules"      // the estimator under which it is
	mostRules   = 5000                // of a file; one with more is read again after a restart
	rulesAtOnce = 500                 // files that are taken down while polls wait
	keptCopies  = 30 * 24 * time.Hour // after a file had to be read again
)

// save saves what robots.txt files say, if there is news.
func (b *ruleBook) save(ctx context.Context, store freshet.StateStore) error {
	b.mu.Lock()
	news, now := b.news, b.dates.Now()
	b.news = false
	kept := make(map[string]robots.Standing, len(b.origins))
	seen := 0
	for origin, s := range b.origins {
		if seen++; seen%rulesAtOnce == 0 { // what is heard meanwhile is news for the next time
			b.mu.Unlock()
			b.mu.Lock()
		}
		if now.Sub(s.Until) > keptCopies {
			delete(b.origins, origin)
		} else if s.Rules.Len() <= mostRules {
			kept[origin] = s.Shifted(b.dates.Date(now).Sub(now))
		}
	}
	b.mu.Unlock()
	if !news {
		return nil
	}
	memory, err := json.Marshal(kept)
	if err == nil {
		err = store.SaveState(ctx, []freshet.State{{Key: rulesBelief, Value: withChecksum(memory)}})
	}
	if err != nil {
		b.mu.Lock()
		b.news = true
		b.mu.Unlock()
	}
	return err
}

// restore takes up what was kept. A time that cannot be is not gone by: the file is read
// again.
func (b *ruleBook) restore(memory []byte, r *clockRecovery) error {
	memory, err := verified(memory)
	kept := map[string]robots.Standing{}
	if err == nil {
		err = json.Unmarshal(memory, &kept)
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for origin, s := range kept {
		when := s.Read
		if when.IsZero() {
			when = s.Down
		}
		if s = s.Shifted(r.shift(when)); s.Until.Sub(r.now) > units.Day {
			s.Until = r.now
		}
		b.origins[origin] = s
	}
	return nil
}
