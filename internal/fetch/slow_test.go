package fetch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// TestSlowServers plays servers that take their time, in virtual time and
// under the default limits. Each fetch must end as soon as its limit is over.
func TestSlowServers(t *testing.T) {
	const header = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	drip := func(conn net.Conn, every time.Duration, what string) {
		for {
			if _, err := io.WriteString(conn, what); err != nil {
				return
			}
			time.Sleep(every)
		}
	}
	tests := []struct {
		name  string
		url   string
		talk  func(net.Conn)
		class failure.Class
		after time.Duration
	}{
		{"nobody answers", "http://page.example/", func(conn net.Conn) { io.Copy(io.Discard, conn) }, failure.TimeoutHeader, 15 * time.Second},
		{"the handshake stalls", "https://page.example/", func(conn net.Conn) { io.Copy(io.Discard, conn) }, failure.TimeoutTLS, 10 * time.Second},
		{"header lines drip", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, header)
			drip(conn, 300*time.Millisecond, "X-A: b\r\n")
		}, failure.TimeoutHeader, 15 * time.Second},
		{"interim responses drip", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			drip(conn, time.Second, "HTTP/1.1 103 Early Hints\r\n\r\n")
		}, failure.TimeoutHeader, 15 * time.Second},
		{"the body stands still", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, header+"Content-Length: 100\r\n\r\nhalf")
			io.Copy(io.Discard, conn)
		}, failure.TimeoutIdle, 15 * time.Second},
		{"the body drips", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, header+"\r\n")
			drip(conn, time.Second, "x")
		}, failure.TimeoutRate, 30 * time.Second},
		{"the body is steady for an hour", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, header+"\r\n")
			drip(conn, time.Second, fmt.Sprintf("%02048d", 0))
		}, failure.TimeoutTotal, 60 * time.Second},
		{"the page is a stream of events", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
			drip(conn, 500*time.Millisecond, fmt.Sprintf("data: %01000d\n\n", 0))
		}, failure.TimeoutTotal, 60 * time.Second},
		{"an error page stands still", "http://page.example/", func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\nhalf")
			io.Copy(io.Discard, conn)
		}, failure.HTTP, 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fetch.NewOver(fetch.Config{}, pipeTo(t, tt.talk))
				defer client.CloseIdle()
				began := time.Now()
				_, err := client.Fetch(t.Context(), freshet.Request{URL: tt.url})
				took := time.Since(began)
				wantClass(t, err, tt.class)
				if took < tt.after || took > tt.after*3/2 {
					t.Errorf("it ended after %v, want it soon after %v", took, tt.after)
				}
			})
		})
	}
}

// TestPausesAreBorne reads a body that comes in portions, with pauses in between
// that are each shorter than the limit and together longer.
func TestPausesAreBorne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.NewOver(fetch.Config{}, pipeTo(t, func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 400000\r\n\r\n")
			for range 4 {
				io.WriteString(conn, fmt.Sprintf("%0100000d", 0))
				time.Sleep(10 * time.Second)
			}
		}))
		defer client.CloseIdle()
		began := time.Now()
		res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
		if err != nil || len(res.Body) != 400000 || time.Since(began) != 30*time.Second {
			t.Errorf("%d bytes came within %v: %v", len(res.Body), time.Since(began), err)
		}
	})
}

// TestRateIsThatOfLate gives up on a body that came fast and then drips: what
// came long ago does not count.
func TestRateIsThatOfLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.NewOver(fetch.Config{Total: 10 * time.Minute}, pipeTo(t, func(conn net.Conn) {
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"+fmt.Sprintf("%01000000d", 0))
			for {
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}))
		defer client.CloseIdle()
		began := time.Now()
		_, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.TimeoutRate)
		if took := time.Since(began); took < time.Minute || took > 90*time.Second {
			t.Errorf("it ended after %v, want it soon after a minute", took)
		}
	})
}

// pipeTo returns a way to connect to a server that lives in this process. The
// test ends only when the server has noticed that it is alone.
func pipeTo(t *testing.T, talk func(net.Conn)) func() net.Conn {
	var servers sync.WaitGroup
	t.Cleanup(servers.Wait)
	return func() net.Conn {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			defer theirs.Close()
			talk(theirs)
		})
		return ours
	}
}

// TestSlowResolver gives up on names that nobody resolves in time.
func TestSlowResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.New(fetch.Config{Resolver: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		_, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.DNS)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it ended after %v, want 5s", took)
		}
	})
}

// TestRedirectsShareTheTotal makes each of several hops slow: together they
// may take no longer than one.
func TestRedirectsShareTheTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.NewOver(fetch.Config{Total: 20 * time.Second}, pipeTo(t, func(conn net.Conn) {
			for hear(conn) {
				time.Sleep(9 * time.Second)
				io.WriteString(conn, "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n")
			}
		}))
		defer client.CloseIdle()
		began := time.Now()
		res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.TimeoutTotal)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it ended after %v, want 20s", took)
		}
		if res.Requests != 3 {
			t.Errorf("it counted %d requests, want 3", res.Requests)
		}
	})
}

// TestCallerGivesUp ends a fetch with the caller's context.
func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.NewOver(fetch.Config{}, pipeTo(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := client.Fetch(ctx, freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.Canceled)

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.Fetch(ctx, freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.TimeoutTotal)
	})
}

// TestProtocolSwitch answers 101, whose body Go ends with no deadline.
func TestProtocolSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hungUp := make(chan struct{})
		client := fetch.NewOver(fetch.Config{}, pipeTo(t, func(conn net.Conn) {
			defer close(hungUp)
			hear(conn)
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
			for {
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}))
		began := time.Now()
		_, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
		wantClass(t, err, failure.Protocol)
		<-hungUp
		if took := time.Since(began); took > time.Second {
			t.Errorf("the connection was closed only after %v", took)
		}
	})
}

// TestPoisonedConnection sends more than was asked for: the surplus must not be
// taken for the answer to the next request, a polite while later.
func TestPoisonedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fetch.NewOver(fetch.Config{}, pipeTo(t, func(conn net.Conn) {
			if hear(conn) {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npageHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
				hear(conn)
			}
		}))
		defer client.CloseIdle()
		for range 3 {
			res, err := client.Fetch(t.Context(), freshet.Request{URL: "http://page.example/"})
			if err != nil || string(res.Body) != "page" {
				t.Fatalf("got %q and %v, want the page", res.Body, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// TestSlowServersAreTold has somebody told of servers that take longer than a second,
// and whether they have begun to answer.
func TestSlowServersAreTold(t *testing.T) {
	page := func(t *testing.T) animal { return page(200, "page")(t) }
	for id, want := range map[string][]bool{"slow-accept_silent": {false}, "slow-body_silent": {true}, "": nil} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			build := animals()[id]
			if id == "" {
				build = page
			}
			var mu sync.Mutex
			var got []bool
			tell := func(seen bool) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, seen)
			}
			client := newClient(t, fetch.Config{HeaderTimeout: 3 * time.Second, BodyIdle: 3 * time.Second})
			_, _ = client.Fetch(t.Context(), freshet.Request{URL: build(t).url, Slow: tell})
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(got, want) {
				t.Errorf("it was told %v, want %v", got, want)
			}
		})
	}
}
