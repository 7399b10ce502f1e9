package config

import (
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"freshet/internal/sched"
	"freshet/internal/units"
)

// share returns a reader of one item of the list of shares by tag.
func (d *document) share(s *Settings) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		var g sched.Share
		before := len(d.Problems)
		part := func(name string, to *float64) field {
			return field{name, func(v ast.Node, path string) {
				text, ok := d.scalar(v, path)
				if !ok {
					return
				}
				var err error
				if *to, err = units.ParseShare(text); err != nil {
					d.report(d.resolve(v), path, "%v", err)
				}
			}}
		}
		d.mapping(n, path, []field{d.word("tag", &g.Tag), part("min", &g.Min), part("max", &g.Max)})
		granted := g.Min
		for _, other := range s.Limits.Shares {
			granted += other.Min
			if other.Tag == g.Tag && len(d.Problems) == before {
				d.report(n, path, "there is a share for the tag %q already", g.Tag)
			}
		}
		switch {
		case len(d.Problems) > before:
		case g.Tag == "":
			d.report(n, path, "has no tag; add the tag that it applies to")
		case g.Min == 0 && g.Max == 0:
			d.report(n, path, "has neither min nor max; add one such as max: 30%%")
		case g.Max > 0 && g.Max < g.Min:
			d.report(n, path, "has a max of %s, below its min of %s", units.FormatShare(g.Max), units.FormatShare(g.Min))
		case granted > 1:
			d.report(n, path, "brings what all shares grant with min to %s, which is more than the budget", units.FormatShare(granted))
		default:
			s.Limits.Shares = append(s.Limits.Shares, g)
		}
	}
}

func showGroupShare(g sched.Share) yaml.MapSlice {
	item := yaml.MapSlice{{Key: "tag", Value: g.Tag}}
	if g.Min > 0 {
		item = append(item, yaml.MapItem{Key: "min", Value: units.FormatShare(g.Min)})
	}
	if g.Max > 0 {
		item = append(item, yaml.MapItem{Key: "max", Value: units.FormatShare(g.Max)})
	}
	return item
}
