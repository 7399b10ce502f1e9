package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// heartbeat is the time between comments on a stream without events.
const heartbeat = 15 * time.Second

// EventStream is the description of a response with server-sent events.
func EventStream() map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// Events writes server-sent events to one client.
type Events struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// Stream returns a response that run writes, after a greeting, until its context ends:
// when the client goes or the program stops.
func (s *Server) Stream(greeting string, run func(context.Context, *Events) error) *StreamBody {
	return &StreamBody{Body: func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := s.WithStop(r.Context())
		defer cancel()
		events := &Events{w: w, control: http.NewResponseController(w)}
		err := events.begin(greeting)
		if err == nil {
			err = run(ctx, events)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Debug("a stream has ended", "path", r.URL.Path, "err", err)
		}
	}}
}

func (e *Events) begin(greeting string) error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	e.w.WriteHeader(http.StatusOK)
	return e.Send([]byte("retry: 2000\n" + greeting + "\n"))
}

// Send sends events at once. A client that does not take them in time is cut off: it
// finds its place again when it comes back.
func (e *Events) Send(events []byte) error {
	if err := e.control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := e.w.Write(events); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return e.control.Flush()
}

// Await returns when wait does, and sends heartbeats meanwhile.
func (e *Events) Await(ctx context.Context, wait func(context.Context) error) error {
	for {
		waiting, cancel := context.WithTimeoutCause(ctx, heartbeat, ErrWaited)
		err := wait(waiting)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, ErrWaited) {
			return err
		}
		if err := e.Send([]byte(": still here\n\n")); err != nil {
			return err
		}
	}
}

// WriteEvent writes one server-sent event. Line breaks cannot leave a field: those in the
// data begin a further data line, and the others are dropped.
func WriteEvent(b *bytes.Buffer, event, id string, data []byte) {
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
