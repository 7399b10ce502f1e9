package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"freshet"
	"freshet/config"
	"freshet/content"
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
	before := len(d.problems)
	if _, ok := d.resolve(n).(ast.ScalarNode); ok {
		l.URL, _ = d.scalar(n, path)
	} else {
		d.mapping(n, path, l.fields(d))
	}
	if l.URL == "" && len(d.problems) == before {
		d.report(n, path, "the source has no url")
	}
	if l.URL != "" { // what is wrong with it otherwise has been said
		d.sources = append(d.sources, l)
	}
}

func (l *listedSource) fields(d *document) []field {
	word := func(name string, to *string) field {
		return l.field(name, d, func(text string) error { *to = text; return nil })
	}
	return []field{
		word("url", &l.URL),
		l.field("id", d, func(text string) error {
			if l.ID = freshet.SourceID(text); !freshet.ValidSourceID(l.ID) {
				return fmt.Errorf("%q cannot be an id; use up to 64 letters, digits, '.', '_' and '-'", text)
			}
			return nil
		}),
		word("name", &l.Name),
		{"tags", func(v ast.Node, path string) { l.Tags = tidyTags(d.texts(v, path, nil)) }},
		{"select", func(v ast.Node, path string) {
			l.at["select.css"], l.at["select.jsonpath"], l.at["select.kind"] = v, v, v
			d.mapping(v, path, []field{
				word("select.css", &l.Recipe.CSS).within("select"),
				word("select.jsonpath", &l.Recipe.JSONPath).within("select"),
				l.field("select.kind", d, func(text string) error {
					l.Recipe.Kind = freshet.Kind(strings.TrimPrefix(text, "auto"))
					return nil
				}).within("select"),
			})
		}},
		l.field("weight", d, func(text string) (err error) {
			l.Weight, err = strconv.ParseFloat(text, 64)
			if err != nil || !(l.Weight > 0) || l.Weight > 1e6 {
				return fmt.Errorf("%q is not a number above 0 and up to a million", text)
			}
			return nil
		}),
		l.field("life", d, func(text string) (err error) {
			l.Life, err = freshet.ParseLife(text)
			return reason(err)
		}),
		l.field("urgency", d, func(text string) (err error) {
			l.Urgency, err = freshet.ParseUrgency(text)
			return reason(err)
		}),
		l.field("cost", d, func(text string) (err error) {
			l.Cost, err = strconv.ParseFloat(text, 64)
			if err != nil || !(l.Cost > 0) || l.Cost > 1e6 {
				return fmt.Errorf("%q is not a number above 0 and up to a million", text)
			}
			return nil
		}),
		l.field("paused", d, func(text string) (err error) {
			if l.Paused, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("%q is neither true nor false", text)
			}
			return nil
		}),
		l.span("min_gap", d, &l.MinGap),
		l.span("max_gap", d, &l.MaxGap),
		l.field("level", d, func(text string) (err error) {
			l.Level, err = freshet.ParseServiceLevel(text)
			return reason(err)
		}),
		{"keep", func(v ast.Node, path string) {
			d.mapping(v, path, []field{
				l.span("age", d, &l.Keep.Age),
				l.field("versions", d, func(text string) (err error) {
					if l.Keep.Versions, err = strconv.Atoi(text); err != nil || l.Keep.Versions < 0 {
						return fmt.Errorf("%q is not a whole number", text)
					}
					return nil
				}),
				l.field("bytes", d, func(text string) (err error) { l.Keep.Bytes, err = freshet.ParseSize(text); return err }),
			})
		}},
	}
}

// field reads a single value and remembers where it was.
func (l *listedSource) field(name string, d *document, set func(text string) error) field {
	return field{name, func(v ast.Node, path string) {
		l.at[name] = v
		if text, ok := d.scalar(v, path); ok {
			if err := set(text); err != nil {
				d.report(d.resolve(v), path, "%v", err)
			}
		}
	}}
}

func (l *listedSource) span(name string, d *document, to *time.Duration) field {
	return l.field(name, d, func(text string) (err error) { *to, err = freshet.ParseDuration(text); return err })
}

// within returns the field under the name that it has inside of a section.
func (f field) within(section string) field {
	f.name = strings.TrimPrefix(f.name, section+".")
	return f
}

// admit checks the sources of the file against all settings and against each
// other, and adds them to s.
func (d *document) admit(s *config.Settings) {
	ids, keys := map[freshet.SourceID]listedSource{}, map[string]listedSource{}
	for _, l := range d.sources {
		var err error
		if l.URL, err = s.Fetch.CheckURL(l.URL); err != nil {
			d.blame(l, "url", err)
			continue
		}
		if err := content.Check(l.Recipe); err != nil {
			d.blame(l, "select.css", err)
			continue
		}
		if l.MaxGap > 0 && l.MinGap > l.MaxGap {
			d.report(d.resolve(l.at["min_gap"]), l.path+".min_gap", "%s is more than max_gap, %s", freshet.FormatDuration(l.MinGap), freshet.FormatDuration(l.MaxGap))
		}
		if other, twice := ids[l.ID]; twice && l.ID != "" {
			d.report(d.resolve(l.at["id"]), l.path+".id", "%q is the id of the source in line %d already", l.ID, other.line())
		}
		key := l.URL + " " + l.Recipe.Key()
		if other, twice := keys[key]; twice {
			d.report(d.resolve(l.at["url"]), l.path+".url", "the same source is in line %d already; give them different selectors or drop one", other.line())
		}
		ids[l.ID], keys[key] = l, l
		l.Origin = freshet.FromFile
		s.Sources = append(s.Sources, l.Source)
	}
}

// blame reports an error at the field that it names, or else at the one given.
func (d *document) blame(l listedSource, field string, err error) {
	if invalid, ok := invalidField(err); ok && l.at[invalid] != nil {
		field = invalid
	}
	text := reason(err).Error()
	if hint := freshet.HintOf(err); hint != "" {
		text += "; " + hint
	}
	d.report(d.resolve(cmp.Or(l.at[field], l.node)), l.path+"."+field, "%s", text)
}

// tidyTags returns tags sorted and without repeats.
func tidyTags(tags []string) []string {
	slices.Sort(tags)
	return slices.Compact(tags)
}
