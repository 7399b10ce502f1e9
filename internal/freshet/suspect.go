package freshet

import (
	"freshet/internal/invalid"
)

// A Suspect is a class of capture that is probably not the page that somebody wants
// to watch. "" means that nothing speaks against it. What is suspect is stored at once
// and told only when a second look agrees: see [Held]. Clients branch on the class, so
// classes are added but never renamed.
type Suspect string

// The classes of suspect captures.
const (
	SuspectEmpty      Suspect = "empty"      // there is no text in it
	SuspectShrunk     Suspect = "shrunk"     // nearly all of its text is gone
	SuspectRedirected Suspect = "redirected" // the server sent another page
	SuspectLogin      Suspect = "login"      // it asks for a password
	SuspectBlocked    Suspect = "blocked"    // a captcha or a refusal
	SuspectErrorPage  Suspect = "error_page" // an error that the server calls a success

	SuspectConsent     Suspect = "consent"     // it asks to agree to something first
	SuspectMaintenance Suspect = "maintenance" // it says to come back later
	SuspectTruncated   Suspect = "truncated"   // it breaks off, or a part of a list is gone
	SuspectLanguage    Suspect = "language"    // it is in another language
	SuspectFlapping    Suspect = "flapping"    // it goes back and forth between the same texts
)

// A Suspicion is what is done with suspect captures of a source.
type Suspicion string

// What can be done with suspect captures.
const (
	HoldSuspects   Suspicion = ""     // they are told only when more looks agree
	MarkSuspects   Suspicion = "mark" // they are told at once, and marked
	IgnoreSuspects Suspicion = "off"  // nothing is suspect
)

// ParseSuspicion reads what is done with suspect captures: "hold", "mark" or "off".
func ParseSuspicion(text string) (Suspicion, error) {
	switch s := Suspicion(text); s {
	case "hold":
		return HoldSuspects, nil
	case MarkSuspects, IgnoreSuspects:
		return s, nil
	}
	return "", invalid.Errorf("suspect", "%.40q is not a way to treat suspect captures; use hold, mark or off", text)
}

// String returns the setting as ParseSuspicion reads it.
func (s Suspicion) String() string {
	if s == HoldSuspects {
		return "hold"
	}
	return string(s)
}

// Reason says for people what is wrong with the capture, without a full stop.
func (s Suspect) Reason() string {
	switch s {
	case "":
		return ""
	case SuspectEmpty:
		return "the page has no text"
	case SuspectShrunk:
		return "almost all of its text is gone"
	case SuspectRedirected:
		return "the server sent a different page"
	case SuspectLogin:
		return "the server sent a login page"
	case SuspectBlocked:
		return "the server sent a captcha or an access denied page"
	case SuspectErrorPage:
		return "the server sent an error page with a success status"
	case SuspectConsent:
		return "the server sent a consent form"
	case SuspectMaintenance:
		return "the server sent a maintenance page"
	case SuspectTruncated:
		return "a part of the page is missing"
	case SuspectLanguage:
		return "the page is in a different language"
	case SuspectFlapping:
		return "the page goes back and forth between the same texts"
	}
	return string(s)
}
