package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/learn"
	"freshet/whatif"
)

// A Budget is what the budget brings, and what others would.
type Budget struct {
	Budget  string        `json:"budget" doc:"At present"`
	Sources int           `json:"sources" doc:"That are polled"`
	Now     BudgetPoint   `json:"now" doc:"What is expected of the present budget"`
	SoFar   *SoFar        `json:"so_far,omitempty" doc:"What became of changes of late, as far as polls can tell; absent while nothing was learnt"`
	Curve   []BudgetPoint `json:"curve" nullable:"false" doc:"What is expected of other budgets"`
	OneMore float64       `json:"one_more_a_minute" doc:"By how much the share captured would rise with one request more a minute"`
	Goal    *BudgetGoal   `json:"goal,omitempty" doc:"What the share or the delay that was asked for costs"`
	Eaters  []Eater       `json:"eaters,omitempty" doc:"The sources that take the most of the budget"`
	Drop    *Drop         `json:"drop,omitempty" doc:"What dropping the sources that were named would mean"`
	Levels  *Levels       `json:"levels,omitempty" doc:"What the service levels take, if there are any"`
}

// An Estimate is a number and how far it can be trusted.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low" doc:"Nine times in ten it is expected above this, if sources change at random"`
	High float64 `json:"high" doc:"and below this"`
}

// A BudgetPoint is what is expected of a budget.
type BudgetPoint struct {
	PollsPerDay   float64  `json:"polls_per_day" doc:"The budget, in requests a day"`
	SpentPerDay   float64  `json:"spent_per_day" doc:"Of those, that there is use for"`
	ChangesPerDay float64  `json:"changes_per_day" doc:"Seen or not"`
	Share         Estimate `json:"share" doc:"Of the changes that is captured"`
	Delay         Duration `json:"delay" doc:"Of a captured change, on average"`
	Within        []Within `json:"within" nullable:"false" doc:"Shares of all changes that are captured in a time"`
	Freshness     float64  `json:"freshness" doc:"Share of time in which a copy is up to date, over the sources"`
	Age           Duration `json:"age" doc:"For which a copy has been out of date, on average over time and sources"`
}

// SoFar is what became of the changes of all sources of late.
type SoFar struct {
	Share     Estimate `json:"share" doc:"Of the changes that was captured"`
	Delay     Duration `json:"delay" doc:"Of a captured change, on average"`
	Freshness float64  `json:"freshness" doc:"Share of time in which a copy was up to date"`
	Age       Duration `json:"age" doc:"For which a copy had been out of date, on average"`
}

// A Within is the share of changes that is captured in a time.
type Within struct {
	Time  Duration `json:"time"`
	Share float64  `json:"share"`
}

// A BudgetGoal is what somebody would like to have, and the least budget for it.
type BudgetGoal struct {
	Share     float64     `json:"share,omitempty"`
	Delay     Duration    `json:"delay,omitzero" doc:"With a share: within this time. Without: on average"`
	Reachable bool        `json:"reachable" doc:"A budget of up to 256 times the present reaches it"`
	At        BudgetPoint `json:"at" doc:"The least budget, or the most that was looked at"`
}

// An Eater is a source with what it takes of the budget and what it brings.
type Eater struct {
	ID             freshet.SourceID `json:"id"`
	PollsPerDay    float64          `json:"polls_per_day" doc:"Requests that it takes"`
	Gap            Duration         `json:"gap" doc:"Between polls"`
	ChangesPerDay  float64          `json:"changes_per_day" doc:"Seen or not"`
	CapturedPerDay float64          `json:"captured_per_day"`
	Share          Estimate         `json:"share" doc:"Of its changes that is captured"`
	Delay          Duration         `json:"delay"`
}

// A Drop is what dropping sources would mean for the others.
type Drop struct {
	Sources     int         `json:"sources" doc:"Dropped"`
	FreedPerDay float64     `json:"freed_per_day" doc:"Requests that they take at present"`
	LostPerDay  float64     `json:"lost_per_day" doc:"Changes that are captured of them at present"`
	Before      BudgetPoint `json:"before" doc:"The others, as things are"`
	After       BudgetPoint `json:"after" doc:"The others, with the whole budget"`
}

// Levels are the service levels of sources, and whether they are kept.
type Levels struct {
	Set          int      `json:"set" doc:"Sources that have one"`
	Unmet        int      `json:"unmet" doc:"Of those, that are not expected to be seen as soon as wanted"`
	NeedPerDay   float64  `json:"need_per_day" doc:"Requests that keeping all of them takes"`
	BudgetPerDay float64  `json:"budget_per_day"`
	Items        []Pledge `json:"items,omitempty" doc:"Source by source, if asked for"`
}

// A Pledge is the service level of a source, and what it takes.
type Pledge struct {
	ID         freshet.SourceID `json:"id"`
	Level      string           `json:"level"`
	Kept       bool             `json:"kept" doc:"It is expected to be kept"`
	Hold       whatif.Hold      `json:"hold,omitempty" enum:"budget,host,min_gap,rate,worth" doc:"What keeps it from being kept: all levels need more than the budget, those of its host more than the host allows, its min_gap, that it may change too often for any poller, or that polls of other sources are worth more"`
	Share      float64          `json:"share" doc:"Of its changes that is expected in time, as things are"`
	Gap        Duration         `json:"gap" doc:"Between polls, as things are"`
	NeedGap    Duration         `json:"need_gap,omitzero" doc:"That would keep it; set as max_gap, it does"`
	NeedPerDay float64          `json:"need_per_day" doc:"Requests that this takes"`
}

func (a *api) routeBudget(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-budget", Method: http.MethodGet, Path: "/api/v1/budget", Tags: []string{"program"},
		Summary:     "Show what the budget brings and what another would",
		Description: "Sources are taken to change at random at the rates learned from their polls, and polls to go where they are worth most. Sources with a rhythm that the policy has learned are captured better than this says, and sources that change in bursts worse.",
	}, a.getBudget)
}

type budgetInput struct {
	Share  string   `query:"share" doc:"What would it cost to capture this share, such as 95%?"`
	Delay  string   `query:"delay" doc:"What would this mean delay cost; with share: to capture that share within this time?"`
	Drop   []string `query:"drop,explode" doc:"What if these were dropped: an id, tag:T or host:H? Can be repeated"`
	Eaters int      `query:"eaters" minimum:"0" maximum:"1000" doc:"Show so many sources that take the most"`
	Levels bool     `query:"levels" doc:"Show the service levels source by source"`
	Points int      `query:"points" default:"41" minimum:"1" maximum:"201" doc:"Of the curve"`
	Span   float64  `query:"span" default:"32" minimum:"1" maximum:"256" doc:"The curve goes from the present budget over this to the present budget times this"`
}

func (a *api) getBudget(ctx context.Context, in *budgetInput) (*bodyOf[Budget], error) {
	goal, err := in.goal()
	if err != nil {
		return nil, err
	}
	choice, err := whatif.ParseChoice(in.Drop)
	if e, ok := errors.AsType[*freshet.InvalidError](err); ok {
		return nil, invalid("query."+e.Field, e.Reason, in.Drop)
	}
	if math.IsNaN(in.Span) { // which is neither below the least nor above the most
		return nil, invalid("query.span", "expected a number", "NaN")
	}
	prospects, err := a.Daemon.Prospects(ctx)
	if err != nil {
		return nil, fmt.Errorf("what is expected of the sources: %w", err)
	}
	m := whatif.New(prospects, a.Daemon.Terms())
	b := Budget{Budget: a.Daemon.Status().Budget, Sources: m.Sources(), Now: pointOf(m.Now()), OneMore: m.Marginal(1.0 / 60)}
	if n, err := a.Daemon.Overall(ctx); err == nil && n.All.Happened > 0 { // without a learner there is nothing to tell
		t := n.All.Tally
		b.SoFar = &SoFar{Share: estimateOf(learn.Share(t)), Delay: rounded(t.MeanDelay()), Freshness: t.Freshness(), Age: rounded(t.MeanAge())}
	}
	for _, p := range m.Curve(in.Span, in.Points) {
		b.Curve = append(b.Curve, pointOf(p))
	}
	if goal != (whatif.Goal{}) {
		p, ok := m.Least(goal)
		b.Goal = &BudgetGoal{Share: goal.Share, Delay: Duration(max(goal.Within, goal.Delay)), Reachable: ok, At: pointOf(p)}
	}
	for _, e := range m.Eaters(in.Eaters) {
		b.Eaters = append(b.Eaters, eaterOf(e))
	}
	if len(in.Drop) > 0 {
		d := m.Drop(choice)
		b.Drop = &Drop{Sources: d.Sources, FreedPerDay: perDay(d.Freed), LostPerDay: perDay(d.Lost), Before: pointOf(d.Before), After: pointOf(d.After)}
	}
	b.Levels = levelsOf(m.Levels(), in.Levels)
	return &bodyOf[Budget]{b}, nil
}

// goal returns what was asked for.
func (in *budgetInput) goal() (g whatif.Goal, err error) {
	delay, err := parseDuration(in.Delay)
	if err != nil {
		return g, invalid("query.delay", err.Error(), in.Delay)
	}
	if in.Share == "" {
		return whatif.Goal{Delay: time.Duration(delay)}, nil
	}
	g.Within = time.Duration(delay)
	if g.Share, err = parseShare(in.Share); err != nil {
		return g, invalid("query.share", err.Error(), in.Share)
	}
	return g, nil
}

// parseShare reads a share: "95%", or "0.95".
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0) || x >= 1 {
		return 0, fmt.Errorf("%q is not a share above 0%% and below 100%%, such as 95%%", s)
	}
	return x, nil
}

func perDay(perSecond float64) float64 { return perSecond * (24 * time.Hour).Seconds() }

func estimateOf(r freshet.Range) Estimate { return Estimate(r) }

func pointOf(p whatif.Point) BudgetPoint {
	point := BudgetPoint{
		PollsPerDay: perDay(p.Budget), SpentPerDay: perDay(p.Spent), ChangesPerDay: perDay(p.Changes),
		Share: estimateOf(p.Share), Delay: rounded(p.Delay), Freshness: p.Freshness, Age: rounded(p.Age),
	}
	for i, h := range whatif.Horizons {
		point.Within = append(point.Within, Within{Duration(h), p.Within[i]})
	}
	return point
}

// rounded returns a duration without the digits that nobody knows.
func rounded(d time.Duration) Duration {
	switch {
	case d < time.Minute:
		return Duration(d.Round(10 * time.Millisecond))
	case d == math.MaxInt64:
		return Duration(d)
	}
	return Duration(d.Round(time.Second))
}

func eaterOf(e whatif.Eater) Eater {
	return Eater{
		ID: e.ID, PollsPerDay: perDay(e.Spent), Gap: rounded(e.Gap), ChangesPerDay: perDay(e.Changes),
		CapturedPerDay: perDay(e.Captured), Share: estimateOf(e.Share), Delay: rounded(e.Delay),
	}
}

// levelsOf returns the levels as the API tells them; nil if there are none.
func levelsOf(p whatif.Pledges, each bool) *Levels {
	if len(p.All) == 0 {
		return nil
	}
	l := &Levels{Set: len(p.All), Unmet: p.Unmet, NeedPerDay: perDay(p.Need), BudgetPerDay: perDay(p.Budget)}
	if !each {
		return l
	}
	for _, one := range p.All {
		l.Items = append(l.Items, Pledge{
			ID: one.ID, Level: one.Level.String(), Kept: one.Kept(), Hold: one.Hold, Share: one.Share,
			Gap: rounded(one.Now), NeedGap: rounded(one.Gap), NeedPerDay: perDay(one.Need),
		})
	}
	return l
}
