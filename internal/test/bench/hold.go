package bench

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"freshet/internal/app"
	"freshet/internal/sched"
)

// A Hold polls many sources at a steady rate for long, to see whether anything
// grows.
type Hold struct {
	Plan    Plan
	Length  time.Duration
	Every   time.Duration // between two reports
	Budget  sched.Budget
	Profile string                 // file that a profile is written to; "" means none
	Report  func(HoldReport) error // is called now and then with the state of the daemon
}

// A HoldReport is how the daemon did between two reports.
type HoldReport struct {
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

// Run holds the rate and reports, until the time is over or ctx is done.
func (b *Hold) Run(ctx context.Context) (v HoldVerdict, err error) {
	rig, err := b.Plan.open(ctx)
	if err != nil {
		return v, err
	}
	defer func() {
		if e := rig.close(); err == nil {
			err = e
		}
	}()
	err = rig.work(ctx, func(ctx context.Context) error {
		return profiled(b.Profile, func() (err error) {
			v, err = b.hold(ctx, rig)
			return err
		})
	})
	return v, err
}

func (b *Hold) hold(ctx context.Context, rig *rig) (v HoldVerdict, err error) {
	rig.spend(b.Budget)
	m := holdMeter{rig: rig, budget: b.Budget, began: time.Now(), cpu: cpuTime()}
	m.from = m.began
	var reports []HoldReport
	for time.Since(m.began) < b.Length {
		r, err := m.report(ctx, min(b.Every, b.Length-time.Since(m.began)))
		if ctx.Err() != nil {
			break // interrupted: judge by what there is
		}
		if err != nil {
			return v, err
		}
		reports = append(reports, r)
		if err := b.Report(r); err != nil {
			return v, err
		}
	}
	return Judge(reports), nil
}

// A holdMeter watches a rig at work.
type holdMeter struct {
	rig    *rig
	budget sched.Budget
	began  time.Time

	// As of the report before.
	from  time.Time
	polls int64
	cpu   time.Duration
}

// report waits for a time, looking often at how late the loop is, and says how
// the daemon did.
func (m *holdMeter) report(ctx context.Context, wait time.Duration) (r HoldReport, err error) {
	for end := time.Now().Add(wait); time.Now().Before(end); {
		if err := pause(ctx, min(50*time.Millisecond, time.Until(end))); err != nil {
			return r, err
		}
		r.MostLate = max(r.MostLate, m.rig.Daemon.Status().Late.Seconds())
	}
	s, now, cpu := m.rig.Daemon.Status(), time.Now(), cpuTime()
	r.Seconds, r.Polls, r.Failed, r.Captured = now.Sub(m.began).Seconds(), s.Polls, s.Failed, s.Captured
	r.PerSecond = float64(s.Polls-m.polls) / now.Sub(m.from).Seconds()
	r.Behind = m.budget.PerSecond()*r.Seconds - float64(s.Polls)
	r.Late, r.UnderWay = s.Late.Seconds(), s.UnderWay
	r.RSS, r.Goroutines = residentBytes(), runtime.NumGoroutine()
	r.CPU = (cpu - m.cpu).Seconds() / now.Sub(m.from).Seconds()
	r.Store, err = app.StoreSize(m.rig.data)
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

// A HoldVerdict compares the last third of a run with the third in the middle.
// The first third is left out: caches fill up in it.
type HoldVerdict struct {
	PerSecond [2]float64 `json:"polls_per_second"` // in the middle and at the end
	MostLate  [2]float64 `json:"most_late_seconds"`
	RSS       [2]int64   `json:"rss_bytes"`
	LateGrew  bool       `json:"lateness_grew"`
	RSSGrew   bool       `json:"memory_grew"`
}

// Judge compares the thirds of a run.
func Judge(reports []HoldReport) (v HoldVerdict) {
	third := len(reports) / 3
	for i, part := range [2][]HoldReport{reports[third : len(reports)-third], reports[len(reports)-third:]} {
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
