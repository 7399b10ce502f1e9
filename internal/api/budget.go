package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn"
	"freshet/internal/learn/forecast"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// budgetAPI serves what the budget brings, and what another would.
type budgetAPI struct {
	*rest.Server
	daemon *daemon.Daemon
}

func (a *budgetAPI) routes() {
	a.routeBudget()
	a.routeNumbers()
}

func (a *budgetAPI) routeBudget() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-budget", Method: http.MethodGet, Path: "/api/v1/budget", Tags: []string{"program"},
		Summary:     "Forecast what the budget captures, and what other budgets would",
		Description: "The model assumes that sources change at random at the rates learned from their polls, and that polls go where they are worth most. Sources with a learned rhythm are captured better than predicted, and sources that change in bursts worse.",
	}, a.getBudget)
}

type budgetInput struct {
	Share  string   `query:"share" doc:"What would it cost to capture this share, such as 95%?"`
	Delay  string   `query:"delay" doc:"What would this mean delay cost; with share: to capture that share within this time?"`
	At     string   `query:"at" doc:"What would this budget bring, such as 120/m?"`
	Drop   []string `query:"drop,explode" doc:"What if these were dropped: an id, tag:T or host:H? Can be repeated"`
	Eaters int      `query:"eaters" minimum:"0" maximum:"1000" doc:"Include this many sources that use the most polls"`
	Levels bool     `query:"levels" doc:"Show the service levels source by source"`
	Points int      `query:"points" default:"41" minimum:"1" maximum:"201" doc:"Number of points on the curve"`
	Span   float64  `query:"span" default:"32" minimum:"1" maximum:"256" doc:"The curve covers the current budget divided by this up to the current budget times this"`
}

func (a *budgetAPI) getBudget(ctx context.Context, in *budgetInput) (*rest.Body[client.Budget], error) {
	goal, err := in.goal()
	if err != nil {
		return nil, err
	}
	choice, err := forecast.ParseChoice(in.Drop)
	if e, ok := errors.AsType[*invalid.Error](err); ok {
		return nil, rest.Invalid("query."+e.Field, e.Reason, in.Drop)
	}
	if math.IsNaN(in.Span) { // which is neither below the least nor above the most
		return nil, rest.Invalid("query.span", "expected a number", "NaN")
	}
	var at sched.Budget
	if in.At != "" {
		if at, err = sched.ParseBudget(in.At); err != nil {
			return nil, rest.Invalid("query.at", invalid.ReasonOf(err).Error(), in.At)
		}
	}
	prospects, err := a.daemon.Prospects(ctx)
	if err != nil {
		return nil, fmt.Errorf("what is expected of the sources: %w", err)
	}
	terms, b := a.daemon.Terms(), client.Budget{Budget: a.daemon.Status().Budget, Sources: len(prospects)}
	if n, err := a.daemon.Overall(ctx); err == nil { // without a learner there is nothing to tell
		captured, t := capturedOf(n.All), n.All.Tally
		b.Early, b.TooEarly, b.Wide, b.Saturated = captured.Early, captured.TooEarly, captured.Wide, captured.Saturated
		if t.Happened > 0 {
			b.SoFar = &client.SoFar{Share: captured.Share, Delay: rounded(t.MeanDelay()), Freshness: t.Freshness(), Age: rounded(t.MeanAge())}
		}
		if t.Happened > 0 && b.TooEarly == "" {
			terms.Seen = learn.Share(t)
		}
	}
	m := forecast.New(prospects, terms)
	b.Now, b.OneMore = pointOf(m.Now()), m.Marginal(1.0/60)
	for _, p := range m.Curve(in.Span, in.Points) {
		b.Curve = append(b.Curve, pointOf(p))
	}
	if at.Polls > 0 {
		p := pointOf(m.At(at.PerSecond()))
		b.At = &p
	}
	if goal != (forecast.Goal{}) {
		p, ok := m.Least(goal)
		b.Goal = &client.BudgetGoal{Share: goal.Share, Delay: client.Duration(max(goal.Within, goal.Delay)), Reachable: ok, At: pointOf(p)}
	}
	for _, e := range m.Spenders(in.Eaters) {
		b.Eaters = append(b.Eaters, eaterOf(e))
	}
	if len(in.Drop) > 0 {
		d := m.Drop(choice)
		b.Drop = &client.Drop{Sources: d.Sources, FreedPerDay: perDay(d.Freed), LostPerDay: perDay(d.Lost), Before: pointOf(d.Before), After: pointOf(d.After)}
	}
	b.Levels = levelsOf(m.Levels(), in.Levels)
	if in.Levels && b.Levels != nil {
		a.foresee(ctx, b.Levels.Items)
	}
	return rest.Reply(b), nil
}

// foresee says when sources with a level are polled next: as their why does. Only a
// daemon at work can tell.
func (a *budgetAPI) foresee(ctx context.Context, items []client.Pledge) {
	ids := make([]freshet.SourceID, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	next, err := a.daemon.NextPolls(ctx, ids)
	if err != nil {
		return
	}
	for i := range items {
		items[i].Next = rest.UTC(next[i])
	}
}

// goal returns what was asked for.
func (in *budgetInput) goal() (g forecast.Goal, err error) {
	delay, err := rest.ParseDuration(in.Delay)
	if err != nil {
		return g, rest.Invalid("query.delay", err.Error(), in.Delay)
	}
	if in.Share == "" {
		return forecast.Goal{Delay: delay}, nil
	}
	g.Within = delay
	if g.Share, err = parseShare(in.Share); err != nil {
		return g, rest.Invalid("query.share", err.Error(), in.Share)
	}
	return g, nil
}

// parseShare reads a share, such as "95%" or "0.95".
func parseShare(s string) (float64, error) {
	x, err := units.ParseShare(s)
	if err != nil || x == 0 || x == 1 {
		return 0, fmt.Errorf("%q is not a share above 0%% and below 100%%, such as 95%%", s)
	}
	return x, nil
}

func perDay(perSecond float64) float64 { return perSecond * (24 * time.Hour).Seconds() }

func estimateOf(r outlook.Range) client.Estimate { return client.Estimate(r) }

func pointOf(p forecast.Point) client.BudgetPoint {
	point := client.BudgetPoint{
		PollsPerDay: perDay(p.Budget), SpentPerDay: perDay(p.Spent), ChangesPerDay: perDay(p.Changes),
		Share: estimateOf(p.Share), Delay: rounded(p.Delay), Freshness: p.Freshness, Age: rounded(p.Age),
	}
	for i, h := range forecast.Horizons {
		point.Within = append(point.Within, client.Within{Time: client.Duration(h), Share: p.Within[i]})
	}
	return point
}

// rounded returns a duration without digits that are not significant.
func rounded(d time.Duration) client.Duration {
	switch {
	case d < time.Minute:
		return client.Duration(d.Round(10 * time.Millisecond))
	case d == math.MaxInt64:
		return client.Duration(d)
	}
	return client.Duration(d.Round(time.Second))
}

func eaterOf(e forecast.Spender) client.Eater {
	return client.Eater{
		ID: e.ID, PollsPerDay: perDay(e.Spent), Gap: rounded(e.Gap), Rate: client.RateOf(e.Rate), ChangesPerDay: perDay(e.Changes),
		CapturedPerDay: perDay(e.Captured), Share: estimateOf(e.Share), Delay: rounded(e.Delay),
	}
}

// levelsOf returns the levels as the API tells them; nil if there are none.
func levelsOf(p forecast.LevelCosts, each bool) *client.Levels {
	if len(p.All) == 0 {
		return nil
	}
	l := &client.Levels{Set: len(p.All), Unmet: p.Unmet, Impossible: p.Impossible, Unknown: p.Unknown, NeedPerDay: perDay(p.Need), ClaimPerDay: perDay(p.Claim), BudgetPerDay: perDay(p.Budget)}
	if !each {
		return l
	}
	for _, one := range p.All {
		l.Items = append(l.Items, client.Pledge{
			ID: one.ID, Level: one.Level.String(), Kept: one.Kept(), Hold: string(one.Obstacle), Share: one.Share,
			Gap: rounded(one.Now), NeedGap: rounded(one.Gap), NeedPerDay: perDay(one.Need),
		})
	}
	return l
}
