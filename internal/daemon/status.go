package daemon

import (
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Status is how a Daemon is doing.
type Status struct {
	Running  bool
	Trouble  string // why nothing can be captured, if nothing can
	Budget   string
	Limits   sched.Limits // in force
	Sources  int64
	Loaded   int // sources of the file that have been taken on so far
	Listed   int // sources of the file that are being taken on; zero if none are
	UnderWay int64
	Polls    int64 // since the start, of this process
	Captured int64 // versions, likewise
	Failed   int64 // polls, likewise
	Held     int64 // polls whose capture is held, likewise

	Disk  *Disk  // where the store is; nil if nobody looks
	Clock string // how the wall clock was last set, if that was noticed

	// Late is how long after its time the loop last woke, and MostLate the
	// most that has been since the start.
	Late, MostLate time.Duration
}

// gauges count what a Status says.
type gauges struct {
	flying, polls, captured, failed, held atomic.Int64
	late, mostLate                        atomic.Int64
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

// rang notes that an alarm was heard so long after its time.
func (g *gauges) rang(late time.Duration) {
	g.late.Store(int64(late))
	if int64(late) > g.mostLate.Load() {
		g.mostLate.Store(int64(late))
	}
}

// Status returns how the daemon is doing.
func (d *Daemon) Status() Status {
	s := Status{
		Running:  d.running.Load(),
		Budget:   d.Limits().Budget.String(),
		Limits:   d.Limits(),
		Sources:  d.counts.sources.Load(),
		UnderWay: d.gauges.flying.Load(),
		Polls:    d.gauges.polls.Load(),
		Captured: d.gauges.captured.Load(),
		Failed:   d.gauges.failed.Load(),
		Held:     d.gauges.held.Load(),
		Late:     time.Duration(d.gauges.late.Load()),
		MostLate: time.Duration(d.gauges.mostLate.Load()),
	}
	if how := d.leader.clockSet.Load(); how != nil {
		s.Clock = *how
	}
	s.Loaded, s.Listed = d.loading.progress()
	if why := d.recorder.trouble.Load(); why != nil {
		s.Trouble = *why
	} else {
		s.Trouble = d.space.trouble()
	}
	if disk, ok := d.space.now(); ok {
		s.Disk = &disk
	}
	return s
}
