package exporter

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"freshet/client"
	"freshet/internal/freshet"
)

// A Line is a version as it is written.
type Line struct {
	Version client.Version `json:"version"`
	Text    *string        `json:"text,omitempty"`
	Change  *client.Change `json:"change,omitempty"`
}

// jsonLines returns an encoder of JSON lines.
func jsonLines(to io.Writer) *json.Encoder {
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	return lines
}

// Lines writes versions with their texts as JSON lines to a file or, if path is "", to a stream. It returns how many.
func (s *Selection) Lines(ctx context.Context, path string, stream io.Writer) (n int, err error) {
	o, err := s.create("versions jsonl", path, stream)
	if err != nil {
		return 0, err
	}
	lines := jsonLines(o)
	changes := changeReader{Selection: s}
	err = s.eachVersion(ctx, o.Place, func(of source, v client.Version) error {
		text, err := s.Client.Sources.Text(ctx, of.id, v.Number)
		if errors.Is(err, freshet.ErrNotFound) { // pruned meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		line := Line{Version: v, Text: new(string)}
		*line.Text = string(text)
		if line.Change, err = changes.changeTo(ctx, v); err != nil {
			return err
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
		o.Place = place{of.id, v.Number}
		return o.reached()
	})
	return o.Lines, o.end(err)
}
