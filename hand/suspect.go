package hand

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"freshet"
	"freshet/content"
)

// A capture is suspect if it is probably not the page that somebody wants to watch.
// A false alarm is worse than a miss here: who is told too often stops reading. So
// words count only where pages rarely use them by chance, and only with a second
// sign beside them.
const (
	muchText   = 2000 // bytes of text that a page has before it can shrink
	hardlyAny  = 200  // bytes that are left of them when it has
	shortText  = 3000 // more than this is no page of a few words
	shrunkPart = 20   // what is left is less than one part in so many
)

// suspicion says why what a look saw is suspect, and where it landed. A reading is
// nil if the body was not read, because it is as before. Base is how many bytes of
// text the head has, -1 if that is not known.
func (o Order) suspicion(resp freshet.Response, reading *content.Reading, base int) (freshet.Suspect, string) {
	landed := ""
	if !samePage(o.Source.URL, resp.URL) {
		landed = resp.URL
	}
	if reading == nil && (landed == o.Head.Landed || landed != "" && o.Head.Landed != "" && samePage(landed, o.Head.Landed)) {
		return o.Head.Suspect, landed
	}
	why := o.redirected(resp, landed)
	switch {
	case why != "":
	case reading != nil:
		why = o.unlikely(resp, *reading, base)
	case o.Head.Suspect == freshet.SuspectEmpty || o.Head.Suspect == freshet.SuspectShrunk:
		why = o.Head.Suspect
	}
	return why, landed
}

// redirected says why the page is suspect that redirects led to, if it is.
//
// A permanent redirect is told as where the source has moved to, and needs no
// second word, unless it leads to the front page: then the page is gone. A front
// page may redirect to whatever its site begins with. A URL that leads to one page
// and then to another, such as that of the latest release, is a pointer, and it is
// normal that it leads elsewhere.
func (o Order) redirected(resp freshet.Response, landed string) freshet.Suspect {
	if landed == "" {
		return ""
	}
	asked, answered := pageOf(o.Source.URL), pageOf(landed)
	if why := answered.obstacle(); why != "" && why != asked.obstacle() {
		return why
	}
	if answered.isFront() && !asked.isFront() {
		return freshet.SuspectRedirected
	}
	permanent := resp.Moved
	if o.moved() {
		permanent = cmp.Or(resp.Moved, o.Head.Moved.URL)
	}
	head := o.Head
	switch {
	case permanent != "" && samePage(permanent, landed),
		asked.isFront() && asked.sameSite(answered),
		answered.isBelow(asked),
		asked.isPointer(),
		head.Number > 0 && head.Landed != "" && head.Suspect == "",
		head.Suspect == freshet.SuspectRedirected && head.Landed != "" && !samePage(head.Landed, landed) && pageOf(head.Landed).path != answered.path:
		return ""
	}
	return freshet.SuspectRedirected
}

// unlikely says why a page is suspect by what it says, if it is.
func (o Order) unlikely(resp freshet.Response, r content.Reading, base int) freshet.Suspect {
	size := len(bytes.TrimSpace(r.Text))
	if size == 0 {
		return freshet.SuspectEmpty
	}
	if r.Kind != freshet.HTML {
		return ""
	}
	why := saysTitle(r.Title)
	switch {
	case why == "" || why == pageOf(o.Source.URL).obstacle():
	case why == freshet.SuspectLogin && asksForPassword(resp.Body):
		return why
	case why != freshet.SuspectLogin && size <= shortText:
		return why
	}
	if size <= hardlyAny && (base >= muchText && size < base/shrunkPart || o.Head.Suspect == freshet.SuspectShrunk) {
		return freshet.SuspectShrunk
	}
	return ""
}

// asksForPassword reports whether a page has a field for a password.
func asksForPassword(body []byte) bool {
	lower := bytes.ToLower(body)
	return slices.ContainsFunc([]string{`type="password"`, `type='password'`, `type=password`}, func(field string) bool {
		return bytes.Contains(lower, []byte(field))
	})
}

// saysTitle returns what the title of a page says it is, if it is no page that
// anybody wants to watch. A part of the title has to be one of the phrases, not
// only to hold it: "Login | Shop", but not "How to log in faster".
func saysTitle(title string) freshet.Suspect {
	part := func(r rune) bool { return strings.ContainsRune("|–—·»:", r) }
	title = strings.ReplaceAll(strings.ToLower(title), " - ", "|")
	for _, phrase := range append(strings.FieldsFunc(title, part), title) {
		if why, ok := titles[strings.Trim(phrase, " .!?…\u00a0")]; ok {
			return why
		}
	}
	return ""
}

var titles = phrases(map[freshet.Suspect][]string{
	freshet.SuspectLogin: {
		"login", "log in", "log-in", "logon", "sign in", "sign-in", "signin", "member login", "please log in", "please sign in",
		"log in to your account", "sign in to your account", "anmelden", "anmeldung", "einloggen", "connexion", "se connecter", "iniciar sesión", "accedi", "inloggen",
	},
	freshet.SuspectBlocked: {
		"just a moment", "attention required", "attention required! | cloudflare", "access denied", "access to this page has been denied", "are you a robot",
		"are you human", "robot check", "bot check", "captcha", "security check", "security checkpoint", "checking your browser", "please verify you are a human",
		"verify you are human", "human verification", "pardon our interruption", "request rejected", "request blocked", "you have been blocked",
		"you are being rate limited", "ddos-guard", "before you continue", "one more step", "please wait", "403 forbidden", "forbidden", "error 403", "403",
		"unusual traffic", "too many requests", "429 too many requests", "zugriff verweigert", "accès refusé",
	},
	freshet.SuspectErrorPage: {
		"404", "error 404", "404 error", "404 not found", "404 page not found", "not found", "page not found", "object not found", "error", "server error", "application error",
		"500 internal server error", "internal server error", "502 bad gateway", "bad gateway", "503 service unavailable", "service unavailable",
		"503 service temporarily unavailable", "service temporarily unavailable", "504 gateway time-out", "gateway timeout", "database error", "site under construction",
		"maintenance", "maintenance mode", "site maintenance", "under maintenance", "scheduled maintenance", "down for maintenance", "site offline", "temporarily unavailable",
		"we'll be back soon", "be right back", "wartung", "wartungsarbeiten", "wartungsmodus", "seite nicht gefunden", "page non trouvée", "página no encontrada",
		"account suspended", "domain for sale", "welcome to nginx", "apache2 ubuntu default page", "test page for the apache http server",
	},
})

// phrases turns classes with their phrases into phrases with their class.
func phrases(of map[freshet.Suspect][]string) map[string]freshet.Suspect {
	by := map[string]freshet.Suspect{}
	for why, list := range of {
		for _, phrase := range list {
			by[phrase] = why
		}
	}
	return by
}
