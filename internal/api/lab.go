package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/suggest"
)

// A labStore is what the lab replays.
type labStore interface {
	rest.SourceReader
	freshet.OutcomeLog
	Sources(ctx context.Context) iter.Seq2[freshet.SourceWithStatus, error]
	RemovedSources(ctx context.Context, url string) iter.Seq2[freshet.SourceWithStatus, error]
}

func newLabAPI(s *rest.Server, store labStore) *labAPI {
	a := &labAPI{Server: s, store: store}
	a.runs.now, a.runs.work = s.Now, a.labWork
	return a
}

// labAPI serves the lab: policies and budgets, tried on what was recorded.
type labAPI struct {
	*rest.Server
	store labStore
	runs  labRuns
}

func (a *labAPI) routes() {
	tags := []string{"lab"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-lab", Method: http.MethodGet, Path: "/api/v1/lab", Tags: tags,
		Summary: "Show the available policies, and the limits of a run",
	}, a.getLab)
	rest.Route(a.Server, huma.Operation{
		OperationID: "start-lab-run", Method: http.MethodPost, Path: "/api/v1/lab/runs", Tags: tags,
		Summary: "Compare policies and budgets on recorded history", DefaultStatus: http.StatusAccepted,
		Description: "Replays the log of polls in virtual time with each policy and budget; nothing is fetched. One run goes on at a time, others wait. " +
			"It takes one processor, half of the time, so that polls are not late. If too many wait the answer is 429.",
	}, a.startLabRun)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-lab-runs", Method: http.MethodGet, Path: "/api/v1/lab/runs", Tags: tags,
		Summary:     "List the runs of the lab",
		Description: "The latest runs, without results. Runs are kept in memory until the daemon stops.",
	}, a.listLabRuns)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-lab-run", Method: http.MethodGet, Path: "/api/v1/lab/runs/{id}", Tags: tags,
		Summary: "Show the progress and the result of a run",
	}, a.getLabRun)
	rest.Route(a.Server, huma.Operation{
		OperationID: "end-lab-run", Method: http.MethodDelete, Path: "/api/v1/lab/runs/{id}", Tags: tags,
		Summary: "Cancel a run, or delete a finished one", DefaultStatus: http.StatusNoContent,
	}, a.endLabRun)
}

// labPolicies says what the policies are, for those who choose among them.
var labPolicies = []client.LabPolicy{
	{Name: "auto", About: "Learns when each source changes; the default"},
	{Name: "uniform", About: "All sources equally often"},
	{Name: "round-robin", About: "The source that has waited longest"},
	{Name: "fixed", About: "Each source at a fixed interval, such as fixed:every=10m"},
	{Name: "frequency", About: "Learns how often each source changes, and polls it as often as that"},
	{Name: "freshness", About: "Keeps as many copies as possible up to date"},
	{Name: "age", About: "Keeps copies from getting old"},
	{Name: "wic", About: "Polls where most is expected to have happened since the last poll"},
	{Name: "cyclic", About: "Polls at the times of the hour, day or week at which changes come"},
	{Name: "sample-greedy", About: "Samples each site first, then polls those with most changes"},
	{Name: "sample-proportional", About: "Samples each site first, then polls in proportion to changes"},
	{Name: "sample-adaptive", About: "Samples each site until it is sure which have most changes"},
	{Name: "sample-subset", About: "Samples each site first, and polls only the best sites"},
}

func (a *labAPI) getLab(context.Context, *struct{}) (*rest.Body[client.Lab], error) {
	return rest.Reply(client.Lab{Policies: labPolicies, Limits: labLimits}), nil
}

type labRunInput struct {
	ID string `path:"id" maxLength:"20" doc:"ID of the run"`
}

func (a *labAPI) startLabRun(ctx context.Context, in *rest.Body[client.LabRequest]) (*rest.Body[client.LabRun], error) {
	task, err := a.labTask(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	run, err := a.runs.add(in.Body, task)
	if err != nil {
		return nil, err
	}
	return rest.Reply(run), nil
}

func (a *labAPI) listLabRuns(_ context.Context, in *rest.Paging) (*rest.Body[client.LabRunList], error) {
	runs, next := rest.Page(*in, a.runs.list(), func(r client.LabRun) string {
		n, _ := strconv.ParseInt(r.ID, 10, 64) // it is a number: the queue gave it
		return fmt.Sprintf("%020d", math.MaxInt64-n)
	})
	return rest.Reply(client.LabRunList{Items: runs, Next: next}), nil
}

func (a *labAPI) getLabRun(_ context.Context, in *labRunInput) (*rest.Body[client.LabRun], error) {
	run, ok := a.runs.run(in.ID)
	if !ok {
		return nil, errNoLabRun(in.ID)
	}
	return rest.Reply(run), nil
}

func (a *labAPI) endLabRun(_ context.Context, in *labRunInput) (*struct{}, error) {
	if !a.runs.end(in.ID) {
		return nil, errNoLabRun(in.ID)
	}
	return nil, nil
}

func errNoLabRun(id string) error {
	p := rest.NewProblem(http.StatusNotFound, fmt.Sprintf("there is no run %s", id))
	p.Hint = fmt.Sprintf("the latest %d runs are kept until the daemon stops", labLimits.Kept)
	return p
}

// labTask reads what is asked for.
func (a *labAPI) labTask(ctx context.Context, r client.LabRequest) (t labTask, err error) {
	for i, name := range r.Policies {
		where := fmt.Sprintf("body.policies[%d]", i)
		if slices.Contains(r.Policies[:i], name) {
			return t, rest.Invalid(where, "is there twice", name)
		}
		if _, err := policy.New(name, policy.Setting{}); err != nil {
			base, _, _ := strings.Cut(name, ":")
			said := invalid.ReasonOf(err).Error()
			if !slices.Contains(policy.Names, base) {
				said += suggest.DidYouMean(base, policy.Names)
			}
			return t, rest.Invalid(where, said, name)
		}
	}
	for i, text := range r.Budgets {
		b, err := sched.ParseBudget(text)
		if err != nil {
			return t, rest.Invalid(fmt.Sprintf("body.budgets[%d]", i), invalid.ReasonOf(err).Error(), text)
		}
		t.budgets = append(t.budgets, b)
	}
	if t.ended.Since, err = a.ParseTime("body.since", r.Since); err != nil {
		return t, err
	}
	if t.ended.Until, err = a.ParseTime("body.until", r.Until); err != nil {
		return t, err
	}
	if !t.ended.Since.IsZero() && !t.ended.Until.IsZero() && !t.ended.Since.Before(t.ended.Until) {
		return t, rest.Invalid("body.until", "is not after since", r.Until)
	}
	for i, id := range r.Sources {
		_, err := rest.FindSourceOrRemoved(ctx, a.store, id)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return t, err
		}
		if err != nil {
			return t, rest.Invalid(fmt.Sprintf("body.sources[%d]", i), "there is no such source", id)
		}
	}
	t.asked = r
	return t, nil
}
