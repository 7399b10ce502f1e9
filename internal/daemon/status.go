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
	underWay, polls, captured, failed, held atomic.Int64
	late, mostLate                          atomic.Int64
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

// woke notes how long after its alarm the loop woke.
func (g *gauges) woke(late time.Duration) {
	g.late.Store(int64(late))
	if int64(late) > g.mostLate.Load() {
		g.mostLate.Store(int64(late))
	}
}

// Status returns how the daemon is doing.
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
		MostLate: time.Duration(d.loop.gauges.mostLate.Load()),
	}
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

// trouble returns why nothing can be captured; "" if it can.
func (d *Daemon) trouble() string {
	if why := d.recorder.trouble.Load(); why != nil {
		return *why
	}
	return d.space.trouble()
}
