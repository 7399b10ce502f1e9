//go:build unix

package torture

import (
	"fmt"
	"sync"
	"time"

	"freshet/internal/test/netfault"
)

// longPause is how long there may be no request before a report says what happened meanwhile.
const longPause = 5 * clusterLease

// A Pause is a time without a request, and what was broken meanwhile.
type Pause struct {
	From    time.Time `json:"from"`
	Seconds float64   `json:"seconds"`
	Broken  []string  `json:"broken"`
}

// A diary says what was broken when.
type diary struct {
	mu   sync.Mutex
	said []*broken
}

// A broken is something that was broken for a while; to is zero while it is.
type broken struct {
	stretch
	what string
}

// note notes that something is broken until the function is called.
func (d *diary) note(format string, args ...any) (whole func()) {
	b := &broken{stretch{from: time.Now()}, fmt.Sprintf(format, args...)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, b)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		b.to = time.Now()
	}
}

// within returns what was broken within a stretch, with the seconds from its beginning on.
func (d *diary) within(s stretch) (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.said {
		if b.from.Before(s.to) && (b.to.IsZero() || b.to.After(s.from)) {
			all = append(all, fmt.Sprintf("%s from %.1f to %.1f", b.what, b.from.Sub(s.from).Seconds(), b.to.Sub(s.from).Seconds()))
		}
	}
	return all
}

// nameOf names a wire.
func (g *grove) nameOf(w *netfault.Wire) string {
	for i := range g.nodes {
		switch w {
		case g.store[i]:
			return g.nodes[i].name + " to PostgreSQL"
		case g.front[i]:
			return "others to " + g.nodes[i].name
		}
	}
	return ""
}
