package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
)

func (a *versionAPI) routeTrial() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "test-source", Method: http.MethodPost, Path: "/api/v1/sources/{id}/test", Tags: tags,
		Summary:     "Try another way of reading a source on stored versions",
		Description: "The body has the fields of an edit, such as read or select. Nothing is fetched or saved.",
	}, a.testSource)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-suggestions", Method: http.MethodGet, Path: "/api/v1/sources/{id}/suggestions", Tags: tags,
		Summary:     "Propose ways to read a source",
		Description: "Proposes articles, lists of items, tables and prices of the latest capture, each with a sample. Nothing is fetched.",
	}, a.listSuggestions)
}

type testSourceInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	History int              `query:"history" minimum:"0" maximum:"200" doc:"Also read this many stored versions, and report which would be changes"`
	Body    rest.Object[sourceEdit]
}

func (a *versionAPI) testSource(ctx context.Context, in *testSourceInput) (*rest.Body[client.SourceTrial], error) {
	w, err := rest.FindSource(ctx, a.store, in.ID)
	if err != nil {
		return nil, err
	}
	s, err := w.Source.Patch(in.Body)
	if err != nil {
		return nil, err
	}
	s.URL = w.URL
	if s, err = a.admit(s); err != nil {
		return nil, err
	}
	v, err := a.newest(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	resp, err := a.captured(ctx, in.ID, v)
	if err != nil {
		return nil, err
	}
	read, err := a.trace(ctx, s.Recipe, resp)
	trial := client.SourceTrial{Version: v.Number, Steps: []client.StepTrial{}}
	for _, step := range read.Steps {
		trial.Steps = append(trial.Steps, client.StepTrial{Step: step.Step, Out: step.Out, TookMS: float64(step.Took.Microseconds()) / 1000})
	}
	if err != nil {
		return nil, rest.Invalid("body.read", err.Error(), nil)
	}
	trial.Text, trial.Fields, trial.Items = mask.Shorten(string(read.Text), maxTrialText), read.Fields, read.Items.Len()
	if in.History > 0 {
		trial.History, err = a.overHistory(ctx, in.ID, s.Recipe, in.History)
	}
	return rest.Reply(trial), err
}

// maxTrialText is how much of a text a trial shows, in bytes.
const maxTrialText = 256 << 10

// captured returns what a version was read from.
func (a *versionAPI) captured(ctx context.Context, id freshet.SourceID, v freshet.Version) (resp freshet.Response, err error) {
	if a.read == nil || a.trace == nil {
		return resp, rest.NewProblem(http.StatusNotImplemented, "this server cannot read stored versions again")
	}
	if err := rest.Hold(ctx, 2*v.RawBytes); err != nil {
		return resp, err
	}
	raw, err := a.store.Raw(ctx, id, v.Number)
	if err != nil {
		return resp, fmt.Errorf("body of version %d of source %s: %w", v.Number, id, err)
	}
	return freshet.Response{
		Body: raw.Body, Header: raw.Header, URL: cmp.Or(raw.URL, v.URL), MediaType: cmp.Or(v.MediaType, raw.Header.Get("Content-Type")), Status: http.StatusOK,
	}, nil
}

// overHistory reads the newest versions again, the oldest of them first.
func (a *versionAPI) overHistory(ctx context.Context, id freshet.SourceID, recipe reading.Recipe, most int) (*client.HistoryTrial, error) {
	versions, err := a.store.Versions(ctx, id, freshet.Between{}, 0, most)
	if err != nil {
		return nil, fmt.Errorf("versions of source %s: %w", id, err)
	}
	out := &client.HistoryTrial{Items: []client.VersionTrial{}}
	patient, cancel := context.WithTimeout(ctx, trialPatience)
	defer cancel()
	var before []byte
	read := false
	for i, v := range slices.Backward(versions) {
		resp, err := a.captured(ctx, id, v)
		if err != nil {
			return nil, err
		}
		one := client.VersionTrial{Number: v.Number, SeenAt: rest.UTC(v.SeenAt)}
		rd, err := a.read(patient, recipe, resp)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case patient.Err() != nil:
			out.Cut = true
			return out, nil
		case err != nil:
			one.Error, out.Failed = err.Error(), out.Failed+1
		case read && !bytes.Equal(rd.Text, before):
			one.Change, one.Summary, out.Changes = true, extract.Diff(before, rd.Text).Summary(), out.Changes+1
		case i < len(versions)-1:
			out.Spared++
		}
		if err == nil {
			before, read = rd.Text, true
		}
		out.Items = append(out.Items, one)
	}
	return out, nil
}

// trialPatience is how long reading the history again may take.
const trialPatience = 10 * time.Second

func (a *versionAPI) listSuggestions(ctx context.Context, in *rest.SourcePath) (*rest.Body[client.Suggestions], error) {
	v, err := a.newest(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	resp, err := a.captured(ctx, in.ID, v)
	if err != nil {
		return nil, err
	}
	items, err := a.suggestions(ctx, resp)
	if err != nil {
		return nil, fmt.Errorf("look for ways to read version %d of source %s: %w", v.Number, in.ID, err)
	}
	return rest.Reply(client.Suggestions{Version: v.Number, Items: items}), nil
}

// suggestions returns ways to read a response, with what each would read.
func (a *versionAPI) suggestions(ctx context.Context, resp freshet.Response) ([]client.Suggestion, error) {
	found, err := extract.Suggest(resp)
	if err != nil {
		return nil, err
	}
	items := []client.Suggestion{}
	for _, s := range found {
		one := client.Suggestion{What: s.What, Why: s.Why, URL: s.URL}
		if s.URL == "" {
			told := client.NewSourceOf(freshet.Source{URL: resp.URL, Recipe: s.Recipe})
			one.Select, one.Read, one.Items, one.Extract = told.Select, told.Read, told.Items, told.Extract
			rd, err := a.read(ctx, s.Recipe, resp)
			if err != nil {
				continue // what cannot be read is no proposal
			}
			one.Text, one.Count, one.Fields = mask.Shorten(string(rd.Text), 2000), rd.Items.Len(), rd.Fields
		}
		items = append(items, one)
	}
	return items, nil
}
