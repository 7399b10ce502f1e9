package daemon

import (
	"maps"
	"sync"
	"time"

	"freshet/internal/sched"
)

// wishes are the hosts that asked to be left alone, and until when. The brain knows
// them too, and caps them; this is for a request that has its leave and has not left
// yet, and only has it ask again.
type wishes struct {
	mu    sync.Mutex
	until map[string]time.Time // steady
}

// note keeps a host's wish.
func (w *wishes) note(host string, now, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(_ string, t time.Time) bool { return !t.After(now) })
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	if until.After(w.until[host]) {
		w.until[host] = until
	}
}

// away reports whether a host is to be left alone at now.
func (w *wishes) away(host string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until[host].After(now)
}

// stayAway leaves a host alone as it asked, from now on: before the outcome is on
// record, and whether or not it ever is.
func (d *Daemon) stayAway(host string, length time.Duration) {
	now := d.dates.Now()
	d.inbox.post(sched.HostBackoff{Host: host, For: length})
	d.wishes.note(host, now, now.Add(length))
}
