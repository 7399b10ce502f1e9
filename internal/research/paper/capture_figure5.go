package paper

import (
	"context"
	"fmt"
	"math"
	"strings"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// figure5 is the paper's experiment: recall of the strategies by polls an hour.
func (c captureMeans) figure5(ctx context.Context, s Options) (Figure, error) {
	sets, err := captureSets(s)
	if err != nil {
		return Figure{}, err
	}
	sources, past, future := captureSize(s)
	f := Figure{
		Title: "Figure 5: effectiveness of strategies",
		About: fmt.Sprintf("Made-up airports with a report near :05 and one near :15 of every hour, which stray by a normal distribution, and special reports at any minute of some hours: %d of each kind, and %d more with minutes of their own (3 min, 20%%). Strategies are planned for each source from %d days and tried on the %d days after them (seed %d). Each has an hour for its period and whole minutes to poll at. Beside those of the paper stands the uniform strategy with the phase that its past likes best. ", sources, 2*sources, past, future, s.Seed),
	}
	var made, recorded captureOutcome
	for _, set := range sets {
		runs, err := c.run(ctx, set)
		if err != nil {
			return Figure{}, err
		}
		if set.real {
			recorded = append(recorded, captureResult{set, runs})
			f.About += fmt.Sprintf("Recorded weather reports of %d airports (metar-us) are planned for from two thirds of their time and tried on the last %d hours. ", len(set.past), set.hours)
		} else {
			made = append(made, captureResult{set, runs})
		}
		f.SVGs = append(f.SVGs, runs.chart(set.name+": change recall", "change recall (share of changes captured)", func(r captureRun) float64 { return r.future.Recall() }))
		if set.real || set.name == captureSettings[captureTypical].name {
			f.SVGs = append(f.SVGs,
				runs.chart(set.name+": age", "mean age of the copy, minutes", func(r captureRun) float64 { return r.ageLast }),
				runs.chart(set.name+": freshness", "freshness (share of time up to date)", func(r captureRun) float64 { return r.freshness }))
		}
		f.Tables = append(f.Tables, runs.table(set.name))
	}
	f.About += "Cells of the tables: uniform / uniform with best phase / optimal / modelled. Age runs from the latest change, as in the paper, and in brackets from the first that the copy lacks."
	f.Claims = made.claims("made-up airports")
	if len(recorded) > 0 {
		f.Claims = append(f.Claims, recorded.claims("recorded airports")...)
	}
	return f, nil
}

// chart draws a measure of all strategies by polls an hour.
func (r captureRuns) chart(title, caption string, measure func(captureRun) float64) string {
	c := plot.Chart{Title: title, X: captureCounts("polls an hour", 1, capturePolls)}
	least, most := math.Inf(1), 0.0
	for i, m := range captureMethods {
		line := plot.Line{Name: m.name, Dashed: i == 1}
		for n, run := range r[m.Method] {
			least, most = min(least, measure(run)), max(most, measure(run))
			line.Points = append(line.Points, [2]float64{float64(n + 1), measure(run)})
		}
		c.Lines = append(c.Lines, line)
	}
	c.Y = plot.Linear(caption, 0, most*1.05)
	if most <= 1 { // a share
		c.Y = plot.Linear(caption, math.Floor(5*least)/5, 1)
	}
	return c.SVG()
}

// table lists all measures of all strategies by polls an hour.
func (r captureRuns) table(name string) Table {
	t := Table{Head: []string{name + ": polls an hour", "change recall", "mean delay, min", "freshness", "age, min"}}
	for n := range capturePolls {
		var recall, delay, fresh, age []string
		for _, m := range captureMethods {
			run := r[m.Method][n]
			recall = append(recall, fmt.Sprintf("%.3f", run.future.Recall()))
			delay = append(delay, fmt.Sprintf("%.1f", run.future.MeanDelay()))
			fresh = append(fresh, fmt.Sprintf("%.3f", run.freshness))
			age = append(age, fmt.Sprintf("%.2f (%.2f)", run.ageLast, run.ageFirst))
		}
		row := []string{fmt.Sprint(n + 1)}
		for _, cell := range [][]string{recall, delay, fresh, age} {
			row = append(row, strings.Join(cell, " / "))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// A captureResult is what the strategies did on one set.
type captureResult struct {
	set  captureSet
	runs captureRuns
}

// A captureOutcome is what they did on several.
type captureOutcome []captureResult

// each computes a figure for each set, says them all, and whether all are right.
func (o captureOutcome) each(format string, figure func(captureRuns) float64, right func(float64) bool) (said string, all bool) {
	all = true
	var words []string
	for _, r := range o {
		v := figure(r.runs)
		all = all && right(v)
		words = append(words, fmt.Sprintf(format+" (%s)", v, r.set.name))
	}
	return strings.Join(words, ", "), all
}

// captureMuch is how much more recall is significant, captureNear how much less
// is almost as well, and captureLittle how much may be chance.
const (
	captureMuch   = 0.05
	captureNear   = 0.02
	captureLittle = 0.002
)

// claims holds the outcome against what the paper says of figure 5.
func (o captureOutcome) claims(of string) []Claim {
	claim := func(where, words, expected, format string, figure func(captureRuns) float64, right func(float64) bool, why string) Claim {
		said, all := o.each(format, figure, right)
		return Claim{Paper: Capture, Kind: o.kind(), Where: where, Claim: of + ": " + words, Expected: expected, Measured: said, Holds: all, Why: why}
	}
	gain := func(m, over cyclic.Method) func(captureRuns) float64 {
		return func(r captureRuns) float64 { return r.gain(m, over, 1, capturePolls) }
	}
	significant := fmt.Sprintf("significantly better (taken as %g of recall or more, in the mean over 1 to %d polls)", captureMuch, capturePolls)
	much := func(v float64) bool { return v >= captureMuch }
	above := func(v float64) bool { return v >= captureLittle }
	phase, _ := o.each("%.0f%%", func(r captureRuns) float64 {
		return 100 * r.gain(cyclic.BestPhase, cyclic.Even, 1, capturePolls) / r.gain(cyclic.Optimal, cyclic.Even, 1, capturePolls)
	}, much)
	lack := ""
	if o[0].set.real {
		lack = "the paper's airports publish two messages within ten minutes, and these do not: those that report every twenty minutes suit uniform polls, and the others hardly report twice an hour. With fewer polls than changes no strategy captures more than one change a poll."
	}
	return append([]Claim{
		claim("figure 5", "the optimal strategy captures significantly more than the uniform one", significant,
			"%+.3f of recall", gain(cyclic.Optimal, cyclic.Even), much, lack),
		claim("figure 5", "so does the modelled one", significant,
			"%+.3f of recall", gain(cyclic.Modeled, cyclic.Even), much, lack),
		claim("figure 5", "the improvement is more significant when the polling frequency is less", "more with fewer polls",
			"%+.3f of recall more with 2 to 4 polls than with 10 to 12",
			func(r captureRuns) float64 {
				return r.gain(cyclic.Optimal, cyclic.Even, 2, 4) - r.gain(cyclic.Optimal, cyclic.Even, 10, 12)
			}, above, "with a single poll an hour there is next to nothing to improve: it captures one change an hour wherever it is put."),
		claim("figure 5", "the modelled strategy performs almost as well as the optimal one", fmt.Sprintf("almost as well (taken as within %g of recall)", captureNear),
			"%.3f of recall below it", gain(cyclic.Optimal, cyclic.Modeled), func(v float64) bool { return v <= captureNear },
			"in the mean over 1 to 12 polls an hour. "+o.worst()),
		claim("section 3.1.3", "exploiting the update time distribution helps", fmt.Sprintf("better than polling at regular intervals (taken as %g of recall or more)", captureLittle),
			"%+.4f of recall over the uniform strategy with the best phase", gain(cyclic.Optimal, cyclic.BestPhase), above,
			"of the gain over the uniform strategy the best phase alone brings "+phase+"."),
		claim("section 3", "the past pattern of updates is a good predictor of the future one", fmt.Sprintf("good (taken as within %g of recall)", captureNear),
			"%.3f of recall lost at the most", func(r captureRuns) (most float64) {
				for _, run := range r[cyclic.Optimal] {
					most = max(most, run.past.Recall()-run.future.Recall())
				}
				return most
			}, func(v float64) bool { return v <= captureNear }, "recall of the optimal strategy on the time it was planned from, less that on the time after."),
	}, o.ages()...)
}

// worst says where the modelled strategy is furthest below the optimal one.
func (o captureOutcome) worst() string {
	most, said := math.Inf(-1), ""
	for _, r := range o {
		for n := 1; n <= capturePolls; n++ {
			if gap := r.runs.gain(cyclic.Optimal, cyclic.Modeled, n, n); gap > most {
				most, said = gap, fmt.Sprintf("At the most it is %.3f (%s, polls an hour: %d).", gap, r.set.name, n)
			}
		}
	}
	return said
}

// kind says what the outcome is held against.
func (o captureOutcome) kind() Kind {
	if o[0].set.real {
		return Recorded
	}
	return OfPaper
}

// ages are the claims, one of each set, that what maximises recall is good for age,
// too.
func (o captureOutcome) ages() (claims []Claim) {
	for _, r := range o {
		younger, fresher, ahead, behind := 0, 0, 0.0, 0.0
		for i, run := range r.runs[cyclic.Optimal] {
			even := r.runs[cyclic.Even][i]
			if run.ageLast < even.ageLast {
				younger++
			}
			if run.freshness > even.freshness {
				fresher++
			}
			ahead, behind = max(ahead, even.ageLast-run.ageLast), max(behind, run.ageLast-even.ageLast)
		}
		claims = append(claims, Claim{Paper: Capture, Kind: o.kind(), Where: "section 2.2", Claim: r.set.name + ": a strategy that maximises change recall is better in age, too, in many cases", Expected: "less age in many cases (taken as half)",
			Measured: fmt.Sprintf("less age than uniform with %d of %d numbers of polls, by up to %.2f minutes, and up to %.2f minutes more age with the others; fresher with %d", younger, capturePolls, ahead, behind, fresher),
			Holds:    2*younger >= capturePolls,
			Why:      captureAgeing(younger)})
	}
	return claims
}

// captureAgeing says why a plan for recall makes copies older.
func captureAgeing(younger int) string {
	if 2*younger >= capturePolls {
		return ""
	}
	return "the strategy weighs misses before delay: it puts a poll off to where it may catch one more special report, and the regular ones grow old meanwhile. Question 3 has plans that are made for age, and what they cost in recall."
}
