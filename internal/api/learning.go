package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/imported"
	"freshet/internal/learn/outlook"
	"freshet/internal/mask"
	"freshet/internal/sched"
)

// learningAPI serves what is learned of when sources change, and why they are polled when they are.
type learningAPI struct {
	*rest.Server
	sources freshet.Catalog
	daemon  *daemon.Daemon
}

func (a *learningAPI) routes() {
	a.routeWhy()
	a.routeRhythm()
	a.routeTaught()
	a.routeChances()
}

func (a *learningAPI) routeWhy() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-why", Method: http.MethodGet, Path: "/api/v1/sources/{id}/why", Tags: []string{"sources"},
		Summary:     "Explain the next poll of a source",
		Description: "Shows the estimates for the source, the value of a poll, what delays it, and when it is expected.",
	}, a.getWhy)
}

func (a *learningAPI) getWhy(ctx context.Context, in *struct {
	ID string `path:"id" doc:"ID of the source"`
}) (*rest.Body[client.Why], error) {
	w, err := a.daemon.Why(ctx, freshet.SourceID(in.ID))
	if err != nil {
		return nil, err
	}
	return rest.Reply(whyOf(w)), nil
}

// whyOf tells an explanation in the words of the API.
func whyOf(w daemon.Why) client.Why {
	o, s := w.Outlook, w.Source
	why := client.Why{
		ID: s.ID, URL: mask.URL(s.URL), Name: s.Name, At: o.At.UTC(), LastSeen: rest.UTC(o.Since), Trouble: w.Trouble,
		Hold:  *holdOf(w.Hold),
		Asked: w.Hold.Asked, MaxGap: client.Duration(s.MaxGap), Deadline: rest.UTC(w.Hold.Deadline), Next: rest.UTC(w.Next),
		SharedWith: w.Mates, Opens: rest.UTC(w.Opens), Waiting: w.Waiting, Within: rounded(w.Within),
	}
	if !w.Next.IsZero() {
		why.Cause = w.Cause.String()
	}
	if t := w.Hold.Strategy; t != nil {
		why.Strategy, why.Planned = t.Strategy().String(), rest.UTC(w.Hold.Planned)
	}
	if h := w.Hold.Active; h != nil {
		why.Active = h.Hours().String()
	}
	if h := o.Heard; w.Index != "" {
		why.Heard = &client.Heard{Index: w.Index, Kind: h.Kind.String(), Changed: rest.UTC(h.Dated), Until: rest.UTC(h.Until), Right: h.Right, Times: h.Times}
	}
	why.Foretold, why.Resting = client.ForetoldOf(o.Foretold), client.RestingOf(o.Resting)
	if h := w.Hold; !h.Pushed.IsZero() {
		why.Pushed = &client.Pushed{At: rest.UTC(h.Pushed), Right: h.Push.Right, Times: h.Push.Times}
	}
	if o.Now.Mean > 0 {
		why.Outlook = outlookOf(o, s.Life)
		if w.Hold.Kind == sched.HoldPaused { // nothing is due
			why.Outlook.Due = time.Time{}
		}
	}
	why.Taught = client.TaughtOf(w.Taught)
	if c := w.Chances; c != nil {
		why.GivenChances = client.GivenChancesOf(c.Forecast, c.Used, o.At)
	}
	if s := w.Stake; s != nil {
		why.Stake = &client.Stake{Factor: s.Factor, Changes: s.Changes, Matched: s.Matched}
	}
	why.Sentence = why.Words(time.UTC)
	return why
}

// holdOf tells a hold in the words of the API.
func holdOf(h sched.Hold) *client.Hold {
	return &client.Hold{Kind: h.Kind.String(), Reason: h.String(), Until: rest.UTC(h.Until), Failures: h.Failures}
}

func outlookOf(o outlook.Outlook, life objective.Visibility) *client.Outlook {
	const day = 24 * 60 * 60
	out := &client.Outlook{
		RatePerDay: client.RateOf(o.Rate),
		Expected:   o.Expected, Chance: o.Chance, Worth: o.Worth, Price: o.Price, Idle: o.Idle, Due: rest.UTC(o.Due),
		Captured: capturedOf(groupOf(o)),
	}
	if o.Rate.Known == outlook.Estimated {
		out.RateNowPerDay = &client.Estimate{Mean: o.Moment.Mean * day, Low: o.Moment.Low * day, High: o.Moment.High * day}
	}
	switch {
	case o.Since.IsZero():
		out.Worth = 0 // a first look is beyond price
		out.Captured.Unseen = 1
	case !out.RatePerDay.IsKnown():
	case life.Kind == objective.VisibleUntilNext:
		out.LostPerDay = o.Rate.Mean * day * o.Chance // the next one replaces what waits
	case life.Kind == objective.VisibleForever:
		out.DelayedPerDay = o.Expected
	}
	return out
}

// groupOf returns the group that a source is alone.
func groupOf(o outlook.Outlook) daemon.Group {
	alone := daemon.Group{Sources: 1, Waiting: o.Expected, Tally: o.Tally}
	if o.Polls == 0 {
		alone.Early = 1
	}
	return alone
}

func (a *learningAPI) routeRhythm() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-rhythm", Method: http.MethodGet, Path: "/api/v1/sources/{id}/rhythm", Tags: []string{"sources"},
		Summary:     "Show when a source changes",
		Description: "Learned rates of change by week, day and hour in UTC, beside the observations of polls.",
	}, a.getRhythm)
}

func (a *learningAPI) getRhythm(ctx context.Context, in *struct {
	ID string `path:"id" doc:"ID of the source"`
}) (*rest.Body[client.Rhythm], error) {
	r, err := a.daemon.Rhythm(ctx, freshet.SourceID(in.ID))
	if err != nil {
		return nil, err
	}
	out := rhythmOf(freshet.SourceID(in.ID), r.Rhythm)
	if c := r.Chances; c != nil {
		out.GivenChances = client.GivenChancesOf(c.Forecast, c.Used, r.At)
	}
	out.Sentence = out.Words(time.UTC, r.At)
	return rest.Reply(out), nil
}

// rhythmOf tells a rhythm in the words of the API.
func rhythmOf(id freshet.SourceID, r outlook.Rhythm) client.Rhythm {
	const day = 24 * 60 * 60
	bins := func(of []outlook.RhythmBin) (list []client.RhythmBin) {
		for _, b := range of {
			list = append(list, client.RhythmBin{Factor: b.Factor, Seen: b.Seen, Due: b.Due})
		}
		return list
	}
	out := client.Rhythm{
		ID: id, Rate: client.RateOf(r.Rate),
		Changes: r.Happened, Watched: client.Duration(r.Watched * float64(time.Second)), Taught: r.Taught, Own: r.Own,
		Week: [][]float64{}, Hours: bins(r.Hours), Weekdays: bins(r.Weekdays), Minutes: bins(r.Minutes),
	}
	if r.Rate.Known == outlook.Estimated {
		out.PerDay, out.Low, out.High = out.Rate.Mean, out.Rate.Low, out.Rate.High
	}
	for _, w := range r.Weekdays {
		if !out.Rate.IsKnown() {
			break
		}
		row := []float64{}
		for _, h := range r.Hours {
			row = append(row, r.Rate.Mean*day/float64(len(r.Hours))*w.Factor*h.Factor)
		}
		out.Week = append(out.Week, row)
	}
	out.Foretold, out.Resting = client.ForetoldOf(r.Foretold), client.RestingOf(r.Resting)
	return out
}

func (a *learningAPI) routeTaught() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "teach-source", Method: http.MethodPost, Path: "/api/v1/sources/{id}/taught", Tags: []string{"sources"},
		Summary:      "Import past update times of a source",
		Description:  "The learner learns from imported update times, and plans use them as history. They count neither as polls nor as captures. Times that were imported before count once.",
		MaxBodyBytes: 16 << 20,
	}, a.teach)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-taught", Method: http.MethodGet, Path: "/api/v1/sources/{id}/taught", Tags: []string{"sources"},
		Summary: "List the imported update times of a source",
	}, a.getTaught)
}

func (a *learningAPI) teach(ctx context.Context, in *struct {
	ID   freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Body client.TimesToImport
}) (*rest.Body[client.ImportedCount], error) {
	added, all, err := a.daemon.Teach(ctx, in.ID, in.Body.Times)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	return rest.Reply(client.ImportedCount{Added: added, Taught: client.TaughtOf(all)}), nil
}

func (a *learningAPI) getTaught(ctx context.Context, in *struct {
	ID    freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	After string           `query:"after" maxLength:"200" doc:"Continue after this: the next of the previous page"`
	Limit int              `query:"limit" default:"10000" minimum:"1" maximum:"10000" doc:"At most this many"`
}) (*rest.Body[client.TaughtTimes], error) {
	if _, err := rest.FindSource(ctx, a.sources, in.ID); err != nil {
		return nil, err
	}
	all, err := a.daemon.Taught(ctx, in.ID)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	times, next := rest.Page(rest.Paging{After: in.After, Limit: in.Limit}, all.All(), placeOfTime)
	return rest.Reply(client.TaughtTimes{Times: times, Next: next}), nil
}

// placeOfTime gives update times their places: those that ended first come first.
func placeOfTime(t imported.UpdateTime) string {
	return fmt.Sprintf("%s-%s", t.Until.UTC().Format(sortable), t.After.UTC().Format(sortable))
}

// sortable is how times are written that are sorted as text.
const sortable = "20060102T150405.000000000"

func (a *learningAPI) routeChances() {
	const path = "/api/v1/sources/{id}/chances"
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "set-chances", Method: http.MethodPut, Path: path, Tags: tags,
		Summary:      "Set a forecast of when a source changes",
		Description:  "Probabilities of future changes, from a calendar or another model. They replace the previous forecast. While the forecast is valid, the policies auto and wic use it instead of what they learned.",
		MaxBodyBytes: 4 << 20,
	}, a.setChances)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-chances", Method: http.MethodGet, Path: path, Tags: tags,
		Summary: "Show the forecast that was set for a source",
	}, a.getChances)
	rest.Route(a.Server, huma.Operation{
		OperationID: "clear-chances", Method: http.MethodDelete, Path: path, Tags: tags,
		Summary: "Remove the forecast that was set for a source", DefaultStatus: http.StatusNoContent,
	}, a.clearChances)
}

// taggedChances are chances with a tag of what they are.
type taggedChances struct {
	ETag string `header:"ETag"`
	Body imported.Forecast
}

type setChancesInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch rest.IfMatch     `header:"If-Match" doc:"Replace them only if they still have this ETag; * means any"`
	Body    imported.Forecast
}

func (a *learningAPI) setChances(ctx context.Context, in *setChancesInput) (*taggedChances, error) {
	a.Edits.Lock() // nothing comes between the look and the change
	defer a.Edits.Unlock()
	if err := a.checkChances(ctx, in.ID, in.IfMatch); err != nil {
		return nil, err
	}
	given, err := a.daemon.SetChances(ctx, in.ID, in.Body)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	return &taggedChances{rest.ContentTag(given), given}, nil
}

// checkChances reports whether what was given of a source still has a tag.
func (a *learningAPI) checkChances(ctx context.Context, id freshet.SourceID, m rest.IfMatch) error {
	if m == "" {
		return nil
	}
	found, err := a.getChances(ctx, &rest.SourcePath{ID: id})
	if errors.Is(err, freshet.ErrNotFound) {
		if _, err := rest.FindSource(ctx, a.sources, id); err != nil {
			return err
		}
		return m.CheckTag("the chances of source "+string(id), "")
	}
	if err != nil {
		return err
	}
	return m.CheckTag("the chances of source "+string(id), found.ETag)
}

func (a *learningAPI) getChances(ctx context.Context, in *rest.SourcePath) (*taggedChances, error) {
	if _, err := rest.FindSource(ctx, a.sources, in.ID); err != nil {
		return nil, err
	}
	given, ok, err := a.daemon.Chances(ctx, in.ID)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	if !ok {
		return nil, fmt.Errorf("chances of source %s: %w", in.ID, freshet.ErrNotFound)
	}
	return &taggedChances{rest.ContentTag(given), given}, nil
}

type clearChancesInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch rest.IfMatch     `header:"If-Match" doc:"Remove it only if it still has this ETag; * means any"`
}

func (a *learningAPI) clearChances(ctx context.Context, in *clearChancesInput) (*struct{}, error) {
	a.Edits.Lock()
	defer a.Edits.Unlock()
	if err := a.checkChances(ctx, in.ID, in.IfMatch); err != nil {
		return nil, err
	}
	if err := a.daemon.ClearChances(ctx, in.ID); err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	return nil, nil
}
