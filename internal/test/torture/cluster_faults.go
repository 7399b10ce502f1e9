//go:build unix

package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"freshet/internal/test/netfault"
)

// A trial breaks something, and returns when it is as before.
type trial func(ctx context.Context, g *grove, chance *rand.Rand) error

// trials are all kinds of faults.
func trials() map[string]trial {
	nodes := func(g *grove, chance *rand.Rand) *proc { return some(chance, g.nodes) }
	hands := func(g *grove, chance *rand.Rand) *proc { return some(chance, g.hands) }
	stores := func(g *grove, chance *rand.Rand) *netfault.Wire { return some(chance, g.store) }
	fronts := func(g *grove, chance *rand.Rand) *netfault.Wire { return some(chance, g.front) }
	return map[string]trial{
		"kill-node": ended(nodes, syscall.SIGKILL), "stop-node": slept(nodes), "term-node": ended(nodes, syscall.SIGTERM),
		"kill-hand": ended(hands, syscall.SIGKILL), "stop-hand": slept(hands), "term-hand": ended(hands, syscall.SIGTERM),
		"kill-brain": killBrain, "drain-hand": drained,
		"cut-store": cut(stores), "dead-store": dead(stores), "slow-store": slowed(stores), "orphan-store": orphaned(stores),
		"cut-front": cut(fronts), "dead-front": dead(fronts), "slow-front": slowed(fronts), "orphan-front": orphaned(fronts),
		"restart-postgres": restarted, "replace-primary": replaced, "lock-table": lockedTable, "hang-backend": hungBackend,
	}
}

// ClusterFaults returns the kinds of faults of a cluster.
func ClusterFaults() []string { return slices.Sorted(maps.Keys(trials())) }

// breakThings breaks one thing after the other, and now and then several at once.
func (g *grove) breakThings(ctx context.Context, chance *rand.Rand) error {
	kinds, all := g.Only, trials()
	if len(kinds) == 0 {
		for _, k := range ClusterFaults() {
			if kinds = append(kinds, k); k != "replace-primary" && k != "restart-postgres" { // which stop everything, and take long
				kinds = append(kinds, k, k, k)
			}
		}
	}
	failed := make(chan error, 100)
	under := make(chan struct{}, 2) // at most so many at once
	began, said := time.Now(), time.Now()
	for ctx.Err() == nil && time.Since(began) < g.For && (g.Faults == 0 || g.report.count() < g.Faults) && len(failed) == 0 {
		kind := some(chance, kinds)
		under <- struct{}{}
		own := rand.New(rand.NewPCG(chance.Uint64(), 2))
		g.report.fault(kind)
		go func() {
			defer func() { <-under }()
			if err := all[kind](ctx, g, own); err != nil && ctx.Err() == nil {
				failed <- fmt.Errorf("%s: %w", kind, err)
			}
		}()
		pause(ctx, time.Duration(200+chance.IntN(1800))*time.Millisecond)
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			g.Progress(fmt.Sprintf("%8s  %d faults, %d requests, %d violations", time.Since(began).Round(time.Second), g.report.count(), g.visits.count(), len(g.report.Violations)))
		}
	}
	for range cap(under) { // all are over
		under <- struct{}{}
	}
	select {
	case err := <-failed:
		return err
	default:
	}
	if ctx.Err() != nil {
		return errStoppedEarly
	}
	return nil
}

// ended ends a process by a signal and starts it again.
func ended(which func(*grove, *rand.Rand) *proc, by syscall.Signal) trial {
	return func(_ context.Context, g *grove, chance *rand.Rand) error { return g.replace(which(g, chance), by) }
}

// replace ends a process and starts it again, unless somebody else is about to.
func (g *grove) replace(p *proc, by syscall.Signal) error {
	if !p.take() {
		return nil
	}
	defer p.leave()
	return g.again(p, by)
}

// again ends a process that was taken and starts it again.
func (g *grove) again(p *proc, by syscall.Signal) error {
	defer g.diary.note("%s ended by %v", p.name, by)()
	p.signal(by)
	select {
	case <-p.ended:
	case <-time.After(40 * time.Second):
		g.report.violate("stop: %s does not end %s after %v", p.name, 40*time.Second, by)
		p.signal(syscall.SIGKILL)
		p.wait()
	}
	return p.start(g.Freshet)
}

// killBrain kills the node that decides.
func killBrain(ctx context.Context, g *grove, chance *rand.Rand) error {
	all, err := some(chance, g.nodes).api().Cluster(ctx)
	if err != nil {
		return nil // something else is broken at the moment
	}
	for i, w := range g.front {
		if all.Brain.Address == "http://"+w.Address() {
			return g.replace(g.nodes[i], syscall.SIGKILL)
		}
	}
	return nil
}

// slept stops a process for up to three leases.
func slept(which func(*grove, *rand.Rand) *proc) trial {
	return func(ctx context.Context, g *grove, chance *rand.Rand) error {
		p := which(g, chance)
		if !p.take() {
			return nil
		}
		defer p.leave()
		defer g.diary.note("%s stopped", p.name)()
		from := time.Now()
		p.signal(syscall.SIGSTOP)
		pause(ctx, time.Duration(chance.Int64N(int64(3*clusterLease))))
		p.signal(syscall.SIGCONT)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stopped = append(p.stopped, stretch{from, time.Now()})
		return nil
	}
}

// drained asks the brain to let a hand go, and starts it again when it has.
func drained(ctx context.Context, g *grove, chance *rand.Rand) error {
	p := some(chance, g.hands)
	if !p.take() {
		return nil
	}
	defer p.leave()
	if some(chance, g.nodes).api().DrainWorker(ctx, p.name) != nil {
		return nil // it is not there at the moment
	}
	for range 100 {
		if p.over() {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	return g.again(p, syscall.SIGTERM)
}

func cut(which func(*grove, *rand.Rand) *netfault.Wire) trial {
	return broke(which, "cut", (*netfault.Wire).Cut)
}

func orphaned(which func(*grove, *rand.Rand) *netfault.Wire) trial {
	return broke(which, "cut at one end", (*netfault.Wire).Orphan)
}

// broke breaks all connections of a wire in some way.
func broke(which func(*grove, *rand.Rand) *netfault.Wire, how string, do func(*netfault.Wire) int) trial {
	return func(_ context.Context, g *grove, chance *rand.Rand) error {
		w := which(g, chance)
		defer g.diary.note("%s %s", g.nameOf(w), how)()
		do(w)
		return nil
	}
}

// dead has nothing go over a wire for up to three leases, in one direction or in both.
func dead(which func(*grove, *rand.Rand) *netfault.Wire) trial {
	return func(ctx context.Context, g *grove, chance *rand.Rand) error {
		return g.sick(ctx, which(g, chance), some(chance, []netfault.State{netfault.Dead, {Out: true}, {In: true}}), chance)
	}
}

// slowed has everything take its time.
func slowed(which func(*grove, *rand.Rand) *netfault.Wire) trial {
	return func(ctx context.Context, g *grove, chance *rand.Rand) error {
		return g.sick(ctx, which(g, chance), netfault.State{Delay: time.Duration(chance.Int64N(int64(clusterLease / 4)))}, chance)
	}
}

func (g *grove) sick(ctx context.Context, w *netfault.Wire, s netfault.State, chance *rand.Rand) error {
	defer g.diary.note("%s %+v", g.nameOf(w), s)()
	w.Set(s)
	pause(ctx, time.Duration(chance.Int64N(int64(3*clusterLease))))
	w.Set(netfault.State{})
	return nil
}

// restarted restarts PostgreSQL.
func restarted(ctx context.Context, g *grove, chance *rand.Rand) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.diary.note("PostgreSQL restarted")()
	if err := g.primary.Halt(); err != nil {
		return err
	}
	pause(ctx, time.Duration(chance.Int64N(int64(2*clusterLease))))
	return g.primary.Run()
}

// replaced kills the primary, has its standby take its place, and gives that one another.
func replaced(ctx context.Context, g *grove, _ *rand.Rand) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.diary.note("PostgreSQL's standby being made anew")()
	whole := g.diary.note("PostgreSQL's primary replaced")
	lost := g.primary
	if err := lost.Kill(); err != nil {
		return err
	}
	if err := g.standby.Promote(ctx); err != nil {
		return err
	}
	g.primary, g.standby = g.standby, nil
	for _, w := range g.store {
		w.Lead(g.primary.Address)
		w.Cut()
	}
	whole()
	if err := lost.Remove(); err != nil {
		return err
	}
	next, err := g.primary.Follow(ctx)
	g.standby = next
	return err
}
