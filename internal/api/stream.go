package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

// streamPage is how many changes are read at once.
const streamPage = 100

func (a *changeAPI) routeStream(tags []string) {
	rest.Route(a.Server, huma.Operation{
		OperationID: "stream-changes", Method: http.MethodGet, Path: "/api/v1/changes/stream", Tags: tags,
		Summary: "Follow the change log as server-sent events",
		Description: "Every event is named change; its id is the cursor and its data a CloudEvent. " +
			"The stream continues after Last-Event-ID, or after the cursor in after, or else at the end of the log; with since or until, at the beginning of that time. " +
			"A cursor that this log does not have, because the data was restored from an older backup or is other data, is refused with 410.",
		Responses: rest.EventStream(),
	}, a.streamChanges)
}

type streamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Continue after this cursor; takes precedence over after"`
	After       string `query:"after" doc:"Continue after this cursor"`
	ChangeFilter
}

func (a *changeAPI) streamChanges(ctx context.Context, in *streamInput) (*rest.StreamBody, error) {
	from, given, err := rest.ResumeAt(in.LastEventID, in.After)
	if err != nil {
		return nil, err
	}
	at, err := a.FindChange(ctx, a.store, from)
	if err != nil {
		return nil, err
	}
	which, err := a.wanted(in.ChangeFilter)
	if err != nil {
		return nil, err
	}
	if !given && which.seen.IsZero() {
		if at, err = a.store.LastChange(ctx); err != nil {
			return nil, fmt.Errorf("end of the change log: %w", err)
		}
		if from, err = rest.ChangePlace(ctx, a.store, at); err != nil {
			return nil, err
		}
	}
	greeting := ""
	if !given && which.seen.IsZero() {
		greeting = fmt.Sprintf(": no cursor was given; the stream starts at the end of the log, after %s\n", from)
	}
	reader := &streamReader{changeAPI: a, place: place{at, which}}
	return a.Stream(greeting, reader.run), nil
}

// A streamReader is the place of one client that follows the change log.
type streamReader struct {
	*changeAPI
	place
}

// run sends changes until the client or the program ends it.
func (s *streamReader) run(ctx context.Context, events *rest.Events) error {
	for {
		p := s.events.page(s.place, func(p *eventPage) { s.load(ctx, p) })
		if p.err != nil {
			return p.err
		}
		s.at = p.to
		if p.n > 0 {
			if err := events.Send(p.events); err != nil {
				return err
			}
		}
		if p.n == streamPage {
			continue // there may be more
		}
		if err := events.Await(ctx, func(ctx context.Context) error { return s.store.Wait(ctx, s.at) }); err != nil {
			return err
		}
	}
}

// load reads and encodes what follows the stream's place. Other streams may
// wait for it, so it is finished even if this client has gone.
func (s *streamReader) load(ctx context.Context, p *eventPage) {
	ctx = context.WithoutCancel(ctx)
	tail := tail{store: s.store, at: s.at, which: s.which}
	changes, err := tail.read(ctx, streamPage)
	if err != nil {
		p.err = err
		return
	}
	var events bytes.Buffer
	for _, c := range changes {
		data, err := json.Marshal(sinks.Envelope(c, s.base))
		if err != nil {
			p.err = fmt.Errorf("encode change %d: %w", c.Cursor, err)
			return
		}
		rest.WriteEvent(&events, "change", c.Place().String(), data)
	}
	p.events, p.n, p.to = events.Bytes(), len(changes), tail.at
}

const (
	pageAge  = time.Second // for which a page is sent as it was read
	maxPages = 64          // held at once
)

// A fanout lets streams that are at the same place share the reading and the
// encoding of what comes next: with a thousand clients on one log, a change is
// read once and not a thousand times.
//
// What follows a place in the log stays the same, so a page can be sent again.
// Only an empty one cannot, because the next change fills it.
type fanout struct {
	mu    sync.Mutex
	pages map[place]*eventPage
}

// A place is where a stream goes on.
type place struct {
	at    freshet.Cursor
	which ChangeFilter
}

// An eventPage is what follows a place, encoded as server-sent events.
type eventPage struct {
	begun time.Time
	ready chan struct{} // closed when the rest is there

	events []byte
	n      int            // events
	to     freshet.Cursor // everything up to here is in them
	err    error
}

// page returns what follows a place. Of several callers at once one loads it.
func (f *fanout) page(at place, load func(*eventPage)) *eventPage {
	now := time.Now()
	f.mu.Lock()
	p := f.pages[at]
	if p != nil && now.Sub(p.begun) < pageAge {
		f.mu.Unlock()
		<-p.ready
		return p
	}
	p = &eventPage{begun: now, ready: make(chan struct{})}
	if f.pages == nil || len(f.pages) >= maxPages {
		f.pages = map[place]*eventPage{}
	}
	f.pages[at] = p
	f.mu.Unlock()

	defer f.finish(at, p) // even if loading panics, nobody waits for ever
	load(p)
	return p
}

// finish gives a page to those who wait for it, and forgets it if it is empty.
func (f *fanout) finish(at place, p *eventPage) {
	close(p.ready)
	if p.n > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages[at] == p {
		delete(f.pages, at)
	}
}
