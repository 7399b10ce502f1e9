package node_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet"
	"freshet/config"
	"freshet/fetch"
	"freshet/node"
	"freshet/pgtest"
	"freshet/postgres"
)

// BenchmarkTakeOver measures how long it takes from the election of a standby to its first order,
// cold and warm, with FRESHET_BENCH_SOURCES sources (2000 if that is not set), and their ratio.
func BenchmarkTakeOver(b *testing.B) {
	sources, err := strconv.Atoi(cmp.Or(os.Getenv("FRESHET_BENCH_SOURCES"), "2000"))
	if err != nil {
		b.Fatal(err)
	}
	server := pgtest.Start(b, "fsync=on")
	name := server.Database(b)
	var asked atomic.Int64 // when the last request came
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(time.Now().UnixNano())
		fmt.Fprintln(w, "as ever")
	}))
	defer pages.Close()
	fill(b, server.URL(name), pages.URL, sources)
	conn := server.Connect(b, name)
	serve := func(standby string) (url string, end func()) {
		s := settings(b)
		s.Store, s.Lease, s.Standby = server.URL(name), 2*time.Second, standby
		s.Limits.Budget.Polls = 60_000
		return served(b, s)
	}
	// takeOver returns how long the next brain takes to its first order after it was elected.
	takeOver := func(end func()) time.Duration {
		var term, now int64
		if err := conn.QueryRow(b.Context(), "SELECT epoch FROM leases").Scan(&term); err != nil {
			b.Fatal(err)
		}
		end()
		for now = term; now == term; {
			if err := conn.QueryRow(b.Context(), "SELECT epoch FROM leases").Scan(&now); err != nil {
				b.Fatal(err)
			}
		}
		elected := time.Now()
		for asked.Load() < elected.UnixNano() {
			time.Sleep(time.Millisecond)
		}
		return time.Unix(0, asked.Load()).Sub(elected)
	}
	for b.Loop() {
		_, endFirst := serve(config.ColdStandby)
		for asked.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		_, endCold := serve(config.ColdStandby)
		cold := takeOver(endFirst)
		at, endWarm := serve(config.WarmStandby)
		for !isWarm(b, at) {
			time.Sleep(100 * time.Millisecond)
		}
		warm := takeOver(endCold)
		endWarm()
		asked.Store(0)
		b.ReportMetric(cold.Seconds(), "cold-s")
		b.ReportMetric(warm.Seconds(), "warm-s")
		b.ReportMetric(cold.Seconds()/warm.Seconds(), "cold/warm")
	}
	b.ReportMetric(0, "ns/op")
}

// fill puts sources into a new store, each polled once.
func fill(b *testing.B, at, url string, sources int) {
	store, err := postgres.Open(b.Context(), postgres.Config{URL: at})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var next atomic.Int64
	var crew sync.WaitGroup
	began := time.Now().Add(-time.Hour)
	for range 256 {
		crew.Go(func() {
			for i := next.Add(1); i <= int64(sources); i = next.Add(1) {
				id := freshet.SourceID(fmt.Sprintf("s%07d", i))
				_, err := store.AddSource(b.Context(), freshet.Source{ID: id, URL: fmt.Sprintf("%s/%d", url, i)})
				if err == nil {
					at := began.Add(time.Duration(i) * time.Millisecond)
					_, _, err = store.Commit(b.Context(), freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Failed, Failure: freshet.FailTimeout, Requests: 1}})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	crew.Wait()
}

// served runs a node, and returns where it is and how to end it.
func served(b *testing.B, s config.Settings) (url string, end func()) {
	ctx, cancel := context.WithCancel(b.Context())
	there, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- node.Serve(ctx, s, node.ServeConfig{
			Load: func() (config.Settings, error) { return s, nil }, Log: slog.New(slog.DiscardHandler),
			Announce: func(url string) error { there <- url; return nil },
		})
	}()
	select {
	case url = <-there:
	case err := <-ended:
		b.Fatal(err)
	}
	return url, func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// isWarm reports whether a node stands by and is warm.
func isWarm(b *testing.B, url string) bool {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+"/api/v1/cluster", nil)
	if err != nil {
		b.Fatal(err)
	}
	resp, err := fetch.Trusted(time.Minute).Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return err == nil && strings.Contains(string(text), `"standby":"warm"`)
}
