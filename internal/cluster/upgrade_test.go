package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// posing returns a stream on which the test acts as a worker that has sent hello.
func (g *rig) posing(hello map[string]any) (s cluster.Stream, welcome map[string]any) {
	g.Helper()
	req, err := http.NewRequestWithContext(g.Context(), http.MethodGet, g.leader.URL+cluster.Path, nil)
	if err != nil {
		g.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Connection": "Upgrade", "Upgrade": "freshet-hand"} {
		req.Header.Set(name, value)
	}
	resp, err := fetch.Trusted(time.Minute).Do(req)
	if err != nil {
		g.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		g.Fatalf("the leader answers %s", resp.Status)
	}
	g.Cleanup(func() { conn.Close() })
	s = cluster.NewStream(conn)
	if err := s.Send("hello", 0, hello); err != nil {
		g.Fatal(err)
	}
	if _, _, _, say, _, err := s.Receive(); err != nil || json.Unmarshal(say, &welcome) != nil {
		g.Fatalf("the leader says %s: %v", say, err)
	}
	if err := s.Send("ping", 0, map[string]any{"at": 1}); err != nil {
		g.Fatal(err)
	}
	return s, welcome
}

// next returns the next frame of a kind.
func next(t *testing.T, s cluster.Stream, want string) (id uint64, isBinary bool, say []byte) {
	t.Helper()
	for {
		k, id, isBinary, say, _, err := s.Receive()
		if err != nil {
			t.Fatalf("waiting for %s: %v", want, err)
		}
		if k == want {
			return id, isBinary, say
		}
	}
}

// A leader rejects a worker of another version and tells it the required one.
func TestWorkerOfAnotherVersion(t *testing.T) {
	g := newRig(t)
	s, welcome := g.posing(map[string]any{"version": cluster.Version - 1, "name": "old", "slots": 2})
	if got := welcome["version"]; got != float64(cluster.Version) {
		t.Errorf("the leader says that it has version %v", got)
	}
	if k, _, _, say, _, err := s.Receive(); err == nil {
		t.Errorf("the leader goes on with %s %s", k, say)
	}
	if g.has("old") {
		t.Error("the worker was let in")
	}
}

// A worker whose leader has another version ends with a hint.
func TestLeaderOfAnotherVersion(t *testing.T) {
	t.Parallel()
	server, _ := posingLeader(t, cluster.Version+1)
	w := cluster.NewWorker(cluster.WorkerConfig{Join: []string{server.URL}, Token: token, Name: "far", Slots: 4, Do: fetch.Trusted(10 * time.Second).Do})
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "run the same version of freshet on both") {
		t.Errorf("the worker ends with %v", err)
	}
}

// A task in JSON is invalid: the worker disconnects and reconnects.
func TestTaskAsJSON(t *testing.T) {
	t.Parallel()
	b := newPoser(t)
	s := b.worker(t)
	next(t, s, "ping")
	order := `{"source":"a","url":"http://127.0.0.1:1/","granted":"http://127.0.0.1:1/","definition":"e30="}`
	if err := errors.Join(s.Send("pong", 0, map[string]any{"right": time.Hour}), s.Send("order", 9, json.RawMessage(order))); err != nil {
		t.Fatal(err)
	}
	b.worker(t)
}

// A poser is a leader that the test acts for.
type poser struct {
	streams chan cluster.Stream
	ended   chan error // how the worker ended
}

// newPoser starts a poser that a worker joins.
func newPoser(t *testing.T) *poser {
	server, streams := posingLeader(t, cluster.Version)
	b := &poser{streams: streams, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	worker := cluster.NewWorker(cluster.WorkerConfig{
		Join: []string{server.URL}, Token: token, Name: "far", Slots: 4, Do: fetch.Trusted(10 * time.Second).Do, Grace: time.Second,
		Open: func(cluster.Terms) (worker.Looker, error) { return ownWorker(), nil },
	})
	go func() { b.ended <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-b.ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

// posingLeader serves a leader of a version and returns the streams of connected workers.
func posingLeader(t *testing.T, version int) (*httptest.Server, chan cluster.Stream) {
	streams := make(chan cluster.Stream, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: freshet-hand\r\n\r\n")
		s := cluster.NewStream(conn)
		if k, _, _, _, _, err := s.Receive(); err != nil || k != "hello" {
			t.Errorf("the worker says %s: %v", k, err)
		}
		if s.Send("welcome", 0, map[string]any{"version": version, "epoch": 1, "lease": time.Minute}) == nil {
			streams <- s
		}
	}))
	t.Cleanup(server.Close)
	return server, streams
}

// worker returns the stream of the next worker.
func (b *poser) worker(t *testing.T) cluster.Stream {
	t.Helper()
	select {
	case s := <-b.streams:
		return s
	case <-time.After(5 * time.Minute):
		t.Fatal("no worker comes")
		return cluster.Stream{}
	}
}

// A worker disconnects from a leader that sends invalid frames, and reconnects.
func TestHostileLeader(t *testing.T) {
	t.Parallel()
	b := newPoser(t)
	order := cluster.EncodeTask(1, &cluster.TaskMessage{Source: "a", URL: "https://a.invalid/"}, &cluster.SentDefinitions{})
	for name, head := range map[string][]byte{
		"a task that ends early":        order[:len(order)-3],
		"a reading that was never told": withReading(0x0e),
		"a number that is none":         withReading(0xff, 0xff, 0x03),
		"nothing":                       {},
		"a long reading to keep":        append(withReading(0x03, 0x81, 0x80, 0x02), make([]byte, cluster.MaxDefinitionSize+1)...),
		"more tasks than there can be":  append(order[:len(order)-1:len(order)-1], 0xff, 0xff, 0x7f),
		"tasks within tasks":            nested(20),
	} {
		s := b.worker(t)
		next(t, s, "ping")
		if err := s.SendRaw(head); err != nil {
			t.Fatal(err)
		}
		for err := error(nil); err == nil; {
			if _, _, _, _, _, err = s.Receive(); err != nil && err != io.EOF && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// nested returns a task that is nested in others.
func nested(depth int) []byte {
	var say cluster.TaskMessage
	for range depth {
		say = cluster.TaskMessage{Shared: []cluster.TaskMessage{say}}
	}
	return cluster.EncodeTask(1, &say, &cluster.SentDefinitions{})
}

// withReading returns the beginning of a task with the given bytes as its definition.
func withReading(reading ...byte) []byte { return append([]byte{1, 1, 1, 'a', 0}, reading...) }

// Invalid frames of a worker fail their task or disconnect the worker, and have no other effect.
func TestHostileWorker(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = 3*time.Second, 100*time.Millisecond }) // of one that is lost
	done, err := cluster.EncodeResult(1, worker.Result{Result: freshet.Changed, Capture: &freshet.Capture{}})
	if err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string][]byte{
		"nothing":                     {2, 1, 0},
		"a result without its blobs":  {2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a result that is none":       {2, 1, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a result that ends early":    done[:len(done)-4],
		"too many blobs":              {2, 1, 0xff, 0xff, 0xff, 0x7f},
		"a blob of less than nothing": {2, 1, 1, 0x0f},
	} {
		s, _ := g.posing(map[string]any{"version": cluster.Version, "name": "bad", "slots": 2, "run": "its run"})
		next(t, s, "pong") // it has taken the place of the one before
		found := make(chan worker.Result, 1)
		go func() { found <- g.pool.Look(t.Context(), g.task("/page")) }()
		if _, isBinary, _ := next(t, s, "order"); !isBinary {
			t.Error("the task is not binary")
		}
		if err := s.SendRaw(head); err != nil {
			t.Fatal(err)
		}
		if f := <-found; !f.Failure.Is(failure.LocalHand) {
			t.Errorf("%s: found is %+v", name, f)
		}
	}
}

// Frames of concurrent senders arrive whole, and those of each sender in order, whatever their
// size.
func TestManySend(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	from, to := cluster.NewStream(here), cluster.NewStream(there)
	const senders, frames = 20, 50
	size := func(sender, i int) int { return []int{0, 10, 70_000, 5_000}[(sender+i)%4] }
	var sending sync.WaitGroup
	for sender := range senders {
		sending.Go(func() {
			for i := range frames {
				blob := make([]byte, size(sender, i))
				for at := range blob {
					blob[at] = byte(i)
				}
				if err := from.Send("done", uint64(sender), i, blob); err != nil {
					t.Error(err)
				}
			}
		})
	}
	last := [senders]int{}
	for range senders * frames {
		_, sender, _, say, blobs, err := to.Receive()
		if err != nil {
			t.Fatal(err)
		}
		i := last[sender]
		if last[sender]++; string(say) != fmt.Sprint(i) || len(blobs) != 1 || len(blobs[0]) != size(int(sender), i) || strings.Count(string(blobs[0]), string(rune(i))) != len(blobs[0]) {
			t.Fatalf("sender %d: %s with %d bytes came as the one after %d", sender, say, len(blobs[0]), i-1)
		}
	}
	sending.Wait()
	from.Settle()
	there.Close()
	for from.Send("ping", 0, nil) == nil { // one may leave before that is known
	}
	from.Settle()
}
