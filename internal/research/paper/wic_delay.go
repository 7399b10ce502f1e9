package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/learn/estimate"
)

// wicLate is the delay from which on figure 8 tells no more apart.
const wicLate = 10

// wicTail is the chance below which the tails of spreads are left out, to see
// what they do.
const wicTail = .001

// wicDelayShares returns the shares of the captured changes by delay; the last
// is that of all that are late.
func wicDelayShares(s lab.Score) []float64 {
	shares := make([]float64, wicLate+1)
	for t, n := range s.Delays {
		shares[min(t, wicLate)] += float64(n) / float64(max(1, s.Captured))
	}
	return shares
}

// delayChart draws a distribution of delays.
func (set wicSet) delayChart(title string, shares []float64) string {
	c := plot.Chart{Title: set.titled(title), X: plot.Axis{Caption: "delay (instants of " + set.instant + ")", From: -.6, To: wicLate + .6}, Y: plot.Linear("of the changes captured", 0, 1)}
	for t, share := range shares {
		label := fmt.Sprint(t)
		if t == wicLate {
			label += "+"
		}
		c.X.Ticks = append(c.X.Ticks, plot.Tick{At: float64(t), Label: label})
		c.Columns = append(c.Columns, plot.Column{From: float64(t) - .4, To: float64(t) + .4, Height: share})
	}
	return c.SVG()
}

// delays is figure 8: how late changes are captured.
func (w wicStudy) delays(ctx context.Context, s Options) (Figure, error) {
	about := fmt.Sprintf("How late the captured changes are captured, life append, FPN = %v, sigma = %v, C = 8 (the recorded auctions: C = 3, about as short of their changes).", wicNoise.FPN, wicNoise.Sigma)
	return wicEverySet(s, "Distribution of the delay of captured changes", about, func(set wicSet, f *Figure) error {
		scores, err := w.atMiddle(ctx, set, set.middle)
		if err != nil {
			return err
		}
		more, err := w.atMiddle(ctx, set, set.ample)
		if err != nil {
			return err
		}
		trimmed, err := w.wic.without(wicTail).replay(ctx, set, wicBest, set.middle, wicNoise)
		if err != nil {
			return err
		}
		t := Table{Head: []string{"delay"}}
		for d := range wicLate {
			t.Head = append(t.Head, fmt.Sprint(d))
		}
		t.Head = append(t.Head, fmt.Sprintf("%d+", wicLate))
		row := func(name string, score lab.Score) {
			t.Rows = append(t.Rows, append([]string{name}, strings.Split(wicFigures(wicDelayShares(score)), ", ")...))
		}
		for i, r := range wicRates {
			row(fmt.Sprintf("r = %v", r), scores[i])
			if r == 0 || r == 1 {
				title := fmt.Sprintf("Delay of captured changes, r = %v, C = %v", r, set.middle)
				f.SVGs = append(f.SVGs, set.delayChart(title, wicDelayShares(scores[i])))
			}
		}
		row(fmt.Sprintf("r = 1, no chances below %v", wicTail), trimmed)
		f.Tables = append(f.Tables, t)
		f.Claims = append(f.Claims, wicDelayClaims(set, scores, more, trimmed)...)
		return nil
	})
}

// wicDelayClaims are those of figure 8, by scores with every urgency at the
// budget of the figure; at an ample one and without small chances for comparison.
func wicDelayClaims(set wicSet, scores, ample []lab.Score, trimmed lab.Score) []Claim {
	last := len(scores) - 1
	prompt := set.claim("figure 8", "with r = 0 nearly all captured changes are captured at once", "over 90% with zero delay")
	prompt.Measured = wicPercent(wicZeroPart(scores[0]))
	prompt.Holds = wicZeroPart(scores[0]) > .9
	prompt = wicWhy(prompt, fmt.Sprintf("A poll of a page that appends also finds the changes that were passed over before, and they count as captured late: %s of the captured are 10 or more instants late, %s are late by less. How many there are depends on how many changes a page has. At C = %v it is %s.",
		wicPercent(scores[0].Late(wicLate)), wicPercent(1-wicZeroPart(scores[0])-scores[0].Late(wicLate)), set.ample, wicPercent(wicZeroPart(ample[0]))))

	drops := set.claim("figure 8", "with r = 1 few captured changes are captured at once", "drops below [a digit lost in the scan]% (held to 10%, and to less than with r = 0)")
	drops.Measured = wicPercent(wicZeroPart(scores[last]))
	drops.Holds = wicZeroPart(scores[last]) < min(.1, wicZeroPart(scores[0]))
	drops = wicWhy(drops, fmt.Sprintf("The scan has lost the digit; ten percent is the most that one digit can stand for. At C = %v it is %s.", set.ample, wicPercent(wicZeroPart(ample[last]))))

	late := set.claim("figure 8", "with r = 1 about half of the captured changes are captured 10 or more instants late", "roughly 50% (held to 35% to 65%)")
	late.Measured = wicPercent(scores[last].Late(wicLate))
	late.Holds = scores[last].Late(wicLate) >= .35 && scores[last].Late(wicLate) <= .65
	if scores[last].Late(wicLate) < .35 {
		late.Why = "Polls nearly keep up with the changes, and hardly a page waits long."
		return []Claim{prompt, drops, late}
	}
	late = wicWhy(late, fmt.Sprintf("%.1f changes an instant to %v polls leave pages waiting, and those that wait are worth nearly the same: the far tails of their spreads settle who waits how long. Without chances below %v it is %s; at C = %v it is %s.",
		float64(scores[last].Changes)/float64(scores[last].Instants), set.middle, wicTail, wicPercent(trimmed.Late(wicLate)), set.ample, wicPercent(ample[last].Late(wicLate))))
	return []Claim{prompt, drops, late}
}

// balance is figure 9: timeliness against completeness.
func (w wicStudy) balance(ctx context.Context, s Options) (Figure, error) {
	about := fmt.Sprintf("Changes captured and changes captured at once over r, life append, FPN = %v, sigma = %v, C = 8 (the recorded auctions: C = 3, about as short of their changes).", wicNoise.FPN, wicNoise.Sigma)
	return wicEverySet(s, "Timeliness against completeness", about, func(set wicSet, f *Figure) error {
		scores, err := w.atMiddle(ctx, set, set.middle)
		if err != nil {
			return err
		}
		after, err := w.wic.later(wicReach).replay(ctx, set, wicBest, set.middle, wicNoise)
		if err != nil {
			return err
		}
		var total, prompt []float64
		for _, score := range scores {
			total, prompt = append(total, wicRecall(score)), append(prompt, wicAtOnce(score))
		}
		f.SVGs = append(f.SVGs, wicKnob(set.titled(fmt.Sprintf("Timeliness against completeness, C = %v", set.middle)), "of all changes",
			wicOver("captured", wicRates, total), wicOver("captured at once", wicRates, prompt)))
		t := Table{Head: []string{"r", "captured", "captured at once"}}
		for i, r := range wicRates {
			t.Rows = append(t.Rows, []string{fmt.Sprint(r), wicFigure(total[i]), wicFigure(prompt[i])})
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("1, chances told %d instants late", wicReach), wicFigure(wicRecall(after)), wicFigure(wicAtOnce(after))})
		f.Tables = append(f.Tables, t)
		claims := wicTradeoffClaims(set, total, prompt, after)
		f.Claims = append(f.Claims, claims...)
		if timely := &f.Claims[len(f.Claims)-1]; !timely.Holds {
			exact, err := w.promptly(ctx, set)
			if err != nil {
				return err
			}
			timely.Why = "With chances that are exact the shares are " + wicFigures(exact) + "."
			if wicFalls(exact) {
				timely.Why = "It is the noise: r = 0 goes by the chance of the present instant alone, which is wrong then. " + timely.Why
			}
		}
		return nil
	})
}

// wicReach is how many instants before a change its spread begins.
const wicReach = 12

// wicTradeoffClaims are those of figure 9; after is how r = 1 does if chances
// rise only after the change.
func wicTradeoffClaims(set wicSet, total, prompt []float64, after lab.Score) []Claim {
	last := len(total) - 1
	complete := set.claim("figure 9", "the larger r, the more changes are captured", "rises from timeliness only (r = 0) to completeness only (r = 1)")
	complete.Measured = wicFigures(total)
	complete.Holds = wicRises(total) && total[last] > total[0]
	timely := set.claim("figure 9", "the larger r, the fewer changes are captured at once", "falls from timeliness only (r = 0) to completeness only (r = 1)")
	timely.Measured = wicFigures(prompt)
	timely.Holds = wicFalls(prompt)
	return []Claim{
		wicWhy(complete, fmt.Sprintf("With r = 1 pages that wait are worth nearly the same, until the spread of its next change lifts one above the others: it is polled just before that change, for the one that it has had. With r = 0.8 that one has lost its worth, and the poll comes later, for both. Told %d instants late, so that chances rise only after the change, r = 1 captures %s.",
			wicReach, wicPercent(after.Recall))),
		timely,
	}
}

// promptly returns which share of the changes WIC that knows all chances captures at
// once, by urgency.
func (w wicStudy) promptly(ctx context.Context, set wicSet) (shares []float64, err error) {
	for _, r := range wicRates {
		s, err := w.wic.replay(ctx, set, wicCase{wicBest.life, r}, set.middle, estimate.Noise{})
		if err != nil {
			return nil, err
		}
		shares = append(shares, wicAtOnce(s))
	}
	return shares, nil
}

// wicFalls reports whether numbers fall, or rise by less than counts.
func wicFalls(xs []float64) bool {
	falling := slices.Clone(xs)
	slices.Reverse(falling)
	return wicRises(falling) && xs[0] > xs[len(xs)-1]
}

// wicRises reports whether numbers rise, or fall by less than counts.
func wicRises(xs []float64) bool {
	for i := 1; i < len(xs); i++ {
		if xs[i] < xs[i-1]-wicTolerance {
			return false
		}
	}
	return true
}

// wicOver returns a line over r.
func wicOver(name string, rates, ys []float64) plot.Line {
	l := plot.Line{Name: name}
	for i, r := range rates {
		l.Points = append(l.Points, [2]float64{r, ys[i]})
	}
	return l
}

// wicKnob draws lines over r.
func wicKnob(title, caption string, lines ...plot.Line) string {
	most := 1.0
	for _, l := range lines {
		for _, p := range l.Points {
			most = max(most, p[1])
		}
	}
	return plot.Chart{
		Title: title,
		X:     plot.Linear("r, from timeliness only (0) to completeness only (1)", 0, 1),
		Y:     plot.Linear(caption, 0, most),
		Lines: lines,
	}.SVG()
}
