package paper

import (
	"context"
	"fmt"
	"runtime"
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
	Quick bool // small sizes: minutes become seconds, and some claims are out of reach

	// Traces, if set, is a folder with recorded histories. An experiment that
	// can use one adds it to what it generates.
	Traces string
}

// A Claim is a statement of a paper, and what became of it here.
type Claim struct {
	Paper    Paper  `json:"paper"`
	Where    string `json:"where"` // figure, table or section
	Claim    string `json:"claim"`
	Expected string `json:"expected"`
	Measured string `json:"measured"`
	Holds    bool   `json:"holds"`
	Why      string `json:"why,omitempty"` // where it does not hold, or holds only in part
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
	Cost  int    // about how many seconds of one core the full size takes
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

// Run runs experiments, as many at once as there are processors, and returns
// what they gave in the order they were named. Progress, if not nil, is told of
// each that has ended.
func Run(ctx context.Context, list []Experiment, s Options, progress func(Experiment)) ([]Done, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	done := make([]Done, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	for range min(len(list), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				f, err := list[i].Run(ctx, s)
				if err != nil {
					fail(fmt.Errorf("%s, %s: %w", list[i].Paper, list[i].Where, err))
					continue
				}
				done[i] = Done{list[i], f}
				if progress != nil {
					mu.Lock()
					progress(list[i])
					mu.Unlock()
				}
			}
		})
	}
	for i := range list {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return done, context.Cause(ctx)
}
