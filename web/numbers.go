package web

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"freshet"
	"freshet/learn"
	"freshet/live"
)

// Numbers say how well sources are captured, as the API tells it.
type Numbers struct {
	At          time.Time   `json:"at"`
	Budget      string      `json:"budget"`
	BudgetUsed  float64     `json:"budget_used" doc:"Share of the present stretch of the budget that is spent"`
	Price       float64     `json:"price,omitempty" doc:"What a poll must be worth to be made under the present budget; missing if not known"`
	All         Captured    `json:"all" doc:"All sources that were asked for, together"`
	Groups      []Captured  `json:"groups,omitempty" doc:"By what was asked for; those that missed most come first"`
	LeftOff     int         `json:"left_off,omitempty" doc:"Groups that there are beyond the limit"`
	Calibration Calibration `json:"calibration" doc:"How far the chances said of polls came true, over all sources"`
}

// Captured is what became of the changes of sources, as far as can be told from
// polls. What is a week old counts half.
type Captured struct {
	Name      string   `json:"name,omitempty" doc:"Tag, host or id of the source"`
	Sources   int      `json:"sources" doc:"That are polled"`
	Unseen    int      `json:"unseen,omitempty" doc:"Of those, that have never been seen"`
	Polls     float64  `json:"polls" doc:"That saw a source"`
	Captured  float64  `json:"captured" doc:"Changes that a poll has seen"`
	Happened  float64  `json:"happened" doc:"Changes that are thought to have happened, seen or not"`
	Missed    Estimate `json:"missed" doc:"Changes that are thought to have come and gone unseen"`
	Share     Estimate `json:"share" doc:"Of the changes that was captured"`
	Delay     Duration `json:"delay" doc:"Expected between a change and its capture, on average"`
	Freshness float64  `json:"freshness" doc:"Expected share of time in which our copy was up to date"`
	Age       Duration `json:"age" doc:"For which our copy had been out of date, on average over time"`
	Waiting   float64  `json:"waiting" doc:"Changes expected to have happened since each source was last seen"`
}

// Calibration says how far chances have come true.
type Calibration struct {
	Gap  float64          `json:"gap" doc:"Mean distance between the chance said and the share found; 0 is perfect"`
	Bins []CalibrationBin `json:"bins" nullable:"false" doc:"By tenths of the chance said; those without a poll are left out"`
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
	CalibrationGap float64  `json:"calibration_gap" doc:"Mean distance between the chance said of polls and the share found; 0 is perfect"`
}

func (a *api) routeNumbers(h huma.API) {
	route(h, a, huma.Operation{
		OperationID: "get-numbers", Method: http.MethodGet, Path: "/api/v1/numbers", Tags: []string{"program"},
		Summary:     "Show how well sources are captured",
		Description: "Estimates from polls alone: a poll shows that a source has changed since it was last seen, but neither how often nor when. Ranges hold the truth nine times in ten.",
	}, a.getNumbers)
}

type numbersInput struct {
	By    string `query:"by" enum:"tag,host,source" doc:"Also show what sources of a tag, a host or each source come to"`
	Tag   string `query:"tag" doc:"Only sources with this tag"`
	Host  string `query:"host" doc:"Only sources of this host"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"Of groups"`
}

func (a *api) getNumbers(ctx context.Context, in *numbersInput) (*bodyOf[Numbers], error) {
	n, err := a.Daemon.Numbers(ctx, live.NumbersQuery{By: live.Grouping(in.By), Tag: in.Tag, Host: in.Host})
	if err != nil {
		return nil, err
	}
	out := Numbers{
		At: n.At.UTC(), Budget: a.Daemon.Limits().Budget.String(), Price: n.Price,
		All: capturedOf(n.All), Calibration: CalibrationOf(n.Reliability),
	}
	if n.Most > 0 {
		out.BudgetUsed = float64(n.Used) / float64(n.Most)
	}
	for _, g := range n.Groups[:min(in.Limit, len(n.Groups))] {
		out.Groups = append(out.Groups, capturedOf(g))
	}
	out.LeftOff = len(n.Groups) - len(out.Groups)
	return &bodyOf[Numbers]{out}, nil
}

func capturedOf(g live.Group) Captured {
	share := learn.Share(g.Tally)
	return Captured{
		Name: g.Name, Sources: g.Sources, Unseen: g.Unseen, Polls: g.Polls, Captured: g.Captured, Happened: g.Happened,
		Missed: missedOf(g.Tally, share), Share: Estimate{share.Mean, share.Low, share.High},
		Delay: rounded(g.MeanDelay()), Freshness: g.Freshness(), Age: rounded(g.MeanAge()), Waiting: g.Waiting,
	}
}

// missedOf turns a share captured into how many were not.
func missedOf(t freshet.Tally, share freshet.Range) Estimate {
	missed := func(share float64) float64 {
		if share <= 0 {
			return max(0, t.Happened-t.Captured)
		}
		return t.Captured/share - t.Captured
	}
	return Estimate{Mean: missed(share.Mean), Low: missed(share.High), High: missed(share.Low)}
}

// CalibrationOf tells how far chances have come true in the words of the API.
func CalibrationOf(r learn.Reliability) Calibration {
	c := Calibration{Gap: r.Gap(), Bins: []CalibrationBin{}}
	for i, bin := range r {
		if bin.Polls == 0 {
			continue
		}
		c.Bins = append(c.Bins, CalibrationBin{
			From: float64(i) / float64(len(r)), To: float64(i+1) / float64(len(r)),
			Polls: bin.Polls, Said: bin.Chance / bin.Polls, Found: bin.Found / bin.Polls,
		})
	}
	return c
}

// statusNumbers returns the numbers in short; nil if there are none.
func (a *api) statusNumbers(ctx context.Context) *StatusNumbers {
	n, err := a.Daemon.Overall(ctx)
	if err != nil {
		return nil // nothing is learnt, or nobody is at work
	}
	all := capturedOf(n.All)
	return &StatusNumbers{
		Share: all.Share, Delay: all.Delay, Freshness: all.Freshness, Age: all.Age,
		Price: n.Price, CalibrationGap: n.Reliability.Gap(),
	}
}

// collectNumbers tells the numbers of all sources as metrics, if there are any.
func (m *moment) collectNumbers(ctx context.Context, tell func(desc *prometheus.Desc, value float64, labels ...string)) {
	n, err := m.Daemon.Overall(ctx)
	if err != nil {
		return
	}
	share := learn.Share(n.All.Tally)
	captured := gauge("freshet_captured_share", "Estimated share of changes that is captured: the mean, and the bounds between which it lies nine times in ten.", "bound")
	for bound, value := range map[string]float64{"mean": share.Mean, "low": share.Low, "high": share.High} {
		tell(captured, value, bound)
	}
	tell(gauge("freshet_expected_delay_seconds", "Expected time between a change and its capture."), n.All.MeanDelay().Seconds())
	tell(gauge("freshet_freshness_ratio", "Expected share of time in which copies are up to date."), n.All.Freshness())
	tell(gauge("freshet_age_seconds", "For how long copies have been out of date, on average over time."), n.All.MeanAge().Seconds())
	tell(gauge("freshet_waiting_changes", "Changes expected to have happened since their sources were last seen."), n.All.Waiting)
	tell(gauge("freshet_budget_used_ratio", "Share of the present stretch of the budget that is spent."), float64(n.Used)/math.Max(1, float64(n.Most)))
	if n.Price > 0 {
		tell(gauge("freshet_price", "What a poll must be worth to be made under the present budget."), n.Price)
	}
	polls := gauge("freshet_calibration_polls", "Polls that were said to find a change with a chance in the tenth that begins here.", "said")
	chance := gauge("freshet_calibration_chance", "Sum of the chances said of those polls: how many of them should have found one.", "said")
	found := gauge("freshet_calibration_found", "How many of those polls found one.", "said")
	for i, bin := range n.Reliability {
		said := strconv.FormatFloat(float64(i)/float64(len(n.Reliability)), 'f', 1, 64)
		tell(polls, bin.Polls, said)
		tell(chance, bin.Chance, said)
		tell(found, bin.Found, said)
	}
}
