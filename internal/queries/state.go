package queries

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// A StateQuery is a question about the states of sources at one time.
type StateQuery struct {
	Text   string // such as "min(price) by shop"; docs/reference/queries.md has the language
	AsOf   time.Time
	Tag    string // only sources with this tag are looked at, whatever the text says
	Offset int
	Limit  int // rows to return
}

// A StateArchive is what state queries read.
type StateArchive interface {
	Archive
	Sources(ctx context.Context) iter.Seq2[freshet.SourceWithStatus, error]
}

// States says how state queries are evaluated.
type States struct {
	Store StateArchive
	Read  func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error) // as in RunnerConfig; nil means that there are no items
	Scope func(context.Context, ID) (Scope, error)                                         // of a query; nil means that there are none
}

// A StateTable is the answer to a state query.
type StateTable struct {
	Columns []string
	Rows    []StateRow
	Total   int // rows in all
	Sources int // in from that had a state
	Without int // in from that had none
	Missing int // rows left out because a value of the condition is missing or has another type
	Unread  int // states whose items cannot be read: the source is read in another way now, or the page is pruned
}

// A StateRow is a row of a StateTable. The version is that of the source in from; a row about several
// sources has none.
type StateRow struct {
	Version *freshet.Version
	Label   freshet.Label
	Values  []any
}

const (
	maxStateBytes = 64 << 20  // that rows take
	maxStateRows  = 2_000_000 // that are looked at, with all combinations of joins
)

// Eval evaluates a state query. The error is a [*Mistake] if the text is wrong, and a *invalid.Error
// if it asks for too much.
func (s States) Eval(ctx context.Context, asked StateQuery) (StateTable, error) {
	q, err := parseState(asked.Text)
	if err != nil {
		return StateTable{}, err
	}
	e := &stateRun{States: s, query: q, asked: asked, known: map[freshet.SourceID]*sourceState{}, load: loader{store: s.Store, read: s.Read}}
	if err := e.find(ctx); err != nil {
		return e.table, err
	}
	if err := e.compile(); err != nil {
		return e.table, err
	}
	if err := e.join(ctx); err != nil {
		return e.table, err
	}
	if err := e.scan(ctx); err != nil {
		return e.table, err
	}
	return e.table, e.finish()
}

// A stateRun is one evaluation of a state query.
type stateRun struct {
	States
	query *stateQuery
	asked StateQuery
	table StateTable
	load  loader

	known  map[freshet.SourceID]*sourceState // nil: it had none
	parts  [][]*sourceState                  // those of from, then those of each join
	fields []map[string]bool                 // the names of the values of each part
	schema Schema
	bytes  int
	looked int // rows

	language *stateLanguage
	plan     statePlan
	ofItem   map[string]bool
	joins    []joined
	rows     []resultRow
	groups   map[string]*stateGroup
}

// take counts what is kept.
func (e *stateRun) take(bytes int) error {
	if e.bytes += bytes; e.bytes > maxStateBytes {
		return freshet.WithHint(invalid.Errorf(stateField, "needs more than %d MiB", maxStateBytes>>20), "look at fewer sources with from, or at fewer rows with where")
	}
	return nil
}

// find finds the states of all parts.
func (e *stateRun) find(ctx context.Context) error {
	parts := append([]part{e.query.from}, e.query.joins...)
	e.parts = make([][]*sourceState, len(parts))
	for range parts {
		e.fields = append(e.fields, map[string]bool{})
	}
	chosen, err := e.selection(ctx, parts)
	if err != nil {
		return err
	}
	var names []string
	for w, err := range e.Store.Sources(ctx) {
		if err != nil {
			return err
		}
		if e.asked.Tag != "" && !slices.Contains(w.Tags, e.asked.Tag) {
			continue
		}
		if len(names) < maxSuggested {
			names = append(names, string(w.ID), w.Name)
		}
		for i := range parts {
			if chosen[i].has(&w) {
				if err := e.found(ctx, i, &w); err != nil {
					return err
				}
			}
		}
	}
	for i := range chosen {
		for _, s := range chosen[i] {
			if !s.used {
				return e.nobody(s.selector, names)
			}
		}
	}
	return nil
}

const maxSuggested = 20_000 // names among which the nearest is looked for

// nobody says that a selector selects no source.
func (e *stateRun) nobody(s selector, names []string) error {
	switch s.kind {
	case "all":
		return nil
	case "tag":
		return e.query.mistake(s.at, "", "no source has the tag %q", s.name)
	case "site":
		return e.query.mistake(s.at, "", "there is no site %q", s.name)
	case "query":
		return e.query.mistake(s.at, "", "no source is in the scope of the query %q", s.name)
	}
	help := sourcesHelp
	if near := suggest.Nearest(s.name, names); near != "" {
		help = "did you mean " + near + "?"
	}
	return e.query.mistake(s.at, help, "no source has the id or name %q", s.name)
}

// A selected is a selector, whether it has selected a source, and the scope of the query that it names.
type selected struct {
	selector
	scope Scope
	used  bool
}

type selection []*selected

// selection makes the selectors of all parts ready.
func (e *stateRun) selection(ctx context.Context, parts []part) ([]selection, error) {
	all := make([]selection, len(parts))
	for i, p := range parts {
		for _, s := range p.sources {
			one := &selected{selector: s}
			if s.kind == "query" {
				err := freshet.ErrNotFound
				if e.Scope != nil {
					one.scope, err = e.Scope(ctx, ID(s.name))
				}
				if errors.Is(err, freshet.ErrNotFound) {
					return nil, e.query.mistake(s.at, "", "there is no query %q", s.name)
				}
				if err != nil {
					return nil, err
				}
			}
			all[i] = append(all[i], one)
		}
	}
	return all, nil
}

// has reports whether a source is selected.
func (s selection) has(w *freshet.SourceWithStatus) (any bool) {
	for _, one := range s {
		var ok bool
		switch one.kind {
		case "all":
			ok = true
		case "tag":
			ok = slices.Contains(w.Tags, one.name)
		case "site":
			ok = string(w.ID) == one.name || string(w.Of) == one.name
		case "query":
			ok = one.scope.Has(w.ID, w.Tags, w.Of)
		default:
			ok = string(w.ID) == one.name || w.Name == one.name
		}
		one.used, any = one.used || ok, any || ok
	}
	return any
}

// found adds the state of a source to a part.
func (e *stateRun) found(ctx context.Context, part int, w *freshet.SourceWithStatus) error {
	e.schema.Add(w.Recipe)
	for name := range w.Recipe.Extract {
		e.fields[part][name] = true
	}
	s, ok := e.known[w.ID]
	if !ok {
		v, err := freshet.VersionAt(ctx, e.Store, w.ID, e.asked.AsOf)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return err
		}
		if err == nil {
			label := freshet.Label{URL: w.URL, Name: w.Name, Tags: w.Tags}
			s = &sourceState{&view{event: &Event{Subject: Subject{ID: w.ID, Label: label, Site: w.Of}}}, v}
			if err := e.take(1000 + sizeOf(map[string]any(v.Fields))); err != nil {
				return err
			}
		}
		e.known[w.ID] = s
	}
	switch {
	case s != nil:
		e.parts[part] = append(e.parts[part], s)
		for name := range s.version.Fields {
			e.fields[part][name] = true
		}
	case part == 0:
		e.table.Without++
	}
	return nil
}

// sizeOf returns about how much memory a value takes.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return 32 + len(v)
	case []string:
		return 32 + len(v)*40
	case []any:
		n := 32
		for _, x := range v {
			n += sizeOf(x)
		}
		return n
	case map[string]any:
		n := 64
		for name, x := range v {
			n += 32 + len(name) + sizeOf(x)
		}
		return n
	}
	return 32
}

// compile makes the expressions ready.
func (e *stateRun) compile() (err error) {
	if e.language, err = newStateLanguage(e.query, &e.schema, e.fields); err != nil {
		return err
	}
	e.ofItem = map[string]bool{}
	for _, name := range itemMembers {
		e.ofItem[name] = true
	}
	for name := range e.schema.Items {
		e.ofItem[name] = true
	}
	c := stateCompiler{e.query, e.language, &e.plan}
	if err := c.compile(slices.Sorted(maps.Keys(e.fields[0]))); err != nil {
		return err
	}
	for _, v := range e.plan.values {
		e.table.Columns = append(e.table.Columns, v.column)
	}
	return nil
}
