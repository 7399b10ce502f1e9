package daemon

import (
	"context"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// purges are the sources that are being purged. The leader waits for the outcome of every
// poll that it has decided on, and would keep the poll's place in the budget for ever if
// the outcome were deleted before it was told. So a purge begins when all that is on
// record has been told, and a poll that ends meanwhile tells the leader itself.
type purges struct {
	mu     sync.Mutex
	ids    map[freshet.SourceID]int
	ending gate // passed by polls from before they are put on record until they have looked here
}

// begin notes that sources are being purged, and end that they have been.
func (p *purges) begin(ids []freshet.SourceID) { p.count(ids, 1) }

func (p *purges) end(ids []freshet.SourceID) {
	p.ending.pass(alone)() // whoever was put on record before has looked
	p.count(ids, -1)
}

func (p *purges) count(ids []freshet.SourceID, by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[freshet.SourceID]int{}
	}
	for _, id := range ids {
		if p.ids[id] += by; p.ids[id] == 0 {
			delete(p.ids, id)
		}
	}
}

// has reports whether a source is being purged.
func (p *purges) has(id freshet.SourceID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id] > 0
}

// purge purges sources as delete does it, in one step.
func (d *Daemon) purge(ctx context.Context, ids []freshet.SourceID, delete func() error) error {
	d.purges.begin(ids)
	defer d.purges.end(ids)
	if err := d.catchUp(ctx); err != nil {
		return err
	}
	return delete()
}

// catchUp returns when the leader has been told of all that is on record by now.
func (d *Daemon) catchUp(ctx context.Context) error {
	if !d.running.Load() {
		return nil
	}
	end, err := d.cfg.Store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, ErrNotRunning)
	defer cancel()
	return d.followed.wait(ctx, end)
}

// WouldPrune returns what would be deleted of the history under other bounds. It deletes
// nothing.
func (d *Daemon) WouldPrune(ctx context.Context, keep freshet.Keep, logs time.Duration, b sched.Budget) (freshet.Pruned, error) {
	date, _, err := d.leader.confirmedDate(ctx, d.leader.dates.Date(d.leader.dates.Now()))
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
