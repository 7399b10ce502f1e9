package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
)

func (a *api) routeFields(h huma.API, tags []string) {
	route(h, a, huma.Operation{
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
	Between
}

// Resolve implements [huma.Resolver].
func (in *fieldInput) Resolve(ctx huma.Context) []error { return said(ctx, "at", "since", "until") }

func (a *api) getField(ctx context.Context, in *fieldInput) (*bodyOf[client.FieldPage], error) {
	seen, err := a.span(in.Between)
	if err != nil {
		return nil, err
	}
	limit := min(in.Limit, maxPage)
	var versions []freshet.Version
	if in.At != "" {
		var v freshet.Version
		if v, err = a.versionAt(ctx, in.ID, "query.at", in.At); err != nil {
			return nil, err
		}
		versions = []freshet.Version{v}
	} else {
		versions, err = a.Store.VersionsIn(ctx, in.ID, seen, in.Before, limit)
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
			page.Items = append(page.Items, client.FieldValue{Version: v.Number, SeenAt: utc(v.SeenAt), Value: value})
		}
	}
	if len(versions) == limit && in.At == "" {
		page.Next = &versions[limit-1].Number
	}
	return &bodyOf[client.FieldPage]{page}, nil
}

// knownField returns an error if there is no such source, or if neither it nor its
// newest versions have such a field.
func (a *api) knownField(ctx context.Context, id freshet.SourceID, name string, versions []freshet.Version) error {
	for _, v := range versions {
		if _, ok := v.Fields[name]; ok {
			return nil
		}
	}
	s, err := a.watchedOrRemoved(ctx, id)
	if err != nil {
		return err
	}
	if _, ok := s.Recipe.Extract[name]; !ok {
		return freshet.WithHint(fmt.Errorf("field %q of source %s: %w", name, id, freshet.ErrNotFound), "name it in extract; docs/reading.md says how")
	}
	return nil
}
