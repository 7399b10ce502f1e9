package config

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A listedSource is a source of the file with the places of its parts.
type listedSource struct {
	freshet.Source
	node ast.Node
	path string
	at   map[string]ast.Node // by field, such as "url" or "select.css"
}

func (l listedSource) line() int { return firstToken(l.node).Position.Line }

// source reads one item of the list of sources: a URL, or a mapping.
func (d *document) source(n ast.Node, path string) {
	l := listedSource{node: n, path: path, at: map[string]ast.Node{"url": n}}
	before := len(d.Problems)
	if _, ok := d.resolve(n).(ast.ScalarNode); ok {
		l.URL, _ = d.scalar(n, path)
	} else {
		if d.fields == nil {
			d.fields = d.sourceFields()
		}
		d.reading = &l
		d.mapping(n, path, d.fields)
	}
	if l.URL == "" && len(d.Problems) == before {
		d.report(n, path, "the source has no url")
	}
	if l.URL != "" { // what is wrong with it otherwise has been said
		d.sources = append(d.sources, l)
	}
}

// sourceFields returns what can be said of the source that is being read, nested as the names are.
func (d *document) sourceFields() (fields []field) {
	sections := map[string][]field{}
	for _, f := range freshet.SourceFields() {
		read := field{f.Name, func(v ast.Node, path string) { d.reading.read(d, f, v, path) }}
		section, part, nested := strings.Cut(f.Name, ".")
		if !nested {
			fields = append(fields, read)
			continue
		}
		if _, met := sections[section]; !met {
			fields = append(fields, field{section, func(v ast.Node, path string) {
				d.reading.at[section] = v
				d.mapping(v, path, sections[section])
			}})
		}
		read.name = part
		sections[section] = append(sections[section], read)
	}
	return fields
}

// read reads a field and remembers where it was.
func (l *listedSource) read(d *document, f freshet.SourceField, v ast.Node, path string) {
	l.at[f.Name] = v
	var texts []string
	if f.Structured {
		value, ok := d.value(v, path, func(n ast.Node, inside string) {
			l.at[f.Name+strings.TrimPrefix(inside, path)] = n
		})
		if !ok {
			return
		}
		texts = []string{value}
	} else if f.List {
		n := 0
		texts = d.texts(v, path, func(item ast.Node, _, _ string) {
			l.at[fmt.Sprintf("%s[%d]", f.Name, n)] = item
			n++
		})
	} else if text, ok := d.scalar(v, path); ok {
		texts = []string{text}
	} else {
		return
	}
	if err := f.Read(&l.Source, texts...); err != nil {
		d.report(d.resolve(v), path, "%v", invalid.ReasonOf(err))
	}
}

// A sourceAdmission checks the sources of a file against all settings and against each other,
// and adds them to the settings. It keeps the lines of those that it has seen.
type sourceAdmission struct {
	*document
	to   *Settings
	ids  map[freshet.SourceID]int
	keys map[[16]byte]int // by a hash of URL and recipe
}

// admit checks the sources of the file and adds them to s.
func (d *document) admit(s *Settings) {
	n := len(d.sources) + len(d.long.items)
	a := sourceAdmission{d, s, make(map[freshet.SourceID]int), make(map[[16]byte]int, n)}
	a.admitRead()
	line, err := d.long.each(func(i int, item ast.Node, before int) {
		d.before = before
		d.source(item, fmt.Sprintf("sources[%d]", i))
		a.admitRead()
	})
	if err != nil {
		d.before = line
		d.syntax(err)
	}
	d.before = 0
}

// admitRead admits the sources that have been read, and forgets where their parts are.
func (d *sourceAdmission) admitRead() {
	for _, l := range d.sources {
		checked, err := extract.CheckSource(l.Source, d.to.CheckURL)
		if err != nil {
			d.blame(l, "url", err)
			d.refused = true
		} else {
			d.to.Sources.Add(checked)
			if err := d.checkRequest(d.to, checked); err != nil {
				d.blame(l, "request", err)
			}
		}
		l.Source = checked
		if other, twice := d.ids[l.ID]; twice {
			d.report(d.resolve(l.at["id"]), l.path+".id", "the id %q is already used by the source in line %d", l.ID, other)
		}
		key := [16]byte{}
		sum := sha256.Sum256([]byte(l.URL + " " + l.Key()))
		copy(key[:], sum[:])
		if other, twice := d.keys[key]; twice {
			d.report(d.resolve(l.at["url"]), l.path+".url", "the same source is already in line %d; use a different selector, or remove one of them", other)
		}
		d.keys[key] = d.before + l.line()
		if l.ID != "" {
			d.ids[l.ID] = d.before + l.line()
		}
	}
	clear(d.sources)
	d.sources = d.sources[:0]
}

// checkRequest judges how a source is asked for, by where it is going to come from.
func (d *document) checkRequest(s *Settings, listed freshet.Source) error {
	if d.origin == freshet.FromAPI {
		return s.CheckForeign(listed)
	}
	return s.checkRequest(listed)
}

// blame reports an error at the field that it names, or else at the one given.
func (d *document) blame(l listedSource, field string, err error) {
	path := field
	if invalid, ok := invalid.FieldOf(err); ok {
		for known := invalid; known != ""; known = outer(known) {
			if l.at[known] != nil {
				field, path = known, invalid
				break
			}
		}
	}
	text := invalid.ReasonOf(err).Error()
	if hint := freshet.HintOf(err); hint != "" {
		text += "; " + hint
	}
	d.report(d.resolve(cmp.Or(l.at[field], l.node)), strings.TrimPrefix(l.path+"."+path, "."), "%s", text)
}

// outer returns the path of what a field is in: "read" of "read[2]", and
// "read[2]" of "read[2].css".
func outer(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// tidyTags returns tags sorted and without repeats.
func tidyTags(tags []string) []string {
	slices.Sort(tags)
	return slices.Compact(tags)
}
