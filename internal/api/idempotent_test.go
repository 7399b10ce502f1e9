package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"freshet/client"
	"freshet/internal/api"
)

// A request that is sent again under its key is done once, and answered as before.
func TestRequestSentAgainIsDoneOnce(t *testing.T) {
	r := newRig(t)
	add := map[string]any{"url": "http://page.example/", "id": "a"}
	first := r.do("POST", "/api/v1/sources", add, "Idempotency-Key", `"k-1"`).is(201)
	again := r.do("POST", "/api/v1/sources", add, "Idempotency-Key", "k-1").is(201)
	if string(again.Body) != string(first.Body) || again.Header.Get("ETag") != first.Header.Get("ETag") || again.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("sent again it is answered with %s, %v; want %s, %v", again.Body, again.Header, first.Body, first.Header)
	}
	if first.Header.Get("Idempotency-Replayed") != "" || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("Idempotency-Replayed is %q and then %q; want none and true", first.Header.Get("Idempotency-Replayed"), again.Header.Get("Idempotency-Replayed"))
	}
	r.do("POST", "/api/v1/sources", add, "Idempotency-Key", "k-2").is(409)
	r.do("POST", "/api/v1/sources", add, "Idempotency-Key", "k-2").is(409) // a refusal is kept, too

	var p client.Problem
	r.do("POST", "/api/v1/sources", map[string]any{"url": "http://other.example/"}, "Idempotency-Key", "k-1").is(422).into(&p)
	if len(p.Errors) != 1 || p.Errors[0].Location != "header.Idempotency-Key" {
		t.Errorf("a key that was used with another body is refused with %+v; want the header named", p)
	}
	r.do("DELETE", "/api/v1/sources/a", nil, "Idempotency-Key", "k-1").is(422)
	r.do("DELETE", "/api/v1/sources/a", nil, "Idempotency-Key", "k-3").is(204)
	r.do("DELETE", "/api/v1/sources/a", nil, "Idempotency-Key", "k-3").is(204)
	r.do("DELETE", "/api/v1/sources/a", nil).is(404)
	for _, key := range []string{strings.Repeat("x", 256), "with\ttab", `""`} {
		r.do("POST", "/api/v1/sources", add, "Idempotency-Key", key).is(422)
	}
	r.do("GET", "/api/v1/sources", nil, "Idempotency-Key", "k-1").is(200)

	wrong := map[string]any{"url": "https://wrong.example/", "password": "a-password-out-of-place"} // the answer repeats it
	if a := r.do("POST", "/api/v1/sources", wrong, "Idempotency-Key", "k-4").is(422); !strings.Contains(string(a.Body), "out-of-place") {
		t.Errorf("a request that is not valid is answered with %s", a.Body)
	}
	r.do("POST", "/api/v1/sources", wrong, "Idempotency-Key", "k-4").is(422)
	if a := r.do("POST", "/api/v1/sources", map[string]any{"url": "https://right.example/"}, "Idempotency-Key", "k-4").is(201); a.Header.Get("Idempotency-Replayed") != "" {
		t.Error("the answer to a request that is not valid was kept")
	}
}

// Of requests with one key at the same time one is done; the others are told to wait, or
// get its answer.
func TestSameKeyAtTheSameTime(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	statuses := map[int]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a, err := ask(t, t.Context(), "POST", r.API.URL+"/api/v1/sources", map[string]any{"url": "http://page.example/"}, "Idempotency-Key", "k")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
	}
	wg.Wait()
	if statuses[201] == 0 || statuses[201]+statuses[409] != 8 {
		t.Errorf("the answers are %v; want 201, or 409 while the first is under way", statuses)
	}
	var page client.SourcePage
	r.do("GET", "/api/v1/sources", nil).is(200).into(&page)
	if len(page.Items) != 1 {
		t.Errorf("there are %d sources, want 1", len(page.Items))
	}
}

// What failed for now is done when it is sent again.
func TestWhatFailedIsDoneAgain(t *testing.T) {
	fails := true
	r := newRig(t, func(c *api.Config) {
		check := c.Sources.Check
		c.Sources.Check = func(url string) (string, error) {
			if fails {
				return "", fmt.Errorf("the disk is on fire")
			}
			return check(url)
		}
	})
	add := map[string]any{"url": "http://page.example/"}
	if got := r.do("POST", "/api/v1/sources", add, "Idempotency-Key", "k").Status; got < http.StatusInternalServerError {
		t.Fatalf("a failure answers %d", got)
	}
	fails = false
	r.do("POST", "/api/v1/sources", add, "Idempotency-Key", "k").is(201)
}
