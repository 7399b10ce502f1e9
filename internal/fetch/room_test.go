package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// TestRoomIsAskedFor tells how room is asked for: by the size of a body that is
// announced, and otherwise in a few steps up to all that it can become.
func TestRoomIsAskedFor(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		name            string
		size            int
		announced, gzip bool
		want            []int64
	}{
		{"small and announced", 5000, true, false, []int64{5000}},
		{"large and announced", 3 * mib, true, false, []int64{256 * kib, 2 * mib, 3 * mib}},
		{"small and not announced", 5000, false, false, []int64{256 * kib}},
		{"large and not announced", 3 * mib, false, false, []int64{256 * kib, 2 * mib, 8 * mib}},
		{"small and coded", 5000, true, true, []int64{256 * kib}},
		{"larger and coded", 300 * kib, false, true, []int64{256 * kib, 2 * mib}},
		{"large and coded", 3 * mib, false, true, []int64{256 * kib, 2 * mib, 32 * mib}},
		{"nothing", 0, true, false, nil},
	} {
		body := []byte(strings.Repeat("0123456789abcdefghijklmnopqrstuv", c.size/32+1)[:c.size])
		for i := 0; i < len(body); i += 50 {
			body[i] = byte('a' + i*i%23)
		}
		sent := body
		if c.gzip {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(body)
			z.Close()
			sent = b.Bytes()
		}
		url := web(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.gzip {
				w.Header().Set("Content-Encoding", "gzip")
			}
			if c.announced {
				w.Header().Set("Content-Length", fmt.Sprint(len(sent)))
			} else {
				http.NewResponseController(w).Flush()
			}
			w.Write(sent)
		})
		var asked []int64
		res, err := newClient(t, fetch.Config{}).Fetch(t.Context(), freshet.Request{URL: url, Room: func(_ context.Context, size int64) error {
			asked = append(asked, size)
			return nil
		}})
		if err != nil || !bytes.Equal(res.Body, body) {
			t.Errorf("%s: %d bytes came (%v), want %d", c.name, len(res.Body), err, len(body))
		}
		if !slices.Equal(asked, c.want) {
			t.Errorf("%s: room was asked for %v, want %v", c.name, asked, c.want)
		}
	}
}

// TestWaitingForRoomIsNotTheServersFault lets a body wait far longer than any
// limit on the server allows.
func TestWaitingForRoomIsNotTheServersFault(t *testing.T) {
	page := func(hangsUp time.Duration) func(net.Conn) {
		return func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 400000\r\n\r\n")
			conn.SetWriteDeadline(time.Now().Add(hangsUp))
			io.WriteString(conn, fmt.Sprintf("%0400000d", 0))
		}
	}
	wait := func(d time.Duration, err error) func(context.Context, int64) error {
		return func(context.Context, int64) error { time.Sleep(d); return err }
	}
	for _, c := range []struct {
		name  string
		talk  func(net.Conn)
		room  func(context.Context, int64) error
		class string
	}{
		{"a patient server", page(time.Hour), wait(5*time.Minute, nil), "captured"},
		{"a server that hangs up meanwhile", page(time.Minute), wait(5*time.Minute, nil), "local.memory"},
		{"no room", page(time.Hour), wait(time.Minute, &freshet.FetchError{Class: failure.LocalMemory, Err: errors.New("full")}), "local.memory"},
		{"given up", page(time.Hour), wait(time.Minute, errors.New("stopping")), "canceled"},
		{"a slow server that had to wait a little", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 400000\r\n\r\nhalf")
			io.Copy(io.Discard, conn)
		}, wait(time.Minute, nil), "timeout.body_idle"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := fetch.NewOver(fetch.Config{}, pipeTo(t, c.talk))
			defer client.CloseIdle()
			res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/", Room: c.room})
			if got := outcome(res, err); got != c.class {
				t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.class)
			}
		})
	}
}
