package cluster_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"freshet"
	"freshet/cluster"
	"freshet/hand"
	"freshet/wire"
)

// The network between a hand and its brain goes dead in the midst of an order, in one direction
// or in both, or breaks so that only the hand hears of it. Either way the order counts as made
// and failed, and the hand works again when it can.
func TestDeadNetworkToAHand(t *testing.T) {
	for name, do := range map[string]func(*wire.Wire){
		"both":       func(w *wire.Wire) { w.Set(wire.Dead) },
		"to it":      func(w *wire.Wire) { w.Set(wire.State{In: true}) },
		"from it":    func(w *wire.Wire) { w.Set(wire.State{Out: true}) },
		"half open":  func(w *wire.Wire) { w.Orphan() },
		"for a beat": func(w *wire.Wire) { w.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(c *cluster.Config) { c.Lease, c.Total = 500*time.Millisecond, 500*time.Millisecond })
			there := make(chan struct{}, 10)
			g.mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
				there <- struct{}{}
				<-r.Context().Done()
			})
			g.page("/next", "next")
			w, err := wire.New(strings.TrimPrefix(g.brain.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close() })
			g.join("far", func(c *cluster.WorkerConfig) { c.Join = []string{"http://" + w.Address()} })
			found := make(chan hand.Finding, 1)
			for begun := false; !begun; { // a hand that is very slow may be lost before it begins
				go func() { found <- g.hands.Look(t.Context(), g.order("/")) }()
				select {
				case <-there:
					begun = true
				case <-found:
				}
			}
			asked := g.asked("/")
			do(w)
			select {
			case f := <-found:
				if !f.Failure.Is(freshet.FailLocalHand) || f.Requests != 1 {
					t.Errorf("the order counts as %s with %d requests: %s", f.Failure, f.Requests, f.Err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the order is under way for ever")
			}
			w.Set(wire.State{})
			g.until("the hand works again", func() bool { return g.hands.Look(t.Context(), g.order("/next")).Result == freshet.First })
			if n := g.asked("/"); n != asked {
				t.Errorf("the page was asked for %d times, and %d times before the network was dead", n, asked)
			}
		})
	}
}
