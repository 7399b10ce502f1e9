package paper

import (
	"context"
	"fmt"
	"math"
	"time"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/research/generate"
	"freshet/internal/sched/cyclic"
)

// hourly is the period of the strategies, in minutes.
const hourly = 60

// A schedule is a way of planning so many polls an hour from a history.
type schedule struct {
	name string
	plan func(h cyclic.Timeline, polls int) ([]int, error)
}

// capturing are the strategies that Ashish, Kulkarni and Wang compare, and two
// beside them.
func capturing() []schedule {
	planned := func(m cyclic.Method) func(cyclic.Timeline, int) ([]int, error) {
		return func(h cyclic.Timeline, polls int) ([]int, error) { return cyclic.Plan(h, hourly, polls, m) }
	}
	return []schedule{
		{"uniform", planned(cyclic.Even)},
		{"uniform, best phase", planned(cyclic.BestPhase)},
		{"optimal", planned(cyclic.Optimal)},
		{"modeled", planned(cyclic.Modeled)},
		{"for age", func(h cyclic.Timeline, polls int) ([]int, error) { return planForAge(h, polls), nil }},
	}
}

// planForAge returns the offsets of so many polls an hour at which the copies in
// a history are the least old, counted from the first change that they lack. It
// is exact on the line of the history cut into hours.
func planForAge(h cyclic.Timeline, polls int) []int {
	cost := ageCosts(h)
	best, offsets := math.Inf(1), []int(nil)
	for start := range hourly {
		// least[m][x] is the least cost of m links from start to x offsets later.
		least, from := make([][]float64, polls+1), make([][]int, polls+1)
		for m := range least {
			least[m], from[m] = make([]float64, hourly+1), make([]int, hourly+1)
			for x := range least[m] {
				least[m][x] = math.Inf(1)
			}
		}
		least[0][0] = 0
		for m := 1; m <= polls; m++ {
			for x := m; x <= hourly; x++ {
				for y := m - 1; y < x; y++ {
					if c := least[m-1][y] + cost[(start+y)%hourly][x-y]; c < least[m][x] {
						least[m][x], from[m][x] = c, y
					}
				}
			}
		}
		if least[polls][hourly] < best {
			best, offsets = least[polls][hourly], offsets[:0]
			for m, x := polls, hourly; m > 0; m-- {
				x = from[m][x]
				offsets = append(offsets, (start+x)%hourly)
			}
		}
	}
	return offsets
}

// ageCosts returns, for polls at offset a and n instants later with none
// between, how old the copies get in between, over the whole history.
func ageCosts(h cyclic.Timeline) (cost [hourly][hourly + 1]float64) {
	for _, changes := range h.Pages {
		// From the first change after a poll at a to the next poll at a+n the
		// copy is stale. Polls at a lie a whole number of hours apart.
		for a := range hourly {
			first := map[int]int{} // hour to the instants from a to its first change
			for _, at := range changes {
				hour, since := (at-1-a-1+2*hourly)/hourly, (at-1-a-1+2*hourly)%hourly+1
				if old, ok := first[hour]; !ok || since < old {
					first[hour] = since
				}
			}
			var counts [hourly + 1]float64
			for _, since := range first {
				counts[since]++
			}
			for since, times := range counts {
				for n := since; n <= hourly && times > 0; n++ {
					cost[a][n] += times * float64((n-since)*(n-since)) / 2
				}
			}
		}
	}
	return cost
}

// scoreOffsets polls every page at the same offsets of every hour.
func scoreOffsets(g *lab.Grid, offsets []int, age lab.Age) lab.Score {
	var polled [hourly]bool
	for _, o := range offsets {
		polled[o] = true
	}
	scorer := lab.NewScorer(g, lab.Weights{}, lab.Measures{Age: age})
	for j := 1; j <= g.Instants; j++ {
		if polled[(j-1)%hourly] {
			for page := range g.Pages() {
				scorer.Poll(page, j)
			}
		}
	}
	return scorer.Score()
}

// historyOf returns the changes of one page of a grid, in two parts: those up to
// an instant, to plan from, and a grid of the rest, to judge by.
func historyOf(g *lab.Grid, page, upto int) (cyclic.Timeline, *lab.Grid) {
	var before, after []int
	for _, at := range g.Of(page) {
		if int(at) <= upto {
			before = append(before, int(at))
		} else {
			after = append(after, int(at)-upto)
		}
	}
	return cyclic.Timeline{Pages: [][]int{before}}, lab.NewGrid(g.Time(upto), g.Instant, g.Instants-upto, [][]int{after})
}

// An agesOf is how strategies did, by strategy and polls an hour, as means over
// pages.
type agesOf struct {
	name                    string
	recall, fresh, age, old [][]float64 // old is the age from the latest change, in minutes
}

// agesFigure answers how strategies for capture do by age and freshness.
func agesFigure(ctx context.Context, s Options, q question, _ policyMaker) (Figure, error) {
	return agesWith(ctx, s, q, capturing())
}

func agesWith(ctx context.Context, s Options, q question, schedules []schedule) (Figure, error) {
	days := sized(s, 90, 30)
	f := Figure{
		Title: "Strategies for capture, judged by age and freshness",
		About: fmt.Sprintf("Ashish, Kulkarni and Wang plan polls so that few changes are missed, and leave open how such plans do by the age and the freshness of the copy. Airports with two reports an hour that stray by 3 minutes, and special ones; %d days, of which two thirds are planned from and the rest is judged by. Beside their strategies stands one planned for the least age. Age counts from the first change that the copy lacks. Seed %d.", days, s.Seed),
	}
	h, err := generate.New(generate.Spec{Kind: "atis", Seed: s.Seed, Pages: 4, Length: time.Duration(days) * 24 * time.Hour})
	if err != nil {
		return f, err
	}
	g, err := h.Quantise(lab.Period{Start: beyondStart, End: beyondStart.Add(time.Duration(days) * 24 * time.Hour)})
	if err != nil {
		return f, err
	}
	sets := []*lab.Grid{g}
	names := []string{"generated"}
	if h, ok, err := recordedHistory(s, "metar-us"); err != nil {
		return f, err
	} else if ok {
		real, err := h.Quantise(lab.Period{})
		if err != nil {
			return f, err
		}
		sets, names = append(sets, real), append(names, "recorded: metar-us")
	}
	for i, g := range sets {
		found, err := judgeAges(ctx, g, names[i], schedules)
		if err != nil {
			return f, err
		}
		found.show(&f, schedules)
		f.Claims = append(f.Claims, found.claims(q, schedules)...)
	}
	return f, nil
}

// mostHourlyPolls is up to how many polls an hour strategies are compared.
const mostHourlyPolls = 10

// judgeAges plans and judges every strategy on a few pages of a grid.
func judgeAges(ctx context.Context, g *lab.Grid, name string, schedules []schedule) (agesOf, error) {
	found := agesOf{name: name}
	upto := g.Instants * 2 / 3 / hourly * hourly
	pages := min(4, len(g.Pages()))
	for _, way := range schedules {
		var recall, fresh, age, old []float64
		for polls := 1; polls <= mostHourlyPolls; polls++ {
			var r, f, a, o float64
			for k := range pages {
				if err := ctx.Err(); err != nil {
					return found, err
				}
				h, rest := historyOf(g, k*len(g.Pages())/pages, upto)
				offsets, err := way.plan(h, polls)
				if err != nil {
					return found, fmt.Errorf("planning %s: %w", way.name, err)
				}
				score := scoreOffsets(rest, offsets, lab.AgeFirst)
				r, f, a = r+score.Recall, f+score.Freshness, a+score.AgeSeconds/60
				o += scoreOffsets(rest, offsets, lab.AgeLast).AgeSeconds / 60
			}
			n := float64(pages)
			recall, fresh, age, old = append(recall, r/n), append(fresh, f/n), append(age, a/n), append(old, o/n)
		}
		found.recall, found.fresh = append(found.recall, recall), append(found.fresh, fresh)
		found.age, found.old = append(found.age, age), append(found.old, old)
	}
	return found, nil
}

// show adds pictures and a table to a figure.
func (a agesOf) show(f *Figure, schedules []schedule) {
	for _, m := range []struct {
		caption string
		values  [][]float64
		most    float64
	}{{"change recall", a.recall, 1}, {"freshness", a.fresh, 1}, {"age (minutes)", a.age, a.age[0][0]}} {
		chart := plot.Chart{Title: a.name + ": " + m.caption, X: plot.Linear("polls an hour", 0, mostHourlyPolls), Y: plot.Linear(m.caption, 0, m.most)}
		for i, way := range schedules {
			line := plot.Line{Name: way.name}
			for n, v := range m.values[i] {
				chart.Y.To = max(chart.Y.To, v)
				line.Points = append(line.Points, [2]float64{float64(n + 1), v})
			}
			chart.Lines = append(chart.Lines, line)
		}
		f.SVGs = append(f.SVGs, chart.SVG())
	}
	table := Table{Head: []string{a.name + ", strategy", "polls an hour", "recall", "freshness", "age, minutes", "age from the latest, minutes"}}
	for i, way := range schedules {
		for _, n := range []int{2, 4, 8} {
			table.Rows = append(table.Rows, []string{way.name, fmt.Sprint(n), fmt.Sprintf("%.3f", a.recall[i][n-1]), fmt.Sprintf("%.3f", a.fresh[i][n-1]), fmt.Sprintf("%.2f", a.age[i][n-1]), fmt.Sprintf("%.2f", a.old[i][n-1])})
		}
	}
	f.Tables = append(f.Tables, table)
}

// recallGrowsOld says why plans for recall are not plans for age.
const recallGrowsOld = "Recall counts changes, and age counts time: a plan for recall puts a poll off to where it may catch one more change, and the copy grows old in the stretches without a poll. They are longest where polls are fewest."

// claims says what was found.
func (a agesOf) claims(q question, schedules []schedule) []Claim {
	at := map[string]int{}
	for i, way := range schedules {
		at[way.name] = i
	}
	uniform, optimal, modeled, forAge := at["uniform"], at["optimal"], at["modeled"], at["for age"]
	younger, modeledYounger, fresher := 0, 0, 0
	loss, price, worst := 0.0, 0.0, 0
	for n := range mostHourlyPolls {
		if a.age[optimal][n] < a.age[uniform][n] {
			younger++
		}
		if a.age[modeled][n] < a.age[uniform][n] {
			modeledYounger++
		}
		if a.fresh[optimal][n] > a.fresh[uniform][n] {
			fresher++
		}
		if d := a.age[optimal][n] - a.age[forAge][n]; d > loss {
			loss, worst = d, n
		}
		price = max(price, a.recall[optimal][n]-a.recall[forAge][n])
	}
	return []Claim{
		q.finding("A strategy that maximises recall can also be used to minimise the average age ("+a.name+")", "“performs better than existing strategies in many cases” (capture, section 2): younger than uniform for most numbers of polls",
			younger*2 > mostHourlyPolls, "optimal younger for %d, modeled for %d of %d numbers of polls; optimal at 2, 4 and 8 an hour %.2f, %.2f, %.2f minutes against %.2f, %.2f, %.2f",
			younger, modeledYounger, mostHourlyPolls, a.age[optimal][1], a.age[optimal][3], a.age[optimal][7], a.age[uniform][1], a.age[uniform][3], a.age[uniform][7]).because(recallGrowsOld),
		q.finding("Is the copy also fresher than by uniform polls? ("+a.name+")", "for most numbers of polls", fresher*2 > mostHourlyPolls,
			"fresher for %d of %d; at 2, 4 and 8 an hour %.3f, %.3f, %.3f against %.3f, %.3f, %.3f", fresher, mostHourlyPolls,
			a.fresh[optimal][1], a.fresh[optimal][3], a.fresh[optimal][7], a.fresh[uniform][1], a.fresh[uniform][3], a.fresh[uniform][7]),
		q.finding("How far is it from a plan for age? ("+a.name+")", "not far: at most a minute older", loss <= 1,
			"up to %.2f minutes older (N = %d polls an hour: %.2f against %.2f)", loss, worst+1, a.age[optimal][worst], a.age[forAge][worst]).because(recallGrowsOld),
		q.finding("And what does a plan for age cost in recall? ("+a.name+")", "little: at most five changes of a hundred", price <= .05,
			"up to %.3f of recall", price).because("A plan for age spaces its polls more evenly, so that two changes fall between two polls more often. The limit of five in a hundred is ours."),
	}
}
