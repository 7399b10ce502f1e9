package daemon

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// A visitor looks at pages that no source watches. A visit is a poll to the budget, to hosts and to
// robots.txt files; of what it finds nothing is stored.
type visitor struct {
	poller *poller
	slots  *semaphore.Weighted
}

// mostVisits is how many visits are made at once. They take no place of a worker.
const mostVisits = 4

// Visit looks at a page as a first poll of a source would. It waits until the budget and the host allow
// each request, and returns an error if ctx is done before the look is over.
func (v *visitor) Visit(ctx context.Context, s freshet.Source) (worker.Result, error) {
	d := v.poller
	if !d.loop.running.Load() {
		return worker.Result{}, ErrNotRunning
	}
	if err := v.slots.Acquire(ctx, 1); err != nil {
		return worker.Result{}, context.Cause(ctx)
	}
	defer v.slots.Release(1)
	s.ID = ""                     // the store knows a visit by that
	ahead := d.loop.dates.Ahead() // what is recorded is dated by the wall clock
	now := func() time.Time { return d.loop.dates.Now().Add(ahead) }
	visit := &sched.Visit{}
	defer d.loop.post(sched.VisitEnded{Visit: visit})
	room := openRoom(d.gates.memory)
	defer room.close()
	way := &requestGate{
		requestGates: &d.gates, visit: visit, poll: freshet.Poll{Source: s, At: now()}, now: now,
		obeys: s.Obeys(d.gates.limits.Limits().Hosts.Obey), patience: time.Now().Add(leaseWait),
		task: worker.Task{Source: s, History: worker.StoredHistory(d.store, "", freshet.Head{}, nil, d.log)},
	}
	way.task.Room, way.task.Permit = room.hold, way.permitPage
	found, _ := way.look(ctx)
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	if found.RetryAfter > 0 && len(way.hosts) > 0 {
		d.gates.backOffHost(way.hosts[len(way.hosts)-1], found.RetryAfter)
	}
	for host, wait := range found.HostBackoffs {
		d.gates.backOffHost(host, wait)
	}
	return found, nil
}
