package paper

import (
	"context"
	"fmt"
	"math/rand/v2"

	"freshet/internal/freshet/objective"
	"freshet/internal/lab/plot"
)

// A choiceRow is a case in which choice rules are compared.
type choiceRow struct {
	family   changeFamily
	life     string
	decay    float64 // what a change keeps of its worth in an instant
	weighted bool
}

// choiceRows are all cases: those of unequal weights for pages that show their
// present state only, and the others for both lives.
func choiceRows() (rows []choiceRow) {
	for _, f := range changeFamilies() {
		for _, decay := range []float64{1, .9, .5} {
			rows = append(rows, choiceRow{f, "overwrite", decay, false}, choiceRow{f, "append", decay, false}, choiceRow{f, "overwrite", decay, true})
		}
	}
	return rows
}

// String describes a case.
func (r choiceRow) String() string {
	weights := ""
	if r.weighted {
		weights = ", weights 1, .5, .2, .1"
	}
	return fmt.Sprintf("%s, %s, r = %v%s", r.family.name, r.life, r.decay, weights)
}

// model draws the pages of a case.
func (r choiceRow) model(seed uint64, pages, instants, polls int) (knownModel, error) {
	m := knownModel{polls: polls}
	var err error
	if m.life, err = objective.ParseVisibilityIn(modelInstant, r.life); err != nil {
		return m, err
	}
	m.urgency = objective.Urgency{Kind: objective.UrgencyExp, A: r.decay, Per: modelInstant}
	draw := rand.New(rand.NewPCG(seed, 0x7072696365))
	for i := range pages {
		m.chance = append(m.chance, r.family.draw(draw, instants))
		weight := 1.0
		if r.weighted {
			weight = []float64{1, .5, .2, .1}[i%4]
		}
		m.weights = append(m.weights, weight)
	}
	return m, nil
}

// The rules that are compared, and their places. The last is a plan and no policy.
var choiceRules = []string{"round-robin", "wic", "planned"}

const (
	byAccrual = 1
	byPlan    = 2
)

// priceFigure answers which of several sources to poll, where it is known how
// likely they are to change.
func priceFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	pages, instants, polls := sized(s, 120, 30), sized(s, 360, 90), sized(s, 4, 2)
	f := Figure{
		Title: "To poll where most has accrued, or where waiting loses most?",
		About: fmt.Sprintf("WIC polls at every instant the pages for which most utility has accrued. A plan that looks ahead has a price for the polls of each instant, those that give the bound, and polls where a poll now beats the best later ones. %d pages of which the chance of a change is known for each of %d instants, %d polls an instant; a change is worth r^t after t instants. Chances are steady (log-normal around 0.03), have a peak an hour, or are events known to within a normal distribution of 2 instants. Figures are the expected utility of each rule's polls, as a share of a bound that no schedule made from the chances can surpass. Seed %d.", pages, instants, polls, s.Seed),
	}
	table := Table{Head: append([]string{"chances", "life", "r", "weights"}, choiceRules...)}
	chart := plot.Chart{Title: "Expected utility as a share of the bound, by row of the table", X: plot.Linear("row", 0, float64(len(choiceRows()))), Y: plot.Linear("share", 0, 1)}
	for _, rule := range choiceRules {
		chart.Lines = append(chart.Lines, plot.Line{Name: rule})
	}
	var shares [][]float64 // by row and rule
	for n, row := range choiceRows() {
		share, err := row.judge(ctx, s.Seed, pages, instants, polls, make)
		if err != nil {
			return Figure{}, fmt.Errorf("judging %s: %w", row, err)
		}
		shares = append(shares, share)
		cells := []string{row.family.name, row.life, fmt.Sprint(row.decay), map[bool]string{false: "equal", true: "unequal"}[row.weighted]}
		for i, x := range share {
			cells = append(cells, fmt.Sprintf("%.3f", x))
			chart.Lines[i].Points = append(chart.Lines[i].Points, [2]float64{float64(n + 1), x})
		}
		table.Rows = append(table.Rows, cells)
	}
	f.SVGs, f.Tables = []string{chart.SVG()}, []Table{table}
	f.Claims = priceClaims(q, shares)
	return f, nil
}

// judge returns the share of the bound that each rule is expected to reach.
func (r choiceRow) judge(ctx context.Context, seed uint64, pages, instants, polls int, make policyMaker) (shares []float64, err error) {
	m, err := r.model(seed, pages, instants, polls)
	if err != nil {
		return nil, err
	}
	l, err := m.limit()
	if err != nil {
		return nil, err
	}
	for _, rule := range choiceRules[:byPlan] {
		utility, err := m.expected(ctx, make, rule)
		if err != nil {
			return nil, err
		}
		shares = append(shares, utility/l.Value)
	}
	return append(shares, l.Reached/l.Value), nil
}

func priceClaims(q question, shares [][]float64) []Claim {
	rows := choiceRows()
	least, leastRow := 2.0, 0   // of the plan, where late is worth less
	greedy, greedyRow := 2.0, 0 // of WIC
	for n, share := range shares {
		if rows[n].decay < 1 && share[byPlan] < least {
			least, leastRow = share[byPlan], n
		}
		if share[byAccrual] < greedy {
			greedy, greedyRow = share[byAccrual], n
		}
	}
	return []Claim{
		q.finding("Where late is worth less than early, how near does a plan that looks ahead come to what can be had?", "98% of the bound or more in every row with r < 1",
			least >= .98, "at the least %s (%s)", percent(least), rows[leastRow]),
		q.finding("What does WIC lose by not looking ahead?", "5% or more somewhere, although its guarantee is met everywhere: half of what can be had",
			greedy <= .95 && greedy >= .5, "it has %s at the least (%s)", percent(greedy), rows[greedyRow]),
	}
}
