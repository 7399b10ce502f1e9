package client

import (
	"context"
	"strconv"
	"time"

	"freshet/internal/freshet"
)

// A Budget is what the budget brings, and what others would.
type Budget struct {
	Budget    string        `json:"budget" doc:"At present"`
	Sources   int           `json:"sources" doc:"That are polled"`
	Early     int           `json:"early,omitempty" doc:"Of those, seen less than twice"`
	Now       BudgetPoint   `json:"now" doc:"What is expected of the present budget"`
	TooEarly  string        `json:"too_early,omitempty" doc:"Why none of this can be believed yet; missing if it can"`
	Wide      string        `json:"wide,omitempty" doc:"Why the range of the share is wide, and what would help; missing if it is not"`
	Saturated bool          `json:"saturated,omitempty" doc:"Nearly every poll finds a change: of every share only the upper bound (high) is known"`
	SoFar     *SoFar        `json:"so_far,omitempty" doc:"Recent results as estimated from polls; absent before anything was learned. All forecasts are based on it"`
	Curve     []BudgetPoint `json:"curve" nullable:"false" doc:"What is expected of other budgets"`
	At        *BudgetPoint  `json:"at,omitempty" doc:"What is expected of the budget that was asked for"`
	OneMore   float64       `json:"one_more_a_minute" doc:"By how much the share captured would rise with one request more a minute"`
	Goal      *BudgetGoal   `json:"goal,omitempty" doc:"What the share or the delay that was asked for costs"`
	Eaters    []Eater       `json:"eaters,omitempty" doc:"The sources that take the most of the budget"`
	Drop      *Drop         `json:"drop,omitempty" doc:"What dropping the sources that were named would mean"`
	Levels    *Levels       `json:"levels,omitempty" doc:"What the service levels take, if there are any"`
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

// A BudgetGoal is a wanted share or delay, and the least budget that reaches it.
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
	Rate           Rate             `json:"rate_per_day" doc:"How often it changes a day: as in why"`
	ChangesPerDay  float64          `json:"changes_per_day" doc:"With which the forecast counts; a guess unless rate_per_day is estimated"`
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
	Impossible   int      `json:"impossible" doc:"Of those, that no budget keeps"`
	Unknown      int      `json:"unknown,omitempty" doc:"Of those, of which too little is known to say"`
	NeedPerDay   float64  `json:"need_per_day" doc:"Requests that keeping all others takes"`
	ClaimPerDay  float64  `json:"claim_per_day" doc:"Requests that levels may claim of the budget"`
	BudgetPerDay float64  `json:"budget_per_day"`
	Items        []Pledge `json:"items,omitempty" doc:"Source by source, if asked for"`
}

// A Pledge is the service level of a source, and what it takes.
type Pledge struct {
	ID         freshet.SourceID `json:"id"`
	Level      string           `json:"level"`
	Kept       bool             `json:"kept" doc:"It is expected to be kept"`
	Hold       string           `json:"hold,omitempty" enum:"budget,host,min_gap,source_gap,rate,unknown,worth" doc:"What keeps it from being kept: all levels need more than they may claim, those of its host more than the host allows, its min_gap, the source_gap of all sources, that it changes too often for any poller, that for all that is known it may, or that polls of other sources are worth more"`
	Share      float64          `json:"share" doc:"Of its changes that is expected in time, as things are"`
	Gap        Duration         `json:"gap" doc:"Between polls, as things are"`
	NeedGap    Duration         `json:"need_gap,omitzero" doc:"That would keep it; set as max_gap, it does"`
	NeedPerDay float64          `json:"need_per_day" doc:"Requests that this takes; 0 if none keeps it"`
	Next       time.Time        `json:"next,omitzero" doc:"When it is polled next, as in its why; missing if unknown"`
}

// A BudgetQuery says what to show of the budget. Its zero value shows what the
// present one brings.
type BudgetQuery struct {
	Share  string        // what would it cost to capture this share, such as "95%"?
	Delay  time.Duration // what would this mean delay cost; with Share: that share within this time?
	At     string        // what would this budget bring, such as "120/m"?
	Drop   []string      // what if these were dropped: an id, tag:T or host:H?
	Eaters int           // show so many sources that take the most
	Levels bool          // show the service levels source by source
	Points int           // of the curve; zero means 41
	Span   float64       // how many times the present budget the curve reaches; zero means 32
}

// Budget returns what the budget brings, and what another would.
func (c *Client) Budget(ctx context.Context, q BudgetQuery) (Budget, error) {
	asked := query{}
	asked.text("share", q.Share)
	if q.Delay > 0 {
		asked.text("delay", q.Delay.String())
	}
	asked.text("at", q.At)
	asked["drop"] = append(asked["drop"], q.Drop...)
	asked.number("eaters", int64(q.Eaters))
	asked.flag("levels", q.Levels)
	asked.number("points", int64(q.Points))
	if q.Span != 0 {
		asked.text("span", strconv.FormatFloat(q.Span, 'g', -1, 64))
	}
	return get[Budget](ctx, c, "/budget", asked)
}
