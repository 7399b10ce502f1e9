package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// YAML returns the settings as a configuration file, without secrets.
func (s *Settings) YAML() ([]byte, error) {
	text, err := yaml.Marshal(s.effective())
	if err != nil {
		return nil, fmt.Errorf("print the settings: %w", err)
	}
	return text, nil
}

// Plain returns the same as encoding/json writes it.
func (s *Settings) Plain() any { return orderless(s.effective()) }

// effective returns the settings in the shape of a configuration file. What is
// at a default of a lower package is left out.
func (s *Settings) effective() yaml.MapSlice {
	var doc yaml.MapSlice
	for _, o := range options {
		if o.items != nil {
			continue // they come below
		}
		value := o.show(*s)
		switch v := value.(type) {
		case []netip.Prefix:
			value = texts(v)
		case []uint16:
			value = texts(v)
		}
		if unset(value) && !o.zero && o.Key != "allow_cidr" {
			continue
		}
		doc = placed(doc, o.Key, value)
	}
	doc = append(doc, yaml.MapItem{Key: "webhooks", Value: each(s.Webhooks, showWebhook)})
	if len(s.Sinks) > 0 {
		doc = append(doc, yaml.MapItem{Key: "sinks", Value: each(s.Sinks, func(s sinks.Sink) yaml.MapSlice { return showSink(sinks.Shown(s)) })})
	}
	if len(s.Queries) > 0 {
		doc = append(doc, yaml.MapItem{Key: "queries", Value: each(s.Queries, showQuery)})
	}
	if len(s.Users) > 0 {
		doc = append(doc, yaml.MapItem{Key: "users", Value: each(s.Users, showUser)})
	}
	if len(s.Levels) > 0 {
		doc = append(doc, yaml.MapItem{Key: "levels", Value: each(s.Levels, showLevel)})
	}
	if len(s.Strategies) > 0 {
		doc = append(doc, yaml.MapItem{Key: "strategies", Value: each(s.Strategies, showStrategy)})
	}
	if len(s.Limits.Shares) > 0 {
		doc = append(doc, yaml.MapItem{Key: "shares", Value: each(s.Limits.Shares, showGroupShare)})
	}
	if len(s.Requests) > 0 {
		doc = append(doc, yaml.MapItem{Key: "requests", Value: s.showRequests()})
	}
	return append(doc,
		yaml.MapItem{Key: "sources", Value: showSources(s.Sources)})
}

// placed returns a document with a value at a key, whose dots lead into sections.
func placed(doc yaml.MapSlice, key string, value any) yaml.MapSlice {
	section, rest, nested := strings.Cut(key, ".")
	if !nested {
		return append(doc, yaml.MapItem{Key: section, Value: value})
	}
	if last := len(doc) - 1; last < 0 || doc[last].Key != section {
		doc = append(doc, yaml.MapItem{Key: section, Value: yaml.MapSlice{}})
	}
	last := &doc[len(doc)-1]
	last.Value = placed(last.Value.(yaml.MapSlice), rest, value)
	return doc
}

func showWebhook(w Webhook) yaml.MapSlice {
	return present(yaml.MapSlice{
		{Key: "name", Value: w.Name}, {Key: "url", Value: mask.URL(w.URL)},
		{Key: "secret_env", Value: w.SecretEnv}, {Key: "unsigned", Value: w.Unsigned},
		{Key: "tags", Value: texts(w.Tags)}, {Key: "sources", Value: texts(w.Sources)},
	})
}

// showQuery returns a query with its parts in the order in which they are documented.
func showQuery(q queries.Query) (shown yaml.MapSlice) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil // it has been read from such a text
	}
	var said yaml.MapSlice // of which JSON is a part
	if yaml.Unmarshal(text, &said) != nil {
		return nil
	}
	for _, key := range queryKeys {
		for _, item := range said {
			if item.Key == key {
				shown = append(shown, item)
			}
		}
	}
	return shown
}

func showSink(s sinks.Sink) yaml.MapSlice {
	values := func(of map[string]profile.Value) (shown yaml.MapSlice) {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			shown = append(shown, yaml.MapItem{Key: name, Value: string(of[name])})
		}
		return shown
	}
	return present(yaml.MapSlice{
		{Key: "name", Value: s.Name}, {Key: "kind", Value: s.Kind}, {Key: "url", Value: string(s.URL)},
		{Key: "queries", Value: texts(s.Queries)}, {Key: "tags", Value: texts(s.Tags)}, {Key: "sources", Value: texts(s.Sources)},
		{Key: "settings", Value: values(s.Settings)}, {Key: "headers", Value: values(s.Headers)},
		{Key: "template", Value: s.Template}, {Key: "paused", Value: s.Paused},
	})
}

func (s *Settings) showRequests() (shown yaml.MapSlice) {
	for _, name := range slices.Sorted(maps.Keys(s.Requests)) {
		var value any
		if text, err := json.Marshal(s.Requests[name]); err == nil && json.Unmarshal(text, &value) == nil {
			shown = append(shown, yaml.MapItem{Key: name, Value: value})
		}
	}
	return shown
}

// showSources returns sources as the file has them.
func showSources(list freshet.PackedSources) []yaml.MapSlice {
	shown := make([]yaml.MapSlice, 0, list.Len())
	for _, s := range list.All() {
		s.URL = mask.URL(s.URL)
		shown = append(shown, showSource(s))
	}
	return shown
}

func showSource(s freshet.Source) (shown yaml.MapSlice) {
	for _, f := range freshet.SourceFields() {
		texts := f.Show(&s)
		if len(texts) == 0 {
			continue
		}
		section, part, nested := strings.Cut(f.Name, ".")
		if !nested {
			shown = append(shown, yaml.MapItem{Key: section, Value: inYAML(f, texts)})
			continue
		}
		if last := len(shown) - 1; last < 0 || shown[last].Key != section {
			shown = append(shown, yaml.MapItem{Key: section, Value: yaml.MapSlice{}})
		}
		last := &shown[len(shown)-1]
		last.Value = append(last.Value.(yaml.MapSlice), yaml.MapItem{Key: part, Value: inYAML(f, texts)})
	}
	return shown
}

// inYAML returns the value of a field as YAML has it.
func inYAML(f freshet.SourceField, texts []string) any {
	if f.List {
		return texts
	}
	switch f.Kind {
	case "float":
		if x, err := strconv.ParseFloat(texts[0], 64); err == nil {
			return x
		}
	case "int":
		if n, err := strconv.Atoi(texts[0]); err == nil {
			return n
		}
	case "bool":
		return texts[0] == "true"
	case "JSON":
		var value any
		if err := json.Unmarshal([]byte(texts[0]), &value); err == nil {
			return value
		}
	}
	return texts[0]
}

// present drops the items that say nothing.
func present(items yaml.MapSlice) (kept yaml.MapSlice) {
	for _, item := range items {
		if !unset(item.Value) {
			kept = append(kept, item)
		}
	}
	return kept
}

// unset reports whether a value says nothing.
func unset(value any) bool {
	switch v := value.(type) {
	case string:
		return v == "" || v == "0" || v == "0s"
	case int:
		return v == 0
	case float64:
		return v == 0
	case bool:
		return !v
	case []string:
		return len(v) == 0
	case yaml.MapSlice:
		return len(v) == 0
	}
	return false
}

func texts[T any](list []T) []string {
	return each(list, func(v T) string { return fmt.Sprint(v) })
}

// each returns what becomes of the items of a list.
func each[T, R any](list []T, of func(T) R) []R {
	made := make([]R, 0, len(list))
	for _, v := range list {
		made = append(made, of(v))
	}
	return made
}

// orderless turns what was made for YAML into what encoding/json writes.
func orderless(v any) any {
	switch v := v.(type) {
	case yaml.MapSlice:
		m := map[string]any{}
		for _, item := range v {
			m[fmt.Sprint(item.Key)] = orderless(item.Value)
		}
		return m
	case []yaml.MapSlice:
		return each(v, func(m yaml.MapSlice) any { return orderless(m) })
	}
	return v
}

// NeedRestart returns the keys of options that differ in to and are read only at the
// start.
func (s *Settings) NeedRestart(to Settings) (keys []string) {
	for _, o := range options {
		if !o.live && fmt.Sprint(o.show(*s)) != fmt.Sprint(o.show(to)) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}
