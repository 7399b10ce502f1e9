package main

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
	"freshet/internal/test/tier"
)

// walkCommands returns the commands of docs/how-to/cluster.md that make a cluster of nothing.
func walkCommands(t *testing.T) (commands [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/how-to/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## From nothing to three nodes and two workers\n")
	part, _, _ = strings.Cut(part, "\n## ")
	for line := range strings.Lines(part) {
		if command, ok := strings.CutPrefix(line, "    freshet "); ok {
			command, _, _ = strings.Cut(command, "#")
			commands = append(commands, strings.Fields(command))
		}
	}
	return commands
}

// freeAddress returns an address of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A walk is a cluster as docs/how-to/cluster.md makes it.
type walk struct {
	*testing.T
	dir            string
	nodes, workers []*clusterNode
}

// newWalk runs the commands of docs/how-to/cluster.md, with addresses and a database of this machine.
func newWalk(t *testing.T) *walk {
	pg := pgtest.Start(t, "fsync=on")
	w := &walk{T: t, dir: t.TempDir()}
	here := strings.NewReplacer("10.0.0.1:8443", freeAddress(t), "10.0.0.2:8443", freeAddress(t), "10.0.0.3:8443", freeAddress(t), "postgres://freshet@db/freshet", pg.URL(pg.Database(t)))
	commands := walkCommands(t)
	if len(commands) == 0 || len(commands) > 6 {
		t.Fatalf("there are %d commands: %v", len(commands), commands)
	}
	for i, args := range commands {
		args = slices.Clone(args)
		for j := range args {
			args[j] = here.Replace(args[j])
		}
		env := []string{"FRESHET_DATA=" + filepath.Join(w.dir, fmt.Sprint("data", i)), "FRESHET_ALLOW_CIDR=127.0.0.0/8", "FRESHET_LEASE=" + clusterLease.String()}
		n := startNodeIn(t, w.dir, env, args...)
		switch cmp.Or(strings.TrimPrefix(args[0], "cluster"), args[1]) {
		case "serve":
			w.nodes = append(w.nodes, n)
		case "worker":
			w.workers = append(w.workers, n)
		default:
			if err := n.Wait(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, n.log)
			}
		}
	}
	if len(w.nodes) != 3 || len(w.workers) != 2 {
		t.Fatalf("the commands start %d nodes and %d workers", len(w.nodes), len(w.workers))
	}
	return w
}

// cluster returns what a node says, to a command on its machine.
func (w *walk) cluster(i int) (all client.Cluster) {
	out, _ := ran(w.T, "", "cluster", "--json", "--data", filepath.Join(w.dir, fmt.Sprint("data", i+1)))
	_ = json.Unmarshal([]byte(out), &all) // it may not answer yet
	return all
}

// whole reports whether a node says that there is a leader, some warm standbys and all workers.
func (w *walk) whole(i, standbys int) bool {
	all := w.cluster(i)
	warm := 0
	for _, n := range all.Nodes {
		if n.Standby == "warm" {
			warm++
		}
	}
	return all.Brain.Address != "" && warm == standbys && len(all.Hands) == len(w.workers)
}

// The commands of docs/how-to/cluster.md make a cluster of nothing: three nodes that can take over, two workers, TLS
// everywhere, and an admin who can log in. Workers find the next leader.
func TestFromNothingToACluster(t *testing.T) {
	tier.Slow(t, "it starts PostgreSQL, three nodes and two workers")
	w := newWalk(t)
	for i := range w.nodes {
		kit.Until(t, "all machines are there", func() bool { return w.whole(i, 2) })
	}
	password, err := os.ReadFile(filepath.Join(w.dir, "freshet-cluster", "node", identity.PasswordName))
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(w.dir, "freshet-cluster", "worker", identity.CAName)
	login := fmt.Sprintf(`{"user":"admin","password":%q}`, strings.TrimSpace(string(password)))
	resp, err := fetch.TrustedBy(time.Minute, identity.TrustFile(ca)).Post(w.nodes[1].url+"/api/v1/session", "application/json", strings.NewReader(login))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) == 0 || !resp.Cookies()[0].Secure {
		t.Errorf("the login of the admin is answered %s, with %v", resp.Status, resp.Cookies())
	}
	if _, err := client.New(w.nodes[1].url, fetch.Trusted(time.Minute).Do).Cluster(t.Context()); !isUnverified(err) {
		t.Errorf("who does not know the CA gets %v", err)
	}
	if out, well := ran(t, "", "list", "--server", w.nodes[1].url); well || !strings.Contains(out, "--ca FILE") {
		t.Errorf("a command that does not know the CA prints: %s", out)
	}
	if resp, err := http.Get(strings.Replace(w.nodes[1].url, "https://", "http://", 1) + "/healthz"); err == nil && resp.StatusCode == http.StatusOK {
		t.Error("a node answers without TLS")
	}
	leads := w.cluster(0).Brain.Address
	first := slices.IndexFunc(w.nodes, func(n *clusterNode) bool { return n.url == leads })
	if first < 0 {
		t.Fatalf("the leader is %q", leads)
	}
	if err := w.nodes[first].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	left := (first + 1) % 3
	kit.Until(t, "another leads, and has the workers", func() bool { return w.cluster(left).Brain.Address != leads && w.whole(left, 1) })
	if out, well := ran(t, "a long password", "user", "add", "ada", "--role", "admin", "--data", filepath.Join(w.dir, fmt.Sprint("data", (first+2)%3+1))); !well {
		t.Errorf("user add at a node prints: %s", out)
	}
}

func isUnverified(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "certificate") || strings.Contains(err.Error(), (&tls.CertificateVerificationError{}).Error()))
}
