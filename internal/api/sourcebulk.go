package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
)

func (a *sourceAPI) routeBulk() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "edit-sources", Method: http.MethodPost, Path: "/api/v1/sources/bulk", Tags: tags,
		Summary: "Poll, pause, tag, remove or edit many sources",
		Description: "Sources are named, or selected with the filters of the list of sources. With dry_run they are counted and not changed. Sources of the configuration file can only be polled. " +
			"They are changed in transactions of 500. With Accept: application/x-ndjson the response is a line of JSON after each of them: an object with progress, and at the end one with done or problem. A client that goes away ends the edit; what was changed stays.",
		Responses: a.withProgress(),
	}, a.editSources)
	rest.Route(a.Server, huma.Operation{
		OperationID: "undo-sources", Method: http.MethodPost, Path: "/api/v1/sources/bulk/{edit}/undo", Tags: tags,
		Summary:     "Undo an edit of many sources",
		Description: "The latest ten edits, of a million sources together, can be undone until the daemon stops. Sources that were changed since stay as they are.",
		Responses:   a.withProgress(),
	}, a.undoSources)
}

// bulks are the last edits of many sources, which can be undone.
type bulks struct {
	mu   sync.Mutex
	last int
	kept []bulk
}

// A bulk is an edit of many sources.
type bulk struct {
	id      int
	removed bool // the edit removed the sources
	before  []sourceBefore
}

// A sourceBefore is the state of a source before an edit, in compact form.
type sourceBefore struct {
	definition []byte
	of         freshet.SourceID
	index      bool
	after      int64 // revision after the edit
}

// source returns the source to restore. Its revision makes the update fail if it was edited since.
func (b sourceBefore) source() (freshet.Source, error) {
	s, err := freshet.ParseDefinition(b.definition)
	s.Origin, s.Of, s.Index, s.Revision = freshet.FromAPI, b.of, b.index, b.after
	if s.Of != "" {
		s.Origin = freshet.FromSite
	}
	return s, err
}

// Bounds of the undo history: the number of edits, and of sources in all edits but the last.
const (
	keptBulks   = 10
	keptSources = 1_000_000
)

// keep stores an edit to be undone and returns its name.
func (b *bulks) keep(edit bulk) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	edit.id = b.last
	b.kept = append(b.kept, edit)
	sources := 0
	for i, e := range slices.Backward(b.kept) {
		if sources += len(e.before); i < len(b.kept)-1 && (sources > keptSources || len(b.kept)-i > keptBulks) {
			b.kept = slices.Delete(b.kept, 0, i+1)
			break
		}
	}
	return strconv.Itoa(edit.id)
}

// take removes and returns an edit that is to be undone.
func (b *bulks) take(name string) (edit bulk, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(b.kept, func(e bulk) bool { return strconv.Itoa(e.id) == name })
	if at < 0 {
		return bulk{}, false
	}
	edit = b.kept[at]
	b.kept = slices.Delete(b.kept, at, at+1)
	return edit, true
}

type editSourcesInput struct {
	progressInput
	Body client.BulkEdit
}

func (a *sourceAPI) editSources(ctx context.Context, in *editSourcesInput) (*progressOutput, error) {
	if in.Body.DryRun {
		rest.DryRun(ctx)
	}
	change, err := a.changeOf(in.Body)
	if err != nil {
		return nil, err
	}
	ids, err := a.selected(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	run := &bulkRun{sourceAPI: a, BulkEdit: in.Body, change: change, done: client.BulkEdited{Matched: len(ids)}}
	run.edit.removed = in.Body.Action == client.BulkRemove
	return a.withReport(ctx, in.progressInput, func(report func(client.BulkEdited)) (client.BulkEdited, error) {
		defer func() { rest.ChangedMany(ctx, run.auditDetail(), run.ids) }()
		return run.run(ctx, ids, report)
	})
}

// A bulkRun is a running edit of many sources.
type bulkRun struct {
	*sourceAPI
	client.BulkEdit
	change func(*freshet.Source) (bool, error)
	done   client.BulkEdited
	edit   bulk
	ids    []freshet.SourceID // changed sources
}

// auditDetail returns the detail for the audit log.
func (r *bulkRun) auditDetail() map[string]any {
	detail := map[string]any{"action": r.Action}
	for name, value := range map[string]string{"tag": r.Tag, "level": r.Level} {
		if value != "" {
			detail[name] = value
		}
	}
	return detail
}

// run makes the edit in parts.
func (r *bulkRun) run(ctx context.Context, ids []freshet.SourceID, report func(client.BulkEdited)) (client.BulkEdited, error) {
	for part := range slices.Chunk(ids, daemon.MostAtOnce) {
		err := context.Cause(ctx)
		if err == nil {
			err = r.runPart(ctx, part)
		}
		if err != nil {
			return r.done, freshet.WithHint(err, r.undoHint())
		}
		report(r.done)
	}
	if len(r.edit.before) > 0 {
		r.done.Undo = r.bulks.keep(r.edit)
	}
	return r.done, nil
}

// runPart edits some sources: those that do not belong to a site in one transaction.
func (r *bulkRun) runPart(ctx context.Context, ids []freshet.SourceID) error {
	found, err := r.store.NamedSources(ctx, ids, false)
	if err != nil {
		return err
	}
	var was, together []freshet.Source
	for _, w := range found {
		s := w.Source
		if r.Action != client.BulkPoll && w.Origin == freshet.FromFile {
			continue
		}
		changed, err := r.change(&s)
		if err == nil && changed && r.Action != client.BulkPoll && r.Action != client.BulkRemove {
			s, err = s.Check()
		}
		switch {
		case err != nil:
			r.done.Refused++
		case !changed:
		case r.DryRun:
			r.done.Changed++
		case r.Action == client.BulkPoll || s.Site != nil || s.Of != "":
			revision, err := r.carryOut(ctx, r.Action, s)
			if err := r.countEdit(w.Source, revision, err); err != nil {
				return err
			}
		default:
			was, together = append(was, w.Source), append(together, s)
		}
	}
	return r.runTransaction(ctx, was, together)
}

// runTransaction edits sources in one transaction.
func (r *bulkRun) runTransaction(ctx context.Context, was, to []freshet.Source) (err error) {
	if len(to) == 0 {
		return nil
	}
	r.Edits.RLock()
	defer r.Edits.RUnlock()
	var refused []error
	if r.Action == client.BulkRemove {
		ids := make([]freshet.SourceID, len(to))
		for i, s := range to {
			ids[i] = s.ID
		}
		refused, err = r.daemon.RemoveSources(ctx, ids)
	} else {
		refused, err = r.daemon.UpdateSources(ctx, to)
	}
	if err != nil {
		return err
	}
	for i, s := range was {
		if err := r.countEdit(s, s.Revision+1, refused[i]); err != nil {
			return err
		}
	}
	return nil
}

// countEdit counts an edited source and keeps its former state for undo.
func (r *bulkRun) countEdit(was freshet.Source, revision int64, err error) error {
	switch {
	case errors.Is(err, freshet.ErrNotFound), errors.Is(err, freshet.ErrStale): // edited or removed concurrently
		return nil
	case errors.Is(err, freshet.ErrConflict):
		r.done.Refused++
		return nil
	case err != nil:
		return rest.OfSource(was.ID, err)
	}
	r.done.Changed++
	r.ids = append(r.ids, was.ID)
	if r.Action != client.BulkPoll {
		r.edit.before = append(r.edit.before, sourceBefore{was.Definition(), was.Of, was.Index, revision})
	}
	return nil
}

// undoHint returns how to undo an interrupted edit.
func (r *bulkRun) undoHint() string {
	if len(r.edit.before) == 0 {
		return "nothing was changed"
	}
	return fmt.Sprintf("%d sources were changed before that; POST /api/v1/sources/bulk/%s/undo undoes it", len(r.edit.before), r.bulks.keep(r.edit))
}

// changeOf returns a function that applies an action to a source and reports whether it changed
// anything.
func (a *sourceAPI) changeOf(e client.BulkEdit) (func(*freshet.Source) (bool, error), error) {
	switch e.Action {
	case client.BulkTag, client.BulkUntag:
		if e.Tag == "" {
			return nil, rest.Invalid("body.tag", "say which tag", e.Tag)
		}
	case client.BulkLevel, client.BulkRead:
		change := a.redefine(e)
		_, err := change(&freshet.Source{URL: "https://example.com/"}) // an error is the same for all sources
		return change, err
	}
	return func(s *freshet.Source) (bool, error) { return changeSource(e, s), nil }, nil
}

// changeSource applies an action that cannot fail to a source, and reports whether it changed
// anything.
func changeSource(e client.BulkEdit, s *freshet.Source) bool {
	switch e.Action {
	case client.BulkPause, client.BulkResume:
		was := s.Paused
		s.Paused = e.Action == client.BulkPause
		return was != s.Paused
	case client.BulkTag:
		if slices.Contains(s.Tags, e.Tag) {
			return false
		}
		s.Tags = append(slices.Clone(s.Tags), e.Tag)
		return true
	case client.BulkUntag:
		if !slices.Contains(s.Tags, e.Tag) {
			return false
		}
		s.Tags = slices.DeleteFunc(slices.Clone(s.Tags), func(t string) bool { return t == e.Tag })
		return true
	case client.BulkPoll:
		return !s.Paused
	}
	return true
}

// redefine returns a function that changes the level of a source or what of it is compared, by the
// rules of an edit of one source.
func (a *sourceAPI) redefine(e client.BulkEdit) func(*freshet.Source) (bool, error) {
	patch := map[string]any{"level": nil}
	switch {
	case e.Action == client.BulkRead:
		patch = map[string]any{"read": nil, "select": nil}
		if len(e.Read) > 0 {
			patch["read"] = e.Read
		}
	case e.Level != "":
		patch["level"] = e.Level
	}
	return func(s *freshet.Source) (bool, error) {
		to, err := s.Patch(patch)
		if err == nil {
			to, err = a.admit(to)
		}
		if err != nil {
			return false, err
		}
		changed := to.Level != s.Level || to.Key() != s.Key()
		*s = to
		return changed, nil
	}
}

// selected returns the sources that an edit selects.
func (a *sourceAPI) selected(ctx context.Context, e client.BulkEdit) (chosen []freshet.SourceID, err error) {
	if (e.Filter == nil) == (len(e.IDs) == 0) {
		return nil, rest.Invalid("body", "name the sources in ids, or select them with filter", nil)
	}
	if e.Filter == nil {
		for _, id := range e.IDs {
			if _, err := rest.FindSource(ctx, a.store, id); err != nil {
				return nil, err
			}
		}
		return e.IDs, nil
	}
	in := listSourcesInput{Tag: e.Filter.Tag, Q: e.Filter.Q, Host: e.Filter.Host, Named: true}
	if e.Filter.State != "" {
		in.State = []string{string(e.Filter.State)}
	}
	return a.store.SourceIDs(ctx, in.filter())
}

// carryOut performs one action on one source and returns its new revision.
func (a *sourceAPI) carryOut(ctx context.Context, action client.BulkAction, s freshet.Source) (int64, error) {
	switch action {
	case client.BulkPoll:
		return 0, a.daemon.Ask(ctx, s.ID)
	case client.BulkRemove:
		return 0, a.daemon.RemoveSource(ctx, s.ID, false)
	}
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	w, err := a.daemon.UpdateSource(ctx, s)
	return w.Revision, err
}

type undoInput struct {
	progressInput
	Edit string `path:"edit" doc:"The undo of the edit's response"`
}

func (a *sourceAPI) undoSources(ctx context.Context, in *undoInput) (*progressOutput, error) {
	edit, ok := a.bulks.take(in.Edit)
	if !ok {
		return nil, rest.NewProblem(http.StatusNotFound, fmt.Sprintf("edit %s cannot be undone: it was undone already, or it is not one of the latest ten", in.Edit))
	}
	return a.withReport(ctx, in.progressInput, func(report func(client.BulkEdited)) (client.BulkEdited, error) {
		done := client.BulkEdited{Matched: len(edit.before)}
		var ids []freshet.SourceID
		defer func() { rest.ChangedMany(ctx, nil, ids) }()
		for len(edit.before) > 0 {
			part := edit.before[:min(len(edit.before), daemon.MostAtOnce)]
			err := context.Cause(ctx)
			if err == nil {
				err = a.restore(ctx, edit.removed, part, &ids)
			}
			if err != nil {
				return done, freshet.WithHint(err, fmt.Sprintf("%d sources are as before; POST /api/v1/sources/bulk/%s/undo goes on with the others", len(ids), a.bulks.keep(edit)))
			}
			edit.before = edit.before[len(part):]
			done.Changed = len(ids)
			report(done)
		}
		return done, nil
	})
}

// restore restores sources to their state before an edit, and appends the restored ones to ids. It
// skips sources that were edited since.
func (a *sourceAPI) restore(ctx context.Context, removed bool, part []sourceBefore, ids *[]freshet.SourceID) error {
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	var together []freshet.Source
	note := func(id freshet.SourceID, err error) error {
		switch {
		case err == nil:
			*ids = append(*ids, id)
		case errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrStale) || errors.Is(err, freshet.ErrConflict):
		default:
			return rest.OfSource(id, err)
		}
		return nil
	}
	for _, b := range part {
		s, err := b.source()
		switch {
		case err != nil:
			return err
		case s.Site == nil && s.Of == "":
			together = append(together, s)
			continue
		case removed:
			_, err = a.daemon.AddSource(ctx, s)
		default:
			_, err = a.daemon.UpdateSource(ctx, s)
		}
		if err := note(s.ID, err); err != nil {
			return err
		}
	}
	put := a.daemon.UpdateSources
	if removed {
		put = func(ctx context.Context, list []freshet.Source) ([]error, error) {
			_, refused, err := a.daemon.AddSources(ctx, list)
			return refused, err
		}
	}
	refused, err := put(ctx, together)
	if err != nil {
		return err
	}
	for i, s := range together {
		if err := note(s.ID, refused[i]); err != nil {
			return err
		}
	}
	return nil
}
