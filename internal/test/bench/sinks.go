package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"freshet/client"
	"freshet/internal/sched"
)

// A Sinks delivers changes to many webhooks, first to healthy ones alone and then to as many
// of which some fail, to see whether the healthy ones suffer. Then clients follow the stream
// of changes, first swift ones alone and then as many of which some hardly read.
type Sinks struct {
	Plan    Plan     // every request finds a change
	Daemon  []string // the command that starts one: it is given serve and --config
	Length  time.Duration
	Budget  sched.Budget // changes
	Streams sched.Budget // changes, while clients follow the stream

	Endpoints int
	Failing   float64 // share of them
	FanOut    int     // how many of them get a change

	Clients int     // of the stream
	Slow    float64 // share of them

	Say func(format string, args ...any) // prints progress
}

// A SinksRound is how those fared that do nothing wrong: healthy endpoints, or swift clients.
type SinksRound struct {
	Healthy    int     `json:"healthy"`
	Failing    int     `json:"failing"`
	Received   int     `json:"received"`                    // by the healthy ones
	Repeated   int     `json:"repeated"`                    // of these, under an id that they had already
	Missing    int     `json:"missing"`                     // that healthy ones had not been told of when the round was over
	Took       Took    `json:"seconds_to_receipt"`          // from the end of the poll
	Waiting    int     `json:"waiting_for_failing"`         // deliveries
	Broken     int     `json:"swift_readers_cut,omitempty"` // connections that the daemon closed
	Cut        int     `json:"slow_readers_cut,omitempty"`  // the same
	Gaps       int     `json:"gaps,omitempty"`              // changes that a client was not told of, or told of twice
	Caught     int     `json:"slow_readers_back,omitempty"` // slow clients that had all changes in the end
	CPU        float64 `json:"cpu_share"`                   // of one core, by the daemon
	RSS        int64   `json:"peak_rss_bytes"`
	Goroutines int     `json:"peak_goroutines"`
	Load       float64 `json:"load_average"` // of the machine, at the end
}

// Took is how long changes took, in seconds.
type Took struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	Most float64 `json:"most"`
}

// A SinksResult compares the rounds.
type SinksResult struct {
	Alone  SinksRound `json:"healthy_alone"`
	Among  SinksRound `json:"among_failing"`
	Swift  SinksRound `json:"swift_alone"`
	Slow   SinksRound `json:"among_slow"`
	Ratio  float64    `json:"p99_ratio_webhooks"` // among failing ones to alone
	Stream float64    `json:"p99_ratio_stream"`
}

// Run runs the rounds one after the other.
func (b *Sinks) Run(ctx context.Context) (r SinksResult, err error) {
	if b.Endpoints > 0 {
		for i, round := range []*SinksRound{&r.Alone, &r.Among} {
			share := float64(i) * b.Failing
			b.Say("%d webhooks of which %.0f%% fail, %s, each told to %d, for %v", b.Endpoints, 100*share, b.Budget, b.FanOut, b.Length)
			if *round, err = b.webhooks(ctx, share); err != nil {
				return r, err
			}
		}
		r.Ratio = ratio(r.Among.Took.P99, r.Alone.Took.P99)
	}
	if b.Clients > 0 {
		for i, round := range []*SinksRound{&r.Swift, &r.Slow} {
			share := float64(i) * b.Slow
			b.Say("%d clients of the stream of which %.0f%% hardly read, %s, for %v", b.Clients, 100*share, b.Streams, b.Length)
			if *round, err = b.stream(ctx, share); err != nil {
				return r, err
			}
		}
		r.Stream = ratio(r.Slow.Took.P99, r.Swift.Took.P99)
	}
	return r, nil
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// webhooks has a daemon of its own tell endpoints of changes.
func (b *Sinks) webhooks(ctx context.Context, share float64) (r SinksRound, err error) {
	ends, err := openEndpoints(b.Endpoints, int(share*float64(b.Endpoints)))
	if err != nil {
		return r, err
	}
	defer ends.close()
	var sinks bytes.Buffer
	groups := max(1, b.Endpoints/max(1, b.FanOut))
	fmt.Fprintln(&sinks, "sinks:")
	for i, url := range ends.urls {
		fmt.Fprintf(&sinks, "  - {name: e%05d, kind: webhook, url: %q, tags: [g%d], settings: {unsigned: true}}\n", i, url, i%groups)
	}
	err = b.measured(ctx, append(b.Plan.settings(b.Budget), sinks.Bytes()...), groups, &r, func(ctx context.Context, d *daemon) error {
		if err := pause(ctx, b.Length); err != nil {
			return err
		}
		if err := d.origin.stop(); err != nil { // nothing changes any more
			return err
		}
		return b.settle(ctx, d, ends, &r)
	})
	r.Failing = ends.failing
	r.Healthy = b.Endpoints - r.Failing
	r.Received, r.Repeated, r.Took = ends.tally()
	return r, err
}

// settle gives healthy endpoints a while to be told of the rest.
func (b *Sinks) settle(ctx context.Context, d *daemon, ends *endpoints, r *SinksRound) error {
	for end := time.Now().Add(10 * time.Second); ; {
		list, err := d.api.Sinks.List(ctx)
		if err != nil {
			return err
		}
		r.Missing, r.Waiting = 0, 0
		for i, s := range list { // which are by name
			if ends.fails(i) {
				r.Waiting += s.Standing.Open
			} else {
				r.Missing += s.Standing.Open
			}
		}
		if r.Missing == 0 || time.Now().After(end) {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// measured runs a daemon while do is at it, and says what it takes.
func (b *Sinks) measured(ctx context.Context, settings []byte, groups int, r *SinksRound, do func(context.Context, *daemon) error) (err error) {
	plan := b.Plan
	plan.Changed = 1
	origin, err := plan.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, origin.stop()) }()
	dir, err := os.MkdirTemp(b.Plan.Dir, "freshet-bench-")
	if err != nil {
		return fmt.Errorf("create a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var sources []client.NewSource
	for i, url := range origin.URLs {
		sources = append(sources, client.NewSource{ID: sourceID(i), URL: url, Tags: []string{fmt.Sprintf("g%d", i%groups)}})
	}
	d, err := launch(ctx, b.Daemon, dir, settings, sources)
	if err != nil {
		return err
	}
	d.origin = origin
	defer func() { err = errors.Join(err, d.stop()) }()
	before, err := d.sample(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- d.watch(watching, r) }()
	err = do(ctx, d)
	stop()
	if err = errors.Join(err, <-watched); err != nil {
		return err
	}
	after, err := d.sample(ctx)
	r.CPU = (after.CPU - before.CPU) / time.Since(began).Seconds()
	r.Load = loadAverage()
	return err
}

// watch looks every second at how much a daemon holds.
func (d *daemon) watch(ctx context.Context, r *SinksRound) error {
	for pause(ctx, time.Second) == nil {
		m, err := d.metrics(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		r.RSS = max(r.RSS, int64(m["process_resident_memory_bytes"]))
		r.Goroutines = max(r.Goroutines, int(m["go_goroutines"]))
	}
	return nil
}

// loadAverage returns that of the last minute, or zero where that is not known.
func loadAverage() (load float64) {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Sscan(string(text), &load)
	}
	return load
}

// tookOf sums up how long changes took.
func tookOf(seconds []float64) (t Took) {
	if len(seconds) == 0 {
		return t
	}
	slices.Sort(seconds)
	return Took{P50: seconds[len(seconds)/2], P99: seconds[len(seconds)*99/100], Most: seconds[len(seconds)-1]}
}
