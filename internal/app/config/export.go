package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
)

// An Export writes a configuration file that [LoadToApply] reads, part after part.
type Export struct {
	to      io.Writer
	sources bool // the list of sources has begun
}

// NewExport returns an Export.
func NewExport(to io.Writer) *Export { return &Export{to: to} }

// Settings writes options that can be set while the daemon runs, by key, as they are written in the file. Keys that are
// not such options are left out.
func (e *Export) Settings(set map[string]string) error {
	s := Defaults(func(string) string { return "" })
	var doc yaml.MapSlice
	for _, o := range options {
		text, given := set[o.Key]
		if !given || !o.live {
			continue
		}
		if err := o.set(&s, text); err != nil {
			return fmt.Errorf("setting %s: %w", o.Key, err)
		}
		if o.items == nil {
			doc = placed(doc, o.Key, o.show(s))
		}
	}
	for _, list := range []yaml.MapItem{
		{Key: "levels", Value: each(s.Levels, showLevel)}, {Key: "strategies", Value: each(s.Strategies, showStrategy)}, {Key: "shares", Value: each(s.Limits.Shares, showGroupShare)},
	} {
		if len(list.Value.([]yaml.MapSlice)) > 0 {
			doc = append(doc, list)
		}
	}
	return e.part(doc)
}

// Queries writes the list of queries.
func (e *Export) Queries(list []queries.Query) error {
	if len(list) == 0 {
		return nil
	}
	return e.part(yaml.MapSlice{{Key: "queries", Value: each(list, showQuery)}})
}

// Sinks writes the list of sinks. A secret that is not a reference becomes one, and the result has the names of the
// secrets that have to be stored where the file is applied.
func (e *Export) Sinks(list []sinks.Sink) (secrets []string, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	shown := make([]yaml.MapSlice, 0, len(list))
	for _, s := range list {
		refer := func(part string, v profile.Value) profile.Value {
			if !strings.Contains(string(v), mask.Placeholder) {
				return v
			}
			name := secretName(s.Name + "-" + part)
			secrets = append(secrets, name)
			return profile.Value("${secret:" + name + "}")
		}
		s = sinks.Shown(s)
		s.URL = refer("url", s.URL)
		for _, of := range []map[string]profile.Value{s.Settings, s.Headers} {
			for name, v := range of {
				of[name] = refer(name, v)
			}
		}
		shown = append(shown, showSink(s))
	}
	return secrets, e.part(yaml.MapSlice{{Key: "sinks", Value: shown}})
}

// secretName returns a name that a stored secret can have.
func secretName(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, text)
}

// Source writes a source, with its URL as it is.
func (e *Export) Source(s freshet.Source) error {
	if !e.sources {
		e.sources = true
		if _, err := io.WriteString(e.to, "sources:\n"); err != nil {
			return err
		}
	}
	return e.part([]yaml.MapSlice{showSource(s)})
}

// part writes a part of the file, unless it is empty.
func (e *Export) part(value any) error {
	if doc, ok := value.(yaml.MapSlice); ok && len(doc) == 0 {
		return nil
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = e.to.Write(text)
	return err
}
