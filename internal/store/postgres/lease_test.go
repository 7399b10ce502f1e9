package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// poll records a poll that found nothing new.
func poll(s freshet.Store, id freshet.SourceID, n int) (freshet.Outcome, error) {
	at := noon.Add(time.Duration(n) * time.Minute)
	o, _, err := s.Commit(context.Background(), freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: at.Add(time.Second), Status: 200, Requests: 1}})
	return o, err
}

func add(t testing.TB, s freshet.Store, id freshet.SourceID) {
	t.Helper()
	if _, err := s.AddSource(context.Background(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}); err != nil {
		t.Fatal(err)
	}
}

// While one process gives signs of life no other can write, and one that has been taken for
// dead writes nothing more: not even what it had begun before.
func TestSecondWriterIsFenced(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	const lease = 3 * time.Second
	first := open(t, postgres.Config{URL: at, Lease: lease})
	add(t, first, "a")
	if _, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: at, Lease: lease}); !errors.Is(err, freshet.ErrBusy) || freshet.HintOf(err) == "" {
		t.Fatalf("a second writer gets %v, want that the store is in use, with a hint", err)
	}
	if _, err := poll(first, "a", 1); err != nil {
		t.Fatalf("the first cannot write any more: %v", err)
	}
	// The first is stopped for longer than a lease, as far as anybody can see.
	schema := at[strings.LastIndex(at, "=")+1:]
	taken := false
	for range 100 { // it gives signs of life meanwhile
		if _, err := shed.conn.Exec(t.Context(), "UPDATE "+schema+".leases SET renewed = clock_timestamp() - interval '1 hour'"); err != nil {
			t.Fatal(err)
		}
		second, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: at, Lease: time.Minute})
		if errors.Is(err, freshet.ErrBusy) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		taken = true
		o, err := poll(second, "a", 2)
		if err != nil || o.Cursor != 2 {
			t.Errorf("the second writes outcome %d: %v", o.Cursor, err)
		}
		break
	}
	if !taken {
		t.Fatal("nobody could take the lease")
	}
	for n := range 3 {
		_, err := poll(first, "a", 3+n)
		if !errors.Is(err, freshet.ErrStorage) || !errors.Is(err, freshet.ErrStoreFailed) || !strings.Contains(err.Error(), "taken over") {
			t.Errorf("the first writes after it was fenced: %v", err)
		}
	}
	_ = first.Close() // which cannot write either
	reader := open(t, postgres.Config{URL: at, ReadOnly: true})
	defer reader.Close()
	log, err := reader.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil || len(log) != 2 {
		t.Errorf("the log has %d outcomes (%v), want 2", len(log), err)
	}
	if err := reader.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A proxy stands before a server, and cuts connections during a commit when it is told to.
type proxy struct {
	net.Listener
	to   string
	next atomic.Int32 // what to do with the next commit
	cuts atomic.Int32
}

// What a proxy does with a commit.
const (
	passOn    = iota
	cutBefore // the server does not hear of it
	cutAfter  // the server answers, and nobody hears that
)

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var silent atomic.Bool // answers are not passed on
	answered := make(chan struct{}, 1)
	go func() {
		defer client.Close()
		room := make([]byte, 64<<10)
		for {
			n, err := server.Read(room)
			if err != nil {
				return
			}
			if silent.Load() {
				answered <- struct{}{}
				return
			}
			if _, err := client.Write(room[:n]); err != nil {
				return
			}
		}
	}()
	room := make([]byte, 64<<10)
	for {
		n, err := client.Read(room)
		if err != nil {
			return
		}
		if bytes.Contains(room[:n], []byte("COMMIT")) {
			switch do := p.next.Swap(passOn); do {
			case cutBefore:
				p.cuts.Add(1)
				return
			case cutAfter:
				p.cuts.Add(1)
				silent.Store(true)
				if _, err := server.Write(room[:n]); err == nil {
					<-answered
				}
				return
			}
		}
		if _, err := server.Write(room[:n]); err != nil {
			return
		}
	}
}

// When the connection is lost during a commit, the poll is on record once, whether or not the
// server had made the commit, and whoever made it is told so.
func TestCommitInDoubt(t *testing.T) {
	shed := newShed(t)
	for name, do := range map[string]int32{"the commit is lost": cutBefore, "its answer is lost": cutAfter} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, shed.Address)
			at, err := url.Parse(shed.url(t, t.TempDir()))
			if err != nil {
				t.Fatal(err)
			}
			at.Host = p.Addr().String()
			s := open(t, postgres.Config{URL: at.String(), Lease: 20 * time.Second})
			defer s.Close()
			const sources = 8
			for i := range sources {
				add(t, s, freshet.SourceID(fmt.Sprintf("s%d", i)))
			}
			var polling sync.WaitGroup
			for i := range sources {
				polling.Go(func() {
					for n := range 5 {
						if i == 0 && n%2 == 1 {
							p.next.Store(do)
						}
						if _, err := poll(s, freshet.SourceID(fmt.Sprintf("s%d", i)), n); err != nil {
							t.Errorf("a poll is not recorded: %v", err)
						}
					}
				})
			}
			polling.Wait()
			if p.cuts.Load() == 0 {
				t.Fatal("nothing was cut")
			}
			log, err := s.Outcomes(t.Context(), freshet.OutcomeQuery{Newest: true})
			if err != nil || len(log) != 5*sources {
				t.Fatalf("%d polls are on record (%v), want %d", len(log), err, 5*sources)
			}
			for i, o := range log {
				if want := freshet.Cursor(len(log) - i); o.Cursor != want {
					t.Errorf("cursor %d is where %d should be", o.Cursor, want)
				}
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that would lose data is refused, and one that may is told of.
func TestServers(t *testing.T) {
	for _, setting := range []string{"fsync", "full_page_writes"} {
		s := pgtest.Start(t, "fsync=on", setting+"=off")
		_, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: s.URL("postgres")})
		if !errors.Is(err, freshet.ErrStorage) || !strings.Contains(fmt.Sprint(err), setting) || !strings.Contains(freshet.HintOf(err), setting+" = on") {
			t.Errorf("with %s off: %v (%s)", setting, err, freshet.HintOf(err))
		}
		s.Stop(t)
		_, err = postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: s.URL("postgres")})
		if !errors.Is(err, freshet.ErrStorage) || freshet.HintOf(err) == "" {
			t.Errorf("without a server: %v (%s)", err, freshet.HintOf(err))
		}
	}
	if _, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: "postgres://a b c/%%"}); freshet.HintOf(err) == "" {
		t.Errorf("a wrong URL gives %v", err)
	}
}

// A store that is only read hears of what is written, and writes nothing.
func TestReaderHears(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	if _, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: shed.URL(shed.Database(t)), ReadOnly: true}); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("reading what is not there gives %v", err)
	}
	s := open(t, postgres.Config{URL: at})
	defer s.Close()
	if len(s.Warnings()) == 0 {
		t.Error("nobody is told that there is no synchronous standby")
	}
	add(t, s, "a")
	reader := open(t, postgres.Config{URL: at, ReadOnly: true})
	defer reader.Close()
	heard := make(chan error, 1)
	go func() { heard <- reader.WaitOutcome(t.Context(), 0) }()
	if _, err := poll(s, "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; err != nil {
		t.Fatal(err)
	}
	log, err := reader.Outcomes(t.Context(), freshet.OutcomeQuery{})
	if err != nil || len(log) != 1 {
		t.Errorf("the reader has %d outcomes (%v)", len(log), err)
	}
	if _, err := poll(reader, "a", 2); !errors.Is(err, freshet.ErrStorage) {
		t.Errorf("a reader writes: %v", err)
	}
}

// schemaIn returns the schema that the URL of a store names.
func schemaIn(at string) string { return at[strings.LastIndex(at, "=")+1:] }

// fill has writes of a kind to a table of a store fail, as on a full disk, until there is room again.
func (s *shed) fill(t *testing.T, at, writes, table string) (makeRoom func()) {
	t.Helper()
	do := func(query string) {
		t.Helper()
		if _, err := s.conn.Exec(t.Context(), strings.ReplaceAll(query, "SCHEMA", schemaIn(at))); err != nil {
			t.Fatal(err)
		}
	}
	do(`CREATE FUNCTION SCHEMA.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`)
	do("CREATE TRIGGER full_disk BEFORE " + writes + " ON SCHEMA." + table + " FOR EACH ROW EXECUTE FUNCTION SCHEMA.full_disk()")
	return func() { t.Helper(); do("DROP FUNCTION SCHEMA.full_disk CASCADE") }
}

// The lease cannot be renewed for a while: the disk is full, or a right is missing. Every write says
// so, and as soon as the reason is gone all is written again, over the same connection.
func TestWritesAgainAfterTheLeaseCouldNotBeRenewed(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	s := open(t, postgres.Config{URL: at, Lease: time.Minute})
	add(t, s, "a")
	makeRoom := shed.fill(t, at, "UPDATE", "leases")
	for n := range 3 {
		_, err := poll(s, "a", n)
		if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) || strings.Count(err.Error(), "could not extend file") != 1 {
			t.Errorf("write %d on a full disk gives %v; want why, once", n, err)
		}
	}
	makeRoom()
	if o, err := poll(s, "a", 3); err != nil || o.Cursor != 1 {
		t.Errorf("after there is room again outcome %d is written: %v", o.Cursor, err)
	}
}

// On a full disk polls cannot be recorded, however often that is tried. Whoever decides goes on to
// renew the lease: another node could record nothing either, and would drop what was fetched.
func TestAFullDiskIsNoReasonForAnElection(t *testing.T) {
	shed := newShed(t)
	at := shed.url(t, t.TempDir())
	const lease = 2 * time.Second
	s := open(t, postgres.Config{URL: at, Lease: lease})
	defer s.Close()
	add(t, s, "a")
	makeRoom := shed.fill(t, at, "INSERT", "outcomes")
	over := make(chan struct{})
	var polling sync.WaitGroup
	for range 8 { // so that there is always something else to write in the same transaction
		polling.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := poll(s, "a", 1); !errors.Is(err, freshet.ErrStorage) {
					t.Errorf("a poll on a full disk gives %v", err)
					return
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { close(over); polling.Wait() })
	defer stop()
	var first, renewed time.Time
	for renewed.Sub(first) < lease {
		var now time.Time
		if err := shed.conn.QueryRow(t.Context(), "SELECT renewed, clock_timestamp() FROM "+schemaIn(at)+".leases").Scan(&renewed, &now); err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = renewed
		}
		if age := now.Sub(renewed); age > 10*lease { // a slow machine may be late, but not by as much
			t.Fatalf("the lease of %s was last renewed %s ago", lease, age)
		}
	}
	stop()
	makeRoom()
	if _, err := poll(s, "a", 1); err != nil {
		t.Error(err)
	}
}
