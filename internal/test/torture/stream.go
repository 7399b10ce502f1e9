package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// A follower reads the change stream through all lives of the daemon, as a
// browser would: when the connection breaks it comes back with the id of the
// last event. Now and then it hangs up by itself.
type follower struct {
	chronicle *chronicle
	chance    *rand.Rand // of the goroutine that follows
	bases     chan string

	mu       sync.Mutex
	begun    bool
	last     string // id of the last event; "" to begin at the start of the log
	reached  freshet.Place
	seen     map[freshet.Place]bool
	refused  int // connections that were answered 410
	problems []string

	events, repeats, connections int
}

func newFollower(c *chronicle, chance *rand.Rand) *follower {
	return &follower{chronicle: c, chance: chance, bases: make(chan string, 1), seen: map[freshet.Place]bool{}}
}

// meet tells the follower where the daemon now is.
func (f *follower) meet(base string) {
	select {
	case <-f.bases: // it never got to the one before
	default:
	}
	f.bases <- base
}

// run follows one daemon after another until ctx is done.
func (f *follower) run(ctx context.Context) {
	base := ""
	for ctx.Err() == nil {
		if base == "" {
			select {
			case <-ctx.Done():
				return
			case base = <-f.bases:
			}
		}
		again := f.follow(ctx, base)
		select {
		case base = <-f.bases:
		default:
			if !again {
				base = ""
			}
		}
	}
}

// follow reads the stream until it breaks off, and reports whether to come back
// to the same daemon.
func (f *follower) follow(ctx context.Context, base string) (again bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/changes/stream", nil)
	if err != nil {
		return false
	}
	f.mu.Lock()
	last := f.last
	f.mu.Unlock()
	if last == "" {
		req.URL.RawQuery = "after=0"
	} else {
		req.Header.Set("Last-Event-ID", last)
	}
	c := fetch.Trusted(10 * time.Second)
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return false // killed already
	}
	defer resp.Body.Close()
	f.mu.Lock()
	f.connections++
	switch {
	case resp.StatusCode == http.StatusGone:
		// What the place was in is no more: begin again.
		f.refused++
		f.last, f.begun, f.seen, f.reached = "", false, map[freshet.Place]bool{}, freshet.Place{}
		f.mu.Unlock()
		return last != ""
	case resp.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		if resp.StatusCode != http.StatusServiceUnavailable {
			f.problems = append(f.problems, fmt.Sprintf("the stream after %q is answered with %s: %s", last, resp.Status, text))
		}
		f.mu.Unlock()
		return false
	}
	f.begun = true
	f.mu.Unlock()
	return f.read(resp.Body, 20+f.chance.IntN(60))
}

// read takes events until the stream breaks off or there were enough of them,
// and reports whether it was the latter.
func (f *follower) read(body io.Reader, most int) (enough bool) {
	var id, data string
	lines := bufio.NewScanner(body)
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
				f.receive(id, data)
				most--
			}
			id, data = "", ""
			if most <= 0 {
				return true
			}
		}
	}
	return false
}

// receive notes an event.
func (f *follower) receive(id, data string) {
	var e client.Event
	err := json.Unmarshal([]byte(data), &e)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events++
	switch {
	case err != nil:
		f.problems = append(f.problems, fmt.Sprintf("the event %s cannot be read: %v", id, err))
		return
	case e.Data.Cursor.Cursor <= f.reached.Cursor && f.begun && f.seen[e.Data.Cursor]:
		f.repeats++
		f.problems = append(f.problems, fmt.Sprintf("after the event %v came %v again", f.reached, e.Data.Cursor))
	}
	f.last, f.seen[e.Data.Cursor] = id, true
	if e.Data.Cursor.Cursor > f.reached.Cursor {
		f.reached = e.Data.Cursor
	}
	f.chronicle.event(e)
}

// take returns what was wrong with the stream since it was last called.
func (f *follower) take() (problems []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	problems, f.problems = f.problems, nil
	return problems
}

// place returns how far the follower is, and what it has seen since it began.
func (f *follower) place() (reached freshet.Place, seen func(freshet.Place) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := make(map[freshet.Place]bool, len(f.seen))
	for c := range f.seen {
		have[c] = true
	}
	return f.reached, func(c freshet.Place) bool { return have[c] }
}
