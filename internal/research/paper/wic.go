package paper

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/baselines"
	"freshet/internal/sched/policy"
)

// A wicStudy is what the experiments on WIC put to the test: the policies that
// go by these names, each made for a grid, so many polls an instant, and an
// estimator of chances.
type wicStudy struct{ wic, cam wicPolicy }

type wicPolicy func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy

// wicExperiments are those of this paper.
func wicExperiments() []Experiment { return wicStudyOfPolicy().experiments() }

func wicStudyOfPolicy() wicStudy {
	return wicStudy{
		wic: func(g *lab.Grid, _ float64, e freshet.Estimator) freshet.Policy {
			return policy.NewWIC(policy.WICConfig{Start: g.Start, Instant: g.Instant, Estimator: e})
		},
		cam: func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
			return baselines.NewCAM(baselines.CAMConfig{Start: g.Start, Instant: g.Instant, Epoch: g.Instants, Polls: polls, Estimator: e})
		},
	}
}

func (w wicStudy) experiments() []Experiment {
	return []Experiment{
		{Paper: WIC, Where: "section 3.3", Cost: 3, Run: w.guarantee},
		{Paper: WIC, Where: "section 4", Cost: 1, Fixed: true, Run: w.tradeoff},
		{Paper: WIC, Where: "figure 4", Cost: 1, Fixed: true, Run: wicUrgencies},
		{Paper: WIC, Where: "figure 5", Cost: 13, Run: w.spread},
		{Paper: WIC, Where: "figure 5, with displaced spreads", Cost: 11, Run: w.displaced},
		{Paper: WIC, Where: "figure 6", Cost: 8, Run: w.falsehoods},
		{Paper: WIC, Where: "figure 7", Cost: 9, Run: w.captured},
		{Paper: WIC, Where: "figure 8", Cost: 1, Run: w.delays},
		{Paper: WIC, Where: "figure 9", Cost: 1, Run: w.balance},
		{Paper: WIC, Where: "section 5.4", Cost: 3, Run: w.againstCAM},
	}
}

// A wicCase is a life and an urgency r^t.
type wicCase struct {
	life objective.Visibility
	r    float64
}

// The cases in which wrong chances cost the least and the most, says the paper.
var (
	wicBest  = wicCase{objective.Visibility{Kind: objective.VisibleForever}, 1}
	wicWorst = wicCase{objective.Visibility{Kind: objective.VisibleUntilNext}, 0}
)

// wicRates are the urgencies of the experiments.
var wicRates = []float64{0, .3, .5, .8, 1}

// wicNoise is that of all experiments but those on noise itself.
var wicNoise = estimate.Noise{FPN: .1, Sigma: 2}

func (c wicCase) String() string { return fmt.Sprintf("%v, r = %v", c.life, c.r) }

// weights returns the case on a grid: the paper counts time in instants.
func (c wicCase) weights(g *lab.Grid) lab.Weights {
	return lab.Weights{Life: c.life, Urgency: objective.Urgency{Kind: objective.UrgencyExp, A: c.r, Per: g.Instant}}
}

// replay lets a policy that knows the truth through noise loose on a set.
func (p wicPolicy) replay(ctx context.Context, set wicSet, c wicCase, polls float64, n estimate.Noise) (lab.Score, error) {
	n.Seed = set.seed
	know := estimate.NewNoisy(set.grid.Truth(), n)
	return lab.Replay(ctx, set.grid, p(set.grid, polls, know), lab.Options{Budget: polls, Weights: c.weights(set.grid)})
}

// A wicCurve is how one setting does over the budgets of a set.
type wicCurve struct {
	name   string
	scores []lab.Score // by budget
}

// curve replays a policy with every budget of a set.
func (p wicPolicy) curve(ctx context.Context, name string, set wicSet, c wicCase, n estimate.Noise) (wicCurve, error) {
	out := wicCurve{name: name}
	for _, polls := range set.budgets {
		s, err := p.replay(ctx, set, c, polls, n)
		if err != nil {
			return wicCurve{}, err
		}
		out.scores = append(out.scores, s)
	}
	return out, nil
}

// The figures that curves are drawn of.
func wicUtility(s lab.Score) float64  { return s.UtilityNormalized }
func wicRecall(s lab.Score) float64   { return s.Recall }
func wicAtOnce(s lab.Score) float64   { return float64(s.ZeroDelay) / float64(max(1, s.Changes)) }
func wicZeroPart(s lab.Score) float64 { return float64(s.ZeroDelay) / float64(max(1, s.Captured)) }

// mean returns the mean of a figure over the budgets, the height of the curve.
func (c wicCurve) mean(of func(lab.Score) float64) float64 {
	sum := 0.0
	for _, s := range c.scores {
		sum += of(s)
	}
	return sum / float64(max(1, len(c.scores)))
}

// wicMeans returns the heights of curves.
func wicMeans(curves []wicCurve, of func(lab.Score) float64) []float64 {
	means := make([]float64, len(curves))
	for i, c := range curves {
		means[i] = c.mean(of)
	}
	return means
}

// wicLargestRise returns how much the curves rise at most from one to the next,
// at any budget; below zero if they only fall.
func wicLargestRise(curves []wicCurve, of func(lab.Score) float64) float64 {
	var steps []float64
	for i := 1; i < len(curves); i++ {
		for b := range curves[i].scores {
			steps = append(steps, of(curves[i].scores[b])-of(curves[i-1].scores[b]))
		}
	}
	if len(steps) == 0 {
		return 0
	}
	return slices.Max(steps)
}

// chart draws curves over the budgets of their set.
func (set wicSet) chart(title, caption string, curves []wicCurve, of func(lab.Score) float64) string {
	c := plot.Chart{
		Title: title,
		X:     plot.Linear("C, polls "+set.per, 0, slices.Max(set.budgets)),
		Y:     plot.Linear(caption, 0, 1),
	}
	for _, curve := range curves {
		line := plot.Line{Name: curve.name, Points: [][2]float64{{0, 0}}}
		for b, s := range curve.scores {
			line.Points = append(line.Points, [2]float64{set.budgets[b], of(s)})
		}
		c.Lines = append(c.Lines, line)
	}
	return c.SVG()
}

// table lists curves over the budgets of their set.
func (set wicSet) table(what string, curves []wicCurve, of func(lab.Score) float64) Table {
	t := Table{Head: []string{what}}
	for _, b := range set.budgets {
		t.Head = append(t.Head, fmt.Sprintf("C = %v", b))
	}
	for _, c := range curves {
		row := []string{c.name}
		for _, s := range c.scores {
			row = append(row, wicFigure(of(s)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func wicFigure(x float64) string  { return strconv.FormatFloat(x, 'f', 3, 64) }
func wicPercent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + "%" }

// wicFigures writes numbers in a row.
func wicFigures(xs []float64) string {
	s := make([]string, len(xs))
	for i, x := range xs {
		s[i] = wicFigure(x)
	}
	return strings.Join(s, ", ")
}

// wicWhy gives a reason to a claim that does not hold.
func wicWhy(c Claim, reason string) Claim {
	if !c.Holds {
		c.Why = reason
	}
	return c
}

// wicEverySet runs one part of an experiment on every set, and gathers what
// they give in one figure.
func wicEverySet(s Options, title, about string, part func(set wicSet, f *Figure) error) (Figure, error) {
	sets, err := wicSets(s)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{Title: title}
	for i, set := range sets {
		f.About += set.about + " "
		if i == len(sets)-1 {
			f.About += about + fmt.Sprintf(" Seed %d.", s.Seed)
		}
		if err := part(set, &f); err != nil {
			return Figure{}, fmt.Errorf("%s: %w", set.name, err)
		}
	}
	return f, nil
}

// wicRetold tells the chances of an estimator otherwise, to find out what it is
// about them that WIC heeds.
type wicRetold struct {
	freshet.Estimator
	later time.Duration // how long after their time chances are told
	least float64       // smaller chances are left out
}

// Chances implements [freshet.Estimator].
func (e wicRetold) Chances(dst []float64, from, to time.Time) {
	e.Estimator.Chances(dst, from.Add(-e.later), to.Add(-e.later))
	for i, x := range dst {
		if x < e.least {
			dst[i] = 0
		}
	}
}

// without returns the policy without small chances: the far tails of spreads.
func (p wicPolicy) without(least float64) wicPolicy {
	return func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
		return p(g, polls, wicRetold{Estimator: e, least: least})
	}
}

// later returns the policy with chances that come so many instants late.
func (p wicPolicy) later(instants int) wicPolicy {
	return func(g *lab.Grid, polls float64, e freshet.Estimator) freshet.Policy {
		return p(g, polls, wicRetold{Estimator: e, later: time.Duration(instants) * g.Instant})
	}
}
