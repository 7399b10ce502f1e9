package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// labLimits bound a run, so that it cannot take the memory that polls need: about 40 bytes
// a poll, and a few kB a source.
var labLimits = client.LabLimits{Policies: 8, Budgets: 8, Sources: 20_000, Polls: 1_000_000, Waiting: 4, Kept: 20}

const (
	labInstants = 100_000     // most that time is cut into
	labCells    = 200_000_000 // most instants times sources
	labPatience = time.Hour   // for one run
)

// A labTask is what a run has to do.
type labTask struct {
	asked   client.LabRequest
	ended   freshet.Between
	budgets []sched.Budget
}

// labWork does a run: it reads the log, and replays it.
func (a *labAPI) labWork(t labTask, r *labRun) (*client.LabResult, error) {
	ctx, release := a.WithStop(context.Background())
	defer release()
	ctx, end := context.WithTimeoutCause(ctx, labPatience, fmt.Errorf("it took longer than %s", units.FormatDuration(labPatience)))
	defer end()
	ctx, cancel := r.wanted(ctx)
	defer cancel()
	result, err := a.replayStored(ctx, t, r)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return result, err
}

func (a *labAPI) replayStored(ctx context.Context, t labTask, r *labRun) (*client.LabResult, error) {
	kept, err := a.readForLab(ctx, t, r)
	if err != nil {
		return nil, err
	}
	c, err := kept.OwnCase("the log", lab.Spread, labInstants)
	if err != nil {
		return nil, err
	}
	if cells := float64(c.Grid.Instants) * float64(len(c.Grid.Pages())); cells > labCells {
		return nil, freshet.WithHint(fmt.Errorf("%d sources over %d instants of %s are too much to replay here", len(c.Grid.Pages()), c.Grid.Instants, units.FormatDuration(c.Grid.Instant)),
			"choose a tag, or fewer days; freshet lab compare --from-store has no such bound")
	}
	budgets := t.budgets
	if len(budgets) == 0 {
		for _, times := range []float64{.25, .5, 1, 2, 4} {
			budgets = append(budgets, rateOf(times*c.Grid.PerDay(c.Recorded.Budget)))
		}
	}
	perInstant := func(b sched.Budget) float64 { return b.Polls * float64(c.Grid.Instant) / float64(b.Per) }
	slices.SortStableFunc(budgets, func(x, y sched.Budget) int { return cmp.Compare(perInstant(x), perInstant(y)) })
	competition := lab.Competition{
		Terms:    lab.Terms{Estimate: estimate.Spec{Name: estimate.Forecast}, Evidence: lab.Evidence{Kind: lab.Dated}, Seed: t.seed()},
		Policies: t.asked.Policies, Limit: true, Jobs: 1, Rest: newPacer(ctx).rest,
	}
	for _, b := range budgets {
		competition.Budgets = append(competition.Budgets, perInstant(b))
	}
	competition.Progress = r.progress("replaying", competition.Instants([]*lab.Case{c}))
	contests, err := competition.Run(ctx, []*lab.Case{c})
	if err != nil {
		return nil, err
	}
	return labResult(kept, c, contests[0], budgets), nil
}

func (t *labTask) seed() uint64 { return max(1, t.asked.Seed) }

// readForLab reads what was recorded.
func (a *labAPI) readForLab(ctx context.Context, t labTask, r *labRun) (*lab.Stored, error) {
	log, err := lab.OpenLog(ctx, a.store, lab.LogPart{Ended: t.ended, Most: labLimits.Polls})
	if err != nil {
		return nil, err
	}
	pacer, progress := newPacer(ctx), r.progress("reading", log.Len())
	kept, err := log.Read(ctx, a.labSources(ctx, t.asked), lab.LogOptions{Fill: !t.asked.SeenOnly, Seed: t.seed()}, func(n int) {
		progress(n)
		pacer.rest()
	})
	if err != nil {
		return nil, err
	}
	return kept, kept.Enough("of these sources and this time")
}

// labSources yields the sources that a run is about, also those that were removed.
func (a *labAPI) labSources(ctx context.Context, asked client.LabRequest) iter.Seq2[lab.StoredSource, error] {
	only := map[freshet.SourceID]bool{}
	for _, id := range asked.Sources {
		only[id] = true
	}
	return func(yield func(lab.StoredSource, error) bool) {
		n := 0
		for i, list := range []iter.Seq2[freshet.SourceWithStatus, error]{a.store.Sources(ctx), a.store.RemovedSources(ctx, "")} {
			for w, err := range list {
				if err == nil && (len(only) > 0 && !only[w.ID] || asked.Tag != "" && !slices.Contains(w.Tags, asked.Tag)) {
					continue
				}
				if n++; err == nil && n > labLimits.Sources {
					err = freshet.WithHint(fmt.Errorf("there are more than %d sources", labLimits.Sources), "choose a tag; freshet lab compare --from-store has no such bound")
				}
				if !yield(lab.StoredSource{Source: w.Source, Gone: i == 1 || w.Paused}, err) || err != nil {
					return
				}
			}
		}
	}
}

// progress returns a function that reports the finished steps of what a run is doing.
func (r *labRun) progress(doing string, all int) func(int) {
	r.change(func(told *client.LabRun) { told.Doing, told.Progress = doing, 0 })
	done := 0
	return func(steps int) {
		r.change(func(told *client.LabRun) {
			done += steps
			told.Progress = min(1, float64(done)/float64(max(1, all)))
		})
	}
}

// A pacer lets work rest as long as it has worked, so that polls find a free processor.
type pacer struct {
	ctx   context.Context
	began time.Time
}

// labStretch is how long the lab works before it rests.
const labStretch = 10 * time.Millisecond

func newPacer(ctx context.Context) *pacer { return &pacer{ctx: ctx, began: time.Now()} }

// rest rests if it is time to.
func (p *pacer) rest() {
	worked := time.Since(p.began)
	if worked < labStretch {
		return
	}
	select {
	case <-time.After(worked):
	case <-p.ctx.Done():
	}
	p.began = time.Now()
}

// labResult tells how a comparison went.
func labResult(kept *lab.Stored, c *lab.Case, k *lab.Contest, budgets []sched.Budget) *client.LabResult {
	duration := func(instants float64) client.Duration {
		return client.Duration(math.Round(instants*c.Grid.Instant.Seconds()*1000) * float64(time.Millisecond))
	}
	score := func(s lab.Score) client.LabScore {
		return client.LabScore{
			Recall: s.Recall, Worth: s.UtilityNormalized, Captured: s.Captured, Freshness: s.Freshness,
			Age: client.Duration(math.Round(s.AgeSeconds*1000) * float64(time.Millisecond)), Delay: duration(s.MeanDelay), Polls: s.Polls, Found: s.Found,
		}
	}
	out := &client.LabResult{
		From: rest.UTC(c.Grid.Start), To: rest.UTC(c.Grid.Time(c.Grid.Instants)), Instant: client.Duration(c.Grid.Instant), Sources: len(c.Grid.Pages()),
		Polls: kept.Polls, Changes: kept.Changes, Added: kept.Filled, Dated: kept.Dated,
		Gap: client.Duration(kept.Gap), Window: client.Duration(kept.Width), WindowP90: client.Duration(kept.WidthP90), Cut: kept.Cut,
		Weighed: c.Weighed(), Recorded: score(c.Recorded.Score), Spent: rateOf(c.Grid.PerDay(c.Recorded.Budget)).String(),
		Budgets: []client.LabBudget{},
	}
	for i, b := range budgets {
		row := client.LabBudget{
			Budget: b.String(), PollsPerDay: b.Polls * float64(units.Day) / float64(b.Per),
			Limit: k.Trials[i][0].LimitNormalized, LimitExact: k.Trials[i][0].LimitExact,
		}
		for _, t := range k.Trials[i] {
			row.Trials = append(row.Trials, client.LabTrial{Policy: t.Policy, LabScore: score(t.Score), OfLimit: t.OfLimit})
		}
		out.Budgets = append(out.Budgets, row)
	}
	return out
}

// rateOf writes polls a day as a budget that people read.
func rateOf(perDay float64) sched.Budget {
	b := sched.Budget{Polls: perDay, Per: units.Day}
	for _, per := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if polls := perDay * float64(per) / float64(units.Day); polls >= 1 {
			b = sched.Budget{Polls: polls, Per: per}
		}
	}
	digits := math.Pow(10, math.Max(0, 2-math.Floor(math.Log10(b.Polls))))
	b.Polls = math.Round(b.Polls*digits) / digits
	return b
}
