package api

import (
	"context"
	"fmt"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/forecast"
	"freshet/internal/sched"
)

// Bounds are what settings allow: how much is polled, and how much of it is kept.
type Bounds struct {
	Now  sched.Limits // in force
	Then sched.Limits // after the edit
	Keep freshet.Keep
	Logs time.Duration

	// KeepChanges says that the edit changes a bound on the history.
	KeepChanges bool
}

// effectOf says what an edit of settings would bring.
func (a *api) effectOf(ctx context.Context, was, told client.Settings, then Bounds) (*client.SettingsEffect, error) {
	effect := &client.SettingsEffect{Changed: []client.SettingChange{}}
	for i, item := range told.Items { // both list what there is to set, in one order
		if before := was.Items[i].Value; before != item.Value {
			effect.Changed = append(effect.Changed, client.SettingChange{Key: item.Key, From: before, To: item.Value})
		}
	}
	if then.KeepChanges {
		gone, err := a.Daemon.WouldPrune(ctx, then.Keep, then.Logs, then.Then.Budget)
		if err != nil {
			return nil, fmt.Errorf("what the bounds would delete: %w", err)
		}
		effect.Drops = &client.Drops{Versions: gone.Versions, Outcomes: gone.Outcomes, Bytes: gone.Bytes}
	}
	if !alike(then.Now, then.Then) {
		polling, err := a.pollingUnder(ctx, then)
		if err != nil {
			return nil, fmt.Errorf("what is expected of the sources: %w", err)
		}
		effect.Polling = polling
	}
	return effect, nil
}

// alike says whether the same is expected of polling under two limits.
func alike(x, y sched.Limits) bool {
	return x.Budget == y.Budget && x.Hosts.Delay == y.Hosts.Delay && x.Hosts.Share == y.Hosts.Share && x.SourceShare == y.SourceShare && x.SourceGap == y.SourceGap
}

// pollingUnder compares what is expected under two limits.
func (a *api) pollingUnder(ctx context.Context, b Bounds) (*client.PollingEffect, error) {
	now, err := a.Daemon.ProspectsUnder(ctx, b.Now)
	if err != nil {
		return nil, err
	}
	then := now
	if b.Now.SourceGap != b.Then.SourceGap {
		if then, err = a.Daemon.ProspectsUnder(ctx, b.Then); err != nil {
			return nil, err
		}
	}
	effect, terms := &client.PollingEffect{}, a.Daemon.TermsUnder(b.Now)
	if n, err := a.Daemon.Overall(ctx); err == nil { // without a learner there is nothing to tell
		effect.TooEarly = capturedOf(n.All).TooEarly
		if t := n.All.Tally; t.Happened > 0 && effect.TooEarly == "" {
			terms.Seen = learn.Share(t)
		}
	}
	m := forecast.New(now, terms)
	other, rest := m, b.Then
	if rest.Budget = b.Now.Budget; !alike(b.Now, rest) { // not the budget alone, which the same market knows
		other = m.Under(then, a.Daemon.TermsUnder(b.Then))
	}
	effect.Now, effect.Then = pointOf(m.Now()), pointOf(other.At(b.Then.Budget.PerSecond()))
	return effect, nil
}
