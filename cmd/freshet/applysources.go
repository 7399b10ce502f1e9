package main

import (
	"context"
	"encoding/json"
	"slices"

	"freshet/client"
	"freshet/internal/freshet"
)

// heldSources are the sources of a daemon, but for the pages of sites.
type heldSources struct {
	byID  map[freshet.SourceID]client.Source
	byKey map[string][]client.Source // by pageKey
	used  map[freshet.SourceID]bool  // the file lists it
}

// pageKey is the same for sources that watch the same part of the same page. What the API
// does not show of a URL is not in it.
func pageKey(s freshet.Source) string { return freshet.MaskURL(s.URL) + " " + s.Key() }

func (v *application) planSources(ctx context.Context) error {
	all, err := v.Sources(ctx, client.SourceQuery{Named: true})
	if err != nil {
		return err
	}
	h := heldSources{map[freshet.SourceID]client.Source{}, map[string][]client.Source{}, map[freshet.SourceID]bool{}}
	for _, s := range all {
		defined, err := s.Defined()
		if err != nil {
			return err
		}
		h.byID[s.ID] = s
		h.byKey[pageKey(defined)] = append(h.byKey[pageKey(defined)], s)
	}
	for _, want := range v.file.Sources { // those with an id first, so that none is taken for another
		if _, there := h.byID[want.ID]; there {
			h.used[want.ID] = true
		}
	}
	for _, want := range v.file.Sources {
		item, err := v.planSource(ctx, want, &h)
		if err != nil {
			return err
		}
		v.put(item)
	}
	for _, s := range all {
		if !h.used[s.ID] && s.Origin == freshet.FromAPI {
			v.unlisted("source", string(s.ID), func(ctx context.Context) error { return v.Remove(ctx, s.ID, false) })
		}
	}
	return nil
}

// planSource compares one source with what the daemon has.
func (v *application) planSource(ctx context.Context, want freshet.Source, h *heldSources) (plannedAct, error) {
	item := plannedAct{Kind: "source", Name: string(want.ID), Note: freshet.MaskURL(want.URL)}
	have, there := h.byID[want.ID]
	if !there {
		same, err := v.samePage(ctx, want, h)
		switch {
		case err != nil:
			return item, err
		case same.ID == "":
			return v.toAdd(item, want)
		case want.ID == "":
			have, item.Name = same, string(same.ID)
			h.used[same.ID] = true
		case v.prune && same.Origin == freshet.FromAPI && !h.used[same.ID]:
			return v.toAdd(item, want) // the other one goes first
		default:
			item.Action, item.Note = refuse, "the daemon watches this page as "+string(same.ID)+"; give it that id here, or remove it there"
			return item, nil
		}
	}
	return v.toChange(ctx, item, want, have)
}

// samePage returns the source of the daemon that watches the same; one without an ID if
// there is none.
func (v *application) samePage(ctx context.Context, want freshet.Source, h *heldSources) (client.Source, error) {
	for _, s := range h.byKey[pageKey(want)] {
		whole, err := v.wholeSource(ctx, s, want)
		if err != nil {
			return s, err
		}
		if whole.URL == want.URL {
			return s, nil
		}
	}
	return client.Source{}, nil
}

// wholeSource returns a source with its whole URL, if what is not shown of it matters.
func (v *application) wholeSource(ctx context.Context, s client.Source, want freshet.Source) (client.Source, error) {
	if shown := freshet.MaskURL(want.URL); shown == want.URL || s.URL != shown {
		return s, nil
	}
	return v.Reveal(ctx, s.ID)
}

func (v *application) toAdd(item plannedAct, want freshet.Source) (plannedAct, error) {
	var described client.NewSource
	if err := json.Unmarshal(want.Definition(), &described); err != nil {
		return item, err
	}
	if item.Action = add; item.Name == "" {
		item.Name, item.Note = item.Note, "" // the daemon makes an id
	}
	item.do = func(ctx context.Context) error {
		_, err := v.Add(ctx, described)
		return err
	}
	return item, nil
}

// toChange compares a source with the one that the daemon has.
func (v *application) toChange(ctx context.Context, item plannedAct, want freshet.Source, have client.Source) (plannedAct, error) {
	have, err := v.wholeSource(ctx, have, want)
	if err != nil {
		return item, err
	}
	if item.Fields, _, err = sourcePatch(have, want); err != nil {
		return item, err
	}
	switch item.Note = ""; {
	case len(item.Fields) == 0:
		item.Action = keep
		return item, nil
	case have.Origin == freshet.FromFile:
		return item.refused(), nil
	}
	now, err := v.Source(ctx, have.ID) // with its revision
	if err != nil {
		return item, err
	}
	now.URL = have.URL
	_, patch, err := sourcePatch(now, want)
	if err != nil {
		return item, err
	}
	item.Action = change
	item.do = func(ctx context.Context) error {
		_, err := v.PatchSource(ctx, now.ID, now.Revision, patch)
		return err
	}
	return item, nil
}

// sourcePatch returns the fields in which a source of the daemon differs from what is
// wanted, and how to make them equal.
func sourcePatch(have client.Source, want freshet.Source) (fields []string, patch map[string]any, err error) {
	is, err := have.Defined()
	if err != nil {
		return nil, nil, err
	}
	want.ID = is.ID
	if want.Weight == 1 { // which is what there is if nothing is said
		want.Weight = 0
	}
	if want.Cost == 1 {
		want.Cost = 0
	}
	for _, f := range freshet.SourceFields() {
		if !slices.Equal(f.Show(&is), f.Show(&want)) {
			fields = append(fields, f.Name)
		}
	}
	from, err := objectOf(is.Definition())
	if err != nil {
		return nil, nil, err
	}
	to, err := objectOf(want.Definition())
	return fields, patchBetween(from, to), err
}
