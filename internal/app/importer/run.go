package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// A List is what another program keeps, and what it captured.
type List struct {
	Format  Format
	Text    string
	Archive *Archive // of WARC, if it is a file; the list has no text then
	History History  // nil if there is none
}

// each calls yield for each entry until yield returns an error, which each returns.
func (l List) each(o Options, yield func(Entry) error) error {
	if l.Archive == nil {
		return Each(l.Format, l.Text, o, yield)
	}
	return settled(yield, func(yield func(Entry)) error {
		l.Archive.each(yield)
		return nil
	})
}

// A Destination is where a list goes: a daemon, or its API.
type Destination interface {
	// Add adds sources, or with dryRun says what would become of them.
	Add(ctx context.Context, sources []client.NewSource, dryRun bool) ([]client.AddedSource, error)
	// Sink returns what a sink gets, and whether it is there.
	Sink(ctx context.Context, name string) (client.NewSink, bool, error)
	// AddSink adds a sink, or with dryRun only says why it cannot be added.
	AddSink(ctx context.Context, name string, s client.NewSink, dryRun bool) error
	// Follow has a sink get more sources or queries.
	Follow(ctx context.Context, name string, s client.NewSink) error
	// AddQuery adds a query, unless there is one with its ID.
	AddQuery(ctx context.Context, q client.NewQuery) error
}

// A Run adds what a list holds to a destination. A list may have a million entries: it is read
// twice, first to know that all of it can be read, and added in parts.
type Run struct {
	List
	Options
	Tags   []string // given to all that is added
	DryRun bool
	Limit  int // of entries, which are then added at once; zero for none
	To     Destination
	Begin  func(found int) // called once the list has been read; may be nil
	Each   func(Item)      // called for each entry that is no receiver

	// AddHistory adds versions to a source, unless it has been polled, and resumes it if it has the
	// tag [Unfinished]. It is needed if the list has a history, and called for several sources at once.
	AddHistory func(ctx context.Context, e Entry, id freshet.SourceID) (client.ImportedVersions, error)

	report Report
	plan   *plan
	part   []Entry
	size   int // of the definitions in part, in bytes
}

// An Item is an entry and what became of it.
type Item struct {
	Entry
	client.AddedSource
}

// A Report says what became of a list.
type Report struct {
	Format Format `json:"format"`
	DryRun bool   `json:"dry_run,omitempty"`
	Found  int    `json:"found"`
	Added  int    `json:"added"`
	Known  int    `json:"known"`
	Wrong  int    `json:"wrong"`

	Versions int `json:"versions,omitempty"` // of the history
	Unread   int `json:"unread,omitempty"`   // versions that are missing, or that the settings of their source cannot read

	Queries []client.NewQuery `json:"queries"`
	Sinks   []NamedSink       `json:"sinks"` // without their secrets
}

// Bounds of a part of a list: sources, and bytes of their definitions. The API takes a megabyte.
const (
	partSources = 1000
	partBytes   = 700 << 10
)

// Unfinished is the tag of a source that is paused until its history has been added, also by a later run.
const Unfinished = "import-unfinished"

// Do adds the list. After an error the list can be imported again: what was added stays.
func (r *Run) Do(ctx context.Context) (Report, error) {
	r.report = Report{Format: r.Format, DryRun: r.DryRun, Queries: []client.NewQuery{}, Sinks: []NamedSink{}}
	r.plan = &plan{format: r.Format, tags: r.Tags, dryRun: r.DryRun, fresh: map[freshet.SourceID]bool{}}
	err := r.each(r.Options, func(e Entry) error {
		if !e.IsReceiver() {
			r.report.Found++
		}
		return ctx.Err()
	})
	if err != nil {
		return r.report, err
	}
	if r.Limit > 0 && r.report.Found > r.Limit {
		return r.report, fmt.Errorf("the list has %d entries; import at most %d at a time", r.report.Found, r.Limit)
	}
	if r.Begin != nil {
		r.Begin(r.report.Found)
	}
	err = r.each(r.Options, func(e Entry) error { return r.take(ctx, e) })
	if err == nil {
		err = r.add(ctx)
	}
	if err == nil {
		err = r.notify(ctx)
	}
	if err != nil && r.report.Added > 0 && !r.DryRun && freshet.HintOf(err) == "" {
		err = freshet.WithHint(err, fmt.Sprintf("%d of %d entries were added; run it again to complete it", r.report.Added, r.report.Found))
	}
	return r.report, err
}

// take takes an entry into the part that is added next.
func (r *Run) take(ctx context.Context, e Entry) error {
	if e.IsReceiver() {
		r.plan.add(e, "", false)
		return nil
	}
	for _, tag := range r.Tags {
		if !slices.Contains(e.Source.Tags, tag) {
			e.Source.Tags = append(e.Source.Tags, tag)
		}
	}
	if r.History != nil && e.Err == nil && !e.Source.Paused { // until its history is there
		e.Source.Paused, e.waits = true, true
		e.Source.Tags = append(slices.Clip(e.Source.Tags), Unfinished)
	}
	definition, err := json.Marshal(e.Source)
	if err != nil {
		return err
	}
	if r.size += len(definition); r.Limit == 0 && (r.size > partBytes || len(r.part) == partSources) {
		if err := r.add(ctx); err != nil {
			return err
		}
		r.size = len(definition)
	}
	r.part = append(r.part, e)
	return nil
}

// add adds a part of the list.
func (r *Run) add(ctx context.Context) (err error) {
	var sources []client.NewSource
	for _, e := range r.part {
		if e.Err == nil {
			sources = append(sources, e.Source)
		}
	}
	var added []client.AddedSource
	if len(sources) > 0 {
		if added, err = r.To.Add(ctx, sources, r.DryRun); err != nil {
			return err
		}
	}
	items := make([]Item, len(r.part))
	for i, e := range r.part {
		items[i] = Item{e, client.AddedSource{Result: "wrong"}}
		if e.Err != nil {
			items[i].Error = e.Err.Error()
		} else {
			items[i].AddedSource, added = added[0], added[1:]
		}
	}
	if r.History != nil && !r.DryRun {
		err = r.addHistories(ctx, items)
	}
	for _, i := range items {
		r.became(i.Entry, i.AddedSource)
	}
	r.part = r.part[:0]
	return err
}

// historiesAtOnce is how many histories are added at once: their versions share transactions.
const historiesAtOnce = 16

// addHistories adds the histories of sources.
func (r *Run) addHistories(ctx context.Context, items []Item) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(historiesAtOnce)
	var mu sync.Mutex
	for _, i := range items {
		if i.ID == "" {
			continue
		}
		group.Go(func() error {
			done, err := r.AddHistory(ctx, i.Entry, i.ID)
			mu.Lock()
			defer mu.Unlock()
			r.report.Versions += done.Added
			r.report.Unread += done.Unread
			if err != nil {
				return fmt.Errorf("history of %s: %w", i.ID, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// became counts what became of an entry.
func (r *Run) became(e Entry, became client.AddedSource) {
	if e.waits {
		e.Source.Paused, e.Source.Tags = false, e.Source.Tags[:len(e.Source.Tags)-1]
	}
	switch became.Result {
	case "added":
		r.report.Added++
	case "known":
		r.report.Known++
		if became.ID == "" {
			e.notef("it is in the list twice")
		}
	default:
		r.report.Wrong++
		if became.Field != "" {
			became.Error = became.Field + ": " + became.Error
		}
		if became.Hint != "" {
			became.Error += "; " + became.Hint
		}
	}
	if became.Result != "wrong" && (became.ID != "" || r.DryRun) {
		r.plan.add(e, cmp.Or(became.ID, freshet.SourceID(e.At())), became.Result == "added")
	}
	r.Each(Item{e, became})
}

// notify adds the queries and sinks that the list asks for.
func (r *Run) notify(ctx context.Context) (err error) {
	r.report.Queries = append(r.report.Queries, r.plan.queries...)
	sinks := r.plan.wanted()
	err = r.plan.carry(ctx, r.To, sinks)
	for i := range sinks {
		s := &sinks[i]
		if scheme, _, ok := strings.Cut(s.URL, "://"); ok {
			s.URL = scheme + "://" + mask.Placeholder
		}
		for name := range s.Settings {
			s.Settings[name] = mask.Placeholder
		}
	}
	r.report.Sinks = append(r.report.Sinks, sinks...)
	return err
}
