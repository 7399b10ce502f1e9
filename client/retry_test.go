package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"freshet/client"
)

// A call whose answer is lost is sent again under the same key, and done once.
func TestCallWhoseAnswerIsLost(t *testing.T) {
	r, _ := rigged(t)
	var sent, cut atomic.Int32
	keys := make(chan string, 10)
	cut.Store(2)
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		sent.Add(1)
		keys <- req.Header.Get("Idempotency-Key")
		answer := httptest.NewRecorder()
		r.Handler.ServeHTTP(answer, req)
		if req.Method != http.MethodGet && cut.Add(-1) >= 0 { // it is done, and nobody hears of it
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = io.Copy(w, answer.Body)
	}))
	defer flaky.Close()
	c := client.New(flaky.URL, http.DefaultClient.Do)
	must[client.Source](t)(c.Sources.Add(t.Context(), client.NewSource{URL: r.Origin.URL + "/a"}))
	if sent.Load() != 3 {
		t.Errorf("the request was sent %d times, want 3", sent.Load())
	}
	if a, b, c := <-keys, <-keys, <-keys; a == "" || a != b || b != c {
		t.Errorf("the keys are %q, %q and %q, want one", a, b, c)
	}
	cut.Store(100)
	if _, err := c.Sources.Add(t.Context(), client.NewSource{URL: r.Origin.URL + "/c"}); err == nil {
		t.Error("a call whose answers are all lost gives no error")
	}
}
