package daemon

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// WouldPrune returns what would be deleted of the history under other bounds. It deletes
// nothing.
func (d *Daemon) WouldPrune(ctx context.Context, keep freshet.Keep, logs time.Duration, b sched.Budget) (freshet.Pruned, error) {
	date, _, err := d.brain.confirmedDate(ctx, d.brain.dates.Date(d.brain.dates.Now()))
	if err != nil {
		return freshet.Pruned{}, err
	}
	return d.cfg.Store.WouldPrune(ctx, date, keep, keptLogs(logs, b))
}

// keptLogs returns for how long the log is kept if that is asked for: at least as long as
// the budget counts what it holds.
func keptLogs(logs time.Duration, b sched.Budget) time.Duration {
	if logs <= 0 {
		return logs
	}
	return max(logs, b.Per+longestPoll(b))
}
