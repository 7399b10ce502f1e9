package results

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/research/limit"
	"freshet/internal/sched/policy"
)

// A Comparison says which contenders are to be held against each other, and on
// what.
type Comparison struct {
	Traces     string        // folder of trace files
	Only       []string      // names of those that are looked at; none means all
	Contenders []Contender   // none means all rivals
	Instant    time.Duration // for traces that are not known by name; zero means what suits each
	Quick      bool          // only the reference settings, once
	Limits     *limit.Book   // nil means to work all of them out
	Jobs       int           // replays at once; 0 means one for each processor

	// Evidence, if there is any, makes it a comparison of what polls show, and not of
	// policies: each contender (auto, if none is named) meets each kind of evidence, in
	// the reference settings or, with Reserved, in those that are held out, and no others.
	Evidence []lab.Evidence
	Reserved bool

	crawlers bool // what the literature proposes takes part

	// Literature makes it a comparison of what the literature on crawling proposes alone,
	// in the reference and the held-out settings. Otherwise that is a part of the page
	// where no contenders are named and Quick is not set.
	Literature bool

	// Progress, if set, is called with how much of the work has been done, from
	// several goroutines.
	Progress func(done, all int)
}

// Shares are the shares of all changes that the limit captures at the budgets
// that are compared.
var Shares = [...]float64{0.3, 0.6, 0.9}

// reruns is how many more times a policy is run where chance has a part.
const reruns = 4

// decayed are the weights of the third part: changes lose a tenth of their worth
// every instant.
func decayed(g *lab.Grid) lab.Weights {
	return lab.Weights{Life: objective.Visibility{Kind: objective.VisibleForever}, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: 0.9, Per: g.Instant}}
}

// Run replays everything.
func (c Comparison) Run(ctx context.Context) (*Results, error) {
	if len(c.Contenders) == 0 {
		c.crawlers = len(c.Evidence) == 0 && !c.Quick
		var who []string
		if len(c.Evidence) > 0 {
			who = []string{policy.Default}
		}
		var err error
		if c.Contenders, err = Contenders(who...); err != nil {
			return nil, err
		}
	}
	if len(c.Evidence) > 0 {
		c.Contenders = withEvidence(c.Contenders, c.Evidence)
	}
	if c.Limits == nil {
		c.Limits = &limit.Book{}
	}
	files, missing, err := c.recordings()
	if err != nil {
		return nil, err
	}
	r := &Results{Contenders: c.Contenders, Missing: missing}
	if len(c.Evidence) == 0 {
		r.Informed, r.Daemon = informed(c.Contenders), inDaemon(c.Contenders)
	}
	bouts, err := c.prepare(ctx, r, files)
	if err != nil {
		return nil, err
	}
	if err := c.replay(ctx, bouts); err != nil {
		return nil, err
	}
	for _, b := range bouts {
		*b.to = append(*b.to, b.result)
	}
	return r, nil
}

// informed returns those who know what to do with more than bits, as contenders of
// their own.
func informed(list []Contender) (informed []Contender) {
	for _, c := range list {
		if !c.isDefault() {
			continue
		}
		for _, e := range []lab.Evidence{{Kind: lab.Dated}, {Kind: lab.Feed, Entries: 5}, {Kind: lab.Index}} {
			informed = append(informed, Contender{Name: c.Name + ", " + e.String(), Policy: c.Policy, Evidence: e})
		}
	}
	return informed
}

// inDaemon returns what the daemon does by default, as a contender of its own.
func inDaemon(list []Contender) (daemon []Contender) {
	for _, c := range list {
		if c.isDefault() {
			daemon = append(daemon, Contender{Name: c.Name + ", daemon", Policy: c.Policy, Conditions: lab.InDaemon()})
		}
	}
	return daemon
}

// isDefault reports whether a contender is the daemon's default policy.
func (c Contender) isDefault() bool {
	name, _, _ := strings.Cut(c.Policy, ":")
	return name == policy.Default
}

// A recordingFile is a recording and where it is.
type recordingFile struct {
	Recording
	path string
}

// recordings returns what the folder holds: what is known by name first, in its
// order, and then the rest in the order of the names; and which of the known
// ones it lacks.
func (c Comparison) recordings() (files []recordingFile, missing []string, err error) {
	entries, err := os.ReadDir(c.Traces)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for traces: %w", err)
	}
	paths := map[string]string{}
	var others []string
	known := Recordings()
	for _, e := range entries {
		name, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".gz"), ".csv")
		if !ok || e.IsDir() {
			continue
		}
		if !slices.ContainsFunc(known, func(r Recording) bool { return r.Name == name }) && paths[name] == "" {
			others = append(others, name)
		}
		paths[name] = filepath.Join(c.Traces, e.Name())
	}
	if len(c.Only) > 0 {
		known, others, err = c.chosen(known, others, paths)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, r := range known {
		if path, ok := paths[r.Name]; ok {
			files = append(files, recordingFile{r, path})
		} else {
			missing = append(missing, r.Name)
		}
	}
	for _, name := range others {
		files = append(files, recordingFile{Recording{Name: name, Period: lab.Period{Instant: c.Instant}}, paths[name]})
	}
	if len(files) == 0 {
		return nil, nil, freshet.WithHint(fmt.Errorf("looking for traces: there are none in %s", c.Traces), "a trace is a file that ends in .csv or .csv.gz; freshet-lab gen creates one")
	}
	return files, missing, nil
}

// A bout is one setting before it is replayed.
type bout struct {
	to         *[]Result // where the result belongs
	grid       *lab.Grid
	weights    lab.Weights
	contenders []Contender
	result     Result

	reruns bool  // with other seeds as well
	twin   *bout // with the same polls by those who do not mind the weights
	second bool  // it is the twin
}

// prepare reads the traces and works out budgets and limits.
func (c Comparison) prepare(ctx context.Context, r *Results, files []recordingFile) ([]*bout, error) {
	prepared := make([][]*bout, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)))
	for i, f := range files {
		group.Go(func() (err error) {
			prepared[i], err = c.bouts(ctx, r, f)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(prepared...), nil
}

// bouts returns the settings of one recording.
func (c Comparison) bouts(ctx context.Context, r *Results, f recordingFile) ([]*bout, error) {
	h, err := lab.OpenHistory(f.path)
	if err != nil {
		return nil, err
	}
	if f.Instant == 0 {
		f.Instant = suggestInstant(h)
	}
	g, err := f.Grid(h)
	if err != nil {
		return nil, err
	}
	if f.Budget == 0 {
		f.Budget = suggestBudget(g)
	}
	if c.Literature {
		return c.literature(ctx, r, f, h, g)
	}
	var list []*bout
	add := func(to *[]Result, budget, share float64, k lab.Weights, who []Contender) error {
		b, err := c.bout(ctx, f.Recording, g, budget, k, who)
		if err == nil {
			b.to, b.result.Share = to, share
			list = append(list, b)
		}
		return err
	}
	pair := func() { // two bouts that differ in their weights alone
		first, second := list[len(list)-2], list[len(list)-1]
		first.twin, second.second = second, true
	}
	first := &r.Reference
	if len(c.Evidence) > 0 && c.Reserved {
		first = &r.HeldOut
		if g, err = f.reserve(h); err != nil || g == nil {
			return nil, err
		}
	}
	if err := add(first, f.Budget, 0, lab.Weights{}, slices.Concat(c.Contenders, r.Informed, r.Daemon)); err != nil {
		return nil, err
	}
	list[0].reruns = true
	if c.Quick || len(c.Evidence) > 0 {
		return list, nil
	}
	if c.crawlers {
		more, err := c.literature(ctx, r, f, h, g)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	for _, share := range Shares {
		budget, err := limit.LeastBudget(share, func(budget float64) (float64, error) { return c.limit(ctx, g, budget) })
		if err != nil {
			return nil, err
		}
		if err := add(&r.Shares, budget, share, lab.Weights{}, c.Contenders); err != nil {
			return nil, err
		}
		if err := add(&r.Decayed, budget, share, decayed(g), c.Contenders); err != nil {
			return nil, err
		}
		pair()
	}
	for _, held := range HeldOut() {
		if held.Name != f.Name {
			continue
		}
		f.Recording = held
		if g, err = f.Grid(h); err != nil {
			return nil, err
		}
		if err := add(&r.HeldOut, f.Budget, 0, lab.Weights{}, slices.Concat(c.Contenders, r.Informed, r.Daemon)); err != nil {
			return nil, err
		}
		if err := add(&r.HeldOutDecayed, f.Budget, 0, decayed(g), slices.Concat(c.Contenders, r.Informed, r.Daemon)); err != nil {
			return nil, err
		}
		pair()
	}
	return list, nil
}

// reserve makes a recording that which is held out of it. It returns no grid if there is
// none.
func (f *recordingFile) reserve(h *lab.History) (*lab.Grid, error) {
	for _, held := range HeldOut() {
		if held.Name == f.Name {
			f.Recording = held
			return f.Grid(h)
		}
	}
	return nil, nil
}

// limit returns the share of all changes that a budget can capture, of such as
// are overwritten.
func (c Comparison) limit(ctx context.Context, g *lab.Grid, budget float64) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l, err := c.Limits.Limit(g, budget, lab.Weights{})
	return lab.Ratio(l.Value, float64(g.Changes()), 1), err
}

// bout returns a setting with its limit.
func (c Comparison) bout(ctx context.Context, of Recording, g *lab.Grid, budget float64, k lab.Weights, who []Contender) (*bout, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := c.Limits.Limit(g, budget, k)
	if err != nil {
		return nil, err
	}
	return &bout{grid: g, weights: k, contenders: who, result: Result{
		Trace: of.Name, Half: of.Half, Instant: g.Instant.Seconds(),
		Start: g.Start.Format(time.RFC3339), End: g.Time(g.Instants).Format(time.RFC3339),
		Pages: len(g.Pages()), Changes: g.Changes(),
		Life: k.Life.String(), Urgency: k.Urgency.String(), Budget: budget,
		Limit: lab.Ratio(l.Value, float64(g.Changes()), 1), Exact: l.Exact,
		Feats: make([]Feat, len(who)),
	}}, nil
}

// replay lets every contender fight every bout.
func (c Comparison) replay(ctx context.Context, bouts []*bout) error {
	var fights []func(context.Context) error
	for _, b := range bouts {
		for i, who := range b.contenders {
			if b.second && Indifferent(who.Policy) {
				continue // the twin sees to it
			}
			again := 0
			if b.reruns && !c.Quick && who.Reseeded != "" {
				again = reruns
			}
			fights = append(fights, func(ctx context.Context) error { return b.fight(ctx, i, again) })
		}
	}
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cmp.Or(c.Jobs, runtime.GOMAXPROCS(0)))
	for _, fight := range fights {
		group.Go(func() error {
			err := fight(ctx)
			if n := done.Add(1); c.Progress != nil {
				c.Progress(int(n), len(fights))
			}
			return err
		})
	}
	return group.Wait()
}

// Indifferent reports whether a policy polls the same whatever captures are
// worth, so that one replay can be scored in several ways.
func Indifferent(name string) bool {
	base, _, _ := strings.Cut(name, ":")
	switch base {
	case "uniform", "round-robin", "yardstick", "cyclic", "frequency", "fixed", "miniflux", "nutch", "stormcrawler":
		return true
	}
	return false
}

// fight replays one contender, and again with other seeds.
func (b *bout) fight(ctx context.Context, i, again int) error {
	who := b.contenders[i]
	o := lab.Options{Budget: b.result.Budget, Weights: b.weights, Evidence: who.Evidence, Conditions: who.Conditions}
	var twin *lab.Scorer
	if b.twin != nil && Indifferent(who.Policy) {
		twin = lab.NewScorer(b.grid, b.twin.weights, lab.Measures{})
		o.Look = func(page, instant int, _ bool) { twin.Poll(page, instant) }
	}
	run := func(name string, seed uint64) (lab.Score, error) {
		p, err := start(o.Conditions, name, b.grid, len(b.grid.Pages()), b.result.Budget, seed)
		if err != nil {
			return lab.Score{}, err
		}
		s, err := lab.Replay(ctx, b.grid, p, o)
		if err != nil {
			return s, fmt.Errorf("%s on %s: %w", who.Name, b.result.Trace, err)
		}
		return s, nil
	}
	s, err := run(who.Policy, 1)
	if err != nil {
		return err
	}
	b.note(i, s)
	if twin != nil {
		b.twin.note(i, twin.Score())
	}
	for n := range again {
		s, err := run(who.Reseeded, uint64(n)+2)
		if err != nil {
			return err
		}
		f := &b.result.Feats[i]
		f.Reruns = append(f.Reruns, s.UtilityNormalized)
	}
	return nil
}

// note writes down how a contender did.
func (b *bout) note(i int, s lab.Score) {
	who := b.contenders[i]
	b.result.Feats[i] = Feat{
		Contender: who, Evidence: who.Evidence.String(),
		Recall: s.Recall, Utility: s.UtilityNormalized, OfLimit: lab.Ratio(s.UtilityNormalized, b.result.Limit, 1),
		Fresh: s.Freshness, Age: s.AgeSeconds,
	}
}
