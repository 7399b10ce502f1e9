package paper

import (
	"fmt"
	"strings"
)

// A Kind says whose statement a claim is, and what it was held against.
type Kind string

// The kinds of claims.
const (
	OfPaper  Kind = "paper"    // of a paper, on workloads like its own
	Recorded Kind = "recorded" // of a paper, on recorded histories
	Question Kind = "question" // ours: the papers do not say so
)

// Kinds lists them in the order of a report.
var Kinds = []Kind{OfPaper, Recorded, Question}

// Title returns what claims of the kind are called.
func (k Kind) Title() string {
	return map[Kind]string{
		OfPaper:  "claims of the papers, on workloads like theirs",
		Recorded: "claims of the papers, on recorded histories",
		Question: "questions of our own",
	}[k]
}

// A Claim is a statement of a paper or a question of ours, and what became of it.
type Claim struct {
	Paper    Paper  `json:"paper"`
	Kind     Kind   `json:"kind"`
	Where    string `json:"where"` // figure, table or section
	Claim    string `json:"claim"`
	Expected string `json:"expected"`
	Measured string `json:"measured"`      // with the first seed
	Holds    bool   `json:"holds"`         // with every seed
	Why      string `json:"why,omitempty"` // where it does not hold, or holds only in part

	Seeds int    `json:"seeds"`           // it was tried with; 1 if nothing is drawn by chance
	Held  int    `json:"held_in"`         // of those
	Apart string `json:"apart,omitempty"` // what was measured with the first seed that gave another verdict
}

// Turns reports whether the verdict depends on the seed.
func (c Claim) Turns() bool { return c.Held > 0 && c.Held < c.Seeds }

// Verdict returns what became of the claim in a few words.
func (c Claim) Verdict() string {
	switch {
	case c.Turns():
		return fmt.Sprintf("holds in %d of %d seeds", c.Held, c.Seeds)
	case c.Holds:
		return "holds"
	}
	return "does not hold"
}

// A run is an experiment with one seed.
type run struct {
	place int // of the experiment
	seed  uint64
}

// runsOf returns the runs. An experiment that draws nothing by chance is
// run once.
func runsOf(list []Experiment, s Options) (runs []run) {
	for place, e := range list {
		for i := range max(1, s.Seeds) {
			if i == 0 || !e.Fixed {
				runs = append(runs, run{place, s.Seed + uint64(i)})
			}
		}
	}
	return runs
}

// overSeeds returns the figure of the first seed, with the verdicts of all of them.
func overSeeds(e Experiment, s Options, figures []Figure) (Figure, error) {
	f := figures[0]
	for i := range f.Claims {
		c := &f.Claims[i]
		first := c.Holds
		c.Seeds, c.Held = len(figures), 0
		if c.Kind == "" {
			c.Kind = OfPaper
		}
		for k, other := range figures {
			if len(other.Claims) != len(f.Claims) || other.Claims[i].Where != c.Where {
				return f, fmt.Errorf("%s, %s: seed %d makes other claims than seed %d", e.Paper, e.Where, s.Seed+uint64(k), s.Seed)
			}
			o := other.Claims[i]
			if o.Holds {
				c.Held++
			}
			if o.Holds != first && c.Apart == "" {
				c.Apart = fmt.Sprintf("with seed %d: %s", s.Seed+uint64(k), o.Measured)
				if !o.Holds {
					c.Why = o.Why
				}
			}
		}
		c.Holds = c.Held == c.Seeds
	}
	return f, nil
}

// A Summary counts claims.
type Summary struct {
	Paper   Paper
	Kind    Kind
	Figures int // that have such claims
	Claims  int
	Holds   int // with every seed
	Turns   int // hold with some seeds
}

// Fails returns how many do not hold with any seed.
func (s Summary) Fails() int { return s.Claims - s.Holds - s.Turns }

// add counts one more.
func (s *Summary) add(c Claim) {
	s.Claims++
	switch {
	case c.Turns():
		s.Turns++
	case c.Holds:
		s.Holds++
	}
}

// Says returns the counts in words.
func (s Summary) Says() string {
	var words []string
	if s.Turns > 0 {
		words = append(words, fmt.Sprintf("%d turn with the seed", s.Turns))
	}
	if n := s.Fails(); n > 0 {
		words = append(words, fmt.Sprintf("%d do not hold", n))
	}
	text := fmt.Sprintf("%d of %d hold", s.Holds, s.Claims)
	if len(words) > 0 {
		text += "; " + strings.Join(words, ", ")
	}
	return text
}

// Summaries counts the claims of each kind that each paper that was run has.
func (r Report) Summaries() (list []Summary) {
	for _, k := range Kinds {
		for _, p := range Papers {
			s := Summary{Paper: p, Kind: k}
			for _, d := range r.Done {
				before := s.Claims
				for _, c := range d.Claims {
					if c.Paper == p && c.Kind == k {
						s.add(c)
					}
				}
				if s.Claims > before {
					s.Figures++
				}
			}
			if s.Claims > 0 {
				list = append(list, s)
			}
		}
	}
	return list
}

// Whole counts the claims of each kind over all papers.
func (r Report) Whole() (list []Summary) {
	for _, s := range r.Summaries() {
		if len(list) == 0 || list[len(list)-1].Kind != s.Kind {
			list = append(list, Summary{Kind: s.Kind})
		}
		w := &list[len(list)-1]
		w.Figures, w.Claims, w.Holds, w.Turns = w.Figures+s.Figures, w.Claims+s.Claims, w.Holds+s.Holds, w.Turns+s.Turns
	}
	return list
}
