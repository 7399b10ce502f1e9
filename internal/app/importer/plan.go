package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"freshet/client"
	"freshet/internal/freshet"
)

// A Plan collects the sinks and queries that a list asks for.
type Plan struct {
	format Format
	tags   []string // given to all that is added
	sinks  []NamedSink
	alerts []client.NewQuery
	all    []NamedSink // that get the changes of all sources of the list
	every  []freshet.SourceID
	fresh  map[freshet.SourceID]bool // sources that were not watched before
}

// A NamedSink is a sink that is to be there.
type NamedSink struct {
	Name string `json:"name"`
	client.NewSink
	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`
}

// NewPlan returns a plan for a list in a format, whose sources all get some tags.
func NewPlan(format Format, tags []string) *Plan {
	return &Plan{format: format, tags: tags, fresh: map[freshet.SourceID]bool{}}
}

// Add takes an entry into the plan. A source has its ID, and is new if it was not watched before.
func (p *Plan) Add(e Entry, id freshet.SourceID, isNew bool) {
	if e.IsReceiver() {
		for _, r := range e.Receivers {
			s := NamedSink{Name: p.nameOf(r.Sink), NewSink: r.Sink, Notes: e.Notes}
			if r.Err != nil {
				s.Name, s.Error = e.Path, r.Err.Error()
			}
			p.all = append(p.all, s)
		}
		return
	}
	p.every = append(p.every, id)
	p.fresh[id] = isNew
	query := ""
	if e.When != "" {
		query = idOf(string(id), string(p.format))
		name := e.Source.Name
		if name == "" {
			name = string(id)
		}
		p.alerts = append(p.alerts, client.NewQuery{ID: query, Name: name, Scope: &client.Scope{Sources: []freshet.SourceID{id}}, When: e.When, Trigger: "each"})
	}
	for _, r := range e.Receivers {
		p.receive(r, id, query)
	}
}

// receive adds a source, or a query about it, to what a receiver gets.
func (p *Plan) receive(r Receiver, id freshet.SourceID, query string) {
	name := p.nameOf(r.Sink)
	if query != "" {
		name += "-alerts"
	}
	i := slices.IndexFunc(p.sinks, func(s NamedSink) bool { return s.Name == name })
	if i < 0 {
		i = len(p.sinks)
		p.sinks = append(p.sinks, NamedSink{Name: name, NewSink: r.Sink})
		if r.Err != nil {
			p.sinks[i].Error = r.Err.Error()
		}
	}
	if s := &p.sinks[i]; query != "" {
		s.Queries = append(s.Queries, query)
	} else {
		s.Sources = append(s.Sources, id)
	}
}

// nameOf returns the name of a sink, which is the same whenever the list is imported.
func (p *Plan) nameOf(s client.NewSink) string {
	sum := sha256.Sum256([]byte(inJSON(s)))
	kind := s.Kind
	if scheme, _, ok := strings.Cut(s.URL, "://"); ok && kind == "" {
		kind = scheme
	}
	return idOf(string(p.format), kind, hex.EncodeToString(sum[:3]))
}

// idOf returns an ID made of parts.
func idOf(parts ...string) string {
	id := strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, strings.Join(parts, "-"))
	return id[max(0, len(id)-longestID):]
}

// longestID is the length of the longest ID of a query or name of a sink, with room for "-alerts".
const longestID = 57

// Sinks returns the sinks of the plan.
func (p *Plan) Sinks() []NamedSink {
	sinks := slices.Clone(p.sinks)
	for _, s := range p.all {
		if len(p.tags) > 0 {
			s.Tags = p.tags[:1]
		} else {
			s.Sources = p.every
		}
		sinks = append(sinks, s)
	}
	return sinks
}

// Queries returns the queries of the plan.
func (p *Plan) Queries() []client.NewQuery { return p.alerts }

// A Notifier has sinks and queries.
type Notifier interface {
	// Sink returns what a sink gets, and whether it is there.
	Sink(ctx context.Context, name string) (client.NewSink, bool, error)
	AddSink(ctx context.Context, name string, s client.NewSink) error
	// Follow has a sink get more sources or queries.
	Follow(ctx context.Context, name string, s client.NewSink) error
	// AddQuery adds a query, unless there is one with its ID.
	AddQuery(ctx context.Context, q client.NewQuery) error
}

// Carry adds the sinks and queries of the plan that are not there, and has those that are there
// follow what is new. It returns the sinks, each with the reason why it is not there.
func (p *Plan) Carry(ctx context.Context, to Notifier) (sinks []NamedSink, err error) {
	for _, q := range p.alerts {
		if err := to.AddQuery(ctx, q); err != nil {
			return nil, err
		}
	}
	sinks = p.Sinks()
	for i := range sinks {
		if s := &sinks[i]; s.Error == "" {
			if err := p.carry(ctx, to, *s); ctx.Err() != nil {
				return sinks, err
			} else if err != nil {
				s.Error = err.Error()
			}
		}
	}
	return sinks, nil
}

// carry adds a sink, or has it follow what is new.
func (p *Plan) carry(ctx context.Context, to Notifier, s NamedSink) error {
	has, known, err := to.Sink(ctx, s.Name)
	if err != nil || !known {
		if err == nil {
			err = to.AddSink(ctx, s.Name, s.NewSink)
		}
		return err
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
