package robots

import (
	"strconv"
	"strings"
	"time"
)

// longestDelay bounds what a file can ask for.
const longestDelay = 1e6 * time.Second

// units are what some write after the number of a Crawl-delay.
var units = map[string]float64{
	"": 1, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"ms": 0.001, "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600,
}

// parseDelay reads a Crawl-delay: seconds, with decimals or a unit if need be.
func parseDelay(text string) (time.Duration, bool) {
	end := strings.IndexFunc(text, func(c rune) bool { return c != '.' && c != ',' && (c < '0' || c > '9') })
	if end < 0 {
		end = len(text)
	}
	number, err := strconv.ParseFloat(strings.Replace(text[:end], ",", ".", 1), 64)
	unit, ok := units[strings.ToLower(strings.Trim(text[end:], " \t."))]
	if err != nil || !ok {
		return 0, false
	}
	return time.Duration(min(number*unit, longestDelay.Seconds()) * float64(time.Second)), true
}

// delayFor returns the longest pause that a group asks of a program. Lines after its own
// name come before those after the names of others in the group: many files give each
// program a Crawl-delay and no rules, and by RFC 9309 all of these are one group.
func (g group) delayFor(name string) (delay time.Duration, asked bool) {
	named := map[int]bool{}
	for _, a := range g.agents {
		if a.name == name {
			named[a.run] = true
		}
	}
	own := false
	for _, d := range g.delays {
		switch mine := named[d.run]; {
		case mine && !own:
			delay, own = d.delay, true
		case mine == own:
			delay = max(delay, d.delay)
		}
	}
	return delay, len(g.delays) > 0
}
