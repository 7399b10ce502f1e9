package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Every request asks before it leaves: the first, and each that follows a redirect.
func TestEveryRequestAsks(t *testing.T) {
	var came atomic.Int32
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		switch r.URL.Path {
		case "/":
			w.Header().Set("Location", "/moved")
			w.WriteHeader(301)
		case "/moved":
			w.Header().Set("Location", "/here")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(308)
		case "/here":
			http.Redirect(w, r, "/today", http.StatusFound)
		case "/today":
			http.Redirect(w, r, "/end", http.StatusMovedPermanently)
		}
	})
	client := newClient(t, fetch.Config{})
	for stop := 1; stop <= 6; stop++ {
		came.Store(0)
		var asked []string
		var waits []time.Duration
		denied := &freshet.FetchError{Class: failure.DeferredHost, Err: errors.New("not now")}
		res, err := client.Fetch(t.Context(), freshet.Request{URL: url, Leave: func(_ context.Context, h freshet.Hop) error {
			if int(came.Load()) != len(asked) {
				t.Errorf("%d requests have left after %d were asked for", came.Load(), len(asked))
			}
			asked, waits = append(asked, strings.TrimPrefix(h.URL, url)), append(waits, h.Wait)
			if len(asked) == stop {
				return denied
			}
			return nil
		}})
		want := []string{"", "moved", "here", "today", "end"}
		if stop < 6 {
			if want = want[:stop]; !errors.Is(err, denied.Err) || classOf(err) != failure.DeferredHost {
				t.Errorf("the fetch failed by %v, want as it was denied", err)
			}
		} else if err != nil || res.Moved != url+"here" || waits[2] != 7*time.Second || waits[1] != 0 {
			t.Errorf("moved to %q after the waits %v (%v), want to /here, which permanent redirects lead to, and 7 s before it", res.Moved, waits, err)
		}
		if !slices.Equal(asked, want) || res.Requests != min(stop-1, 5) {
			t.Errorf("asked for %q, and %d requests were made; want %q", asked, res.Requests, want)
		}
	}
}

func classOf(err error) failure.Class {
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return e.Class
	}
	return ""
}

// A request that is sent again, because its connection was dead, asks again; and
// if it may not leave, nothing is written.
func TestRequestSentAgainAsks(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			var heard atomic.Int32
			addr := serve(t, func(conn net.Conn) { // answers one request on a connection, reads the next, and hangs up
				if hear(conn) {
					heard.Add(1)
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
				if hear(conn) {
					heard.Add(1)
				}
			})
			client := newClient(t, fetch.Config{})
			asked := 0
			leave := func(context.Context, freshet.Hop) error {
				if asked++; asked == 3 && !allowed {
					return &freshet.FetchError{Class: failure.DeferredBudget, Err: errors.New("spent")}
				}
				return nil
			}
			if _, err := client.Fetch(t.Context(), freshet.Request{URL: "http://" + addr, Leave: leave}); err != nil {
				t.Fatal(err)
			}
			res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://" + addr, Leave: leave})
			want := int32(3)
			if !allowed {
				want = 2
			}
			if (err == nil) != allowed || asked != 3 || heard.Load() != want || res.Requests != int(want)-1 {
				t.Errorf("asked %d times, the server heard %d requests, of the second fetch it is said to be %d (%v)", asked, heard.Load(), res.Requests, err)
			}
			if !allowed && classOf(err) != failure.DeferredBudget {
				t.Errorf("the fetch failed by %v", err)
			}
		})
	}
}

// What a fetch waits for leave is not held against the server.
func TestWaitForLeaveIsNotTheServers(t *testing.T) {
	url := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	})
	const total = 2 * time.Second
	client := newClient(t, fetch.Config{Total: total})
	_, err := client.Fetch(t.Context(), freshet.Request{URL: url, Leave: func(context.Context, freshet.Hop) error {
		<-time.After(total * 3 / 4) // before each of the two requests
		return nil
	}})
	if err != nil {
		t.Errorf("a fetch that waited for leave failed: %v", err)
	}
}
