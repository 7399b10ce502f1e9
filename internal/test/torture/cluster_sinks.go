//go:build unix

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// hookPath begins the paths of receivers.
const hookPath = "/hook"

// hookTakes is how long a receiver takes, so that nodes end and stop while they send.
const hookTakes = 40 * time.Millisecond

// receivers are all receivers of a cluster. They hold that each is told of the changes of a source in
// order, under the same id as the same bytes.
type receivers struct {
	report *ClusterReport

	mu    sync.Mutex
	got   map[receipt][]byte // by receiver and id
	at    map[receipt]freshet.Place
	last  map[receipt]int // seq, by receiver and source
	under map[receipt]int // requests under way, likewise
	again int
	both  int // requests that came while another of their source was under way
}

// A receipt is somebody, and what it was told of.
type receipt struct{ path, what string }

func newReceivers(r *ClusterReport) receivers {
	return receivers{report: r, got: map[receipt][]byte{}, at: map[receipt]freshet.Place{}, last: map[receipt]int{}, under: map[receipt]int{}}
}

// take takes in a webhook.
func (s *receivers) take(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // killed while it was sent
	}
	var e client.Event
	if err := json.Unmarshal(body, &e); err != nil {
		s.report.violate("delivery: %s cannot be read: %v", body, err)
		return
	}
	line := receipt{r.URL.Path, string(e.Data.Source)}
	s.begin(line)
	select {
	case <-time.After(hookTakes):
	case <-r.Context().Done():
	}
	s.end(line, receipt{r.URL.Path, r.Header.Get("Webhook-Id")}, e.Data, body)
}

func (s *receivers) begin(line receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under[line]++; s.under[line] > 1 {
		s.both++
	}
}

// end judges a message.
func (s *receivers) end(line, id receipt, c client.Change, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under[line]--
	before, had := s.got[id]
	switch {
	case !had && c.Seq != s.last[line]+1:
		s.report.violate("delivery: %s was told of change %d of %s after %d", line.path, c.Seq, line.what, s.last[line])
	case had && !bytes.Equal(before, body):
		s.report.violate("delivery: %s came with other bytes: %s and %s", id.what, before, body)
	}
	if had {
		s.again++
	}
	s.got[id], s.at[id] = body, c.Cursor
	s.last[line] = max(s.last[line], c.Seq)
}

// lack says who was not told of which change.
func (s *receivers) lack(log []client.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := map[receipt]bool{}
	for id, at := range s.at {
		got[receipt{id.path, at.String()}] = true
	}
	for i := range clusterSinks {
		path := fmt.Sprint(hookPath, i)
		for _, c := range log {
			if !got[receipt{path, c.Cursor.String()}] {
				return fmt.Errorf("%s was not told of change %v; all have %d of %d", path, c.Cursor, len(got), clusterSinks*len(log))
			}
		}
	}
	return nil
}
