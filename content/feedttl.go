package content

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What a feed says about itself stands before its items.
const feedHead = 16 << 10

var (
	ttlElement    = regexp.MustCompile(`(?i)<ttl>\s*(\d{1,6})\s*</ttl>`)
	periodElement = regexp.MustCompile(`(?i)<sy:updatePeriod>\s*(\w{1,10})\s*</sy:updatePeriod>`)
	countElement  = regexp.MustCompile(`(?i)<sy:updateFrequency>\s*(\d{1,6})\s*</sy:updateFrequency>`)
)

// feedTTL returns for how long a feed says that it stays as it is: its ttl, in
// minutes, or by how often it says that it is updated. Zero if it does not say.
func feedTTL(src []byte) time.Duration {
	head := src[:min(len(src), feedHead)]
	if end := bytes.Index(head, []byte("<item")); end >= 0 {
		head = head[:end]
	}
	if n, ok := numberIn(head, ttlElement); ok {
		return time.Duration(n) * time.Minute
	}
	found := periodElement.FindSubmatch(head)
	if found == nil {
		return 0
	}
	period := map[string]time.Duration{
		"hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour, "monthly": 30 * 24 * time.Hour, "yearly": 365 * 24 * time.Hour,
	}[strings.ToLower(string(found[1]))]
	if n, ok := numberIn(head, countElement); ok && n > 0 {
		period /= time.Duration(n)
	}
	return period
}

// numberIn returns the number that an element holds, if the element is there.
func numberIn(src []byte, element *regexp.Regexp) (int, bool) {
	found := element.FindSubmatch(src)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(found[1]))
	return n, err == nil
}
