package pgtest

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// User and Password are those of the superuser of a Server.
const (
	User     = "freshet"
	Password = "pass-word of postgres" // with what has to be escaped
)

// A Server is a PostgreSQL server. It takes connections with and without TLS.
type Server struct {
	Address string         // host and port
	Roots   *x509.CertPool // what its certificate is signed by

	bin, dir  string
	settings  []string
	databases atomic.Int32

	stdin io.Closer // the server ends when this does, also if the test process is killed
	ended chan error
}

// Start returns a server that runs until the test ends. It does not sync its disk unless one
// of the settings says otherwise, such as "fsync=on".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	bin := find()
	if bin == "" {
		t.Skip("PostgreSQL is not installed: apt-get install postgresql, or make setup")
	}
	dir, err := os.MkdirTemp("/dev/shm", "freshet-postgresql-") // in memory, where syncs cost nothing
	if err != nil {
		dir, err = os.MkdirTemp("", "freshet-postgresql-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{bin: bin, dir: dir, settings: settings}
	if err := s.create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(t) })
	s.Resume(t)
	return s
}

// find returns the folder with the programs of the newest PostgreSQL; "" if there is none.
func find() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has it
	if len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b string) int {
		if len(a) != len(b) { // 9 comes before 15
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return filepath.Dir(found[len(found)-1])
}

// create makes the files of the server. Those of its certificate are those of package httptest,
// which is one for 127.0.0.1.
func (s *Server) create() error {
	over := httptest.NewTLSServer(nil)
	over.Close()
	s.Roots = x509.NewCertPool()
	s.Roots.AddCert(over.Certificate())
	key, err := x509.MarshalPKCS8PrivateKey(over.TLS.Certificates[0].PrivateKey)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"password":   []byte(Password),
		"server.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: over.Certificate().Raw}),
		"server.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := handOver(s.dir); err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(s.bin, "initdb"), "--pgdata", s.data(), "--username", User, "--pwfile", filepath.Join(s.dir, "password"),
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	cmd.Dir = s.dir
	humble(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	// The port stays the same over a restart, so it has to be known beforehand.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.Address = l.Addr().String()
	return l.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Resume starts the server again after Stop, at the same address with the same data.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	// The shell ends the server when its standard input ends.
	args := []string{"-c", `"$@" </dev/null & cat >/dev/null; kill -INT $! 2>/dev/null; wait $!`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "ssl=on", "-c", "ssl_cert_file=" + filepath.Join(s.dir, "server.crt"), "-c", "ssl_key_file=" + filepath.Join(s.dir, "server.key"),
		"-c", "max_connections=50", "-c", "shared_buffers=16MB", "-c", "max_wal_size=128MB", "-c", "min_wal_size=32MB"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command("sh", args...)
	cmd.Dir = s.dir
	humble(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stdin, s.ended = stdin, make(chan error, 1)
	ready, said := make(chan struct{}), &strings.Builder{}
	go func() {
		up := sync.OnceFunc(func() { close(ready) })
		for lines := bufio.NewScanner(log); lines.Scan(); {
			fmt.Fprintln(said, lines.Text())
			if strings.Contains(lines.Text(), "ready to accept connections") {
				up()
			}
		}
		s.ended <- cmd.Wait()
	}()
	select {
	case <-ready:
	case err := <-s.ended:
		t.Fatalf("PostgreSQL does not start: %v\n%s", err, said)
	case <-time.After(time.Minute):
		t.Fatal("PostgreSQL does not start within a minute")
	}
}

// Stop ends the server, and cuts off whoever is connected. It can be called more than once.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if s.stdin == nil {
		return
	}
	s.stdin.Close()
	s.stdin = nil
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		t.Error("PostgreSQL does not end within a minute")
	}
}

// Database creates an empty database and returns its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	conn := s.Connect(t, "postgres")
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// URL returns the URL of a database.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: s.Address, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Connect returns a connection to a database that is closed when the test ends.
func (s *Server) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.Address)
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable", host, port, User, Password, database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}
