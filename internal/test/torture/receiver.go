package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"freshet/client"
)

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A mood is how a receiver answers.
type mood string

// The moods of receivers.
const (
	fine    mood = "fine"    // accepts, but for one change in fifty the first time
	failing mood = "failing" // answers 500
	hanging mood = "hanging" // does not answer
	busy    mood = "busy"    // answers 429 and asks to be left alone
	gone    mood = "gone"    // answers 410
)

// A receiver receives webhooks and remembers every one. It outlives daemons.
type receiver struct {
	name   string
	server *http.Server
	addr   string
	ending chan struct{}

	mu       sync.Mutex
	mood     mood
	wake     chan struct{}     // closed when the mood changes
	bodies   map[string][]byte // by webhook-id
	accepted map[told]bool
	refused  map[string]bool
	goneAt   time.Time // when it first answered 410
	late     []time.Time
	problems []string

	deliveries, repeats, refusals int
}

// newReceiver opens a receiver. It must be closed.
func newReceiver(name string) (*receiver, error) {
	verify, err := webhooks.NewWebhook(hookSecret)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{
		name: name, addr: l.Addr().String(), ending: make(chan struct{}), mood: fine, wake: make(chan struct{}),
		bodies: map[string][]byte{}, accepted: map[told]bool{}, refused: map[string]bool{},
	}
	r.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return // killed in the midst of sending
			}
			if err := verify.VerifyIgnoringTimestamp(body, req.Header); err != nil {
				r.complain("a webhook came with a wrong signature: %v", err)
			}
			r.answer(rw, req, req.Header.Get("Webhook-Id"), body)
		}),
	}
	go r.server.Serve(l) // ends with close
	return r, nil
}

func (r *receiver) close() error {
	close(r.ending)
	return r.server.Close()
}

func (r *receiver) url() string { return "http://" + r.addr + "/" + r.name }

// feel changes the mood.
func (r *receiver) feel(m mood) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mood = m
	close(r.wake)
	r.wake = make(chan struct{})
}

// answer notes a delivery and answers as the mood is.
func (r *receiver) answer(rw http.ResponseWriter, req *http.Request, id string, body []byte) {
	r.mu.Lock()
	r.receive(id, body)
	mood, wake := r.mood, r.wake
	switch {
	case mood == fine && r.refuses(id):
		mood = failing
	case mood != fine && mood != gone && r.refused[id]:
		mood = fine // the third attempt would come minutes later
	}
	r.refused[id] = r.refused[id] || mood != fine
	switch mood {
	case fine:
		var e client.Event
		if json.Unmarshal(body, &e) == nil {
			r.accepted[toldOf(e.Data)] = true
		}
		if !r.goneAt.IsZero() {
			r.late = append(r.late, time.Now())
		}
	case gone:
		if r.goneAt.IsZero() {
			r.goneAt = time.Now()
		}
		r.late = append(r.late, time.Now())
	default:
		r.refusals++
	}
	r.mu.Unlock()
	switch mood {
	case failing:
		rw.WriteHeader(http.StatusInternalServerError)
	case hanging:
		select {
		case <-req.Context().Done():
		case <-wake:
		case <-r.ending:
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
	case busy:
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusTooManyRequests)
	case gone:
		rw.WriteHeader(http.StatusGone)
	}
}

// receive remembers a delivery and compares a repeat with the one before.
func (r *receiver) receive(id string, body []byte) {
	r.deliveries++
	if before, ok := r.bodies[id]; ok {
		r.repeats++
		if !bytes.Equal(before, body) {
			r.problems = append(r.problems, fmt.Sprintf("the delivery %s came again with other bytes:\n%s\n%s", id, before, body))
		}
		return
	}
	r.bodies[id] = body
}

// refuses reports whether a delivery is to be refused this time.
func (r *receiver) refuses(id string) bool {
	h := fnv.New32a()
	io.WriteString(h, id)
	if r.refused[id] || h.Sum32()%50 != 0 {
		return false
	}
	r.refused[id] = true
	return true
}

func (r *receiver) complain(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// take returns what was wrong with deliveries since it was last called.
func (r *receiver) take() (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	problems, r.problems = r.problems, nil
	return problems
}

// took returns the changes that were accepted.
func (r *receiver) took() map[told]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.accepted)
}

// forget has the receiver forget that it ever left.
func (r *receiver) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goneAt, r.late = time.Time{}, nil
}

// farewell returns when the receiver first said that it is gone, and the
// deliveries that came since.
func (r *receiver) farewell() (at time.Time, late []time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.goneAt, slices.Clone(r.late)
}
