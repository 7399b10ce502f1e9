package extract

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
)

// What a feed says about itself stands before its items.
const feedHead = 16 << 10

var (
	ttlElement    = lazyregexp.New(`(?i)<ttl>\s*(\d{1,6})\s*</ttl>`)
	periodElement = lazyregexp.New(`(?i)<sy:updatePeriod>\s*(\w{1,10})\s*</sy:updatePeriod>`)
	baseElement   = lazyregexp.New(`(?i)<sy:updateBase>\s*([\dT:.+Zz-]{10,35})\s*</sy:updateBase>`)
	skipElement   = lazyregexp.New(`(?is)<skip(?:Hours|Days)>(.{0,1000}?)</skip(?:Hours|Days)>`)
	restElement   = lazyregexp.New(`(?i)<(?:hour>\s*(\d{1,2})\s*</hour|day>\s*(\w{6,9})\s*</day)>`)
	countElement  = lazyregexp.New(`(?i)<sy:updateFrequency>\s*(\d{1,6})\s*</sy:updateFrequency>`)
)

// feedTTL returns for how long a feed says that it stays as it is: its ttl, in
// minutes, or by how often it says that it is updated. Zero if it does not say.
func feedTTL(src []byte) time.Duration {
	head := headOf(src)
	if n, ok := numberIn(head, ttlElement); ok {
		return time.Duration(n) * time.Minute
	}
	return periodIn(head)
}

// headOf returns what a feed says about itself.
func headOf(src []byte) []byte {
	head := src[:min(len(src), feedHead)]
	if end := bytes.Index(head, []byte("<item")); end >= 0 {
		head = head[:end]
	}
	return head
}

// periodIn returns how often a feed says that it is updated; zero if it does not say.
func periodIn(head []byte) time.Duration {
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

// feedForetold returns when a feed says that it is updated: by a schedule that counts from
// a moment, and not in some hours of the day and on some days of the week.
func feedForetold(src []byte) (f freshet.Foretelling) {
	head := headOf(src)
	const longest = 7 * 24 * time.Hour // months and years have no length
	if period, base := periodIn(head), baseElement.FindSubmatch(head); base != nil && period >= time.Minute && period <= longest {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04-0700", "2006-01-02"} {
			if at, err := time.Parse(layout, string(base[1])); err == nil && at.Year() >= 1970 && at.Year() < 2200 {
				f.Next = []freshet.NextWord{{By: freshet.NextByFeed, At: at.UTC(), Every: period}}
				break
			}
		}
	}
	for _, skip := range skipElement.FindAllSubmatch(head, 4) {
		for _, one := range restElement.FindAllSubmatch(skip[1], 32) {
			if hour, err := strconv.Atoi(string(one[1])); err == nil && hour <= 24 {
				f.Rests |= f.Rests.Hour(hour % 24) // 24 is midnight to some
			}
			for day := time.Sunday; day <= time.Saturday; day++ {
				if strings.EqualFold(day.String(), string(one[2])) {
					f.Rests |= f.Rests.Day(day)
				}
			}
		}
	}
	if !f.Rests.Sound() {
		f.Rests = 0
	}
	return f
}

// numberIn returns the number that an element holds, if the element is there.
func numberIn(src []byte, element *lazyregexp.Regexp) (int, bool) {
	found := element.FindSubmatch(src)
	if found == nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(found[1]))
	return n, err == nil
}
