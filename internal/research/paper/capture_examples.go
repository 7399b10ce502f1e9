package paper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// captureCase is a strategy held against a log of changes.
type captureCase struct {
	name    string
	history cyclic.Timeline
	offsets []int
}

// captureCases draws and lists what strategies make of logs.
func captureCases(title string, cases []captureCase) (svg string, t Table) {
	bars := plot.Bars{Title: title, Caption: "change recall (share of the changes that were captured)"}
	t.Head = []string{"strategy", "polls at", "changes", "captured", "change recall", "mean delay, min"}
	for _, c := range cases {
		tally := c.history.Count(captureHour, c.offsets)
		bars.Bars = append(bars.Bars, plot.Bar{Name: c.name, Value: tally.Recall()})
		t.Rows = append(t.Rows, []string{c.name, captureMinutes(c.offsets), fmt.Sprint(tally.Changes), fmt.Sprint(tally.Captured()),
			fmt.Sprintf("%.3f", tally.Recall()), fmt.Sprintf("%.2f", tally.MeanDelay())})
	}
	return bars.SVG(), t
}

// table1 is the log of changes that opens the paper, and its metric.
func (c captureMeans) table1(_ context.Context, s Options) (Figure, error) {
	log := captureHistory(65, 74, 124, 135, 183, 194)
	even, err := c.plan(log, captureHour, 2, cyclic.Even)
	if err != nil {
		return Figure{}, err
	}
	planned, err := c.plan(log, captureHour, 2, cyclic.Optimal)
	if err != nil {
		return Figure{}, err
	}
	printed := []int{5, 15}
	svg, table := captureCases("Two polls an hour on the log of table 1", []captureCase{
		{"on the hour and half hour", log, even},
		{"at :05 and :15, as printed", log, printed},
		{"planned from the log", log, planned},
		{":05 and :15, seen later", captureLater(log), printed},
	})
	uniform, smart, optimal := log.Count(captureHour, even), log.Count(captureHour, printed), log.Count(captureHour, planned)
	later := captureLater(log).Count(captureHour, printed)
	atis, cnn := cyclic.Score{Changes: 30, Misses: 3}.Recall(), cyclic.Score{Changes: 18, Misses: 3}.Recall()
	return Figure{
		Title: "Table 1: when to poll matters",
		About: fmt.Sprintf("The printed log (1:05, 1:14, 2:04, 2:15, 3:03, 3:14) and two polls an hour. A poll sees a change of its own minute; in the last row, only those before it. Nothing is drawn by chance (seed %d).", s.Seed),
		SVGs:  []string{svg}, Tables: []Table{table},
		Claims: []Claim{
			{Paper: Capture, Where: "section 2.1", Claim: "of 30 messages 27 captured, and of 18 headlines 15", Expected: "change recall 0.9 and 0.83",
				Measured: fmt.Sprintf("%.2f and %.2f", atis, cnn), Holds: math.Abs(atis-0.9) < 0.005 && math.Abs(cnn-0.83) < 0.005},
			{Paper: Capture, Where: "table 1", Claim: "polls on the hour and the half hour miss half the updates", Expected: "change recall about 0.5",
				Measured: fmt.Sprintf("%.3f (%d of %d)", uniform.Recall(), uniform.Captured(), uniform.Changes), Holds: math.Abs(uniform.Recall()-0.5) <= 0.05},
			{Paper: Capture, Where: "table 1", Claim: "polls at :05 and :15 capture almost all", Expected: "change recall close to 1.0",
				Measured: fmt.Sprintf("%.3f (%d of %d)", smart.Recall(), smart.Captured(), smart.Changes), Holds: smart.Recall() >= 0.95,
				Why: fmt.Sprintf("only if a poll sees a change of its own minute; if it does not, the recall is %.3f. Freshet counts the first way everywhere.", later.Recall())},
			{Paper: Capture, Where: "table 1", Claim: "the more intelligent strategy is found from the log", Expected: "polls at :05, :15",
				Measured: fmt.Sprintf("polls at %s, change recall %.3f", captureMinutes(planned), optimal.Recall()), Holds: slices.Equal(planned, printed),
				Why: "432 pairs of minutes miss nothing; of those the planner takes the one with the least delay, which is the paper's."},
		},
	}, nil
}

// burst is the example that closes the paper's experiments, with its minutes as
// printed, and with minutes that give what it says.
func (c captureMeans) burst(_ context.Context, s Options) (Figure, error) {
	literal := captureHistory(60, 65, 70, 75, 120, 124, 129, 135, 181, 185, 190, 195)
	strict := captureHistory(61, 65, 70, 74, 121, 125, 130, 134, 181, 185, 190, 194)
	var cases []captureCase
	for _, log := range []struct {
		name string
		cyclic.Timeline
	}{{"as printed", literal}, {"within a gap", strict}} {
		for _, m := range []cyclic.Method{cyclic.Even, cyclic.Optimal, cyclic.Modeled} {
			offsets, err := c.plan(log.Timeline, captureHour, 4, m)
			if err != nil {
				return Figure{}, err
			}
			cases = append(cases, captureCase{fmt.Sprintf("%s, %s", log.name, m), log.Timeline, offsets})
		}
	}
	svg, table := captureCases("Four polls an hour on bursts of four changes", cases)
	recall := make([]float64, len(cases))
	for i, k := range cases {
		recall[i] = k.history.Count(captureHour, k.offsets).Recall()
	}
	later := captureLater(literal).Count(captureHour, cases[0].offsets).Recall()
	return Figure{
		Title: "Section 3.1.3: a burst within one gap",
		About: fmt.Sprintf("Four polls an hour. The printed minutes (1:00, 1:05, 1:10, 1:15, 2:00, 2:04, 2:09, 2:15, 3:01, 3:05, completed by 3:10, 3:15), and bursts that lie within one gap between uniform polls (:01, :05, :10, :14 of every hour). Nothing is drawn by chance (seed %d).", s.Seed),
		SVGs:  []string{svg}, Tables: []Table{table},
		Claims: []Claim{
			{Paper: Capture, Where: "section 3.1.3", Claim: "uniform polls on the burst as printed do very poorly", Expected: "change recall ~ 0.25",
				Measured: fmt.Sprintf("%.3f; %.3f if polls do not see a change of their own minute", recall[0], later), Holds: math.Abs(recall[0]-0.25) <= 0.05,
				Why: "two of the four printed minutes, :00 and :15, are themselves minutes of uniform polls, so that more is captured than the paper says."},
			{Paper: Capture, Where: "section 3.1.3", Claim: "uniform polls on a burst within one gap do very poorly", Expected: "change recall ~ 0.25",
				Measured: fmt.Sprintf("%.3f", recall[3]), Holds: math.Abs(recall[3]-0.25) <= 0.05,
				Why: "the minutes are ours: what the paper says is exact for bursts that lie between two polls."},
			{Paper: Capture, Where: "section 3.1.3", Claim: "the optimal strategies capture nearly all with four polls", Expected: "change recall close to 1.0",
				Measured: fmt.Sprintf("as printed %.3f optimal and %.3f modelled; within a gap %.3f and %.3f", recall[1], recall[2], recall[4], recall[5]),
				Holds:    min(recall[1], recall[2], recall[4], recall[5]) >= 0.9},
		},
	}, nil
}
