package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"freshet/fetch"
	"freshet/sched"
)

// A pollBench is one run of the verb "bench poll".
type pollBench struct {
	*program
	plan    benchPlan
	length  time.Duration // of one round
	rounds  int
	rate    string
	json    bool
	profile string // prefix of the files that profiles of the daemon are written to
	budget  sched.Budget
}

func (p *program) benchPoll() *cobra.Command {
	b := pollBench{program: p, length: 10 * time.Second, plan: benchPlan{policy: "uniform"}}
	cmd := &cobra.Command{
		Use:   "poll",
		Short: "Measure polls a second and the CPU time of a poll, beside a bare loop",
		Long: `Poll as fast as the machine allows, and measure polls a second and CPU seconds
per 1,000 polls: for pages that have not changed (304) and for pages of 20 KB
that have changed at every poll (200).

Beside the daemon a bare net/http loop with the same concurrency asks the same
server: it does nothing with a 304, and hashes the body of a 200 with SHA-256.
The two take turns, so that whatever else goes on in the machine hits both; the
median of the rounds is reported.

The policy is uniform, because auto looks at a page no more than once a second;
what learning from a poll costs is counted all the same.`,
		Example: "  freshet bench poll\n  freshet bench poll --sources 10000 --concurrency 16 --for 5s --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			b.budget = wide
			if b.rate != "0" {
				if b.budget, err = sched.ParseBudget(b.rate); err != nil {
					return wrongFlag("rate", reason(err))
				}
			}
			return b.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&b.plan.sources, "sources", 1000, "pages to poll")
	flags.IntVar(&b.plan.hosts, "hosts", 1, "addresses over which they are spread")
	flags.IntVar(&b.plan.workers, "concurrency", 64, "polls at once")
	flags.Var((*lengthFlag)(&b.length), "for", "length of one round")
	flags.IntVar(&b.rounds, "rounds", 3, "how often each takes its turn")
	flags.StringVar(&b.rate, "rate", "0", "polls to make at most, such as 500/s; 0 means as many as can be made")
	flags.StringVar(&b.plan.dir, "dir", "", "where to keep the data meanwhile")
	flags.StringVar(&b.profile, "cpuprofile", "", "write a profile of the daemon's last round for each kind of answer to files with this prefix")
	flags.MarkHidden("cpuprofile")
	jsonFlag(cmd, &b.json)
	return cmd
}

// A pollRate is what one side managed in one round.
type pollRate struct {
	PerSecond float64 `json:"polls_per_second"`
	CPU       float64 `json:"cpu_seconds_per_1000_polls"`
}

// A pollResult holds a daemon against a bare loop on one kind of answer.
type pollResult struct {
	Answers string        `json:"answers"`
	Bare    pollRate      `json:"bare_loop"`
	Freshet pollRate      `json:"freshet"`
	Ratio   float64       `json:"cpu_ratio"`
	Rounds  [][2]pollRate `json:"rounds"` // bare loop and Freshet
}

// run measures both kinds of answers and reports.
func (b *pollBench) run(ctx context.Context) error {
	var results []pollResult
	for _, kind := range []struct {
		answers string
		changed float64
	}{{"304", 0}, {"200, changed", 1}} {
		plan := b.plan
		plan.changed = kind.changed
		r, err := b.measure(ctx, kind.answers, plan)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if b.json {
		return b.printJSON(results)
	}
	t := table{head: []string{"ANSWERS", "WHO", "POLLS/S", "CPU S PER 1,000", "TIMES THE BARE LOOP"}}
	for _, r := range results {
		t.add(plain(r.Answers), plain("bare loop"), plain(fmt.Sprintf("%.0f", r.Bare.PerSecond)), plain(fmt.Sprintf("%.3f", r.Bare.CPU)), plain(""))
		t.add(plain(r.Answers), plain("freshet"), plain(fmt.Sprintf("%.0f", r.Freshet.PerSecond)), plain(fmt.Sprintf("%.3f", r.Freshet.CPU)), plain(fmt.Sprintf("%.1f", r.Ratio)))
	}
	return t.write(b.out, palette(b.colours(b.out)))
}

// measure lets the bare loop and the daemon take turns.
func (b *pollBench) measure(ctx context.Context, answers string, plan benchPlan) (result pollResult, err error) {
	rig, err := b.openRig(ctx, plan)
	if err != nil {
		return result, err
	}
	defer func() {
		if e := rig.close(); err == nil {
			err = e
		}
	}()
	result.Answers = answers
	bare := newBareLoop(plan, rig.origin.urls)
	err = rig.work(ctx, func(ctx context.Context) error {
		rig.spend(b.budget)
		if err := rig.until(ctx, int64(plan.sources)); err != nil { // the first look, which is another kind of poll
			return err
		}
		rig.spend(closed)
		for i := range b.rounds {
			b.say("%s: round %d of %d", answers, i+1, b.rounds)
			one, err := b.bareRound(ctx, bare)
			if err != nil {
				return err
			}
			two, err := b.freshetRound(ctx, rig, answers)
			if err != nil {
				return err
			}
			result.Rounds = append(result.Rounds, [2]pollRate{one, two})
		}
		return nil
	})
	result.Bare, result.Freshet = result.median(0), result.median(1)
	if result.Bare.CPU > 0 {
		result.Ratio = result.Freshet.CPU / result.Bare.CPU
	}
	return result, err
}

// say tells somebody who waits at a terminal how far it is.
func (b *pollBench) say(format string, args ...any) {
	if isTerminal(b.err) {
		fmt.Fprintln(b.err, palette(b.colours(b.err)).dim(fmt.Sprintf(format, args...)))
	}
}

// median returns the middle of one side's rounds.
func (r pollResult) median(side int) (m pollRate) {
	if len(r.Rounds) == 0 {
		return m
	}
	var rates, cpu []float64
	for _, round := range r.Rounds {
		rates, cpu = append(rates, round[side].PerSecond), append(cpu, round[side].CPU)
	}
	slices.Sort(rates)
	slices.Sort(cpu)
	return pollRate{rates[len(rates)/2], cpu[len(cpu)/2]}
}

// settle is how long a side works before it is measured, so that neither its
// beginning nor what the other side left behind is counted.
const settle = 500 * time.Millisecond

// round measures a side that is at work; polls says how many it has made.
func (b *pollBench) round(ctx context.Context, polls func() int64) (r pollRate, err error) {
	if err := pause(ctx, min(settle, b.length)); err != nil {
		return r, err
	}
	from, cpu, made := time.Now(), cpuTime(), polls()
	if err := pause(ctx, b.length); err != nil {
		return r, err
	}
	took, used, n := time.Since(from), cpuTime()-cpu, polls()-made
	if n == 0 {
		return r, fmt.Errorf("not a single poll in %v", b.length)
	}
	return pollRate{PerSecond: float64(n) / took.Seconds(), CPU: used.Seconds() / float64(n) * 1000}, nil
}

// freshetRound opens the budget for a round. Each round writes its profile over
// that of the one before.
func (b *pollBench) freshetRound(ctx context.Context, rig *benchRig, answers string) (r pollRate, err error) {
	file := ""
	if b.profile != "" {
		file = b.profile + "." + answers[:3]
	}
	rig.spend(b.budget)
	err = profiled(file, func() (err error) {
		r, err = b.round(ctx, func() int64 { return rig.daemon.Status().Polls })
		return err
	})
	rig.spend(closed)
	for err == nil && rig.daemon.Status().UnderWay > 0 {
		err = pause(ctx, time.Millisecond)
	}
	return r, err
}

func (b *pollBench) bareRound(ctx context.Context, bare *bareLoop) (pollRate, error) {
	running, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for w := range bare.workers {
		workers.Go(func() { bare.run(running, w) })
	}
	r, err := b.round(ctx, bare.polls.Load)
	stop()
	workers.Wait()
	if failed := bare.failed.Load(); err == nil && failed != nil {
		err = fmt.Errorf("the bare loop: %w", *failed)
	}
	return r, err
}

// A roundTrip sends a request with a client of its own.
type roundTrip func(*http.Request) (*http.Response, error)

// A bareLoop asks for page after page and does the least with the answers: it
// is what polling costs before anybody has done anything with it.
type bareLoop struct {
	workers []roundTrip // one client each, so that each keeps its connection
	urls    []string
	hash    bool
	etags   []string // by page; as each was last given
	polls   atomic.Int64
	failed  atomic.Pointer[error]
}

func newBareLoop(plan benchPlan, urls []string) *bareLoop {
	l := &bareLoop{urls: urls, etags: make([]string, len(urls)), hash: plan.changed > 0}
	for range min(plan.workers, len(urls)) {
		l.workers = append(l.workers, fetch.Trusted(time.Minute).Do)
	}
	return l
}

// run asks for the pages that are this worker's, round and round.
func (l *bareLoop) run(ctx context.Context, worker int) {
	for ctx.Err() == nil {
		for page := worker; page < len(l.urls); page += len(l.workers) {
			if err := l.poll(ctx, l.workers[worker], page); err != nil {
				if ctx.Err() == nil {
					l.failed.Store(&err)
				}
				return
			}
			l.polls.Add(1)
		}
	}
}

// poll asks for one page, conditionally as the daemon would.
func (l *bareLoop) poll(ctx context.Context, send roundTrip, page int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.urls[page], nil)
	if err != nil {
		return err
	}
	if tag := l.etags[page]; tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	l.etags[page] = resp.Header.Get("Etag")
	sum := io.Discard
	if l.hash {
		sum = sha256.New()
	}
	_, err = io.Copy(sum, resp.Body)
	return err
}
