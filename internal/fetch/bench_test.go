package fetch_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// BenchmarkFetch compares a fetch with a bare GET over the same transport
// settings in the same run. The figure that counts is cpu-µs/op, which holds
// the server's share as well; that is the same for both, and as small as a
// server can be.
func BenchmarkFetch(b *testing.B) {
	body := bytes.Repeat([]byte("<p>twenty bytes of x</p>\n"), 20<<10/25)
	coded := []byte(zipped(string(body)))
	const header = "Date: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Type: text/html\r\nEtag: \"v1\"\r\n"
	base := "http://" + serve(b, func(conn net.Conn) {
		replies := map[string]string{
			"/304":  "HTTP/1.1 304 Not Modified\r\n" + header + "\r\n",
			"/200":  fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body),
			"/gzip": fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", header, len(coded), coded),
		}
		request := make([]byte, 4096) // comes in one piece
		for {
			n, err := conn.Read(request)
			if err != nil {
				return
			}
			io.WriteString(conn, replies[strings.Fields(string(request[:min(n, 20)]))[1]])
		}
	})
	for _, tt := range []struct {
		path, etag string
	}{
		{"/304", `"v1"`},
		{"/200", ""},
		{"/gzip", ""},
	} {
		b.Run(tt.path[1:]+"/bare", func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{DisableCompression: tt.path != "/gzip"}}
			defer client.CloseIdleConnections()
			measure(b, func() error { return bareGet(b, client, base+tt.path, tt.etag) })
		})
		b.Run(tt.path[1:]+"/fetch", func(b *testing.B) {
			client := fetch.New(fetch.Config{Allow: loopback})
			defer client.CloseIdle()
			req := freshet.Request{URL: base + tt.path, Validators: freshet.Validators{ETag: tt.etag}}
			measure(b, func() error {
				_, err := client.Fetch(b.Context(), req)
				return err
			})
		})
	}
}

func bareGet(b *testing.B, client *http.Client, url, etag string) error {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.ReadAll(res.Body)
	return err
}

// measure reports the processor time of a poll beside the time on the clock,
// which on a shared machine says little.
func measure(b *testing.B, poll func() error) {
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		if err := poll(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
}

func cpu(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
