package client

import (
	"fmt"
	"math"
)

const (
	fewCaptured = 5   // changes tell nothing of a share
	wideRange   = 0.5 // of a share says little
	nearlyAll   = 0.7 // of the polls found a change
	fewPolls    = 30  // a source leave a range wide
)

// Believe sets TooEarly, Wide and Saturated, which say how reliable Share is. A display of Share
// shows them beside it, or instead of it.
func (c *Captured) Believe() {
	c.TooEarly, c.Wide, c.Saturated = "", "", false
	switch {
	case c.Sources == 0 && c.Polls == 0:
		c.TooEarly = "no source is polled"
	case c.Sources == 0: // they are paused
	case 2*c.Early > c.Sources:
		c.TooEarly = fmt.Sprintf("%d of %d sources were seen less than twice", c.Early, c.Sources)
		if c.Sources == 1 {
			c.TooEarly = "it was seen less than twice"
		}
	case c.Captured < 0.5:
		c.TooEarly = "no change has been seen yet"
	case math.Round(c.Captured) < fewCaptured: // what is long past counts for a little less
		c.TooEarly = fmt.Sprintf("only %.0f changes have been seen", c.Captured)
		if c.Captured < 1.5 {
			c.TooEarly = "only 1 change has been seen"
		}
	case c.Share.High-c.Share.Low <= wideRange:
	case c.Captured > nearlyAll*c.Polls:
		c.Saturated = true
		c.Wide = "Nearly every poll finds a change, so nobody can tell how many came in between. Polls closer together would tell, or a page that dates its changes, such as a feed."
	case c.Polls < fewPolls*float64(c.Sources):
		c.Wide = "There are few polls so far. The range narrows as more come in."
	default:
		c.Wide = "The pages change unevenly, and what comes and goes between two polls leaves no trace. Polls closer together would tell more."
	}
}
