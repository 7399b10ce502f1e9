package freshet

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
	SuspectBlocked    Suspect = "blocked"    // a captcha, a consent form or a refusal
	SuspectErrorPage  Suspect = "error_page" // an error that the server calls a success
)

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
		return "the server sent a captcha, a consent form or an access denied page"
	case SuspectErrorPage:
		return "the server sent an error page with a success status"
	}
	return string(s)
}
