package content

import (
	"strconv"
	"strings"
	"time"

	"github.com/jimsmart/grobotstxt"
)

// robotsBytes is how much of a robots.txt is read, as RFC 9309 asks for at least.
const robotsBytes = 500 << 10

// CrawlDelay returns how far apart a robots.txt wants the requests of a program to
// be: by the groups that name the program, and if none does, by those for everybody.
// Where several delays stand there, the longest counts. Zero means that it wants none.
func CrawlDelay(robots []byte, agent string) time.Duration {
	r := delayReader{agent: strings.ToLower(agent)}
	grobotstxt.Parse(string(robots[:min(len(robots), robotsBytes)]), &r)
	if r.named {
		return r.own
	}
	return r.anyone
}

// A delayReader is told of a robots.txt line by line.
type delayReader struct {
	agent string

	named       bool          // some group is for the agent
	own, anyone time.Duration // that the agent and everybody are asked for

	mine, all bool // the present group is for the agent, for everybody
	rules     bool // it has rules: the next name begins another group
}

// HandleUserAgent notes whom the group is for.
func (r *delayReader) HandleUserAgent(_ int, value string) {
	if r.rules {
		r.mine, r.all, r.rules = false, false, false
	}
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(value)), "/")
	switch name, _, _ = strings.Cut(name, " "); name {
	case "*":
		r.all = true
	case r.agent:
		r.mine, r.named = true, true
	}
}

// HandleUnknownAction takes the delay, which is in no standard.
func (r *delayReader) HandleUnknownAction(_ int, action, value string) {
	if !strings.EqualFold(strings.TrimSpace(action), "crawl-delay") {
		return
	}
	r.rules = true
	seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(seconds > 0) {
		return
	}
	delay := time.Duration(min(seconds, 1e6) * float64(time.Second))
	if r.mine {
		r.own = max(r.own, delay)
	}
	if r.all {
		r.anyone = max(r.anyone, delay)
	}
}

// HandleAllow notes that the group has rules.
func (r *delayReader) HandleAllow(int, string) { r.rules = true }

// HandleDisallow notes that the group has rules.
func (r *delayReader) HandleDisallow(int, string) { r.rules = true }

// HandleSitemap is of no concern here.
func (r *delayReader) HandleSitemap(int, string) {}

// HandleRobotsStart is of no concern here.
func (r *delayReader) HandleRobotsStart() {}

// HandleRobotsEnd is of no concern here.
func (r *delayReader) HandleRobotsEnd() {}
