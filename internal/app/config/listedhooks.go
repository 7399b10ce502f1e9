package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// A listedHook is where a webhook stands in the file.
type listedHook struct {
	node ast.Node
	path string
}

// admitHooks checks the webhooks and the other sinks against all settings.
func (d *document) admitHooks(s *Settings) {
	with := s.Outlets(d.env, nil, nil)
	for _, w := range s.Webhooks {
		if w.Secret == "" && !w.Unsigned && w.SecretEnv == "" {
			continue // what is wrong with it has been said
		}
		checked := w.sink()
		checked.Origin = d.origin
		if w.SecretEnv != "" && w.Secret != "" {
			checked.Settings["secret"] = literal(w.Secret) // it is known, so it can be judged
		}
		if _, err := sinks.Check(with, checked); err != nil {
			at := d.hooks[w.Name]
			if field, ok := invalid.FieldOf(err); ok {
				err = freshet.WithHint(fmt.Errorf("webhook %s: %s: %w", w.Name, strings.TrimPrefix(field, "settings."), invalid.ReasonOf(err)), freshet.HintOf(err))
			}
			text := err.Error()
			if hint := freshet.HintOf(err); hint != "" {
				text += "; " + hint
			}
			d.report(at.node, at.path, "%s", text)
		}
	}
	for i, listed := range s.Sinks {
		checked, err := sinks.Check(with, listed)
		if err != nil {
			d.blameSink(d.sinks[i], err)
			continue
		}
		s.Sinks[i] = checked
		for _, id := range checked.Queries {
			if !slices.ContainsFunc(s.Queries, func(q queries.Query) bool { return q.ID == id }) {
				s.Doubts = append(s.Doubts, fmt.Sprintf("%s.queries: %s is not among the queries of this file; until it is added otherwise, the sink gets none of its matches", d.sinks[i].path, id))
			}
		}
	}
}

// blameSink reports what is wrong with a sink, at the field that is named or the nearest
// to it.
func (d *document) blameSink(l listedSource, err error) {
	named, _ := invalid.FieldOf(err)
	node := l.node
	for field := named; field != ""; field = outer(field) {
		if l.at[field] != nil {
			node = d.resolve(l.at[field])
			break
		}
	}
	text := invalid.ReasonOf(err).Error()
	if hint := freshet.HintOf(err); hint != "" {
		text += "; " + hint
	}
	d.report(node, strings.TrimSuffix(l.path+"."+named, "."), "%s", text)
}

// sink returns a reader of one item of the list of sinks.
func (d *document) sink(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		read := sinks.Sink{Origin: d.origin}
		l := listedSource{node: n, path: path, at: map[string]ast.Node{}}
		before := len(d.Problems)
		word := func(name string, to func(string)) field {
			return field{name, func(v ast.Node, path string) {
				l.at[name] = v
				if text, ok := d.scalar(v, path); ok {
					to(text)
				}
			}}
		}
		values := func(name string, to *map[string]profile.Value) field {
			return field{name, func(v ast.Node, path string) {
				text, ok := d.value(v, path, func(n ast.Node, inside string) { l.at[name+strings.TrimPrefix(inside, path)] = n })
				if !ok {
					return
				}
				if err := json.Unmarshal([]byte(text), to); err != nil {
					d.report(d.resolve(v), path, "expected names and values; a value is a text, or a secret such as ${env:NAME} or {secret: {env: NAME}}")
				}
			}}
		}
		d.mapping(n, path, []field{
			word("name", func(v string) { read.Name = v }), word("kind", func(v string) { read.Kind = v }),
			word("url", func(v string) { read.URL = profile.Value(v) }), word("template", func(v string) { read.Template = v }),
			word("paused", func(v string) {
				paused, err := strconv.ParseBool(v)
				if err != nil {
					d.report(d.resolve(l.at["paused"]), path+".paused", "%q is not true or false", v)
				}
				read.Paused = paused
			}),
			{"tags", func(v ast.Node, path string) { l.at["tags"], read.Tags = v, tidyTags(d.texts(v, path, nil)) }},
			{"sources", func(v ast.Node, path string) {
				l.at["sources"] = v
				for _, id := range d.texts(v, path, nil) {
					read.Sources = append(read.Sources, freshet.SourceID(id))
				}
			}},
			{"queries", func(v ast.Node, path string) {
				l.at["queries"] = v
				d.texts(v, path, func(item ast.Node, _, id string) {
					l.at[fmt.Sprintf("queries[%d]", len(read.Queries))] = item
					read.Queries = append(read.Queries, queries.ID(id))
				})
			}},
			values("settings", &read.Settings), values("headers", &read.Headers),
		})
		if len(d.Problems) > before {
			return
		}
		if read.Name == "" {
			d.report(n, path, "the sink has no name; add one, because its position in the log is stored under it")
			return
		}
		if other, twice := d.hooks[read.Name]; twice {
			d.report(n, path, "the name %q is already used in line %d", read.Name, firstToken(other.node).Position.Line)
			return
		}
		d.hooks[read.Name] = listedHook{n, path}
		d.sinks = append(d.sinks, l)
		s.Sinks = append(s.Sinks, read)
	}
}

// webhook returns a reader of one item of the list of webhooks.
func (d *document) webhook(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		var w Webhook
		before := len(d.Problems)
		d.mapping(n, path, []field{
			d.word("name", &w.Name), d.word("url", &w.URL),
			d.word("secret", &w.Secret), d.word("secret_env", &w.SecretEnv),
			{"unsigned", func(v ast.Node, path string) {
				text, ok := d.scalar(v, path)
				var err error
				if w.Unsigned, err = strconv.ParseBool(text); ok && err != nil {
					d.report(d.resolve(v), path, "%q is not true or false", text)
				}
			}},
			{"tags", func(v ast.Node, path string) { w.Tags = tidyTags(d.texts(v, path, nil)) }},
			{"sources", func(v ast.Node, path string) {
				for _, id := range d.texts(v, path, nil) {
					w.Sources = append(w.Sources, freshet.SourceID(id))
				}
			}},
		})
		if len(d.Problems) > before {
			return
		}
		if err := w.Complete(d.env); err != nil && !(d.noSecrets && errors.Is(err, errUnset)) {
			d.report(n, path, "%v", err)
			return
		}
		if d.origin == freshet.FromAPI {
			w.SecretEnv = "" // the variable is of this machine; the daemon is sent what is in it
		}
		if other, twice := d.hooks[w.Name]; twice {
			d.report(n, path, "the name %q is already used by the webhook in line %d", w.Name, firstToken(other.node).Position.Line)
			return
		}
		d.hooks[w.Name] = listedHook{n, path}
		s.Webhooks = append(s.Webhooks, w)
	}
}

func (d *document) word(name string, to *string) field {
	return field{name, func(v ast.Node, path string) { *to, _ = d.scalar(v, path) }}
}
