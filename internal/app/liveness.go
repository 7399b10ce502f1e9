package app

import (
	"fmt"
	"sync"
	"time"

	"freshet/internal/store/postgres"
	"freshet/internal/units"
)

// A liveness records when a standby last got an answer from the database and when there last was a
// leader. A standby without the database answers no request, and without a leader nothing is
// polled.
type liveness struct {
	lease time.Duration

	mu           sync.Mutex
	databaseSeen time.Time // last answer of the database
	leaderSeen   time.Time // when there last was a leader
	lastErr      error     // the last error of the database or of taking over
}

func newLiveness(lease time.Duration) *liveness {
	return &liveness{lease: lease, databaseSeen: time.Now(), leaderSeen: time.Now()}
}

// observe records the answer of the database to a query for the leader.
func (c *liveness) observe(l postgres.Lease, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.lastErr = err
		return
	case l.Held():
		c.leaderSeen, c.lastErr = time.Now(), nil
	}
	c.databaseSeen = time.Now()
}

// setErr records why this node could not take over.
func (c *liveness) setErr(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = err
}

// ready returns an error if the database or a leader was last seen longer than a lease ago.
func (c *liveness) ready() (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	database, leader := time.Since(c.databaseSeen), time.Since(c.leaderSeen)
	switch {
	case database > c.lease:
		err = fmt.Errorf("PostgreSQL has not answered for %s", units.FormatDuration(database.Round(time.Second)))
	case leader > c.lease:
		err = fmt.Errorf("there has been no leader for %s", units.FormatDuration(leader.Round(time.Second)))
	default:
		return nil
	}
	if c.lastErr != nil {
		err = fmt.Errorf("%w: %w", err, c.lastErr)
	}
	return err
}
