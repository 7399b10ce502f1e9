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

// A Source is a place on the Web whose changes are captured.
type Source struct {
	ID   SourceID
	URL  string
	Name string   // for people; may be empty
	Tags []string // sorted, without repeats

	Request *profile.Profile // how it is requested; nil means by a plain GET
	Expect  *profile.Expect  // which responses count; nil means status 200 to 299
	Recipe  reading.Recipe   // which part of the response counts, and how it is read
	Noise   NoiseSetting     // treatment of captures that differ only in noise
	Paused  bool             // known, but not polled

	Robots RobotsSetting // whether robots.txt files are obeyed

	// The value of a capture, for policies that use it: how long a change stays visible,
	// how its value falls with the delay, the weight of the source, and the cost of a
	// poll compared with others (0 means 1).
	Life    objective.Visibility
	Urgency objective.Urgency
	Weight  float64
	Cost    float64

	// Whatever the policy says, the time between two polls stays within these
	// bounds: never sooner than MinGap, at least every MaxGap as far as the
	// budget and the host allow. Zero means unbounded.
	MinGap, MaxGap time.Duration

	// Strategy lists fixed poll times, which replace the choice of the policy.
	Strategy timetable.Strategy

	// Active are the hours in which it is polled, whatever the policy or the strategy says.
	Active timetable.Hours

	// Level is the wanted delay of captures. It does not raise the budget: where the
	// budget cannot keep it, an alert says so.
	Level objective.ServiceLevel

	Aim objective.Objective // what its polls optimize; "" means the global setting

	NextChange evidence.NextChange // where it announces its next change
	From       string              // the place of the workers that poll it; "" means any

	Suspect suspect.Handling // treatment of suspect captures

	Site  *crawl.Settings // set if it stands for a whole site
	Of    SourceID        // the site that it is a page of; "" if it was added by itself
	Index bool            // it is an index of its site: a sitemap or a feed

	Keep    Keep      // how much history to keep of this source
	Origin  Origin    // who added it
	Created time.Time // when it was first added

	// Revision counts the writes of the source, from 1. The store refuses an edit of
	// another revision than the current one. Zero means any.
	Revision int64
}

// Key identifies the recipe and the request. Sources of one URL differ by it, and versions
// of a source with different keys cannot be compared.
func (s Source) Key() string { return s.Recipe.Key() + s.Request.Key() }

// Host returns the host that politeness counts by: in lower case, with the port if the URL
// names one.
func (s Source) Host() string { return HostOf(s.URL) }

// HostOf returns the host of a URL that politeness counts by, with the port if the URL
// names one.
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

// plainHost returns the host of a URL that needs no decoding, as most do. It is faster than
// url.Parse, and every poll calls it a few times.
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

// Page returns the source of a page of the site s, with the settings of the site.
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

// PriceAt returns the cost of a poll with a number of requests: the cost that the user set,
// the requests of a rendered page, or 1.
func (s Source) PriceAt(requests int) float64 {
	if s.Cost == 0 && s.Recipe.Render.On {
		return float64(max(requests, 1))
	}
	return s.Price()
}

// An Origin says who added a source.
type Origin string

// The origins of a source.
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

	// Total bounds the size of the whole store in bytes. It is ignored for a single
	// source.
	Total int64
}
