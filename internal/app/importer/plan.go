package importer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"freshet/client"
	"freshet/internal/freshet"
)

// A plan collects the sinks and queries that a list asks for.
type plan struct {
	format  Format
	tags    []string // given to all that is added
	dryRun  bool
	sinks   []NamedSink
	queries []client.NewQuery
	all     []NamedSink               // that get the changes of all sources of the list
	plain   []freshet.SourceID        // sources of which each change counts
	fresh   map[freshet.SourceID]bool // sources that were not watched before
}

// A NamedSink is a sink that is to be there.
type NamedSink struct {
	Name string `json:"name"`
	client.NewSink
	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`
}

// add takes an entry into the plan. A source has its ID, and is new if it was not watched before.
func (p *plan) add(e Entry, id freshet.SourceID, isNew bool) {
	if e.IsReceiver() {
		for _, r := range e.Receivers {
			s := p.sink(r)
			if s.Notes = e.Notes; r.Err != nil {
				s.Name = e.Path
			}
			p.all = append(p.all, s)
		}
		return
	}
	p.fresh[id] = isNew
	query := ""
	if e.When == "" {
		p.plain = append(p.plain, id)
	} else {
		query = idOf(string(id), string(p.format))
		p.queries = append(p.queries, client.NewQuery{ID: query, Name: cmp.Or(e.Source.Name, string(id)), Scope: &client.Scope{Sources: []freshet.SourceID{id}}, When: e.When, Trigger: "each"})
	}
	for _, r := range e.Receivers {
		p.receive(r, id, query)
	}
}

// receive adds a source, or a query about it, to what a receiver gets.
func (p *plan) receive(r Receiver, id freshet.SourceID, query string) {
	wanted := p.sink(r)
	if query != "" {
		wanted.Name += "-alerts"
	}
	i := slices.IndexFunc(p.sinks, func(s NamedSink) bool { return s.Name == wanted.Name })
	if i < 0 {
		i = len(p.sinks)
		p.sinks = append(p.sinks, wanted)
	}
	if s := &p.sinks[i]; query != "" {
		s.Queries = append(s.Queries, query)
	} else {
		s.Sources = append(s.Sources, id)
	}
}

// sink returns the sink for a receiver. Its name is the same whenever the list is imported.
func (p *plan) sink(r Receiver) NamedSink {
	sum := sha256.Sum256([]byte(inJSON(r.Sink)))
	kind := r.Sink.Kind
	if scheme, _, ok := strings.Cut(r.Sink.URL, "://"); ok && kind == "" {
		kind = scheme
	}
	s := NamedSink{Name: idOf(string(p.format), kind, hex.EncodeToString(sum[:3])), NewSink: r.Sink}
	if r.Err != nil {
		s.Error = r.Err.Error()
	}
	return s
}

// idOf returns an ID made of parts.
func idOf(parts ...string) string {
	id := strings.Map(func(r rune) rune {
		if r == '.' || isWordRune(r) {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
	return id[max(0, len(id)-longestID):]
}

// isWordRune reports whether a character is one of [0-9A-Za-z_].
func isWordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// longestID is the length of the longest ID of a query or name of a sink, with room for "-alerts".
const longestID = 57

// wanted returns the sinks of the plan. Those of the whole list get of a source with a condition only
// the matches of its query.
func (p *plan) wanted() []NamedSink {
	sinks := slices.Clone(p.sinks)
	for _, s := range p.all {
		alerts := s
		if len(p.tags) > 0 && len(p.queries) == 0 {
			s.Tags = p.tags[:1]
		} else {
			s.Sources = p.plain
		}
		if len(p.plain) > 0 || len(p.queries) == 0 {
			sinks = append(sinks, s)
		}
		if alerts.Name += "-alerts"; len(p.queries) > 0 {
			for _, q := range p.queries {
				alerts.Queries = append(alerts.Queries, q.ID)
			}
			sinks = append(sinks, alerts)
		}
	}
	return sinks
}

// carry adds the queries and sinks that are not there, and has the sinks that are there follow what
// is new. A sink that cannot be added gets the reason, also in a dry run.
func (p *plan) carry(ctx context.Context, to Destination, sinks []NamedSink) error {
	for _, q := range p.queries {
		if p.dryRun {
			break
		}
		if err := to.AddQuery(ctx, q); err != nil {
			return err
		}
	}
	for i := range sinks {
		if s := &sinks[i]; s.Error == "" {
			if err := p.carrySink(ctx, to, *s); ctx.Err() != nil {
				return err
			} else if err != nil {
				s.Error = err.Error()
			}
		}
	}
	return nil
}

// carrySink adds a sink, or has it follow what is new.
func (p *plan) carrySink(ctx context.Context, to Destination, s NamedSink) error {
	has, known, err := to.Sink(ctx, s.Name)
	if err != nil {
		return err
	}
	switch {
	case !known && p.dryRun:
		s.Sources, s.Queries = nil, nil // which are not there
		fallthrough
	case !known:
		return to.AddSink(ctx, s.Name, s.NewSink, p.dryRun)
	case p.dryRun:
		return nil
	}
	before := len(has.Sources) + len(has.Queries)
	for _, id := range s.Sources {
		if p.fresh[id] && !slices.Contains(has.Sources, id) && len(has.Sources) > 0 {
			has.Sources = append(has.Sources, id)
		}
	}
	for _, id := range s.Queries {
		if !slices.Contains(has.Queries, id) {
			has.Queries = append(has.Queries, id)
		}
	}
	if len(has.Sources)+len(has.Queries) == before {
		return nil
	}
	return to.Follow(ctx, s.Name, has)
}
