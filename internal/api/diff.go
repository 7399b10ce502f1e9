package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/extract"
	"freshet/internal/extract/visual"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

func (a *versionAPI) routeDiff(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "diff-versions", Method: http.MethodGet, Path: "/api/v1/sources/{id}/diff", Tags: tags,
		Summary:     "Compare two versions line by line",
		Description: "Without from and to, compares the newest version with the one before it. With format=unified, or if the client accepts text/plain, the response is a unified diff; word marks the words that differ, html is a page, and json-patch is a JSON Patch (RFC 6902) of two JSON documents or, if the versions are none, of their named values and items. png is the screenshot of the new version with what differs from the old one in red.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: rest.SchemaOf[client.Diff](a.Server)},
			"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
			"text/html":        {Schema: &huma.Schema{Type: huma.TypeString}},
			"image/png":        {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},

			"application/json-patch+json": {Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject}}},
		}}},
	}, a.diffVersions)
}

type diffInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	From   int              `query:"from" minimum:"0" doc:"Number of the old version; 0 means the one before the new version"`
	To     int              `query:"to" minimum:"0" doc:"Number of the new version; 0 means the newest"`
	Format string           `query:"format" enum:"json,unified,word,html,json-patch,png" doc:"json, unified, word, html, json-patch or png"`
	Accept string           `header:"Accept" hidden:"true"`
}

// format returns how the diff is asked for.
func (in *diffInput) format() client.DiffFormat {
	if in.Format == "" && strings.HasPrefix(in.Accept, "text/plain") {
		return client.DiffUnified
	}
	return client.DiffFormat(in.Format)
}

type diffOutput struct {
	ContentType string `header:"Content-Type"`
	Policy      string `header:"Content-Security-Policy"`
	Body        any
}

// How many bytes of memory a diff takes at most for each of its texts: lines, hunks
// and their JSON, or two documents and what leads from one to the other.
const (
	diffNeed  = 12
	patchNeed = 60
)

func (a *versionAPI) diffVersions(ctx context.Context, in *diffInput) (*diffOutput, error) {
	to, err := a.numbered(ctx, in.ID, in.To, 0)
	if err != nil {
		return nil, err
	}
	from, err := a.numbered(ctx, in.ID, in.From, to.Number)
	if err != nil {
		return nil, err
	}
	if in.Format == "png" {
		return a.pictureDiff(ctx, from, to)
	}
	format, need := in.format(), diffNeed*(from.TextBytes+to.TextBytes)
	if format == client.DiffJSONPatch {
		need = patchNeed*(from.TextBytes+to.TextBytes) + from.RawBytes + to.RawBytes
	}
	if err := rest.Hold(ctx, need); err != nil {
		return nil, err
	}
	old, new, err := a.texts(ctx, in.ID, from.Number, to.Number)
	if err != nil {
		return nil, err
	}
	if format == client.DiffJSONPatch {
		return a.patch(ctx, in, [2]freshet.Version{from, to}, [2][]byte{old, new})
	}
	delta := extract.Diff(old, new)
	if delta.Details, err = a.details(ctx, from, to); err != nil {
		return nil, err
	}
	name := func(v freshet.Version) string {
		return fmt.Sprintf("%s version %d\t%s", in.ID, v.Number, rest.UTC(v.SeenAt).Format("2006-01-02 15:04:05Z"))
	}
	switch format {
	case client.DiffUnified:
		return &diffOutput{ContentType: "text/plain; charset=utf-8", Body: []byte(delta.Unified(name(from), name(to)))}, nil
	case client.DiffWord:
		return &diffOutput{ContentType: "text/plain; charset=utf-8", Body: []byte(delta.WordDiff(name(from), name(to)))}, nil
	case client.DiffHTML:
		return &diffOutput{ContentType: "text/html; charset=utf-8", Policy: diffPolicy, Body: []byte(delta.HTML(name(from), name(to)))}, nil
	}
	return &diffOutput{ContentType: "application/json", Body: client.Diff{
		Source: in.ID, From: versionOf(from), To: versionOf(to), Summary: delta.Summary(),
		Hunks: hunksOf(delta), Added: delta.Added, Removed: delta.Removed, Moved: delta.Moved, Coarse: delta.Coarse,
		Fields: client.FieldChangesOf(delta.Details.Fields), Items: client.ItemChangesOf(delta.Details.Items),
		Picture: (*client.PictureChange)(delta.Details.Picture),
	}}, nil
}

// pictureDiff returns the picture of the difference of two versions.
func (a *versionAPI) pictureDiff(ctx context.Context, from, to freshet.Version) (*diffOutput, error) {
	old, err := a.picture(ctx, from)
	if err != nil {
		return nil, err
	}
	new, err := a.picture(ctx, to)
	if err != nil {
		return nil, err
	}
	if err := rest.Hold(ctx, 2*visual.Memory(old, new)); err != nil {
		return nil, err
	}
	s, err := rest.FindSourceOrRemoved(ctx, a.store, to.Source)
	if err != nil {
		return nil, err
	}
	_, ignored := s.Recipe.Render.Ignored()
	d, err := visual.Compare(old, new, ignored)
	if err != nil {
		return nil, fmt.Errorf("compare the screenshots of versions %d and %d: %w", from.Number, to.Number, err)
	}
	picture, err := d.Picture()
	return &diffOutput{ContentType: "image/png", Body: picture}, err
}

// diffPolicy keeps a page that shows what hostile servers say from doing anything.
const diffPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"

// hunksOf returns the hunks of a delta as the API tells them.
func hunksOf(d extract.Delta) []client.Hunk {
	hunks := make([]client.Hunk, 0, len(d.Hunks))
	for _, h := range d.Hunks {
		told := client.Hunk{OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines, Lines: make([]client.Line, 0, len(h.Lines))}
		for _, l := range h.Lines {
			told.Lines = append(told.Lines, client.Line{
				Op: string(l.Op), Old: l.Old, New: l.New, Text: l.Text, Unended: l.Unended, Mark: (*client.Mark)(l.Mark), Moved: l.Moved,
			})
		}
		hunks = append(hunks, told)
	}
	return hunks
}

// numbered returns a version by its number or, if that is zero, the newest one
// below a bound.
func (a *versionAPI) numbered(ctx context.Context, id freshet.SourceID, number, below int) (freshet.Version, error) {
	if number == 0 {
		return a.newest(ctx, id, below)
	}
	return a.store.Version(ctx, id, number)
}

// texts returns the texts of two versions.
func (a *versionAPI) texts(ctx context.Context, id freshet.SourceID, from, to int) (old, new []byte, err error) {
	if old, err = a.store.Text(ctx, id, from); err != nil {
		return nil, nil, err
	}
	new, err = a.store.Text(ctx, id, to)
	return old, new, err
}

// details returns what became of named values and items between two versions. Of
// items it says what the changes in between say: versions do not have them.
func (a *versionAPI) details(ctx context.Context, from, to freshet.Version) (d freshet.Details, err error) {
	d.Fields = to.Fields.ChangesFrom(from.Fields)
	if from.Number >= to.Number { // backwards: no change leads that way
		return d, nil
	}
	changes, err := a.store.Changes(ctx, freshet.ChangeQuery{Source: to.Source, Above: from.Number, Upto: to.Number})
	if errors.Is(err, freshet.ErrNotFound) { // removed, with its log
		return d, nil
	}
	var steps []*freshet.ItemChanges
	for _, c := range changes {
		steps = append(steps, c.Details.Items)
	}
	d.Items = freshet.JoinItemChanges(steps)
	if len(changes) == 1 { // of more than one, the pictures would have to be compared
		d.Picture = changes[0].Details.Picture
	}
	return d, err
}

// patch returns two versions as a JSON Patch: of their texts if these are JSON
// documents, and else of their named values and items.
func (a *versionAPI) patch(ctx context.Context, in *diffInput, versions [2]freshet.Version, texts [2][]byte) (*diffOutput, error) {
	patch, err := extract.Patch(texts[0], texts[1])
	if _, unfit := errors.AsType[*invalid.Error](err); unfit {
		docs, known, failed := a.structures(ctx, in.ID, versions)
		if failed != nil {
			return nil, failed
		}
		if known {
			patch, err = extract.Patch(docs[0], docs[1])
		}
	}
	if e, unfit := errors.AsType[*invalid.Error](err); unfit {
		p := rest.Invalid("query.format", e.Reason, in.Format)
		p.Hint = freshet.HintOf(err)
		return nil, p
	}
	return &diffOutput{ContentType: "application/json-patch+json", Body: patch}, err
}

// A structure is what a version says beside its text, for patches.
type structure struct {
	Fields freshet.Fields         `json:"fields,omitempty"`
	Items  map[string]client.Item `json:"items,omitempty"`
}

// structures returns the named values and items of two versions as JSON documents. It
// reports false if neither has any.
func (a *versionAPI) structures(ctx context.Context, id freshet.SourceID, versions [2]freshet.Version) (docs [2][]byte, known bool, err error) {
	for i, v := range versions {
		items, err := a.itemsOf(ctx, id, v)
		if err != nil {
			return docs, false, err
		}
		s := structure{Fields: v.Fields}
		for _, item := range items {
			if s.Items == nil {
				s.Items = map[string]client.Item{}
			}
			s.Items[item.Key] = client.Item(item)
		}
		known = known || s.Fields != nil || s.Items != nil
		if docs[i], err = json.Marshal(s); err != nil {
			return docs, false, fmt.Errorf("write named values: %w", err)
		}
	}
	return docs, known, nil
}

// itemsOf returns the items of a version: it reads again what the server sent. There
// are none if that does not say what it said then, because the source is read in
// another way now.
func (a *versionAPI) itemsOf(ctx context.Context, id freshet.SourceID, v freshet.Version) ([]freshet.Item, error) {
	if a.read == nil {
		return nil, nil
	}
	s, err := rest.FindSourceOrRemoved(ctx, a.store, id)
	if err != nil {
		return nil, err
	}
	raw, err := a.store.Raw(ctx, id, v.Number)
	if err != nil {
		return nil, err
	}
	resp := freshet.Response{Status: raw.Status, URL: raw.URL, Header: raw.Header, MediaType: v.MediaType, Body: raw.Body}
	rd, err := a.read(ctx, s.Recipe, resp)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || freshet.HashOf(rd.Text) != v.Hash {
		return nil, nil
	}
	return rd.Items.All(), nil
}
