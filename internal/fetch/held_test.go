package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A request that may not be sent any more when there is a connection does not count as made, be the connection
// a new one or one that was used before.
func TestHeldRequestIsNotMade(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	var held atomic.Bool
	client := fetch.New(fetch.Config{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		May: func() error {
			if held.Load() {
				return &freshet.FetchError{Class: failure.LocalUnsure, Err: errors.New("not now")}
			}
			return nil
		},
	})
	for i := range 100 {
		held.Store(false)
		if i%2 == 1 { // so that there is a connection
			if _, err := client.Fetch(t.Context(), freshet.Request{URL: server.URL}); err != nil {
				t.Fatal(err)
			}
		}
		before := asked.Load()
		leave := func(context.Context, freshet.Hop) error { held.Store(true); return nil }
		resp, err := client.Fetch(t.Context(), freshet.Request{URL: server.URL, Leave: leave})
		failed, ok := errors.AsType[*freshet.FetchError](err)
		if !ok || failed.Class != failure.LocalUnsure || resp.Requests != 0 || asked.Load() != before {
			t.Fatalf("round %d: a request that may not leave ends with %v; %d count and %d were made", i, err, resp.Requests, asked.Load()-before)
		}
	}
}

// What may not be sent fails for that reason, however many connections are open that the transport
// takes for dead because they cannot be written to.
func TestHeldRequestIsNoFaultOfTheServer(t *testing.T) {
	const many = 8
	var came sync.WaitGroup
	came.Add(many)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came.Done()
		came.Wait() // so that each has a connection of its own
	}))
	defer server.Close()
	var held atomic.Bool
	egress := fetch.NewEgress(fetch.Config{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, IdleConns: 8 * many,
		May: func() error {
			if held.Load() {
				return &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("not now")}
			}
			return nil
		},
	})
	send := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		resp, err := egress.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	var first sync.WaitGroup
	for range many {
		first.Go(func() {
			if err := send(); err != nil {
				t.Error(err)
			}
		})
	}
	first.Wait()
	held.Store(true)
	failed, ok := errors.AsType[*freshet.FetchError](send())
	if !ok || failed.Class != failure.LocalHand {
		t.Errorf("what is held fails with %v", failed)
	}
}
