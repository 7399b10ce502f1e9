package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"freshet/client"
	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// details returns what became of named values and items between two versions. Of
// items it says what the changes in between say: versions do not have them.
func (a *api) details(ctx context.Context, from, to freshet.Version) (d freshet.Details, err error) {
	d.Fields = to.Fields.ChangesFrom(from.Fields)
	if from.Number >= to.Number { // backwards, where nothing was told
		return d, nil
	}
	changes, err := a.Store.Changes(ctx, freshet.ChangeQuery{Source: to.Source, Above: from.Number, Upto: to.Number})
	if errors.Is(err, freshet.ErrNotFound) { // removed, with its log
		return d, nil
	}
	var steps []*freshet.ItemChanges
	for _, c := range changes {
		steps = append(steps, c.Details.Items)
	}
	d.Items = freshet.JoinItemChanges(steps)
	return d, err
}

// patch returns two versions as a JSON Patch: of their texts if these are JSON
// documents, and else of their named values and items.
func (a *api) patch(ctx context.Context, in *diffInput, versions [2]freshet.Version, texts [2][]byte) (*diffOutput, error) {
	patch, err := extract.Patch(texts[0], texts[1])
	if _, unfit := errors.AsType[*freshet.InvalidError](err); unfit {
		docs, known, failed := a.structures(ctx, in.ID, versions)
		if failed != nil {
			return nil, failed
		}
		if known {
			patch, err = extract.Patch(docs[0], docs[1])
		}
	}
	if e, unfit := errors.AsType[*freshet.InvalidError](err); unfit {
		p := invalid("query.format", e.Reason, in.Format)
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
func (a *api) structures(ctx context.Context, id freshet.SourceID, versions [2]freshet.Version) (docs [2][]byte, known bool, err error) {
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
func (a *api) itemsOf(ctx context.Context, id freshet.SourceID, v freshet.Version) ([]freshet.Item, error) {
	if a.Read == nil {
		return nil, nil
	}
	s, err := a.watchedOrRemoved(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := a.Store.Raw(ctx, id, v.Number)
	if err != nil {
		return nil, err
	}
	resp := freshet.Response{Status: raw.Status, URL: raw.URL, Header: raw.Header, MediaType: v.MediaType, Body: raw.Body}
	rd, err := a.Read(ctx, s.Recipe, resp)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil || freshet.HashOf(rd.Text) != v.Hash {
		return nil, nil
	}
	return rd.Items, nil
}
