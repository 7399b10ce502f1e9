package freshet

import (
	"slices"
	"strings"
	"time"

	"freshet/internal/invalid"
)

// A Foretelling is what a source says of when it will change. Nobody knows whether that is
// true: it is evidence, and a Learner finds out how far it can be believed.
type Foretelling struct {
	Next  []NextWord // at most one of each kind, in their order
	Rests Rests      // when it does not change
}

// A NextWord is when a source says that it changes next.
type NextWord struct {
	By NextKind
	At time.Time

	// Every is after what time it says that it changes again, and again; zero if it names
	// one moment alone.
	Every time.Duration

	// Zoneless says that the source named no time zone: At is what it would be in UTC.
	// Dayless says that it named no day either, only a time of day: At is the next such
	// time in UTC.
	Zoneless, Dayless bool
}

// A NextKind says by what words a source foretells a change. Each kind is believed by
// itself: a server's max-age can be made up where the page tells the truth.
type NextKind uint8

// The kinds of such words.
const (
	NextByServer NextKind = iota // Cache-Control or Expires of its server, or the ttl of a feed: see Outcome.FreshUntil
	NextByFeed                   // the schedule of a feed: sy:updateBase, sy:updatePeriod and sy:updateFrequency
	NextByText                   // its text: "next update at 14:00"
	NextByField                  // the named value that Source.Next points at
)

// NextKinds is how many kinds of such words there are.
const NextKinds = 4

var nextKinds = [...]string{"server", "feed", "text", "field"}

// String returns the kind in a word.
func (k NextKind) String() string { return nameOf(nextKinds[:], int(k)) }

// Rests are the hours of the day and the days of the week in which a feed says that it is
// not updated (skipHours and skipDays), in UTC: a bit for each hour from midnight on, and
// from RestDays on one for each day from Sunday on. The zero Rests says nothing.
type Rests uint32

// RestDays is how many hours there are in Rests before the days.
const RestDays = 24

// Hour returns Rests of one hour of each day.
func (Rests) Hour(hour int) Rests { return 1 << hour }

// Day returns Rests of one day of each week.
func (Rests) Day(day time.Weekday) Rests { return 1 << (RestDays + day) }

// all are the bits that Rests can have.
const allRests Rests = 1<<(RestDays+7) - 1

// Sound reports whether the rests can be those of a source that ever changes.
func (r Rests) Sound() bool {
	const hours = 1<<RestDays - 1
	return r&^allRests == 0 && r&hours != hours && r>>RestDays != 1<<7-1
}

// At reports whether a moment lies in a rest.
func (r Rests) At(t time.Time) bool {
	t = t.UTC()
	return r&r.Hour(t.Hour()) != 0 || r&r.Day(t.Weekday()) != 0
}

// shifted returns the foretelling with all its times moved.
func (f Foretelling) shifted(by time.Duration) *Foretelling {
	f.Next = slices.Clone(f.Next)
	for i := range f.Next {
		f.Next[i].At = f.Next[i].At.Add(by)
	}
	return &f
}

// A Foretold is when a source changes next by its own word, and how far such words have
// been true.
type Foretold struct {
	At    time.Time // zero if nothing is said
	By    NextKind
	Every time.Duration

	// Of Times such moments that polls could be held against, a change came soon after
	// Right. What is long past counts for less.
	Right, Times float64

	Believed bool // it is gone by
}

// A Resting is when a feed says that it is not updated, and how far that has been true.
type Resting struct {
	Rests        Rests
	Right, Times float64 // as in Foretold, of polls that saw such hours
	Believed     bool
}

// A NextChange is what a user says of how a source foretells its changes. The zero
// NextChange leaves it to the source.
type NextChange struct {
	Field string // the named value that says when the next change comes; "" if none does
	Zone  string // of times that name none, such as Europe/Berlin; "" if that is not known
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

func (s *Source) checkNextChange() error {
	n, err := ParseNextChange(s.NextChange.String())
	if err != nil || n.Field == "" {
		return err
	}
	if _, ok := s.Recipe.Extract[n.Field]; !ok {
		return invalid.Errorf("next_change", "there is no value %.80q; name one of extract", n.Field)
	}
	return nil
}
