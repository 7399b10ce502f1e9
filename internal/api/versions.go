package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

func versionOf(v freshet.Version) client.Version {
	return client.Version{
		Source: v.Source, Number: v.Number, Hash: v.Hash.String(), SeenAt: utc(v.SeenAt),
		TextBytes: v.TextBytes, RawBytes: v.RawBytes, Picture: v.Picture, MediaType: v.MediaType, Title: v.Title,
		URL: freshet.MaskURL(v.URL), Suspect: client.SuspectOf(v.Suspect, ""), Quiet: v.Quiet, Fields: v.Fields,
	}
}

func (a *api) routeVersions(h huma.API) {
	tags := []string{"versions"}
	text := map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	route(h, a, huma.Operation{
		OperationID: "list-versions", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions", Tags: tags,
		Summary:     "List the versions of a source, newest first",
		Description: "With at, only the version that the source had at that time, as far as polls had seen it by then. Times are such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d.",
	}, a.listVersions)
	route(h, a, huma.Operation{
		OperationID: "get-version", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}", Tags: tags,
		Summary: "Show a version",
	}, a.getVersion)
	route(h, a, huma.Operation{
		OperationID: "get-text", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/text", Tags: tags,
		Summary: "Read the text extracted from the response", Responses: text,
	}, a.getText)
	route(h, a, huma.Operation{
		OperationID: "get-raw", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/raw", Tags: tags,
		Summary:     "Download the response body that the text was extracted from",
		Description: "The response is an attachment without a media type; the type the server gave is in X-Original-Content-Type.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.getRaw)
	route(h, a, huma.Operation{
		OperationID: "get-screenshot", Method: http.MethodGet, Path: "/api/v1/sources/{id}/versions/{number}/screenshot", Tags: tags,
		Summary:     "Download the screenshot of a version",
		Description: "Only versions of sources with render and screenshot have one.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"image/png": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}},
	}, a.getScreenshot)
	a.routeRendered(h, tags)
	a.routeOutline(h, tags)
	a.routeDiff(h, tags)
	a.routeFields(h, tags)
}

type listVersionsInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Before int              `query:"before" minimum:"0" doc:"Only versions with a lower number; 0 means from the newest"`
	Limit  int              `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	At     string           `query:"at" doc:"Only the version that was current at this time"`
	Between
}

// Resolve implements [huma.Resolver].
func (in *listVersionsInput) Resolve(ctx huma.Context) []error {
	return said(ctx, "at", "since", "until")
}

func (a *api) listVersions(ctx context.Context, in *listVersionsInput) (*bodyOf[client.VersionPage], error) {
	seen, err := a.span(in.Between)
	if err != nil {
		return nil, err
	}
	if in.At != "" {
		if in.Before != 0 || !seen.IsZero() {
			return nil, invalid("query.at", "goes with neither before, since nor until", in.At)
		}
		v, err := a.versionAt(ctx, in.ID, "query.at", in.At)
		return &bodyOf[client.VersionPage]{client.VersionPage{Items: []client.Version{versionOf(v)}}}, err
	}
	limit := min(in.Limit, maxPage)
	versions, err := a.Store.VersionsIn(ctx, in.ID, seen, in.Before, limit+1)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return nil, err
	}
	if len(versions) == 0 {
		if err := a.known(ctx, in.ID); err != nil {
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
	return &bodyOf[client.VersionPage]{page}, nil
}

// known returns an error if there is no such source.
func (a *api) known(ctx context.Context, id freshet.SourceID) error {
	if _, err := a.Store.Source(ctx, id); err != nil {
		return ofSource(id, err)
	}
	return nil
}

type versionPath struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Number string           `path:"number" doc:"Number of the version, or latest"`
}

// version returns the version that a path names.
func (a *api) version(ctx context.Context, in *versionPath) (freshet.Version, error) {
	if in.Number == "latest" {
		return a.newest(ctx, in.ID, 0)
	}
	n, err := strconv.Atoi(in.Number)
	if err != nil || n < 1 {
		return freshet.Version{}, invalid("path.number", "is not a version number or latest", in.Number)
	}
	return a.Store.Version(ctx, in.ID, n)
}

// newest returns the newest version of a source with a number below before that is
// not held; zero means no bound.
func (a *api) newest(ctx context.Context, id freshet.SourceID, before int) (freshet.Version, error) {
	v, err := freshet.VersionBefore(ctx, a.Store, id, before)
	switch {
	case err == nil:
		return v, nil
	case !errors.Is(err, freshet.ErrNotFound):
		return freshet.Version{}, fmt.Errorf("versions of source %s: %w", id, err)
	}
	if err := a.known(ctx, id); err != nil {
		return freshet.Version{}, err
	}
	if before > 0 {
		return freshet.Version{}, a.nothingBefore(ctx, id, before)
	}
	p := problem(http.StatusNotFound, fmt.Sprintf("%s has no versions yet", id))
	p.Hint = "the first poll stores version 1"
	return freshet.Version{}, p
}

// nothingBefore says that there is no older version to compare one with: it is
// the first, or those before it are no longer kept.
func (a *api) nothingBefore(ctx context.Context, id freshet.SourceID, number int) error {
	newest, err := a.Store.Versions(ctx, id, 0, 1)
	if err != nil {
		return fmt.Errorf("versions of source %s: %w", id, err)
	}
	detail := fmt.Sprintf("version %d of %s is the oldest that is stored: nothing to compare it with", number, id)
	if number == 1 && len(newest) > 0 && newest[0].Number == 1 {
		detail = fmt.Sprintf("%s has only one version so far: nothing to compare", id)
	}
	return problem(http.StatusNotFound, detail)
}

func (a *api) getVersion(ctx context.Context, in *versionPath) (*bodyOf[client.Version], error) {
	v, err := a.version(ctx, in)
	return &bodyOf[client.Version]{versionOf(v)}, err
}

type textOutput struct {
	ContentType string `header:"Content-Type"`
	Number      int    `header:"X-Version-Number"`
	Hash        string `header:"X-Version-Hash"`
	Body        []byte
}

func (a *api) getText(ctx context.Context, in *versionPath) (*textOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := a.hold(ctx, v.TextBytes); err != nil {
		return nil, err
	}
	text, err := a.Store.Text(ctx, in.ID, v.Number)
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
func (a *api) getRaw(ctx context.Context, in *versionPath) (*rawOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := a.hold(ctx, v.RawBytes); err != nil {
		return nil, err
	}
	raw, err := a.Store.Raw(ctx, in.ID, v.Number)
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
		OriginalURL:  freshet.MaskURL(raw.URL),
		Body:         raw.Body,
	}, nil
}

type screenshotOutput struct {
	ContentType string `header:"Content-Type"`
	Number      int    `header:"X-Version-Number"`
	Body        []byte
}

func (a *api) getScreenshot(ctx context.Context, in *versionPath) (*screenshotOutput, error) {
	v, err := a.version(ctx, in)
	if err != nil {
		return nil, err
	}
	if v.Picture == 0 {
		p := problem(http.StatusNotFound, fmt.Sprintf("version %d of %s has no screenshot", v.Number, in.ID))
		p.Hint = "versions of sources with render: {screenshot: true} have one"
		return nil, p
	}
	if err := a.hold(ctx, v.Picture); err != nil {
		return nil, err
	}
	picture, err := a.Store.Picture(ctx, in.ID, v.Number)
	if err != nil {
		return nil, err
	}
	return &screenshotOutput{ContentType: "image/png", Number: v.Number, Body: picture}, nil
}
