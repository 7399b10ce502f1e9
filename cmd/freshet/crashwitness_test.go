//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet"
	"freshet/client"
	"freshet/deliver"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A hookWitness receives webhooks and remembers every one. It refuses one
// change in fifty the first time, so that retries are part of the campaign.
type hookWitness struct {
	server *httptest.Server

	mu                            sync.Mutex
	bodies                        map[string][]byte       // by webhook-id
	events                        map[string]client.Event // by the id of the change
	refused                       map[string]bool
	deliveries, repeats, refusals int
}

func newHookWitness(t *testing.T) *hookWitness {
	w := &hookWitness{bodies: map[string][]byte{}, events: map[string]client.Event{}, refused: map[string]bool{}}
	verify, err := webhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // killed in the midst of sending
		}
		if err := verify.Verify(body, req.Header); err != nil {
			t.Errorf("a webhook came with a wrong signature: %v", err)
		}
		if err := w.receive(req.Header.Get("Webhook-Id"), body); err != nil {
			t.Errorf("webhook: %v", err)
		}
		if w.refuses(req.Header.Get("Webhook-Id")) {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(w.server.Close)
	return w
}

// receive remembers a delivery and holds a repeat against the one before.
func (w *hookWitness) receive(id string, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deliveries++
	if before, ok := w.bodies[id]; ok {
		w.repeats++
		if !bytes.Equal(before, body) {
			return fmt.Errorf("the delivery %s came again with other bytes:\n%s\n%s", id, before, body)
		}
		return nil
	}
	var e client.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("the delivery %s is no event: %w", id, err)
	}
	if want := deliver.WebhookID(crashSink, e.ID); id != want {
		return fmt.Errorf("the change %s came as %s, want %s", e.ID, id, want)
	}
	w.bodies[id], w.events[e.ID] = body, e
	return nil
}

// refuses reports whether a delivery is to be refused this time.
func (w *hookWitness) refuses(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := fnv.New32a()
	io.WriteString(h, id)
	if w.refused[id] || h.Sum32()%50 != 0 {
		return false
	}
	w.refused[id] = true
	w.refusals++
	return true
}

func (w *hookWitness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deliveries
}

// A streamWitness follows the change stream through all lives of the daemon, as
// a browser would: it comes back with the id of the last event it has seen.
type streamWitness struct {
	bases chan string

	mu                           sync.Mutex
	last                         freshet.Place
	data                         map[freshet.Place][]byte
	events, repeats, connections int
}

func newStreamWitness() *streamWitness {
	return &streamWitness{bases: make(chan string, 1), data: map[freshet.Place][]byte{}}
}

// meet tells the witness where the daemon now is.
func (w *streamWitness) meet(base string) {
	select {
	case <-w.bases: // it never got to the one before
	default:
	}
	w.bases <- base
}

func (w *streamWitness) run(ctx context.Context, t *testing.T) {
	for {
		select {
		case <-ctx.Done():
			return
		case base := <-w.bases:
			if err := w.follow(ctx, base); err != nil {
				t.Errorf("stream: %v", err)
			}
		}
	}
}

// follow reads the stream until it breaks off. It goes back three places, so
// that some events come twice and can be compared.
func (w *streamWitness) follow(ctx context.Context, base string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/changes/stream", nil)
	if err != nil {
		return err
	}
	from := w.reached()
	from.Cursor = max(from.Cursor-3, 0)
	req.Header.Set("Last-Event-ID", from.String())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil // killed already
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	w.mu.Lock()
	w.connections++
	w.mu.Unlock()
	var id, data string
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "data":
			data += value
		case "": // the empty line that ends an event
			if data != "" {
				if from, err = w.receive(from, id, data); err != nil {
					return err
				}
			}
			id, data = "", ""
		}
	}
	return nil
}

// receive remembers an event that came after another.
func (w *streamWitness) receive(before freshet.Place, id, data string) (freshet.Place, error) {
	at, err := freshet.ParsePlace(id)
	if err != nil || at.Cursor <= before.Cursor {
		return before, fmt.Errorf("after the event %s came %q", before, id)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	if old, ok := w.data[at]; ok {
		w.repeats++
		if string(old) != data {
			return at, fmt.Errorf("the event %s came again with other bytes:\n%s\n%s", at, old, data)
		}
	}
	w.data[at] = []byte(data)
	if at.Cursor > w.last.Cursor {
		w.last = at
	}
	return at, nil
}

// reached returns the last event seen.
func (w *streamWitness) reached() freshet.Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func (w *streamWitness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events
}

// A crashVersion names a version.
type crashVersion struct {
	source freshet.SourceID
	number int
}

// An ackWitness reads versions over the API while the daemon lives: what it was
// told of must never be lost.
type ackWitness struct {
	stop    context.CancelFunc
	reading sync.WaitGroup

	mu     sync.Mutex
	hashes map[crashVersion]string
}

// meet begins to read from a daemon.
func (w *ackWitness) meet(base string) {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.reading.Go(func() {
		for i := 0; ctx.Err() == nil; i = (i + 37) % 200 {
			w.read(ctx, base, freshet.SourceID(fmt.Sprintf("p%03d", i)))
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// part ends the reading.
func (w *ackWitness) part() {
	if w.stop != nil {
		w.stop()
	}
	w.reading.Wait()
}

// read remembers the newest versions of a source. A daemon that is killed
// meanwhile has said nothing.
func (w *ackWitness) read(ctx context.Context, base string, id freshet.SourceID) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/sources/%s/versions", base, id), nil)
	if err != nil {
		return
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	var list struct {
		Items []client.Version `json:"items"`
	}
	if json.NewDecoder(resp.Body).Decode(&list) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hashes == nil {
		w.hashes = map[crashVersion]string{}
	}
	for _, v := range list.Items {
		w.hashes[crashVersion{id, v.Number}] = v.Hash
	}
}

// seen returns the versions read so far and their hashes.
func (w *ackWitness) seen() map[crashVersion]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.hashes)
}
