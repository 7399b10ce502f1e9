package config

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/invalid"
)

// strategy returns a reader of one item of the list of strategies by tag.
func (d *document) strategy(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		var t freshet.TagStrategy
		before := len(d.Problems)
		d.mapping(n, path, []field{
			d.word("tag", &t.Tag),
			{"strategy", func(v ast.Node, path string) {
				text, ok := d.scalar(v, path)
				if !ok {
					return
				}
				var err error
				if t.Strategy, err = timetable.Parse(text); err != nil {
					d.report(d.resolve(v), path, "%v", invalid.ReasonOf(err))
				}
			}},
		})
		for _, other := range s.Strategies {
			if other.Tag == t.Tag && len(d.Problems) == before {
				d.report(n, path, "there is a strategy for the tag %q already", t.Tag)
			}
		}
		switch {
		case len(d.Problems) > before:
		case t.Tag == "":
			d.report(n, path, "has no tag; add the tag that it applies to")
		case t.Strategy.IsZero():
			d.report(n, path, "has no strategy; add one such as strategy: hour {5, 35}")
		default:
			s.Strategies = append(s.Strategies, t)
		}
	}
}

func showStrategy(t freshet.TagStrategy) yaml.MapSlice {
	return yaml.MapSlice{{Key: "tag", Value: t.Tag}, {Key: "strategy", Value: t.Strategy.String()}}
}
