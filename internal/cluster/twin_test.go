package cluster_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/cluster"
	"freshet/internal/test/kit"
)

// A notebook is a log that can be read while it is written.
type notebook struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (n *notebook) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// count returns how often the log contains a text.
func (n *notebook) count(what string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Count(n.text.String(), what)
}

// Two workers have the same name. The second is rejected, logs that once, and takes over the name
// when the first has gone.
func TestTwoWorkersOfOneName(t *testing.T) {
	turned := &notebook{}
	g := newRig(t, func(c *cluster.Config) { c.Log = slog.New(slog.NewTextHandler(turned, nil)) })
	leave := g.join("twin")
	first := g.pool.Status()[0]
	said := &notebook{}
	g.join("twin", func(c *cluster.WorkerConfig) { c.Log = slog.New(slog.NewTextHandler(said, nil)) })
	kit.Until(g, "the second was turned away twice", func() bool { return turned.count("worker rejected") >= 2 })
	if all := g.pool.Status(); len(all) != 1 || all[0].Address != first.Address || !all[0].Since.Equal(first.Since) {
		t.Errorf("the first was %+v, and there are %+v", first, all)
	}
	if said.count("another worker named twin is connected from "+first.Address) != 1 || said.count("give each worker a different --name") != 1 {
		t.Errorf("the second says:\n%s", said.text.String())
	}
	leave()
	kit.Until(g, "the second has come", func() bool {
		all := g.pool.Status()
		return len(all) == 1 && all[0].Address != first.Address
	})
}

// A worker that reconnects before the leader has noticed its dead connection is accepted at once.
// Another worker of its name is not.
func TestAWorkerComesBack(t *testing.T) {
	for run, back := range map[string]bool{"its run": true, "another run": false, "": false} {
		t.Run(run, func(t *testing.T) {
			g := newRig(t)
			enter := func(run string) (raw, bool) {
				one := g.raw()
				one.say("hello", 0, map[string]any{"version": cluster.Version, "name": "one", "slots": 4, "run": run})
				said, err := one.hear()
				if err != nil || said.Kind != "welcome" {
					t.Fatalf("it is told %+v: %v", said, err)
				}
				return one, !strings.Contains(string(said.Say), "taken")
			}
			first, _ := enter("its run")
			stays := first
			second, in := enter(run)
			if in != back {
				t.Errorf("whether it is let in is answered with %v", in)
			}
			if back {
				stays = second
			}
			if all := g.pool.Status(); len(all) != 1 || all[0].Address != stays.LocalAddr().String() {
				t.Errorf("at work is %+v, want the one at %s", all, stays.LocalAddr())
			}
			stays.say("ping", 0, map[string]any{"at": 1})
			if said, err := stays.hear(); err != nil || said.Kind != "pong" {
				t.Errorf("it is told %+v: %v", said, err)
			}
		})
	}
}

// A worker of an old version, which sends no run ID, is accepted once the leader has noticed its
// dead connection.
func TestAWorkerWithoutARunComesBack(t *testing.T) {
	g := newRig(t, func(c *cluster.Config) { c.Lease = 200 * time.Millisecond })
	for range 2 {
		kit.Until(t, "it is let in", func() bool {
			one := g.raw()
			one.say("hello", 0, map[string]any{"version": cluster.Version, "name": "one", "slots": 4})
			said, err := one.hear()
			return err == nil && said.Kind == "welcome" && !strings.Contains(string(said.Say), "taken")
		})
	}
}
