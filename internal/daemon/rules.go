package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
)

// A ruleBook is what robots.txt files say, by origin: scheme, host and port. It knows
// those that somebody obeys.
type ruleBook struct {
	mu      sync.Mutex
	origins map[string]robots.Standing
	news    bool // since it was last kept
}

func newRuleBook() *ruleBook { return &ruleBook{origins: map[string]robots.Standing{}} }

// ask says whether a page may be asked for at now by the robots.txt of its origin.
// Unknown means that the file has to be read first. What is not on the Web may be asked
// for, as nobody has rules for it, and so may the file itself.
func (b *ruleBook) ask(now time.Time, url string) (v robots.Verdict, unknown bool) {
	origin, ok := robots.Origin(url)
	if !ok || url == robots.URL(origin) {
		return robots.Verdict{Allowed: true}, false
	}
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	return known.Verdict(now, url), known.Due(now)
}

// hear takes in how a read of the robots.txt of an origin ended.
func (b *ruleBook) hear(now time.Time, origin, agent string, a robots.Answer) robots.Standing {
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	heard := known.Hear(now, agent, a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.origins[origin], b.news = heard, true
	return heard
}

// refusal returns why a page is not asked for, or nil if it may be.
func (b *ruleBook) refusal(now time.Time, url, agent string) error {
	v, _ := b.ask(now, url)
	origin, _ := robots.Origin(url)
	switch {
	case v.Allowed:
		return nil
	case v.Unreachable:
		return &freshet.FetchError{
			Class: freshet.FailRobotsUnreachable, Hint: robotsHint,
			Err: fmt.Errorf("%s cannot be read, and until then nothing may be polled there", robots.URL(origin)),
		}
	}
	return &freshet.FetchError{
		Class: freshet.FailRobotsDisallow, Hint: robotsHint,
		Err: fmt.Errorf("%s disallows the page for %s: line %d says %q", robots.URL(origin), agent, v.Rule.Line, v.Rule),
	}
}

const robotsHint = "robots: ignore of the source polls it all the same"

// What is kept of robots.txt files.
const (
	rulesBelief = "robots.rules"      // the estimator under which it is
	mostRules   = 5000                // of a file; one with more is read anew after a restart
	rulesAtOnce = 500                 // files that are taken down while polls wait
	keptCopies  = 30 * 24 * time.Hour // after a file had to be read again
)

// keep keeps what robots.txt files say, if there is news.
func (b *ruleBook) keep(ctx context.Context, store freshet.BeliefStore, dates *dates) error {
	b.mu.Lock()
	news, now := b.news, dates.Now()
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
			kept[origin] = s.Shifted(dates.Date(now).Sub(now))
		}
	}
	b.mu.Unlock()
	if !news {
		return nil
	}
	memory, err := json.Marshal(kept)
	if err == nil {
		err = store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: rulesBelief, Memory: withChecksum(memory)}})
	}
	if err != nil {
		b.mu.Lock()
		b.news = true
		b.mu.Unlock()
	}
	return err
}

// recall takes up what was kept. A time that cannot be is not gone by: the file is read
// anew.
func (b *ruleBook) recall(memory []byte, r *recall) error {
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
		if s = s.Shifted(r.shift(when)); s.Until.Sub(r.now) > freshet.Day {
			s.Until = r.now
		}
		b.origins[origin] = s
	}
	return nil
}
