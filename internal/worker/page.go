package worker

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
)

// A page is a URL as far as it says which page of which site is meant. Servers
// redirect to their own spelling of a URL all the time, and that is the same page.
type page struct {
	host  string // without a port that goes without saying, www and the like
	path  string // in lower case, without the languages, index file and ending
	query url.Values
}

var (
	plainHost = lazyregexp.New(`^(www\d?|m|mobile|amp)\.`)
	language  = lazyregexp.New(`^[a-z]{2}([-_][a-z]{2,4})?$`)
	tracking  = lazyregexp.New(`^(utm_.*|fbclid|gclid|msclkid|mc_[ce]id|ref|source)$`)
)

// pageOf returns the page that a URL names.
func pageOf(raw string) page {
	u, err := url.Parse(raw)
	if err != nil {
		return page{path: raw}
	}
	p := page{host: plainHost.ReplaceAllString(strings.ToLower(u.Hostname()), ""), query: u.Query()}
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		p.host += ":" + port
	}
	segments := strings.FieldsFunc(strings.ToLower(u.Path), func(r rune) bool { return r == '/' })
	for i, s := range segments {
		segments[i] = withoutEnding(s)
	}
	if n := len(segments); n > 0 && (segments[n-1] == "index" || segments[n-1] == "default") {
		segments = segments[:n-1]
	}
	if n := len(segments); n > 0 && language.MatchString(segments[0]) {
		segments = segments[1:]
	}
	if n := len(segments); n > 0 && language.MatchString(segments[n-1]) {
		segments = segments[:n-1]
	}
	p.path = strings.Join(segments, "/")
	for name := range p.query {
		if tracking.MatchString(strings.ToLower(name)) {
			p.query.Del(name)
		}
	}
	return p
}

// withoutEnding cuts off an ending that says only what a page is made with.
func withoutEnding(segment string) string {
	switch ending := path.Ext(segment); ending {
	case ".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp", ".do", ".cgi":
		return strings.TrimSuffix(segment, ending)
	}
	return segment
}

// samePage reports whether a server that is asked for one URL and answers from
// another has sent the page that was asked for. Parameters may be added, as those
// of a session are, but none of those asked for may be missing.
func samePage(asked, answered string) bool {
	if asked == answered {
		return true
	}
	a, b := pageOf(asked), pageOf(answered)
	if a.path != b.path {
		return false
	}
	if a.host != b.host && (a.obstacle() != b.obstacle() || a.isFront() && !a.sameSite(b)) {
		return false
	}
	for name, values := range a.query {
		if !slices.Equal(values, b.query[name]) {
			return false
		}
	}
	return true
}

// isFront reports whether the page is the first of its site.
func (p page) isFront() bool { return p.path == "" && len(p.query) == 0 }

// sameSite reports whether two pages are of one site: of one host, or one of the
// hosts is below the other.
func (p page) sameSite(q page) bool {
	return p.host == q.host || strings.HasSuffix(p.host, "."+q.host) || strings.HasSuffix(q.host, "."+p.host)
}

// isBelow reports whether the page lies below another, as /docs/latest lies below
// /docs.
func (p page) isBelow(q page) bool {
	return p.sameSite(q) && q.path != "" && strings.HasPrefix(p.path, q.path+"/")
}

// isPointer reports whether the page is called what URLs are called that are made
// to lead elsewhere.
func (p page) isPointer() bool {
	return slices.ContainsFunc(strings.Split(p.path, "/"), func(s string) bool {
		switch s {
		case "latest", "current", "newest", "stable", "today", "now", "random", "home", "start", "permalink", "go":
			return true
		}
		return false
	})
}

// obstacle returns what stands in the way of readers on a page, by its URL.
func (p page) obstacle() freshet.Suspect {
	if label, _, ok := strings.Cut(p.host, "."); ok && hostWords[label] != "" {
		return hostWords[label]
	}
	for s := range strings.SplitSeq(p.path, "/") {
		if why, ok := pathWords[s]; ok {
			return why
		}
	}
	return ""
}

var (
	hostWords = map[string]freshet.Suspect{
		"login": freshet.SuspectLogin, "auth": freshet.SuspectLogin, "sso": freshet.SuspectLogin, "signin": freshet.SuspectLogin,
		"idp": freshet.SuspectLogin, "accounts": freshet.SuspectLogin, "consent": freshet.SuspectConsent, "captcha": freshet.SuspectBlocked,
	}
	pathWords = byWord(map[freshet.Suspect][]string{
		freshet.SuspectLogin: {
			"login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "wp-login", "sso", "oauth", "oauth2", "saml", "saml2",
			"authenticate", "authorize", "anmelden", "anmeldung", "connexion", "userlogin", "user-login", "memberlogin", "member-login", "loginpage",
		},
		freshet.SuspectBlocked: {
			"captcha", "recaptcha", "validatecaptcha", "blocked", "denied", "access-denied", "access_denied", "accessdenied", "forbidden",
			"sorry", "bot-check", "botcheck", "robot-check", "cdn-cgi",
		},
		freshet.SuspectConsent:     {"consent", "cookie-consent", "cookiewall", "cookie-wall", "privacywall", "collectconsent", "age-gate", "agegate", "age-check"},
		freshet.SuspectMaintenance: {"maintenance", "wartung", "manutenzione", "mantenimiento"},
		freshet.SuspectErrorPage: {
			"error", "404", "error404", "error-404", "notfound", "not-found", "not_found", "pagenotfound", "page-not-found", "500", "503",
			"unavailable", "offline", "suspended", "suspendedpage",
		},
	})
)

// byWord turns classes with their words into words with their class.
func byWord(of map[freshet.Suspect][]string) map[string]freshet.Suspect {
	by := map[string]freshet.Suspect{}
	for why, list := range of {
		for _, word := range list {
			by[word] = why
		}
	}
	return by
}
