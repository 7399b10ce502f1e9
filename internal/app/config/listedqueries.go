package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"freshet/internal/invalid"
	"freshet/internal/queries"
)

// queryKeys are what can be said of a query, as the API has it.
var queryKeys = []string{"id", "name", "scope", "when", "trigger", "value", "importance", "window", "digest", "quiet", "rate", "repeat", "paused"}

// query returns a reader of one item of the list of queries.
func (d *document) query(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		l := listedSource{node: n, path: path, at: map[string]ast.Node{}}
		before := len(d.Problems)
		said := map[string]json.RawMessage{}
		var fields []field
		for _, key := range queryKeys {
			fields = append(fields, field{key, func(v ast.Node, path string) {
				text, ok := d.value(v, path, func(n ast.Node, inside string) { l.at[key+strings.TrimPrefix(inside, path)] = n })
				if ok {
					said[key] = json.RawMessage(text)
				}
			}})
		}
		d.mapping(n, path, fields)
		if len(d.Problems) > before {
			return
		}
		read, err := parseQuery(said)
		if err != nil {
			d.blameSink(l, err)
			return
		}
		if read.ID == "" {
			read.ID = queries.IDFor(read.Name)
		}
		for i, other := range s.Queries {
			if other.ID == read.ID {
				d.report(n, path, "the id %q is already that of the query in line %d; give one of them another id", read.ID, d.queries[i].line())
				return
			}
		}
		read.Origin = d.origin
		d.queries = append(d.queries, l)
		s.Queries = append(s.Queries, read)
	}
}

// parseQuery reads a query. The error names the field.
func parseQuery(said map[string]json.RawMessage) (read queries.Query, err error) {
	for _, key := range queryKeys {
		if said[key] == nil {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{key: said[key]})
		if err != nil {
			return read, err
		}
		if err := json.Unmarshal(one, &read); err == nil {
			continue
		} else if _, ok := invalid.FieldOf(err); ok {
			return read, err
		}
		return read, invalid.Errorf(key, "%.80s is not what belongs here", said[key])
	}
	if said["importance"] != nil && read.Importance == 0 { // which would mean that nothing was said
		return read, invalid.Errorf("importance", "must be above 0")
	}
	if read.Name == "" {
		read.Name = string(read.ID)
	}
	return read, nil
}

// admitQueries checks the queries of the file against its sources, if these are all known.
func (d *document) admitQueries(s *Settings) {
	if d.refused || len(s.Queries) == 0 {
		return
	}
	schemas := make([]queries.Schema, len(s.Queries))
	for _, source := range s.Sources.All() {
		for i, listed := range s.Queries {
			if listed.Scope.Has(source.ID, source.Tags, source.Of) {
				schemas[i].Add(source.Recipe)
			}
		}
	}
	for i, listed := range s.Queries {
		report, err := queries.Check(listed, &schemas[i])
		if err != nil {
			d.blameSink(d.queries[i], err)
			continue
		}
		trigger := listed.Trigger
		s.Queries[i] = report.Query
		s.Queries[i].Trigger = trigger // a query of an earlier version keeps its own
		for _, w := range report.Warnings {
			s.Doubts = append(s.Doubts, fmt.Sprintf("%s: %s", d.queries[i].path, w))
		}
	}
}
