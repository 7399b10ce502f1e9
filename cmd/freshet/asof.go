package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// A sourceAsOf is a source with the version that was current at a time.
type sourceAsOf struct {
	Source  client.Source   `json:"source"`
	Version *client.Version `json:"version"` // nil if there was none yet
}

// versionAsOf returns the version of a source that was current at a time, nil if there was none.
func (c *connection) versionAsOf(ctx context.Context, id freshet.SourceID, at time.Time) (*client.Version, error) {
	v, err := c.Sources.VersionAt(ctx, id, at)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

// listAsOf lists sources with the versions that were current at a time.
func (l *listing) listAsOf(ctx context.Context, c *connection, at time.Time) error {
	found, err := c.Sources.List(ctx, l.query)
	if err != nil {
		return err
	}
	list := []sourceAsOf{}
	t := display.Table{Head: []string{"ID", "NAME", "VERSION", "SEEN", "TITLE"}, Short: map[string]int{"NAME": 30, "TITLE": 50}}
	for _, s := range found {
		if s.Of != "" && !l.pages && l.query.Text == "" {
			continue
		}
		v, err := c.versionAsOf(ctx, s.ID, at)
		if err != nil {
			return err
		}
		list = append(list, sourceAsOf{s, v})
		row := []string{string(s.ID), harmless(s.DisplayName()), "-", "-", ""}
		if v != nil {
			row[2], row[3], row[4] = fmt.Sprint(v.Number), v.SeenAt.Local().Format(time.DateTime), harmless(v.Title)
		}
		t.Add(each(row, display.Plain)...)
	}
	if l.json {
		return l.printJSON(list)
	}
	return t.Write(l.out, l.screen())
}

// showAsOf shows the version of a source that was current at a time.
func showAsOf(ctx context.Context, p *program, c *connection, s client.Source, at time.Time, asJSON bool) error {
	v, err := c.Sources.VersionAt(ctx, s.ID, at)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(sourceAsOf{s, &v})
	}
	lines := [][2]string{
		{"source", string(s.ID)}, {"name", s.DisplayName()}, {"version", fmt.Sprint(v.Number)}, {"seen", v.SeenAt.Local().Format(time.DateTime)},
		{"title", v.Title}, {"url", v.URL}, {"type", v.MediaType}, {"hash", v.Hash},
	}
	for i, line := range fieldLines(v.Fields) {
		name := ""
		if i == 0 {
			name = "values"
		}
		lines = append(lines, [2]string{name, line})
	}
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(p.out, "%s %s\n", p.screen().Dim(display.Pad(line[0], showIndent-1)), harmless(line[1]))
		}
	}
	return nil
}
