package client

import (
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/internal/learn/outlook"
)

// A Foretold is when a source says that it changes next, and how far that has been true.
type Foretold struct {
	At       time.Time `json:"at"`
	By       string    `json:"by" enum:"server,feed,text,field" doc:"Origin of the announcement: max-age, Expires or a ttl (server), the schedule of a feed, the text of the page, or the value that next_change names (field)"`
	Every    Duration  `json:"every,omitzero" doc:"The announced interval between changes, if any"`
	Right    float64   `json:"right" doc:"How often a change followed such a time; older observations count less"`
	Times    float64   `json:"times" doc:"How often a poll could check; likewise"`
	Believed bool      `json:"believed" doc:"The scheduler uses it"`
}

// A Resting is when a feed says that it is not updated, and how far that has been true.
type Resting struct {
	Hours    []int    `json:"hours,omitempty" doc:"Of the day, in UTC (skipHours)"`
	Days     []string `json:"days,omitempty" doc:"Of the week (skipDays)"`
	Right    float64  `json:"right" doc:"How often a poll at such a time found no change, of those that were likely to find one; older observations count less"`
	Times    float64  `json:"times" doc:"How often there was such a poll; likewise"`
	Believed bool     `json:"believed" doc:"The scheduler uses it"`
}

// ForetoldOf returns when a source says that it changes next, as the API tells it.
func ForetoldOf(f outlook.Announced) *Foretold {
	if f.At.IsZero() {
		return nil
	}
	return &Foretold{At: f.At.UTC(), By: f.By.String(), Every: Duration(f.Every), Right: f.Right, Times: f.Times, Believed: f.Believed}
}

// RestingOf returns when a source says that it does not change, as the API tells it.
func RestingOf(r outlook.QuietHours) *Resting {
	if r.Rests == 0 {
		return nil
	}
	hours, days := restsOf(r.Rests)
	return &Resting{Hours: hours, Days: days, Right: r.Right, Times: r.Times, Believed: r.Believed}
}

// words says when the source changes next by its own word, at a moment. At is a time of
// day in words.
func (f *Foretold) words(now time.Time, at string) string {
	who := map[string]string{"server": "Its server", "feed": "The feed", "field": "The value of next_change"}[f.By]
	if who == "" {
		who = "The page"
	}
	says := fmt.Sprintf("%s says that it changes next at %s", who, at)
	if !now.IsZero() && !f.At.After(now) {
		says = fmt.Sprintf("%s said that it changes at %s", who, at)
	}
	if f.Every > 0 {
		says += fmt.Sprintf(" and then every %s", f.Every)
	}
	return says + trueSoFar(f.Right, f.Times, f.Believed)
}

// words says when the feed is not updated.
func (r *Resting) words() string {
	var when []string
	for i := 0; i < len(r.Hours); {
		from := r.Hours[i]
		to := from
		for ; i < len(r.Hours) && r.Hours[i] == to; i++ {
			to++
		}
		when = append(when, fmt.Sprintf("from %d:00 to %d:00 UTC", from, to))
	}
	if n := len(when); n > 1 && r.Hours[0] == 0 && r.Hours[len(r.Hours)-1] == 23 { // around midnight
		first := when[0][strings.Index(when[0], " to "):]
		when[n-1] = when[n-1][:strings.Index(when[n-1], " to ")] + first
		when = when[1:]
	}
	if len(r.Days) > 0 {
		when = append(when, "on "+strings.Join(r.Days, ", "))
	}
	return "The feed says that it is not updated " + strings.Join(when, " and ") + trueSoFar(r.Right, r.Times, r.Believed)
}

// trueSoFar ends a sentence with how often such announcements were true.
func trueSoFar(right, times float64, believed bool) string {
	const few = 3
	times = math.Round(times)
	right = min(math.Round(right), times)
	said := fmt.Sprintf("; that was true %.0f of %.0f times", right, times)
	switch {
	case times < 1 && believed:
		return "; whether that is true is not known yet."
	case times < 1:
		return "; whether that is true is not known yet, and polls do not go by it."
	case believed:
		return said + "."
	case times < few:
		return said + ", too few to go by."
	}
	return said + ", and polls do not go by it."
}

// sayForetold says when the source changes next by its own word, and when it does not.
func (w Why) sayForetold(zone *time.Location) string {
	if w.still() {
		return ""
	}
	var said []string
	if w.Foretold != nil {
		said = append(said, w.Foretold.words(w.At, w.clock(w.Foretold.At, zone)))
	}
	if w.Resting != nil {
		said = append(said, w.Resting.words())
	}
	return strings.Join(said, " ")
}

// sayForetold says the same of a rhythm.
func (r Rhythm) sayForetold(zone *time.Location, now time.Time) string {
	var said []string
	if r.Foretold != nil {
		said = append(said, r.Foretold.words(now, r.Foretold.At.In(zone).Format("15:04 MST on 2 January")))
	}
	if r.Resting != nil {
		said = append(said, r.Resting.words())
	}
	return strings.Join(said, " ")
}
