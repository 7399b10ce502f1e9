// Package suspect names the classes of suspect captures, and how a source handles them.
package suspect

import (
	"freshet/internal/invalid"
)

// A Class is a class of suspect capture: one that is probably not the page that the user
// wants to watch, such as a login form. The empty Class is a capture without suspicion. A
// suspect capture is stored at once and reported only when a second poll agrees. Clients
// branch on the class, so classes are added but never renamed.
type Class string

// The classes of suspect captures.
const (
	Empty      Class = "empty"      // no text
	Shrunk     Class = "shrunk"     // nearly all text is gone
	Redirected Class = "redirected" // redirected to another page
	Login      Class = "login"      // a login form
	Blocked    Class = "blocked"    // a captcha or a refusal
	ErrorPage  Class = "error_page" // an error page with status 200

	Consent     Class = "consent"     // a consent form
	Maintenance Class = "maintenance" // a maintenance page
	Truncated   Class = "truncated"   // the page or a list ends early
	Language    Class = "language"    // another language
	Flapping    Class = "flapping"    // alternates between the same texts
)

// A Handling is how a source handles suspect captures.
type Handling string

// The ways to handle suspect captures.
const (
	Hold   Handling = ""     // report after confirmation
	Mark   Handling = "mark" // report at once, with a mark
	Ignore Handling = "off"  // no suspicion
)

// ParseHandling parses "hold", "mark" or "off".
func ParseHandling(text string) (Handling, error) {
	switch s := Handling(text); s {
	case "hold":
		return Hold, nil
	case Mark, Ignore:
		return s, nil
	}
	return "", invalid.Errorf("suspect", "%.40q is not a way to treat suspect captures; use hold, mark or off", text)
}

// String returns the form that ParseHandling parses.
func (s Handling) String() string {
	if s == Hold {
		return "hold"
	}
	return string(s)
}

// Reason describes the class for people, without a full stop.
func (s Class) Reason() string {
	switch s {
	case "":
		return ""
	case Empty:
		return "the page has no text"
	case Shrunk:
		return "almost all of its text is gone"
	case Redirected:
		return "the server sent a different page"
	case Login:
		return "the server sent a login page"
	case Blocked:
		return "the server sent a captcha or an access denied page"
	case ErrorPage:
		return "the server sent an error page with a success status"
	case Consent:
		return "the server sent a consent form"
	case Maintenance:
		return "the server sent a maintenance page"
	case Truncated:
		return "a part of the page is missing"
	case Language:
		return "the page is in a different language"
	case Flapping:
		return "the page goes back and forth between the same texts"
	}
	return string(s)
}
