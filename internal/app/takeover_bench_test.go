package app_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
)

// BenchmarkTakeOver measures how long it takes from the election of a standby to its first order,
// cold and warm, with FRESHET_BENCH_SOURCES sources (2000 if that is not set), ten at a host, and
// how much memory the nodes take. Each node is a process of its own, and the one before is killed.
// With FRESHET_BENCH_COLD=no only the warm one is measured: a cold start takes minutes at a million.
func BenchmarkTakeOver(b *testing.B) {
	sources, err := strconv.Atoi(cmp.Or(os.Getenv("FRESHET_BENCH_SOURCES"), "2000"))
	if err != nil {
		b.Fatal(err)
	}
	t := takeOver{B: b, server: pgtest.Start(b, "fsync=on")}
	t.name = t.server.Database(b)
	t.conn = t.server.Connect(b, t.name)
	began := time.Now()
	t.fill(t.pages(), sources)
	b.Logf("%d sources are in after %.0f s", sources, time.Since(began).Seconds())
	for b.Loop() {
		t.asked.Store(0)
		leader := t.node(config.ColdStandby)
		t.await("the first order", func() bool { return t.asked.Load() != 0 })
		b.Logf("the first order is made after %.0f s", time.Since(began).Seconds())
		if os.Getenv("FRESHET_BENCH_COLD") != "no" {
			next := t.node(config.ColdStandby)
			b.ReportMetric(t.takeOver(leader).Seconds(), "cold-s")
			leader = next
		}
		standby := t.node(config.WarmStandby)
		t.await("a warm standby", func() bool { return isWarm(b, standby.url) })
		b.Logf("the standby is warm after %.0f s", time.Since(began).Seconds())
		b.ReportMetric(leader.memory(), "brain-MiB")
		b.ReportMetric(standby.memory(), "standby-MiB")
		b.ReportMetric(t.takeOver(leader).Seconds(), "warm-s")
		b.ReportMetric(standby.peak(), "peak-MiB")
		standby.kill()
	}
	b.ReportMetric(0, "ns/op")
}

// A takeOver is a database with nodes on it, and the web that they poll.
type takeOver struct {
	*testing.B
	server *pgtest.Server
	name   string
	conn   *pgx.Conn
	asked  atomic.Int64 // when the last request came
}

// pages serves a page at every address of this machine, and returns the port.
func (t *takeOver) pages() (port int) {
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.asked.Store(time.Now().UnixNano())
		fmt.Fprintln(w, "as ever")
	}))
	web.Listener.Close()
	web.Listener = l
	web.Start()
	t.Cleanup(web.Close)
	return l.Addr().(*net.TCPAddr).Port
}

// await waits for something that takes a while.
func (t *takeOver) await(what string, is func() bool) {
	for until := time.Now().Add(20 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s was waited for in vain", what)
		}
	}
}

// takeOver kills the leader, and returns how long the next one takes to its first order after it was
// elected.
func (t *takeOver) takeOver(leader *process) time.Duration {
	term := func() (n int64) {
		if err := t.conn.QueryRow(t.Context(), "SELECT epoch FROM leases").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := term()
	leader.kill()
	for term() == before {
		time.Sleep(time.Millisecond)
	}
	elected := time.Now()
	for t.asked.Load() < elected.UnixNano() {
		time.Sleep(time.Millisecond)
	}
	return time.Unix(0, t.asked.Load()).Sub(elected)
}

// node starts a node.
func (t *takeOver) node(standby string) *process {
	return startProcess(t.B, processConfig{Store: t.server.URL(t.name), Data: t.TempDir(), Standby: standby})
}

// fill puts sources into a new store, each polled once: the first by the store, the others as
// copies of its rows. Only their checksums are not right, which nobody looks at here.
func (t *takeOver) fill(port, sources int) {
	store, err := postgres.Open(t.Context(), postgres.Config{Features: features.All(), URL: t.server.URL(t.name), Partition: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	_, err = store.AddSource(t.Context(), freshet.Source{ID: "s1", URL: fmt.Sprintf("http://127.1.0.0:%d/1", port)})
	if err == nil {
		_, _, err = store.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "s1", Began: began, Ended: began, Result: freshet.Failed, Failure: failure.Timeout, Requests: 1}})
	}
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	id, url := "'s' || g", fmt.Sprintf("'http://127.' || 1 + (g / 10 >> 16) || '.' || (g / 10 >> 8 & 255) || '.' || (g / 10 & 255) || ':%d/' || g", port)
	t.copies("sources", sources, map[string]string{"key": "g", "id": id, "url": url, "definition": "json_build_object('id', " + id + ", 'url', " + url + ")"})
	t.copies("standings", sources, map[string]string{"source": "g", "last_outcome": "g"})
	t.copies("outcomes", sources, map[string]string{"cursor": "g", "source": "g", "began": "r.began + g * 1000000"})
	t.do("UPDATE marks SET upto = $1", sources)
	t.do("UPDATE seals SET upto = $1 WHERE name IN ('outcomes', 'sources')", sources)
	t.do("ANALYZE")
}

// copies adds rows to a table that are as the only one, but for some columns, with g from 2 on.
func (t *takeOver) copies(table string, upto int, but map[string]string) {
	rows, err := t.conn.Query(t.Context(), "SELECT column_name::text FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", table)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range columns {
		columns[i] = cmp.Or(but[name], "r."+name)
	}
	t.do("INSERT INTO "+table+" SELECT "+strings.Join(columns, ", ")+" FROM "+table+" r, generate_series(2, $1::bigint) g", upto)
}

// do executes a statement.
func (t *takeOver) do(statement string, args ...any) {
	if _, err := t.conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// isWarm reports whether a node stands by and is warm.
func isWarm(b *testing.B, url string) bool {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+"/api/v1/cluster", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := fetch.Trusted(time.Minute).Do(req)
	if err != nil { // it is busy
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && strings.Contains(string(text), `"standby":"warm"`)
}
