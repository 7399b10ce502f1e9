package queries

import (
	"context"
	"errors"
	"sort"
	"strings"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A loader brings what queries look at in an event, beyond what stands in the logs.
type loader struct {
	store    Archive
	read     func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)
	subjects map[freshet.SourceID]remembered
}

// remembered is what a source was when it was last looked at.
type remembered struct {
	label freshet.Label
	site  freshet.SourceID
	until int // how many more times that is believed
}

const (
	mostRemembered = 50_000 // sources
	believed       = 64     // events
)

// subject returns the source of an event.
func (l *loader) subject(ctx context.Context, e Event) (Subject, error) {
	id := freshet.SourceID("")
	if e.Change != nil {
		id = e.Change.Source
	} else {
		id = e.Outcome.Source
	}
	known, err := l.remember(ctx, id)
	s := Subject{ID: id, Label: known.label, Site: known.site}
	if e.Change != nil { // which says what the source was then
		s.Label = e.Change.Label
	}
	return s, err
}

// remember returns what a source is. One that is not there any more is nothing.
func (l *loader) remember(ctx context.Context, id freshet.SourceID) (remembered, error) {
	if known, ok := l.subjects[id]; ok && known.until > 0 {
		known.until--
		l.subjects[id] = known
		return known, nil
	}
	w, err := l.store.Source(ctx, id)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return remembered{}, err
	}
	if len(l.subjects) >= mostRemembered || l.subjects == nil {
		l.subjects = map[freshet.SourceID]remembered{}
	}
	known := remembered{freshet.Label{URL: w.URL, Name: w.Name, Tags: w.Tags}, w.Of, believed}
	l.subjects[id] = known
	return known, nil
}

// load brings what is needed of a change. What has been pruned is left out.
func (l *loader) load(ctx context.Context, e *Event, need Need) error {
	c := e.Change
	if c.Number == 0 || need&(NeedDiff|NeedText|NeedFields|NeedItems) == 0 {
		return nil
	}
	now, err := l.store.Version(ctx, c.Source, c.Number)
	if err != nil {
		e.Content.Gone = need & texts
		return passed(err)
	}
	before, err := freshet.VersionBefore(ctx, l.store, c.Source, c.Number)
	if passed(err) != nil {
		return err
	}
	e.Content.Now, e.Content.Before = now.Fields, before.Fields
	if need.Has(NeedDiff) || need.Has(NeedText) {
		if err := l.loadText(ctx, e, before, need); err != nil {
			return err
		}
	}
	if need.Has(NeedItems) && c.Details.Items != nil {
		return l.loadItems(ctx, e, now, before)
	}
	return nil
}

// loadSeen brings the version that a poll saw. What has been pruned is not loaded.
func (l *loader) loadSeen(ctx context.Context, e *Event, need Need) error {
	v, err := l.store.Version(ctx, e.Outcome.Source, e.Outcome.Version)
	if err == nil && need.Has(NeedText) {
		var text []byte
		text, err = l.store.Text(ctx, e.Outcome.Source, e.Outcome.Version)
		e.Content.Text = string(text)
	}
	if err != nil {
		e.Content.Gone = need & texts
	}
	e.Content.Now, e.Content.Loaded = v.Fields, err == nil
	return passed(err)
}

// texts are what is read from the texts of versions.
const texts = NeedDiff | NeedText | NeedTextBefore

// passed returns an error, unless it says that something is not there any more.
func passed(err error) error {
	if errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrDamaged) {
		return nil
	}
	return err
}

func (l *loader) loadText(ctx context.Context, e *Event, before freshet.Version, need Need) error {
	text, err := l.store.Text(ctx, e.Change.Source, e.Change.Number)
	if err != nil {
		e.Content.Gone = need & texts
		return passed(err)
	}
	e.Content.Text = string(text)
	if !need.Has(NeedDiff) && !need.Has(NeedTextBefore) {
		return nil
	}
	var old []byte
	if before.Number > 0 {
		if old, err = l.store.Text(ctx, e.Change.Source, before.Number); passed(err) != nil {
			return err
		}
		if err != nil {
			e.Content.Gone = need & texts &^ NeedText
			return nil
		}
	}
	e.Content.TextBefore = string(old)
	if need.Has(NeedDiff) {
		e.Content.Added, e.Content.Removed = changedLines(old, text)
	}
	return nil
}

// changedLines returns the lines that were added and removed between two texts.
func changedLines(old, text []byte) (added, removed string) {
	delta := extract.Diff(old, text)
	if delta.Coarse {
		return string(text), string(old)
	}
	var plus, minus strings.Builder
	for _, h := range delta.Hunks {
		for _, line := range h.Lines {
			switch line.Op {
			case extract.Add:
				plus.WriteString(line.Text + "\n")
			case extract.Remove:
				minus.WriteString(line.Text + "\n")
			}
		}
	}
	return plus.String(), minus.String()
}

// loadItems reads both versions again, because the log has only the names of most items.
func (l *loader) loadItems(ctx context.Context, e *Event, now, before freshet.Version) error {
	after, ok, err := l.items(ctx, now)
	if err != nil || !ok {
		return err
	}
	old, ok, err := l.items(ctx, before)
	if err != nil || !ok {
		return err
	}
	changes := e.Change.Details.Items
	found := &Items{}
	back := map[string]bool{}
	for _, m := range changes.Back {
		back[m.Key] = true
	}
	for _, key := range order(after) {
		item, was := after[key], old[key]
		switch _, there := old[key]; {
		case !there && back[key]:
			found.Back = append(found.Back, item)
		case !there:
			found.Added = append(found.Added, item)
		default:
			if differs := extract.ItemValuesThatDiffer(was, item); len(differs) > 0 {
				found.Updated = append(found.Updated, ItemUpdate{Now: item, Before: was, Changed: differs})
			}
		}
	}
	for _, key := range order(old) {
		if _, there := after[key]; !there {
			found.Removed = append(found.Removed, old[key])
		}
	}
	e.Content.Items = found
	return nil
}

// order returns the keys of items in order.
func order(items map[string]freshet.Item) []string {
	keys := make([]string, 0, len(items))
	for key := range items {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// items returns the items of a version: it reads again what the server sent. It reports
// false if that does not say what it said then, because the source is read in another way
// now.
func (l *loader) items(ctx context.Context, v freshet.Version) (map[string]freshet.Item, bool, error) {
	if l.read == nil || v.Number == 0 {
		return nil, false, nil
	}
	w, err := l.store.Source(ctx, v.Source)
	if err != nil {
		return nil, false, passed(err)
	}
	raw, err := l.store.Raw(ctx, v.Source, v.Number)
	if err != nil {
		return nil, false, passed(err)
	}
	resp := freshet.Response{Status: raw.Status, URL: raw.URL, Header: raw.Header, MediaType: v.MediaType, Body: raw.Body}
	reading, err := l.read(ctx, w.Recipe, resp)
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if err != nil || freshet.HashOf(reading.Text) != v.Hash {
		return nil, false, nil
	}
	by := map[string]freshet.Item{}
	for _, item := range reading.Items.All() {
		by[item.Key] = item
	}
	return by, true, nil
}

// SchemaOf returns which values the sources in a scope have.
func SchemaOf(ctx context.Context, store freshet.Catalog, scope Scope) (*Schema, error) {
	schema := &Schema{}
	for w, err := range store.Sources(ctx) {
		if err != nil {
			return nil, err
		}
		if scope.Has(w.ID, w.Tags, w.Of) {
			schema.Add(w.Recipe)
		}
	}
	return schema, nil
}
