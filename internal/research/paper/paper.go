package paper

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// A Paper is one of the three, or what lies beyond them.
type Paper string

// The papers.
const (
	WIC      Paper = "wic"      // Pandey, Dhamdhere, Olston: WIC, VLDB 2004
	Sampling Paper = "sampling" // Cho, Ntoulas: Effective Change Detection Using Sampling, VLDB 2002
	Capture  Paper = "capture"  // Ashish, Kulkarni, Wang: Source Update Capture in Information Agents
	Beyond   Paper = "beyond"   // questions that the papers leave open
)

// Papers lists them in the order of a report.
var Papers = []Paper{WIC, Sampling, Capture, Beyond}

// Title returns what a paper is called.
func (p Paper) Title() string {
	return map[Paper]string{
		WIC:      "WIC: A General-Purpose Algorithm for Monitoring Web Information Sources",
		Sampling: "Effective Change Detection Using Sampling",
		Capture:  "Source Update Capture in Information Agents",
		Beyond:   "Beyond the papers",
	}[p]
}

// A Options is what experiments are run with.
type Options struct {
	Seed  uint64
	Seeds int  // how many there are, from Seed on; 0 means 1
	Quick bool // small sizes: minutes become seconds, and some claims are out of reach

	// Traces, if set, is a folder with recorded histories. An experiment that
	// can use one adds it to what it generates.
	Traces string
}

// A Table is figures in rows.
type Table struct {
	Head []string
	Rows [][]string
}

// A Figure is what an experiment gave.
type Figure struct {
	Title  string
	About  string   // what was done, with which sizes and settings
	SVGs   []string // drawn with package plot
	Tables []Table
	Claims []Claim // at least one
}

// An Experiment is one figure, table or analysis of a paper.
type Experiment struct {
	Paper Paper
	Where string // as the paper numbers it: "figure 5", "table 1", "section 4"
	Cost  int    // about how many seconds of one core the full size takes with one seed
	Fixed bool   // nothing is drawn by chance: one seed will do
	Run   func(ctx context.Context, s Options) (Figure, error)
}

// Experiments returns those of a paper, in its order.
func Experiments(p Paper) []Experiment {
	switch p {
	case WIC:
		return wicExperiments()
	case Sampling:
		return samplingExperiments()
	case Capture:
		return captureExperiments()
	case Beyond:
		return beyondExperiments()
	}
	return nil
}

// A Done is an experiment with what it gave.
type Done struct {
	Experiment
	Figure
}

// Run runs experiments with every seed, as many at once as there are processors, and
// returns what they gave in the order they were named. Those that take longest begin
// first, so that no processor is left with a long one at the end. Progress, if not nil,
// is called each time that one has ended with a seed.
func Run(ctx context.Context, list []Experiment, s Options, progress func(Experiment)) ([]Done, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	runs := runsOf(list, s)
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(list[b.place].Cost, list[a.place].Cost) })
	figures := make([]map[uint64]Figure, len(list))
	next := make(chan run)
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range min(len(runs), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for r := range next {
				e, with := list[r.place], s
				with.Seed = r.seed
				f, err := e.Run(ctx, with)
				if err != nil {
					fail(fmt.Errorf("%s, %s, seed %d: %w", e.Paper, e.Where, r.seed, err))
					continue
				}
				mu.Lock()
				if figures[r.place] == nil {
					figures[r.place] = map[uint64]Figure{}
				}
				figures[r.place][r.seed] = f
				if progress != nil {
					progress(e)
				}
				mu.Unlock()
			}
		})
	}
	for _, r := range runs {
		select {
		case next <- r:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	done := make([]Done, len(list))
	for place, e := range list {
		var all []Figure
		for i := range len(figures[place]) {
			all = append(all, figures[place][s.Seed+uint64(i)])
		}
		f, err := overSeeds(e, s, all)
		if err != nil {
			return nil, err
		}
		done[place] = Done{e, f}
	}
	return done, nil
}
