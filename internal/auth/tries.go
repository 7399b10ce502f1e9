package auth

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"
)

// Failed logins from one address: for one user, and for all together. Who fails at one
// address keeps nobody out at another.
const (
	userTries    = 5
	userEvery    = 12 * time.Second // one more try
	addressTries = 20
	addressEvery = 3 * time.Second
	mostTries    = 10_000 // addresses and users that are remembered
)

// A TooManyError means that there were too many attempts to log in.
type TooManyError struct{ Wait time.Duration }

// Error says how long to wait.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many failed logins; try again in %d seconds", e.Seconds())
}

// Seconds returns how long to wait, rounded up.
func (e *TooManyError) Seconds() int { return int(math.Ceil(e.Wait.Seconds())) }

// tries counts failed logins.
type tries struct {
	now func() time.Time

	mu  sync.Mutex
	due map[string]time.Time // when the last failure of a key will be forgiven
}

// A rule is how many tries a key has, and how often it gets one more.
type tryRule struct {
	key   string
	most  int
	every time.Duration
}

func rulesFor(user, from string) []tryRule {
	where := network(from)
	return []tryRule{{"u " + where + " " + user, userTries, userEvery}, {"a " + where, addressTries, addressEvery}}
}

// network returns what one visitor has at least: an IPv4 address, or half of an IPv6
// address.
func network(from string) string {
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return from
	}
	if addr = addr.Unmap(); addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// take uses up a try, or says how long to wait.
func (t *tries) take(user, from string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	rules := rulesFor(user, from)
	for _, r := range rules {
		if wait := later(t.due[r.key], now).Sub(now) - time.Duration(r.most-1)*r.every; wait > 0 {
			return &TooManyError{wait}
		}
	}
	if t.due == nil || len(t.due) > mostTries {
		t.forget(now)
	}
	for _, r := range rules {
		t.due[r.key] = later(t.due[r.key], now).Add(r.every)
	}
	return nil
}

// back gives back a try that was no failure.
func (t *tries) back(user, from string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range rulesFor(user, from) {
		if due, ok := t.due[r.key]; ok {
			t.due[r.key] = due.Add(-r.every)
		}
	}
}

// forget drops what is forgiven. If there is still too much, all is forgotten: there are
// more addresses than a limit on each of them could keep out.
func (t *tries) forget(now time.Time) {
	left := map[string]time.Time{}
	for key, due := range t.due {
		if due.After(now) {
			left[key] = due
		}
	}
	if len(left) > mostTries {
		clear(left)
	}
	t.due = left
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
