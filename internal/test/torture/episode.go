//go:build unix

package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// An episode is a web, its witnesses, and one data directory on which daemon
// after daemon is started and broken.
type episode struct {
	*campaign
	seed   uint64
	chance *rand.Rand // of what is done
	dir    string
	file   string // of settings
	settings

	web       *web
	receivers []*receiver
	chronicle *chronicle
	follower  *follower
	editor    *editor
	witnesses sync.WaitGroup
	stop      context.CancelFunc // of the follower
	traffic   traffic
	backup    *backup

	now        *life // nil if no daemon runs
	leave      context.CancelFunc
	guests     sync.WaitGroup // witnesses of the daemon that runs
	lives      int
	round      int
	last       Kind
	offset     time.Duration // of the clock that the next daemon starts with
	hidden     []time.Time   // when daemons started whose clock had been set since the one before
	deaths     []death
	stalls     []time.Time // when the daemon was held up
	still      bool        // no edits, and the clock, the data and the receivers are left alone
	rebudgeted bool        // by a reload
	goneBy     time.Time   // when the daemon has surely written down that a receiver is gone

	recoveries, stops []time.Duration
	peak              usage
}

// A death is the end of a daemon's life.
type death struct {
	at   time.Time
	hard bool // without a chance to write anything down
}

// calm is how long a daemon is left alone now and then.
const calm = 5 * time.Second

// recoveryPatience bounds how long a daemon may take to serve its API. It is
// much longer than it takes, because the machine may have more to do.
const recoveryPatience = 20 * time.Second

func newEpisode(ctx context.Context, c *campaign, seed uint64, dir string) (_ *episode, err error) {
	dice := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	e := &episode{campaign: c, seed: seed, still: seed%4 == 3, chance: dice(0), dir: dir, file: filepath.Join(dir, "freshet.yaml"), chronicle: newChronicle()}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if e.web, err = newWeb(ctx, seed); err != nil {
		return nil, err
	}
	for _, name := range []string{"steady", "moody", "leaver"} {
		r, err := newReceiver(name)
		if err != nil {
			return nil, err
		}
		e.receivers = append(e.receivers, r)
	}
	e.follower = newFollower(e.chronicle, dice(1))
	e.editor = newEditor(e.web, e.chronicle, dice(2))
	e.editor.done = e.still
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop = stop
	e.witnesses.Go(func() { e.follower.run(following) })
	e.settings = settings{rules: drawRules(e.chance), data: filepath.Join(dir, "data"), receivers: e.receivers, sources: listed(e.web)}
	e.traffic = newTraffic(e.settings.rules)
	return e, e.settings.write(e.file)
}

// close ends everything.
func (e *episode) close() error {
	if e.now != nil {
		e.part()
		e.now.kill()
	}
	if e.stop != nil {
		e.stop()
	}
	e.witnesses.Wait()
	var errs []error
	for _, r := range e.receivers {
		errs = append(errs, r.close())
	}
	if e.web != nil {
		errs = append(errs, e.web.close())
	}
	return errors.Join(append(errs, os.RemoveAll(e.dir))...)
}

// run goes through the rounds, and looks at last at the whole.
func (e *episode) run(ctx context.Context) {
	plan := e.plan()
	for e.round = range e.Rounds {
		if e.over(ctx) {
			break
		}
		if !e.up(ctx, start{}) {
			return
		}
		e.check(ctx)
		if pause := e.lull(); pause < calm {
			e.dwell(ctx, pause)
		} else {
			e.dwell(ctx, pause)
			e.checkFresh(ctx)
		}
		k := plan()
		e.last = k
		e.stall(k)
		if e.inflict(ctx, k) {
			e.report.fault(k)
		}
		e.stall(k)
		if e.broken(ctx) {
			return
		}
	}
	if ctx.Err() == nil {
		e.settle(ctx)
	}
}

// stall notes that the daemon is, or just was, held up by a fault.
func (e *episode) stall(k Kind) {
	if k == Freeze || k == Slow || k == Memory || k == Full {
		e.stalls = append(e.stalls, time.Now())
	}
}

// lull draws how long a daemon is left alone: mostly a moment, now and then long
// enough for all that lasts a while to come to pass.
func (e *episode) lull() time.Duration {
	if e.chance.IntN(12) == 0 {
		return calm
	}
	return time.Duration(100+e.chance.IntN(900)) * time.Millisecond
}

// dwell waits, or until ctx is done.
func (e *episode) dwell(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// up sees that a daemon runs and that the witnesses talk to it.
func (e *episode) up(ctx context.Context, s start) bool {
	if e.now != nil {
		return true
	}
	if !e.launch(s) {
		return false
	}
	return e.meet(ctx)
}

// launch starts a daemon. Unless it is told otherwise it is now the shipped
// program and now the one inside.
func (e *episode) launch(s start) bool {
	s.inside = s.inside || e.offset != 0 || e.chance.IntN(2) == 0
	s.offset = e.offset
	l, err := begin(e.Config, e.lives, e.file, s)
	if err != nil {
		e.violate("start", "%v", err)
		return false
	}
	e.lives++
	e.now = l
	return true
}

// meet waits until the daemon is ready and lets the witnesses talk to it.
func (e *episode) meet(ctx context.Context) bool {
	l := e.now
	if err := l.meet(ctx, recoveryPatience); err != nil {
		if ctx.Err() == nil {
			e.violate("recovery", "the daemon did not come up: %v", err)
		}
		l.kill()
		e.bury(true)
		return false
	}
	e.recoveries = append(e.recoveries, time.Since(l.began))
	e.report.checked("recovery", 1)
	e.follower.meet(l.base)
	watching, leave := context.WithCancel(context.WithoutCancel(ctx))
	e.leave = leave
	e.guests.Go(func() { e.editor.run(watching, l.api) })
	e.guests.Go(func() { e.read(watching, l.api) })
	e.guests.Go(func() { e.sample(watching, l) })
	return true
}

// part has the witnesses leave the daemon, except the follower, which hears of
// its end by itself.
func (e *episode) part() {
	if e.leave != nil {
		e.leave()
		e.leave = nil
	}
	e.guests.Wait()
}

// bury notes the end of a daemon that has ended.
func (e *episode) bury(hard bool) {
	e.part()
	e.checkLog(e.now)
	e.checkUsage(e.now)
	e.deaths = append(e.deaths, death{time.Now(), hard})
	e.now = nil
}

// broken reports whether the daemon ended by itself, which none may.
func (e *episode) broken(ctx context.Context) bool {
	if e.now == nil || !e.now.over() || ctx.Err() != nil {
		return false
	}
	e.violate("stays up", "the daemon ended by itself: %v", e.now.cmd.ProcessState)
	e.bury(true)
	return true
}

// read reads versions over the API while the daemon lives: what is shown once
// must never be lost.
func (e *episode) read(ctx context.Context, api *client.Client) {
	spots := e.settings.sources
	for i := 0; ctx.Err() == nil; i = (i + 7) % len(spots) {
		id := spots[i].id
		purges := e.chronicle.purgesOf(id)
		if versions, err := api.Sources.Versions(ctx, id, freshet.Between{}, 0); err == nil {
			e.chronicle.show(id, purges, versions)
		}
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// sample watches what the daemon takes of the machine.
func (e *episode) sample(ctx context.Context, l *life) {
	for ctx.Err() == nil {
		l.peak = l.peak.most(usageOf(l.cmd.Process.Pid))
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// violate notes that a promise did not hold.
func (e *episode) violate(promise, format string, args ...any) {
	v := Violation{Promise: promise, Detail: fmt.Sprintf(format, args...), Seed: e.seed, Round: e.round, Fault: e.last}
	if e.now != nil {
		v.Log = e.now.log.end()
	}
	if e.report.violated(v) {
		e.Progress(fmt.Sprintf("VIOLATION %s: seed %d, round %d, after %s: %s", v.Promise, v.Seed, v.Round, v.Fault, v.Detail))
	}
}
