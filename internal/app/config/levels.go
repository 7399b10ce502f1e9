package config

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

// level returns a reader of one item of the list of service levels by tag.
func (d *document) level(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		var t freshet.TagLevel
		before := len(d.Problems)
		d.mapping(n, path, []field{
			d.word("tag", &t.Tag),
			{"level", func(v ast.Node, path string) {
				text, ok := d.scalar(v, path)
				if !ok {
					return
				}
				var err error
				if t.Level, err = objective.ParseServiceLevel(text); err != nil {
					d.report(d.resolve(v), path, "%v", invalid.ReasonOf(err))
				}
			}},
			{"aim", func(v ast.Node, path string) {
				text, ok := d.scalar(v, path)
				if !ok {
					return
				}
				var err error
				if t.Aim, err = objective.ParseObjective(text); err != nil {
					d.report(d.resolve(v), path, "%v", invalid.ReasonOf(err))
				}
			}},
		})
		switch {
		case len(d.Problems) > before:
		case t.Tag == "":
			d.report(n, path, "has no tag; add the tag that it applies to")
		case t.Level == objective.ServiceLevel{} && t.Aim == "":
			d.report(n, path, "has no level; add one such as level: 90%% within 10m, or an aim such as aim: freshness")
		default:
			s.Levels = append(s.Levels, t)
		}
	}
}

func showLevel(t freshet.TagLevel) yaml.MapSlice {
	item := yaml.MapSlice{{Key: "tag", Value: t.Tag}}
	if t.Level != (objective.ServiceLevel{}) {
		item = append(item, yaml.MapItem{Key: "level", Value: t.Level.String()})
	}
	if t.Aim != "" {
		item = append(item, yaml.MapItem{Key: "aim", Value: string(t.Aim)})
	}
	return item
}
