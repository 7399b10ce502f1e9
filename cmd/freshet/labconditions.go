package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet"
	"freshet/lab"
	"freshet/sched"
)

// A labConditions says what polls meet in a replay.
type labConditions struct {
	continuous bool
	hostDelay  time.Duration
	workers    int
	latency    time.Duration
	failures   failuresFlag
	flags      *pflag.FlagSet // of the verb, to see what was named
}

// conditionsHelp is for the verbs that replay.
const conditionsHelp = `
Without more, time goes by instants, polls take no time, and only the budget
binds. With --continuous a replay runs as the daemon does: changes happen when the
trace says, the budget is so many polls in any stretch as long as an instant, and
policy, tick and learner are those of freshet serve, with its limits. --host-delay,
--workers, --latency and --fail say otherwise, or set one of these alone. Pages whose
trace says that they fail do so in any replay.
`

func (c *labConditions) register(set *pflag.FlagSet) {
	c.flags = set
	set.BoolVar(&c.continuous, "continuous", false, "replay in continuous time, as the daemon runs")
	set.Var((*lengthFlag)(&c.hostDelay), "host-delay", "time between two polls of one host (default: none, or 1s with --continuous)")
	set.IntVar(&c.workers, "workers", 0, "polls at once in all (default: any number, or 64 with --continuous)")
	set.Var((*lengthFlag)(&c.latency), "latency", "how long a poll takes (default: no time, or 300ms with --continuous)")
	set.Var(&c.failures, "fail", "share of polls that fail by chance, and after a colon how, as in 0.05:timeout or 0.01:retry_after:2m")
}

// conditions returns what polls meet.
func (c *labConditions) conditions(seed uint64) (lab.Conditions, error) {
	var met lab.Conditions
	if c.continuous {
		met = lab.InDaemon()
	}
	named := c.flags.Changed
	if met.Limits == nil && (named("host-delay") || named("workers")) {
		met.Limits = &sched.Limits{}
	}
	if named("host-delay") {
		met.Limits.Hosts.Delay = c.hostDelay
	}
	if named("workers") {
		if c.workers < 1 {
			return met, usagef("--workers: it takes a number above 0")
		}
		met.Limits.Workers = c.workers
	}
	if named("latency") {
		met.Latency = c.latency
	}
	met.Failures = c.failures.Failures
	met.Failures.Seed = seed
	return met, nil
}

// A failuresFlag says how many polls fail, and how.
type failuresFlag struct{ lab.Failures }

// String returns what Set reads.
func (f *failuresFlag) String() string {
	if f.Share == 0 {
		return ""
	}
	text := number(f.Share)
	if f.Class != "" {
		text += ":" + string(f.Class)
	}
	if f.RetryAfter > 0 {
		text += ":" + freshet.FormatDuration(f.RetryAfter)
	}
	return text
}

// Type returns what the flag takes, for its help.
func (f *failuresFlag) Type() string { return "SHARE" }

// Set reads a share, and how polls fail.
func (f *failuresFlag) Set(v string) error {
	share, how, has := strings.Cut(v, ":")
	x, err := strconv.ParseFloat(share, 64)
	if err != nil || !(x >= 0) || x > 1 {
		return fmt.Errorf("%q is not a share of polls; it takes a number from 0 to 1, such as 0.05", share)
	}
	f.Failures = lab.Failures{Share: x}
	if !has {
		return nil
	}
	if f.Class, f.RetryAfter, err = lab.ParseFailure(how); err != nil {
		return fmt.Errorf("%q %w", how, err)
	}
	return nil
}
