package daemon

import (
	"fmt"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Status is the state of a Daemon.
type Status struct {
	Running  bool
	Trouble  string // why nothing can be captured; "" if it can
	Budget   string
	Limits   sched.Limits // current limits
	Sources  int64
	Loaded   int // sources of the file that are loaded
	Listed   int // sources of the file that are being loaded; zero if none
	UnderWay int64
	Polls    int64 // since the start of the process
	Captured int64 // versions since the start
	Failed   int64 // polls since the start
	Held     int64 // polls with a quarantined capture since the start

	Disk  *Disk  // disk of the store; nil if unknown
	Clock string // how the wall clock was last set, if that was detected

	// Late is the delay with which the loop last woke, or the time for which polls have been
	// waiting to be recorded if that is longer. MostLate is its maximum since the start.
	Late, MostLate time.Duration

	StoreWait time.Duration // how long pending writes have made no progress
}

// gauges hold the counters of a Status.
type gauges struct {
	underWay, polls, captured, failed, held atomic.Int64
	late, mostLate                          atomic.Int64
	alarm                                   atomic.Int64 // time of the next wake of the loop in Unix nanoseconds; zero if none
}

func (g *gauges) count(o freshet.Outcome) {
	g.polls.Add(1)
	switch {
	case o.Result.Captured():
		g.captured.Add(1)
	case o.Result == freshet.Failed:
		g.failed.Add(1)
	case o.Result == freshet.Doubted:
		g.held.Add(1)
	}
}

// woke records how late the loop woke.
func (g *gauges) woke(late time.Duration) {
	g.late.Store(int64(late))
	g.note(late)
}

// note records a delay if it is the longest so far.
func (g *gauges) note(late time.Duration) {
	if int64(late) > g.mostLate.Load() {
		g.mostLate.Store(int64(late))
	}
}

// setAlarm records when the loop should wake; the zero time means never.
func (g *gauges) setAlarm(at time.Time) {
	if at.IsZero() {
		g.alarm.Store(0)
		return
	}
	g.alarm.Store(at.UnixNano())
}

// overdue returns how long ago the loop should have woken, if it has not.
func (g *gauges) overdue(now time.Time) time.Duration {
	if at := g.alarm.Load(); at != 0 {
		return now.Sub(time.Unix(0, at))
	}
	return 0
}

// Status returns the state of the daemon.
func (d *Daemon) Status() Status {
	s := Status{
		Running:  d.loop.running.Load(),
		Budget:   d.Limits().Budget.String(),
		Limits:   d.Limits(),
		Sources:  d.editor.counts.sources.Load(),
		UnderWay: d.loop.gauges.underWay.Load(),
		Polls:    d.loop.gauges.polls.Load(),
		Captured: d.loop.gauges.captured.Load(),
		Failed:   d.loop.gauges.failed.Load(),
		Held:     d.loop.gauges.held.Load(),
		Late:     time.Duration(d.loop.gauges.late.Load()),
	}
	if s.StoreWait = d.recorder.waits.waited(); s.Running {
		s.Late = max(s.Late, s.StoreWait, d.loop.gauges.overdue(d.loop.dates.Now()))
		d.loop.gauges.note(s.Late)
	}
	s.MostLate = time.Duration(d.loop.gauges.mostLate.Load())
	if how := d.leader.clock.lastSet.Load(); how != nil {
		s.Clock = *how
	}
	s.Loaded, s.Listed = d.editor.loading.progress()
	s.Trouble = d.trouble()
	if disk, ok := d.space.now(); ok {
		s.Disk = &disk
	}
	return s
}

// trouble returns why nothing can be captured, or "".
func (d *Daemon) trouble() string {
	if why := d.recorder.trouble.Load(); why != nil {
		return *why
	}
	if d.cfg.Trouble != nil {
		if why := d.cfg.Trouble(); why != "" {
			return why
		}
	}
	if waited := d.recorder.waits.waited(); waited > d.cfg.WriteWait {
		return fmt.Sprintf("nothing has been written for %s: the disk or the database hangs", waited.Round(100*time.Millisecond))
	}
	return d.space.trouble()
}
