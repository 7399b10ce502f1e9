package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

func (a *api) routeSinks(h huma.API) {
	tags := []string{"sinks"}
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/sinks" + path, Tags: tags, Summary: summary}
	}
	route(h, a, op("list-sinks", http.MethodGet, "", "List the sinks that are told of changes and matches"), a.listSinks)
	route(h, a, op("get-sink", http.MethodGet, "/{name}", "Show a sink and how it is doing"), a.getSink)
	put := op("put-sink", http.MethodPut, "/{name}", "Add a sink, or replace it")
	put.Description = "A sink that is replaced keeps its position in the change log and what it is owed."
	route(h, a, put, a.putSink)
	route(h, a, op("edit-sink", http.MethodPatch, "/{name}", "Change a sink"), a.editSink)
	remove := op("remove-sink", http.MethodDelete, "/{name}", "Remove a sink with everything that waits for it")
	remove.DefaultStatus = http.StatusNoContent
	route(h, a, remove, a.removeSink)
	test := op("test-sink", http.MethodPost, "/{name}/test", "Send a sample to a sink and show the answer")
	test.Description = "The sample is not part of the change log, and is not tried again. With preview=true it is only shown. With change, the change at that cursor is sent instead."
	route(h, a, test, a.testSink)
	preview := op("preview-sink", http.MethodPost, "-preview", "Show what would be sent to a sink that has not been added")
	route(h, a, preview, a.previewSink)
	route(h, a, op("list-sink-kinds", http.MethodGet, "-kinds", "List the kinds of sink and their settings"), listKinds)
	route(h, a, op("list-letters", http.MethodGet, "/{name}/letters", "List the deliveries to a sink that were given up"), a.listLetters)
	owed := op("list-owed", http.MethodGet, "/{name}/owed", "List the deliveries that a sink waits for")
	owed.Description = "The next to be tried comes first. Of a source, and of a query, only the first that waits is listed: the others come after it."
	route(h, a, owed, a.listOwed)
	attempts := op("list-attempts", http.MethodGet, "/{name}/attempts", "List the last attempts at telling a sink")
	attempts.Description = "The newest comes first. At most fifty are remembered, since the daemon started."
	route(h, a, attempts, a.listAttempts)
	replay := op("replay-sink", http.MethodPost, "/{name}/replay", "Deliver again")
	replay.Description = "Without a body, everything that was given up is delivered again. Otherwise the given letters, or everything after a cursor or since a time. Events keep their IDs. With dry_run it is only counted."
	route(h, a, replay, a.replaySink)
}

type sinkPath struct {
	Name string `path:"name" maxLength:"64" doc:"Name of the sink"`
}

// errNoSinks means that nothing is delivered here.
func errNoSinks() error { return problem(http.StatusNotFound, "there are no sinks here") }

// sinks returns how far all sinks are.
func (a *api) sinks(ctx context.Context) ([]client.Sink, error) {
	if a.Sinks == nil {
		return nil, nil
	}
	all, err := a.Sinks.List(ctx)
	if err != nil {
		return nil, err
	}
	var told []client.Sink
	for _, st := range all {
		told = append(told, standingOfSink(st))
	}
	return told, nil
}

// standingOfSink returns how a sink is doing as the API tells it.
func standingOfSink(st delivery.State) client.Sink {
	told := client.Sink{
		Name: st.Sink.Name, Kind: st.Sink.Kind, State: client.SinkOK, Place: st.Place, Behind: st.Behind, Open: st.Open, Dead: st.Dead,
		Failing: utc(st.Condition.Failing), Held: utc(st.Condition.Held), Error: st.Condition.Err,
	}
	switch {
	case st.Problem != nil:
		told.State, told.Error, told.Hint = client.SinkBroken, st.Problem.Error(), freshet.HintOf(st.Problem)
	case st.Sink.Paused:
		told.State = client.SinkPaused
	case st.Gone:
		told.State = client.SinkGone
	case st.Missing != nil:
		told.State, told.Error, told.Hint = client.SinkFailing, st.Missing.Error(), freshet.HintOf(st.Missing)
	case !st.Condition.Held.IsZero():
		told.State = client.SinkHeld
	case !st.Condition.Failing.IsZero():
		told.State = client.SinkFailing
	}
	return told
}

// infoOf returns a sink as the API tells it, without its secrets.
func infoOf(st delivery.State) client.SinkInfo {
	return client.SinkInfo{
		Name: st.Sink.Name, Origin: st.Sink.Origin, Revision: st.Sink.Revision,
		NewSink: newSinkOf(sinks.Shown(st.Sink)), Standing: standingOfSink(st),
	}
}

// newSinkOf returns what is set of a sink.
func newSinkOf(s freshet.Sink) client.NewSink {
	values := func(of map[string]freshet.Value) map[string]string {
		if len(of) == 0 {
			return nil
		}
		told := map[string]string{}
		for name, v := range of {
			told[name] = string(v)
		}
		return told
	}
	return client.NewSink{
		Kind: s.Kind, URL: string(s.URL), Queries: s.Queries, Tags: s.Tags, Sources: s.Sources, Template: s.Template,
		Settings: values(s.Settings), Headers: values(s.Headers), Paused: s.Paused,
	}
}

// sinkFrom returns the sink that was asked for.
func sinkFrom(name string, n client.NewSink) freshet.Sink {
	values := func(of map[string]string) map[string]freshet.Value {
		taken := map[string]freshet.Value{}
		for name, v := range of {
			if v != "" {
				taken[name] = freshet.Value(v)
			}
		}
		return taken
	}
	return freshet.Sink{
		Name: name, Kind: n.Kind, URL: freshet.Value(n.URL), Queries: n.Queries, Tags: n.Tags, Sources: n.Sources, Template: n.Template,
		Settings: values(n.Settings), Headers: values(n.Headers), Paused: n.Paused, Origin: freshet.FromAPI,
	}
}

func (a *api) listSinks(ctx context.Context, in *paging) (*bodyOf[client.SinkList], error) {
	list := client.SinkList{Items: []client.SinkInfo{}}
	if a.Sinks == nil {
		return &bodyOf[client.SinkList]{list}, nil
	}
	all, err := a.Sinks.List(ctx)
	if err != nil {
		return nil, err
	}
	all, list.Next = paged(*in, all, func(st delivery.State) string { return st.Sink.Name })
	for _, st := range all {
		list.Items = append(list.Items, infoOf(st))
	}
	return &bodyOf[client.SinkList]{list}, nil
}

// A taggedSink is a sink with the tag of its revision.
type taggedSink struct {
	ETag string `header:"ETag"`
	Body client.SinkInfo
}

func (a *api) getSink(ctx context.Context, in *sinkPath) (*taggedSink, error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	st, err := a.Sinks.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &taggedSink{tagOf(st.Sink.Revision), infoOf(st)}, nil
}

type putSinkInput struct {
	Name    string  `path:"name" maxLength:"64" doc:"Name of the sink"`
	New     bool    `query:"new" doc:"Add it only if there is no sink of this name"`
	IfMatch ifMatch `header:"If-Match" doc:"Replace it only if it still has this ETag; * means any"`
	Body    client.NewSink
}

func (a *api) putSink(ctx context.Context, in *putSinkInput) (*taggedSink, error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	a.edits.RLock()
	defer a.edits.RUnlock()
	to, revision := sinkFrom(in.Name, in.Body), int64(0)
	if st, err := a.Sinks.Get(ctx, in.Name); err == nil && !in.New {
		if err := in.IfMatch.check("sink", in.Name, st.Sink.Revision); err != nil {
			return nil, err
		}
		to = sinks.Restore(to, st.Sink)
		if in.IfMatch != "" {
			revision = st.Sink.Revision
		}
	}
	if err := a.Sinks.Put(ctx, to, revision, in.New); err != nil {
		return nil, err
	}
	return a.getSink(ctx, &sinkPath{in.Name})
}

type editSinkInput struct {
	Name    string  `path:"name" maxLength:"64" doc:"Name of the sink"`
	IfMatch ifMatch `header:"If-Match" doc:"Edit only if the sink still has this ETag; * means any"`
	Body    mergePatch[sinkEdit]
}

func (a *api) editSink(ctx context.Context, in *editSinkInput) (*taggedSink, error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	a.edits.RLock()
	defer a.edits.RUnlock()
	st, err := a.Sinks.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.check("sink", in.Name, st.Sink.Revision); err != nil {
		return nil, err
	}
	edited, err := merged(newSinkOf(sinks.Shown(st.Sink)), in.Body)
	if err != nil {
		return nil, err
	}
	to := sinks.Restore(sinkFrom(in.Name, edited), st.Sink)
	if err := a.Sinks.Put(ctx, to, st.Sink.Revision, false); err != nil {
		return nil, err
	}
	return a.getSink(ctx, &sinkPath{in.Name})
}

type removeSinkInput struct {
	Name    string  `path:"name" maxLength:"64" doc:"Name of the sink"`
	IfMatch ifMatch `header:"If-Match" doc:"Remove only if the sink still has this ETag; * means any"`
}

func (a *api) removeSink(ctx context.Context, in *removeSinkInput) (*struct{}, error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	a.edits.Lock() // no edit comes between the look and the removal
	defer a.edits.Unlock()
	if in.IfMatch != "" {
		st, err := a.Sinks.Get(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		if err := in.IfMatch.check("sink", in.Name, st.Sink.Revision); err != nil {
			return nil, err
		}
	}
	return nil, a.Sinks.Remove(ctx, in.Name)
}

type testSinkInput struct {
	Name    string `path:"name" maxLength:"64" doc:"Name of the sink"`
	Change  string `query:"change" doc:"Cursor of a change to send instead of a sample"`
	Preview bool   `query:"preview" doc:"Show the message and send nothing"`
}

func (a *api) testSink(ctx context.Context, in *testSinkInput) (*bodyOf[client.SinkTrial], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	place, err := parsePlace("query.change", in.Change)
	if err != nil {
		return nil, err
	}
	at, err := a.findChange(ctx, place)
	if err != nil {
		return nil, err
	}
	t, err := a.Sinks.Test(ctx, in.Name, at, !in.Preview)
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.SinkTrial]{trialOf(t, !in.Preview)}, nil
}

func trialOf(t delivery.Trial, sent bool) client.SinkTrial {
	told := client.SinkTrial{ID: t.ID, Body: string(t.Body), Sent: sent, Accepted: sent && t.Err == nil, Answer: t.Answer}
	if t.Err != nil {
		told.Error, told.Hint = t.Err.Error(), freshet.HintOf(t.Err)
	}
	return told
}

func (a *api) previewSink(ctx context.Context, in *bodyOf[client.NewSink]) (*bodyOf[client.SinkTrial], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	t, err := a.Sinks.Preview(ctx, sinkFrom("preview", in.Body), 0)
	if err != nil {
		return nil, err
	}
	return &bodyOf[client.SinkTrial]{trialOf(t, false)}, nil
}

func listKinds(context.Context, *struct{}) (*bodyOf[client.SinkKindList], error) {
	list := client.SinkKindList{Items: []client.SinkKind{}}
	for _, k := range sinks.Kinds() {
		told := client.SinkKind{Name: k.Name, About: k.About, URL: k.URL, Template: k.Words, Settings: []client.SinkSetting{}}
		for _, s := range k.Settings {
			told.Settings = append(told.Settings, client.SinkSetting(s))
		}
		list.Items = append(list.Items, told)
	}
	return &bodyOf[client.SinkKindList]{list}, nil
}

type listLettersInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	After string `query:"after" doc:"Continue after this: the next of the page before"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Most letters to return"`
}

func (a *api) listLetters(ctx context.Context, in *listLettersInput) (*bodyOf[client.LetterPage], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	after, err := a.letterAt(ctx, in.After)
	if err != nil {
		return nil, err
	}
	letters, err := a.Sinks.Letters(ctx, in.Name, after, in.Limit)
	if err != nil {
		return nil, err
	}
	page := client.LetterPage{Items: []client.Letter{}, Next: in.After}
	for _, l := range letters {
		page.Items = append(page.Items, letterOf(l))
		if p := l.Parcel; p.Cursor > 0 {
			page.Next = fmt.Sprintf("%s%d", parcelMark, p.Cursor)
		} else {
			page.Next = l.Change.Place().String()
		}
	}
	return &bodyOf[client.LetterPage]{page}, nil
}

// letterOf returns a delivery as the API tells it.
func letterOf(d freshet.Debt) client.Letter {
	told := client.Letter{ID: d.ID(), Attempts: d.Attempts, Error: d.Err, Body: string(d.Body)}
	if p := d.Parcel; p.Cursor > 0 {
		told.Query, told.First, told.Last, told.At = p.Query, p.From, p.To, utc(p.At)
	} else {
		change := sinks.ChangeOf(d.Change)
		told.Change, told.At = &change, change.Before
	}
	return told
}

// parcelMark tells where a list of letters goes on among those of queries.
const parcelMark = "q"

// letterAt returns where a list of letters goes on.
func (a *api) letterAt(ctx context.Context, after string) (at freshet.Entry, err error) {
	if number, ok := strings.CutPrefix(after, parcelMark); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return at, invalid("query.after", "is not what a page of letters had as next", after)
		}
		return freshet.Entry{Stream: freshet.StreamParcels, Cursor: freshet.Cursor(n)}, nil
	}
	place, err := parsePlace("query.after", after)
	if err != nil {
		return at, err
	}
	at.Cursor, err = a.findChange(ctx, place)
	return at, err
}

type replaySinkInput struct {
	Name string             `path:"name" maxLength:"64" doc:"Name of the sink"`
	Body *client.SinkReplay `required:"false"`
}

func (a *api) replaySink(ctx context.Context, in *replaySinkInput) (*bodyOf[client.SinkReplayed], error) {
	if a.Sinks == nil {
		return nil, errNoSinks()
	}
	var what delivery.Replay
	if in.Body != nil {
		var err error
		if what, err = replayOf(*in.Body); err != nil {
			return nil, err
		}
	}
	if in.Body != nil && in.Body.DryRun {
		onlyTried(ctx)
		n, more, err := a.Sinks.CountReplay(ctx, in.Name, what)
		if err != nil {
			return nil, err
		}
		st, err := a.Sinks.Get(ctx, in.Name)
		return &bodyOf[client.SinkReplayed]{client.SinkReplayed{Deliveries: n, More: more, Place: st.Place, DryRun: true}}, err
	}
	n, err := a.Sinks.Replay(ctx, in.Name, what)
	if err != nil {
		return nil, err
	}
	st, err := a.Sinks.Get(ctx, in.Name)
	return &bodyOf[client.SinkReplayed]{client.SinkReplayed{Deliveries: n, Place: st.Place}}, err
}

// replayOf returns what is to be replayed.
func replayOf(r client.SinkReplay) (what delivery.Replay, err error) {
	given := 0
	for _, set := range []bool{len(r.Letters) > 0, r.After != "", !r.Since.IsZero()} {
		if set {
			given++
		}
	}
	if given > 1 {
		return what, invalid("body", "set only one of letters, after and since", nil)
	}
	what.Since, what.Letters = r.Since, r.Letters
	if r.After != "" {
		place := freshet.Place{}
		if r.After != "0" {
			if place, err = parsePlace("body.after", r.After); err != nil {
				return what, err
			}
		}
		what.After = &place
	}
	return what, nil
}
