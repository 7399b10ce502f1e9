package cli

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"freshet/internal/sched"
	"freshet/internal/units"
)

// Harmless returns s without the characters that could steer a terminal: what
// a page says must not move the cursor or change the title of the window.
func Harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// Counted writes a number of things.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	for i, unit := range []string{"TB", "GB", "MB", "kB"} {
		if is := math.Pow(1000, float64(4-i)); float64(n) >= is {
			return fmt.Sprintf("%.1f %s", float64(n)/is, unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Stopwatch writes seconds as minutes and seconds.
func Stopwatch(seconds float64) string {
	return fmt.Sprintf("%d:%02d", int(seconds)/60, int(seconds)%60)
}

// Rate writes a budget in words.
func Rate(b sched.Budget) string {
	per := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", units.Day: "a day"}[b.Per]
	if per == "" {
		per = "every " + units.FormatDuration(b.Per)
	}
	polls := "polls"
	if b.Polls == 1 {
		polls = "poll"
	}
	return fmt.Sprintf("%g %s %s", b.Polls, polls, per)
}
