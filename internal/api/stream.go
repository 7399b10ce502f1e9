package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"freshet/internal/freshet"
	"freshet/internal/sinks"
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
		Description: "Every event is named change; its id is the cursor and its data a CloudEvent. " +
			"The stream continues after Last-Event-ID, or after the cursor in after, or else at the end of the log; with since or until, at the beginning of that time. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.streamChanges)
}

type streamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Continue after this cursor; takes precedence over after"`
	After       string `query:"after" doc:"Continue after this cursor"`
	ChangeFilter
}

// place returns the cursor that the stream is to go on after, if it names one.
func (in *streamInput) place() (at freshet.Place, given bool, err error) {
	text, location := in.LastEventID, "header.Last-Event-ID"
	if text == "" {
		text, location = in.After, "query.after"
	}
	at, err = parsePlace(location, text)
	return at, text != "", err
}

func (a *api) streamChanges(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	from, given, err := in.place()
	if err != nil {
		return nil, err
	}
	at, err := a.findChange(ctx, from)
	if err != nil {
		return nil, err
	}
	which, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	if !given && which.seen.IsZero() {
		if at, err = a.Store.LastChange(ctx); err != nil {
			return nil, fmt.Errorf("end of the change log: %w", err)
		}
		if from, err = a.changePlace(ctx, at); err != nil {
			return nil, err
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		s := &stream{api: a, place: place{at, which}, w: w, control: http.NewResponseController(w)}
		ctx, cancel := a.untilStop(r.Context())
		defer cancel()
		greeting := "retry: 2000\n"
		if !given && which.seen.IsZero() {
			greeting += fmt.Sprintf(": no cursor was given; the stream starts at the end of the log, after %s\n", from)
		}
		err := s.run(ctx, greeting)
		if err != nil && ctx.Err() == nil {
			a.Log.Debug("a stream has ended", "at", s.at, "err", err)
		}
	}}, nil
}

// A stream is one client that follows the change log.
type stream struct {
	*api
	place
	w       http.ResponseWriter
	control *http.ResponseController
}

// run greets the client and sends changes until the client or the program ends it.
func (s *stream) run(ctx context.Context, greeting string) error {
	s.greet()
	if err := s.send([]byte(greeting + "\n")); err != nil {
		return err
	}
	for {
		p := s.events.page(s.place, func(p *eventPage) { s.load(ctx, p) })
		if p.err != nil {
			return p.err
		}
		s.at = p.to
		if p.n > 0 {
			if err := s.send(p.events); err != nil {
				return err
			}
		}
		if p.n == streamPage {
			continue // there may be more
		}
		if err := s.await(ctx, func(ctx context.Context) error { return s.Store.Wait(ctx, s.at) }); err != nil {
			return err
		}
	}
}

// greet begins the answer.
func (s *stream) greet() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy must not hold events back
	s.w.WriteHeader(http.StatusOK)
}

// load reads and encodes what follows the stream's place. Other streams may
// wait for it, so it is finished even if this client has gone.
func (s *stream) load(ctx context.Context, p *eventPage) {
	ctx = context.WithoutCancel(ctx)
	tail := tail{store: s.Store, at: s.at, which: s.which}
	changes, err := tail.read(ctx, streamPage)
	if err != nil {
		p.err = err
		return
	}
	var events bytes.Buffer
	for _, c := range changes {
		data, err := json.Marshal(sinks.Envelope(c, s.Base))
		if err != nil {
			p.err = fmt.Errorf("encode change %d: %w", c.Cursor, err)
			return
		}
		writeEvent(&events, "change", c.Place().String(), data)
	}
	p.events, p.n, p.to = events.Bytes(), len(changes), tail.at
}

// send sends what it is given at once. A client that does not take it in time
// is cut off: it finds its place again when it comes back.
func (s *stream) send(events []byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writePatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := s.w.Write(events); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return s.control.Flush()
}

// await returns when there is something to read, and meanwhile gives signs of life.
func (s *stream) await(ctx context.Context, more func(context.Context) error) error {
	for {
		waiting, cancel := context.WithTimeoutCause(ctx, heartbeat, errWaited)
		err := more(waiting)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, errWaited) {
			return err
		}
		if err := s.send([]byte(": still here\n\n")); err != nil {
			return err
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
