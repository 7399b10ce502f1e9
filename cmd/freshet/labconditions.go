package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"freshet/internal/lab"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// A labConditions says what polls meet in a replay.
type labConditions struct {
	continuous  bool
	sourceGap   time.Duration
	sourceShare shareFlag
	hostDelay   time.Duration
	hostShare   shareFlag
	workers     int
	latency     time.Duration
	failures    failuresFlag
	flags       *pflag.FlagSet // of the verb, to see what was named
}

// conditionsHelp is for the verbs that replay.
const conditionsHelp = `
By default, time passes in instants, polls take no time, and the budget is the only
limit. --continuous replays as the daemon runs: changes happen at the exact times in
the trace, the budget counts polls in any window as long as an instant, and policy,
learning and limits are those of freshet serve. --source-gap, --source-share,
--host-delay, --host-share, --workers, --latency and --fail change single limits,
with or without --continuous. Pages that fail in the trace fail in every replay.
`

func (c *labConditions) register(set *pflag.FlagSet) {
	c.flags = set
	set.BoolVar(&c.continuous, "continuous", false, "replay in continuous time, like the daemon")
	set.Var((*lengthFlag)(&c.sourceGap), "source-gap", "least time between two polls of one page (default: none, or 10s with --continuous)")
	set.Var(&c.sourceShare, "source-share", "most of the budget that one page may use (default: no limit, or 50% with --continuous)")
	set.Var((*lengthFlag)(&c.hostDelay), "host-delay", "least time between two polls of one host (default: none, or 1s with --continuous)")
	set.Var(&c.hostShare, "host-share", "most of the budget that the pages of one host may use (default: no limit, or 90% with --continuous)")
	set.IntVar(&c.workers, "workers", 0, "most polls at the same time (default: no limit, or 64 with --continuous)")
	set.Var((*lengthFlag)(&c.latency), "latency", "how long a poll takes (default: 0s, or 300ms with --continuous)")
	set.Var(&c.failures, "fail", "share of polls that fail at random, and how, such as 0.05:timeout or 0.01:retry_after:2m")
}

// conditions returns what polls meet.
func (c *labConditions) conditions(seed uint64) (lab.Conditions, error) {
	var met lab.Conditions
	if c.continuous {
		met = lab.InDaemon()
	}
	named := c.flags.Changed
	if limited := []string{"source-gap", "source-share", "host-delay", "host-share", "workers"}; met.Limits == nil && slices.ContainsFunc(limited, named) {
		met.Limits = &sched.Limits{}
	}
	if named("source-gap") {
		met.Limits.SourceGap = c.sourceGap
	}
	if named("source-share") {
		met.Limits.SourceShare = float64(c.sourceShare)
	}
	if named("host-delay") {
		met.Limits.Hosts.Delay = c.hostDelay
	}
	if named("host-share") {
		met.Limits.Hosts.Share = float64(c.hostShare)
	}
	if named("workers") {
		if c.workers < 1 {
			return met, usagef("--workers must be at least 1")
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

// A shareFlag is a share of the budget.
type shareFlag float64

// String returns what Set reads.
func (f *shareFlag) String() string {
	if *f == 0 {
		return ""
	}
	return units.FormatShare(float64(*f))
}

// Type returns what the flag takes, for its help.
func (f *shareFlag) Type() string { return "SHARE" }

// Set reads a share.
func (f *shareFlag) Set(v string) error {
	x, err := units.ParseShare(v)
	*f = shareFlag(x)
	return err
}

// A failuresFlag says how many polls fail, and how.
type failuresFlag struct{ lab.Failures }

// String returns what Set reads.
func (f *failuresFlag) String() string {
	if f.Share == 0 {
		return ""
	}
	text := lab.FormatNumber(f.Share)
	if f.Class != "" {
		text += ":" + string(f.Class)
	}
	if f.RetryAfter > 0 {
		text += ":" + units.FormatDuration(f.RetryAfter)
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
		return fmt.Errorf("%q is not a share of polls; use a number from 0 to 1, such as 0.05", share)
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
