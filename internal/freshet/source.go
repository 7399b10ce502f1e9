package freshet

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/profile"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
	"freshet/internal/freshet/timetable"
)

// A SourceID names a source for as long as it is known, also after it has been
// removed and added again. It is made of letters, digits, '.', '_' and '-'.
type SourceID string

// ValidSourceID reports whether id can name a source. Dots alone cannot: in a
// path, "." and ".." stand for something else.
func ValidSourceID(id SourceID) bool {
	if strings.Trim(string(id), ".") == "" || len(id) > 64 {
		return false
	}
	return strings.Trim(string(id), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

// A Source is a place on the Web whose changes we want to capture.
type Source struct {
	ID   SourceID
	URL  string
	Name string   // for people; may be empty
	Tags []string // sorted, without repeats

	Request *profile.Profile // how it is asked for; nil means with a plain GET
	Expect  *profile.Expect  // which answers count; nil means those with a status of 200 to 299
	Recipe  reading.Recipe   // which part of the response counts, and how it is read
	Noise   NoiseSetting     // what becomes of captures that are only noise
	Paused  bool             // known, but not polled

	Robots RobotsSetting // whether robots.txt files are obeyed

	// What a capture is worth, to policies that ask: how long a change can be
	// captured at all, how its worth falls with the delay, how much this source
	// matters, and what a poll of it costs next to others (0 means 1).
	Life    objective.Visibility
	Urgency objective.Urgency
	Weight  float64
	Cost    float64

	// Whatever the policy says, the time between two polls stays within these
	// bounds: never sooner than MinGap, at least every MaxGap as far as the
	// budget and the host allow. Zero means unbounded.
	MinGap, MaxGap time.Duration

	// Strategy is when it is polled, if somebody said so: then, and not when the policy
	// would have it.
	Strategy timetable.Strategy

	// Level is how soon changes are wanted, if somebody said so. It does not
	// bend the budget: where the budget cannot keep it there is an alarm.
	Level objective.ServiceLevel

	Aim objective.Objective // what its polls are for; "" means what those of all sources are for

	NextChange evidence.NextChange // how it says when it changes next, as far as it has to be told
	From       string              // the place of the hands that look at it; "" means any

	Suspect suspect.Handling // what is done with suspect captures

	Site  *crawl.Settings // it stands for a whole site; nil means for itself alone
	Of    SourceID        // the site that it was found for; "" means that somebody named it
	Index bool            // it lists pages of its site, and was found for that: a sitemap or a feed

	Keep    Keep      // how much history to keep of this source
	Origin  Origin    // who added it
	Created time.Time // when it was first added

	// Revision is how often the source has been written, from 1. The store
	// counts: it refuses an edit of a source that has another revision by now.
	// Zero means any.
	Revision int64
}

// Key tells sources of the same URL apart, and versions of a source that cannot be
// compared: by how the source is read, and by how it is asked for.
func (s Source) Key() string { return s.Recipe.Key() + s.Request.Key() }

// Host returns the host (with its port, if it names one) that politeness is
// owed to, in lower case.
func (s Source) Host() string { return HostOf(s.URL) }

// HostOf returns the host of a URL, with its port if it has one: what politeness
// is owed to.
func HostOf(rawURL string) string {
	if p := MediumOf(rawURL); p != OnWeb {
		return p.host(rawURL)
	}
	if host, ok := plainHost(rawURL); ok {
		return host
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// plainHost returns the host of a URL such as most are, of which nothing has to be
// decoded. Every poll asks for it a few times.
func plainHost(rawURL string) (string, bool) {
	rest, ok := strings.CutPrefix(rawURL, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(rawURL, "http://"); !ok {
			return "", false
		}
	}
	end := 0
	for end < len(rest) && (rest[end] >= 'a' && rest[end] <= 'z' || rest[end] >= '0' && rest[end] <= '9' || rest[end] == '.' || rest[end] == '-') {
		end++
	}
	if end < len(rest) && rest[end] == ':' {
		for end++; end < len(rest) && rest[end] >= '0' && rest[end] <= '9'; end++ {
		}
	}
	if end < len(rest) && rest[end] != '/' && rest[end] != '?' && rest[end] != '#' {
		return "", false
	}
	for i := end; i < len(rest); i++ {
		if c := rest[i]; c <= ' ' || c >= 0x7f || c == '%' {
			return "", false
		}
	}
	return rest[:end], true
}

// Page returns the source of a page of a site before anything is said of the page
// itself. It has the settings of the site.
func (s Source) Page(id SourceID, pageURL string) Source {
	p := s
	p.ID, p.URL, p.Name, p.Of = id, pageURL, "", s.ID
	p.Site, p.Index, p.Revision = nil, false, 0
	p.Origin, p.Created = FromSite, time.Time{}
	return p
}

// Importance returns the weight with its default filled in.
func (s Source) Importance() float64 { return cmp.Or(s.Weight, 1) }

// Price returns the cost of a poll with its default filled in.
func (s Source) Price() float64 { return cmp.Or(s.Cost, 1) }

// PriceAt returns the cost of a poll that takes so many requests: as the user said or,
// if the page is rendered, the requests. Other polls cost the same, whatever they take.
func (s Source) PriceAt(requests int) float64 {
	if s.Cost == 0 && s.Recipe.Render.On {
		return float64(max(requests, 1))
	}
	return s.Price()
}

// An Origin says where a source comes from.
type Origin string

// The places where a source can come from.
const (
	FromAPI  Origin = "api"  // added over the API or the command line
	FromFile Origin = "file" // listed in the configuration file
	FromSite Origin = "site" // found as a page of a site
)

// A Keep bounds how much history is kept. A zero field bounds nothing. The
// newest version is always kept.
type Keep struct {
	Age      time.Duration // drop versions superseded longer ago than this
	Versions int           // keep at most this many
	Bytes    int64         // keep at most this many stored bytes

	// Total is what the whole store may hold, in bytes: versions, logs and all
	// the rest. It bounds all sources together; that of one source is not looked
	// at.
	Total int64
}
