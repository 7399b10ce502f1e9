package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/search"
	"freshet/internal/sinks"
)

// atOnce is how many changes are read at once where not all are wanted.
const atOnce = 500

// maxChangeWait is the longest that a long poll waits.
const maxChangeWait = time.Minute

// changeAPI serves the logs of changes and of polls, as pages, streams and feeds.
type changeAPI struct {
	*rest.Server
	store   freshet.Store
	queries *queries.Store // whose matches feeds show
	base    string         // of the URLs in events
	events  fanout
}

func (a *changeAPI) routes() {
	a.routeChanges()
	a.routeNewest()
	a.routeFeeds()
	a.routeOutcomes()
}

func (a *changeAPI) routeChanges() {
	tags := []string{"changes"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-changes", Method: http.MethodGet, Path: "/api/v1/changes", Tags: tags,
		Summary: "Read the change log, oldest first",
		Description: "With wait, the response is delayed until there is a change or the wait is over. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
	}, a.listChanges)
	a.routeStream(tags)
}

type listChangesInput struct {
	After string `query:"after" doc:"Only changes after this cursor; 0 means from the beginning"`
	Limit int    `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	Wait  string `query:"wait" doc:"How long to wait if there is no change, such as 10s; more than 60s means 60s"`
	ChangeFilter
}

func (a *changeAPI) listChanges(ctx context.Context, in *listChangesInput) (*rest.Body[client.ChangesPage], error) {
	wait, err := rest.ParseWait(in.Wait, maxChangeWait)
	if err != nil {
		return nil, err
	}
	place, err := rest.ParsePlace("query.after", in.After)
	if err != nil {
		return nil, err
	}
	after, err := a.FindChange(ctx, a.store, place)
	if err != nil {
		return nil, err
	}
	waiting, cancel := a.WithWait(ctx, wait)
	defer cancel()
	page := rest.Reply(client.ChangesPage{Items: []client.Change{}, Next: place})
	which, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	tail := tail{store: a.store, at: after, which: which}
	changes, err := tail.read(ctx, min(in.Limit, rest.MaxPage))
	for err == nil && len(changes) == 0 && wait > 0 {
		if err := a.store.Wait(waiting, tail.at); errors.Is(err, rest.ErrWaited) {
			break
		} else if err != nil {
			return nil, err
		}
		changes, err = tail.read(ctx, min(in.Limit, rest.MaxPage))
	}
	if err != nil {
		return nil, err
	}
	if page.Body.Items, err = titled(ctx, a.store, changes); err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		page.Body.Next = changes[len(changes)-1].Place()
	}
	if len(changes) == 0 && tail.at > after { // who asks again need not go over the same ones
		page.Body.Next, err = rest.ChangePlace(ctx, a.store, tail.at)
	}
	return page, err
}

// titled returns changes for a list, in which sources without a name have the titles of their pages.
func titled(ctx context.Context, sources rest.SourceReader, changes []freshet.Change) ([]client.Change, error) {
	title, list := titles(ctx, sources), make([]client.Change, len(changes))
	for i, c := range changes {
		list[i] = sinks.ChangeOf(c)
		if err := title(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// titles returns a function that adds the title of its page to a change of a source without a name.
func titles(ctx context.Context, sources rest.SourceReader) func(*client.Change) error {
	known := map[freshet.SourceID]string{}
	return func(c *client.Change) error {
		if c == nil || c.Name != "" {
			return nil
		}
		if _, ok := known[c.Source]; !ok {
			w, err := sources.Source(ctx, c.Source)
			if err != nil && !errors.Is(err, freshet.ErrNotFound) {
				return err
			}
			known[c.Source] = w.Status.Head.Title
		}
		c.Title = known[c.Source]
		return nil
	}
}

// A tail reads on from a place in the change log.
type tail struct {
	store freshet.Store
	at    freshet.Cursor // everything up to here has been read
	which ChangeFilter
}

// read returns the next changes that are wanted. If there are none it has moved over the
// others, so that only a later change wakes who waits at its place.
func (t *tail) read(ctx context.Context, limit int) (found []freshet.Change, err error) {
	end, err := t.store.LastChange(ctx)
	if err != nil {
		return nil, fmt.Errorf("end of the change log: %w", err)
	}
	w, page := wishOf(t.which, t.store), limit
	if w.picky() {
		page = max(limit, atOnce)
	}
	for {
		changes, err := t.store.Changes(ctx, freshet.ChangeQuery{After: t.at, Source: t.which.Source, Seen: t.which.seen, Limit: page})
		if err != nil {
			return nil, fmt.Errorf("changes after %d: %w", t.at, err)
		}
		for _, c := range changes {
			t.at = c.Cursor
			if ok, err := w.has(ctx, c); err != nil {
				return nil, err
			} else if ok {
				if found = append(found, c); len(found) == limit {
					return found, nil
				}
			}
		}
		if len(changes) < page {
			if len(found) == 0 {
				t.at = max(t.at, end)
			}
			return found, nil
		}
	}
}

func (a *changeAPI) routeNewest() {
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-newest-changes", Method: http.MethodGet, Path: "/api/v1/changes/newest", Tags: []string{"changes"},
		Summary:     "Read the change log backwards, newest first",
		Description: fmt.Sprintf("A request over all sources scans at most %d changes: with a filter a page can have few items or none, and still a next. A next of 0 is the beginning of the log.", maxFeedScan),
	}, a.listNewest)
}

type newestInput struct {
	Before string `query:"before" doc:"Only changes before this cursor: the next of the previous page"`
	Limit  int    `query:"limit" default:"100" minimum:"1" doc:"At most this many; more than 1000 means 1000"`
	ChangeFilter
}

func (a *changeAPI) listNewest(ctx context.Context, in *newestInput) (*rest.Body[client.ChangesPage], error) {
	end, err := a.endBefore(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	filter, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	limit, low := min(in.Limit, rest.MaxPage), freshet.Cursor(1)
	var found []freshet.Change
	if filter.Source == "" {
		found, low, err = a.newestUpTo(ctx, end, filter, limit+1)
	} else {
		found, err = a.newestOfSource(ctx, end, filter, limit+1)
	}
	if err != nil {
		return nil, err
	}
	var page client.ChangesPage
	if page.Items, err = titled(ctx, a.store, found[:min(len(found), limit)]); err != nil {
		return nil, err
	}
	switch {
	case len(found) > limit:
		page.Next = found[limit-1].Place()
	case low > 1: // what is older was not looked at
		page.Next, err = rest.ChangePlace(ctx, a.store, low)
	}
	return rest.Reply(page), err
}

// endBefore returns the cursor of the last change before a place; "" means the end of the
// log.
func (a *changeAPI) endBefore(ctx context.Context, before string) (freshet.Cursor, error) {
	if before == "" {
		end, err := a.store.LastChange(ctx)
		if err != nil {
			return 0, fmt.Errorf("end of the change log: %w", err)
		}
		return end, nil
	}
	place, err := rest.ParsePlace("query.before", before)
	if err != nil {
		return 0, err
	}
	at, err := a.FindChange(ctx, a.store, place)
	return at - 1, err
}

// newestOfSource returns the newest changes of one source up to a cursor, the newest first.
func (a *changeAPI) newestOfSource(ctx context.Context, end freshet.Cursor, filter ChangeFilter, limit int) (newest []freshet.Change, err error) {
	id, wish := filter.Source, wishOf(filter, a.store)
	w, err := rest.FindSource(ctx, a.store, id)
	if err != nil {
		return nil, err
	}
	for upto := w.Status.Head.Number; len(newest) < limit; {
		found, err := a.newestOf(ctx, id, upto, limit)
		if err != nil || len(found) == 0 {
			return newest, err
		}
		for _, c := range found {
			if c.Cursor > end || len(newest) == limit {
				continue
			}
			if ok, err := wish.hasSeen(ctx, c); err != nil {
				return nil, err
			} else if ok {
				newest = append(newest, c)
			}
		}
		upto = found[len(found)-1].Number - 1
	}
	return newest, nil
}

// newestUpTo returns the newest changes up to a cursor, the newest first. It looks back
// only so far, and returns where it ended: all that comes later was looked at.
func (a *changeAPI) newestUpTo(ctx context.Context, end freshet.Cursor, filter ChangeFilter, limit int) (newest []freshet.Change, low freshet.Cursor, err error) {
	wish, page := wishOf(filter, a.store), limit
	if wish.picky() {
		page = max(limit, atOnce)
	}
	for high, looked := end, 0; high > 0; {
		found, err := a.store.Changes(ctx, freshet.ChangeQuery{Newest: true, After: high + 1, Seen: filter.seen, Limit: page})
		if err != nil {
			return nil, 0, fmt.Errorf("changes up to %d: %w", high, err)
		}
		for _, c := range found {
			high = c.Cursor - 1
			if ok, err := wish.has(ctx, c); err != nil {
				return nil, 0, err
			} else if ok {
				newest = append(newest, c)
			}
			if len(newest) == limit {
				return newest, high + 1, nil
			}
		}
		if looked += len(found); len(found) < page {
			break
		}
		if looked >= maxFeedScan {
			return newest, high + 1, nil
		}
	}
	return newest, 1, nil
}

// newestOf returns the newest changes of a source that led to versions with numbers of at
// most upto, the newest first.
func (a *changeAPI) newestOf(ctx context.Context, id freshet.SourceID, upto, limit int) ([]freshet.Change, error) {
	for span := 2 * limit; upto > 0; span *= 4 { // some versions were stored without a change
		found, err := a.store.Changes(ctx, freshet.ChangeQuery{Source: id, Above: max(upto-span, 0), Upto: upto})
		if err != nil {
			return nil, rest.OfSource(id, err)
		}
		if len(found) >= limit || upto-span <= 0 {
			slices.Reverse(found)
			return found[:min(limit, len(found))], nil
		}
	}
	return nil, nil
}

// A ChangeFilter says which changes a client wants to hear of.
type ChangeFilter struct {
	Source freshet.SourceID `query:"source" doc:"Only changes of this source"`
	Site   freshet.SourceID `query:"site" doc:"Only changes of this site and its pages"`
	Tag    string           `query:"tag" doc:"Only changes of sources that had this tag when they changed"`
	Q      string           `query:"q" maxLength:"1000" doc:"Only changes that contain these words: in the summary, in changed values, items or lines, or in the URL or name of the source. See docs/reference/search.md"`
	Since  string           `query:"since" doc:"Only changes seen at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d"`
	Until  string           `query:"until" doc:"Only changes seen before this time; a date is its beginning"`

	seen freshet.Between
}

// wanted reads a filter.
func (a *changeAPI) wanted(f ChangeFilter) (ChangeFilter, error) {
	var err error
	if f.seen, err = a.ParseBetween(rest.Between{Since: f.Since, Until: f.Until}); err != nil {
		return f, err
	}
	if f.Q != "" {
		if _, err := search.Parse(f.Q); err != nil {
			return f, rest.Invalid("query.q", err.Error(), f.Q)
		}
	}
	return f, nil
}

// A wish holds changes against a filter.
type wish struct {
	filter ChangeFilter
	store  freshet.Catalog
	words  search.Query
	sites  map[freshet.SourceID]bool // whether a source is of the site
}

func wishOf(f ChangeFilter, store freshet.Catalog) *wish {
	asked, _ := search.Parse(f.Q) // wanted has seen to it
	return &wish{filter: f, store: store, words: asked, sites: map[freshet.SourceID]bool{}}
}

// picky reports whether there are changes that the store gives and that are not wanted.
func (w *wish) picky() bool { return w.filter.Tag != "" || w.filter.Site != "" || w.filter.Q != "" }

// has reports whether a change is wanted. The store has seen to source and time.
func (w *wish) has(ctx context.Context, c freshet.Change) (bool, error) {
	if w.filter.Tag != "" && !slices.Contains(c.Label.Tags, w.filter.Tag) {
		return false, nil
	}
	if w.filter.Site != "" {
		if of, err := w.ofSite(ctx, c.Source); err != nil || !of {
			return false, err
		}
	}
	if w.filter.Q == "" {
		return true, nil
	}
	details, err := json.Marshal(c.Details)
	if err != nil {
		return false, fmt.Errorf("details of change %d: %w", c.Cursor, err)
	}
	return w.words.In(c.Label.Name, mask.URL(c.Label.URL), c.Summary, string(details)), nil
}

// hasSeen reports whether a change is wanted of which the store has not seen to the time.
func (w *wish) hasSeen(ctx context.Context, c freshet.Change) (bool, error) {
	if !w.filter.seen.Has(c.Before) {
		return false, nil
	}
	return w.has(ctx, c)
}

// ofSite reports whether a source is the site that is wanted, or a page of it.
func (w *wish) ofSite(ctx context.Context, id freshet.SourceID) (bool, error) {
	if of, known := w.sites[id]; known {
		return of, nil
	}
	s, err := w.store.Source(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		s, err = w.store.RemovedSource(ctx, id)
	}
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return false, err
	}
	w.sites[id] = id == w.filter.Site || err == nil && s.Of == w.filter.Site
	return w.sites[id], nil
}
