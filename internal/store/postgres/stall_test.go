package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/netfault"
)

// newWire returns a wire to the server of a shed.
func newWire(t *testing.T, s *shed) *netfault.Wire {
	t.Helper()
	w, err := netfault.New(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// over returns the URL of a new store with the servers at addresses in place of its own.
func (s *shed) over(t *testing.T, addresses ...string) string {
	t.Helper()
	at, err := url.Parse(s.url(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	at.Host = strings.Join(addresses, ",")
	q := at.Query()
	q.Set("connect_timeout", "2")
	q.Set("target_session_attrs", "read-write")
	at.RawQuery = q.Encode()
	return at.String()
}

// within calls something and fails if it does not return in five minutes.
func within(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Minute):
		t.Fatalf("%s: nothing in five minutes", what)
		return nil
	}
}

// gapless holds that so many polls are on record, each once.
func gapless(t *testing.T, s *postgres.Store, polls int) {
	t.Helper()
	var log []freshet.Outcome
	err := within(t, "reading the log", func() (err error) {
		for range 10 { // as many connections may be dead, and one after the other is found to be
			if log, err = s.Outcomes(t.Context(), freshet.OutcomeQuery{Newest: true}); err == nil {
				break
			}
		}
		return err
	})
	if err != nil || len(log) != polls {
		t.Fatalf("%d polls are on record (%v), want %d", len(log), err, polls)
	}
	for i, o := range log {
		if want := freshet.Cursor(len(log) - i); o.Cursor != want {
			t.Errorf("cursor %d is where %d should be", o.Cursor, want)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDeadNetwork has PostgreSQL behind a network that goes dead.
func TestDeadNetwork(t *testing.T) {
	server := newShed(t)
	for name, test := range map[string]func(*testing.T, *shed){
		"is left": deadNetworkIsLeft, "there is no other": noWayToTheServer, "is only thought to be dead": longTransaction,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

// A network that swallows what is sent, or the answers, does not keep a writer waiting: it goes
// on over the next address of the URL, and every poll is on record once. The connection that
// is dead stays so.
func deadNetworkIsLeft(t *testing.T, shed *shed) {
	for name, state := range map[string]netfault.State{"questions": {Out: true}, "answers": {In: true}, "both": netfault.Dead} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newWire(t, shed), newWire(t, shed)
			s := open(t, postgres.Config{URL: shed.over(t, first.Address(), second.Address()), Lease: 2 * time.Second})
			defer s.Close()
			const sources, polls = 4, 6
			for i := range sources {
				add(t, s, freshet.SourceID(fmt.Sprintf("s%d", i)))
			}
			var polling sync.WaitGroup
			for i := range sources {
				polling.Go(func() {
					for n := range polls {
						if i == 0 && n == 2 {
							first.Set(state)
						}
						if err := within(t, "a poll", func() error { _, err := poll(s, freshet.SourceID(fmt.Sprintf("s%d", i)), n); return err }); err != nil {
							t.Errorf("a poll is not recorded: %v", err)
						}
					}
				})
			}
			polling.Wait()
			gapless(t, s, sources*polls)
		})
	}
}

// If there is no other way, whoever writes is told so, and has no right to begin anything. When
// the way is good again everything goes on.
func noWayToTheServer(t *testing.T, shed *shed) {
	only := newWire(t, shed)
	s := open(t, postgres.Config{URL: shed.over(t, only.Address()), Lease: 2 * time.Second})
	defer s.Close()
	add(t, s, "a")
	if _, err := poll(s, "a", 0); err != nil {
		t.Fatal(err)
	}
	only.Set(netfault.Dead)
	err := within(t, "a poll over a dead network", func() error { _, err := poll(s, "a", 1); return err })
	if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) || freshet.HintOf(err) == "" {
		t.Errorf("a poll over a dead network gives %v", err)
	}
	if right := s.LeaseLeft(); right > 0 {
		t.Errorf("it has the right to begin something for %s", right)
	}
	only.Set(netfault.State{})
	err = within(t, "polls again", func() error {
		for {
			if _, err := poll(s, "a", 1); err == nil || errors.Is(err, freshet.ErrStoreFailed) {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	gapless(t, s, 2)
}

// A transaction that takes many leases is left alone while PostgreSQL is at work for it.
func longTransaction(t *testing.T, shed *shed) {
	var said bytes.Buffer
	s := open(t, postgres.Config{URL: shed.url(t, t.TempDir()), Lease: 2 * time.Second, Log: slog.New(slog.NewTextHandler(&said, nil))})
	tries := 0
	err := s.Write(context.Background(), "taking long", func(w *store.Writer) error {
		tries++
		_, err := w.Exec("SELECT pg_sleep(6)")
		return err
	})
	if err := errors.Join(err, s.Close()); err != nil || tries != 1 || strings.Contains(said.String(), "given up") {
		t.Errorf("it was tried %d times and ended with %v\n%s", tries, err, &said)
	}
}

// Whoever has waited for long is asked about. What comes meanwhile has come, and the connection is
// good: the next thing that is waited for over it is another.
func TestAnAnswerWhileItIsAskedAboutIsAnAnswer(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	conn, found := postgres.Waiting(here)
	defer conn.Close()
	read := make(chan error, 1)
	next := func() { _, err := conn.Read(make([]byte, 1)); read <- err }
	go next()
	still := found()
	if !still() {
		t.Error("what is waited for is taken for answered")
	}
	if _, err := there.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if still() {
		t.Error("what was answered is taken for waited for")
	}
	go next()
	if again := found(); still() || !again() {
		t.Error("what is waited for next is taken for what was waited for before")
	}
}

// Connections that were given up are no error at the end.
func TestConnectionsThatWereGivenUpAreClosed(t *testing.T) {
	at := newShed(t).url(t, t.TempDir())
	s := open(t, postgres.Config{URL: at})
	defer s.Close()
	peers, err := postgres.OpenPeers(t.Context(), postgres.Config{Features: features.All(), URL: at})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peers.Nodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	peers.GiveUp()
	if err := peers.Close(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// While another session locks a table, a write fails in less than a lease with the name of the blocker. The
// store keeps its lease, and writes nothing twice.
func TestLockedTable(t *testing.T) {
	shed := newShed(t)
	said := &lockedBuffer{}
	at := shed.url(t, t.TempDir())
	s := open(t, postgres.Config{URL: at, Lease: 2 * time.Second, Log: slog.New(slog.NewTextHandler(said, nil))})
	defer s.Close()
	add(t, s, "a")
	if _, err := poll(s, "a", 0); err != nil {
		t.Fatal(err)
	}
	other, err := pgx.Connect(t.Context(), at+"&application_name=somebody")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	for _, query := range []string{"BEGIN", "LOCK TABLE outcomes IN SHARE MODE"} {
		if _, err := other.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for refused := 0; refused < 3 || time.Since(began) < 6*time.Second; refused++ { // some leases
		err = within(t, "a poll", func() error { _, err := poll(s, "a", 1); return err })
		if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) || !strings.Contains(freshet.HintOf(err), "pg_terminate_backend") {
			t.Fatalf("a poll of a table that is locked gives %v", err)
		}
		if s.LeaseLeft() <= 0 {
			t.Error("the lease was not kept")
		}
	}
	who := fmt.Sprintf(`a lock on %s is held by process %d of PostgreSQL (application "somebody"`, "outcomes", other.PgConn().PID())
	if err == nil || !strings.Contains(err.Error(), who) {
		t.Errorf("the error %v does not say %s", err, who)
	}
	if n := strings.Count(said.String(), "PostgreSQL has the leader wait for a lock"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, said)
	}
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if _, err := poll(s, "a", 1); err != nil {
		t.Fatal(err)
	}
	gapless(t, s, 2)
	kit.Until(t, "it is said that it is over", func() bool { return strings.Contains(said.String(), "wait for no lock any more") })
}

// A lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
