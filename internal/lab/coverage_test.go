package lab_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

var coverageFile = flag.String("coverage", "", "measure the coverage of stated ranges, and write the table to this file")

var coverageSeeds = flag.Int("coverage-seeds", 3, "over so many draws of each web")

// coveragePages is how many pages each web of the grid has.
const coveragePages = 40

// A webKind is a kind of web: it gives the times at which a page changes, in hours.
type webKind struct {
	name    string
	changes func(r *rand.Rand, until float64) []float64
}

// atRandom returns changes at random, so many an hour on average.
func atRandom(r *rand.Rand, perHour, until float64) (at []float64) {
	for t := r.ExpFloat64() / perHour; t < until; t += r.ExpFloat64() / perHour {
		at = append(at, t)
	}
	return at
}

// between returns a number between two, evenly on a scale of logarithms.
func between(r *rand.Rand, a, b float64) float64 { return a * math.Pow(b/a, r.Float64()) }

var webKinds = []webKind{
	{"slow", func(r *rand.Rand, until float64) []float64 { return atRandom(r, 1/between(r, 6, 48), until) }},
	{"fast", func(r *rand.Rand, until float64) []float64 { return atRandom(r, between(r, 12, 120), until) }},
	{"mixed", func(r *rand.Rand, until float64) []float64 { return atRandom(r, 1/between(r, 1.0/60, 48), until) }},
	{"bursty", func(r *rand.Rand, until float64) (at []float64) {
		for _, begin := range atRandom(r, 1/between(r, 1, 12), until) {
			for range 3 + r.IntN(8) {
				if begin += r.ExpFloat64() / 30; begin < until && (len(at) == 0 || begin > at[len(at)-1]) {
					at = append(at, begin)
				}
			}
		}
		return at
	}},
	{"daily", func(r *rand.Rand, until float64) (at []float64) {
		for _, t := range atRandom(r, 1/between(r, 0.1, 2), until) {
			if hour := math.Mod(t, 24); hour >= 8 && hour < 20 || r.IntN(20) == 0 {
				at = append(at, t)
			}
		}
		return at
	}},
}

// A coverageRun is one replay of the grid.
type coverageRun struct {
	kind   webKind
	policy string
	budget float64 // polls a minute
	empty  bool    // the sources come after the start
	seed   uint64
}

// coverageTimes are when what is stated is compared with the truth.
var coverageTimes = []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// A coverage counts how many stated ranges hold the truth.
type coverage struct {
	stated, held map[string]float64
	off          map[string]float64 // summed distance of a figure without a range from the truth
	offs         map[string]float64
}

func newCoverage() *coverage {
	return &coverage{map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]float64{}}
}

// see counts a range.
func (c *coverage) see(what string, r outlook.Range, truth float64) {
	const rounding = 1e-6
	c.stated[what]++
	if r.Low-rounding <= truth && truth <= r.High+rounding {
		c.held[what]++
	}
}

// miss counts how far off a figure is.
func (c *coverage) miss(what string, by float64) {
	c.off[what] += math.Abs(by)
	c.offs[what]++
}

// add adds another count.
func (c *coverage) add(o *coverage) {
	for _, maps := range [][2]map[string]float64{{c.stated, o.stated}, {c.held, o.held}, {c.off, o.off}, {c.offs, o.offs}} {
		for what, n := range maps[1] {
			maps[0][what] += n
		}
	}
}

// share returns the share of the ranges that hold.
func (c *coverage) share(what string) string {
	if c.stated[what] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*c.held[what]/c.stated[what])
}

// mean returns how far off a figure is on average.
func (c *coverage) mean(what string) string {
	if c.offs[what] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", c.off[what]/c.offs[what])
}

// factor returns how many times as high the upper bound of a range is as the lower, on average on
// the scale of the logarithm.
func (c *coverage) factor(what string) string {
	if c.offs[what] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", math.Exp(c.off[what]/c.offs[what]))
}

// coverageOf replays a run and compares what the learner states at some times with the truth.
func coverageOf(t *testing.T, run coverageRun, times []time.Duration) []*coverage {
	t.Helper()
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	length := times[len(times)-1]
	horizon := max(length, 24*time.Hour) // over which the true rate of a page is taken
	r := rand.New(rand.NewPCG(run.seed, 7))
	var pages []freshet.SourceID
	changes := map[freshet.SourceID][]time.Time{}
	for i := range coveragePages {
		id := freshet.SourceID(fmt.Sprintf("site/p%02d", i))
		pages = append(pages, id)
		for _, at := range run.kind.changes(r, horizon.Hours()) {
			changes[id] = append(changes[id], start.Add(time.Duration(at*float64(time.Hour))))
		}
	}
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for _, id := range pages {
			for _, at := range changes[id] {
				if at.Before(start.Add(length)) && !yield(id, at) {
					return
				}
			}
		}
	}, pages...)
	grid, err := history.Quantise(lab.Period{Start: start, End: start.Add(length + time.Minute), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	b := sched.Budget{Polls: run.budget, Per: time.Minute}
	sources := coveragePages
	if run.empty {
		sources = 0
	}
	p, learner, err := policy.Wire(run.policy, policy.InDaemon(run.policy, b, sources))
	if err != nil {
		t.Fatal(err)
	}
	var log []freshet.Outcome
	var found []*coverage
	o := lab.Options{Budget: run.budget, Unseen: true, Conditions: lab.InDaemon(), Observe: func(o freshet.Outcome) { log = append(log, o) }}
	if own, ok := p.(interface{ Learner() *learn.Learner }); !ok || own.Learner() != learner {
		o.Learner = learner
	}
	if run.empty {
		for _, id := range pages[1:] {
			o.Edits = append(o.Edits, lab.Edit{At: start.Add(1), Event: sched.SourceRemoved{Source: id}})
		}
		for _, id := range pages[1:] {
			o.Edits = append(o.Edits, lab.Edit{At: start.Add(30 * time.Second), Event: sched.SourcePut{Source: freshet.SourceWithStatus{Source: freshet.Source{ID: id, URL: "https://" + string(id)}}}})
		}
		o.Edits = append(o.Edits, lab.Edit{At: start.Add(32 * time.Second), Event: sched.Call(func(now time.Time, s *sched.Scheduler) {
			relearn(now, s, learner, policy.InDaemon(run.policy, b, coveragePages).Learning(), log)
		})})
	}
	for _, after := range times {
		o.Edits = append(o.Edits, lab.Edit{At: start.Add(after), Event: sched.Call(func(now time.Time, s *sched.Scheduler) {
			found = append(found, compare(now, s, learner, horizon, pages, changes, log))
		})})
	}
	if _, err := lab.Replay(t.Context(), grid, p, o); err != nil {
		t.Fatal(err)
	}
	if len(found) != len(times) {
		t.Fatalf("%d of %d times were reached", len(found), len(times))
	}
	return found
}

// relearn has a learner learn the log again with another configuration, as a daemon does.
func relearn(now time.Time, s *sched.Scheduler, l *learn.Learner, c learn.Config, log []freshet.Outcome) {
	if l.IsSetAs(c) {
		return
	}
	next := l.Successor(c)
	for slot := range freshet.Slot(s.Slots()) {
		if source, ok := s.Source(slot); ok {
			next.Put(now, slot, source, time.Time{})
		}
	}
	for _, o := range log {
		if slot, ok := s.Slot(o.Source); ok {
			next.Observe(o.Ended, slot, o)
		} else {
			next.SkipOutcome(o.Cursor)
		}
	}
	next.SkipOutcome(l.Upto())
	next.Replace()
}

// compare compares what a learner states of pages with what became of their changes. Changes
// within one tick count as one, as they do for the learner, and what is 30 days old counts half.
func compare(now time.Time, s *sched.Scheduler, l *learn.Learner, horizon time.Duration, pages []freshet.SourceID, changes map[freshet.SourceID][]time.Time, log []freshet.Outcome) *coverage {
	c := newCoverage()
	var said, is outlook.Tally
	tick, early := l.Tick(), 0
	last := map[freshet.SourceID]time.Time{}
	next := map[freshet.SourceID]int{}
	for _, o := range log {
		before, ok := last[o.Source]
		last[o.Source] = o.Began
		all, from := changes[o.Source], next[o.Source]
		upto := from
		for upto < len(all) && !all[upto].After(o.Began) {
			upto++
		}
		next[o.Source] = upto
		if !ok {
			continue
		}
		is = is.Add(became(before, o.Began, all[from:upto], tick).Scale(math.Exp2(-now.Sub(o.Began).Hours() / 24 / 30)))
	}
	for _, id := range pages {
		slot, ok := s.Slot(id)
		if !ok {
			early++
			continue
		}
		tally := l.Tally(slot)
		said = said.Add(tally)
		if tally.Polls == 0 {
			early++
			continue
		}
		rate := float64(len(apart(changes[id], tick))) / horizon.Seconds()
		switch o := l.Outlook(now, slot); o.Rate.Known {
		case outlook.Estimated:
			c.see("rate", o.Rate.Range, rate)
			c.miss("rate width", math.Log(o.Rate.High/o.Rate.Low))
		case outlook.AtLeast:
			c.see("bound", outlook.Range{Low: o.Rate.Low, High: math.Inf(1)}, rate)
		case outlook.AtMost:
			c.see("bound", outlook.Range{High: o.Rate.High}, rate)
		}
	}
	share := learn.Share(said)
	stated := client.Captured{Share: client.Estimate{Mean: share.Mean, Low: share.Low, High: share.High}, Captured: said.Captured, Polls: said.Polls, Sources: len(pages), Early: early}
	switch stated.Believe(); {
	case stated.TooEarly != "":
		return c
	case stated.Saturated:
		c.see("share bound", outlook.Range{High: share.High}, is.Captured/is.Happened)
		return c
	}
	c.see("captured", share, is.Captured/is.Happened)
	c.see("missed", outlook.Range{Low: said.Captured/share.High - said.Captured, High: said.Captured/max(share.Low, 1e-9) - said.Captured}, is.Happened-is.Captured)
	c.see("behind", learn.Divergence(said), is.Divergence())
	c.miss("width", share.High-share.Low)
	c.miss("happened", math.Log(said.Happened/is.Happened))
	c.miss("found", said.ChangeRatio()-is.ChangeRatio())
	late, age := learn.Delay(said), learn.Age(said)
	c.see("fresh", learn.Freshness(said), is.Freshness())
	c.see("late", late, is.MeanDelay().Seconds())
	c.see("age", age, is.MeanAge().Seconds())
	c.miss("late", math.Log(late.High/late.Low))
	c.miss("age", math.Log(age.High/age.Low))
	return c
}

// apart returns the last change of each tick.
func apart(changes []time.Time, tick time.Duration) (list []time.Time) {
	for i, at := range changes {
		if i+1 == len(changes) || changes[i+1].UnixNano()/int64(tick) != at.UnixNano()/int64(tick) {
			list = append(list, at)
		}
	}
	return list
}

// became returns what became of the changes between two polls.
func became(before, poll time.Time, changes []time.Time, tick time.Duration) outlook.Tally {
	t := outlook.Tally{Polls: 1, Watched: poll.Sub(before).Seconds()}
	changes = apart(changes, tick)
	if len(changes) == 0 {
		return t
	}
	t.Found, t.Captured, t.Happened = 1, 1, float64(len(changes))
	t.Stale = poll.Sub(changes[0]).Seconds()
	t.Age = t.Stale * t.Stale / 2
	t.Delay = poll.Sub(changes[len(changes)-1]).Seconds()
	for _, at := range changes {
		t.Behind += poll.Sub(at).Seconds()
	}
	return t
}

// coverageRuns returns the runs of the grid for some seeds.
func coverageRuns(seeds int) (runs []coverageRun) {
	for seed := range uint64(seeds) {
		for _, kind := range webKinds {
			for _, name := range []string{"auto", "wic", "round-robin", "uniform"} {
				for _, budget := range []float64{10, 2.5, 0.625} {
					for _, empty := range []bool{false, true} {
						runs = append(runs, coverageRun{kind, name, budget, empty, 100*seed + 1001})
					}
				}
			}
		}
	}
	return runs
}

// Ranges that are stated of a daemon in its first hour, started empty or from a file, hold
// the truth about as often as is said.
func TestRangesHoldFromTheStart(t *testing.T) {
	t.Parallel()
	all := map[bool]*coverage{false: newCoverage(), true: newCoverage()}
	for _, run := range coverageRuns(tier.Seeds(1, 1, 5)) {
		for _, c := range coverageOf(t, run, coverageTimes[:2]) {
			all[run.empty].add(c)
		}
	}
	for empty, c := range all {
		for _, what := range []string{"captured", "missed", "behind", "fresh", "late", "age"} {
			share := c.held[what] / c.stated[what]
			t.Logf("started empty %v: %s: %.0f stated, %.2f held", empty, what, c.stated[what], share)
			if share < 0.85 || c.stated[what] < 10 {
				t.Errorf("started empty %v: of %.0f ranges of %s %.2f hold the truth", empty, c.stated[what], what, share)
			}
		}
		if off := c.off["happened"] / c.offs["happened"]; off > 0.8 {
			t.Errorf("started empty %v: the number of changes is off by a factor of %.1f on average", empty, math.Exp(off))
		}
		if off := c.off["found"] / c.offs["found"]; off > 1e-3 {
			t.Errorf("started empty %v: ChangeRatio is off by %v", empty, off)
		}
	}
}

// Where bursts fall between two polls, which takes a day to learn, ranges leave room for them, and
// say more than that nothing is known.
func TestRangesLeaveRoomForBursts(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it replays a day of polls")
	all := newCoverage()
	for _, run := range coverageRuns(tier.Seeds(1, 1, 5)) {
		if run.kind.name == "bursty" && !run.empty {
			all.add(coverageOf(t, run, coverageTimes[2:3])[0])
		}
	}
	for _, what := range []string{"captured", "missed", "behind", "rate"} {
		if share := all.held[what] / all.stated[what]; share < 0.85 {
			t.Errorf("of %.0f ranges of %s %.2f hold the truth", all.stated[what], what, share)
		}
	}
	if width := all.off["width"] / all.offs["width"]; width > 0.65 {
		t.Errorf("the share captured is stated with a range of %.2f on average", width)
	}
}

// coverageTable is the table of how often ranges hold the truth.
const coverageTable = "testdata/coverage.md"

// The table, of which docs/explanation/numbers.md has the rows of the webs, is made by this test, with the flag -coverage.
// It takes long.
func TestCoverageTable(t *testing.T) {
	if *coverageFile == "" {
		t.Skip("it writes no table without -coverage FILE")
	}
	var mutex sync.Mutex
	cells := map[string]*coverage{}
	var names []string
	count := func(t *testing.T, run coverageRun) {
		found := coverageOf(t, run, coverageTimes)
		mutex.Lock()
		defer mutex.Unlock()
		for i, c := range found {
			for _, group := range []string{run.kind.name, "policy " + run.policy, fmt.Sprintf("%g polls a minute", run.budget), map[bool]string{true: "started empty", false: "from a file"}[run.empty]} {
				name := fmt.Sprintf("| %s | %s ", group, coverageWords[i])
				if cells[name] == nil {
					cells[name], names = newCoverage(), append(names, name)
				}
				cells[name].add(c)
			}
		}
	}
	t.Run("runs", func(t *testing.T) {
		for i, run := range coverageRuns(*coverageSeeds) {
			if (i+i/6)%3 == 0 { // each setting with one of three seeds, or it takes hours
				t.Run(fmt.Sprint(run), func(t *testing.T) {
					t.Parallel()
					count(t, run)
				})
			}
		}
	})
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(coverageOrder(a), coverageOrder(b)) })
	var b strings.Builder
	b.WriteString("| group | after | stated | captured | width | bound | behind | rate | factor | bound | fresh | late | factor | age | factor |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, name := range names {
		c := cells[name]
		fmt.Fprintf(&b, "%s| %.0f | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, c.stated["captured"], c.share("captured"), c.mean("width"), c.share("share bound"),
			c.share("behind"), c.share("rate"), c.factor("rate width"), c.share("bound"), c.share("fresh"), c.share("late"), c.factor("late"), c.share("age"), c.factor("age"))
	}
	if err := os.WriteFile(*coverageFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// coverageWords are the times in words.
var coverageWords = []string{"5 minutes", "an hour", "a day", "a week"}

// coverageOrder returns what rows of the table are sorted by: webs first, then policies, budgets and starts.
func coverageOrder(name string) string {
	group, after, _ := strings.Cut(strings.TrimPrefix(name, "| "), " | ")
	place := slices.IndexFunc(webKinds, func(k webKind) bool { return k.name == group })
	if place < 0 {
		place = len(webKinds)
	}
	return fmt.Sprintf("%d %s %d", place, group, slices.Index(coverageWords, strings.TrimSpace(after)))
}

// docs/explanation/numbers.md has what was measured of each web, and no group of ranges holds much
// less often than nine times in ten. Rates of slow webs after a day hold in 77%, and lateness in the
// first hour of bursty ones in 56%.
func TestCoverageInDocs(t *testing.T) {
	table, err := os.ReadFile(coverageTable)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/explanation/numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		web := slices.ContainsFunc(webKinds, func(k webKind) bool { return strings.HasPrefix(line, "| "+k.name+" |") })
		if web && strings.Contains(line, "%") && !strings.Contains(string(page), line) {
			t.Errorf("docs/explanation/numbers.md does not have %s", line)
		}
		for i, cell := range strings.Split(line, "|") {
			least := 77.0
			if i == 12 {
				least = 56
			}
			var share float64
			if _, err := fmt.Sscanf(strings.TrimSpace(cell), "%f%%", &share); err == nil && share < least {
				t.Errorf("ranges hold in %.0f%% in column %d of %s", share, i, line)
			}
		}
	}
}
