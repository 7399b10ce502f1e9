package simulate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A receiver is the endpoint of a webhook.
type receiver struct {
	*network
	name string

	mu    sync.Mutex
	got   []delivery
	wrong map[string]bool // ids of deliveries that were called wrong
}

// A delivery is an attempt that arrived at a receiver.
type delivery struct {
	at       time.Time
	ended    time.Time
	id       string // of the webhook
	event    string // id of the event
	body     [32]byte
	change   change
	accepted bool // with an answer that was sent in full
	life     *life
}

// A change is what a change says of itself, wherever it is told.
type change struct {
	Cursor any    `json:"cursor"`
	Source string `json:"source"`
	Seq    int    `json:"seq"`
	Number int    `json:"number"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// newReceivers puts the receivers of a plan on the network.
func newReceivers(n *network) (all []*receiver) {
	for i := range n.plan.receivers {
		r := &receiver{network: n, name: fmt.Sprintf("hook%d", i)}
		n.servers[r.host()] = r
		all = append(all, r)
	}
	return all
}

// host is where the receiver is.
func (v *receiver) host() string { return v.name + ".example" }

// answer takes a delivery, or does not.
func (v *receiver) answer(r *request, line net.Conn) bool {
	var event struct {
		ID   string `json:"id"`
		Data change `json:"data"`
	}
	if err := json.Unmarshal(r.body, &event); err != nil {
		v.broken("%s was sent what is not JSON: %v", v.name, err)
	}
	d := delivery{at: r.at, id: r.Header.Get("webhook-id"), event: event.ID, body: sha256.Sum256(r.body), change: event.Data, life: r.life}
	v.say("delivery of %s to %s, as %s, %x", d.event, v.name, d.id, d.body[:4])
	const flood = 2000
	if r.n == flood {
		v.broken("%s is flooded with deliveries", v.name)
	}
	if r.n >= flood {
		time.Sleep(time.Hour)
	}
	rng := v.chance("hook "+v.name, r.n)
	time.Sleep(pause(rng, 200*time.Microsecond, 300*time.Millisecond))
	again := v.react(r, line, &d, rng.IntN(6), pause(rng, 10*time.Second, 25*time.Second), !v.isCalm() && oneIn(rng, v.plan.hookFault))
	d.ended = time.Now()
	v.mu.Lock()
	v.got = append(v.got, d)
	v.mu.Unlock()
	return again
}

// react accepts a delivery, or fails in one of several ways.
func (v *receiver) react(r *request, line net.Conn, d *delivery, way int, long time.Duration, fails bool) bool {
	if !fails {
		d.accepted = write(line, 204, nil, nil, -1) == nil
		return d.accepted
	}
	v.say("%s does not take it: %d", v.name, way)
	switch way {
	case 0:
		return write(line, 500, nil, nil, -1) == nil
	case 1:
		return write(line, 429, http.Header{"Retry-After": {"7"}}, nil, -1) == nil
	case 2:
		time.Sleep(long)
		return write(line, 200, nil, nil, -1) == nil // maybe too late
	case 3:
		return false // it was taken, and nobody is told
	case 4:
		_ = write(line, 200, nil, []byte("o"), 2) // accepted, however its body ends
		return false
	}
	status := 400
	v.mu.Lock()
	if v.wrong == nil {
		v.wrong = map[string]bool{}
	}
	if v.wrong[d.id] { // what is called wrong again and again is rightly given up
		status = 503
	}
	v.wrong[d.id] = true
	v.mu.Unlock()
	return write(line, status, nil, []byte("what is this?\n"), -1) == nil
}
