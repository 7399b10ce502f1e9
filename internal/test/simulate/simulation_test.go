package simulate

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"freshet/internal/sched"
	"freshet/internal/test/diskfault"
)

// A simulation is one run: a world, the daemon in it, and those who use it.
type simulation struct {
	*world
	t       *testing.T
	dir     string // of the lock
	disk    *diskfault.Memory
	network *network
	site    *site

	receivers []*receiver
	acks      *acks
	list      *listReader
	stream    *streamReader
	operator  *operator

	lives    int
	calm     time.Time    // when the storm ended
	hopeless bool         // the daemon cannot live any more
	learning sched.Budget // that the daemon learns by: the one at its start

	mu      sync.Mutex
	current *life
	budgets []budgetFrom
	wounds  []time.Time // when the disk was made to fail
	orders  orders      // what the disk is to do
	fatal   chan string // a death that the disk has dealt
}

// A budgetFrom is a budget and when it was set.
type budgetFrom struct {
	sched.Budget
	at time.Time
}

// orders are what the disk does at its next operations.
type orders struct {
	calm      bool
	failSyncs int    // syncs to fail
	dieAfter  int    // operations until it deals a death; 0 means none
	how       string // of that death
	n         int    // operations so far
}

// simulate runs a seed in the bubble, on a disk with the files of template.
func simulate(t *testing.T, seed uint64, dir string, template map[string][]byte) *simulation {
	w := newWorld(seed)
	s := &simulation{world: w, t: t, dir: dir, disk: diskfault.NewMemory(w.chance("disk")), fatal: make(chan string, 1)}
	s.budgets = []budgetFrom{{w.plan.limits.Budget, w.start}}
	s.disk.Fill(template)
	s.disk.SetHook(s.hook)
	s.network = newNetwork(w)
	s.site = newSite(s.network)
	s.receivers = newReceivers(s.network)
	s.acks = newAcks(s)
	s.list, s.stream, s.operator = &listReader{simulation: s}, &streamReader{simulation: s}, newOperator(s)
	s.run()
	s.check()
	if err := s.disk.Close(); err != nil {
		t.Error(err)
	}
	return s
}

// run lets the storm pass over the daemon, then the calm, and stops it when it
// owes nothing any more.
func (s *simulation) run() {
	ctx, cancel := context.WithCancel(context.Background())
	var users sync.WaitGroup
	for _, use := range []func(context.Context){s.list.run, s.stream.run, s.operator.run, s.wear, s.turnClocks} {
		users.Go(func() { use(ctx) })
	}
	storm := time.Now().Add(s.plan.storm)
	l := s.begin()
	for _, d := range s.plan.deaths {
		if l = s.until(l, minTime(storm, time.Now().Add(d.after))); !time.Now().Before(storm) {
			break
		}
		l = s.die(l, d)
	}
	l = s.until(l, storm)
	s.becalm()
	l = s.until(l, time.Now().Add(s.plan.calm))
	if !s.hopeless {
		s.operator.settle(ctx)
	}
	l = s.until(l, time.Now().Add(30*time.Second+3)) // for polls under way, and those who read of them
	cancel()
	users.Wait()
	l = s.until(l, time.Now().Add(s.operator.rest()))
	if !s.hopeless {
		s.stop(l)
	}
}

// until lets a life go on until a time. If it falls, another one begins.
func (s *simulation) until(l *life, end time.Time) *life {
	for !s.hopeless {
		select {
		case <-time.After(time.Until(end)):
			return l
		case err := <-l.ended:
			if s.fell(l, err); !s.hopeless {
				l = s.again(3 * time.Second)
			}
		case <-s.fatal: // dealt by the disk, after the time for it was over
			s.bury(l)
			l = s.again(time.Second)
		}
	}
	return l
}

// die ends a life and begins the next.
func (s *simulation) die(l *life, d deathPlan) *life {
	if s.hopeless {
		return l
	}
	if d.ops == 0 {
		s.end(l, d.how)
		return s.again(d.down)
	}
	s.mu.Lock()
	s.orders.dieAfter, s.orders.how = d.ops, d.how
	s.mu.Unlock()
	select {
	case <-s.fatal:
		s.bury(l)
	case err := <-l.ended:
		if s.fell(l, err); s.hopeless {
			return l
		}
	case <-time.After(30*time.Second + 7): // nothing is written any more
		s.mu.Lock()
		s.orders.dieAfter = 0
		s.mu.Unlock()
		s.end(l, d.how)
	}
	return s.again(d.down)
}

// again begins a life some time after the one before.
func (s *simulation) again(after time.Duration) *life {
	time.Sleep(after)
	return s.begin()
}

// becalm ends the storm: from now on nothing goes wrong.
func (s *simulation) becalm() {
	s.say("CALM")
	s.calm = time.Now()
	s.network.becalm()
	s.mu.Lock()
	s.orders = orders{calm: true, n: s.orders.n}
	s.mu.Unlock()
	s.disk.SetCapacity(0)
}

// hook is what the disk does beside what it is asked to: it takes time, fails
// syncs, and dies.
func (s *simulation) hook(c diskfault.Call) error {
	if c.Op != diskfault.Write && c.Op != diskfault.Sync && c.Op != diskfault.Truncate {
		return nil
	}
	s.mu.Lock()
	o := &s.orders
	o.n++
	rng := s.chance("op", o.n)
	wait := pause(rng, time.Microsecond, 20*time.Microsecond)
	if c.Op == diskfault.Sync {
		wait = pause(rng, 100*time.Microsecond, 6*time.Millisecond)
	}
	if !o.calm && oneIn(rng, s.plan.diskSlow*20) {
		wait = pause(rng, 50*time.Millisecond, 2*time.Second)
	}
	fails := c.Op == diskfault.Sync && o.failSyncs > 0
	if fails {
		o.failSyncs--
		s.wounds = append(s.wounds, time.Now())
	}
	dies := ""
	if o.dieAfter > 0 {
		if o.dieAfter--; o.dieAfter == 0 {
			dies = o.how
		}
	}
	s.mu.Unlock()
	time.Sleep(wait)
	if fails {
		s.did("a sync of %s fails", base(c.Path))
		return syscall.EIO
	}
	if dies != "" {
		s.did("%s at a %s of %s", dies, c.Op, base(c.Path))
		s.network.cut(s.living())
		if dies == "power" {
			s.disk.PowerLoss()
		} else {
			s.disk.Kill()
		}
		s.fatal <- dies
	}
	return nil
}

// wear makes the disk full for a while, and lets syncs fail.
func (s *simulation) wear(ctx context.Context) {
	rng := s.chance("wear")
	for range s.plan.full {
		if !sleep(ctx, pause(rng, 10*time.Second, s.plan.storm)) || s.isCalm() {
			return
		}
		s.did("the disk is full")
		s.disk.SetCapacity(s.disk.Used() + int64(rng.IntN(20_000)))
		s.mu.Lock()
		s.wounds = append(s.wounds, time.Now())
		s.mu.Unlock()
		ok := sleep(ctx, pause(rng, time.Second, 20*time.Second))
		s.disk.SetCapacity(0)
		s.did("there is room on the disk")
		if !ok {
			return
		}
	}
	for range s.plan.syncFails {
		if !sleep(ctx, pause(rng, 5*time.Second, s.plan.storm)) {
			return
		}
		s.mu.Lock()
		if !s.orders.calm {
			s.orders.failSyncs = 1
		}
		s.mu.Unlock()
	}
}

// diskTrouble reports whether the disk was made to fail since a time.
func (s *simulation) diskTrouble(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.wounds, func(at time.Time) bool { return !at.Before(since) })
}

// turnClocks sets the wall clock now and then.
func (s *simulation) turnClocks(ctx context.Context) {
	rng := s.chance("clock")
	for range s.plan.jumps {
		if !sleep(ctx, pause(rng, 5*time.Second, s.plan.storm)) || s.isCalm() {
			return
		}
		by := pause(rng, time.Millisecond, []time.Duration{time.Second, time.Minute, 3 * time.Hour}[rng.IntN(3)])
		if rng.IntN(2) == 0 {
			by = -by
		}
		s.jump(by)
	}
}

func (s *simulation) isCalm() bool { return s.network.isCalm() }

// living returns the life that goes on now.
func (s *simulation) living() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// base returns the end of a path, which does not differ from machine to machine.
func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
