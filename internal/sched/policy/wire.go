package policy

import (
	"cmp"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// InDaemon returns the setting in which the daemon runs the policy called name,
// with about so many sources under a budget. A simulation of the daemon makes
// its policy with this setting.
func InDaemon(name string, b sched.Budget, sources int) Setting {
	instant := InstantOf(name)
	at := Setting{
		Instant: instant, Polls: b.PerSecond() * instant.Seconds(), Sources: sources,
		Tick: learn.TickFor(sources, b.PerSecond(), time.Second),
	}
	at.Estimator = learn.New(at.Learning())
	return at
}

// InstantOf returns how finely a policy divides time in the daemon. One that
// plans whole weeks does so in minutes.
func InstantOf(name string) time.Duration {
	if strings.HasPrefix(name, "cyclic") {
		return time.Minute
	}
	return time.Second
}

// Wire returns the policy called name and the learner that follows its polls:
// the policy's own, or else one beside it. The caller of the policy has to tell
// a learner that is not the policy's own of sources and outcomes.
func Wire(name string, at Setting) (freshet.Policy, *learn.Learner, error) {
	p, err := New(name, at)
	if err != nil {
		return nil, nil, err
	}
	if own, ok := p.(interface{ Learner() *learn.Learner }); ok && own.Learner() != nil {
		return p, own.Learner(), nil
	}
	return p, learn.New(at.Learning()), nil
}

// Learning returns how a learner divides time in the setting.
func (at Setting) Learning() learn.Config {
	instant := cmp.Or(at.Instant, time.Minute)
	tick := cmp.Or(at.tick(), instant)
	return learn.Config{Start: at.Start, Tick: tick, Polls: at.Polls * float64(tick) / float64(instant)}
}

// tick returns by how much time is learnt; zero means an instant.
func (at Setting) tick() time.Duration {
	if at.Tick > 0 {
		return at.Tick
	}
	return learn.TickFor(at.Sources, at.Polls, at.Instant)
}
