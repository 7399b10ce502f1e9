//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/test/tier"
)

var (
	loadPages  = flag.Int("loadpages", 6, "large pages at once in TestLargePagesAtOnce")
	loadUnread = flag.Int("loadunread", 200, "responses that nobody reads in TestUnreadResponses")
)

const megabyte = 1 << 20

// bomb returns a page that is large, and small on the wire.
func bomb(t *testing.T, size int) []byte {
	var page, wire bytes.Buffer
	page.WriteString("<html><title>Large</title><body>\n")
	for i := 0; page.Len() < size; i++ {
		fmt.Fprintf(&page, "<p>Line %d of a page that says %d and %x</p>\n", i%7000, i%7001, (i*i)%97)
	}
	z, _ := gzip.NewWriterLevel(&wire, 4)
	z.Write(page.Bytes())
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return wire.Bytes()
}

func mb(n int64) string { return fmt.Sprintf("%d MB", n/1e6) }

// Pages that are small on the wire and large decoded wait for each other: the
// daemon takes no more memory the more of them there are, the first is committed
// soon, and a stop is in time while the others wait.
func TestLargePagesAtOnce(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it starts a daemon in another process")
	page := bomb(t, 30*megabyte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(page)
	}))
	defer server.Close()
	var config strings.Builder
	config.WriteString("memory: 64MB\nbudget: 1000/s\nhosts: {delay: 0s, concurrency: 64}\nsources:\n")
	for i := range *loadPages {
		fmt.Fprintf(&config, "  - {id: page%d, url: %q}\n", i, fmt.Sprintf("%s/%d", server.URL, i))
	}
	d := load(t, 0, config.String())
	first := d.until(t, "a first commit", func(s client.Status) bool { return s.Captured > 0 })
	_, most := d.memory(t)
	took := d.stop(t)
	t.Logf("first commit after %v, peak %s, SIGTERM to exit %v", first.Round(time.Millisecond), mb(most), took.Round(time.Millisecond))
	if most > 550*megabyte*raceMemory {
		t.Errorf("%d large pages took %s, want less than 550 MB", *loadPages, mb(most))
	}
	d.inTime(t, took)
}

// Answers that nobody reads share a bounded amount of memory.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("0123456789abcde\n", 7*megabyte/16)
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "%d\n", n.Add(1))
		io.WriteString(w, body)
	}))
	defer server.Close()
	d := load(t, 0, fmt.Sprintf("budget: 1000/s\nsources: [{id: page, url: %q}]\n", server.URL))
	d.until(t, "a first version", func(s client.Status) bool { return s.Captured > 0 })
	before, _ := d.memory(t)
	var conns sync.WaitGroup
	for range *loadUnread {
		conns.Go(func() {
			conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { conn.Close() })
			io.WriteString(conn, "GET /api/v1/sources/page/versions/latest/raw HTTP/1.1\r\nHost: localhost\r\n\r\n")
			io.ReadFull(conn, make([]byte, 100))
		})
	}
	conns.Wait()
	<-time.After(3 * time.Second)
	after, most := d.memory(t)
	took := d.stop(t)
	t.Logf("before %s, with %d unread %s, peak %s, SIGTERM to exit %v", mb(before), *loadUnread, mb(after), mb(most), took)
	if most > 600*megabyte*raceMemory {
		t.Errorf("%d answers of 7 MB that nobody reads took %s, want less than 600 MB", *loadUnread, mb(most))
	}
	d.inTime(t, took)
}

// Connections that send no header or no body are closed in time.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	d := load(t, 0, "budget: 1/s\n")
	for name, said := range map[string]string{
		"no header":                 "GET /healthz HTT",
		"nothing":                   "",
		"no body":                   "POST /api/v1/sources HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"no body of a GET":          "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"no body of a DELETE":       "DELETE /api/v1/sources/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
		"no body of a chunked POST": "POST /api/v1/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
		"no body at a wrong path":   "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var closed atomic.Int64
			var conns sync.WaitGroup
			began := time.Now()
			for range 50 {
				conns.Go(func() {
					conn, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					io.WriteString(conn, said)
					conn.SetReadDeadline(time.Now().Add(slowest))
					if _, err := io.Copy(io.Discard, conn); err == nil {
						closed.Add(1)
					}
				})
			}
			conns.Wait()
			if closed.Load() != 50 {
				t.Errorf("%d of 50 were closed within %v, want all", closed.Load(), time.Since(began))
			}
		})
	}
}

// With few open files the API answers all the same, and no host is blamed.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	const hosts = 100
	var config strings.Builder
	config.WriteString("budget: 1000/s\nhosts: {delay: 100ms}\nsources:\n")
	for i := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(200 * time.Millisecond)
			fmt.Fprintf(w, "%d\n", time.Now().UnixNano())
		}))
		server.Listener = l
		server.Start()
		t.Cleanup(server.Close)
		fmt.Fprintf(&config, "  - {id: page%d, url: %q}\n", i, "http://"+l.Addr().String())
	}
	d := load(t, 64, config.String())
	failed := 0
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) || d.status(t).Captured == 0 {
		c := http.Client{Timeout: slowest, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := c.Get(d.url + "/api/v1/sources?limit=1")
		if err != nil || resp.StatusCode != 200 {
			failed++
		}
		if err == nil {
			resp.Body.Close()
		}
		<-time.After(100 * time.Millisecond)
	}
	s := d.status(t)
	if failed > 0 || s.Failed > 0 {
		t.Errorf("the API failed %d times; %d polls captured and %d failed", failed, s.Captured, s.Failed)
	}
}
