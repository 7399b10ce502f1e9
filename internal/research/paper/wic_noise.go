package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
)

// A wicLevel is one degree of noise.
type wicLevel struct {
	name  string
	noise estimate.Noise
}

// wicTolerance is how far a curve may cross another before it counts: about the
// noise of one run.
const wicTolerance = .01

// wicSpreads are the levels of figure 5.
func wicSpreads(calibrated bool) (levels []wicLevel) {
	for sigma := range 6 {
		levels = append(levels, wicLevel{
			fmt.Sprintf("sigma = %d", sigma),
			estimate.Noise{Sigma: float64(sigma), Calibrated: calibrated && sigma > 0},
		})
	}
	return levels
}

// wicFalsehoods are the levels of figure 6.
func wicFalsehoods() (levels []wicLevel) {
	for tenths := range 5 {
		fpn := float64(tenths) / 10
		levels = append(levels, wicLevel{fmt.Sprintf("FPN = %v", fpn), estimate.Noise{FPN: fpn}})
	}
	return levels
}

// A wicEffect is what noise does to the utility in the best and the worst case.
type wicEffect struct{ best, worst []wicCurve }

// effect replays both cases at every level, and draws them with what is said of
// the noise.
func (w wicStudy) effect(ctx context.Context, set wicSet, noise string, levels []wicLevel, f *Figure) (e wicEffect, err error) {
	for _, x := range []struct {
		wicCase
		into *[]wicCurve
	}{{wicBest, &e.best}, {wicWorst, &e.worst}} {
		for _, l := range levels {
			curve, err := w.wic.curve(ctx, l.name, set, x.wicCase, l.noise)
			if err != nil {
				return e, err
			}
			*x.into = append(*x.into, curve)
		}
		f.SVGs = append(f.SVGs, set.chart(set.titled(noise+"; life is "+x.wicCase.String()), "utility, of the most there is", *x.into, wicUtility))
		f.Tables = append(f.Tables, set.table("utility; "+x.wicCase.String(), *x.into, wicUtility))
	}
	return e, nil
}

// falls claims that utility falls as the noise grows.
func (e wicEffect) falls(c Claim) Claim {
	best, worst := wicMeans(e.best, wicUtility), wicMeans(e.worst, wicUtility)
	rise := max(wicLargestRise(e.best, wicUtility), wicLargestRise(e.worst, wicUtility))
	c.Measured = fmt.Sprintf("means over C: %s (append, r = 1) and %s (overwrite, r = 0); largest rise at any C %+.4f",
		wicFigures(best), wicFigures(worst), rise)
	c.Holds = rise <= wicTolerance && best[0] > best[len(best)-1] && worst[0] > worst[len(worst)-1]
	return c
}

// kept returns the share of the noiseless utility that is left at a level, in
// the best and the worst case.
func (e wicEffect) kept(level int) (best, worst float64) {
	return e.best[level].mean(wicUtility) / e.best[0].mean(wicUtility), e.worst[level].mean(wicUtility) / e.worst[0].mean(wicUtility)
}

// tolerant claims that at a level WIC still has at least so much of what it has
// without noise.
func (e wicEffect) tolerant(c Claim, level int, least float64) Claim {
	best, worst := e.kept(level)
	c.Measured = fmt.Sprintf("%s of the noiseless utility is left (append, r = 1) and %s (overwrite, r = 0), as means over C", wicPercent(best), wicPercent(worst))
	c.Holds = min(best, worst) >= least
	return c
}

// depends claims that noise costs more in the worst case than in the best.
func (e wicEffect) depends(c Claim, level int) Claim {
	best, worst := e.kept(level)
	c.Measured = fmt.Sprintf("%s of the utility is lost to the most noise (append, r = 1) and %s (overwrite, r = 0)", wicPercent(1-best), wicPercent(1-worst))
	c.Holds = worst < best
	return c
}

// spread is figure 5: the effect of chances that are spread over time.
func (w wicStudy) spread(ctx context.Context, s Options) (Figure, error) {
	about := "Utility over C for spreads of 0 to 5 instants, no false positives or negatives, in what the paper found to be the best and the worst case."
	return wicEverySet(s, "Effect of chances that are spread over time", about, func(set wicSet, f *Figure) error {
		e, err := w.effect(ctx, set, "Spread", wicSpreads(false), f)
		if err != nil {
			return err
		}
		between, err := w.between(ctx, set, set.claim("figure 5", "the other lives and urgencies lose less utility to spread than the worst case and more than the best", "in between the two extremes"),
			estimate.Noise{Sigma: 5})
		if err != nil {
			return err
		}
		tolerant := e.tolerant(set.claim("figure 5", "WIC performs reasonably well at sigma = 4, although chances peak at a tenth", "fairly tolerant of a modest degree of spread (no number; held to half of the utility)"), 4, .5)
		if !tolerant.Holds {
			if tolerant.Why, err = w.crowded(ctx, set); err != nil {
				return err
			}
		}
		f.Claims = append(f.Claims,
			wicWhy(e.falls(set.claim("figure 5", "utility falls as the spread grows", "in both graphs the utility decreases with increasing sigma")), wicSlackReason),
			tolerant,
			e.depends(set.claim("figure 5", "how much spread costs depends on life and urgency", "append with r = 1 is the best case, overwrite with r = 0 the worst"), 5),
			between)
		if !set.real {
			f.Claims = append(f.Claims, wicPeaks())
		}
		return nil
	})
}

const wicSlackReason = "WIC is greedy at every instant. That guarantees half of the best, and not that less knowledge or fewer polls always do worse."

// crowded says whether it is changes that follow one another closely which spread
// makes hard to tell apart: it leaves those out that come sooner than that.
func (w wicStudy) crowded(ctx context.Context, set wicSet) (string, error) {
	const sigma = 4
	thin, n := set.apart(4 * sigma)
	var kept [2]float64
	for i, noise := range []estimate.Noise{{}, {Sigma: sigma}} {
		c, err := w.wic.curve(ctx, "", thin, wicWorst, noise)
		if err != nil {
			return "", err
		}
		kept[i] = c.mean(wicUtility)
	}
	return fmt.Sprintf("The limit is ours. Where changes of a page follow one another, their spreads run together: without the %d changes that come within %d instants after another, %s is left (overwrite, r = 0).",
		n, 4*sigma, wicPercent(kept[1]/kept[0])), nil
}

// apart returns the set without the changes of a page that come sooner than so many
// instants after one that is kept, and how many those are.
func (set wicSet) apart(instants int32) (wicSet, int) {
	changes, gone := make([][]int, len(set.grid.Pages())), 0
	for page := range changes {
		last := -instants
		for _, at := range set.grid.Of(page) {
			if at-last < instants {
				gone++
				continue
			}
			last = at
			changes[page] = append(changes[page], int(at))
		}
	}
	set.grid = lab.NewGrid(set.grid.Start, set.grid.Instant, set.grid.Instants, changes)
	return set, gone
}

// displaced is figure 5 with spreads whose centres are off by as much as they
// are wide. The paper's stay on the change, so that the likeliest instant is
// always the right one.
func (w wicStudy) displaced(ctx context.Context, s Options) (Figure, error) {
	about := "An addition: as figure 5, but the centre of each spread is moved by a draw from it, as an honest estimator's would be. In the paper the likeliest instant is always the right one, however wide the spread."
	return wicEverySet(s, "Effect of chances that are spread over time and displaced", about, func(set wicSet, f *Figure) error {
		e, err := w.effect(ctx, set, "Displaced spread", wicSpreads(true), f)
		if err != nil {
			return err
		}
		const where = "figure 5, with displaced spreads"
		why := "The limit is ours, and the same as in figure 5: the tolerance of spread is owed to spreads that stay centred on the change."
		own := []Claim{
			wicWhy(e.falls(set.claim(where, "utility falls as the spread grows, if its centre is off as well", "in both graphs the utility decreases with increasing sigma")), wicSlackReason),
			wicWhy(e.tolerant(set.claim(where, "WIC performs reasonably well at sigma = 4, if its centre is off as well", "fairly tolerant of a modest degree of spread (no number; held to half of the utility)"), 4, .5), why)}
		for i := range own {
			own[i].Kind = Question
		}
		f.Claims = append(f.Claims, own...)
		return nil
	})
}

// falsehoods is figure 6: the effect of changes that are expected at the wrong
// time.
func (w wicStudy) falsehoods(ctx context.Context, s Options) (Figure, error) {
	about := "Utility over C for shares FPN of the changes that are expected at a random instant instead of their own; no spread."
	return wicEverySet(s, "Effect of false positives and false negatives", about, func(set wicSet, f *Figure) error {
		e, err := w.effect(ctx, set, "False chances", wicFalsehoods(), f)
		if err != nil {
			return err
		}
		f.Claims = append(f.Claims,
			wicWhy(e.falls(set.claim("figure 6", "utility falls as false positives and negatives grow", "decreases with increasing FPN")), wicSlackReason),
			wicWhy(e.tolerant(set.claim("figure 6", "WIC is fairly tolerant of false positives and negatives (the text says intolerant, and means tolerant)",
				"no number; held to losing no more than the share of false chances: 60% left at FPN = 0.4"), 4, .6),
				"The limit is ours, and what is left is close to it: a poll that goes by a false chance is lost, and so is the change that it stood for."),
			e.depends(set.claim("figure 6", "how much false chances cost depends on life and urgency", "append with r = 1 is the best case, overwrite with r = 0 the worst"), 4))
		return nil
	})
}

// between claims that what noise costs with other lives and urgencies lies
// between the two cases that are drawn.
func (w wicStudy) between(ctx context.Context, set wicSet, c Claim, n estimate.Noise) (Claim, error) {
	loss := func(x wicCase) (float64, error) {
		exact, err := w.wic.replay(ctx, set, x, set.middle, estimate.Noise{})
		if err != nil {
			return 0, err
		}
		noisy, err := w.wic.replay(ctx, set, x, set.middle, n)
		return 1 - noisy.Utility/exact.Utility, err
	}
	var losses []float64
	for _, life := range []objective.VisibilityKind{objective.VisibleForever, objective.VisibleUntilNext} {
		for _, r := range wicRates {
			l, err := loss(wicCase{objective.Visibility{Kind: life}, r})
			if err != nil {
				return c, err
			}
			losses = append(losses, l)
		}
	}
	rates := len(wicRates)
	best, worst := losses[rates-1], losses[rates]
	c.Measured = fmt.Sprintf("share of the utility lost at sigma = %v, C = %v, r = 0, 0.3, 0.5, 0.8, 1: %s (append) and %s (overwrite)",
		n.Sigma, set.middle, wicFigures(losses[:rates]), wicFigures(losses[rates:]))
	c.Holds = slices.Min(losses) >= best-wicTolerance && slices.Max(losses) <= worst+wicTolerance
	var outside []string
	for i, l := range losses {
		if l < best-wicTolerance || l > worst+wicTolerance {
			life := []objective.VisibilityKind{objective.VisibleForever, objective.VisibleUntilNext}[i/rates]
			outside = append(outside, fmt.Sprintf("%v (%s)", wicCase{objective.Visibility{Kind: life}, wicRates[i%rates]}, wicFigure(l)))
		}
	}
	return wicWhy(c, "Outside lie "+strings.Join(outside, ", ")+"."), nil
}

// wicPeaks claims how high spread chances are at their highest.
func wicPeaks() Claim {
	peak := func(sigma float64) float64 {
		const instants, at = 201, 101
		g := lab.NewGrid(wicBegin, wicMinute, instants, [][]int{{at}})
		e := estimate.NewNoisy(g.Truth(), estimate.Noise{Sigma: sigma})
		e.Put(time.Time{}, 0, freshet.Source{ID: g.Pages()[0]}, time.Time{})
		most, chance := 0.0, make([]float64, 1)
		for j := 1; j <= instants; j++ {
			e.Chances(chance, g.Time(j-1), g.Time(j))
			most = max(most, chance[0])
		}
		return most
	}
	four, five := peak(4), peak(5)
	return Claim{
		Paper: WIC, Where: "figure 5", Claim: "the chances of a change peak at about a tenth at sigma = 4, and well below at sigma = 5",
		Expected: "around 0.1; well below 0.1", Measured: fmt.Sprintf("%.4f; %.4f", four, five),
		Holds: four > .09 && four < .11 && five < .09,
	}
}
