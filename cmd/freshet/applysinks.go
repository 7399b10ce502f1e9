package main

import (
	"context"
	"encoding/json"
	"slices"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

func (v *application) planQueries(ctx context.Context) error {
	all, err := v.Queries(ctx)
	if err != nil {
		return err
	}
	v.queries = map[freshet.QueryID]bool{}
	for _, want := range v.file.Queries {
		v.queries[want.ID] = true
		i := slices.IndexFunc(all, func(q client.Query) bool { return q.ID == want.ID })
		if i < 0 {
			v.put(plannedAct{Kind: "query", Name: string(want.ID), Action: add, Note: oneLine(want.When), do: func(ctx context.Context) error {
				_, err := v.AddQuery(ctx, client.QueryToAdd{NewQuery: client.QueryOf(want)})
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
			v.unlisted("query", string(q.ID), func(ctx context.Context) error { return v.RemoveQuery(ctx, q.ID) })
		}
		if !v.prune || q.Origin == freshet.FromFile {
			v.queries[q.ID] = true
		}
	}
	return nil
}

// planQuery compares a query with the one that the daemon has.
func (v *application) planQuery(ctx context.Context, want freshet.Query, have client.Query) (plannedAct, error) {
	item := plannedAct{Kind: "query", Name: string(want.ID), Action: keep}
	patch, err := queryPatch(have, want)
	item.Fields = fieldsOf(patch)
	if err != nil || len(patch) == 0 {
		return item, err
	}
	if have.Origin == freshet.FromFile {
		return item.refused(), nil
	}
	now, err := v.Query(ctx, want.ID) // with its revision
	if err != nil {
		return item, err
	}
	if patch, err = queryPatch(now, want); err != nil {
		return item, err
	}
	item.Action = change
	item.do = func(ctx context.Context) error {
		_, err := v.EditQuery(ctx, want.ID, now.Revision, patch)
		return err
	}
	return item, nil
}

// queryPatch returns how to make a query of the daemon what is wanted.
func queryPatch(have client.Query, want freshet.Query) (map[string]any, error) {
	defined, err := have.Defined()
	if err != nil {
		return nil, err
	}
	from, err := objectOf(client.QueryOf(defined), "id")
	if err != nil {
		return nil, err
	}
	to, err := objectOf(client.QueryOf(want), "id")
	return patchBetween(from, to), err
}

func (v *application) planSinks(ctx context.Context) error {
	list, err := v.Sinks(ctx)
	if err != nil {
		return err
	}
	wanted := v.file.AllSinks()
	for _, want := range wanted {
		want.Origin = freshet.FromAPI
		if want, err = sinks.Check(v.file.Outlets(v.env, nil, nil), want); err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(s client.SinkInfo) bool { return s.Name == want.Name })
		var have *client.SinkInfo
		if i >= 0 {
			have = &list.Items[i]
		}
		item, err := v.planSink(want, have)
		if err != nil {
			return err
		}
		v.put(item)
	}
	for _, s := range list.Items {
		if s.Origin == freshet.FromAPI && !slices.ContainsFunc(wanted, func(want freshet.Sink) bool { return want.Name == s.Name }) {
			v.unlisted("sink", s.Name, func(ctx context.Context) error { return v.RemoveSink(ctx, s.Name) })
		}
	}
	return nil
}

// planSink compares a sink with the one that the daemon has; nil if there is none.
func (v *application) planSink(want freshet.Sink, have *client.SinkInfo) (plannedAct, error) {
	item := plannedAct{Kind: "sink", Name: want.Name, Action: add, Note: want.Kind}
	if i := slices.IndexFunc(want.Queries, func(id freshet.QueryID) bool { return !v.queries[id] }); i >= 0 {
		item.Action, item.Note = refuse, "it follows query "+string(want.Queries[i])+", which neither the file nor the daemon has"
		return item, nil
	}
	described, whole, err := sinkObject(want)
	if err != nil {
		return item, err
	}
	if have == nil {
		item.do = func(ctx context.Context) error {
			_, err := v.AddSink(ctx, want.Name, described)
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
			_, err := v.EditSink(ctx, want.Name, patchBetween(from, whole), have.Revision)
			return err
		}
	}
	return item, nil
}

// sinkObject returns a sink as the API takes it.
func sinkObject(s freshet.Sink) (described client.NewSink, object map[string]any, err error) {
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
