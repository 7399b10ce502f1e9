package daemon

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
)

// LevelStatus is the state of the service levels.
type LevelStatus struct {
	At     time.Time // when that was last worked out; zero if there is no level
	Set    int       // sources that have one
	Unmet  int       // of those, that are not expected to be seen as soon as wanted
	Need   float64   // requests a second that keeping all takes that can be kept
	Budget float64   // requests a second that there are

	Impossible int     // of those unmet, that no budget keeps
	Claim      float64 // requests a second that levels may claim
}

// A levelWatch tells whether the service levels are met.
type levelWatch struct {
	loop     *loop
	forecast *forecaster
	now      func() time.Time
	log      *slog.Logger

	mu    sync.Mutex
	byTag []freshet.TagLevel
	last  LevelStatus

	any atomic.Bool // a source may have one; if not, there is nothing to work out
}

func (l *levelWatch) tags() []freshet.TagLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byTag
}

// notice takes note that a source is watched.
func (l *levelWatch) notice(s freshet.Source) {
	if s.Level != (objective.ServiceLevel{}) {
		l.any.Store(true)
	}
}

// SetLevels changes what is wanted of all sources with a tag.
func (l *levelWatch) SetLevels(byTag []freshet.TagLevel) {
	byTag = slices.Clone(byTag)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(byTag)+len(l.byTag) > 0 {
		l.any.Store(true)
	}
	l.byTag = byTag
	if l.loop.running.Load() { // a daemon that starts reads them then
		l.loop.post(sched.LevelsSet(l.tags))
	}
}

// Levels returns the state of the service levels of a minute ago or less.
func (l *levelWatch) Levels() LevelStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Run works out every minute whether the service levels are met, or less often where
// that takes long, until ctx is done.
func (l *levelWatch) Run(ctx context.Context) error {
	for wait := time.Minute; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if !l.any.Load() {
			continue
		}
		began := time.Now()
		if err := l.check(ctx); err != nil && ctx.Err() == nil {
			l.log.Error("cannot tell whether service levels are met", "err", err)
		}
		wait = max(time.Minute, 20*time.Since(began))
	}
}

// check works out whether the service levels are met, and logs when that has changed.
func (l *levelWatch) check(ctx context.Context) error {
	l.any.Store(false) // unless one is found, or comes meanwhile
	prospects, err := l.forecast.Prospects(ctx)
	if err != nil {
		l.any.Store(true)
		return err
	}
	set := 0
	for _, p := range prospects {
		if p.Level != (objective.ServiceLevel{}) {
			set++
		}
	}
	var now LevelStatus
	if set > 0 {
		l.any.Store(true)
		pledges := forecast.New(prospects, l.forecast.Terms()).Levels()
		now = LevelStatus{At: l.now(), Set: set, Unmet: pledges.Unmet, Need: pledges.Need, Budget: pledges.Budget, Impossible: pledges.Impossible, Claim: pledges.Claim}
	}
	l.mu.Lock()
	before := l.last
	l.last = now
	l.mu.Unlock()
	switch {
	case now.Unmet > 0 && before.Unmet == 0:
		l.log.Warn("service levels are not met", "unmet", now.Unmet, "of", now.Set,
			"need_polls_per_day", perDay(now.Need), "budget_polls_per_day", perDay(now.Budget), "hint", now.hint())
	case now.Unmet == 0 && before.Unmet > 0:
		l.log.Info("service levels are met again", "of", now.Set)
	}
	return nil
}

// hint says what can be done for levels that are not kept.
func (s LevelStatus) hint() string {
	switch {
	case s.Need > s.Claim:
		return "the levels need more than their half of the budget; freshet budget --levels shows what each needs"
	case s.Impossible == s.Unmet:
		return "no budget keeps them; freshet budget --levels shows why"
	}
	return "freshet budget --levels shows the reason for each"
}

func perDay(perSecond float64) int64 { return int64(perSecond*(24*time.Hour).Seconds() + 0.5) }

// tagStrategies are when sources with a tag are polled that have no strategy of their
// own.
type tagStrategies struct {
	loop    *loop
	unbound bool // strategies do not count

	mu    sync.Mutex
	byTag []freshet.TagStrategy
}

func (t *tagStrategies) tags() []freshet.TagStrategy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byTag
}

// SetStrategies changes when sources with a tag are polled that have no strategy of
// their own.
func (t *tagStrategies) SetStrategies(byTag []freshet.TagStrategy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(byTag)+len(t.byTag) == 0 {
		return
	}
	t.byTag = slices.Clone(byTag)
	if t.loop.running.Load() && !t.unbound { // a daemon that starts reads them then
		t.loop.post(sched.StrategiesSet(t.tags))
	}
}
