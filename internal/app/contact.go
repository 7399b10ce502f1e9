package app

import (
	"fmt"
	"sync"
	"time"

	"freshet/internal/store/postgres"
	"freshet/internal/units"
)

// A contact records when the database last answered a standby, and when there last was a leader. A standby without
// the database answers no request, and without a leader nothing is polled.
type contact struct {
	lease time.Duration

	mu    sync.Mutex
	heard time.Time // the database answered
	led   time.Time // somebody led
	why   error     // the database does not answer, or this node could not take over
}

func newContact(lease time.Duration) *contact {
	return &contact{lease: lease, heard: time.Now(), led: time.Now()}
}

// note notes who leads, as the database says, or why it does not.
func (c *contact) note(l postgres.Lease, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.why = err
		return
	case l.Held():
		c.led, c.why = time.Now(), nil
	}
	c.heard = time.Now()
}

// cannotLead notes why this node could not take over.
func (c *contact) cannotLead(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = err
}

// ready returns why a standby is not ready: it has not heard of the database or of a leader for
// longer than a lease.
func (c *contact) ready() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	heard, led := time.Since(c.heard), time.Since(c.led)
	switch {
	case heard > c.lease:
		err = fmt.Errorf("PostgreSQL has not answered for %s", units.FormatDuration(heard.Round(time.Second)))
	case led > c.lease:
		err = fmt.Errorf("no node has led for %s", units.FormatDuration(led.Round(time.Second)))
	default:
		return nil
	}
	if c.why != nil {
		err = fmt.Errorf("%w: %w", err, c.why)
	}
	return err
}
