package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	stdmail "net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/store"
	"freshet/internal/units"
)

// alertAPI makes alerts: a source, a query about it and the sink that follows the query, in one
// transaction.
type alertAPI struct {
	sources  *sourceAPI
	queries  *queryAPI
	settings *SettingsConfig // nil means none
}

func (a *alertAPI) routes() {
	rest.Route(a.sources.Server, huma.Operation{
		OperationID: "add-alert", Method: http.MethodPost, Path: "/api/v1/alerts", Tags: []string{"queries"},
		Summary: "Add an alert about a source, or change one", DefaultStatus: http.StatusCreated,
		Description: "Adds or changes the source, adds or changes the query and has the sink follow it, all or nothing. Short forms of conditions are translated into CEL.",
	}, a.addAlert)
	rest.Route(a.sources.Server, huma.Operation{
		OperationID: "preview-alert", Method: http.MethodPost, Path: "/api/v1/alerts/preview", Tags: []string{"queries"},
		Summary: "Show what an alert would make", DefaultStatus: http.StatusOK,
		Description: "A short form is shown in CEL, and a mistake is answered as when the alert is added. Nothing is made.",
	}, a.previewAlert)
	rest.Route(a.sources.Server, huma.Operation{
		OperationID: "test-alert", Method: http.MethodPost, Path: "/api/v1/alerts/test", Tags: []string{"queries"},
		Summary: "Send a sample to where an alert would be sent", DefaultStatus: http.StatusOK,
		Description: "A new sink is not added. The sample is not part of any log and is not retried.",
	}, a.testAlert)
}

func (a *alertAPI) testAlert(ctx context.Context, in *rest.Body[client.AlertTest]) (*rest.Body[client.SinkTrial], error) {
	p := alert{query: queries.Query{ID: "sample"}}
	if err := a.planSink(ctx, client.NewAlert{To: in.Body.To}, &p); err != nil {
		return nil, err
	}
	if p.sink.Name == "" {
		return nil, rest.Invalid("body.to", "is missing", nil)
	}
	t, err := a.queries.sinks.Sample(ctx, p.sink)
	if err != nil {
		return nil, err
	}
	return rest.Reply(trialOf(t, true)), nil
}

// An alert is the source, query and sink that a client.NewAlert asks for.
type alert struct {
	tag    string // of the sources that it is about, if they are several
	source freshet.Source
	title  string // of the page, if it has been seen
	known  bool   // the source is watched already
	edited bool   // the source differs from what is stored
	before queries.Query
	query  queries.Query
	words  string
	notes  []string
	sink   sinks.Sink // without a name if none is to be changed
	fresh  bool       // it is a new sink
	told   string     // name of a sink that gets the matches
}

func (a *alertAPI) addAlert(ctx context.Context, in *rest.Body[client.NewAlert]) (*rest.Body[client.Alert], error) {
	a.sources.Edits.Lock() // nobody edits the sink or the query meanwhile
	defer a.sources.Edits.Unlock()
	plan, err := a.plan(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	made := plan.shown()
	rest.RecordAnswer(ctx, func(added freshet.Source) (string, any) { return sourcePath(added.ID), nil })
	if err := a.write(ctx, &plan); err != nil {
		return nil, err
	}
	rest.Changed(ctx, nil, rest.Fields(map[string]any{"query": plan.query.ID, "when": plan.query.When, "source": plan.source.ID, "sink": made.Sink}))
	a.queries.queriesEdited()
	q, err := a.queries.queries.Query(ctx, plan.query.ID)
	if err != nil {
		return nil, err
	}
	made.Query = a.queries.queryOf(q, plan.notes)
	if plan.tag == "" {
		w, err := rest.FindSource(ctx, a.sources.store, plan.source.ID)
		if err != nil {
			return nil, err
		}
		shown := sourceOf(w)
		made.Source = &shown
	}
	return rest.Reply(made), nil
}

func (a *alertAPI) previewAlert(ctx context.Context, in *rest.Body[client.NewAlert]) (*rest.Body[client.Alert], error) {
	plan, err := a.plan(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	return rest.Reply(plan.shown()), nil
}

// shown returns the alert for the client.
func (p alert) shown() client.Alert {
	return client.Alert{Query: client.Query{NewQuery: queries.ToClient(p.query), Warnings: p.notes}, Sink: p.told, Words: p.words}
}

// plan works out the source, query and sink of an alert, and refuses an invalid one.
func (a *alertAPI) plan(ctx context.Context, n client.NewAlert) (p alert, err error) {
	if err := a.planSource(ctx, n, &p); err != nil {
		return p, err
	}
	if err := a.planQuery(ctx, n, &p); err != nil {
		return p, err
	}
	return p, a.planSink(ctx, n, &p)
}

func (a *alertAPI) planSource(ctx context.Context, n client.NewAlert, p *alert) error {
	switch {
	case n.Tag != "" && (n.Watch != nil || n.Source != "" || len(n.Edit) > 0):
		return rest.Invalid("body.tag", "cannot be used together with watch, source or edit", n.Tag)
	case n.Tag != "":
		p.tag, p.known = n.Tag, true
		return nil
	case n.Watch != nil && (n.Source != "" || len(n.Edit) > 0):
		return rest.Invalid("body.watch", "cannot be used together with source or edit", nil)
	case n.Watch != nil:
		object, err := asObject(n.Watch)
		if err == nil {
			p.source, err = freshet.ParseDocument(object)
		}
		if err != nil {
			return err
		}
		p.source.Origin = freshet.FromAPI
	default:
		w, err := rest.FindSource(ctx, a.sources.store, n.Source)
		if err != nil {
			return err
		}
		p.source, p.known, p.title = w.Source, true, w.Status.Head.Title
	}
	var err error
	was := p.source
	if len(n.Edit) > 0 {
		if p.source, err = was.Patch(n.Edit); err != nil {
			return err
		}
		if p.source.URL == mask.URL(was.URL) { // as it was shown, which leaves it as it is
			p.source.URL = was.URL
		}
		p.edited = true
	}
	if name := queries.ParseShortForm(n.When).Field; slices.Contains(productFields, name) {
		if _, known := p.source.Recipe.Extract[name]; !known {
			p.source.Recipe.Extract = maps.Clone(p.source.Recipe.Extract)
			if p.source.Recipe.Extract == nil {
				p.source.Recipe.Extract = reading.Extracts{}
			}
			how := reading.Extract{Product: name}
			if name == "price" {
				how.As = reading.AsNumber
			}
			p.source.Recipe.Extract[name] = how
			p.edited = true
		}
	}
	if p.source, err = a.sources.admit(p.source); err != nil {
		return err
	}
	if p.known {
		return a.sources.judge(p.source, &was)
	}
	return a.sources.judge(p.source, nil)
}

// productFields are the values that shops state for programs. A condition on one needs no extract.
var productFields = []string{"price", "currency", "availability"}

// asObject returns a definition as the object that it is in JSON.
func asObject(v any) (object rest.Object[client.NewSource], err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	return object, err
}

func (a *alertAPI) planQuery(ctx context.Context, n client.NewAlert, p *alert) (err error) {
	short := queries.ParseShortForm(n.When)
	p.words = short.Words
	schema := &queries.Schema{}
	schema.Add(p.source.Recipe)
	if p.tag != "" {
		if schema, err = queries.SchemaOf(ctx, a.queries.store, queries.Scope{Tags: []string{p.tag}}); err != nil {
			return err
		}
	}
	if err := short.Lacks(slices.Sorted(maps.Keys(schema.Fields))); err != nil {
		return told(err)
	}
	q := queries.Query{Origin: freshet.FromAPI, Created: a.queries.Now(), From: -1}
	if n.ID != "" {
		if p.before, err = a.queries.queries.Query(ctx, queries.ID(n.ID)); err != nil {
			return err
		}
		if p.before.Origin == freshet.FromFile {
			return queryInFile(p.before.ID)
		}
		q = p.before
	}
	if n.Trigger == "" && q.Trigger == queries.First && short.Trigger == queries.Becomes {
		n.Trigger = string(q.Trigger)
	}
	q.When, q.Value, q.Trigger = short.When, short.Value, cmp.Or(queries.Trigger(n.Trigger), short.Trigger)
	title := cmp.Or(p.source.Name, p.title, p.tag, string(p.source.ID), addressOf(p.source.URL))
	q.Name = cmp.Or(n.Name, q.Name, fmt.Sprintf("%s: %s", title, cmp.Or(short.Words, "condition")))
	switch {
	case p.tag != "":
		q.Scope = queries.Scope{Tags: []string{p.tag}}
	case p.source.ID != "":
		q.Scope = queries.Scope{Sources: []freshet.SourceID{p.source.ID}}
	default:
		q.Scope = queries.Scope{Tags: []string{"new"}} // until the source has its id
	}
	if q, err = paced(q, n); err != nil {
		return err
	}
	report, err := queries.Check(q, schema)
	if m, ok := errors.AsType[*queries.Mistake](err); ok && m.Field == "window.lasting" {
		q.Window.For, q.Window.Lasting = q.Window.Lasting, 0
		report, err = queries.Check(q, schema)
	}
	if err != nil {
		return told(err)
	}
	p.query, p.notes = report.Query, report.Warnings
	if p.source.ID == "" && p.tag == "" {
		p.query.Scope = queries.Scope{}
	}
	if p.query.ID == "" {
		p.query.ID, err = a.freeQuery(ctx, p.query.Name)
	}
	return err
}

// paced takes over when an alert is sent: what must last, what is sent again and what is sent together. What the
// alert does not name stays.
func paced(q queries.Query, n client.NewAlert) (queries.Query, error) {
	if n.For != "" {
		d, err := units.ParseDuration(n.For)
		if err != nil {
			return q, rest.Invalid("body.for", err.Error(), n.For)
		}
		q.Window.For, q.Window.Lasting = 0, d
	}
	if n.Repeat == "0" {
		q.Repeat = 0
	} else if n.Repeat != "" {
		if err := q.Repeat.UnmarshalText([]byte(n.Repeat)); err != nil {
			return q, told(err)
		}
	}
	if n.Digest == "never" {
		q.Digest = queries.Digest{}
	} else if n.Digest != "" {
		text, err := json.Marshal(n.Digest)
		if err == nil {
			err = q.Digest.UnmarshalJSON(text)
		}
		if err != nil {
			return q, told(err)
		}
	}
	return q, nil
}

// addressOf returns the host and the path of a URL.
func addressOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return mask.URL(raw)
	}
	return strings.TrimSuffix(u.Hostname()+u.Path, "/")
}

// freeQuery returns an id for a query that no other has.
func (a *alertAPI) freeQuery(ctx context.Context, name string) (queries.ID, error) {
	all, err := a.queries.queries.Queries(ctx)
	base := queries.IDFor(name)
	id := base
	for n := 2; slices.ContainsFunc(all, func(q queries.Query) bool { return q.ID == id }); n++ {
		id = queries.ID(fmt.Sprintf("%s-%d", base, n))
	}
	return id, err
}

// planSink finds the sink for the alert, or makes one.
func (a *alertAPI) planSink(ctx context.Context, n client.NewAlert, p *alert) error {
	if a.queries.sinks == nil {
		return errNoSinks()
	}
	all, err := a.queries.sinks.List(ctx)
	if err != nil {
		return err
	}
	if n.To == "" {
		if i := slices.IndexFunc(all, func(st delivery.State) bool { return slices.Contains(st.Sink.Queries, p.query.ID) }); i >= 0 {
			p.told = all[i].Sink.Name
		}
		return nil
	}
	c := channels{all, a.settings.value("mail.server") != ""}
	if p.sink, p.fresh, err = c.find(n.To); err != nil {
		return err
	}
	if p.sink.Queries = append(slices.Clone(p.sink.Queries), p.query.ID); !p.fresh && slices.Contains(p.sink.Queries[:len(p.sink.Queries)-1], p.query.ID) {
		p.told, p.sink = p.sink.Name, sinks.Sink{} // it follows the query already
		return nil
	}
	p.told = p.sink.Name
	return nil
}

// channels are the sinks that there are, and whether there is a mail server for new ones.
type channels struct {
	all  []delivery.State
	mail bool
}

// find returns the sink that a name, an e-mail address or a URL means, and whether it is a new one. A sink
// that gets changes, or that the configuration file lists, stays as it is: the alert gets one like it.
func (c channels) find(to string) (s sinks.Sink, fresh bool, err error) {
	if i := slices.IndexFunc(c.all, func(st delivery.State) bool { return st.Sink.Name == to }); i >= 0 {
		return c.forQueries(c.all[i].Sink, to+"-alerts")
	}
	if scheme, _, ok := strings.Cut(to, ":"); ok && scheme != "mailto" {
		name := c.free(string(queries.IDFor(scheme)))
		if u, err := url.Parse(to); err == nil && (scheme == "https" || scheme == "http") {
			name = c.free(string(queries.IDFor(u.Hostname())))
		}
		for _, st := range c.all {
			if string(st.Sink.URL) == to {
				return c.forQueries(st.Sink, st.Sink.Name+"-alerts")
			}
		}
		return sinks.Sink{Name: name, URL: profile.Value(to), Origin: freshet.FromAPI}, true, nil
	}
	address, err := stdmail.ParseAddress(strings.TrimPrefix(to, "mailto:"))
	if err != nil {
		p := rest.Invalid("body.to", fmt.Sprintf("there is no sink %.80q, and it is neither an e-mail address nor a URL", to), to)
		p.Hint = "freshet sink list shows the sinks; a new one is named by its URL, such as ntfy://ntfy.sh/my-topic"
		return s, false, p
	}
	return c.byMail(address.Address)
}

// forQueries returns a sink that can get matches: the sink itself, or one of a name that is like it.
func (c channels) forQueries(s sinks.Sink, name string) (sinks.Sink, bool, error) {
	if len(s.Queries) > 0 && s.Origin != freshet.FromFile {
		return s, false, nil
	}
	if i := slices.IndexFunc(c.all, func(st delivery.State) bool { return st.Sink.Name == name }); i >= 0 && len(c.all[i].Sink.Queries) > 0 && c.all[i].Sink.Origin != freshet.FromFile {
		return c.all[i].Sink, false, nil
	}
	twin := s
	twin.Name, twin.Origin, twin.Revision, twin.Paused = c.free(name), freshet.FromAPI, 0, false
	twin.Queries, twin.Tags, twin.Sources = nil, nil, nil
	return twin, true, nil
}

// byMail returns the sink for an e-mail address alone.
func (c channels) byMail(address string) (s sinks.Sink, fresh bool, err error) {
	for _, st := range c.all {
		if st.Sink.Kind == "email" && string(st.Sink.Settings["to"]) == address && st.Sink.Template == "" {
			return c.forQueries(st.Sink, st.Sink.Name+"-alerts")
		}
	}
	if !c.mail {
		p := rest.Invalid("body.to", "an e-mail needs a mail server, and none is set", address)
		p.Hint = "freshet settings mail.server=smtp://mail.example:587 sets it, or Settings > Notifications on the page"
		return s, false, p
	}
	return sinks.Sink{
		Name: c.free("mail-" + string(queries.IDFor(address))), Kind: "email", Settings: map[string]profile.Value{"to": profile.Value(address)}, Origin: freshet.FromAPI,
	}, true, nil
}

// free returns a name that no sink has.
func (c channels) free(base string) string {
	base = base[:min(len(base), 50)]
	name := base
	for n := 2; slices.ContainsFunc(c.all, func(st delivery.State) bool { return st.Sink.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// write makes all of an alert in one transaction, and completes it by the ID of its source.
func (a *alertAPI) write(ctx context.Context, p *alert) error {
	if p.sink.Name == "" {
		return a.writeWith(ctx, p, nil)
	}
	return a.queries.sinks.PutWith(ctx, p.sink, p.fresh, func(sealed []byte) (revision int64, err error) {
		err = a.writeWith(ctx, p, func(tx *store.Tx) error {
			revision, err = sinks.PutIn(tx, p.sink.Name, sealed, 0)
			return err
		})
		return revision, err
	})
}

// writeWith writes the source and the query of an alert, and with them the sink.
func (a *alertAPI) writeWith(ctx context.Context, p *alert, sink func(*store.Tx) error) (err error) {
	ctx, _ = store.WithRider(ctx, func(tx *store.Tx, result any) error {
		if added, ok := result.(freshet.Source); ok {
			p.source = added
		}
		if !p.known || p.edited { // or the query itself is what is written
			put := queries.AddIn
			if p.before.ID != "" {
				put = queries.UpdateIn
			}
			if p.tag == "" {
				p.query.Scope = queries.Scope{Sources: []freshet.SourceID{p.source.ID}}
			}
			if _, err := put(tx, p.query); err != nil {
				return err
			}
		}
		if sink == nil {
			return nil
		}
		return sink(tx)
	})
	switch {
	case !p.known:
		p.source, err = a.sources.daemon.AddSource(ctx, p.source)
	case p.edited:
		_, err = a.sources.daemon.UpdateSource(ctx, p.source)
	case p.before.ID != "":
		_, err = a.queries.queries.UpdateQuery(ctx, p.query)
	default:
		_, err = a.queries.queries.AddQuery(ctx, p.query)
	}
	return err
}
