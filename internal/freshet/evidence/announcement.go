package evidence

import (
	"slices"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// An Announcement is what a source says about its next change. A Learner finds out how far
// it is right.
type Announcement struct {
	Next  []Next     // at most one of each kind, in their order
	Rests QuietHours // when it does not change
}

// A Next is an announced time of the next change.
type Next struct {
	By NextKind
	At time.Time

	// Every is the announced period of changes; zero if only one time is announced.
	Every time.Duration

	// Zoneless means that the source names no time zone, and At assumes UTC. Dayless means
	// that it names only a time of day, and At is the next such time in UTC.
	Zoneless, Dayless bool
}

// A NextKind is the origin of an announcement. The learner trusts each kind separately: a
// server's max-age can be arbitrary where the text of the page is right.
type NextKind uint8

// The origins of an announcement.
const (
	NextByServer NextKind = iota // Cache-Control or Expires of its server, or the ttl of a feed: see Outcome.FreshUntil
	NextByFeed                   // the schedule of a feed: sy:updateBase, sy:updatePeriod and sy:updateFrequency
	NextByText                   // its text: "next update at 14:00"
	NextByField                  // the named value that Source.Next points at
)

// NextKinds is the number of kinds.
const NextKinds = 4

var nextKinds = [...]string{"server", "feed", "text", "field"}

// String returns the kind in a word.
func (k NextKind) String() string { return units.NameOf(nextKinds[:], int(k)) }

// QuietHours are the hours of the day and the days of the week in which a feed announces no
// updates (skipHours and skipDays), in UTC: bits 0 to 23 for the hours, and from bit RestDays
// on one for each day, Sunday first. Zero announces nothing.
type QuietHours uint32

// RestDays is the bit of Sunday.
const RestDays = 24

// Hour returns the bit of one hour of the day.
func (QuietHours) Hour(hour int) QuietHours { return 1 << hour }

// Day returns the bit of one day of the week.
func (QuietHours) Day(day time.Weekday) QuietHours { return 1 << (RestDays + day) }

// allRests has all valid bits set.
const allRests QuietHours = 1<<(RestDays+7) - 1

// Sound reports whether r leaves any time for changes and has valid bits only.
func (r QuietHours) Sound() bool {
	const hours = 1<<RestDays - 1
	return r&^allRests == 0 && r&hours != hours && r>>RestDays != 1<<7-1
}

// At reports whether t lies in the quiet hours.
func (r QuietHours) At(t time.Time) bool {
	t = t.UTC()
	return r&r.Hour(t.Hour()) != 0 || r&r.Day(t.Weekday()) != 0
}

// Shifted returns the announcement with all times moved by a duration.
func (f Announcement) Shifted(by time.Duration) *Announcement {
	f.Next = slices.Clone(f.Next)
	for i := range f.Next {
		f.Next[i].At = f.Next[i].At.Add(by)
	}
	return &f
}

// A NextChange is the user's setting of where a source announces its next change. Zero
// leaves it to detection.
type NextChange struct {
	Field string // the named value that holds the time of the next change; "" if none does
	Zone  string // of times without a zone, such as Europe/Berlin; "" if unknown
}

// ParseNextChange reads the name of a value, the name of a time zone, or both, such as
// "next_update Europe/Berlin". "" is the zero NextChange.
func ParseNextChange(text string) (n NextChange, err error) {
	words := strings.Fields(text)
	if len(words) > 0 && !strings.Contains(words[0], "/") && words[0] != "UTC" {
		n.Field, words = words[0], words[1:]
	}
	if len(words) > 0 {
		n.Zone, words = words[0], words[1:]
		if _, err := time.LoadLocation(n.Zone); err != nil || n.Zone == "Local" {
			return n, invalid.Errorf("next_change", "unknown time zone %.80q; use a name such as Europe/Berlin", n.Zone)
		}
	}
	if len(words) > 0 {
		return n, invalid.Errorf("next_change", "%.80q has more than a value and a time zone; write, for example, next_update Europe/Berlin", text)
	}
	return n, nil
}

// String returns what ParseNextChange reads.
func (n NextChange) String() string { return strings.TrimSpace(n.Field + " " + n.Zone) }

// Location returns the time zone, or nil if none is named.
func (n NextChange) Location() *time.Location {
	if n.Zone == "" {
		return nil
	}
	zone, err := time.LoadLocation(n.Zone)
	if err != nil {
		return nil
	}
	return zone
}
