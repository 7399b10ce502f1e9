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
	"freshet/internal/freshet"
)

func (a *sourceAPI) routeBulk() {
	tags := []string{"sources"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "edit-sources", Method: http.MethodPost, Path: "/api/v1/sources/bulk", Tags: tags,
		Summary:     "Poll, pause, tag, remove or edit many sources",
		Description: "Sources are named, or selected with the filters of the list of sources. With dry_run they are counted and not changed. Sources of the configuration file can only be polled.",
	}, a.editSources)
	rest.Route(a.Server, huma.Operation{
		OperationID: "undo-sources", Method: http.MethodPost, Path: "/api/v1/sources/bulk/{edit}/undo", Tags: tags,
		Summary:     "Undo an edit of many sources",
		Description: "The latest ten edits can be undone until the daemon stops. Sources that were changed since stay as they are.",
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
	id     int
	before []freshet.SourceWithStatus // as they were
	after  []int64                    // revisions that the edit gave them; 0 if it removed them
}

// keptBulks is how many edits can be undone.
const keptBulks = 10

// keep keeps an edit to be undone, and returns its name.
func (b *bulks) keep(edit bulk) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	edit.id = b.last
	b.kept = append(b.kept, edit)
	b.kept = b.kept[max(0, len(b.kept)-keptBulks):]
	return strconv.Itoa(edit.id)
}

// take returns an edit that is to be undone, once.
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

func (a *sourceAPI) editSources(ctx context.Context, in *rest.Body[client.BulkEdit]) (*rest.Body[client.BulkEdited], error) {
	if in.Body.DryRun {
		rest.DryRun(ctx)
	}
	change, err := a.changeOf(in.Body)
	if err != nil {
		return nil, err
	}
	chosen, err := a.chosen(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	done := client.BulkEdited{Matched: len(chosen)}
	var edit bulk
	var ids []freshet.SourceID
	defer func() {
		said := map[string]any{"action": in.Body.Action}
		for name, value := range map[string]string{"tag": in.Body.Tag, "level": in.Body.Level} {
			if value != "" {
				said[name] = value
			}
		}
		rest.ChangedMany(ctx, said, ids)
	}()
	for _, w := range chosen {
		s := w.Source
		if in.Body.Action != client.BulkPoll && w.Origin == freshet.FromFile {
			continue
		}
		changed, err := change(&s)
		if err != nil {
			done.Refused++
			continue
		}
		if !changed {
			continue
		}
		done.Changed++
		if in.Body.DryRun {
			continue
		}
		revision, err := a.carryOut(ctx, in.Body.Action, s)
		if errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrStale) { // somebody else was faster
			done.Changed--
			continue
		}
		if errors.Is(err, freshet.ErrConflict) {
			done.Changed--
			done.Refused++
			continue
		}
		if err != nil {
			return nil, freshet.WithHint(rest.OfSource(s.ID, err), a.undoing(in.Body.Action, edit))
		}
		edit.before, edit.after = append(edit.before, w), append(edit.after, revision)
		ids = append(ids, s.ID)
	}
	if len(edit.before) > 0 && in.Body.Action != client.BulkPoll {
		done.Undo = a.bulks.keep(edit)
	}
	return rest.Reply(done), nil
}

// undoing says how to undo an edit that broke off.
func (a *sourceAPI) undoing(action client.BulkAction, edit bulk) string {
	if len(edit.before) == 0 || action == client.BulkPoll {
		return "nothing was changed"
	}
	return fmt.Sprintf("%d sources were changed before that; POST /api/v1/sources/bulk/%s/undo undoes it", len(edit.before), a.bulks.keep(edit))
}

// changeOf returns what an action does to a source, and whether it does anything.
func (a *sourceAPI) changeOf(e client.BulkEdit) (func(*freshet.Source) (bool, error), error) {
	switch e.Action {
	case client.BulkTag, client.BulkUntag:
		if e.Tag == "" {
			return nil, rest.Invalid("body.tag", "say which tag", e.Tag)
		}
	case client.BulkLevel, client.BulkRead:
		change := a.redefine(e)
		_, err := change(&freshet.Source{URL: "https://example.com/"}) // what is wrong is so for all
		return change, err
	}
	return func(s *freshet.Source) (bool, error) { return changeSource(e, s), nil }, nil
}

// changeSource does an action to a source that cannot fail, and reports whether it is
// another then.
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

// redefine returns how the level of sources is changed, or what of them is compared, by the
// same rules as an edit of one.
func (a *sourceAPI) redefine(e client.BulkEdit) func(*freshet.Source) (bool, error) {
	said := map[string]any{"level": nil}
	switch {
	case e.Action == client.BulkRead:
		said = map[string]any{"read": nil, "select": nil}
		if len(e.Read) > 0 {
			said["read"] = e.Read
		}
	case e.Level != "":
		said["level"] = e.Level
	}
	return func(s *freshet.Source) (bool, error) {
		to, err := s.Patch(said)
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

// chosen returns the sources that an edit is about.
func (a *sourceAPI) chosen(ctx context.Context, e client.BulkEdit) (chosen []freshet.SourceWithStatus, err error) {
	if (e.Filter == nil) == (len(e.IDs) == 0) {
		return nil, rest.Invalid("body", "name the sources in ids, or select them with filter", nil)
	}
	for _, id := range e.IDs {
		w, err := rest.FindSource(ctx, a.store, id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, w)
	}
	if e.Filter == nil {
		return chosen, nil
	}
	in := listSourcesInput{Tag: e.Filter.Tag, Q: e.Filter.Q, Host: e.Filter.Host, Named: true}
	if e.Filter.State != "" {
		in.State = []string{string(e.Filter.State)}
	}
	list, err := a.store.ListSources(ctx, freshet.SourceQuery{SourceFilter: in.filter()})
	return append(chosen, list.Sources...), err
}

// carryOut does one action to one source, and returns its revision afterwards.
func (a *sourceAPI) carryOut(ctx context.Context, action client.BulkAction, s freshet.Source) (int64, error) {
	switch action {
	case client.BulkPoll:
		return 0, a.daemon.Ask(ctx, s.ID)
	case client.BulkRemove:
		return 0, a.daemon.RemoveSource(ctx, s.ID, false)
	}
	s, err := s.Check()
	if err != nil {
		return 0, err
	}
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	w, err := a.daemon.UpdateSource(ctx, s)
	return w.Revision, err
}

type undoInput struct {
	Edit string `path:"edit" doc:"The undo of the edit's response"`
}

func (a *sourceAPI) undoSources(ctx context.Context, in *undoInput) (*rest.Body[client.BulkEdited], error) {
	edit, ok := a.bulks.take(in.Edit)
	if !ok {
		return nil, rest.NewProblem(http.StatusNotFound, fmt.Sprintf("edit %s cannot be undone: it was undone already, or it is not one of the latest ten", in.Edit))
	}
	done := client.BulkEdited{Matched: len(edit.before)}
	var ids []freshet.SourceID
	defer func() { rest.ChangedMany(ctx, nil, ids) }()
	for i, w := range edit.before {
		s := w.Source
		var err error
		if edit.after[i] == 0 {
			_, err = a.daemon.AddSource(ctx, s)
		} else {
			s.Revision = edit.after[i]
			a.Edits.RLock()
			_, err = a.daemon.UpdateSource(ctx, s)
			a.Edits.RUnlock()
		}
		switch {
		case err == nil:
			done.Changed++
			ids = append(ids, s.ID)
		case errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrStale) || errors.Is(err, freshet.ErrConflict):
		default:
			return nil, rest.OfSource(s.ID, err)
		}
	}
	return rest.Reply(done), nil
}
