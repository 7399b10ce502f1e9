package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/units"
)

func (a *budgetAPI) routeNumbers() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-numbers", Method: http.MethodGet, Path: "/api/v1/numbers", Tags: []string{"program"},
		Summary:     "Show how well sources are captured",
		Description: "Estimates from polls alone: a poll shows that a source has changed since the previous poll, but neither how often nor when. Ranges are 90% intervals.",
	}, a.getNumbers)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-numbers-by-day", Method: http.MethodGet, Path: "/api/v1/numbers/days", Tags: []string{"program"},
		Summary:     "Count the results of polls by day",
		Description: "Counted from the stored log of polls (keep.logs) of the current sources. The number of changes that were missed between two polls is estimated from the current rate of change.",
	}, a.getDays)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-divergence", Method: http.MethodGet, Path: "/api/v1/numbers/divergence", Tags: []string{"program"},
		Summary:     "Show how far the copies of an extracted number were from their sources",
		Description: "The mean over time of the difference between the value of the copy and that of the source, from the stored changes: a change came at any moment between the two polls that saw it, unless the source dates it. Values that came and went between two polls are not seen.",
	}, a.getDivergence)
}

type numbersInput struct {
	By    string `query:"by" enum:"tag,host,source,site" doc:"Also group the numbers by tag, host, site or source"`
	Tag   string `query:"tag" doc:"Only sources with this tag"`
	Host  string `query:"host" doc:"Only sources of this host"`
	Site  string `query:"site" doc:"Only pages of this site"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"At most this many groups"`

	Offset int `query:"offset" minimum:"0" maximum:"1000000" doc:"Skip this many groups"`
}

func (a *budgetAPI) getNumbers(ctx context.Context, in *numbersInput) (*rest.Body[client.Numbers], error) {
	n, err := a.daemon.Numbers(ctx, daemon.NumbersQuery{By: daemon.Grouping(in.By), Tag: in.Tag, Host: in.Host, Site: freshet.SourceID(in.Site)})
	if err != nil {
		return nil, err
	}
	out := client.Numbers{
		At: n.At.UTC(), Budget: a.daemon.Limits().Budget.String(), Price: n.Price,
		All: capturedOf(n.All), FairnessOverHosts: estimateOf(n.Hosts), Calibration: calibrationOf(n.Reliability),
	}
	if n.Most > 0 {
		out.BudgetUsed = float64(n.Used) / float64(n.Most)
	}
	left := n.Groups[min(in.Offset, len(n.Groups)):]
	for _, g := range left[:min(in.Limit, len(left))] {
		out.Groups = append(out.Groups, capturedOf(g))
	}
	if out.LeftOff = len(left) - len(out.Groups); out.LeftOff > 0 {
		next := in.Offset + in.Limit
		out.Next = &next
	}
	return rest.Reply(out), nil
}

type daysInput struct {
	rest.Between
	Zone string `query:"zone" default:"UTC" doc:"Time zone of the days, such as Europe/Berlin"`
	Tag  string `query:"tag" doc:"Only sources with this tag"`
	Host string `query:"host" doc:"Only sources of this host"`
}

const (
	daysAsked = 30   // where nobody says since when
	daysMost  = 3660 // that one answer has
)

func (a *budgetAPI) getDays(ctx context.Context, in *daysInput) (*rest.Body[client.Days], error) {
	span, err := a.ParseBetween(in.Between)
	if err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(in.Zone)
	if err != nil || in.Zone == "Local" {
		return nil, rest.Invalid("query.zone", "is no time zone; use a name such as Europe/Berlin", in.Zone)
	}
	if span.Until.IsZero() {
		span.Until = a.Now()
	}
	if span.Since.IsZero() {
		span.Since = span.Until.AddDate(0, 0, 1-daysAsked)
	}
	if span.Until.Sub(span.Since) > daysMost*units.Day {
		return nil, rest.Invalid("query.since", fmt.Sprintf("is more than %d days before until", daysMost), in.Since)
	}
	days, err := a.daemon.Days(ctx, daemon.DaysQuery{In: span, Zone: zone, Tag: in.Tag, Host: in.Host})
	if err != nil {
		return nil, err
	}
	out := client.Days{Zone: zone.String(), Items: []client.Day{}}
	if !days.From.IsZero() {
		from := days.From.UTC()
		out.From = &from
	}
	for _, d := range days.List {
		out.Items = append(out.Items, client.Day{
			Date: d.Begins.Format(time.DateOnly), Begins: d.Begins.UTC(),
			Requests: d.Requests, Polls: d.Polls, Failed: d.Failed, Changes: d.Changes, Captured: d.Captured,
			Missed: missedOf(outlook.Tally{Captured: d.Captured, Happened: d.Happened}, days.ShareOf(d)),
		})
	}
	return rest.Reply(out), nil
}

type divergenceInput struct {
	rest.Between
	Field    string `query:"field" doc:"Name of the extracted number, such as price"`
	Relative bool   `query:"relative" doc:"Differences as a part of the larger of the two values"`
	Tag      string `query:"tag" doc:"Only sources with this tag"`
	Host     string `query:"host" doc:"Only sources of this host"`
	Limit    int    `query:"limit" default:"100" minimum:"1" maximum:"10000" doc:"At most this many sources"`
	Offset   int    `query:"offset" minimum:"0" maximum:"1000000" doc:"Only sources after so many: the next of the answer before"`
}

func (a *budgetAPI) getDivergence(ctx context.Context, in *divergenceInput) (*rest.Body[client.Divergences], error) {
	span, err := a.ParseBetween(in.Between)
	switch {
	case err != nil:
		return nil, err
	case in.Field == "":
		return nil, rest.Invalid("query.field", "is missing; name an extracted number, such as price", in.Field)
	}
	if span.Until.IsZero() {
		span.Until = a.Now()
	}
	if span.Since.IsZero() {
		span.Since = span.Until.AddDate(0, 0, -daysAsked)
	}
	q := daemon.DivergenceQuery{Field: in.Field, Differ: outlook.Absolute, In: span, Tag: in.Tag, Host: in.Host}
	if in.Relative {
		q.Differ = outlook.Relative
	}
	all, each, err := a.daemon.ValueDivergence(ctx, q)
	if err != nil {
		return nil, err
	}
	of := func(d daemon.ValueDivergence) client.Divergence {
		return client.Divergence{Source: d.Source, Mean: estimateOf(d.Mean()), Changes: d.Changes, Unknown: d.Unknown, Watched: client.Duration(d.Watched.Round(time.Second))}
	}
	out := client.Divergences{Field: in.Field, Relative: in.Relative, Since: span.Since.UTC(), Until: span.Until.UTC(), All: of(all), Sources: len(each), Items: []client.Divergence{}}
	left := each[min(in.Offset, len(each)):]
	for _, d := range left[:min(len(left), in.Limit)] {
		out.Items = append(out.Items, of(d))
	}
	if len(left) > in.Limit {
		next := in.Offset + in.Limit
		out.Next = &next
	}
	return rest.Reply(out), nil
}

func capturedOf(g daemon.Group) client.Captured {
	share, fresh := learn.Share(g.Tally), learn.Freshness(g.Tally)
	c := client.Captured{
		Name: g.Name, Sources: g.Sources, Unseen: g.Unseen, Early: g.Early, Polls: g.Polls, Captured: g.Captured, Happened: g.Happened,
		Missed: missedOf(g.Tally, share), Share: estimateOf(share),
		Delay: rounded(g.MeanDelay()), DelayRange: durationsOf(learn.Delay(g.Tally)), Age: rounded(g.MeanAge()), AgeRange: durationsOf(learn.Age(g.Tally)),
		Freshness: fresh.Mean, FreshnessRange: client.ShareRange{Low: fresh.Low, High: fresh.High}, Waiting: g.Waiting,
		ChangeRatio: g.ChangeRatio(), WeightedChangeRatio: g.Weighted.ChangeRatio(),
		Divergence: estimateOf(learn.Divergence(g.Tally)), Fairness: estimateOf(g.Fairness.Share()),
	}
	c.Believe()
	return c
}

// durationsOf returns a range of seconds as lengths of time.
func durationsOf(r outlook.Range) client.DurationRange {
	of := func(seconds float64) client.Duration { return rounded(time.Duration(seconds * float64(time.Second))) }
	return client.DurationRange{Low: of(r.Low), High: of(r.High)}
}

// missedOf turns a share captured into how many were not.
func missedOf(t outlook.Tally, share outlook.Range) client.Estimate {
	missed := func(share float64) float64 {
		if share <= 0 {
			return max(0, t.Happened-t.Captured)
		}
		return t.Captured/share - t.Captured
	}
	return client.Estimate{Mean: missed(share.Mean), Low: missed(share.High), High: missed(share.Low)}
}

// calibrationOf returns how far chances have come true as the API tells it.
func calibrationOf(r learn.Reliability) client.Calibration {
	c := client.Calibration{Gap: r.Gap(), Bins: []client.CalibrationBin{}}
	for _, bin := range r.Bins() {
		c.Bins = append(c.Bins, client.CalibrationBin(bin))
	}
	return c
}

// gauges reports the numbers of all sources as metrics, if there are any.
func (a *budgetAPI) gauges(ctx context.Context, set setGauge) {
	n, err := a.daemon.Overall(ctx)
	if err != nil {
		return
	}
	set(gauge("freshet_expected_delay_seconds", "Expected time between a change and its capture."), n.All.MeanDelay().Seconds())
	set(gauge("freshet_freshness_ratio", "Expected share of time in which copies are up to date."), n.All.Freshness())
	set(gauge("freshet_age_seconds", "For how long copies have been out of date, on average over time."), n.All.MeanAge().Seconds())
	set(gauge("freshet_change_ratio", "Share of polls that find a change."), n.All.ChangeRatio())
	ranged := func(name, help string, r outlook.Range) {
		desc := gauge(name, help+": the mean, and the bounds between which it lies nine times in ten.", "bound")
		for bound, value := range map[string]float64{"mean": r.Mean, "low": r.Low, "high": r.High} {
			set(desc, value, bound)
		}
	}
	ranged("freshet_captured_share", "Estimated share of changes that is captured", learn.Share(n.All.Tally))
	ranged("freshet_divergence_changes", "Estimated changes that a copy lacks, on average over time and sources", learn.Divergence(n.All.Tally))
	ranged("freshet_fairness_sources_ratio", "Estimated share of the sources that have changed which were polled since they were first seen", n.All.Fairness.Share())
	ranged("freshet_fairness_hosts_ratio", "The same share, as the mean of hosts, however many sources they have", n.Hosts)
	set(gauge("freshet_waiting_changes", "Changes expected to have happened since their sources were last seen."), n.All.Waiting)
	set(gauge("freshet_budget_used_ratio", "Share of the present stretch of the budget that is spent."), float64(n.Used)/math.Max(1, float64(n.Most)))
	if n.Price > 0 {
		set(gauge("freshet_price", "What a poll must be worth to be made under the present budget."), n.Price)
	}
	polls := gauge("freshet_calibration_polls", "Polls that were said to find a change with a chance in the tenth that begins here.", "said")
	chance := gauge("freshet_calibration_chance", "Sum of the chances said of those polls: how many of them should have found one.", "said")
	found := gauge("freshet_calibration_found", "How many of those polls found one.", "said")
	for i, bin := range n.Reliability {
		said := strconv.FormatFloat(float64(i)/float64(len(n.Reliability)), 'f', 1, 64)
		set(polls, bin.Polls, said)
		set(chance, bin.Chance, said)
		set(found, bin.Found, said)
	}
}
