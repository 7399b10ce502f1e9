package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"slices"
	"testing"
	"time"

	"freshet/internal/cluster/shards"
	"freshet/internal/test/pgtest"
)

// pooled returns what freshet pool says.
func pooled(t *testing.T, at string) (s shared) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "freshet", "pool", "--pool", at, "--config", "none", "--json").Output()
	if err != nil {
		t.Fatalf("freshet pool: %v", err)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("freshet pool says %s: %v", out, err)
	}
	return s
}

// Three processes share a budget. One after the other is killed and started again, and the server
// of the pages never sees more requests than the budget allows.
func TestKilledShardsKeepTheBudget(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	at := pg.URL(pg.Database(t))
	world := newClusterWorld(t)
	const count = 3
	var nodes [count]*clusterNode
	var args [count][]string
	for i := range nodes {
		args[i] = []string{"serve", "--config", "none", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--pool", at, "--shard", fmt.Sprintf("%d/%d", i+1, count),
			"--allow-cidr", "127.0.0.0/8", "--budget", "12/s", "--host-delay", "0s", "--source-gap", "0s", "--source-share", "100%", "--host-share", "100%", "--crawl-delay", "0s"}
		nodes[i] = startNode(t, args[i]...)
	}
	var has [count]bool
	for slices.Contains(has[:], false) {
		host := httptest.NewServer(world.Config.Handler) // until each shard has one
		t.Cleanup(host.Close)
		number, _ := shards.Shard{Number: 1, Of: count}.Has(host.Listener.Addr().String())
		if has[number-1] {
			continue
		}
		has[number-1] = true
		for page := range 6 {
			url := fmt.Sprintf("%s/%d", host.URL, page)
			out, err := exec.CommandContext(t.Context(), "freshet", "add", url, "--server", nodes[number-1].url, "--allow-cidr", "127.0.0.0/8").CombinedOutput()
			if err != nil {
				t.Fatalf("adding %s: %v\n%s", url, err, out)
			}
		}
	}
	polls := func(more int) {
		t.Helper()
		count := func() int {
			world.mu.Lock()
			defer world.mu.Unlock()
			return len(world.asked)
		}
		for before, end := count(), time.Now().Add(slowest); count() < before+more; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d requests came in %v", count()-before, slowest)
			}
		}
	}
	for i := range nodes {
		polls(40)
		if err := nodes[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = nodes[i].Wait() // it was killed
		nodes[i] = startNode(t, args[i]...)
	}
	polls(40)
	if most := world.most(900 * time.Millisecond); most > 12 { // the server may come late to one of a process that was killed
		t.Errorf("%d requests came within a second, and the budget is 12/s", most)
	}
	s := pooled(t, at)
	if s.Budget != "12/s" || len(s.Shards) != count || s.Shards[1].Sources != 6 || s.Shards[1].Address != nodes[1].url || s.Shards[1].Lost {
		t.Errorf("freshet pool says %+v", s)
	}
}
