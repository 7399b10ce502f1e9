package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// sinkAPI serves sinks and their deliveries.
type sinkAPI struct {
	*rest.Server
	store freshet.Store
	sinks *delivery.Sinks // nil means none
}

func (a *sinkAPI) routes() {
	tags := []string{"sinks"}
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/sinks" + path, Tags: tags, Summary: summary}
	}
	rest.Route(a.Server, op("list-sinks", http.MethodGet, "", "List the sinks"), a.listSinks)
	rest.Route(a.Server, op("get-sink", http.MethodGet, "/{name}", "Show a sink with its status"), a.getSink)
	put := op("put-sink", http.MethodPut, "/{name}", "Add a sink, or replace it")
	put.Description = "A replaced sink keeps its position in the change log and its pending deliveries."
	rest.Route(a.Server, put, a.putSink)
	rest.Route(a.Server, op("edit-sink", http.MethodPatch, "/{name}", "Change a sink"), a.editSink)
	remove := op("remove-sink", http.MethodDelete, "/{name}", "Remove a sink with its pending deliveries")
	remove.DefaultStatus = http.StatusNoContent
	rest.Route(a.Server, remove, a.removeSink)
	test := op("test-sink", http.MethodPost, "/{name}/test", "Send a sample to a sink and show the answer")
	test.Description = "The sample is not part of the change log and is not retried. With preview=true it is shown and not sent. With change, the change at that cursor is sent instead."
	rest.Route(a.Server, test, a.testSink)
	preview := op("preview-sink", http.MethodPost, "-preview", "Preview the message of a sink before it is added")
	rest.Route(a.Server, preview, a.previewSink)
	rest.Route(a.Server, op("list-sink-kinds", http.MethodGet, "-kinds", "List the kinds of sink and their settings"), listKinds)
	rest.Route(a.Server, op("list-letters", http.MethodGet, "/{name}/letters", "List the dead letters of a sink"), a.listLetters)
	owed := op("list-owed", http.MethodGet, "/{name}/owed", "List the pending deliveries of a sink")
	owed.Description = "The next delivery comes first. For each source or query only the first pending delivery is listed; the others follow it in order."
	rest.Route(a.Server, owed, a.listOwed)
	attempts := op("list-attempts", http.MethodGet, "/{name}/attempts", "List the latest delivery attempts of a sink")
	attempts.Description = "Newest first. At most fifty attempts are kept, since the daemon started."
	rest.Route(a.Server, attempts, a.listAttempts)
	replay := op("replay-sink", http.MethodPost, "/{name}/replay", "Deliver again")
	replay.Description = "Without a body, all dead letters are delivered again; otherwise the given ones, or everything after a cursor or since a time. Events keep their IDs. With dry_run they are only counted."
	rest.Route(a.Server, replay, a.replaySink)
}

type sinkPath struct {
	Name string `path:"name" maxLength:"64" doc:"Name of the sink"`
}

// errNoSinks means that nothing is delivered here.
func errNoSinks() error { return rest.NewProblem(http.StatusNotFound, "sinks are not available here") }

// sinkStates returns the state of every sink.
func sinkStates(ctx context.Context, from *delivery.Sinks) (states []client.Sink, err error) {
	if from == nil {
		return nil, nil
	}
	all, err := from.List(ctx)
	for _, st := range all {
		states = append(states, sinkState(st))
	}
	return states, err
}

// sinkState returns the state of a sink.
func sinkState(st delivery.State) client.Sink {
	told := client.Sink{
		Name: st.Sink.Name, Kind: st.Sink.Kind, State: client.SinkOK, Place: st.Place, Behind: st.Behind, Open: st.Open, Dead: st.Dead,
		Failing: rest.UTC(st.Condition.Failing), Held: rest.UTC(st.Condition.Held), Error: st.Condition.Err,
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
		NewSink: newSinkOf(sinks.Shown(st.Sink)), Standing: sinkState(st),
	}
}

// newSinkOf returns what is set of a sink.
func newSinkOf(s sinks.Sink) client.NewSink {
	values := func(of map[string]profile.Value) map[string]string {
		if len(of) == 0 {
			return nil
		}
		told := map[string]string{}
		for name, v := range of {
			told[name] = string(v)
		}
		return told
	}
	described := client.NewSink{
		Kind: s.Kind, URL: string(s.URL), Tags: s.Tags, Sources: s.Sources, Template: s.Template,
		Settings: values(s.Settings), Headers: values(s.Headers), Paused: s.Paused,
	}
	for _, id := range s.Queries {
		described.Queries = append(described.Queries, string(id))
	}
	return described
}

// sinkFrom returns the sink that was asked for.
func sinkFrom(name string, n client.NewSink) sinks.Sink {
	values := func(of map[string]string) map[string]profile.Value {
		taken := map[string]profile.Value{}
		for name, v := range of {
			if v != "" {
				taken[name] = profile.Value(v)
			}
		}
		return taken
	}
	s := sinks.Sink{
		Name: name, Kind: n.Kind, URL: profile.Value(n.URL), Tags: n.Tags, Sources: n.Sources, Template: n.Template,
		Settings: values(n.Settings), Headers: values(n.Headers), Paused: n.Paused, Origin: freshet.FromAPI,
	}
	for _, id := range n.Queries {
		s.Queries = append(s.Queries, queries.ID(id))
	}
	return s
}

func (a *sinkAPI) listSinks(ctx context.Context, in *rest.Paging) (*rest.Body[client.SinkList], error) {
	list := client.SinkList{Items: []client.SinkInfo{}}
	if a.sinks == nil {
		return rest.Reply(list), nil
	}
	all, err := a.sinks.List(ctx)
	if err != nil {
		return nil, err
	}
	all, list.Next = rest.Page(*in, all, func(st delivery.State) string { return st.Sink.Name })
	for _, st := range all {
		list.Items = append(list.Items, infoOf(st))
	}
	return rest.Reply(list), nil
}

// A taggedSink is a sink with the tag of its revision.
type taggedSink struct {
	ETag string `header:"ETag"`
	Body client.SinkInfo
}

func (a *sinkAPI) getSink(ctx context.Context, in *sinkPath) (*taggedSink, error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	st, err := a.sinks.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &taggedSink{rest.RevisionTag(st.Sink.Revision), infoOf(st)}, nil
}

type putSinkInput struct {
	Name    string       `path:"name" maxLength:"64" doc:"Name of the sink"`
	New     bool         `query:"new" doc:"Add it only if there is no sink of this name"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Replace it only if it still has this ETag; * means any"`
	Body    client.NewSink
}

func (a *sinkAPI) putSink(ctx context.Context, in *putSinkInput) (*taggedSink, error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	to, revision := sinkFrom(in.Name, in.Body), int64(0)
	st, err := a.sinks.Get(ctx, in.Name)
	known := err == nil
	if known && !in.New {
		if err := in.IfMatch.Check("sink", in.Name, st.Sink.Revision); err != nil {
			return nil, err
		}
		to = sinks.Restore(to, st.Sink)
		if in.IfMatch != "" {
			revision = st.Sink.Revision
		}
	}
	if err := a.sinks.Put(ctx, to, revision, in.New); err != nil {
		return nil, err
	}
	if !known {
		return a.changedSink(ctx, nil, in.Name)
	}
	return a.changedSink(ctx, &st, in.Name)
}

// changedSink returns a sink that was changed, and says so to the audit log.
func (a *sinkAPI) changedSink(ctx context.Context, before *delivery.State, name string) (*taggedSink, error) {
	now, err := a.getSink(ctx, &sinkPath{name})
	if err != nil {
		return nil, err
	}
	var was map[string]any
	if before != nil {
		was = rest.Fields(infoOf(*before).NewSink)
	}
	rest.Changed(ctx, was, rest.Fields(now.Body.NewSink))
	return now, nil
}

type editSinkInput struct {
	Name    string       `path:"name" maxLength:"64" doc:"Name of the sink"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Edit only if the sink still has this ETag; * means any"`
	Body    rest.Object[sinkEdit]
}

func (a *sinkAPI) editSink(ctx context.Context, in *editSinkInput) (*taggedSink, error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	st, err := a.sinks.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.Check("sink", in.Name, st.Sink.Revision); err != nil {
		return nil, err
	}
	edited, err := rest.Merge(newSinkOf(sinks.Shown(st.Sink)), in.Body)
	if err != nil {
		return nil, rest.Invalid("body", err.Error(), nil)
	}
	to := sinks.Restore(sinkFrom(in.Name, edited), st.Sink)
	if err := a.sinks.Put(ctx, to, st.Sink.Revision, false); err != nil {
		return nil, err
	}
	return a.changedSink(ctx, &st, in.Name)
}

type removeSinkInput struct {
	Name    string       `path:"name" maxLength:"64" doc:"Name of the sink"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Remove only if the sink still has this ETag; * means any"`
}

func (a *sinkAPI) removeSink(ctx context.Context, in *removeSinkInput) (*struct{}, error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	a.Edits.Lock() // no edit comes between the look and the removal
	defer a.Edits.Unlock()
	st, err := a.sinks.Get(ctx, in.Name)
	switch {
	case err == nil:
		if err := in.IfMatch.Check("sink", in.Name, st.Sink.Revision); err != nil {
			return nil, err
		}
		rest.Changed(ctx, rest.Fields(infoOf(st).NewSink), nil)
	case in.IfMatch != "":
		return nil, err
	}
	return nil, a.sinks.Remove(ctx, in.Name)
}

type testSinkInput struct {
	Name    string `path:"name" maxLength:"64" doc:"Name of the sink"`
	Change  string `query:"change" doc:"Cursor of a change to send instead of a sample"`
	Preview bool   `query:"preview" doc:"Show the message and send nothing"`
}

func (a *sinkAPI) testSink(ctx context.Context, in *testSinkInput) (*rest.Body[client.SinkTrial], error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	place, err := rest.ParsePlace("query.change", in.Change)
	if err != nil {
		return nil, err
	}
	at, err := a.FindChange(ctx, a.store, place)
	if err != nil {
		return nil, err
	}
	t, err := a.sinks.Test(ctx, in.Name, at, !in.Preview)
	if err != nil {
		return nil, err
	}
	return rest.Reply(trialOf(t, !in.Preview)), nil
}

func trialOf(t delivery.Trial, sent bool) client.SinkTrial {
	told := client.SinkTrial{ID: t.ID, Body: string(t.Body), Sent: sent, Accepted: sent && t.Err == nil, Answer: t.Answer}
	if t.Err != nil {
		told.Error, told.Hint = t.Err.Error(), freshet.HintOf(t.Err)
	}
	return told
}

func (a *sinkAPI) previewSink(ctx context.Context, in *rest.Body[client.NewSink]) (*rest.Body[client.SinkTrial], error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	t, err := a.sinks.Preview(ctx, sinkFrom("preview", in.Body), 0)
	if err != nil {
		return nil, err
	}
	return rest.Reply(trialOf(t, false)), nil
}

func listKinds(context.Context, *struct{}) (*rest.Body[client.SinkKindList], error) {
	list := client.SinkKindList{Items: []client.SinkKind{}}
	for _, k := range sinks.Kinds() {
		told := client.SinkKind{Name: k.Name, About: k.About, URL: k.URL, Template: k.Words, Settings: []client.SinkSetting{}}
		for _, s := range k.Settings {
			told.Settings = append(told.Settings, client.SinkSetting(s))
		}
		list.Items = append(list.Items, told)
	}
	return rest.Reply(list), nil
}

type listLettersInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	After string `query:"after" doc:"Continue after this: the next of the previous page"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"At most this many dead letters"`
}

func (a *sinkAPI) listLetters(ctx context.Context, in *listLettersInput) (*rest.Body[client.DeadLetterPage], error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	after, err := a.letterAt(ctx, in.After)
	if err != nil {
		return nil, err
	}
	letters, err := a.sinks.DeadLetters(ctx, in.Name, after, in.Limit)
	if err != nil {
		return nil, err
	}
	page := client.DeadLetterPage{Items: []client.DeadLetter{}, Next: in.After}
	title := titles(ctx, a.store)
	for _, l := range letters {
		letter, err := letterOf(l, title)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, letter)
		if p := l.Batch; p.Cursor > 0 {
			page.Next = fmt.Sprintf("%s%d", batchMark, p.Cursor)
		} else {
			page.Next = l.Change.Place().String()
		}
	}
	return rest.Reply(page), nil
}

// letterOf returns a delivery as the API tells it.
func letterOf(d sinks.PendingDelivery, title func(*client.Change) error) (client.DeadLetter, error) {
	told := client.DeadLetter{ID: d.ID(), Attempts: d.Attempts, Error: d.Err, Body: string(d.Body)}
	if p := d.Batch; p.Cursor > 0 {
		told.Query, told.First, told.Last, told.At = string(p.Query), p.From, p.To, rest.UTC(p.At)
	} else {
		change := sinks.ChangeOf(d.Change)
		told.Change, told.At = &change, change.Before
	}
	return told, title(told.Change)
}

// batchMark tells where a list of letters goes on among those of queries.
const batchMark = "q"

// letterAt returns where a list of letters goes on.
func (a *sinkAPI) letterAt(ctx context.Context, after string) (at sinks.Position, err error) {
	if number, ok := strings.CutPrefix(after, batchMark); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return at, rest.Invalid("query.after", "is not what a page of letters had as next", after)
		}
		return sinks.Position{Stream: sinks.StreamBatches, Cursor: freshet.Cursor(n)}, nil
	}
	place, err := rest.ParsePlace("query.after", after)
	if err != nil {
		return at, err
	}
	at.Cursor, err = a.FindChange(ctx, a.store, place)
	return at, err
}

type replaySinkInput struct {
	Name string             `path:"name" maxLength:"64" doc:"Name of the sink"`
	Body *client.SinkReplay `required:"false"`
}

func (a *sinkAPI) replaySink(ctx context.Context, in *replaySinkInput) (*rest.Body[client.SinkReplayed], error) {
	if a.sinks == nil {
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
		rest.DryRun(ctx)
		n, more, err := a.sinks.CountReplay(ctx, in.Name, what)
		if err != nil {
			return nil, err
		}
		st, err := a.sinks.Get(ctx, in.Name)
		return rest.Reply(client.SinkReplayed{Deliveries: n, More: more, Place: st.Place, DryRun: true}), err
	}
	n, err := a.sinks.Replay(ctx, in.Name, what)
	if err != nil {
		return nil, err
	}
	st, err := a.sinks.Get(ctx, in.Name)
	return rest.Reply(client.SinkReplayed{Deliveries: n, Place: st.Place}), err
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
		return what, rest.Invalid("body", "set only one of letters, after and since", nil)
	}
	what.Since, what.Letters = r.Since, r.Letters
	if r.After != "" {
		place := freshet.Place{}
		if r.After != "0" {
			if place, err = rest.ParsePlace("body.after", r.After); err != nil {
				return what, err
			}
		}
		what.After = &place
	}
	return what, nil
}

type listOwedInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"At most this many deliveries"`

	Offset int `query:"offset" minimum:"0" maximum:"1000000" doc:"Skip this many"`
}

func (a *sinkAPI) listOwed(ctx context.Context, in *listOwedInput) (*rest.Body[client.PendingList], error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	debts, err := a.sinks.Pending(ctx, in.Name, in.Offset+in.Limit+1)
	if err != nil {
		return nil, err
	}
	list := client.PendingList{Items: []client.PendingDelivery{}}
	debts = debts[min(in.Offset, len(debts)):]
	if len(debts) > in.Limit {
		next := in.Offset + in.Limit
		debts, list.Next = debts[:in.Limit], &next
	}
	title := titles(ctx, a.store)
	for _, d := range debts {
		letter, err := letterOf(d, title)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, client.PendingDelivery{DeadLetter: letter, Next: rest.UTC(d.Due)})
	}
	return rest.Reply(list), nil
}

type listAttemptsInput struct {
	Name  string `path:"name" maxLength:"64" doc:"Name of the sink"`
	After string `query:"after" maxLength:"200" doc:"Continue after this: the next of the previous page"`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"At most this many"`
}

func (a *sinkAPI) listAttempts(ctx context.Context, in *listAttemptsInput) (*rest.Body[client.AttemptList], error) {
	if a.sinks == nil {
		return nil, errNoSinks()
	}
	made, err := a.sinks.Attempts(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	list := client.AttemptList{Items: []client.Attempt{}}
	made, list.Next = rest.Page(rest.Paging{After: in.After, Limit: in.Limit}, made, func(d delivery.Delivery) string {
		return fmt.Sprintf("%020d-%s-%d", math.MaxInt64-d.Ended.UnixNano(), d.ID, d.Attempt)
	})
	for _, d := range made {
		told := client.Attempt{ID: d.ID, At: rest.UTC(d.Ended), Node: d.Node, Attempt: d.Attempt, Took: float64(d.Took.Microseconds()) / 1000, Accepted: d.Err == nil, GivenUp: d.GivenUp}
		if d.Err != nil {
			told.Error, told.Hint = d.Err.Error(), freshet.HintOf(d.Err)
		}
		list.Items = append(list.Items, told)
	}
	return rest.Reply(list), nil
}

// A sinkEdit is what can be edited of a sink, with a schema of its own.
type sinkEdit client.NewSink

// TransformSchema implements [huma.SchemaTransformer].
func (sinkEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return rest.Nullable(r, s)
}

func (a *sinkAPI) gauges(ctx context.Context, set setGauge) {
	states, err := sinkStates(ctx, a.sinks)
	if err != nil {
		a.Log.Error("cannot collect metrics", "err", err)
	}
	pending := gauge("freshet_deliveries_owed", "Deliveries by sink and state: open, or dead if given up.", "sink", "state")
	state := gauge("freshet_sink_state", "1 for the state that a sink is in: ok, failing, held, gone, paused or broken.", "sink", "kind", "state")
	for _, s := range states {
		set(state, 1, s.Name, s.Kind, string(s.State))
		set(pending, float64(s.Open), s.Name, "open")
		set(pending, float64(s.Dead), s.Name, "dead")
	}
}
