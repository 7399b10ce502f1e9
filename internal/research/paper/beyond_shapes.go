package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// A shape is how a message is spread over its interval: draws lie between 0 and
// 1.
type shape struct {
	name string
	draw func(r *rand.Rand) float64
}

// shapes are the uniform one that the paper assumes, and others.
func shapes() []shape {
	within := func(x float64) float64 { return min(1, max(0, x)) }
	return []shape{
		{"uniform", func(r *rand.Rand) float64 { return r.Float64() }},
		{"early", func(r *rand.Rand) float64 { return within(r.ExpFloat64() * .15) }},
		{"late", func(r *rand.Rand) float64 { return within(1 - r.ExpFloat64()*.15) }},
		{"middle", func(r *rand.Rand) float64 { return within(.5 + .12*r.NormFloat64()) }},
		{"two peaks", func(r *rand.Rand) float64 {
			x := within(.08 * math.Abs(r.NormFloat64()))
			if r.IntN(2) == 0 {
				return 1 - x
			}
			return x
		}},
	}
}

// threeMessages is the worked example of the paper: A between minutes 5 and 20
// of the hour, B between 10 and 35, C between 30 and 40.
var threeMessages = cyclic.Model{Period: hourly, Messages: []cyclic.Message{
	{From: 5, To: 20, Chance: 1}, {From: 10, To: 35, Chance: 1}, {From: 30, To: 40, Chance: 1},
}}

// publish makes up the instants at which the messages come, hour by hour.
func (x shape) publish(seed uint64, hours int) []int {
	r := rand.New(rand.NewPCG(seed, 0x73686170))
	var changes []int
	for hour := range hours {
		for _, m := range threeMessages.Messages {
			at := m.From + (m.To-m.From)*x.draw(r)
			changes = append(changes, hour*hourly+max(1, int(math.Ceil(at))))
		}
	}
	slices.Sort(changes)
	return slices.Compact(changes)
}

// assuming plans by the intervals alone, as if messages were spread evenly over
// them; the others plan from a history.
func assuming() []schedule {
	return []schedule{
		{"uniform polls", func(_ cyclic.Timeline, n int) ([]int, error) { return cyclic.PlanUniform(hourly, n) }},
		{"the paper's, from intervals", func(_ cyclic.Timeline, n int) ([]int, error) {
			times := threeMessages.Strategy(n)
			if times == nil {
				return threeMessages.Best(n), nil
			}
			var offsets []int
			for _, t := range times {
				offsets = append(offsets, (int(math.Ceil(t-1e-9))-1+hourly)%hourly)
			}
			return offsets, nil
		}},
		{"modeled from history", func(h cyclic.Timeline, n int) ([]int, error) { return cyclic.PlanModeled(h, hourly, n) }},
		{"optimal for history", func(h cyclic.Timeline, n int) ([]int, error) { return cyclic.PlanOptimal(h, hourly, n) }},
	}
}

// shapesFigure answers what becomes of the modelled strategy where messages are
// not spread evenly over their intervals.
func shapesFigure(ctx context.Context, s Options, q question, _ policyMaker) (Figure, error) {
	return shapesWith(ctx, s, q, assuming())
}

// The places of the strategies among those of assuming.
const (
	byNothing = iota
	byIntervals
	byModel
	byHistory
)

const leastShapePolls, mostShapePolls = 3, 12

func shapesWith(ctx context.Context, s Options, q question, ways []schedule) (Figure, error) {
	days := sized(s, 60, 30)
	f := Figure{
		Title: "Messages that are not spread evenly over their intervals",
		About: fmt.Sprintf("The modelled strategy of Ashish, Kulkarni and Wang takes every message to be spread evenly over an interval, and its extension to other cases is left open. Their example is run with messages A, B and C in minutes 5 to 20, 10 to 35 and 30 to 40 of every hour: evenly, early or late in the interval (exponential, a mean of 0.15 of it), around its middle (normal), and at both ends. Plans are made from %d days and judged on as many more. Seed %d.", days, s.Seed),
	}
	table := Table{Head: []string{"spread", "polls an hour"}}
	for _, way := range ways {
		table.Head = append(table.Head, way.name)
	}
	recall := map[string][][]float64{} // by shape, strategy and polls
	for i, x := range shapes() {
		found, err := x.judge(ctx, s.Seed, days*24, ways)
		if err != nil {
			return f, err
		}
		recall[x.name] = found
		chart := plot.Chart{Title: "Change recall, messages spread: " + x.name, X: plot.Linear("polls an hour", leastShapePolls-1, mostShapePolls), Y: plot.Linear("change recall", 0, 1)}
		for k, way := range ways {
			line := plot.Line{Name: way.name}
			for n, v := range found[k] {
				line.Points = append(line.Points, [2]float64{float64(leastShapePolls + n), v})
			}
			chart.Lines = append(chart.Lines, line)
		}
		if i < 2 || x.name == "two peaks" {
			f.SVGs = append(f.SVGs, chart.SVG())
		}
		for _, n := range []int{5, 8, 10} {
			row := []string{x.name, fmt.Sprint(n)}
			for k := range ways {
				row = append(row, fmt.Sprintf("%.3f", found[k][n-leastShapePolls]))
			}
			table.Rows = append(table.Rows, row)
		}
	}
	f.Tables = []Table{table}
	f.Claims = shapeClaims(q, recall)
	return f, nil
}

// judge returns the recall of strategies, by strategy and number of polls.
func (x shape) judge(ctx context.Context, seed uint64, hours int, ways []schedule) ([][]float64, error) {
	h := cyclic.Timeline{Pages: [][]int{x.publish(seed, hours)}}
	rest := lab.NewGrid(beyondStart, time.Minute, hours*hourly, [][]int{x.publish(seed+1, hours)})
	found := make([][]float64, len(ways))
	for k, way := range ways {
		for n := leastShapePolls; n <= mostShapePolls; n++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			offsets, err := way.plan(h, n)
			if err != nil {
				return nil, fmt.Errorf("planning %s: %w", way.name, err)
			}
			found[k] = append(found[k], scoreOffsets(rest, offsets, lab.AgeFirst).Recall)
		}
	}
	return found, nil
}

// largestLoss returns how much recall one strategy lacks of another at most,
// over all numbers of polls from five on, which the paper's needs.
func largestLoss(one, other []float64) (loss float64, polls int) {
	for n := 5; n <= mostShapePolls; n++ {
		if d := other[n-leastShapePolls] - one[n-leastShapePolls]; d > loss {
			loss, polls = d, n
		}
	}
	return loss, polls
}

func shapeClaims(q question, recall map[string][][]float64) []Claim {
	even := recall["uniform"]
	base, basePolls := largestLoss(even[byIntervals], even[byHistory])
	worst, worstPolls, worstShape := 0.0, 0, ""
	modelWorst, modelShape := 0.0, ""
	ahead := 0.0
	for _, x := range shapes() {
		found := recall[x.name]
		if loss, n := largestLoss(found[byIntervals], found[byHistory]); loss > worst {
			worst, worstPolls, worstShape = loss, n, x.name
		}
		if loss, _ := largestLoss(found[byModel], found[byHistory]); loss > modelWorst {
			modelWorst, modelShape = loss, x.name
		}
		for _, one := range [][]float64{found[byNothing], found[byIntervals], found[byModel]} {
			loss, _ := largestLoss(found[byHistory], one)
			ahead = max(ahead, loss)
		}
	}
	return []Claim{
		q.finding("Where messages are spread evenly, is the modelled strategy near the optimal one?", "almost as good as the optimal strategy (capture, section on theoretical modelling): within 0.05 of recall from 5 polls on",
			base <= .05,
			"at most %.3f below the optimum of the history, at %d polls an hour", base, basePolls),
		q.finding("What does the assumption cost where it is wrong?", "more than where it is right",
			worst > base, "at most %.3f below the optimum of the history (spread: %s, %d polls an hour), against %.3f where it is right", worst, worstShape, worstPolls, base),
		q.finding("Does a plan from the history need an assumption?", "no: in no shape and for no number of polls is any other strategy ahead by more than 0.01 on the days that follow",
			ahead <= .01, "others are ahead by at most %.3f", ahead),
		q.finding("Can the intervals be learned instead of given?", "yes: a model made from the history stays within 0.1 of the optimum in every shape",
			modelWorst <= .1, "at most %.3f below (spread: %s)", modelWorst, modelShape),
	}
}
