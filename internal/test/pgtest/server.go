package pgtest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
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

	"freshet/internal/test/tier"
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

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: apt-get install postgresql, or make setup")

// Start returns a server that runs until the test ends. It does not sync its disk unless one
// of the settings says otherwise, such as "fsync=on". Its files are in memory where that can
// be, or in the directory FRESHET_POSTGRES_DIR if that is set. In short mode the test is skipped.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	tier.Slow(t, "it starts PostgreSQL")
	s, err := Launch(settings...)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Launch starts a server outside of a test. It must be removed.
func Launch(settings ...string) (_ *Server, err error) {
	s, err := place(settings)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Remove())
		}
	}()
	if err := s.create(); err != nil {
		return nil, err
	}
	return s, s.Run()
}

// place makes a folder for a server.
func place(settings []string) (*Server, error) {
	bin := find()
	if bin == "" {
		return nil, ErrMissing
	}
	within := os.Getenv("FRESHET_POSTGRES_DIR")
	dir, err := os.MkdirTemp(cmp.Or(within, "/dev/shm"), "freshet-postgresql-") // in memory syncs cost nothing
	if err != nil && within == "" {
		dir, err = os.MkdirTemp("", "freshet-postgresql-")
	}
	return &Server{bin: bin, dir: dir, settings: settings}, err
}

// Remove ends the server and deletes its data.
func (s *Server) Remove() error { return errors.Join(s.Halt(), os.RemoveAll(s.dir)) }

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

// create makes the files of the server: a copy of those that initdb made on this machine before.
// initdb takes a second of CPU time, and the tests start dozens of servers.
func (s *Server) create() error {
	if err := s.certify(); err != nil {
		return err
	}
	made, err := s.template()
	if err != nil {
		return err
	}
	if _, err := os.Stat(made); err == nil {
		if err := copyTree(made, s.data()); err != nil {
			return err
		}
		return errors.Join(handOver(s.dir), s.reserve())
	}
	if err := s.command("initdb", "--pgdata", s.data(), "--username", User, "--pwfile", filepath.Join(s.dir, "password"),
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"); err != nil {
		return err
	}
	keep(s.data(), made)
	return s.reserve()
}

// template returns where the files that initdb makes are kept: in the user's cache, by the program
// that makes them.
func (s *Server) template() (string, error) {
	program, err := os.Stat(filepath.Join(s.bin, "initdb"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	id := sha256.Sum256(fmt.Append(nil, s.bin, program.Size(), program.ModTime().UnixNano(), Password))
	return filepath.Join(cache, "freshet-test", fmt.Sprintf("postgresql-%x", id[:8])), nil
}

// keep copies the files that initdb made to where the next server looks for them. Without them the
// next one has initdb make them again, so nothing is said of an error.
func keep(data, made string) {
	if err := os.MkdirAll(filepath.Dir(made), 0o700); err != nil {
		return
	}
	part, err := os.MkdirTemp(filepath.Dir(made), "part-")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	whole := filepath.Join(part, "data")
	if err := copyTree(data, whole); err == nil {
		_ = os.Rename(whole, made) // another process may have been faster
	}
}

// copyTree copies a folder with the permissions of its files.
func copyTree(from, to string) error {
	if out, err := exec.Command("cp", "-Rp", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// certify makes the files of the certificate and the password. The certificate is that of package
// httptest, which is one for 127.0.0.1.
func (s *Server) certify() error {
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
	return handOver(s.dir)
}

// command runs a program of PostgreSQL.
func (s *Server) command(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	humble(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// reserve chooses a port. It stays the same over a restart, so it has to be known beforehand.
func (s *Server) reserve() error {
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
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
}

// Run starts the server, if it does not run.
func (s *Server) Run() error {
	if s.stdin != nil {
		return nil
	}
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return err
	}
	// The shell ends the server when its standard input ends.
	args := []string{"-c", `"$@" </dev/null & cat >/dev/null; kill -INT $! 2>/dev/null; wait $!`, "sh",
		filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "ssl=on", "-c", "ssl_cert_file=" + filepath.Join(s.dir, "server.crt"), "-c", "ssl_key_file=" + filepath.Join(s.dir, "server.key"),
		"-c", "dynamic_shared_memory_type=mmap", "-c", "max_connections=50", "-c", "shared_buffers=16MB", "-c", "max_wal_size=128MB", "-c", "min_wal_size=32MB"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command("sh", args...)
	cmd.Dir = s.dir
	humble(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.stdin, s.ended = stdin, make(chan error, 1)
	ready, said := make(chan struct{}), &strings.Builder{}
	go func() {
		up := sync.OnceFunc(func() { close(ready) })
		for lines := bufio.NewScanner(log); lines.Scan(); {
			fmt.Fprintln(said, lines.Text())
			if strings.Contains(lines.Text(), "ready to accept ") { // connections, or read-only connections
				up()
			}
		}
		s.ended <- cmd.Wait()
	}()
	select {
	case <-ready:
		return nil
	case err := <-s.ended:
		s.stdin = nil
		return fmt.Errorf("PostgreSQL does not start: %w\n%s", err, said)
	case <-time.After(time.Minute):
		return errors.New("PostgreSQL does not start within a minute")
	}
}

// Stop ends the server and its connections. It can be called more than once.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.Halt(); err != nil {
		t.Error(err)
	}
}

// Halt ends the server, if it runs, and its connections.
func (s *Server) Halt() error {
	if s.stdin == nil {
		return nil
	}
	s.stdin.Close()
	s.stdin = nil
	select {
	case <-s.ended:
		return nil
	case <-time.After(time.Minute):
		return errors.New("PostgreSQL does not end within a minute")
	}
}

// Database creates an empty database and returns its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if err := s.Do(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Do has the server carry out a statement, outside of any database of a test.
func (s *Server) Do(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.conninfo("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// conninfo says in the words of libpq where a database is.
func (s *Server) conninfo(database string) string {
	host, port, _ := net.SplitHostPort(s.Address)
	return fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable", host, port, User, Password, database)
}

// URL returns the URL of a database.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: s.Address, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Connect returns a connection to a database that is closed when the test ends.
func (s *Server) Connect(t testing.TB, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.conninfo(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}
