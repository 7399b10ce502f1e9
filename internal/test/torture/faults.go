//go:build unix

package torture

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"
)

// A Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Kill    Kind = "kill"    // SIGKILL at any moment
	Early   Kind = "early"   // SIGKILL while the daemon starts
	Freeze  Kind = "freeze"  // SIGSTOP for a while, then SIGCONT, or SIGKILL
	Term    Kind = "term"    // SIGTERM, and a start at once
	Twin    Kind = "twin"    // a second daemon on the same data
	Reload  Kind = "reload"  // another budget in the file, or a file with a mistake
	Hooks   Kind = "hooks"   // receivers that fail, hang, are busy or gone
	Clock   Kind = "clock"   // the clock is set, while the daemon runs
	Restart Kind = "restart" // the clock is set between two lives
	Restore Kind = "restore" // an older copy of the data is put back
	Files   Kind = "files"   // few files may be open
	Memory  Kind = "memory"  // little memory is wanted, and clients do not read
	Full    Kind = "full"    // the disk is full for a while, or takes half of each write
	Slow    Kind = "slow"    // the disk takes its time
	Write   Kind = "write"   // a write fails
	Sync    Kind = "sync"    // a sync fails
	Power   Kind = "power"   // power is lost: of what was not synced any part is gone
)

// Kinds are all kinds of faults, in the order in which they are listed.
var Kinds = []Kind{Kill, Early, Freeze, Term, Twin, Reload, Hooks, Clock, Restart, Restore, Files, Memory, Full, Slow, Write, Sync, Power}

// plan returns the kinds of an episode, one after another: in each turn all of
// them come, in an order of its own.
func (e *episode) plan() (next func() Kind) {
	kinds := Kinds
	if len(e.Only) > 0 {
		kinds = e.Only
	}
	if e.still {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k == Clock || k == Restart || k == Restore || k == Hooks })
	}
	if len(kinds) == 0 {
		kinds = []Kind{Kill}
	}
	var turn []Kind
	return func() Kind {
		if len(turn) == 0 {
			turn = slices.Clone(kinds)
			e.chance.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		k := turn[0]
		turn = turn[1:]
		return k
	}
}

// inflict does something bad to the daemon, and reports whether it came to that.
func (e *episode) inflict(ctx context.Context, k Kind) bool {
	switch k {
	case Kill:
		e.kill()
	case Early:
		e.killEarly(ctx)
	case Freeze:
		e.freeze(ctx)
	case Term:
		e.term()
	case Twin:
		e.twin()
	case Reload:
		e.reload(ctx)
	case Hooks:
		e.upset(ctx)
	case Clock:
		return e.setClock(ctx)
	case Restart:
		e.restartOnOtherClock(ctx)
	case Restore:
		return e.restore(ctx)
	case Files:
		e.fewFiles(ctx)
	case Memory:
		e.littleMemory(ctx)
	case Full:
		return e.fillDisk(ctx)
	case Slow:
		return e.slowDisk(ctx)
	case Write:
		return e.failDisk(ctx, refusesWrite)
	case Sync:
		return e.failDisk(ctx, refusesSync)
	case Power:
		return e.losePower(ctx)
	}
	return true
}

// kill kills the daemon. One that has ended by itself has failed.
func (e *episode) kill() {
	e.now.kill()
	if !e.now.killed() {
		e.violate("stays up", "the daemon had ended by itself: %v", e.now.cmd.ProcessState)
	}
	e.bury(true)
}

// killEarly kills the daemon, and the next one while it opens, recovers and
// takes on sources.
func (e *episode) killEarly(ctx context.Context) {
	e.kill()
	for range 1 + e.chance.IntN(2) {
		if !e.launch(start{}) {
			return
		}
		e.dwell(ctx, time.Duration(e.chance.IntN(120))*time.Millisecond)
		e.kill()
	}
}

// freeze stops the daemon in its tracks, and wakes it later or never.
func (e *episode) freeze(ctx context.Context) {
	e.now.signal(syscall.SIGSTOP)
	e.dwell(ctx, time.Duration(50+e.chance.IntN(1200))*time.Millisecond)
	if e.chance.IntN(3) == 0 {
		e.kill()
		return
	}
	e.now.signal(syscall.SIGCONT)
	e.dwell(ctx, 300*time.Millisecond)
}

// stopPatience is how long a daemon may take to end: the grace for polls under
// way is ten seconds, and connections to the API are given five.
const stopPatience = 16 * time.Second

// term stops the daemon the gentle way.
func (e *episode) term() {
	asked := time.Now()
	e.now.signal(syscall.SIGTERM)
	e.report.checked("stop", 1)
	if !e.now.wait(stopPatience) {
		e.violate("stop", "SIGTERM did not end the daemon within %v", stopPatience)
		e.now.kill()
		e.bury(true)
		return
	}
	e.stops = append(e.stops, time.Since(asked))
	if code := e.now.exit(); code != 0 {
		e.violate("stop", "after SIGTERM the daemon ended with %v", e.now.cmd.ProcessState)
	}
	e.bury(false)
}

// twin starts a second daemon on the same data, which has to leave at once and
// to disturb nothing.
func (e *episode) twin() {
	second, err := begin(e.Config, e.lives, e.file, start{inside: e.chance.IntN(2) == 0})
	if err != nil {
		e.violate("start", "%v", err)
		return
	}
	e.report.checked("one writer", 1)
	if !second.wait(recoveryPatience) {
		e.violate("one writer", "a second daemon on the same data did not leave within %v", recoveryPatience)
		second.kill()
	} else if code := second.exit(); code != exitInTheWay {
		e.violate("one writer", "a second daemon on the same data ended with %d, want %d:\n%s", code, exitInTheWay, second.log.end())
	}
}

// reload gives the daemon another budget, or a file with a mistake, which must
// change nothing.
func (e *episode) reload(ctx context.Context) {
	if e.chance.IntN(4) == 0 {
		if err := os.WriteFile(e.file, []byte("budget: lots\n"), 0o600); err != nil {
			e.violate("campaign", "%v", err)
		}
		e.now.signal(syscall.SIGHUP)
		if err := e.now.api.Reload(ctx); err == nil {
			e.violate("reload", "a file with a mistake was taken on")
		}
		if err := e.settings.write(e.file); err != nil {
			e.violate("campaign", "%v", err)
		}
		return
	}
	e.settings.budget = drawBudget(e.chance)
	if err := e.settings.write(e.file); err != nil {
		e.violate("campaign", "%v", err)
		return
	}
	e.rebudgeted = true
	settled := e.traffic.allow(e.settings.budget)
	if e.chance.IntN(3) == 0 {
		e.now.signal(syscall.SIGHUP) // nobody says when it is done: the next start does
		return
	}
	if err := e.now.api.Reload(ctx); err != nil {
		e.unanswered(ctx, "reload", err)
		return
	}
	e.report.checked("reload", 1)
	settled()
}

// upset puts the receivers into a mood for a while. The one that leaves for good
// is asked to only once.
func (e *episode) upset(ctx context.Context) {
	moody, leaver := e.receivers[1], e.receivers[2]
	moody.feel([]mood{failing, hanging, busy}[e.chance.IntN(3)])
	if e.chance.IntN(3) == 0 {
		leaver.feel(gone)
	}
	e.dwell(ctx, time.Duration(300+e.chance.IntN(1500))*time.Millisecond)
	if e.chance.IntN(2) == 0 {
		e.kill()
	}
	if e.chance.IntN(4) > 0 {
		moody.feel(fine)
	}
}

// drawJump draws by how much the clock is set.
func drawJump(chance *rand.Rand) time.Duration {
	const year = 365 * 24 * time.Hour
	jumps := []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 10 * year, 2 * time.Second}
	d := jumps[chance.IntN(len(jumps))]
	if chance.IntN(2) == 0 {
		return -d
	}
	return d
}
