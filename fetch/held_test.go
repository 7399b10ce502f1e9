package fetch_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"freshet"
	"freshet/fetch"
)

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
				return &freshet.FetchError{Class: freshet.FailLocalHand, Err: errors.New("not now")}
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
	if !ok || failed.Class != freshet.FailLocalHand {
		t.Errorf("what is held fails with %v", failed)
	}
}
