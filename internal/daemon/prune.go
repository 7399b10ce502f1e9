package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// HistoryConfig says how much history is kept.
type HistoryConfig struct {
	Keep freshet.Keep  // bounds on all history together
	Logs time.Duration // how long outcomes are kept; 0 means for ever
}

// A pruner deletes the history that no bound keeps.
type pruner struct {
	store  freshet.Store
	clock  *clockKeeper
	limits *limits
	hints  *indexHints
	counts *counts
	bounds chan struct{} // a bound on history was set, and is to be applied
	log    *slog.Logger

	mu  sync.Mutex
	cfg HistoryConfig
}

// pruneSoon is how long after a bound on history was set it is applied. Those that
// are set within that time are applied together.
const pruneSoon = 5 * time.Second

// boundSet notes that a bound on the history of a source was set.
func (p *pruner) boundSet(keep freshet.Keep) {
	if keep != (freshet.Keep{}) {
		signal(p.bounds)
	}
}

// Run prunes every hour, and soon after a bound on history was set, until ctx is done.
func (p *pruner) Run(ctx context.Context) error {
	for wait := time.Minute; ; wait = time.Hour {
		set := false
		select {
		case <-ctx.Done():
			return nil
		case <-p.bounds:
			set = true
		case <-time.After(wait):
		}
		if set {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pruneSoon):
			}
		}
		if err := p.Prune(ctx); err != nil && ctx.Err() == nil {
			p.log.Error("prune", "err", err)
		}
		if err := p.hints.forgetUnwatched(ctx, p.counts.sources.Load()); err != nil && ctx.Err() == nil {
			p.log.Error("cannot recount the watched pages", "err", err)
		}
	}
}

// Prune deletes the history that no bound keeps.
func (p *pruner) Prune(ctx context.Context) error {
	date, err := p.clock.heartbeat(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	cfg := p.cfg
	p.mu.Unlock()
	gone, err := p.store.Prune(ctx, date, cfg.Keep, keptLogs(cfg.Logs, p.limits.Limits().Budget))
	if err == nil && gone != (freshet.Pruned{}) {
		p.log.Info("pruned", "versions", gone.Versions, "outcomes", gone.Outcomes, "bytes", gone.Bytes)
	}
	return err
}

// SetKeep changes the bounds on history, and for how long outcomes are kept. They are
// applied soon.
func (p *pruner) SetKeep(keep freshet.Keep, logs time.Duration) {
	p.mu.Lock()
	changed := p.cfg != HistoryConfig{keep, logs}
	p.cfg = HistoryConfig{keep, logs}
	p.mu.Unlock()
	if changed {
		p.boundSet(keep)
	}
}

// WouldPrune returns what would be deleted of the history under other bounds. It deletes
// nothing.
func (p *pruner) WouldPrune(ctx context.Context, keep freshet.Keep, logs time.Duration, b sched.Budget) (freshet.Pruned, error) {
	date, _, err := p.clock.confirmedDate(ctx, p.clock.dates.Date(p.clock.dates.Now()))
	if err != nil {
		return freshet.Pruned{}, err
	}
	return p.store.WouldPrune(ctx, date, keep, keptLogs(logs, b))
}

// keptLogs returns for how long the log is kept if that is asked for: at least as long as
// the budget counts what it holds.
func keptLogs(logs time.Duration, b sched.Budget) time.Duration {
	if logs <= 0 {
		return logs
	}
	return max(logs, b.Per+longestPoll(b))
}
