package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime/pprof"
	"time"

	"golang.org/x/sync/errgroup"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A rig is a daemon and the server that it polls.
type rig struct {
	*app.Node
	origin *origin
	data   string
	disk   *diskMeter
}

// A Plan says what is measured.
type Plan struct {
	Sources, Hosts, Workers int
	Port                    int     // of the server, if it is free; 0 means any
	Harm                    Harm    // servers beside those of the sources, a source each
	Changed                 float64 // share of requests that find a new version
	Kind                    synth.BenchKind
	Bare                    bool // the server sends no ETag
	NoSearch                bool // versions are not indexed
	Policy                  string
	Dir                     string // where the data goes; "" means the system's place for such things

	// Server is the command that starts a server in another process: it has to
	// call [Serve] with the flags --pages, --hosts, --port, --changed, --pages-of, --bare, --hostile
	// and --kind that are added to it.
	Server []string
}

// loopback is where the server is.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// open starts a server and puts a daemon over its pages, which does nothing
// until it is run. The rig must be closed.
func (plan Plan) open(ctx context.Context) (_ *rig, err error) {
	r := &rig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.origin, err = plan.start(ctx); err != nil {
		return nil, err
	}
	if r.data, err = os.MkdirTemp(plan.Dir, "freshet-bench-"); err != nil {
		return nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	if r.disk, err = newDiskMeter(); err != nil {
		return nil, err
	}
	s := config.Defaults(func(string) string { return "" })
	s.NoSearch = plan.NoSearch
	s.Data, s.Policy, s.Fetch.Allow = r.data, eager(plan.Policy), []netip.Prefix{loopback}
	s.Limits = sched.Limits{Hosts: sched.Politeness{Concurrency: plan.Workers}, Workers: plan.Workers, Budget: closed}
	if r.Node, err = app.Open(ctx, app.Config{Settings: s, Store: sqlite.Config{VFS: r.disk.files.VFS()}, Budget: sched.Budget{Polls: float64(plan.Sources), Per: time.Minute}, Expect: plan.Sources + plan.Harm.Servers}); err != nil {
		return nil, err
	}
	return r, r.fill(ctx)
}

// fill adds the pages as sources, many at a time so that they share commits.
func (r *rig) fill(ctx context.Context) error {
	group, ctx := limited(ctx, 256)
	add := func(id freshet.SourceID, url string) {
		group.Go(func() error {
			_, err := r.Store.AddSource(ctx, freshet.Source{ID: id, URL: url})
			return err
		})
	}
	for i, url := range r.origin.URLs {
		add(sourceID(i), url)
	}
	for i, url := range r.origin.Hostile {
		add(hostileID(i), url)
	}
	return group.Wait()
}

// limited returns a group that does so many things at once.
func limited(ctx context.Context, most int) (*errgroup.Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(most)
	return group, ctx
}

// sourceID names the source of the ith page.
func sourceID(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("p%06d", i)) }

// hostileID names the source of the ith hostile server.
func hostileID(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("h%06d", i)) }

// close ends the server and removes the data.
func (r *rig) close() (err error) {
	if r.Node != nil {
		err = r.Node.Close()
	}
	if r.disk != nil {
		err = errors.Join(err, r.disk.files.Close())
	}
	if r.data != "" {
		err = errors.Join(err, os.RemoveAll(r.data))
	}
	if r.origin != nil {
		err = errors.Join(err, r.origin.stop())
	}
	return err
}

// eager returns a policy as it is measured: it spends the whole budget, whether a
// poll is worth a request or not.
func eager(name string) string {
	if name == policy.Default {
		return name + ":least_chance=0%"
	}
	return name
}

// closed is a budget that is as good as none. Rigs are switched to it and back
// while their daemons run.
var closed = sched.Budget{Polls: 1, Per: 24 * time.Hour}

// Wide is a budget that is more than any machine can spend.
var Wide = sched.Budget{Polls: 1e6, Per: time.Second}

// spend sets what the daemon may spend from now on.
func (r *rig) spend(b sched.Budget) {
	l := r.Daemon.Limits()
	l.Budget = b
	r.Daemon.SetLimits(l)
}

// work runs the daemon while do is at it.
func (r *rig) work(ctx context.Context, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended, err := r.Start(running)
	if err != nil {
		return err
	}
	group.Go(func() error { return <-ended })
	group.Go(func() error {
		defer stop()
		return do(ctx)
	})
	return group.Wait()
}

// until waits until the daemon has made so many polls, or ctx is done.
func (r *rig) until(ctx context.Context, polls int64) error {
	for r.Daemon.Status().Polls < polls {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// rest ends the polls of the daemon, and waits until those under way have ended and every version
// is in the index of search.
func (r *rig) rest(ctx context.Context) error {
	r.spend(closed)
	for r.Daemon.Status().UnderWay > 0 {
		if err := pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return r.IndexAll(ctx)
}

// pause waits for a time, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// profiled does something while a profile of it is written to a file, if one
// is named. Profiles of all allocations before and after it go to two others: what they
// differ in is of do (go tool pprof -base).
func profiled(file string, do func() error) error {
	if file == "" {
		return do()
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	defer f.Close()
	if err := writeAllocs(file + ".before"); err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	if err := do(); err != nil {
		return err
	}
	return writeAllocs(file + ".allocs")
}

// writeAllocs writes a profile of all allocations so far.
func writeAllocs(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
