package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"freshet/internal/safeyaml"
)

// An itemReader reads one item of a list of the file into settings.
type itemReader func(*document, *Settings) func(ast.Node, string)

// listOptions are lists of the file that can be set while the daemon runs, each as a whole and
// written as in the file.
var listOptions = []Option{
	{Key: "levels", Help: "service levels and aims of tags, such as [{tag: news, level: 90% within 10m}]", live: true,
		items: (*document).level,
		set:   setItems((*document).level, func(s *Settings, read Settings) { s.Levels = read.Levels }),
		show:  func(s Settings) any { return showItems(each(s.Levels, showLevel)) }},
	{Key: "strategies", Help: "when to poll sources with a tag, such as [{tag: news, strategy: 'hour {5, 35}'}]", live: true,
		items: (*document).strategy,
		set:   setItems((*document).strategy, func(s *Settings, read Settings) { s.Strategies = read.Strategies }),
		show:  func(s Settings) any { return showItems(each(s.Strategies, showStrategy)) }},
	{Key: "shares", Help: "parts of the budget for tags, such as [{tag: news, min: 20%, max: 50%}]", live: true,
		items: (*document).share,
		set:   setItems((*document).share, func(s *Settings, read Settings) { s.Limits.Shares = read.Limits.Shares }),
		show:  func(s Settings) any { return showItems(each(s.Limits.Shares, showGroupShare)) }},
}

// setItems returns a reader of a whole list, which take puts in its place. Nothing is an empty list.
func setItems(read itemReader, take func(to *Settings, read Settings)) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		var found Settings
		if strings.TrimSpace(v) != "" {
			tree, err := safeyaml.Parse([]byte(v))
			if err != nil || len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
				return fmt.Errorf("%.80q is not a list as in the configuration file", v)
			}
			d := document{anchors: map[string]ast.Node{}}
			d.each(tree.Docs[0].Body, "", read(&d, &found))
			if len(d.Problems) > 0 {
				d.sort()
				return errors.New(d.Problems[0].Text)
			}
		}
		take(s, found)
		return nil
	}
}

// showItems writes a list in one line, as JSON, which is YAML too. None is "".
func showItems(list []yaml.MapSlice) string {
	var items []string
	for _, item := range list {
		var parts []string
		for _, part := range item {
			value, _ := json.Marshal(part.Value) // a text
			parts = append(parts, fmt.Sprintf("%q: %s", part.Key, value))
		}
		items = append(items, "{"+strings.Join(parts, ", ")+"}")
	}
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ", ") + "]"
}
