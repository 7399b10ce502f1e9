package lab

import (
	"cmp"
	"math"
	"time"

	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// Conditions are what polls meet in a replay. The zero Conditions are those of
// the papers: time goes by instants, polls take no time and do not fail, and
// only the budget binds. [InDaemon] returns those of the daemon.
type Conditions struct {
	// Continuous replays in continuous time, as the daemon runs: changes happen
	// when the history says, polls are spread over the instants, and the budget
	// binds over any stretch of time as long as an instant. Otherwise the policy
	// is asked at the end of every instant.
	Continuous bool

	// Limits are those of the daemon: delay of hosts, workers, back-off, and the
	// budget if it says more than so many polls an instant. Nil means that
	// neither hosts nor workers bind; on a grid what is zero does not either.
	Limits *sched.Limits

	Latency  time.Duration // how long a poll takes; on a grid, to the end of an instant
	Failures Failures      // beside those of the history
}

// usualLatency is how long a poll takes where nobody says otherwise.
const usualLatency = 300 * time.Millisecond

// InDaemon returns the conditions of a daemon with its default limits.
func InDaemon() Conditions {
	limits := sched.DefaultLimits()
	limits.Budget = sched.Budget{} // which the replay knows
	limits.Hosts.CrawlDelay = 0    // a trace has no robots.txt
	return Conditions{Continuous: true, Limits: &limits, Latency: usualLatency}
}

// Setting returns the setting of a policy that is replayed with so many pages of a grid
// under these conditions: that of the daemon, or one by the instants of the grid.
func (c Conditions) Setting(name string, g *Grid, pages int, budget float64) policy.Setting {
	if c.Continuous {
		return policy.InDaemon(name, sched.Budget{Polls: budget, Per: g.Instant}, pages)
	}
	return policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: pages}
}

// limits returns what binds in a replay with a budget of so many polls an
// instant.
func (c Conditions) limits(g *Grid, budget float64) sched.Limits {
	const all = math.MaxInt32
	var l sched.Limits
	if c.Limits != nil {
		l = *c.Limits
	}
	if c.Limits == nil || !c.Continuous {
		l.Workers, l.Hosts.Concurrency = cmp.Or(l.Workers, all), cmp.Or(l.Hosts.Concurrency, all)
	}
	switch {
	case l.Budget.Polls > 0:
	case c.Continuous:
		l.Budget = sched.Budget{Polls: budget, Per: g.Instant}
	default:
		l.Budget = byInstants(budget, g)
	}
	return l
}

// byInstants returns a budget that binds by the instant alone: its stretch is
// longer than the whole grid, by a power of two so that a whole budget comes out
// whole.
func byInstants(budget float64, g *Grid) sched.Budget {
	stretch := 1
	for stretch <= g.Instants+1 && int64(stretch) < math.MaxInt64/int64(g.Instant)/4 {
		stretch *= 2
	}
	return sched.Budget{Polls: budget * float64(stretch), Per: time.Duration(stretch) * g.Instant, Instant: g.Instant}
}
