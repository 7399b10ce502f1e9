package robots

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// For how long what was read is gone by.
const (
	longestCopy  = 24 * time.Hour      // RFC 9309, 2.4
	shortestCopy = time.Hour           // however short the server says that the file stays as it is
	longestDown  = 30 * 24 * time.Hour // then a file that never could be read is taken not to be there (RFC 9309, 2.3.1.4)
	firstRetry   = 5 * time.Minute     // of a file that cannot be read; twice as long after each try
	longestRetry = time.Hour
)

// mostSitemaps is how many sitemaps of a file are kept.
const mostSitemaps = 1000

// An Answer is how a read of the robots.txt of an origin ended.
type Answer struct {
	Status   int           // of the last response; 0 if none came, or not whole
	Body     []byte        // of a status that is a success
	Lost     bool          // redirects led on and on
	FreshFor time.Duration // for how long the server says that the file stays as it is; 0 if it does not say
}

// reached reports whether the answer says what holds: rules, or that there are none.
func (a Answer) reached() bool {
	return a.success() || a.Lost || a.Status >= 400 && a.Status < 500 && a.Status != 429
}

func (a Answer) success() bool { return a.Status >= 200 && a.Status < 300 }

// A Standing is what is known of the robots.txt of one origin at some time. It takes the result of
// each read. The zero Standing knows nothing: the file has to be read.
type Standing struct {
	Rules *Rules    `json:"rules,omitempty"` // that the file had when it could last be read; nil if there was none
	Read  time.Time `json:"read,omitzero"`   // when that was; zero means never
	Until time.Time `json:"until,omitzero"`  // when the file has to be read again
	Down  time.Time `json:"down,omitzero"`   // since when it cannot be read; zero if it can
	Tries int       `json:"tries,omitempty"` // since then

	Sitemaps []string `json:"sitemaps,omitempty"` // that the file names, the first thousand; relative to it
}

// Hear returns the standing after a read at now, in which the file is asked for its rules
// for a program. A file that cannot be read changes nothing in what the copy before
// it said.
func (s Standing) Hear(now time.Time, agent string, a Answer) Standing {
	if !a.reached() {
		if s.Down.IsZero() {
			s.Down, s.Tries = now, 0
		}
		s.Until = now.Add(min(firstRetry<<min(s.Tries, 8), longestRetry))
		s.Tries++
		return s
	}
	lasts := longestCopy
	if a.FreshFor > 0 {
		lasts = min(max(a.FreshFor, shortestCopy), longestCopy)
	}
	s = Standing{Read: now, Until: now.Add(lasts)}
	if a.success() {
		file := Parse(a.Body)
		s.Rules, s.Sitemaps = file.For(agent), file.sitemaps
		s.Sitemaps = s.Sitemaps[:min(len(s.Sitemaps), mostSitemaps)]
	}
	return s
}

// Due reports whether the file has to be read at now before a page is asked for.
func (s Standing) Due(now time.Time) bool { return !s.Until.After(now) }

// Unreachable reports whether nothing may be asked for at now because the file cannot be
// read, and never could. A file that has been so for a long time is taken not to be there.
func (s Standing) Unreachable(now time.Time) bool {
	return s.Read.IsZero() && !s.Down.IsZero() && now.Sub(s.Down) < longestDown
}

// Verdict says whether a path may be asked for at now, by what is known.
func (s Standing) Verdict(now time.Time, path string) Verdict {
	if s.Unreachable(now) && pathOf(path) != robotsPath {
		return Verdict{Unreachable: true}
	}
	return s.Rules.Verdict(path)
}

// Shifted returns the standing with all its times moved.
func (s Standing) Shifted(by time.Duration) Standing {
	for _, t := range []*time.Time{&s.Read, &s.Until, &s.Down} {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	return s
}

// robotsPath is where a robots.txt is.
const robotsPath = "/robots.txt"

// Origin returns the scheme, host and port of a URL, which have one robots.txt, and whether
// the URL has any: only those of http and https have.
func Origin(rawURL string) (string, bool) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return "", false
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	default:
		return "", false
	}
	return scheme + "://" + host, true
}

// URL returns where the robots.txt of an origin is.
func URL(origin string) string { return origin + robotsPath }

// keptRules is how rules are kept.
type keptRules struct {
	Delay *time.Duration `json:"delay,omitempty"`
	Rules []Rule         `json:"rules,omitempty"`
}

// MarshalJSON returns the rules in a form that UnmarshalJSON reads.
func (r *Rules) MarshalJSON() ([]byte, error) {
	k := keptRules{Rules: r.rules}
	if r.delayed {
		k.Delay = &r.delay
	}
	return json.Marshal(k)
}

// UnmarshalJSON reads what MarshalJSON returned.
func (r *Rules) UnmarshalJSON(text []byte) error {
	var k keptRules
	if err := json.Unmarshal(text, &k); err != nil {
		return err
	}
	delay, delayed := time.Duration(0), k.Delay != nil
	if delayed {
		delay = *k.Delay
	}
	*r = *newRules(k.Rules, delay, delayed)
	return nil
}
