package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
	"freshet/internal/warc"
)

func versionOf(v freshet.Version) client.Version {
	return client.Version{
		Source: v.Source, Number: v.Number, Hash: v.Hash.String(), SeenAt: rest.UTC(v.SeenAt),
		TextBytes: v.TextBytes, RawBytes: v.RawBytes, Picture: v.Picture, MediaType: v.MediaType, Title: v.Title,
		URL: mask.URL(v.URL), Suspect: client.SuspectOf(v.Suspect, ""), Quiet: v.Quiet, Fields: v.Fields,
	}
}

// A versionStore is what is stored of versions and their sources.
type versionStore interface {
	rest.SourceReader
	freshet.VersionLog
	captureStore
	Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error)
}

// A captureStore has single versions, with what was captured.
type captureStore interface {
	Version(ctx context.Context, id freshet.SourceID, number int) (freshet.Version, error)
	Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error)
	Raw(ctx context.Context, id freshet.SourceID, number int) (freshet.Raw, error)
	Picture(ctx context.Context, id freshet.SourceID, number int) ([]byte, error)
}

// versionAPI serves what was captured, and how versions differ.
type versionAPI struct {
	*rest.Server
	admission
	store       versionStore
	read, trace func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)
}

func (a *versionAPI) routes() {
	a.routeVersions()
	a.routeTrial()
}

func (a *versionAPI) routeVersions() {
	tags := []string{"versions"}
	text := map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-versions", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions", Tags: tags,
		Summary:     "List the versions of a source, newest first",
		Description: "With at, only the version that was current at that time. A time is such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d.",
	}, a.listVersions)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}", Tags: tags,
		Summary: "Show a version",
	}, a.getVersion)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-text", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/text", Tags: tags,
		Summary: "Read the text extracted from the response", Responses: text,
	}, a.getText)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-raw", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/raw", Tags: tags,
		Summary:     "Download the response body that the text was extracted from",
		Description: "The response is an attachment without a media type; the original type is in X-Original-Content-Type.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.getRaw)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-response", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/response", Tags: tags,
		Summary: "Download the response with its status and headers, as an HTTP/1.1 message",
		Description: "The body is decoded: headers that say how it was sent begin with X-Archive-Orig-. Secrets are masked. X-Original-Method is the method of the request; " +
			"it is missing if the version was captured before all headers were kept.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"application/http": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.getResponse)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-screenshot", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/screenshot", Tags: tags,
		Summary:     "Download the screenshot of a version",
		Description: "Only versions of sources with render and screenshot, or compare: picture, have one.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"image/png": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.getScreenshot)
	a.routeRendered(tags)
	a.routeOutline(tags)
	a.routeDiff(tags)
	a.routeFields(tags)
}

type listVersionsInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Before int              `query:"before" minimum:"0" doc:"Only versions with a lower number; 0 means from the newest"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	At     string           `query:"at" doc:"Only the version that was current at this time"`
	rest.Between
}

// CheckQuery refuses times without a value.
func (in *listVersionsInput) CheckQuery(query url.Values) []*client.ErrorDetail {
	return rest.RefuseEmpty(query, "at", "since", "until")
}

func (a *versionAPI) listVersions(ctx context.Context, in *listVersionsInput) (*rest.Body[client.VersionPage], error) {
	seen, err := a.ParseBetween(in.Between)
	if err != nil {
		return nil, err
	}
	if in.At != "" {
		if in.Before != 0 || !seen.IsZero() {
			return nil, rest.Invalid("query.at", "goes with neither before, since nor until", in.At)
		}
		v, err := a.versionAt(ctx, in.ID, "query.at", in.At)
		return rest.Reply(client.VersionPage{Items: []client.Version{versionOf(v)}}), err
	}
	limit := min(in.Limit, rest.MaxPage)
	versions, err := a.store.Versions(ctx, in.ID, seen, in.Before, limit+1)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return nil, err
	}
	if len(versions) == 0 {
		if _, err := rest.FindSource(ctx, a.store, in.ID); err != nil {
			return nil, err
		}
	}
	page := client.VersionPage{Items: []client.Version{}}
	for i, v := range versions {
		if i == limit {
			page.Next = &page.Items[limit-1].Number
			break
		}
		page.Items = append(page.Items, versionOf(v))
	}
	return rest.Reply(page), nil
}

type versionPath struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Number string           `path:"number" doc:"Number of the version, or latest"`
}

// version returns the version that a path names.
func (a *versionAPI) version(ctx context.Context, in *versionPath) (freshet.Version, error) {
	if in.Number == "latest" {
		return a.newest(ctx, in.ID, 0)
	}
	n, err := strconv.Atoi(in.Number)
	if err != nil || n < 1 {
		return freshet.Version{}, rest.Invalid("path.number", "is not a version number or latest", in.Number)
	}
	return a.store.Version(ctx, in.ID, n)
}

// newest returns the newest version of a source with a number below before that is
// not held; zero means no bound.
func (a *versionAPI) newest(ctx context.Context, id freshet.SourceID, before int) (freshet.Version, error) {
	v, err := freshet.VersionBefore(ctx, a.store, id, before)
	switch {
	case err == nil:
		return v, nil
	case !errors.Is(err, freshet.ErrNotFound):
		return freshet.Version{}, fmt.Errorf("versions of source %s: %w", id, err)
	}
	if _, err := rest.FindSource(ctx, a.store, id); err != nil {
		return freshet.Version{}, err
	}
	if before > 0 {
		return freshet.Version{}, a.nothingBefore(ctx, id, before)
	}
	p := rest.NewProblem(http.StatusNotFound, fmt.Sprintf("%s has no versions yet", id))
	p.Hint = "the first poll stores version 1"
	return freshet.Version{}, p
}

// nothingBefore says that there is no older version to compare one with: it is
// the first, or those before it are no longer kept.
func (a *versionAPI) nothingBefore(ctx context.Context, id freshet.SourceID, number int) error {
	newest, err := a.store.Versions(ctx, id, freshet.Between{}, 0, 1)
	if err != nil {
		return fmt.Errorf("versions of source %s: %w", id, err)
	}
	detail := fmt.Sprintf("version %d of %s is the oldest that is stored: nothing to compare it with", number, id)
	if number == 1 && len(newest) > 0 && newest[0].Number == 1 {
		detail = fmt.Sprintf("%s has only one version so far: nothing to compare", id)
	}
	return rest.NewProblem(http.StatusNotFound, detail)
}

func (a *versionAPI) getVersion(ctx context.Context, in *versionPath) (*rest.Body[client.Version], error) {
	v, err := a.version(ctx, in)
	return rest.Reply(versionOf(v)), err
}

type textOutput struct {
	ContentType string `header:"Content-Type"`
	Number      int    `header:"X-Version-Number"`
	Hash        string `header:"X-Version-Hash"`
	Body        []byte
}

func (a *versionAPI) getText(ctx context.Context, in *versionPath) (*textOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := rest.Hold(ctx, v.TextBytes); err != nil {
		return nil, err
	}
	text, err := a.store.Text(ctx, in.ID, v.Number)
	if err != nil {
		return nil, err
	}
	return &textOutput{ContentType: "text/plain; charset=utf-8", Number: v.Number, Hash: v.Hash.String(), Body: text}, nil
}

type rawOutput struct {
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	Number       int    `header:"X-Version-Number"`
	OriginalType string `header:"X-Original-Content-Type"`
	OriginalURL  string `header:"X-Original-URL"`
	Body         []byte
}

// getRaw serves a captured body in a way that no browser runs: as a download
// of no particular type. The sandbox and nosniff come with every response.
func (a *versionAPI) getRaw(ctx context.Context, in *versionPath) (*rawOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := rest.Hold(ctx, v.RawBytes); err != nil {
		return nil, err
	}
	raw, err := a.store.Raw(ctx, in.ID, v.Number)
	if err != nil {
		return nil, fmt.Errorf("body of version %d of source %s: %w", v.Number, in.ID, err)
	}
	name := fmt.Sprintf("%s-%d.bin", in.ID, v.Number)
	return &rawOutput{
		ContentType: "application/octet-stream",
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": name}),
		Number:      v.Number,
		// A header cannot carry a line break; net/http makes them spaces.
		OriginalType: cmp.Or(raw.Header.Get("Content-Type"), v.MediaType),
		OriginalURL:  mask.URL(raw.URL),
		Body:         raw.Body,
	}, nil
}

type responseOutput struct {
	ContentType    string `header:"Content-Type"`
	Disposition    string `header:"Content-Disposition"`
	Number         int    `header:"X-Version-Number"`
	OriginalMethod string `header:"X-Original-Method"`
	OriginalURL    string `header:"X-Original-URL"`
	Body           []byte
}

// getResponse serves a response as a message, as a download like getRaw.
func (a *versionAPI) getResponse(ctx context.Context, in *versionPath) (*responseOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := rest.Hold(ctx, 2*v.RawBytes); err != nil {
		return nil, err
	}
	raw, err := a.store.Raw(ctx, in.ID, v.Number)
	if err != nil {
		return nil, fmt.Errorf("response of version %d of source %s: %w", v.Number, in.ID, err)
	}
	return &responseOutput{
		ContentType:    warc.ContentTypeResponse,
		Disposition:    mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("%s-%d.http", in.ID, v.Number)}),
		Number:         v.Number,
		OriginalMethod: raw.Method,
		OriginalURL:    mask.URL(raw.URL),
		Body:           warc.AppendResponse(nil, raw.Status, shownHeader(raw.Header), raw.Body),
	}, nil
}

// shownHeader returns the header of a response without secrets in the URLs that it names.
func shownHeader(h http.Header) http.Header {
	shown := maps.Clone(h)
	for _, name := range []string{"Content-Location", "Link", "Location", "Refresh"} {
		if h[name] != nil {
			shown[name] = slices.Clone(h[name])
		}
		for i, value := range shown[name] {
			shown[name][i] = mask.Text(value)
		}
	}
	return shown
}

type screenshotOutput struct {
	ContentType string `header:"Content-Type"`
	Number      int    `header:"X-Version-Number"`
	Body        []byte
}

func (a *versionAPI) getScreenshot(ctx context.Context, in *versionPath) (*screenshotOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	picture, err := a.picture(ctx, v)
	if err != nil {
		return nil, err
	}
	return &screenshotOutput{ContentType: "image/png", Number: v.Number, Body: picture}, nil
}

// picture returns the screenshot of a version.
func (a *versionAPI) picture(ctx context.Context, v freshet.Version) ([]byte, error) {
	if v.Picture == 0 {
		p := rest.NewProblem(http.StatusNotFound, fmt.Sprintf("version %d of %s has no screenshot", v.Number, v.Source))
		p.Hint = "versions of sources with render: {screenshot: true} or render: {compare: picture} have one"
		return nil, p
	}
	if err := rest.Hold(ctx, v.Picture); err != nil {
		return nil, err
	}
	return a.store.Picture(ctx, v.Source, v.Number)
}

// versionAt returns the version that a source had at a time that was given at a location.
func (a *versionAPI) versionAt(ctx context.Context, id freshet.SourceID, location, text string) (freshet.Version, error) {
	at, err := a.ParseTime(location, text)
	if err != nil {
		return freshet.Version{}, err
	}
	v, err := freshet.VersionAt(ctx, a.store, id, at)
	if err == nil || !errors.Is(err, freshet.ErrNotFound) {
		return v, err
	}
	if _, err := a.newest(ctx, id, 0); err != nil {
		return v, err
	}
	first, err := a.oldest(ctx, id)
	if err != nil {
		return v, err
	}
	p := rest.NewProblem(http.StatusNotFound, fmt.Sprintf("no version of %s is known at %s: the oldest that is stored is version %d, first seen at %s",
		id, at.UTC().Format(time.RFC3339), first.Number, rest.UTC(first.SeenAt).Format(time.RFC3339)))
	p.Hint = "ask for a time at or after " + rest.UTC(first.SeenAt).Format(time.RFC3339Nano)
	return v, p
}

// oldest returns the oldest version of a source that has one.
func (a *versionAPI) oldest(ctx context.Context, id freshet.SourceID) (first freshet.Version, err error) {
	w, err := rest.FindSourceOrRemoved(ctx, a.store, id)
	if err != nil {
		return first, err
	}
	for before := w.Status.Head.Number + 1; ; before = first.Number {
		found, err := a.store.Versions(ctx, id, freshet.Between{}, before, rest.MaxPage)
		if err != nil || len(found) == 0 {
			return first, err
		}
		first = found[len(found)-1]
	}
}

func (a *versionAPI) routeFields(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-field", Method: http.MethodGet, Path: "/api/v1/sources/{id}/fields/{name}", Tags: tags,
		Summary:     "List the values of a named field, newest first",
		Description: "One value for each version that was read with this field. The source's extract names the fields. With at, only the value at that time.",
	}, a.getField)
}

type fieldInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Name   string           `path:"name" maxLength:"64" doc:"Name of the field"`
	Before int              `query:"before" minimum:"0" doc:"Only versions with a lower number; 0 means from the newest"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"Look at this many versions at most; more than 1000 means 1000"`
	At     string           `query:"at" doc:"Only the value that was current at this time"`
	rest.Between
}

// CheckQuery refuses times without a value.
func (in *fieldInput) CheckQuery(query url.Values) []*client.ErrorDetail {
	return rest.RefuseEmpty(query, "at", "since", "until")
}

func (a *versionAPI) getField(ctx context.Context, in *fieldInput) (*rest.Body[client.FieldPage], error) {
	seen, err := a.ParseBetween(in.Between)
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, rest.MaxPage)
	var versions []freshet.Version
	if in.At != "" {
		var v freshet.Version
		if v, err = a.versionAt(ctx, in.ID, "query.at", in.At); err != nil {
			return nil, err
		}
		versions = []freshet.Version{v}
	} else {
		versions, err = a.store.Versions(ctx, in.ID, seen, in.Before, limit)
	}
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return nil, err
	}
	if len(versions) == 0 || in.Before == 0 {
		if err := a.knownField(ctx, in.ID, in.Name, versions); err != nil {
			return nil, err
		}
	}
	page := client.FieldPage{Items: []client.FieldValue{}}
	for _, v := range versions {
		if value, ok := v.Fields[in.Name]; ok {
			page.Items = append(page.Items, client.FieldValue{Version: v.Number, SeenAt: rest.UTC(v.SeenAt), Value: value})
		}
	}
	if len(versions) == limit && in.At == "" {
		page.Next = &versions[limit-1].Number
	}
	return rest.Reply(page), nil
}

// knownField returns an error if there is no such source, or if neither it nor its
// newest versions have such a field.
func (a *versionAPI) knownField(ctx context.Context, id freshet.SourceID, name string, versions []freshet.Version) error {
	for _, v := range versions {
		if _, ok := v.Fields[name]; ok {
			return nil
		}
	}
	s, err := rest.FindSourceOrRemoved(ctx, a.store, id)
	if err != nil {
		return err
	}
	if _, ok := s.Recipe.Extract[name]; !ok {
		return freshet.WithHint(fmt.Errorf("field %q of source %s: %w", name, id, freshet.ErrNotFound), "name it in extract; docs/reference/reading.md says how")
	}
	return nil
}
