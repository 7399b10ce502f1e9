package sched

import (
	"cmp"
	"hash/fnv"
	"reflect"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Limits are what the operator allows. They can be changed while polls run.
type Limits struct {
	Budget  Budget
	Hosts   Politeness
	Backoff Backoff
	Workers int // polls under way at once, but for those that are slow; 0 means 64

	// Slow is how many polls that are slow give their place to others; 0 means eight
	// times Workers, and less than 0 that none do.
	Slow int

	// SourceGap is the least time from one poll of a source to the next, if the
	// source has no MinGap of its own; 0 means none.
	SourceGap time.Duration

	// SourceShare is how much of the budget one source may take; 0 and 1 mean all.
	// Each may take three times an even share in any case.
	SourceShare float64

	Shares []Share // of the budget, by tag

	// Hints is the longest that the hint of a server can keep the policy from
	// polling a source again; 0 means that hints are not heeded.
	Hints time.Duration
}

// DefaultLimits returns the limits of a daemon without settings.
func DefaultLimits() Limits {
	return Limits{
		Budget:      Budget{Polls: 60, Per: time.Minute},
		Hosts:       Politeness{Delay: time.Second, Concurrency: 2, Share: 0.9, CrawlDelay: time.Minute},
		Workers:     64,
		SourceGap:   10 * time.Second,
		SourceShare: 0.5,
		Hints:       time.Hour,
	}
}

func (l Limits) withDefaults() Limits {
	l.Workers = cmp.Or(l.Workers, 64)
	l.Slow = cmp.Or(l.Slow, slowTimes*max(0, l.Workers))
	l.Hosts.Concurrency = cmp.Or(l.Hosts.Concurrency, 2)
	l.Backoff = l.Backoff.withDefaults()
	if l.Budget.Polls <= 0 || l.Budget.Per <= 0 {
		l.Budget = Budget{Polls: 60, Per: time.Minute}
	}
	return l
}

// opensAs reports whether every source and host opens when it does by other limits: only how many
// polls are under way at once may differ.
func (l Limits) opensAs(other Limits) bool {
	l.Workers, l.Slow = other.Workers, other.Slow
	return reflect.DeepEqual(l, other)
}

// Politeness is what is owed to every host.
type Politeness struct {
	Delay       time.Duration // between two polls of one host; 0 means none
	Concurrency int           // polls of one host under way at once, if there is no delay; 0 means 2

	// Share is how much of the budget the sources of one host may take; 0 and 1
	// mean all. They may take three times their even share in any case.
	Share float64

	// CrawlDelay is the longest delay that the robots.txt of a host can ask for; 0
	// means that robots.txt is not read for it.
	CrawlDelay time.Duration

	// Obey says that sources of which nothing else is said are polled only if the
	// robots.txt of their hosts allow it. The scheduler leaves that to who polls.
	Obey bool
}

// Backoff says how long to stay away from what failed. The wait doubles with
// every further failure, and is spread by up to a fifth either way so that
// sources that failed together do not come back together.
type Backoff struct {
	Start time.Duration // after the first failure of a source; 0 means 30 seconds
	Most  time.Duration // 0 means 6 hours
	Gone  time.Duration // after a source is said to be gone for good; 0 means 24 hours
	Host  time.Duration // after a host failed three polls running; 0 means 10 seconds

	// RetryAfter caps how long a server can send us away; 0 means 24 hours.
	RetryAfter time.Duration
}

func (b Backoff) withDefaults() Backoff {
	b.Start = cmp.Or(b.Start, 30*time.Second)
	b.Most = cmp.Or(b.Most, 6*time.Hour)
	b.Gone = cmp.Or(b.Gone, 24*time.Hour)
	b.Host = cmp.Or(b.Host, 10*time.Second)
	b.RetryAfter = cmp.Or(b.RetryAfter, 24*time.Hour)
	return b
}

// hostPatience is how many failures running a host is granted before all of
// its sources are left alone for a while.
const hostPatience = 3

// source returns how long to leave a source alone after its nth failure running.
func (b Backoff) source(id freshet.SourceID, n int, f failure.Class) time.Duration {
	if f.Is(failure.Gone) || f.Is(failure.RobotsDisallow) {
		return b.Gone
	}
	return b.spread(string(id), n, double(b.Start, n-1, b.Most))
}

// host returns how long to leave a host alone after its nth failure running.
func (b Backoff) host(name string, n int) time.Duration {
	if n < hostPatience {
		return 0
	}
	return b.spread(name, n, double(b.Host, n-hostPatience, b.Most))
}

// spread moves d by up to a fifth, by what is drawn from the name and the
// count: chance that a replay repeats.
func (b Backoff) spread(name string, n int, d time.Duration) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(name))
	h.Write([]byte{byte(n), byte(n >> 8)})
	return time.Duration(float64(d) * (0.8 + 0.4*float64(h.Sum32()%1024)/1023))
}

// double returns d doubled n times, at most the most.
func double(d time.Duration, n int, most time.Duration) time.Duration {
	for range n {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return min(d, most)
}
