package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/sinks"
)

// A sourceStore is what is stored of sources, and of their last polls and versions.
type sourceStore interface {
	rest.SourceReader
	noiseStore
	OutcomeEpochs(ctx context.Context) (freshet.Epochs, error)
	Sources(ctx context.Context) iter.Seq2[freshet.SourceWithStatus, error]
	RemovedSources(ctx context.Context, url string) iter.Seq2[freshet.SourceWithStatus, error]
	ListSources(ctx context.Context, q freshet.SourceQuery) (freshet.SourceList, error)
	NamedSources(ctx context.Context, ids []freshet.SourceID, removed bool) ([]freshet.SourceWithStatus, error)
	SourceIDs(ctx context.Context, f freshet.SourceFilter) ([]freshet.SourceID, error)
	CountSources(ctx context.Context) (freshet.SourceCounts, error)
	SourcesAt(ctx context.Context, urls []string) ([]freshet.SourceWithStatus, error)
	LastChange(ctx context.Context) (freshet.Cursor, error)
	FirstChange(ctx context.Context, since time.Time) (freshet.Cursor, error)
	ChangesByDay(ctx context.Context, after, upto freshet.Cursor, since time.Time) ([]freshet.DayCount, error)
}

// sourceAPI serves sources: what is watched, and how it is doing.
type sourceAPI struct {
	*rest.Server
	admission
	store  sourceStore
	daemon *daemon.Daemon

	busy     busyLoop
	week     week
	rankings sync.Map // the last *ranking of each sort, by its name
	bulks    bulks
}

func (a *sourceAPI) routes() {
	a.routeSources()
	a.routeFacets()
	a.routeBulk()
	a.routeMany()
	a.routePolls()
}

func (a *sourceAPI) routeSources() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-sources", Method: http.MethodGet, Path: "/api/v1/sources", Tags: tags,
		Summary: "List the watched sources",
	}, a.listSources)
	rest.Route(a.Server, huma.Operation{
		OperationID: "add-source", Method: http.MethodPost, Path: "/api/v1/sources", Tags: tags,
		Summary: "Watch a source", DefaultStatus: http.StatusCreated,
	}, a.addSource)
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-source", Method: http.MethodGet, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Show a source with its status",
	}, a.getSource)
	rest.Route(a.Server, huma.Operation{
		OperationID: "edit-source", Method: http.MethodPatch, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Change a source",
	}, a.editSource)
	rest.Route(a.Server, huma.Operation{
		OperationID: "remove-source", Method: http.MethodDelete, Path: "/api/v1/sources/{id}", Tags: tags,
		Summary: "Stop watching a source", DefaultStatus: http.StatusNoContent,
	}, a.removeSource)
	rest.Route(a.Server, huma.Operation{
		OperationID: "poll-source", Method: http.MethodPost, Path: "/api/v1/sources/{id}/poll", Tags: tags,
		Summary:     "Poll a source now, as soon as the budget and its host allow",
		Description: "Returns 200 with the result, or 202 with the reason for waiting if the poll has not finished when the wait is over. If the poll is known to take longer than the wait, the response comes at once.",
		Responses: map[string]*huma.Response{"202": {
			Description: "Accepted", Content: map[string]*huma.MediaType{"application/json": {
				Schema: rest.SchemaOf[client.PollAnswer](a.Server),
			}},
		}},
	}, a.pollSource)
	a.routeConfirm(tags)
}

type addedSource struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     client.Source
}

func (a *sourceAPI) addSource(ctx context.Context, in *rest.Body[rest.Object[client.NewSource]]) (*addedSource, error) {
	s, err := freshet.ParseDocument(in.Body)
	if err == nil {
		s, err = a.admit(s)
	}
	if err != nil {
		return nil, err
	}
	s.Origin = freshet.FromAPI
	if err := a.judge(s, nil); err != nil {
		return nil, err
	}
	earlier, err := a.earlier(ctx, s)
	if err != nil {
		return nil, err
	}
	rest.RecordAnswer(ctx, func(added freshet.Source) (string, any) { return sourcePath(added.ID), nil })
	if s, err = a.daemon.AddSource(ctx, s); err != nil {
		return nil, err
	}
	w, err := rest.FindSource(ctx, a.store, s.ID)
	if err != nil {
		return nil, err
	}
	rest.Changed(ctx, nil, auditOf(w.Source))
	added := sourceOf(w)
	if earlier != nil {
		earlier.Resumed = earlier.ID == s.ID
		added.Earlier = earlier
	}
	return &addedSource{Location: sourcePath(s.ID), ETag: rest.RevisionTag(w.Revision), Body: added}, nil
}

// sourcePath returns the URL path of a source.
func sourcePath(id freshet.SourceID) string { return "/api/v1/sources/" + string(id) }

// earlier returns the removed source that one to be added goes on from: the one with
// its ID. If there is none, it is the one that last watched the same page; nil if
// there is none either.
func (a *sourceAPI) earlier(ctx context.Context, s freshet.Source) (found *client.Earlier, err error) {
	if s.ID != "" {
		w, err := a.store.RemovedSource(ctx, s.ID)
		if !errors.Is(err, freshet.ErrNotFound) {
			return earlierOf(w), err
		}
	}
	var last freshet.SourceWithStatus
	for w, err := range a.store.RemovedSources(ctx, s.URL) {
		if err != nil {
			return nil, err
		}
		if w.Key() == s.Key() && !w.Created.Before(last.Created) {
			last, found = w, earlierOf(w)
		}
	}
	return found, nil
}

func earlierOf(w freshet.SourceWithStatus) *client.Earlier {
	return &client.Earlier{ID: w.ID, URL: mask.URL(w.URL), Version: w.Status.Head.Number}
}

type getSourceInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Reveal bool             `query:"reveal" doc:"Show the full URL, including parts that look like a secret"`

	Removed bool `query:"removed" doc:"Show a removed source whose history is kept"`
}

func (a *sourceAPI) getSource(ctx context.Context, in *getSourceInput) (*taggedSource, error) {
	read := a.store.Source
	if in.Removed {
		read = a.store.RemovedSource
	}
	w, err := read(ctx, in.ID)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	s, err := a.detailed(ctx, w)
	if err != nil {
		return nil, err
	}
	s.Body.Removed = in.Removed
	if in.Reveal {
		s.Body.URL, s.Body.Standing.MovedTo, s.Body.Standing.LandedOn = w.URL, w.Status.Moved.URL, w.Status.Landed
	}
	return s, nil
}

// detailed returns a source with what a list leaves out.
func (a *sourceAPI) detailed(ctx context.Context, w freshet.SourceWithStatus) (*taggedSource, error) {
	s := sourceOf(w)
	var err error
	if s.Standing.Noise, err = noiseOf(ctx, a.store, w); err != nil {
		return nil, err
	}
	if t := a.reading(ctx, w); t.blank || t.checksum {
		s.Standing.Remedies = t.remedies()
	}
	taught, err := a.daemon.Taught(ctx, w.ID)
	if err != nil {
		return nil, rest.OfSource(w.ID, err)
	}
	s.Standing.Taught = client.TaughtOf(taught)
	return &taggedSource{rest.RevisionTag(w.Revision), s}, nil
}

// A taggedSource is a source with the tag of its revision.
type taggedSource struct {
	ETag string `header:"ETag"`
	Body client.Source
}

type editSourceInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch rest.IfMatch     `header:"If-Match" doc:"Edit only if the source still has this ETag; * means any"`
	Body    rest.Object[sourceEdit]
}

// editTries is how often an edit without a revision is retried when others edit the
// same source.
const editTries = 10

func (a *sourceAPI) editSource(ctx context.Context, in *editSourceInput) (*taggedSource, error) {
	var err error
	for range editTries {
		var w freshet.SourceWithStatus
		if w, err = a.editOnce(ctx, in); err == nil {
			return a.detailed(ctx, w)
		}
		if in.IfMatch != "" || !errors.Is(err, freshet.ErrStale) {
			break
		}
	}
	return nil, err
}

// editOnce applies the patch to the source as it is, and returns the result. After a concurrent
// edit it changes nothing.
func (a *sourceAPI) editOnce(ctx context.Context, in *editSourceInput) (w freshet.SourceWithStatus, err error) {
	if w, err = a.store.Source(ctx, in.ID); err != nil {
		return w, rest.OfSource(in.ID, err)
	}
	if err := in.IfMatch.Check("", string(w.ID), w.Revision); err != nil {
		return w, err
	}
	s, err := w.Source.Patch(in.Body)
	if err != nil {
		return w, err
	}
	if s.URL == mask.URL(w.URL) { // as it was shown, which leaves it as it is
		s.URL = w.URL
	}
	if s, err = a.admit(s); err != nil {
		return w, err
	}
	if err := a.judge(s, &w.Source); err != nil {
		return w, err
	}
	rest.Changed(ctx, auditOf(w.Source), auditOf(s))
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	if w, err = a.daemon.UpdateSource(ctx, s); err != nil {
		err = rest.OfSource(in.ID, err)
	}
	return w, err
}

// auditOf returns the definition of a source for the audit log.
func auditOf(s freshet.Source) map[string]any {
	s.URL = mask.URL(s.URL)
	return s.Document()
}

// reading says whether a source in which nothing else is wrong has hardly any text without JavaScript, or none
// at all.
func (a *sourceAPI) reading(ctx context.Context, w freshet.SourceWithStatus) trouble {
	t := trouble{source: w.Source}
	if w.Status.Head.Number == 0 || len(remediesOf(w)) > 0 {
		return t
	}
	v, err := a.store.Version(ctx, w.ID, w.Status.Head.Number)
	mayBeBlank := err == nil && !w.Recipe.Render.On && extract.MayNeedScript(v.MediaType, v.TextBytes)
	if err != nil || !mayBeBlank && v.TextBytes > maxChecksumText || rest.Hold(ctx, 2*v.RawBytes) != nil {
		return t
	}
	text, err := a.store.Text(ctx, w.ID, v.Number)
	if err != nil {
		return t
	}
	if t.checksum = extract.IsChecksum(text); t.checksum || !mayBeBlank {
		return t
	}
	raw, err := a.store.Raw(ctx, w.ID, v.Number)
	t.blank = err == nil && extract.NeedsScript(v.MediaType, raw.Body, text)
	return t
}

// maxChecksumText is the length of the longest text that may be a checksum.
const maxChecksumText = 256

type removeSourceInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	IfMatch rest.IfMatch     `header:"If-Match" doc:"Remove only if the source still has this ETag; * means any"`
	Purge   bool             `query:"purge" doc:"Also delete its history, for good"`
}

func (a *sourceAPI) removeSource(ctx context.Context, in *removeSourceInput) (*struct{}, error) {
	if in.IfMatch != "" {
		a.Edits.Lock() // no edit comes between the look and the removal
		defer a.Edits.Unlock()
	}
	w, err := rest.FindSource(ctx, a.store, in.ID)
	switch {
	case err == nil:
		if err := in.IfMatch.Check("", string(w.ID), w.Revision); err != nil {
			return nil, err
		}
		rest.Changed(ctx, auditOf(w.Source), nil)
	case in.IfMatch != "":
		return nil, err
	}
	if err := a.daemon.RemoveSource(ctx, in.ID, in.Purge); err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	return nil, nil
}

type pollSourceInput struct {
	ID    freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Wait  string           `query:"wait" default:"30s" doc:"How long to wait for the poll, such as 10s; 0 means not to wait"`
	First bool             `query:"first" doc:"If the source was polled already, return how its latest poll ended; the first poll is not made twice"`
	Now   bool             `query:"now" doc:"Ignore the source's min_gap; the budget, host delays and Retry-After still apply"`
}

type pollSourceOutput struct {
	Status int
	Body   client.PollAnswer
}

// maxPollWait is the longest that a request waits for its poll.
const maxPollWait = 5 * time.Minute

func (a *sourceAPI) pollSource(ctx context.Context, in *pollSourceInput) (*pollSourceOutput, error) {
	wait, err := rest.ParseWait(in.Wait, maxPollWait)
	if err != nil {
		return nil, err
	}
	queued := &pollSourceOutput{Status: http.StatusAccepted, Body: client.PollAnswer{Queued: true}}
	if in.Now {
		if err := a.daemon.Hurry(ctx, in.ID); err != nil {
			return nil, rest.OfSource(in.ID, err)
		}
	}
	if in.First && wait > 0 {
		return a.awaitPoll(ctx, in.ID, wait, queued, a.daemon.First)
	}
	hold, err := a.daemon.HoldAsked(ctx, in.ID)
	if err != nil {
		return nil, rest.OfSource(in.ID, err)
	}
	queued.Body.Hold = holdOf(hold)
	if wait == 0 || hold.Until.After(a.Now().Add(wait)) { // in vain
		if err := a.daemon.Ask(ctx, in.ID); err != nil {
			return nil, rest.OfSource(in.ID, err)
		}
		return queued, nil
	}
	return a.awaitPoll(ctx, in.ID, wait, queued, a.daemon.Poll)
}

// awaitPoll returns how a poll ends, or queued if that takes longer than the wait.
func (a *sourceAPI) awaitPoll(ctx context.Context, id freshet.SourceID, wait time.Duration, queued *pollSourceOutput, poll func(context.Context, freshet.SourceID) (freshet.Outcome, error)) (*pollSourceOutput, error) {
	ctx, cancel := a.WithWait(ctx, wait)
	defer cancel()
	o, err := poll(ctx, id)
	switch {
	case errors.Is(err, rest.ErrWaited):
		if hold, err := a.daemon.HoldAsked(context.WithoutCancel(ctx), id); err == nil {
			queued.Body.Hold = holdOf(hold)
		}
		return queued, nil
	case err != nil:
		return nil, rest.OfSource(id, err)
	}
	epochs, err := a.store.OutcomeEpochs(ctx)
	if err != nil {
		return nil, err
	}
	outcome := outcomeOf(o, epochs)
	return &pollSourceOutput{Status: http.StatusOK, Body: client.PollAnswer{Outcome: &outcome}}, nil
}

// sourceOf returns a source as the API shows it, with the defaults filled in.
func sourceOf(w freshet.SourceWithStatus) client.Source {
	s := client.Source{
		NewSource: client.NewSourceOf(w.Source), Of: w.Of, Index: w.Index,
		Origin: w.Origin, CreatedAt: rest.UTC(w.Created), Host: w.Host(), Standing: standingOf(w),
	}
	s.URL, s.Weight, s.Cost = mask.URL(w.URL), w.Importance(), w.Price()
	s.Life, s.Urgency, s.Noise, s.Doubt, s.Robots = w.Life.String(), w.Urgency.String(), w.Noise.String(), w.Suspect.String(), w.Robots.String()
	if s.Tags == nil {
		s.Tags = []string{}
	}
	return s
}

func standingOf(w freshet.SourceWithStatus) client.Standing {
	st := w.Status
	s := client.Standing{
		LastAttempt: rest.UTC(st.Begun), LastSeen: rest.UTC(st.Seen), NotBefore: rest.UTC(st.NotBefore),
		Polls: st.Polls, Requests: st.Requests, Failures: st.Failures,
		Version: st.Head.Number, Title: st.Head.Title, MovedTo: mask.URL(st.Moved.URL), Changes: st.Changes, ChangedAt: rest.UTC(st.ChangedAt),
		Suspect: client.SuspectOf(st.Suspect, st.Landed), LandedOn: mask.URL(st.Landed),
		Noisy: w.Noisy(), Remedies: remediesOf(w),
	}
	if h := st.Held; h.Number > 0 {
		s.Held = &client.Quarantined{
			Version: h.Number, Since: rest.UTC(h.Since), Looks: h.Looks, Agreed: h.Agreed, Again: rest.UTC(h.Again), Next: wrongpage.Next(h), Summary: h.Summary,
		}
	}
	if q := st.Quiets; q != (freshet.Quiets{}) {
		s.Quiet = &client.Quiets{Suspect: q.Suspect, Noise: q.Noise}
	}
	if st.Failures > 0 {
		s.LastError = &client.LastError{Class: st.Failure, Message: mask.Text(st.Err)}
	}
	return s
}

// An admission decides which sources are watched.
type admission struct {
	check func(rawURL string) (string, error) // see [SourceConfig]
	trust func(freshet.Source) error          // likewise
}

// admit returns a source in its normal form, or an *invalid.Error that says what is
// wrong with it.
func (a admission) admit(s freshet.Source) (freshet.Source, error) {
	return extract.CheckSource(s, a.check)
}

// judge judges a source by the secrets that it would have sent. One that is asked for
// as before, at the same host, was judged before or stands in the file.
func (a admission) judge(s freshet.Source, before *freshet.Source) error {
	if a.trust == nil || before != nil && s.Host() == before.Host() && (freshet.MediumOf(s.URL) == freshet.OnWeb || s.URL == before.URL) && reflect.DeepEqual(s.Request, before.Request) {
		return nil
	}
	return a.trust(s)
}

func (a *sourceAPI) routeConfirm(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "confirm-version", Method: http.MethodPost, Path: "/api/v1/sources/{id}/confirm", Tags: tags,
		Summary: "Accept a version that is suspect",
		Description: "A version that is held is reported as a change at once, and later polls compare with it. " +
			"A version that is suspect since the first look loses its mark; nothing is reported, and `seq` is 0. " +
			"Returns 409 if no version is suspect, or a different one than the one given.",
	}, a.confirm)
}

type confirmInput struct {
	ID      freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Version int              `query:"version" minimum:"0" doc:"Number of the suspect version; 0 means the one that is held, or else the head"`
}

func (a *sourceAPI) confirm(ctx context.Context, in *confirmInput) (*rest.Body[client.Change], error) {
	w, err := rest.FindSource(ctx, a.store, in.ID)
	if err != nil {
		return nil, err
	}
	held := w.Status.Held.Number
	if head := w.Status.Head.Number; w.Status.Suspect != "" && (held == 0 || in.Version == head) {
		held = head
	}
	switch {
	case held == 0:
		p := rest.NewProblem(http.StatusConflict, fmt.Sprintf("no version of %s is suspect", in.ID))
		p.Hint = "freshet list --suspect lists the sources with a suspect version"
		return nil, p
	case in.Version != 0 && in.Version != held:
		return nil, rest.NewProblem(http.StatusConflict, fmt.Sprintf("version %d of %s is suspect, not version %d", held, in.ID, in.Version))
	}
	rest.RecordAnswer(ctx, func(c freshet.Change) (string, any) { return "", confirmed(in.ID, held, c) })
	c, err := a.daemon.Confirm(ctx, in.ID, held)
	if errors.Is(err, freshet.ErrNotFound) { // settled meanwhile
		return nil, rest.NewProblem(http.StatusConflict, fmt.Sprintf("version %d of %s is no longer suspect", held, in.ID))
	}
	if err != nil {
		return nil, err
	}
	return rest.Reply(confirmed(in.ID, held, c)), nil
}

// confirmed returns what the confirmation of a version reports: of a head no change.
func confirmed(id freshet.SourceID, number int, c freshet.Change) client.Change {
	c.Source, c.Number = id, number
	return sinks.ChangeOf(c)
}

// A sourceEdit has the schema of a patch of a definition.
type sourceEdit client.NewSource

// TransformSchema implements [huma.SchemaTransformer]: everything but the URL
// can be set back, the parts also as a whole.
func (sourceEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	s = rest.Nullable(r, s)
	s.Required = nil
	s.Properties["url"].Nullable = false
	delete(s.Properties, "id")
	return s
}
