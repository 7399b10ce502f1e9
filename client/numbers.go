package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// Numbers say how well sources are captured, as the API tells it.
type Numbers struct {
	At                time.Time   `json:"at"`
	Budget            string      `json:"budget"`
	BudgetUsed        float64     `json:"budget_used" doc:"Share of the present stretch of the budget that is spent"`
	Price             float64     `json:"price,omitempty" doc:"What a poll must be worth to be made under the present budget; missing if not known"`
	All               Captured    `json:"all" doc:"All sources that were asked for, together"`
	FairnessOverHosts Estimate    `json:"fairness_over_hosts" doc:"Fairness as the mean of the hosts of these sources, however many sources each has; hosts of which nothing has changed are left out"`
	Groups            []Captured  `json:"groups,omitempty" doc:"By what was asked for; those that missed most come first"`
	LeftOff           int         `json:"left_off,omitempty" doc:"Groups that there are beyond the limit"`
	Next              *int        `json:"next,omitempty" doc:"Pass this as offset to get more groups; absent if there are none"`
	Calibration       Calibration `json:"calibration" doc:"How well predictions matched polls, over all sources"`
}

// Captured is an estimate, from polls, of how many changes of sources were captured and missed.
// Polls that are 30 days old count half.
type Captured struct {
	Name                string        `json:"name,omitempty" doc:"Tag, host or id of the source"`
	Sources             int           `json:"sources" doc:"That are polled"`
	Unseen              int           `json:"unseen,omitempty" doc:"Of those, that have never been seen"`
	Early               int           `json:"early,omitempty" doc:"Of those, that were seen less than twice"`
	TooEarly            string        `json:"too_early,omitempty" doc:"Why the share cannot be believed yet; missing if it can"`
	Wide                string        `json:"wide,omitempty" doc:"Why the range of the share is wide, and what would help; missing if it is not"`
	Saturated           bool          `json:"saturated,omitempty" doc:"Nearly every poll finds a change, so that only bounds are known: share.high at most was captured, and missed.low at least was missed"`
	Polls               float64       `json:"polls" doc:"That saw a source"`
	Captured            float64       `json:"captured" doc:"Changes that a poll has seen"`
	Happened            float64       `json:"happened" doc:"Changes that are thought to have happened, seen or not"`
	Missed              Estimate      `json:"missed" doc:"Changes that are thought to have come and gone unseen"`
	Share               Estimate      `json:"share" doc:"Of the changes that was captured"`
	Delay               Duration      `json:"delay" doc:"Expected between a change and its capture, on average"`
	DelayRange          DurationRange `json:"delay_range" doc:"That holds the delay nine times in ten"`
	Freshness           float64       `json:"freshness" doc:"Expected share of time in which our copy was up to date"`
	FreshnessRange      ShareRange    `json:"freshness_range" doc:"That holds the freshness nine times in ten"`
	Age                 Duration      `json:"age" doc:"For which our copy had been out of date, on average over time"`
	AgeRange            DurationRange `json:"age_range" doc:"That holds the age nine times in ten"`
	ChangeRatio         float64       `json:"change_ratio" doc:"Share of the polls that found a change; the first poll of a source and failed polls do not count"`
	WeightedChangeRatio float64       `json:"weighted_change_ratio" doc:"The same, with polls counted by the weights of their sources"`
	Divergence          Estimate      `json:"divergence" doc:"Changes that a copy lacked, on average over time and sources"`
	Fairness            Estimate      `json:"fairness" doc:"Share of the sources that have changed which were polled since they were first seen"`
	Waiting             float64       `json:"waiting" doc:"Changes expected to have happened since each source was last seen"`
}

// A ShareRange is a range of shares.
type ShareRange struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// A DurationRange is a range of lengths of time.
type DurationRange struct {
	Low  Duration `json:"low"`
	High Duration `json:"high"`
}

// Calibration says how far chances have come true.
type Calibration struct {
	Gap  float64          `json:"gap" doc:"Mean distance between the predicted chance and the observed share; 0 is perfect"`
	Bins []CalibrationBin `json:"bins" nullable:"false" doc:"By tenths of the predicted chance; empty bins are left out"`
}

// A CalibrationBin is the polls that were said to have about the same chance of
// finding a change.
type CalibrationBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Polls float64 `json:"polls"`
	Said  float64 `json:"said" doc:"Mean chance"`
	Found float64 `json:"found" doc:"Share of the polls that found a change"`
}

// StatusNumbers are the numbers of all sources in short.
type StatusNumbers struct {
	Share          Estimate `json:"share" doc:"Of changes that was captured"`
	Delay          Duration `json:"delay" doc:"Expected between a change and its capture, on average"`
	Freshness      float64  `json:"freshness" doc:"Expected share of time in which copies were up to date"`
	Age            Duration `json:"age" doc:"For which copies had been out of date, on average over time"`
	Price          float64  `json:"price,omitempty" doc:"What a poll must be worth to be made; missing if not known"`
	CalibrationGap float64  `json:"calibration_gap" doc:"Mean distance between the predicted chance and the observed share; 0 is perfect"`
}

// A NumbersQuery selects sources, and says by what to group them. Its zero value
// means all sources, without groups.
type NumbersQuery struct {
	By    string // tag, host or source
	Tag   string // only sources with this tag
	Host  string // only sources of this host
	Limit int    // of groups; zero means 100
}

// Numbers returns how well sources are captured.
func (c *Client) Numbers(ctx context.Context, q NumbersQuery) (Numbers, error) {
	asked := query{}
	asked.text("by", q.By)
	asked.text("tag", q.Tag)
	asked.text("host", q.Host)
	asked.number("limit", int64(q.Limit))
	return get[Numbers](ctx, c, "/numbers", asked)
}

// Days are what became of polls by the day, as the API tells it.
type Days struct {
	Zone  string     `json:"zone" doc:"Whose days they are"`
	From  *time.Time `json:"from,omitempty" doc:"Nothing before this was counted, because there were too many polls; missing if all were"`
	Items []Day      `json:"items" nullable:"false" doc:"The oldest first, also days without a poll; the last may not be over"`
}

// A Day is what became of the polls that began on it.
type Day struct {
	Date     string    `json:"date" doc:"Such as 2026-11-16"`
	Begins   time.Time `json:"begins"`
	Requests int       `json:"requests" doc:"That its polls sent"`
	Polls    int       `json:"polls"`
	Failed   int       `json:"failed" doc:"Of the polls"`
	Changes  int       `json:"changes" doc:"Of the polls, that found a change"`
	Captured float64   `json:"captured" doc:"Changes that those are thought to have seen: more than one where a source keeps several"`
	Missed   Estimate  `json:"missed" doc:"Changes that are thought to have come and gone unseen before those polls"`
}

// A DaysQuery selects days, and the sources that count. Its zero value means the last
// 30 days of all sources.
type DaysQuery struct {
	In   freshet.Between
	Zone string // name of a time zone; "" means UTC
	Tag  string // only sources with this tag
	Host string // only sources of this host
}

// NumbersByDay returns what became of polls by the day.
func (c *Client) NumbersByDay(ctx context.Context, q DaysQuery) (Days, error) {
	asked := query{}
	asked.between(q.In)
	asked.text("zone", q.Zone)
	asked.text("tag", q.Tag)
	asked.text("host", q.Host)
	return get[Days](ctx, c, "/numbers/days", asked)
}

// Divergences say how far the copies of an extracted number were from their sources.
type Divergences struct {
	Field    string       `json:"field"`
	Relative bool         `json:"relative,omitempty" doc:"Differences are parts of the larger of the two values"`
	Since    time.Time    `json:"since"`
	Until    time.Time    `json:"until"`
	All      Divergence   `json:"all" doc:"Of these sources together, each moment of each counting alike"`
	Sources  int          `json:"sources" doc:"That have the value"`
	Items    []Divergence `json:"items" nullable:"false" doc:"By source, the farthest first"`
	Next     *int         `json:"next,omitempty" doc:"Pass this as offset to get more sources; absent if there are none"`
}

// A Divergence says how far a copy was from its source, on average over time.
type Divergence struct {
	Source  freshet.SourceID `json:"source,omitempty"`
	Mean    Estimate         `json:"mean" doc:"Difference between the value of the copy and that of the source"`
	Changes int              `json:"changes" doc:"Of the value that were seen"`
	Unknown int              `json:"unknown,omitempty" doc:"Changes from or to something that is no number, which do not count"`
	Watched Duration         `json:"watched" doc:"For how long the source was watched"`
}

// A DivergenceQuery selects a value and sources. Without bounds it is about the last 30 days.
type DivergenceQuery struct {
	Field    string
	Relative bool
	In       freshet.Between
	Tag      string // only sources with this tag
	Host     string // only sources of this host
	Limit    int    // of sources; zero means 100
}

// Divergence returns how far the copies of an extracted number were from their sources.
func (c *Client) Divergence(ctx context.Context, q DivergenceQuery) (Divergences, error) {
	asked := query{}
	asked.between(q.In)
	asked.text("field", q.Field)
	asked.flag("relative", q.Relative)
	asked.text("tag", q.Tag)
	asked.text("host", q.Host)
	asked.number("limit", int64(q.Limit))
	return get[Divergences](ctx, c, "/numbers/divergence", asked)
}
