// Package kit has what tests of many packages need: a web server to watch, records of polls, and
// ways to wait. It links no database; package daemontest has a whole daemon.
package kit

import (
	"net/netip"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Patience is how long a test waits for something that happens at once on an idle machine.
const Patience = 5 * time.Minute

// Until waits for something that other goroutines or processes bring about.
func Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", Patience, what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Loopback lets a fetcher reach the servers of tests.
func Loopback() fetch.Config {
	return fetch.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// Idle is a policy that wants no polls, so that a test asks for each of them.
type Idle struct{}

// Put implements [freshet.Policy].
func (Idle) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Policy].
func (Idle) Remove(freshet.Slot) {}

// Choose implements [freshet.Policy].
func (Idle) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time { return time.Time{} }

// Observe implements [freshet.Policy].
func (Idle) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// Changed returns the record of a poll that found a new text just now.
func Changed(id freshet.SourceID, text, summary string) freshet.Record {
	now := time.Now()
	return freshet.Record{
		Outcome: freshet.Outcome{Source: id, Since: now.Add(-time.Minute), Began: now, Ended: now, Result: freshet.Changed, Status: 200, Requests: 1},
		Capture: &freshet.Capture{
			Recipe: reading.Recipe{}.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Summary: summary,
			Raw: freshet.Raw{Status: 200, URL: "http://page.example/", Body: []byte(text)},
		},
	}
}
