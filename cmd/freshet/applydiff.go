package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// heldSources are the sources of a daemon, but for the pages of sites. There may be a million.
type heldSources struct {
	byID  map[freshet.SourceID]heldSource
	byKey map[digest][]freshet.SourceID // by pageKey
	used  map[freshet.SourceID]bool     // the file lists it
}

// A heldSource is what is kept in mind of a source of the daemon.
type heldSource struct {
	origin freshet.Origin
	shown  digest // of its URL as it is shown
	state  digest // of its definition
	noise  freshet.NoiseSetting
}

// A digest stands for a text.
type digest [16]byte

func digestOf(text string) (d digest) {
	sum := sha256.Sum256([]byte(text))
	copy(d[:], sum[:])
	return d
}

// pageKey is the same for sources that watch the same part of the same page. What the API
// does not show of a URL is not in it.
func pageKey(s freshet.Source) digest { return digestOf(mask.URL(s.URL) + " " + s.Key()) }

// definitionOf is the same for sources that are defined alike, whatever their ids.
func definitionOf(s freshet.Source) digest {
	s.ID = ""
	if s.Weight == 1 { // which is what there is if nothing is said
		s.Weight = 0
	}
	if s.Cost == 1 {
		s.Cost = 0
	}
	return digestOf(string(s.Definition()))
}

// held reads the sources of the daemon.
func (v *application) held(ctx context.Context) (h heldSources, err error) {
	h = heldSources{map[freshet.SourceID]heldSource{}, map[digest][]freshet.SourceID{}, map[freshet.SourceID]bool{}}
	err = v.Sources.Each(ctx, client.SourceQuery{Named: true}, func(s client.Source) error {
		defined, err := s.Defined()
		if err != nil {
			return err
		}
		h.byID[s.ID] = heldSource{s.Origin, digestOf(s.URL), definitionOf(defined), defined.Noise}
		key := pageKey(defined)
		h.byKey[key] = append(h.byKey[key], s.ID)
		return nil
	})
	return h, err
}

func (v *application) planSources(ctx context.Context) error {
	h, err := v.held(ctx)
	if err != nil {
		return err
	}
	v.plan.Items = slices.Grow(v.plan.Items, v.file.Sources.Len())
	for _, s := range v.file.Sources.All() { // those with an id first, so that none is taken for another
		if _, there := h.byID[s.ID]; there {
			h.used[s.ID] = true
		}
	}
	for _, s := range v.file.Sources.All() {
		item, err := v.planSource(ctx, &s, &h)
		if err != nil {
			return err
		}
		v.put(item)
	}
	for _, id := range slices.Sorted(maps.Keys(h.byID)) {
		if !h.used[id] && h.byID[id].origin == freshet.FromAPI {
			v.unlisted("source", string(id), func(ctx context.Context) error { return v.Sources.Remove(ctx, id, false) })
		}
	}
	return nil
}

// planSource compares one source with what the daemon has.
func (v *application) planSource(ctx context.Context, want *freshet.Source, h *heldSources) (plannedAct, error) {
	item := plannedAct{Kind: "source", Name: string(want.ID), Note: mask.URL(want.URL)}
	id := want.ID
	if _, there := h.byID[id]; !there {
		same, err := v.samePage(ctx, want, h)
		switch {
		case err != nil:
			return item, err
		case same == "":
			return toAdd(item, want), nil
		case want.ID == "":
			id, item.Name = same, string(same)
			h.used[same] = true
		case v.prune && h.byID[same].origin == freshet.FromAPI && !h.used[same]:
			return toAdd(item, want), nil // the other one goes first
		default:
			item.Action, item.Note = refuse, "the daemon watches this page as "+string(same)+"; give it that id here, or remove it there"
			return item, nil
		}
	}
	want.Noise = cmp.Or(want.Noise, h.byID[id].noise) // a daemon's source may be older than the default
	if want.URL == mask.URL(want.URL) && h.byID[id].state == definitionOf(*want) {
		item.Action, item.Note = keep, ""
		return item, nil
	}
	return v.toChange(ctx, item, want, id)
}

// samePage returns the source of the daemon that watches the same; "" if there is none.
func (v *application) samePage(ctx context.Context, want *freshet.Source, h *heldSources) (freshet.SourceID, error) {
	shown := mask.URL(want.URL)
	for _, id := range h.byKey[pageKey(*want)] {
		if shown == want.URL {
			if h.byID[id].shown == digestOf(shown) {
				return id, nil
			}
			continue
		}
		whole, err := v.Sources.Reveal(ctx, id)
		if err != nil {
			return "", err
		}
		if whole.URL == want.URL {
			return id, nil
		}
	}
	return "", nil
}

func toAdd(item plannedAct, want *freshet.Source) plannedAct {
	if item.Action = add; item.Name == "" {
		item.Name, item.Note = item.Note, "" // the daemon makes an id
	}
	item.source = want
	return item
}

// toChange compares a source with the one that the daemon has.
func (v *application) toChange(ctx context.Context, item plannedAct, want *freshet.Source, id freshet.SourceID) (plannedAct, error) {
	have, err := v.Sources.Get(ctx, id) // with its revision
	if err != nil {
		return item, err
	}
	if shown := mask.URL(want.URL); shown != want.URL && have.URL == shown { // what is not shown of it matters
		whole, err := v.Sources.Reveal(ctx, id)
		if err != nil {
			return item, err
		}
		have.URL = whole.URL
	}
	var patch map[string]any
	if item.Fields, patch, err = sourcePatch(have, *want); err != nil {
		return item, err
	}
	switch item.Note = ""; {
	case len(item.Fields) == 0:
		item.Action = keep
		return item, nil
	case have.Origin == freshet.FromFile:
		return item.refused(), nil
	}
	item.Action = change
	item.do = func(ctx context.Context) error {
		_, err := v.Sources.Edit(ctx, id, patch, have.Revision)
		return err
	}
	return item, nil
}

// Bounds of one request that adds sources: the daemon takes a megabyte.
const (
	addPart  = 1000
	addBytes = 700 << 10
)

// addSources adds the sources of the acts at the beginning of a list, as many as one request
// takes, and returns how many those are.
func (v *application) addSources(ctx context.Context, items []plannedAct) (n int, err error) {
	var list client.SourcesToAdd
	size := 0
	for n < len(items) && n < addPart && items[n].source != nil {
		size += len(items[n].source.Definition())
		if n > 0 && size > addBytes {
			break
		}
		list.Sources = append(list.Sources, client.NewSourceOf(*items[n].source))
		n++
	}
	added, err := v.Sources.AddMany(ctx, list)
	if err != nil {
		items[0].Error = err.Error()
		return n, fmt.Errorf("add source %s: %w", items[0].Name, err)
	}
	for i, became := range added.Items {
		item := &items[i]
		switch became.Result {
		case "added":
			item.Done = true
			continue
		case "known":
			item.Error = "somebody else has added it as " + string(became.ID) + " just now"
		default:
			item.Error = became.Error
		}
		if err == nil {
			err = freshet.WithHint(fmt.Errorf("add source %s: %s", item.Name, item.Error), became.Hint)
		}
	}
	return n, err
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

func (v *application) planQueries(ctx context.Context) error {
	all, err := v.Queries.List(ctx)
	if err != nil {
		return err
	}
	v.queries = map[string]bool{}
	for _, want := range v.file.Queries {
		v.queries[string(want.ID)] = true
		i := slices.IndexFunc(all, func(q client.Query) bool { return q.ID == string(want.ID) })
		if i < 0 {
			v.put(plannedAct{Kind: "query", Name: string(want.ID), Action: add, Note: oneLine(want.When), do: func(ctx context.Context) error {
				_, err := v.Queries.Add(ctx, client.QueryToAdd{NewQuery: queries.ToClient(want)})
				return err
			}})
			continue
		}
		item, err := v.planQuery(ctx, want, all[i])
		if err != nil {
			return err
		}
		v.put(item)
	}
	for _, q := range all {
		if q.Origin == freshet.FromAPI && !v.queries[q.ID] {
			v.unlisted("query", q.ID, func(ctx context.Context) error { return v.Queries.Remove(ctx, q.ID) })
		}
		if !v.prune || q.Origin == freshet.FromFile {
			v.queries[q.ID] = true
		}
	}
	return nil
}

// planUsers adds users who are not there. Those who are stay as they are.
func (v *application) planUsers(ctx context.Context) error {
	if len(v.file.Users) == 0 {
		return nil
	}
	all, err := v.Users.List(ctx)
	if err != nil {
		return err
	}
	for _, want := range v.file.Users {
		item := plannedAct{Kind: "user", Name: want.Name, Action: keep}
		if i := slices.IndexFunc(all, func(u client.User) bool { return u.Name == want.Name }); i < 0 {
			item.Action, item.Note = add, string(want.Role)+", without a password"
			item.do = func(ctx context.Context) error {
				_, err := v.Users.Add(ctx, client.NewUser{Name: want.Name, Role: want.Role, NoPassword: true})
				return err
			}
		} else if all[i].Role != want.Role {
			item.Note = "the daemon has this user as " + string(all[i].Role)
		}
		v.put(item)
	}
	return nil
}

// planQuery compares a query with the one that the daemon has.
func (v *application) planQuery(ctx context.Context, want queries.Query, have client.Query) (plannedAct, error) {
	item := plannedAct{Kind: "query", Name: string(want.ID), Action: keep}
	patch, err := queryPatch(have, want)
	item.Fields = fieldsOf(patch)
	if err != nil || len(patch) == 0 {
		return item, err
	}
	if have.Origin == freshet.FromFile {
		return item.refused(), nil
	}
	now, err := v.Queries.Get(ctx, string(want.ID)) // with its revision
	if err != nil {
		return item, err
	}
	if patch, err = queryPatch(now, want); err != nil {
		return item, err
	}
	item.Action = change
	item.do = func(ctx context.Context) error {
		_, err := v.Queries.Edit(ctx, string(want.ID), patch, now.Revision)
		return err
	}
	return item, nil
}

// queryPatch returns how to make a query of the daemon what is wanted.
func queryPatch(have client.Query, want queries.Query) (map[string]any, error) {
	defined, err := queries.FromClient(have.NewQuery)
	if err != nil {
		return nil, err
	}
	if want.Trigger == "" { // the daemon decides on it by the condition
		want.Trigger = defined.Trigger
	}
	from, err := objectOf(queries.ToClient(defined), "id")
	if err != nil {
		return nil, err
	}
	to, err := objectOf(queries.ToClient(want), "id")
	return patchBetween(from, to), err
}

func (v *application) planSinks(ctx context.Context) error {
	list, err := v.Sinks.List(ctx)
	if err != nil {
		return err
	}
	wanted := v.file.AllSinks()
	for _, want := range wanted {
		want.Origin = freshet.FromAPI
		if want, err = sinks.Check(v.file.Outlets(v.env, nil, nil), want); err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(s client.SinkInfo) bool { return s.Name == want.Name })
		var have *client.SinkInfo
		if i >= 0 {
			have = &list[i]
		}
		item, err := v.planSink(want, have)
		if err != nil {
			return err
		}
		v.put(item)
	}
	for _, s := range list {
		if s.Origin == freshet.FromAPI && !slices.ContainsFunc(wanted, func(want sinks.Sink) bool { return want.Name == s.Name }) {
			v.unlisted("sink", s.Name, func(ctx context.Context) error { return v.Sinks.Remove(ctx, s.Name) })
		}
	}
	return nil
}

// planSink compares a sink with the one that the daemon has; nil if there is none.
func (v *application) planSink(want sinks.Sink, have *client.SinkInfo) (plannedAct, error) {
	item := plannedAct{Kind: "sink", Name: want.Name, Action: add, Note: want.Kind}
	if i := slices.IndexFunc(want.Queries, func(id queries.ID) bool { return !v.queries[string(id)] }); i >= 0 {
		item.Action, item.Note = refuse, "it follows query "+string(want.Queries[i])+", which neither the file nor the daemon has"
		return item, nil
	}
	described, whole, err := sinkObject(want)
	if err != nil {
		return item, err
	}
	if have == nil {
		item.do = func(ctx context.Context) error {
			_, err := v.Sinks.Add(ctx, want.Name, described)
			return err
		}
		return item, nil
	}
	_, shown, err := sinkObject(sinks.Shown(want))
	if err != nil {
		return item, err
	}
	from, err := objectOf(have.NewSink)
	if err != nil {
		return item, err
	}
	item.Fields = fieldsOf(patchBetween(from, shown))
	switch item.Note = ""; {
	case len(item.Fields) == 0:
		item.Action = keep
	case have.Origin == freshet.FromFile:
		item = item.refused()
	default:
		item.Action = change
		item.do = func(ctx context.Context) error { // with the secrets, which are not shown
			_, err := v.Sinks.Edit(ctx, want.Name, patchBetween(from, whole), have.Revision)
			return err
		}
	}
	return item, nil
}

// sinkObject returns a sink as the API takes it.
func sinkObject(s sinks.Sink) (described client.NewSink, object map[string]any, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return described, nil, err
	}
	if err := json.Unmarshal(text, &described); err != nil {
		return described, nil, err
	}
	object, err = objectOf(described)
	return described, object, err
}

// objectOf returns what a value is in JSON, without some of its keys.
func objectOf(value any, without ...string) (object map[string]any, err error) {
	text, ok := value.([]byte)
	if !ok {
		if text, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("compare with the daemon: %w", err)
	}
	for _, key := range without {
		delete(object, key)
	}
	return object, nil
}

// patchBetween returns the JSON merge patch (RFC 7396) that makes one object of another.
// It is empty if they are the same.
func patchBetween(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, stays := to[key]; !stays {
			patch[key] = nil
		}
	}
	for key, value := range to {
		was, there := from[key]
		if there && reflect.DeepEqual(was, value) {
			continue
		}
		before, both := was.(map[string]any)
		after, object := value.(map[string]any)
		if both && object {
			patch[key] = patchBetween(before, after)
		} else {
			patch[key] = value
		}
	}
	return patch
}

// fieldsOf returns what a patch is about.
func fieldsOf(patch map[string]any) []string { return slices.Sorted(maps.Keys(patch)) }
