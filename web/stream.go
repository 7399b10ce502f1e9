package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"freshet"
	"freshet/deliver"
)

const (
	heartbeat     = 15 * time.Second // between signs of life on a quiet stream
	writePatience = 30 * time.Second // for a client to take what it is sent
	streamPage    = 100              // changes read at once
)

func (a *api) routeStream(h huma.API, tags []string) {
	route(h, a, huma.Operation{
		OperationID: "stream-changes", Method: http.MethodGet, Path: "/api/v1/changes/stream", Tags: tags,
		Summary: "Follow the change log as server-sent events",
		Description: "Every event is called change, has the cursor as its id and a CloudEvent as its data. " +
			"The stream goes on after Last-Event-ID, or else after the cursor given, or else after the end of the log.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.streamChanges)
}

type streamInput struct {
	LastEventID string           `header:"Last-Event-ID" doc:"The cursor to go on after; wins over after"`
	After       string           `query:"after" doc:"The cursor to go on after"`
	Source      freshet.SourceID `query:"source" doc:"Only changes of this source"`
}

// place returns the cursor that the stream is to go on after, if it names one.
func (in *streamInput) place() (at freshet.Cursor, given bool, err error) {
	text, location := in.LastEventID, "header.Last-Event-ID"
	if text == "" {
		text, location = in.After, "query.after"
	}
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, false, invalid(location, "is not a cursor", text)
	}
	return freshet.Cursor(n), true, nil
}

func (a *api) streamChanges(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	at, given, err := in.place()
	if err != nil {
		return nil, err
	}
	if !given {
		if at, err = a.Store.LastChange(ctx); err != nil {
			return nil, fmt.Errorf("end of the change log: %w", err)
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		s := &stream{api: a, tail: tail{store: a.Store, at: at, source: in.Source}, w: w, control: http.NewResponseController(w)}
		err := s.run(r.Context(), given)
		if err != nil && r.Context().Err() == nil {
			a.Log.Debug("a stream has ended", "at", s.tail.at, "err", err)
		}
	}}, nil
}

// A stream is one client that follows the change log.
type stream struct {
	*api
	tail    tail
	w       http.ResponseWriter
	control *http.ResponseController
	pending bytes.Buffer // to be sent at once
}

// run sends changes until the client or the program ends it.
func (s *stream) run(ctx context.Context, given bool) error {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	s.w.WriteHeader(http.StatusOK)
	s.pending.WriteString("retry: 2000\n")
	if !given {
		fmt.Fprintf(&s.pending, ": no place was given; this begins at the end of the log, after %d\n", s.tail.at)
	}
	s.pending.WriteByte('\n')
	for {
		changes, err := s.tail.read(ctx, streamPage)
		if err != nil {
			return err
		}
		if err := s.tell(ctx, changes); err != nil {
			return err
		}
		if len(changes) == streamPage {
			continue
		}
		over, err := s.wait(ctx)
		if over || err != nil {
			return err
		}
	}
}

// tell sends changes, and whatever is pending before them.
func (s *stream) tell(ctx context.Context, changes []freshet.Change) error {
	told := teller{store: s.Store}
	for _, c := range changes {
		source, err := told.source(ctx, c.Source)
		if err != nil {
			return err
		}
		data, err := json.Marshal(deliver.Envelope(c, source, s.Base))
		if err != nil {
			return fmt.Errorf("encode change %d: %w", c.Cursor, err)
		}
		writeEvent(&s.pending, "change", strconv.FormatInt(int64(c.Cursor), 10), data)
	}
	return s.flush()
}

// flush sends what is pending. A client that does not take it in time is cut
// off: it finds its place again when it comes back.
func (s *stream) flush() error {
	if s.pending.Len() == 0 {
		return nil
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := s.pending.WriteTo(s.w); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return s.control.Flush()
}

// wait returns when there is a change to read, or true when the stream is over.
// Meanwhile it gives signs of life.
func (s *stream) wait(ctx context.Context) (over bool, err error) {
	for {
		waiting, cancel := s.patience(ctx, heartbeat)
		err := s.Store.Wait(waiting, s.tail.at)
		cancel()
		if err == nil || !errors.Is(err, errWaited) {
			return false, err
		}
		select {
		case <-s.Stop:
			return true, nil
		default:
		}
		s.pending.WriteString(": still here\n\n")
		if err := s.flush(); err != nil {
			return false, err
		}
	}
}

// writeEvent writes one server-sent event. Line breaks cannot leave a field:
// those in the data begin a further data line, and the others are dropped.
func writeEvent(b *bytes.Buffer, event, id string, data []byte) {
	for _, field := range []struct{ name, value string }{{"event", event}, {"id", id}} {
		b.WriteString(field.name + ": ")
		for _, c := range []byte(field.value) {
			if c != '\n' && c != '\r' && c != 0 {
				b.WriteByte(c)
			}
		}
		b.WriteByte('\n')
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}
