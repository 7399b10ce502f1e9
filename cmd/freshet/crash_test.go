//go:build unix

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	crashKills = flag.Int("kills", defaultKills, "how often TestCrash kills the daemon")
	crashSeed  = flag.Uint64("crashseed", 1, "of the synthetic web and of the moments at which TestCrash kills")
)

// TestCrash kills a daemon with SIGKILL at random moments while it watches a
// live synthetic web, and now and then stops it gently, and then holds it to what
// it promises: nothing that was acknowledged is lost or altered, every change is
// told at least once under a stable id, neither the budget nor the politeness is
// overdrawn, and what was learnt is what the log teaches. The outside
// truth is the web's own log of requests, a receiver of webhooks and a client of
// the change stream, all of which outlive the daemon.
func TestCrash(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(*crashSeed, 0))
	rig := newCrashRig(t, *crashSeed)
	for kill := range *crashKills {
		d := rig.start(t)
		if kill > 0 && chance.Float64() < 0.15 {
			// In the midst of opening, syncing sources and resuming.
			<-time.After(time.Duration(chance.Int64N(int64(100 * time.Millisecond))))
			d.kill(t)
			rig.unready++
			continue
		}
		rig.meet(t, d)
		<-time.After(time.Duration(chance.Int64N(int64(2 * time.Second))))
		if kill%3 == 1 {
			d.stop(t)
			continue
		}
		if chance.Float64() < 0.2 {
			d.freeze(t)
			rig.frozen++
			<-time.After(time.Duration(chance.Int64N(int64(300 * time.Millisecond))))
		}
		d.kill(t)
		if kill%20 == 19 {
			t.Logf("%d kills: %s", kill+1, rig.progress())
		}
	}
	rig.settle(t)
	c := rig.check(t)
	rig.print(t, c)
}

// print logs what the campaign amounted to.
func (r *crashRig) print(t *testing.T, c *crashChecks) {
	slices.Sort(r.recoveries)
	n := len(r.recoveries)
	closest, host := r.closest()
	t.Logf("kills            %d (%d after SIGSTOP, %d before it was ready), and %d gentle stops", r.kills, r.frozen, r.unready, r.stops)
	t.Logf("recovery         %v median, %v longest, from start to ready", r.recoveries[n/2].Round(time.Millisecond), r.recoveries[n-1].Round(time.Millisecond))
	t.Logf("versions         %d, of %d of the %d sources; %d of them seen over the API before a kill", c.versions, c.pages, len(r.web.Pages()), len(r.acks.seen()))
	t.Logf("changes          %d", c.changes)
	t.Logf("webhook          %d deliveries, %d of them repeats, %d refused at first", r.hook.deliveries, r.hook.repeats, r.hook.refusals)
	t.Logf("stream           %d events in %d connections, %d of them repeats", r.stream.events, r.stream.connections, r.stream.repeats)
	t.Logf("requests         %d, at most %d in any %s (budget %s)", len(r.web.Requests()), r.web.MaxInWindow(crashBudget.Per), crashBudget.Per, crashBudget)
	t.Logf("closest requests %v apart, to %s (%v owed)", closest.Round(time.Microsecond), host, crashDelay)
	t.Logf("retry-after      %d answers asked to be left alone, %d requests came early, %d of them because the answer died with the daemon", c.asked, c.early, c.excused)
}

// progress says in a line how far the campaign is.
func (r *crashRig) progress() string {
	return fmt.Sprintf("%d requests, %d deliveries, %d events", len(r.web.Requests()), r.hook.count(), r.stream.count())
}

// closest returns the shortest time between two requests to one host.
func (r *crashRig) closest() (gap time.Duration, host string) {
	for _, h := range r.web.Hosts() {
		if g, ok := r.web.MinGap(h); ok && (host == "" || g < gap) {
			gap, host = g, h
		}
	}
	return gap, host
}
