package daemon

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
)

// LevelStatus is how things stand with the service levels.
type LevelStatus struct {
	At     time.Time // when that was last worked out; zero if there is no level
	Set    int       // sources that have one
	Unmet  int       // of those, that are not expected to be seen as soon as wanted
	Need   float64   // requests a second that keeping all takes that can be kept
	Budget float64   // requests a second that there are

	Impossible int     // of those unmet, that no budget keeps
	Claim      float64 // requests a second that levels may claim
}

// levelWatch keeps the service levels in view.
type levelWatch struct {
	mu    sync.Mutex
	byTag []freshet.TagLevel
	now   LevelStatus

	any atomic.Bool // a source may have one; if not, there is nothing to work out
}

func (l *levelWatch) tags() []freshet.TagLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byTag
}

// notice takes note that a source is watched.
func (l *levelWatch) notice(s freshet.Source) {
	if s.Level != (freshet.ServiceLevel{}) {
		l.any.Store(true)
	}
}

// SetLevels changes what is wanted of all sources with a tag.
func (d *Daemon) SetLevels(byTag []freshet.TagLevel) {
	byTag = slices.Clone(byTag)
	d.levels.mu.Lock()
	defer d.levels.mu.Unlock()
	if len(byTag)+len(d.levels.byTag) > 0 {
		d.levels.any.Store(true)
	}
	d.levels.byTag = byTag
	if d.running.Load() { // a daemon that starts reads them then
		d.inbox.post(sched.LevelsSet(d.levels.tags))
	}
}

// Levels returns how things stood with the service levels a minute ago or less.
func (d *Daemon) Levels() LevelStatus {
	d.levels.mu.Lock()
	defer d.levels.mu.Unlock()
	return d.levels.now
}

// watchLevels works out every minute whether the service levels are kept, or
// less often where that takes long.
func (d *Daemon) watchLevels(ctx context.Context) {
	for wait := time.Minute; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if !d.levels.any.Load() {
			continue
		}
		began := time.Now()
		if err := d.weighLevels(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("cannot tell whether service levels are met", "err", err)
		}
		wait = max(time.Minute, 20*time.Since(began))
	}
}

// weighLevels works out whether the service levels are kept, and says so when
// that has changed.
func (d *Daemon) weighLevels(ctx context.Context) error {
	d.levels.any.Store(false) // unless one is found, or comes meanwhile
	prospects, err := d.Prospects(ctx)
	if err != nil {
		d.levels.any.Store(true)
		return err
	}
	set := 0
	for _, p := range prospects {
		if p.Level != (freshet.ServiceLevel{}) {
			set++
		}
	}
	var now LevelStatus
	if set > 0 {
		d.levels.any.Store(true)
		pledges := forecast.New(prospects, d.Terms()).Levels()
		now = LevelStatus{At: d.cfg.Now(), Set: set, Unmet: pledges.Unmet, Need: pledges.Need, Budget: pledges.Budget, Impossible: pledges.Impossible, Claim: pledges.Claim}
	}
	d.levels.mu.Lock()
	before := d.levels.now
	d.levels.now = now
	d.levels.mu.Unlock()
	switch {
	case now.Unmet > 0 && before.Unmet == 0:
		d.cfg.Log.Warn("service levels are not met", "unmet", now.Unmet, "of", now.Set,
			"need_polls_per_day", perDay(now.Need), "budget_polls_per_day", perDay(now.Budget), "hint", now.hint())
	case now.Unmet == 0 && before.Unmet > 0:
		d.cfg.Log.Info("service levels are met again", "of", now.Set)
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
func (d *Daemon) SetStrategies(byTag []freshet.TagStrategy) {
	d.strategies.mu.Lock()
	defer d.strategies.mu.Unlock()
	if len(byTag)+len(d.strategies.byTag) == 0 {
		return
	}
	d.strategies.byTag = slices.Clone(byTag)
	if d.running.Load() && !d.cfg.Unbound { // a daemon that starts reads them then
		d.inbox.post(sched.StrategiesSet(d.strategies.tags))
	}
}
