package app

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/cluster/shards"
	"freshet/internal/cluster/shards/table"
	"freshet/internal/freshet"
)

// Pool returns the table at which daemons share a budget, and the time by its clock.
func Pool(ctx context.Context, at string) (*shards.Table, time.Time, error) {
	p, err := table.Open(at)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer p.Close()
	return p.Table(ctx)
}

// ForgetShard frees the seat of a daemon that will not come back. One that has spoken of late gives
// ErrBusy: it would go on with its part until it hears of that, beside whoever gets the seat.
func ForgetShard(ctx context.Context, at string, number int) error {
	p, err := table.Open(at)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Change(ctx, func(t *shards.Table, now time.Time) (*shards.Table, error) {
		if t == nil || number < 1 || number > len(t.Seats) {
			return nil, fmt.Errorf("the pool has no shard %d: %w", number, freshet.ErrNotFound)
		}
		if s := t.Seats[number-1]; s.Heard(now) {
			return nil, freshet.WithHint(atWork(number, s, now), "stop that daemon, and wait until freshet pool shows the shard as lost")
		}
		t.Forget(number)
		return t, nil
	})
}

// GrowPool makes room for more shards in a pool, so many in all. All its daemons must have stopped: hosts go to
// other shards by it, and one that still ran would poll them beside those that have them now.
func GrowPool(ctx context.Context, at string, count int) error {
	p, err := table.Open(at)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Change(ctx, func(t *shards.Table, now time.Time) (*shards.Table, error) {
		if t == nil {
			return nil, fmt.Errorf("no daemon shares a budget there yet: %w", freshet.ErrNotFound)
		}
		stopped := 4 * speaksEvery(t.Budget) // who has not spoken for so long
		for i, s := range t.Seats {
			if s.Store != "" && now.Sub(s.Seen) < stopped {
				return nil, freshet.WithHint(atWork(i+1, s, now), fmt.Sprintf("stop all daemons of the pool, and try again after %s", freshet.FormatDuration(stopped)))
			}
		}
		return t, t.Grow(count, now)
	})
}

// atWork says that a daemon sits there that has spoken of late.
func atWork(number int, s shards.Seat, now time.Time) error {
	ago := max(0, now.Sub(s.Seen)).Round(100 * time.Millisecond)
	return fmt.Errorf("shard %d is %w: %s has spoken for it %s ago", number, freshet.ErrBusy, s.Address, freshet.FormatDuration(ago))
}
