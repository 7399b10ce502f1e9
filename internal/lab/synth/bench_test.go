package synth_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
)

// startBench runs a bench for as long as the test.
func startBench(tb testing.TB, c synth.BenchConfig) *synth.Bench {
	tb.Helper()
	b, err := synth.NewBench(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			tb.Errorf("Run ended with %v, want nothing", err)
		}
	})
	return b
}

func TestBenchThatNeverChanges(t *testing.T) {
	b := startBench(t, synth.BenchConfig{Pages: 20, Size: 5000})
	for i := range b.Pages() {
		first, body := get(t, b.URL(i))
		if first.StatusCode != 200 || len(body) != 5000 || first.Header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("page %d answers %d with %d bytes of %s", i, first.StatusCode, len(body), first.Header.Get("Content-Type"))
		}
		if v, ok := synth.VersionIn([]byte(body)); !ok || v < 1 {
			t.Errorf("page %d does not say its version", i)
		}
		for range 3 {
			again, body := get(t, b.URL(i), "If-None-Match", first.Header.Get("ETag"))
			if again.StatusCode != 304 || body != "" || again.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("page %d answers %d when asked again, want 304 with the same tag", i, again.StatusCode)
			}
		}
	}
	if got, want := b.Count(), (synth.BenchCount{Requests: 80, NotModified: 60, BodyBytes: 20 * 5000}); got != want {
		t.Errorf("served %+v, want %+v", got, want)
	}
}

func TestBenchThatAlwaysChanges(t *testing.T) {
	b := startBench(t, synth.BenchConfig{Pages: 2, Changed: 1})
	bodies, tag, last := map[string]bool{}, "", 0
	for range 60 {
		resp, body := get(t, b.URL(1), "If-None-Match", tag)
		if resp.StatusCode != 200 || len(body) != 20<<10 || bodies[body] {
			t.Fatalf("asked again the page answers %d with %d bytes, known: %v; want a new version", resp.StatusCode, len(body), bodies[body])
		}
		v, _ := synth.VersionIn([]byte(body))
		if v <= last {
			t.Errorf("version %d comes after version %d", v, last)
		}
		tag, last, bodies[body] = resp.Header.Get("ETag"), v, true
		if !strings.HasSuffix(body, "</html>\n") || strings.Contains(body, "VVVV") || strings.Contains(body, "PPPP") {
			t.Errorf("the body is not whole: %s", body)
		}
	}
}

func TestBenchChangesAShare(t *testing.T) {
	const rounds = 20
	b := startBench(t, synth.BenchConfig{Pages: 30, Size: 1000, Hosts: 3, Changed: 0.1})
	tags, hosts, changed := make([]string, b.Pages()), map[string]bool{}, 0
	for round := range rounds + 1 {
		for i := range tags {
			resp, _ := get(t, b.URL(i), "If-None-Match", tags[i])
			tags[i] = resp.Header.Get("ETag")
			hosts[resp.Request.URL.Host] = true
			if round > 0 && resp.StatusCode == 200 {
				changed++
			}
		}
	}
	if want := b.Pages() * rounds / 10; changed != want {
		t.Errorf("%d of %d requests found a change, want %d", changed, b.Pages()*rounds, want)
	}
	if len(hosts) != 3 {
		t.Errorf("the pages are on %d hosts, want 3", len(hosts))
	}
}

func TestBenchKnowsOnlyItsPages(t *testing.T) {
	b := startBench(t, synth.BenchConfig{Pages: 1, Size: 1000})
	for _, path := range []string{"1", "9999999999999999999999", "x", ""} {
		if resp, _ := get(t, strings.TrimSuffix(b.URL(0), "0")+path); resp.StatusCode != 404 {
			t.Errorf("page %q answers %d, want 404", path, resp.StatusCode)
		}
	}
	if resp, _ := get(t, b.URL(0), "Connection", "close"); resp.StatusCode != 200 {
		t.Errorf("who says goodbye is answered %d", resp.StatusCode)
	}
}

// TestBenchBodiesStayAlike: a version keeps most of the one before, as real
// pages do.
func TestBenchBodiesStayAlike(t *testing.T) {
	b := startBench(t, synth.BenchConfig{Pages: 1, Changed: 1})
	_, before := get(t, b.URL(0))
	for range 10 {
		_, after := get(t, b.URL(0))
		old := map[string]bool{}
		for line := range strings.Lines(before) {
			old[line] = true
		}
		kept, lines := 0, 0
		for line := range strings.Lines(after) {
			lines++
			if old[line] {
				kept++
			}
		}
		if kept == lines || kept*10 < lines*7 {
			t.Errorf("%d of %d lines are kept from one version to the next", kept, lines)
		}
		before = after
	}
}

// exchange writes a request to a connection and reads as many bytes as the
// answer has, so that next to nothing but the server is measured.
func exchange(tb testing.TB, c net.Conn, request, answer []byte) {
	if _, err := c.Write(request); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkServer compares the bench with net/http serving the same bytes from
// memory to the same client.
func BenchmarkServer(b *testing.B) {
	bench := startBench(b, synth.BenchConfig{Pages: 1})
	whole := bytes.Repeat([]byte("x"), 20<<10)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"0000000000.0000000001"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		w.Write(whole)
	}))
	b.Cleanup(plain.Close)
	for name, url := range map[string]string{"bench": bench.URL(0), "nethttp": plain.URL + "/p/0"} {
		for kind, field := range map[string]string{"200": "", "304": "If-None-Match: \"0000000000.0000000001\"\r\n"} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/p/0")
				request := []byte("GET /p/0 HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: bench\r\n" + field + "\r\n")
				c, err := net.Dial("tcp", host)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				answer := make([]byte, lengthOf(b, c, request))
				b.ReportAllocs()
				for b.Loop() {
					exchange(b, c, request, answer)
				}
			})
		}
	}
}

// lengthOf returns how long the answer to a request is.
func lengthOf(b *testing.B, c net.Conn, request []byte) int {
	if _, err := c.Write(request); err != nil {
		b.Fatal(err)
	}
	buf, n := make([]byte, 64<<10), 0
	for {
		m, err := c.Read(buf[n:])
		if err != nil {
			b.Fatal(err)
		}
		n += m
		head, body, ok := bytes.Cut(buf[:n], []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		if bytes.Contains(head, []byte(" 304 ")) || len(body) == 20<<10 {
			return n
		}
	}
}

// BenchmarkFetch is the cost of a poll in process.
func BenchmarkFetch(b *testing.B) {
	c := newClock()
	w := synth.New(synth.Config{Start: start, Now: c.Now, Pages: synth.Demo(1, start).Pages()})
	sources := w.Sources()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		poll(w, c, sources[i%len(sources)].ID, 0, freshet.Validators{})
		i++
	}
}
