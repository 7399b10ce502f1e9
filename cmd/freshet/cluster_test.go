//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// A clusterWorld is pages that change, as the server of the pages sees it.
type clusterWorld struct {
	*httptest.Server
	mu    sync.Mutex
	asked []time.Time
}

func newClusterWorld(t *testing.T) *clusterWorld {
	w := &clusterWorld{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, time.Now())
		n := len(w.asked)
		w.mu.Unlock()
		fmt.Fprintf(rw, "<p>edition %d of %s</p>", n, r.URL.Path)
	}))
	t.Cleanup(w.Close)
	return w
}

// most returns the most requests that came within some time.
func (w *clusterWorld) most(within time.Duration) (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.asked, time.Time.Compare)
	for i, from := 0, 0; i < len(w.asked); i++ {
		for w.asked[i].Sub(w.asked[from]) >= within {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// A clusterNode is a process of the program.
type clusterNode struct {
	*exec.Cmd
	url string
	log *bytes.Buffer
}

// startNode runs the program until it says where it is, or at all.
func startNode(t *testing.T, args ...string) *clusterNode {
	t.Helper()
	return startNodeIn(t, "", nil, args...)
}

// startNodeIn is startNode in a directory, with more of an environment.
func startNodeIn(t *testing.T, dir string, env []string, args ...string) *clusterNode {
	t.Helper()
	n := &clusterNode{Cmd: exec.CommandContext(context.WithoutCancel(t.Context()), "freshet", args...), log: &bytes.Buffer{}}
	n.Stderr, n.Dir, n.Env = n.log, dir, append(os.Environ(), env...)
	out, err := n.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Process.Kill() // it may have ended
		_ = n.Wait()
		if t.Failed() {
			t.Logf("%v said:\n%s", args[:1], n.log)
		}
	})
	if args[0] != "serve" {
		return n
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, n.url, _ = strings.Cut(strings.TrimSpace(line), "listening on "); n.url == "" {
		t.Fatalf("a node does not start: %v\n%s", err, n.log)
	}
	go io.Copy(io.Discard, out)
	return n
}

// api returns a client of a node.
func (n *clusterNode) api() *client.Client {
	return client.New(n.url, fetch.Trusted(30*time.Second).Do)
}

// A clusterRig is three nodes and two workers.
type clusterRig struct {
	*testing.T
	world *clusterWorld
	args  []string
	nodes []*clusterNode

	mu     sync.Mutex
	heard  []string // ids of changes, by a client that follows them
	epochs []int64  // as anybody has seen them
}

const clusterLease = 3 * time.Second // which nobody loses who only is slow

func newClusterRig(t *testing.T) *clusterRig {
	pg := pgtest.Start(t, "fsync=on")
	r := &clusterRig{T: t, world: newClusterWorld(t)}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("a-token-for-the-hands-of-a-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.args = []string{"serve", "--store", pg.URL(pg.Database(t)), "--listen", "127.0.0.1:0", "--lease", clusterLease.String(), "--hand-token-file", token, "--secrets", t.TempDir(),
		"--allow-cidr", "127.0.0.0/8", "--budget", "20/2s", "--host-delay", "0s", "--source-gap", "0s", "--source-share", "100%", "--host-share", "100%", "--policy", "uniform", "--crawl-delay", "0s"}
	for range 3 {
		r.nodes = append(r.nodes, r.serve())
	}
	join := r.nodes[0].url + "," + r.nodes[1].url + "," + r.nodes[2].url
	for _, name := range []string{"left", "right"} {
		startNode(t, "cluster", "worker", "--join", join, "--token-file", token, "--name", name, "--slots", "4", "--allow-cidr", "127.0.0.0/8")
	}
	return r
}

// serve starts a node with a data directory of its own.
func (r *clusterRig) serve() *clusterNode {
	return startNode(r.T, append(slices.Clone(r.args), "--data", r.TempDir())...)
}

// leader returns the node that decides, as another says.
func (r *clusterRig) leader(after int64) (found *clusterNode, epoch int64) {
	kit.Until(r, fmt.Sprintf("a leader after epoch %d", after), func() bool {
		for _, n := range r.nodes {
			all, err := n.api().Cluster(r.Context())
			if err != nil || all.Brain.Epoch <= after {
				continue
			}
			i := slices.IndexFunc(r.nodes, func(n *clusterNode) bool { return n.url == all.Brain.Address })
			if i < 0 {
				continue
			}
			found, epoch = r.nodes[i], all.Brain.Epoch
			r.mu.Lock()
			r.epochs = append(r.epochs, epoch)
			r.mu.Unlock()
			return true
		}
		return false
	})
	return found, epoch
}

// follow follows the changes at one node after the other, for a moment at each.
func (r *clusterRig) follow(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		node := r.nodes[i%len(r.nodes)]
		turn, cancel := context.WithCancel(ctx)
		if err := r.stream(turn, node.url, func() { time.AfterFunc(700*time.Millisecond, cancel) }); err != nil && turn.Err() == nil {
			select { // it was killed, or takes over
			case <-turn.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
		cancel()
	}
}

// stream follows the changes at a node, and says when it begins to.
func (r *clusterRig) stream(ctx context.Context, at string, begun func()) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/v1/changes/stream", nil)
	if err != nil {
		return err
	}
	r.mu.Lock()
	last := "0"
	if len(r.heard) > 0 {
		last = r.heard[len(r.heard)-1]
	}
	r.mu.Unlock()
	req.Header.Set("Last-Event-ID", last)
	resp, err := fetch.Trusted(5 * time.Second).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	begun()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			r.mu.Lock()
			r.heard = append(r.heard, id)
			r.mu.Unlock()
		}
	}
	return nil
}

// more waits until so many more changes have been heard of.
func (r *clusterRig) more(n int) {
	r.Helper()
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.heard)
	}
	from := count()
	kit.Until(r, "changes", func() bool { return count() >= from+n })
}

// edit sets the name of a source through a node until that is acknowledged.
func (r *clusterRig) edit(n *clusterNode, id, name string) {
	r.Helper()
	kit.Until(r, "an edit to be acknowledged", func() bool {
		body, _ := json.Marshal(map[string]string{"name": name})
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPatch, n.url+"/api/v1/sources/"+id, bytes.NewReader(body))
		if err != nil {
			r.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/merge-patch+json")
		resp, err := fetch.Trusted(10 * time.Second).Do(req)
		if err != nil {
			return false
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
			r.Errorf("a node that cannot pass on an edit does not say when to try again: %v %s", resp.Header, said)
		}
		return resp.StatusCode == http.StatusOK
	})
}

// Three nodes on one database have one that decides. It is killed, and the next one is stopped
// for two leases and wakes up again: others take over, and the budget holds as the server of
// the pages counts. Whoever follows the changes at whatever node misses none, and nothing that
// was acknowledged is lost.
func TestCluster(t *testing.T) {
	r := newClusterRig(t)
	for n := range 8 {
		via := r.nodes[n%3]
		if _, err := via.api().Sources.Add(t.Context(), client.NewSource{ID: freshet.SourceID(fmt.Sprintf("p%d", n)), URL: fmt.Sprintf("%s/p%d", r.world.URL, n)}); err != nil {
			t.Fatalf("add a source through %s: %v", via.url, err)
		}
	}
	following, stop := context.WithCancel(t.Context())
	defer stop()
	var followed sync.WaitGroup
	followed.Go(func() { r.follow(following) })
	first, epoch := r.leader(0)
	r.more(5)
	kit.Until(r, "two hands", func() bool {
		all, err := r.nodes[2].api().Cluster(t.Context())
		return err == nil && len(all.Hands) == 2 && len(all.Nodes) == 3
	})
	r.edit(r.nodes[1], "p1", "before the kill")

	if err := first.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second, next := r.leader(epoch)
	r.more(5)
	r.nodes[slices.Index(r.nodes, first)] = r.serve()
	for _, n := range r.nodes {
		if s, err := n.api().Sources.Get(t.Context(), "p1"); err != nil || s.Name != "before the kill" {
			t.Errorf("after the kill %s has p1 as %q: %v", n.url, s.Name, err)
		}
	}

	r.edit(r.nodes[2], "p2", "before the stop")
	if err := second.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	third, last := r.leader(next)
	if third == second {
		t.Error("a stopped node decides")
	}
	r.more(5)
	r.edit(third, "p2", "while it was stopped")
	if err := second.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	kit.Until(r, "the one that was stopped to stand by", func() bool {
		all, err := second.api().Cluster(t.Context())
		return err == nil && all.Brain.Epoch >= last && slices.ContainsFunc(all.Nodes, func(n client.ClusterNode) bool {
			return n.Address == second.url && n.Role == "standby"
		})
	})
	r.edit(second, "p3", "through it")
	r.more(5)
	stop()
	followed.Wait()

	if most := r.world.most(1800 * time.Millisecond); most > 20 { // the server may come late to one of a process that was killed
		t.Errorf("the server had %d requests within 2 s, and the budget is 20", most)
	}
	if !slices.IsSorted(r.epochs) {
		t.Errorf("epochs fall: %v", r.epochs)
	}
	r.compare()
	for id, want := range map[string]string{"p1": "before the kill", "p2": "while it was stopped", "p3": "through it"} {
		if s, err := third.api().Sources.Get(t.Context(), freshet.SourceID(id)); err != nil || s.Name != want {
			t.Errorf("%s is called %q: %v", id, s.Name, err)
		}
	}
}

// compare holds what was heard of against the log, as each node has it.
func (r *clusterRig) compare() {
	r.Helper()
	for _, n := range r.nodes {
		var log []string
		for after := (freshet.Place{}); ; {
			page, err := n.api().Changes(r.Context(), client.ChangeQuery{After: after})
			if err != nil {
				r.Fatal(err)
			}
			for _, c := range page.Items {
				log = append(log, c.Cursor.String())
			}
			if after = page.Next; len(page.Items) == 0 {
				break
			}
		}
		if len(log) < len(r.heard) || !slices.Equal(log[:len(r.heard)], r.heard) {
			r.Errorf("%s has %d changes, and %d were heard of:\n%v\n%v", n.url, len(log), len(r.heard), log, r.heard)
		}
	}
}
