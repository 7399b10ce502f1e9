package lab

import (
	"context"
	"errors"
	"fmt"

	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// Shards are several brains that share the pages of a grid by the hash of the host, and
// the budget by what a poll is worth to each.
type Shards struct {
	Count int
	Fixed bool // the parts of the budget stay as they are at the start

	// Start returns the policy of a brain for so many pages and polls an instant.
	Start func(shard, pages int, budget float64) (freshet.Policy, error)
}

// ShardFigures say how shards fared.
type ShardFigures struct {
	Shards []ShardFigure `json:"each"`
	Moves  int           `json:"moves"`                 // of parts of the budget
	Met    int           `json:"met_instant,omitempty"` // the first at which prices were the same; 0 if they never were
}

// A ShardFigure says how one brain fared.
type ShardFigure struct {
	Hosts  int     `json:"hosts"`
	Pages  int     `json:"pages"`
	Polls  int     `json:"polls"`
	Before float64 `json:"budget_at_start"` // polls an instant
	After  float64 `json:"budget_at_end"`
	Price  float64 `json:"price"` // of a poll, at the end
}

// check says what is wrong with replaying in shards.
func (n Shards) check(o *Options) error {
	bad := func(format string, args ...any) error {
		return &freshet.InvalidError{Field: "shards", Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case n.Count < 1 || n.Count > shards.Most:
		return bad("%d is not a number from 1 to %d", n.Count, shards.Most)
	case o.Learner != nil:
		return bad("predictions are not compared with the truth for several brains")
	case o.Latency > 0 && !o.Continuous:
		return bad("a latency needs continuous time here")
	case o.Continuous && o.Budget < float64(n.Count):
		return bad("a budget of %s an instant cannot be divided between %d; in continuous time each has one poll an instant or more", polls(o.Budget), n.Count)
	}
	return nil
}

// ReplayShards is Replay by several brains. Each has its own scheduler, policy and
// learner, and nothing goes between them but prices and parts of the budget.
func ReplayShards(ctx context.Context, g *Grid, n Shards, o Options) (Score, ShardFigures, error) {
	if !(o.Budget > 0) || o.Budget > 1e9 {
		return Score{}, ShardFigures{}, &freshet.InvalidError{Field: "budget", Reason: fmt.Sprintf("%v is not a number of polls an instant", o.Budget)}
	}
	if err := n.check(&o); err != nil {
		return Score{}, ShardFigures{}, err
	}
	m, err := newMoot(g, n, &o)
	if err != nil {
		return Score{}, ShardFigures{}, err
	}
	for _, b := range m.brains {
		b.wake(ctx)
		defer b.stop()
	}
	for sits := true; sits; {
		sits = false
		for _, b := range m.brains {
			_, more := b.next()
			sits = sits || more
		}
		if sits {
			m.sit()
		}
	}
	for _, b := range m.brains {
		err = errors.Join(err, b.err)
	}
	if err != nil {
		return Score{}, ShardFigures{}, fmt.Errorf("replaying in shards: %w", err)
	}
	return m.brains[0].world.scorer.Score(), m.figures(), nil
}

// hostKey returns what a page is assigned to a brain by: its host, or its own name if it
// has none.
func (o *Options) hostKey(g *Grid, page int) string {
	s := o.source(g, page)
	if host := s.Host(); host != "" {
		return host
	}
	return string(s.ID)
}

// editsOf returns the edits of pages that are not another brain's.
func (o *Options) editsOf(g *Grid, alien func(page int) bool) (mine []Edit) {
	for _, e := range o.Edits {
		var id freshet.SourceID
		switch ev := e.Event.(type) {
		case sched.SourceRemoved:
			id = ev.Source
		case sched.SourcePut:
			id = ev.Source.ID
		}
		if page, ok := g.Page(id); !ok || !alien(page) {
			mine = append(mine, e)
		}
	}
	return mine
}
