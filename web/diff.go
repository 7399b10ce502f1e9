package web

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet"
	"freshet/client"
	"freshet/content"
)

func (a *api) routeDiff(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "diff-versions", Method: http.MethodGet, Path: "/api/v1/sources/{id}/diff", Tags: tags,
		Summary:     "Compare two versions line by line",
		Description: "Without from and to, compares the newest version with the one before it. With format=unified, or if the client accepts text/plain, the response is a unified diff.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: h.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Diff](), true, "")},
			"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, a.diffVersions)
}

type diffInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	From   int              `query:"from" minimum:"0" doc:"Number of the old version; 0 means the one before the new version"`
	To     int              `query:"to" minimum:"0" doc:"Number of the new version; 0 means the newest"`
	Format string           `query:"format" enum:"json,unified" doc:"json or unified"`
	Accept string           `header:"Accept" hidden:"true"`
}

// unified reports whether the diff is asked for as text.
func (in *diffInput) unified() bool {
	return in.Format == "unified" || in.Format == "" && strings.HasPrefix(in.Accept, "text/plain")
}

type diffOutput struct {
	ContentType string `header:"Content-Type"`
	Body        any
}

// diffNeed is how many bytes of memory a diff takes at most for each of its texts:
// lines, hunks and their JSON.
const diffNeed = 12

func (a *api) diffVersions(ctx context.Context, in *diffInput) (*diffOutput, error) {
	to, err := a.numbered(ctx, in.ID, in.To, 0)
	if err != nil {
		return nil, err
	}
	from, err := a.numbered(ctx, in.ID, in.From, to.Number)
	if err != nil {
		return nil, err
	}
	if err := a.hold(ctx, diffNeed*(from.TextBytes+to.TextBytes)); err != nil {
		return nil, err
	}
	delta, err := a.delta(ctx, in.ID, from.Number, to.Number)
	if err != nil {
		return nil, err
	}
	if in.unified() {
		name := func(v freshet.Version) string {
			return fmt.Sprintf("%s version %d\t%s", in.ID, v.Number, utc(v.SeenAt).Format("2006-01-02 15:04:05Z"))
		}
		return &diffOutput{"text/plain; charset=utf-8", []byte(delta.Unified(name(from), name(to)))}, nil
	}
	return &diffOutput{"application/json", client.Diff{
		Source: in.ID, From: versionOf(from), To: versionOf(to), Summary: delta.Summary(),
		Hunks: hunksOf(delta), Added: delta.Added, Removed: delta.Removed, Coarse: delta.Coarse,
		Fields: client.FieldChangesOf(to.Fields.ChangesFrom(from.Fields)),
	}}, nil
}

// hunksOf returns the hunks of a delta as the API tells them.
func hunksOf(d content.Delta) []client.Hunk {
	hunks := make([]client.Hunk, 0, len(d.Hunks))
	for _, h := range d.Hunks {
		told := client.Hunk{OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines, Lines: make([]client.Line, 0, len(h.Lines))}
		for _, l := range h.Lines {
			told.Lines = append(told.Lines, client.Line{
				Op: string(l.Op), Old: l.Old, New: l.New, Text: l.Text, Unended: l.Unended, Mark: (*client.Mark)(l.Mark),
			})
		}
		hunks = append(hunks, told)
	}
	return hunks
}

// numbered returns a version by its number or, if that is zero, the newest one
// below a bound.
func (a *api) numbered(ctx context.Context, id freshet.SourceID, number, below int) (freshet.Version, error) {
	if number == 0 {
		return a.newest(ctx, id, below)
	}
	return a.Store.Version(ctx, id, number)
}

func (a *api) delta(ctx context.Context, id freshet.SourceID, from, to int) (content.Delta, error) {
	var texts [2][]byte
	for i, number := range []int{from, to} {
		text, err := a.Store.Text(ctx, id, number)
		if err != nil {
			return content.Delta{}, err
		}
		texts[i] = text
	}
	return content.Diff(texts[0], texts[1]), nil
}
