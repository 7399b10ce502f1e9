package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/policy"
	"freshet/sched"
)

// A holdBench is one run of the verb "bench hold".
type holdBench struct {
	*program
	plan    benchPlan
	length  time.Duration
	every   time.Duration // between two reports
	budget  sched.Budget
	json    bool
	profile string
}

func (p *program) benchHold() *cobra.Command {
	b := holdBench{program: p, length: 10 * time.Minute, every: 30 * time.Second}
	var rate string
	cmd := &cobra.Command{
		Use:   "hold",
		Short: "Poll many sources at a steady rate for long, and see whether anything grows",
		Long: `Watch many pages at a steady rate, and report now and then how late the daemon
is, how far it has fallen behind the rate, and what memory and disk it takes. At
the end it says whether lateness or memory grew.

Behind is how many polls fewer were made than the rate allows since the clock
started. A budget is a hard ceiling: at most so many requests in any stretch of
time, as the server counts. That alone costs a little of the rate, the more the
shorter the stretch (30000/m loses less than 500/s).`,
		Example: "  freshet bench hold\n  freshet bench hold --sources 10000 --rate 500/s --for 10m\n  freshet bench hold --for 1m --every 5s --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if b.budget, err = sched.ParseBudget(rate); err != nil {
				return wrongFlag("rate", reason(err))
			}
			if err := wrongFlag("policy", setPolicy(new(settings), b.plan.policy)); err != nil {
				return err
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.plan.sources, "sources", 10_000, "pages to poll")
	flags.IntVar(&b.plan.hosts, "hosts", 50, "addresses over which they are spread")
	flags.IntVar(&b.plan.workers, "concurrency", 64, "polls at once")
	flags.Float64Var(&b.plan.changed, "changed", 0.1, "share of polls that find a new version")
	flags.StringVar(&rate, "rate", "500/s", "polls to make")
	flags.StringVar(&b.plan.policy, "policy", policy.Default, "what to poll next: "+strings.Join(policy.Names, ", "))
	flags.Var((*lengthFlag)(&b.length), "for", "how long")
	flags.Var((*lengthFlag)(&b.every), "every", "time between two reports")
	flags.StringVar(&b.plan.dir, "dir", "", "where to keep the data meanwhile")
	flags.StringVar(&b.profile, "cpuprofile", "", "write a profile to this file")
	flags.MarkHidden("cpuprofile")
	jsonFlag(cmd, &b.json)
	return cmd
}

// A holdReport is how the daemon did between two reports.
type holdReport struct {
	Seconds    float64 `json:"seconds"`
	Polls      int64   `json:"polls"`
	PerSecond  float64 `json:"polls_per_second"`
	Behind     float64 `json:"polls_behind"` // since the start
	Failed     int64   `json:"failed"`
	Captured   int64   `json:"captured"`
	Late       float64 `json:"late_seconds"`      // when the loop last woke
	MostLate   float64 `json:"most_late_seconds"` // since the report before, as far as was seen
	UnderWay   int64   `json:"under_way"`
	RSS        int64   `json:"rss_bytes"`
	Goroutines int     `json:"goroutines"`
	Store      int64   `json:"store_bytes"`
	CPU        float64 `json:"cpu_share"` // of one core
}

// run holds the rate and reports.
func (b *holdBench) run(ctx context.Context) (err error) {
	rig, err := b.openRig(ctx, b.plan)
	if err != nil {
		return err
	}
	defer func() {
		if e := rig.close(); err == nil {
			err = e
		}
	}()
	return rig.work(ctx, func(ctx context.Context) error {
		return profiled(b.profile, func() error { return b.hold(ctx, rig) })
	})
}

func (b *holdBench) hold(ctx context.Context, rig *benchRig) error {
	rig.spend(b.budget)
	if !b.json {
		fmt.Fprintf(b.out, "%d sources, %s, for %s, policy %s; a share of %g changed\n", b.plan.sources, rate(b.budget), freshet.FormatDuration(b.length), b.plan.policy, b.plan.changed)
		fmt.Fprintln(b.out, " TIME  POLLS/S  BEHIND  FAILED  CAPTURED  MOST LATE  UNDER WAY       RSS  GOROUTINES     STORE  CPU")
	}
	m := holdMeter{rig: rig, budget: b.budget, began: time.Now(), cpu: cpuTime()}
	m.from = m.began
	var reports []holdReport
	for time.Since(m.began) < b.length {
		r, err := m.report(ctx, min(b.every, b.length-time.Since(m.began)))
		if ctx.Err() != nil {
			break // interrupted: judge by what there is
		}
		if err != nil {
			return err
		}
		reports = append(reports, r)
		if err := b.print(r); err != nil {
			return err
		}
	}
	verdict := judge(reports)
	if b.json {
		return b.printLine(verdict)
	}
	_, err := fmt.Fprintln(b.out, verdict)
	return err
}

func (b *holdBench) print(r holdReport) error {
	if b.json {
		return b.printLine(r)
	}
	_, err := fmt.Fprintf(b.out, "%5s  %7.1f  %6.0f  %6d  %8d  %8.1fms  %9d  %8s  %10d  %8s  %2.0f%%\n", stopwatch(r.Seconds), r.PerSecond, r.Behind, r.Failed, r.Captured,
		1000*r.MostLate, r.UnderWay, roughSize(r.RSS), r.Goroutines, roughSize(r.Store), 100*r.CPU)
	return err
}

// A holdMeter watches a rig at work.
type holdMeter struct {
	rig    *benchRig
	budget sched.Budget
	began  time.Time

	// As of the report before.
	from  time.Time
	polls int64
	cpu   time.Duration
}

// report waits for a time, looking often at how late the loop is, and says how
// the daemon did.
func (m *holdMeter) report(ctx context.Context, wait time.Duration) (r holdReport, err error) {
	for end := time.Now().Add(wait); time.Now().Before(end); {
		if err := pause(ctx, min(50*time.Millisecond, time.Until(end))); err != nil {
			return r, err
		}
		r.MostLate = max(r.MostLate, m.rig.daemon.Status().Late.Seconds())
	}
	s, now, cpu := m.rig.daemon.Status(), time.Now(), cpuTime()
	r.Seconds, r.Polls, r.Failed, r.Captured = now.Sub(m.began).Seconds(), s.Polls, s.Failed, s.Captured
	r.PerSecond = float64(s.Polls-m.polls) / now.Sub(m.from).Seconds()
	r.Behind = m.budget.PerSecond()*r.Seconds - float64(s.Polls)
	r.Late, r.UnderWay = s.Late.Seconds(), s.UnderWay
	r.RSS, r.Goroutines = residentBytes(), runtime.NumGoroutine()
	r.CPU = (cpu - m.cpu).Seconds() / now.Sub(m.from).Seconds()
	r.Store, err = storeSize(m.rig.data)
	m.from, m.polls, m.cpu = now, s.Polls, cpu
	return r, err
}

// residentBytes returns how much memory this process holds, or zero where that
// is not known.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// A holdVerdict compares the last third of a run with the third in the middle.
// The first third is left out: caches fill up in it.
type holdVerdict struct {
	PerSecond [2]float64 `json:"polls_per_second"` // in the middle and at the end
	MostLate  [2]float64 `json:"most_late_seconds"`
	RSS       [2]int64   `json:"rss_bytes"`
	LateGrew  bool       `json:"lateness_grew"`
	RSSGrew   bool       `json:"memory_grew"`
}

// judge compares the thirds of a run.
func judge(reports []holdReport) (v holdVerdict) {
	third := len(reports) / 3
	for i, part := range [2][]holdReport{reports[third : len(reports)-third], reports[len(reports)-third:]} {
		for _, r := range part {
			v.PerSecond[i] += r.PerSecond / float64(len(part))
			v.MostLate[i] += r.MostLate / float64(len(part))
			v.RSS[i] = max(v.RSS[i], r.RSS)
		}
	}
	// Less than this is noise: a tenth of a second is the finest instant at
	// which the daemon decides anything.
	const lateNoise, share = 0.1, 1.1
	v.LateGrew = third > 0 && (v.MostLate[1] > v.MostLate[0]+lateNoise || v.PerSecond[0] > v.PerSecond[1]*share)
	v.RSSGrew = third > 0 && float64(v.RSS[1]) > float64(v.RSS[0])*share
	return v
}

// String says it in words.
func (v holdVerdict) String() string {
	grew := func(yes bool) string {
		if yes {
			return "grew"
		}
		return "did not grow"
	}
	return fmt.Sprintf("lateness %s (%.1fms in the middle third, %.1fms in the last; %.1f and %.1f polls a second); memory %s (%s and %s)",
		grew(v.LateGrew), 1000*v.MostLate[0], 1000*v.MostLate[1], v.PerSecond[0], v.PerSecond[1],
		grew(v.RSSGrew), roughSize(v.RSS[0]), roughSize(v.RSS[1]))
}
