package worker

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/lazyregexp"
)

// stillSuspect says why a page that has not changed is still suspect, and where it landed.
func (t *Task) stillSuspect(resp freshet.Response) (suspect.Class, string) {
	landed := t.landed(resp)
	if t.Source.Suspect == suspect.Ignore {
		return "", landed
	}
	if landed == t.Head.Landed || landed != "" && t.Head.Landed != "" && samePage(landed, t.Head.Landed) {
		return t.Head.Suspect, landed
	}
	if why := t.redirected(resp, landed); why != "" || t.Head.Suspect == suspect.Redirected {
		return why, landed
	}
	return t.Head.Suspect, landed
}

// landed returns the URL that answered, if it names another page than the source's.
func (t *Task) landed(resp freshet.Response) string {
	if samePage(t.Source.URL, resp.URL) {
		return ""
	}
	return resp.URL
}

// suspicion says why what a look saw is suspect, and where it landed. The past is nil
// if there is none to hold it against. Somebody who watches a page that is called a
// login wants to see one.
func (t *Task) suspicion(resp freshet.Response, seen wrongpage.Page, past *wrongpage.Past) (suspect.Class, string) {
	landed := t.landed(resp)
	if t.Source.Suspect == suspect.Ignore {
		return "", landed
	}
	why := t.redirected(resp, landed)
	says := wrongpage.Judge(seen, past)
	if says != "" && says == pageOf(t.Source.URL).obstacle() {
		says = ""
	}
	// That another page answered says more than how that one looks, unless it is a
	// wall: what a wall hides is not known, wherever it stands.
	known := why == t.Head.Suspect && samePage(t.Head.Landed, landed)
	if says != "" && (why == "" || known || wrongpage.Hides(says) && !wrongpage.Hides(why)) {
		why = says
	}
	return why, landed
}

// redirected says why the page is suspect that redirects led to, if it is.
//
// A permanent redirect is reported as a move of the source, and needs no confirmation, unless it
// leads to the front page: then the page is gone. A front page may redirect to the first page of its
// site. A URL that leads to one page
// and then to another, such as that of the latest release, is a pointer, and it is
// normal that it leads elsewhere.
func (t *Task) redirected(resp freshet.Response, landed string) suspect.Class {
	if landed == "" {
		return ""
	}
	asked, answered := pageOf(t.Source.URL), pageOf(landed)
	if why := answered.obstacle(); why != "" && why != asked.obstacle() {
		return why
	}
	if answered.isFront() && !asked.isFront() {
		return suspect.Redirected
	}
	permanent := resp.Moved
	if t.moved() {
		permanent = cmp.Or(resp.Moved, t.Head.Moved.URL)
	}
	head := t.Head
	led, why := head.Landed, head.Suspect // where it led last time
	if head.Held.Number > 0 {
		led, why = head.Held.Landed, head.Held.Suspect
	}
	switch {
	case permanent != "" && samePage(permanent, landed),
		asked.isFront() && asked.sameSite(answered),
		answered.isBelow(asked),
		asked.isPointer(),
		head.Number > 0 && head.Landed != "" && head.Suspect == "",
		why == suspect.Redirected && led != "" && !samePage(led, landed) && pageOf(led).path != answered.path:
		return ""
	}
	return suspect.Redirected
}

// quarantine decides what becomes of a capture that differs from the head. A capture that
// is not suspect is a change. A suspect one is quarantined until enough looks agree; then
// it is the change from the head to it. It reports whether that settles what becomes of it.
func (t *Task) quarantine(ctx context.Context, f *Result, seen wrongpage.Page) (settled bool) {
	switch {
	case t.Source.Suspect != suspect.Hold:
		return false
	case f.Suspect == "", f.Suspect == t.Head.Suspect, wrongpage.IsWall(t.Head.Suspect) && !wrongpage.Hides(f.Suspect):
		return t.behind(ctx, f, seen)
	}
	t.hold(ctx, f)
	return true
}

// hold quarantines a suspect capture, unless enough looks agree: then it is a change.
func (t *Task) hold(ctx context.Context, f *Result) {
	at := t.At.Add(f.Took)
	held, agrees := t.Head.Held, t.agrees(ctx, f)
	next := freshet.Held{Suspect: f.Suspect, Landed: f.Landed, Seen: at, Since: at, Looks: 1, Agreed: 1}
	if held.Number > 0 {
		next.Since, next.Looks = held.Since, held.Looks+1
	}
	if agrees {
		next.Seen, next.Agreed = held.Seen, held.Agreed+1
	}
	if wrongpage.Believed(next, at) {
		f.Suspect = ""
		return
	}
	f.Result, f.Capture.Quiet = freshet.Doubted, freshet.QuietSuspect
	if agrees {
		f.Capture = nil // it is stored already, or as good as
	}
	f.LookAgain = wrongpage.LookAgain(next)
	if f.LookAgain > 0 {
		next.Again = at.Add(f.LookAgain)
	}
	f.Held, f.Moved, f.FreshFor, f.Foretold = next, t.Head.Moved, 0, nil
}

// behind decides what becomes of a capture that is no more suspect than the head. Where
// every look so far has seen a block page, the page behind it is a first version, and what
// else is odd about it is only marked, as in a first look. Another text of a block page is
// quarantined: it may be another captcha, or the page, which is about captchas. Another
// login form may be the page to watch.
func (t *Task) behind(ctx context.Context, f *Result, seen wrongpage.Page) (settled bool) {
	wall := t.Head.Suspect
	switch {
	case !wrongpage.IsWall(wall):
		return false
	case f.Suspect != wall && !wrongpage.SaysTheSame(seen, wall):
		f.Result = freshet.First
	case wall == suspect.Login:
		f.Suspect = wall
	default:
		f.Suspect = wall
		t.hold(ctx, f)
	}
	return true
}

// agrees reports whether a capture is what is quarantined, or nearly that.
func (t *Task) agrees(ctx context.Context, f *Result) bool {
	held := t.Head.Held
	switch {
	case held.Number == 0 || held.Recipe != f.Capture.Recipe:
		return false
	case held.Hash == f.Capture.Hash:
		return true
	case held.Suspect != f.Suspect:
		return false
	}
	text, err := t.History.QuarantinedText(ctx)
	return err == nil && wrongpage.Alike(text, f.Capture.Text)
}

// past returns what the head says, to hold a page against. It is nil if that cannot
// be read.
func (t *Task) past(ctx context.Context, s step) *wrongpage.Past {
	if s.unknown || wrongpage.IsWall(t.Head.Suspect) { // a wall says nothing of the page
		return nil
	}
	return &wrongpage.Past{
		Text: s.base, Kept: s.delta.KeptBytes(s.base),
		Body: sync.OnceValue(func() []byte { // only if something depends on it
			body, err := t.History.Body(ctx)
			if err != nil {
				return nil
			}
			return body
		}),
	}
}

// When a page counts as flapping: it has come back so many times in a day to a text
// that it had before.
const (
	mostReturns = 4
	flapsWithin = 24 * time.Hour
)

// Recently is how many of the newest versions tell whether a page is flapping.
const Recently = 16

// flapping reports whether a text is one that the source goes back to again and again.
// It is quarantined like a suspect page, and becomes a change if it stays.
func (t *Task) flapping(ctx context.Context, hash freshet.Hash) bool {
	if t.Head.Number <= mostReturns {
		return false
	}
	recent, err := t.History.VersionsWith(ctx, hash)
	if err != nil {
		return false
	}
	seen, returns := map[freshet.Hash]bool{}, 0
	for i := len(recent) - 1; i >= 0; i-- {
		v := recent[i]
		if v.Quiet == freshet.QuietSuspect || t.At.Sub(v.SeenAt) > flapsWithin {
			continue
		}
		if seen[v.Hash] {
			returns++
		}
		seen[v.Hash] = true
	}
	return seen[hash] && returns >= mostReturns
}

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
func (p page) obstacle() suspect.Class {
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
	hostWords = map[string]suspect.Class{
		"login": suspect.Login, "auth": suspect.Login, "sso": suspect.Login, "signin": suspect.Login,
		"idp": suspect.Login, "accounts": suspect.Login, "consent": suspect.Consent, "captcha": suspect.Blocked,
	}
	pathWords = byWord(map[suspect.Class][]string{
		suspect.Login: {
			"login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "wp-login", "sso", "oauth", "oauth2", "saml", "saml2",
			"authenticate", "authorize", "anmelden", "anmeldung", "connexion", "userlogin", "user-login", "memberlogin", "member-login", "loginpage",
		},
		suspect.Blocked: {
			"captcha", "recaptcha", "validatecaptcha", "blocked", "denied", "access-denied", "access_denied", "accessdenied", "forbidden",
			"sorry", "bot-check", "botcheck", "robot-check", "cdn-cgi",
		},
		suspect.Consent:     {"consent", "cookie-consent", "cookiewall", "cookie-wall", "privacywall", "collectconsent", "age-gate", "agegate", "age-check"},
		suspect.Maintenance: {"maintenance", "wartung", "manutenzione", "mantenimiento"},
		suspect.ErrorPage: {
			"error", "404", "error404", "error-404", "notfound", "not-found", "not_found", "pagenotfound", "page-not-found", "500", "503",
			"unavailable", "offline", "suspended", "suspendedpage",
		},
	})
)

// byWord turns classes with their words into words with their class.
func byWord(of map[suspect.Class][]string) map[string]suspect.Class {
	by := map[string]suspect.Class{}
	for why, list := range of {
		for _, word := range list {
			by[word] = why
		}
	}
	return by
}
