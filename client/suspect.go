package client

import (
	"cmp"
	"net/url"

	"freshet/internal/freshet/suspect"
	"freshet/internal/mask"
)

// A Suspect says why a capture is probably not the page that is wanted.
type Suspect struct {
	Class  suspect.Class `json:"class" doc:"empty, shrunk, redirected, login, blocked, consent, error_page, maintenance, truncated, language or flapping; more may be added"`
	Reason string        `json:"reason" doc:"The same in words"`
	URL    string        `json:"url,omitempty" doc:"Final URL, if it is a different page than the source's"`
}

// SuspectOf returns why a capture is suspect, with the URL that answered if that
// names another page; nil if it is not.
func SuspectOf(why suspect.Class, landed string) *Suspect {
	if why == "" {
		return nil
	}
	return &Suspect{Class: why, Reason: why.Reason(), URL: mask.URL(landed)}
}

// String says what is wrong and, if another page answered, which.
func (s Suspect) String() string {
	reason := cmp.Or(s.Reason, s.Class.Reason())
	if s.URL == "" {
		return reason
	}
	return reason + ": " + s.URL
}

// Short is String in a few words, next to the URL of the source: where the host is
// the same, only the path that answered is named.
func (s Suspect) Short(source string) string {
	asked, err := url.Parse(source)
	answered, bad := url.Parse(s.URL)
	switch {
	case s.URL == "":
		return string(s.Class)
	case err == nil && bad == nil && asked.Host == answered.Host:
		return string(s.Class) + " at " + answered.RequestURI()
	}
	return string(s.Class) + " at " + s.URL
}
