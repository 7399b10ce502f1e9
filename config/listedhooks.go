package config

import (
	"errors"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"freshet"
)

// A listedHook is where a webhook stands in the file.
type listedHook struct {
	node ast.Node
	path string
}

// admitHooks checks the webhooks against all settings.
func (d *document) admitHooks(s *Settings) {
	for _, w := range s.Webhooks {
		_, err := s.Sink(w, nil)
		if d.noSecrets && w.Secret == "" && !w.Unsigned {
			_, err = s.Fetch.CheckURL(w.URL)
		}
		if err != nil {
			at := d.hooks[w.Name]
			text := err.Error()
			if hint := freshet.HintOf(err); hint != "" {
				text += "; " + hint
			}
			d.report(at.node, at.path, "%s", text)
		}
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
