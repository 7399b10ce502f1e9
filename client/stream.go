package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"freshet/internal/freshet"
)

// Stream follows the change log from after a cursor. It yields events as they come until ctx is done, or an error when the
// connection breaks. Each event's Data.Cursor is where to go on after that. If after
// is not a place of this log the error is a *freshet.GoneError.
func (c *Client) Stream(ctx context.Context, after freshet.Place, which ChangeFilter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		q := query{"after": {after.String()}}
		which.ask(q)
		resp, err := c.send(ctx, http.MethodGet, "/changes/stream", url.Values(q), nil, nil)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			e, err := nextEvent(lines)
			if err != nil && ctx.Err() != nil {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// nextEvent reads the next server-sent event that has data.
func nextEvent(lines *bufio.Reader) (e Event, err error) {
	var data strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // a stream has no end of its own
			}
			return e, fmt.Errorf("read the stream of changes: %w", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if value, ok := strings.CutPrefix(line, "data: "); ok {
			data.WriteString(value + "\n")
		}
		if line != "" || data.Len() == 0 {
			continue
		}
		if err := json.Unmarshal([]byte(data.String()), &e); err != nil {
			return e, fmt.Errorf("read the stream of changes: %w", err)
		}
		return e, nil
	}
}
