package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/test/pgtest"
	"freshet/internal/test/tier"
)

// ran runs the program and returns what it printed, and whether it ended well.
func ran(t *testing.T, in string, args ...string) (out string, well bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one that serves never ends
	defer cancel()
	cmd := exec.CommandContext(ctx, "freshet", args...)
	var both bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &both, &both
	err := cmd.Run()
	return both.String(), err == nil
}

// The data directory of a node on PostgreSQL remembers its database: no command that is not told
// of it begins a store of its own there, and each says what to do.
func TestDataOfANodeOnPostgres(t *testing.T) {
	tier.Slow(t, "it starts PostgreSQL and nodes")
	pg := pgtest.Start(t, "fsync=on")
	at, dir := pg.URL(pg.Database(t)), t.TempDir()
	n := startNode(t, "serve", "--store", at, "--data", dir, "--listen", "127.0.0.1:0")
	if out, well := ran(t, "a long password", "user", "add", "ada", "--role", "admin", "--data", dir); !well {
		t.Fatalf("beside a daemon, user add prints: %s", out)
	}
	if err := n.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"user", "add", "bob", "--role", "admin"},
		{"user", "list"},
		{"user", "token", "add", "ci", "--scope", "admin"},
		{"add", "http://127.0.0.1/"},
		{"list"},
		{"once"},
		{"serve", "--listen", "127.0.0.1:0"},
		{"check", "--store"},
		{"lab", "replay", "--policy", "uniform", "--from-store"},
		{"cluster", "move", "--to", filepath.Join(dir, "elsewhere")},
	} {
		out, well := ran(t, "a long password", append(args, "--data", dir)...)
		if well || !strings.Contains(out, "belongs to a node on postgres://") || !strings.Contains(out, "--store postgres://") || strings.Contains(out, pgtest.Password) {
			t.Errorf("%v ends well: %v, and prints: %s", args, well, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "freshet.db")); err == nil {
		t.Error("a store was begun in the directory of a node on PostgreSQL")
	}
	if out, well := ran(t, "a long password", "user", "add", "bob", "--data", dir, "--store", at); !well {
		t.Errorf("with --store, user add prints: %s", out)
	}
	if out, well := ran(t, "", "user", "list", "--data", t.TempDir(), "--store", at); !well || !strings.Contains(out, "ada") || !strings.Contains(out, "bob") {
		t.Errorf("with --store, user list prints: %s", out)
	}
	if out, well := ran(t, "", "cluster", "move", "--from", at, "--to", dir); !well {
		t.Fatalf("move prints: %s", out)
	}
	if out, well := ran(t, "", "user", "list", "--data", dir); !well || !strings.Contains(out, "bob") {
		t.Errorf("after the move back, user list prints: %s", out)
	}
}

// What a refused serve says to do can be done.
func TestHintOfARefusedNode(t *testing.T) {
	tier.Slow(t, "it starts PostgreSQL and nodes")
	pg := pgtest.Start(t, "fsync=on")
	at, dir := pg.URL(pg.Database(t)), t.TempDir()
	t.Setenv("PGPASSWORD", pgtest.Password) // which no hint says
	serve := []string{"serve", "--store", at, "--data", dir, "--listen", "0.0.0.0:0", "--insecure-cluster"}
	out, well := ran(t, "", serve...)
	_, rest, _ := strings.Cut(out, "freshet user add NAME ")
	if rest, _, _ = strings.Cut(rest, ";"); well || rest == "" {
		t.Fatalf("serve without users prints: %s", out)
	}
	add := append([]string{"user", "add", "ada", "--data", dir}, strings.Fields(rest)...)
	if out, well := ran(t, "a long password", add...); !well {
		t.Fatalf("%v prints: %s", add, out)
	}
	startNode(t, serve...)
}

// A database that pg_dump and pg_restore copied passes the verification, and opens; a damaged copy does not pass.
func TestBackupOfPostgres(t *testing.T) {
	tier.Slow(t, "it starts PostgreSQL")
	pg := pgtest.Start(t, "fsync=on")
	name, copied, dir := pg.Database(t), pg.Database(t), t.TempDir()
	list := filepath.Join(dir, "list.txt")
	if err := os.WriteFile(list, []byte("https://a.example/\nhttps://b.example/ news\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, well := ran(t, "", "import", list, "--data", dir, "--store", pg.URL(name)); !well {
		t.Fatalf("import prints: %s", out)
	}
	dump := filepath.Join(dir, "freshet.dump")
	for _, args := range [][]string{
		{"pg_dump", "--format", "custom", "--file", dump, pg.URL(name)},
		{"pg_restore", "--no-owner", "--dbname", pg.URL(copied), dump},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
	}
	if out, well := ran(t, "", "backup", "--verify", pg.URL(copied)); !well {
		t.Errorf("the verification of a copy prints: %s", out)
	}
	if out, well := ran(t, "", "list", "--data", t.TempDir(), "--store", pg.URL(copied)); !well || !strings.Contains(out, "b.example") {
		t.Errorf("the list of a copy is: %s", out)
	}
	if _, err := pg.Connect(t, copied).Exec(t.Context(), "UPDATE sources SET url = 'https://c.example/' WHERE url = 'https://b.example/'"); err != nil {
		t.Fatal(err)
	}
	if out, well := ran(t, "", "backup", "--verify", pg.URL(copied)); well || !strings.Contains(out, "b-example") {
		t.Errorf("the verification of a damaged copy ends well: %v, and prints: %s", well, out)
	}
}
