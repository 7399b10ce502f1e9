package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/http/httpguts"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/learn/imported"
)

func (a *importAPI) routeVersions() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "import-versions", Method: http.MethodPost, Path: "/api/v1/sources/{id}/versions", Tags: []string{"sources"},
		Summary: "Import versions that another program captured", DefaultStatus: http.StatusOK, MaxBodyBytes: 32 << 20,
		Description: "Versions come with their own times, the oldest first, and are marked as imported. The learner learns when the source changed from them. " +
			"The source must not have been polled: add it paused. A version that is not newer than the newest is left out, so that a request can be repeated.",
	}, a.importVersions)
}

func (a *importAPI) importVersions(ctx context.Context, in *struct {
	ID   freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Body client.VersionsToImport
}) (*rest.Body[client.ImportedVersions], error) {
	w, err := rest.FindSource(ctx, a.store, in.ID)
	if err != nil {
		return nil, err
	}
	newest, err := a.queries.store.Versions(ctx, in.ID, freshet.Between{}, 0, 1)
	if err != nil {
		return nil, err
	}
	var at time.Time
	var text freshet.Hash
	if len(newest) > 0 {
		at, text = newest[0].SeenAt, newest[0].Hash
	}
	done := client.ImportedVersions{}
	var times []time.Time
	for _, v := range in.Body.Versions {
		if v.SeenAt.IsZero() || v.SeenAt.After(a.Now()) {
			return nil, rest.Invalid("body.versions", "seen_at is missing or in the future", v.SeenAt)
		}
		if !v.SeenAt.After(at) {
			done.Known++
			continue
		}
		c, err := a.captureOf(ctx, w.Source, v)
		if _, unread := errors.AsType[*extract.Error](err); unread {
			done.Unread++
			continue
		} else if err != nil {
			return nil, err
		}
		if c.Hash == text {
			done.Known++
			continue
		}
		if err := a.queries.store.ImportVersion(ctx, in.ID, v.SeenAt, c); err != nil {
			return nil, rest.OfSource(in.ID, err)
		}
		if !at.IsZero() {
			times = append(times, v.SeenAt)
		}
		at, text = v.SeenAt, c.Hash
		done.Added++
	}
	if done.Learned, err = a.learnFrom(ctx, in.ID, newest, times); err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	rest.Changed(ctx, nil, map[string]any{"versions": done.Added})
	return rest.Reply(done), nil
}

// captureOf returns a version to store: the text as it is, or a response as the source reads it. A
// text is not compared with what a poll reads, because it was read in another way.
func (a *importAPI) captureOf(ctx context.Context, s freshet.Source, v client.VersionToImport) (freshet.Capture, error) {
	if v.Body == nil {
		text := []byte(v.Text)
		return freshet.Capture{Recipe: "imported", Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{URL: s.URL, Body: text, Header: http.Header{"Content-Type": {"text/plain"}}}}, nil
	}
	response := freshet.Response{Status: http.StatusOK, URL: s.URL, Header: http.Header{"Content-Type": {v.MediaType}}, MediaType: v.MediaType, Body: v.Body}
	if len(v.Header) > 0 {
		header := http.Header{}
		for _, line := range v.Header {
			if name, value, _ := strings.Cut(line, ":"); httpguts.ValidHeaderFieldName(name) {
				header.Add(name, strings.TrimSpace(value))
			}
		}
		response.Method, response.Header = http.MethodGet, fetch.KeptHeader(header)
	}
	reader := a.queries.read
	if reader == nil {
		reader = func(_ context.Context, r reading.Recipe, resp freshet.Response) (extract.Reading, error) {
			return extract.Extract(r, resp)
		}
	}
	read, err := reader(ctx, s.Recipe, response)
	if err != nil {
		return freshet.Capture{}, err
	}
	return freshet.Capture{
		Recipe: s.Key(), Text: read.Text, Hash: freshet.HashOf(read.Text), Title: read.Title, Fields: read.Fields,
		Raw: freshet.Raw{Method: response.Method, Status: response.Status, URL: s.URL, Header: response.Header, Body: v.Body},
	}, nil
}

// learnFrom imports when a source changed. Each change happened before its version was captured, by
// no more than the shortest time between two: the other program looked at least that often then.
func (a *importAPI) learnFrom(ctx context.Context, id freshet.SourceID, before []freshet.Version, times []time.Time) (int, error) {
	if len(times) == 0 {
		return 0, nil
	}
	all := times
	if len(before) > 0 {
		all = slices.Concat([]time.Time{before[0].SeenAt}, times)
	}
	gap := 24 * time.Hour
	for i := 1; i < len(all); i++ {
		gap = min(gap, all[i].Sub(all[i-1]))
	}
	updates := make([]imported.UpdateTime, len(times))
	for i, t := range times {
		updates[i] = imported.UpdateTime{After: t.Add(-gap), Until: t}
	}
	added, _, err := a.daemon.Teach(ctx, id, updates)
	return added, err
}
