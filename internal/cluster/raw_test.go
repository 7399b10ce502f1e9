package cluster_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/test/kit"
	"freshet/internal/worker"
)

// A raw is a client with the worker token that sends arbitrary frames.
type raw struct {
	net.Conn
	in    *bufio.Reader
	mu    *sync.Mutex // of frames
	pings *atomic.Int64
}

// raw returns a connected raw client.
func (g *rig) raw() raw {
	g.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.leader.URL, "http://"))
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: leader\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: freshet-hand\r\n\r\n", cluster.Path, token)
	r := raw{conn, bufio.NewReader(conn), new(sync.Mutex), new(atomic.Int64)}
	resp, err := http.ReadResponse(r.in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		g.Fatalf("it is answered with %v, %v", resp, err)
	}
	return r
}

// say sends a frame with blobs.
func (r raw) say(kind string, id uint64, v any, blobs ...[]byte) error {
	say, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := cluster.Head{Kind: kind, ID: id, Say: say}
	for _, b := range blobs {
		h.Blobs = append(h.Blobs, len(b))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	head := h.Write()
	if _, err = r.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(head))), head...)); err != nil {
		return err
	}
	for _, b := range blobs {
		if _, err := r.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// done sends a result.
func (r raw) done(id uint64, found worker.Result) error {
	head, err := cluster.EncodeResult(id, found)
	if err != nil {
		return err
	}
	blobs := [][]byte{found.Items, found.Noise}
	if c := found.Capture; c != nil {
		blobs = append(blobs, c.Text, c.Raw.Body, c.Picture)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err = r.Write(slices.Concat(append([][]byte{binary.BigEndian.AppendUint32(nil, uint32(len(head))), head}, blobs...)...))
	return err
}

// hear returns the next frame.
func (r raw) hear() (cluster.Head, error) {
	var size [4]byte
	if _, err := io.ReadFull(r.in, size[:]); err != nil {
		return cluster.Head{}, err
	}
	head := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r.in, head); err != nil {
		return cluster.Head{}, err
	}
	return cluster.ReadHead(head)
}

// enter sends hello and pings until the stream ends.
func (r raw) enter(name string) {
	r.say("hello", 0, map[string]any{"version": cluster.Version, "name": name, "slots": 4})
	go func() {
		for r.say("ping", 0, map[string]any{"at": 1}) == nil {
			r.pings.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// A task that a worker refuses again and again fails in the end, but not at once: a worker whose
// lease is over refuses until its next ping.
func TestAWorkerThatRefusesForEver(t *testing.T) {
	g := newRig(t)
	r := g.raw()
	r.enter("lazy")
	orders := make(chan int, 1)
	go func() {
		n := 0
		for f, err := r.hear(); err == nil; f, err = r.hear() {
			if f.Kind == "order" {
				n++
				r.say("refused", f.ID, nil)
			}
		}
		orders <- n
	}()
	kit.Until(g, "it has come", func() bool { return g.has("lazy") })
	f := g.pool.Look(t.Context(), g.task("/"))
	if !f.Failure.Is(failure.LocalHand) || !strings.Contains(f.Err, "lazy") {
		t.Errorf("the look ends with %s: %s", f.Failure, f.Err)
	}
	r.Close()
	if n, pings := <-orders, r.pings.Load(); n < 2 || int64(n) > pings+1 {
		t.Errorf("it was given the task %d times, and has asked for its right %d times", n, pings)
	}
}

// Results of unknown tasks have no effect and use no memory.
func TestResultsOfUnknownTasks(t *testing.T) {
	g := newRig(t)
	r := g.raw()
	r.enter("odd")
	kit.Until(g, "it has come", func() bool { return g.has("odd") })
	large := make([]byte, 8<<20)
	for id := range uint64(3) {
		if err := r.done(70+id, worker.Result{Result: 1, Capture: &freshet.Capture{Text: large, Raw: freshet.Raw{Body: large}, Picture: large}}); err != nil {
			t.Fatal(err)
		}
	}
	r.say("slow", 70, true)
	r.say("refused", 71, nil)
	r.say("ask", 72, map[string]any{"what": "leave", "hop": map[string]any{"URL": "http://bank.example/"}})
	looked := make(chan worker.Result, 1)
	go func() { looked <- g.pool.Look(t.Context(), g.task("/")) }()
	for {
		f, err := r.hear()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind != "order" {
			continue
		}
		r.say("slow", f.ID, true)
		r.say("slow", f.ID, true)
		r.done(f.ID, worker.Result{Result: freshet.Failed, Failure: failure.Timeout, Listed: -1})
		r.done(f.ID, worker.Result{Result: freshet.Unchanged})
		r.say("slow", f.ID, true) // it is over
		break
	}
	if f := <-looked; f.Failure != failure.Timeout {
		t.Errorf("the look ends with %s: %s", f.Failure, f.Err)
	}
	kit.Until(g, "it is idle", func() bool { s := g.pool.Status(); return len(s) == 1 && s[0].Busy == 0 })
}

// Workers with an unprintable name or an invalid place are rejected, and so are unexpected blobs.
func TestStrangeWorkers(t *testing.T) {
	for name, hello := range map[string]map[string]any{
		"no name":          {"version": cluster.Version, "slots": 4},
		"name of a bell":   {"version": cluster.Version, "name": "a\x07b", "slots": 4},
		"name right ahead": {"version": cluster.Version, "name": "a\u202eb", "slots": 4},
		"no slots":         {"version": cluster.Version, "name": "a"},
		"too many slots":   {"version": cluster.Version, "name": "a", "slots": 1 << 40},
		"no such place":    {"version": cluster.Version, "name": "a", "slots": 4, "place": "over there\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			r := g.raw()
			r.say("hello", 0, hello)
			for f, err := r.hear(); err == nil; f, err = r.hear() {
				t.Errorf("it is told %q", f.Kind)
			}
			if len(g.pool.Status()) != 0 {
				t.Error("it was let in")
			}
		})
	}
	t.Run("bytes beside a ping", func(t *testing.T) {
		g := newRig(t)
		r := g.raw()
		r.say("hello", 0, map[string]any{"version": cluster.Version, "name": "a", "slots": 4})
		kit.Until(g, "it has come", func() bool { return g.has("a") })
		r.say("ping", 0, map[string]any{"at": 1}, make([]byte, 1000))
		kit.Until(g, "it was sent away", func() bool { return !g.has("a") })
	})
}
