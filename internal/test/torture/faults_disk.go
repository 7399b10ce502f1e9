//go:build unix

package torture

import (
	"context"
	"net/http"
	"time"
)

// fillDisk fills the disk for a while. The daemon says that it is not ready,
// makes no polls, still answers, and goes on by itself when there is room.
func (e *episode) fillDisk(ctx context.Context) bool {
	if !e.goInside(ctx) {
		return false
	}
	ill := []ill{full, halves}[e.chance.IntN(2)]
	if !e.sicken(ctx, ill, e.chance.IntN(20)) {
		return false
	}
	e.report.checked("full disk", 1)
	if !e.becomesUnready(ctx, 10*time.Second) {
		e.violate("readiness", "the disk has been full for ten seconds and /readyz says that all is well")
	}
	e.stillAnswers(ctx)
	e.dwell(ctx, 500*time.Millisecond) // requests on record before may still leave
	before := e.web.visits.count()
	e.dwell(ctx, time.Duration(e.chance.IntN(1500))*time.Millisecond)
	if after := e.web.visits.count(); after > before && !e.backOnItsOwn(ctx) {
		e.violate("full disk", "%d requests were made that could not be recorded", after-before)
	}
	if e.chance.IntN(4) == 0 {
		e.kill() // while it is full
		return true
	}
	if e.sicken(ctx, well, 0) {
		if why := e.unready(ctx, 20*time.Second); why != "" {
			e.violate("full disk", "there was room again for twenty seconds, and the daemon is not ready: %s", why)
		}
	}
	return true
}

// backOnItsOwn reports whether the daemon is ready although the disk is full: one
// write found room.
func (e *episode) backOnItsOwn(ctx context.Context) bool {
	status, _, err := e.get(ctx, "/readyz")
	return err != nil || status == http.StatusOK
}

// sicken has the disk of the daemon do something wrong after some operations.
func (e *episode) sicken(ctx context.Context, i ill, skip int) bool {
	if err := e.now.tell(order{Disk: i, Skip: skip}); err != nil {
		e.unanswered(ctx, "make the disk "+string(i), err)
		return false
	}
	return true
}

// becomesUnready waits until the daemon says that it is not ready.
func (e *episode) becomesUnready(ctx context.Context, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; e.dwell(ctx, 50*time.Millisecond) {
		if status, _, err := e.get(ctx, "/readyz"); err == nil && status == http.StatusServiceUnavailable {
			return true
		}
	}
	return ctx.Err() != nil
}

// stillAnswers wants everything that only reads to be answered.
func (e *episode) stillAnswers(ctx context.Context) {
	for _, path := range []string{"/healthz", "/api/v1/status", "/api/v1/sources", "/api/v1/changes?after=0", "/api/v1/sources/page00/versions", "/metrics"} {
		if status, text, err := e.get(ctx, path); err != nil || status != http.StatusOK {
			if e.now.over() || ctx.Err() != nil {
				return
			}
			e.violate("full disk", "%s is answered with %d, %v: %s", path, status, err, text)
		}
	}
}

// slowDisk has every write take a while.
func (e *episode) slowDisk(ctx context.Context) bool {
	if !e.goInside(ctx) || !e.sicken(ctx, slow, 0) {
		return false
	}
	e.dwell(ctx, time.Duration(500+e.chance.IntN(1500))*time.Millisecond)
	if e.chance.IntN(2) == 0 {
		e.endSomehow()
		return true
	}
	return e.sicken(ctx, well, 0)
}

// failDisk has a write or a sync fail: the daemon ends with the code that says
// so, because what is on disk is not known any more.
func (e *episode) failDisk(ctx context.Context, i ill) bool {
	if !e.goInside(ctx) || !e.sicken(ctx, i, e.chance.IntN(40)) {
		return false
	}
	e.report.checked("failed writes", 1)
	const patience = 20 * time.Second
	if !e.now.wait(patience) {
		e.violate("failed writes", "a %s failed and the daemon still runs after %v", i, patience)
		e.now.kill()
	} else if code := e.now.exit(); code != exitStorage {
		e.violate("failed writes", "a %s failed and the daemon ended with %v, want %d", i, e.now.cmd.ProcessState, exitStorage)
	}
	e.bury(true)
	return true
}

// losePower has the daemon end with any part of what was not synced gone.
func (e *episode) losePower(ctx context.Context) bool {
	if !e.goInside(ctx) || !e.sicken(ctx, powerless, e.chance.IntN(60)) {
		return false
	}
	if !e.now.wait(20 * time.Second) {
		e.violate("campaign", "power was lost and the daemon still runs")
	}
	e.kill()
	return true
}
