package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
)

// wicUrgencies is figure 4: what a capture is worth by its delay.
func wicUrgencies(_ context.Context, s Options) (Figure, error) {
	const longest = 20
	c := plot.Chart{
		Title: "Urgency for different values of r",
		X:     plot.Linear("delay (instants)", 0, longest),
		Y:     plot.Linear("urgency", 0, 1),
	}
	worth := make([][]float64, len(wicRates)) // by r and delay
	for i, r := range wicRates {
		u := objective.Decay{Kind: objective.UrgencyExp, A: r}
		line := plot.Line{Name: fmt.Sprintf("r = %v", r)}
		for t := range longest + 1 {
			worth[i] = append(worth[i], u.At(float64(t)))
			line.Points = append(line.Points, [2]float64{float64(t), u.At(float64(t))})
		}
		c.Lines = append(c.Lines, line)
	}
	claim := func(text, expected, measured string, holds bool) Claim {
		return Claim{Paper: WIC, Where: "figure 4", Claim: text, Expected: expected, Measured: measured, Holds: holds}
	}
	never, always := worth[0][1:], worth[len(worth)-1]
	ordered, falling := true, true
	for i := range worth {
		for t := 1; t <= longest; t++ {
			falling = falling && worth[i][t] <= worth[i][t-1]
			ordered = ordered && (i == 0 || worth[i][t] > worth[i-1][t])
		}
	}
	return Figure{
		Title: "Urgency for different values of r",
		About: fmt.Sprintf("The urgency r^t of a capture t instants late, which the experiments use. Nothing is drawn by chance (seed %d has no part in it).", s.Seed),
		SVGs:  []string{c.SVG()},
		Claims: []Claim{
			claim("with r = 0, changes that are not captured in their instant are of no value", "1 at once, 0 later",
				fmt.Sprintf("%v at once, at most %v later", worth[0][0], slices.Max(never)), worth[0][0] == 1 && slices.Max(never) == 0),
			claim("with r = 1, timeliness has no bearing", "1 at every delay", fmt.Sprintf("at least %v up to %d instants", slices.Min(always), longest), slices.Min(always) == 1),
			claim("r tunes the balance: the larger, the more late captures are worth", "curves in the order of r, none rising",
				fmt.Sprintf("in order: %t; none rises: %t; worth after 4 instants %s", ordered, falling,
					wicFigures([]float64{worth[0][4], worth[1][4], worth[2][4], worth[3][4], worth[4][4]})), ordered && falling),
		},
	}, nil
}

// urgencies replays WIC with every urgency over all budgets.
func (w wicStudy) urgencies(ctx context.Context, set wicSet, life objective.VisibilityKind) (curves []wicCurve, err error) {
	for _, r := range wicRates {
		c, err := w.wic.curve(ctx, fmt.Sprintf("r = %v", r), set, wicCase{objective.Visibility{Kind: life}, r}, wicNoise)
		if err != nil {
			return nil, err
		}
		curves = append(curves, c)
	}
	return curves, nil
}

// captured is figure 7: how many changes are captured with which urgency.
func (w wicStudy) captured(ctx context.Context, s Options) (Figure, error) {
	about := fmt.Sprintf("Changes captured over C, life append, FPN = %v, sigma = %v; the table of overwrite is for the remark that it gives similar results.", wicNoise.FPN, wicNoise.Sigma)
	return wicEverySet(s, "Changes captured with different urgencies", about, func(set wicSet, f *Figure) error {
		curves, err := w.urgencies(ctx, set, objective.VisibleForever)
		if err != nil {
			return err
		}
		over, err := w.urgencies(ctx, set, objective.VisibleUntilNext)
		if err != nil {
			return err
		}
		f.SVGs = append(f.SVGs, set.chart(set.titled("Changes captured; life is append"), "captured, of all changes", curves, wicRecall))
		f.Tables = append(f.Tables, set.table("captured, append", curves, wicRecall), set.table("captured, overwrite", over, wicRecall))
		f.Claims = append(f.Claims,
			wicMoreWithBudget(set.claim("figure 7", "more changes are captured as C grows, with every urgency", "more changes are captured in each case"), curves),
			wicMoreWithUrgency(set.claim("figure 7", "more changes are captured as r grows", "the number of changes captured increases as r increases"), curves),
			wicLead(set, curves),
			wicMoreWithUrgency(set.claim("figure 7, overwrite", "the results are similar if changes overwrite", "similar results were obtained with life set to overwrite"), over))
		return nil
	})
}

// wicMoreWithBudget holds curves to rising with the budget.
func wicMoreWithBudget(c Claim, curves []wicCurve) Claim {
	least := 1.0
	for _, curve := range curves {
		for b := 1; b < len(curve.scores); b++ {
			least = min(least, curve.scores[b].Recall-curve.scores[b-1].Recall)
		}
	}
	c.Measured = fmt.Sprintf("the least gain from one C to the next is %+.4f of all changes", least)
	c.Holds = least >= -wicTolerance
	return wicWhy(c, wicSlackReason)
}

// wicMoreWithUrgency holds curves to rising with r, on the average over C.
func wicMoreWithUrgency(c Claim, curves []wicCurve) Claim {
	means := wicMeans(curves, wicRecall)
	c.Measured = "captured with r = 0, 0.3, 0.5, 0.8, 1, as means over C: " + wicFigures(means)
	c.Holds = slices.IsSorted(means) && means[0] < means[len(means)-1]
	return wicWhy(c, "Not every step of r captures more, on the average over C.")
}

// wicLead claims how many more changes r = 1 captures than r = 0 while polls
// are few. The lower end of the range is lost in the scan of the paper.
func wicLead(set wicSet, curves []wicCurve) Claim {
	c := set.claim("figure 7", fmt.Sprintf("while polls are few (C < %v), r = 1 captures many more changes than r = 0", set.ample), "between around [lost in the scan]% and 80% more")
	low, high := 10.0, -1.0
	first, last := curves[0].scores, curves[len(curves)-1].scores
	var leads []string
	for b, polls := range set.budgets {
		if polls < set.ample {
			lead := float64(last[b].Captured)/float64(max(1, first[b].Captured)) - 1
			low, high = min(low, lead), max(high, lead)
			leads = append(leads, fmt.Sprintf("%s at C = %v", wicPercent(lead), polls))
		}
	}
	c.Measured = fmt.Sprintf("between %s and %s more: %s", wicPercent(low), wicPercent(high), strings.Join(leads, ", "))
	c.Holds = low > 0 && high >= .6 && high <= 1
	return wicWhy(c, "Held to a lead at every C, of 60% to 100% at its highest. The lead hangs on how many changes of a page a late poll finds together, which differs from one set of auctions to another, and on the order of pages that are worth nearly the same (see figures 8 and 9).")
}

// atMiddle replays WIC with every urgency at the budget of figures 8 and 9.
func (w wicStudy) atMiddle(ctx context.Context, set wicSet, polls float64) (scores []lab.Score, err error) {
	for _, r := range wicRates {
		s, err := w.wic.replay(ctx, set, wicCase{objective.Visibility{Kind: objective.VisibleForever}, r}, polls, wicNoise)
		if err != nil {
			return nil, err
		}
		scores = append(scores, s)
	}
	return scores, nil
}
