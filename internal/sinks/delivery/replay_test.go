package delivery_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
	"freshet/internal/test/kit"
)

// A replay that cuts off a delivery does not send it before what is older: all comes in order
// from the place on, and what was cut off has the bytes that it had.
func TestReplayBeginsWithTheOldest(t *testing.T) {
	r := newRig(t)
	defer r.close()
	r.add("other", "news")

	var mu sync.Mutex
	var came, bodies []string
	hanging, done := make(chan struct{}), make(chan struct{})
	hang := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		var e client.Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Error(err)
		}
		id, _, _ := strings.Cut(e.ID, "~")
		mu.Lock()
		came, bodies = append(came, id), append(bodies, string(body))
		wait := hang && id == "page.3"
		mu.Unlock()
		if wait {
			close(hanging)
			<-q.Context().Done()
		}
	}))
	defer server.Close()

	limits := kit.Loopback()
	delivered := make(chan string, 100)
	sinks, err := delivery.NewSinks(t.Context(), delivery.SinksConfig{
		Store: r.over(r.store), Vault: secrets.Open(t.TempDir()),
		Open: func(s sinks.Sink) (*sinks.Outlet, error) {
			return sinks.Open(sinks.Config{Do: fetch.NewEgress(limits).Do, CheckURL: limits.CheckURL}, s)
		},
		Observe: func(d delivery.Delivery) {
			if d.Err == nil {
				delivered <- d.ID
			}
		},
	}, []sinks.Sink{{Name: "s", Kind: "cloudevents", URL: profile.Value(server.URL), Tags: []string{"news"}, Origin: freshet.FromFile}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sinks.Run(t.Context(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	defer sinks.Stop()
	go func() {
		defer close(done)
		for range 4 {
			<-delivered
		}
	}()
	for _, id := range []freshet.SourceID{page, page, "other", page, "other"} {
		r.capture(id)
	}
	<-hanging
	<-done
	mu.Lock()
	hang = false
	first := len(came)
	mu.Unlock()

	if _, err := sinks.Replay(t.Context(), "s", delivery.Replay{After: &freshet.Place{}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		<-delivered
	}
	mu.Lock()
	defer mu.Unlock()
	got := bySource(slices.Clone(came[first:]))
	if want := []string{"other.1", "other.2", "page.1", "page.2", "page.3"}; !slices.Equal(got, want) {
		t.Errorf("after the replay came %v, want %v", got, want)
	}
	if one, two := bodies[slices.Index(came, "page.3")], bodies[first+slices.Index(came[first:], "page.3")]; one != two {
		t.Errorf("what was cut off was sent as %s and as %s", one, two)
	}
}

// A process that may have been cut off does not say that a place is gone: another may have given it
// out.
func TestReplayFromAPlaceOfTheNextBrain(t *testing.T) {
	r := newRig(t)
	defer r.close()
	limits := fetch.Config{}
	sure := false
	sinks, err := delivery.NewSinks(t.Context(), delivery.SinksConfig{
		Store: r.over(r.store), Vault: secrets.Open(t.TempDir()), HoldsLease: func() bool { return sure },
		Open: func(s sinks.Sink) (*sinks.Outlet, error) {
			return sinks.Open(sinks.Config{Do: fetch.NewEgress(limits).Do, CheckURL: limits.CheckURL}, s)
		},
	}, []sinks.Sink{
		{Name: "changes", Kind: "cloudevents", URL: "http://a.example/", Origin: freshet.FromFile},
		{Name: "matches", Kind: "cloudevents", URL: "http://a.example/", Queries: []queries.ID{"q"}, Origin: freshet.FromFile},
	})
	if err != nil {
		t.Fatal(err)
	}
	later := delivery.Replay{After: &freshet.Place{Cursor: 99, Epoch: "next"}}
	for _, name := range []string{"changes", "matches"} {
		sure = false
		if _, err := sinks.Replay(t.Context(), name, later); !errors.Is(err, freshet.ErrBusy) {
			t.Errorf("%s: one that is not sure says %v", name, err)
		}
		sure = true
		if _, err := sinks.Replay(t.Context(), name, later); err == nil || errors.Is(err, freshet.ErrBusy) {
			t.Errorf("%s: one that is sure says %v", name, err)
		}
	}
}
