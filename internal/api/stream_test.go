package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/api/rest"
	"freshet/internal/freshet"
)

// An sseEvent is a server-sent event, or a comment.
type sseEvent struct {
	event, id, data, comment string
}

// An sseReader reads a stream as the HTML standard says.
type sseReader struct{ lines *bufio.Scanner }

func readSSE(s *bufio.Scanner) *sseReader {
	s.Buffer(nil, 1<<20)
	s.Split(splitSSE)
	return &sseReader{s}
}

// splitSSE ends lines at \n, \r and \r\n.
func splitSSE(data []byte, atEOF bool) (int, []byte, error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0:
		return 0, nil, nil
	case data[i] == '\r' && i+1 == len(data) && !atEOF:
		return 0, nil, nil
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}

// next returns the next event or comment block.
func (r *sseReader) next() (e sseEvent, ok bool) {
	var data []string
	for r.lines.Scan() {
		line := r.lines.Text()
		if line == "" {
			e.data = strings.Join(data, "\n")
			return e, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			e.comment = value
		case "event":
			e.event = value
		case "id":
			e.id = value
		case "data":
			data = append(data, value)
		}
	}
	return e, false
}

// follow opens the stream; what it returns ends with the test.
func (r *rig) follow(ctx context.Context, query, lastEventID string) (*sseReader, *http.Response) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", r.API.URL+"/api/v1/changes/stream"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		r.t.Fatalf("the stream answered %d", resp.StatusCode)
	}
	return readSSE(bufio.NewScanner(resp.Body)), resp
}

// watch adds a source and gives it a first version, without polls.
func (r *rig) watch(id string) {
	r.t.Helper()
	r.Origin.Put("/"+id, "text/plain", "version 0\n")
	r.add(id, "/"+id)
	r.capture(freshet.SourceID(id), 0)
}

func TestStream(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	before := r.capture("page", 1)
	stream, resp := r.follow(t.Context(), "", "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-store",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	e, _ := stream.next()
	if want := fmt.Sprintf("after %s", before.Place()); !strings.Contains(e.comment, want) {
		t.Errorf("a stream without a place begins with the comment %q, want it to say %q", e.comment, want)
	}
	c := r.capture("page", 2)
	e, ok := stream.next()
	if !ok || e.event != "change" || e.id != c.Place().String() {
		t.Fatalf("the stream brought %+v, want change %s", e, c.Place())
	}
	var got client.Event
	if err := json.Unmarshal([]byte(e.data), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != c.ID() || got.SpecVersion != "1.0" || got.Type != "freshet.change" || got.Data.Cursor != c.Place() {
		t.Errorf("the event is %+v", got)
	}
	// The data of the event and the item of the list are the same object.
	var page struct{ Items []json.RawMessage }
	if err := json.Unmarshal(r.do("GET", fmt.Sprintf("/api/v1/changes?after=%s", before.Place()), nil).is(200).Body, &page); err != nil {
		t.Fatal(err)
	}
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(e.data), &envelope); err != nil {
		t.Fatal(err)
	}
	if string(envelope.Data) != string(page.Items[0]) {
		t.Errorf("the stream tells of\n%s\nand the list of\n%s", envelope.Data, page.Items[0])
	}
}

func TestStreamPlaces(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	r.watch("other")
	for i := range 3 {
		r.capture("page", i+1)
		r.capture("other", i+1)
	}
	tests := []struct {
		name, query, last, want string
	}{
		{"from the beginning", "?after=0", "", "page.1~rig"},
		{"after a cursor", "?after=2~rig", "", "page.2~rig"},
		{"after the last event", "", "3~rig", "other.2~rig"},
		{"the last event wins", "?after=0", "4~rig", "page.3~rig"},
		{"of one source", "?after=0&source=other", "", "other.1~rig"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stream, _ := r.follow(t.Context(), tt.query, tt.last)
			stream.next() // how to reconnect
			e, ok := stream.next()
			if !ok || !strings.Contains(e.data, `"id":"`+tt.want+`"`) {
				t.Errorf("the stream begins with %+v, want %s", e, tt.want)
			}
		})
	}
	for _, last := range []string{"x", "-1", "1.5", "99999999999999999999", "1~", "1~A", "~rig", "1~rig~rig", "+1~rig", "01~rig"} {
		a := r.do("GET", "/api/v1/changes/stream", nil, "Last-Event-ID", last).is(422)
		if !strings.Contains(string(a.Body), "header.Last-Event-ID") {
			t.Errorf("the problem does not name the header: %s", a.Body)
		}
	}
}

// Readers that come and go while changes are committed from several sides see
// every change once and in order.
func TestStreamHasNoGap(t *testing.T) {
	r := newRig(t)
	const sources, each = 4, 50
	for i := range sources {
		r.watch(fmt.Sprint("s", i))
	}
	var writers sync.WaitGroup
	for i := range sources {
		writers.Go(func() {
			for n := range each {
				r.capture(freshet.SourceID(fmt.Sprint("s", i)), n+1)
			}
		})
	}
	var readers sync.WaitGroup
	for reader := range 3 {
		readers.Go(func() {
			last, seen := "0", map[string]bool{}
			for len(seen) < sources*each {
				last = r.readSome(t, last, 7+5*reader, sources*each-len(seen), seen)
			}
		})
	}
	writers.Wait()
	readers.Wait()
}

// readSome connects, reads up to n changes and hangs up. It returns the last
// event's ID.
func (r *rig) readSome(t *testing.T, last string, n, left int, seen map[string]bool) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", r.API.URL+"/api/v1/changes/stream", nil)
	if err != nil {
		t.Error(err)
		return last
	}
	req.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return last
	}
	defer resp.Body.Close()
	stream := readSSE(bufio.NewScanner(resp.Body))
	for got := 0; got < min(n, left); {
		e, ok := stream.next()
		if !ok {
			t.Error("the stream ended early")
			return last
		}
		if e.event == "" {
			continue
		}
		before, _ := freshet.ParsePlace(last)
		if at, err := freshet.ParsePlace(e.id); err != nil || at.Cursor != before.Cursor+1 {
			t.Errorf("after %s came %s", last, e.id)
		}
		if seen[e.id] {
			t.Errorf("%s came twice", e.id)
		}
		seen[e.id], last = true, e.id
		got++
	}
	return last
}

func TestStreamEndsWithTheProgram(t *testing.T) {
	r := newRig(t)
	stream, _ := r.follow(t.Context(), "", "")
	stream.next()
	r.EndStreams()
	if e, ok := stream.next(); ok {
		t.Errorf("the stream goes on with %+v after the stop", e)
	}
}

func TestLongPoll(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	r.watch("other")
	var p client.ChangesPage
	asked := r.later("GET", "/api/v1/changes?after=0&wait=60s&source=page")
	r.capture("other", 1) // wakes it, but is not what it waits for
	c := r.capture("page", 1)
	(<-asked).is(200).into(&p)
	if len(p.Items) != 1 || p.Items[0].Cursor != c.Place() || p.Next != c.Place() {
		t.Errorf("the long poll brought %+v, want change %s", p, c.Place())
	}
	r.do("GET", "/api/v1/changes?after=2~rig&wait=1ms", nil).is(200).into(&p)
	if len(p.Items) != 0 || p.Next != c.Place() {
		t.Errorf("an empty long poll answered %+v, want to go on after 2", p)
	}
	asked = r.later("GET", "/api/v1/changes?after=2~rig&wait=60s")
	r.EndStreams()
	(<-asked).is(200).into(&p)
	if len(p.Items) != 0 || p.Next != c.Place() {
		t.Errorf("a long poll that was stopped answered %+v", p)
	}
}

func TestChangePages(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	for i := range 25 {
		r.capture("page", i+1)
	}
	var after freshet.Place
	total := 0
	for {
		var p client.ChangesPage
		r.do("GET", fmt.Sprintf("/api/v1/changes?after=%s&limit=10", after), nil).is(200).into(&p)
		if len(p.Items) == 0 {
			break
		}
		for _, c := range p.Items {
			if c.Seq != total+1 {
				t.Errorf("change %d has seq %d", total+1, c.Seq)
			}
			total++
		}
		after = p.Next
	}
	if total != 25 {
		t.Errorf("%d changes in pages, want 25", total)
	}
}

// A client that takes nothing is not waited for: closing the server, which
// waits for its handlers, must end.
func TestStreamCutByClient(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	stream, _ := r.follow(ctx, "", "")
	stream.next()
	cancel()
	r.API.Close()
}

// A countingStore counts how often somebody sat down to wait for a change.
type countingStore struct {
	api.Store
	waits  atomic.Int64
	seated chan struct{} // holds one sign that somebody did
}

func (s *countingStore) Wait(ctx context.Context, after freshet.Cursor) error {
	s.waits.Add(1)
	select {
	case s.seated <- struct{}{}:
	default:
	}
	return s.Store.Wait(ctx, after)
}

// Whoever waits for a change sleeps until there is one, and does not run in
// circles over changes of other sources or a page that was empty.
func TestWaitersRest(t *testing.T) {
	var store *countingStore
	r := newRig(t, func(c *api.Config) {
		store = &countingStore{Store: c.Store, seated: make(chan struct{}, 1)}
		c.Store = store
	})
	r.watch("page")
	r.watch("other")
	r.capture("other", 1)
	r.do("GET", "/api/v1/changes?after=0&source=page&wait=50ms", nil).is(200)
	if n := store.waits.Swap(0); n != 1 {
		t.Errorf("a long poll waited %d times for one answer", n)
	}
	<-store.seated
	for _, query := range []string{"", "?after=0&source=page"} {
		ctx, cancel := context.WithCancel(t.Context())
		stream, _ := r.follow(ctx, query, "")
		stream.next()
		if query == "" {
			<-store.seated // it has seen the end of the log
		}
		for i := range 3 {
			c := r.capture("page", i+1)
			if query != "" {
				r.capture("other", i+2)
			}
			if e, ok := stream.next(); !ok || query == "" && e.id != c.Place().String() {
				t.Fatalf("the stream brought %+v, want change %s", e, c.Place())
			}
		}
		if n := store.waits.Swap(0); n > 12 {
			t.Errorf("the stream %q waited %d times for three changes", query, n)
		}
		cancel()
	}
}

func FuzzWriteEvent(f *testing.F) {
	f.Add("change", "17", []byte(`{"a":1}`))
	f.Add("change\nevent: other", "1\r\nid: 2", []byte("a\nb\rc\r\nd\n\nevent: x"))
	f.Add("", "", []byte{})
	f.Fuzz(func(t *testing.T, event, id string, data []byte) {
		if len(data) > 1<<18 {
			t.Skip()
		}
		var b bytes.Buffer
		rest.WriteEvent(&b, event, id, data)
		stream := readSSE(bufio.NewScanner(&b))
		e, ok := stream.next()
		if !ok {
			t.Fatalf("no event in %q", b.String())
		}
		strip := strings.NewReplacer("\r", "", "\n", "", "\x00", "")
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))
		if e.event != strip.Replace(event) || e.id != strip.Replace(id) || e.data != lines {
			t.Errorf("event %q, id %q, data %q arrive as %+v", event, id, data, e)
		}
		if e, ok := stream.next(); ok {
			t.Errorf("a second event was smuggled in: %+v", e)
		}
	})
}
