package api

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"freshet/internal/auth"
	"freshet/internal/auth/openid"
	"freshet/internal/freshet"
)

// CallbackPath is where a provider sends people back to.
const CallbackPath = "/login/oidc/callback"

// routeProvider adds the way to the provider and back. They are for a browser that goes
// there, and no part of the API.
func (a *api) routeProvider(mux gatedMux) {
	mux.HandleFunc("GET /login/oidc", a.beginLogin)
	mux.HandleFunc("GET "+CallbackPath, a.finishLogin)
}

// beginLogin sends a browser to the provider.
func (a *api) beginLogin(w http.ResponseWriter, r *http.Request) {
	if a.Provider == nil {
		problem(http.StatusNotFound, "there is no provider to log in at").write(w)
		return
	}
	next := inside(r.URL.Query().Get("next"))
	if base, err := url.Parse(a.Base); err == nil && !strings.EqualFold(base.Host, r.Host) && !r.URL.Query().Has("here") {
		// The provider sends the browser back to the public name, which has other cookies.
		http.Redirect(w, r, strings.TrimSuffix(a.Base, "/")+"/login/oidc?here=1&next="+url.QueryEscape(next), http.StatusFound)
		return
	}
	to, attempt, err := a.Provider.Begin(r.Context(), next)
	if err != nil {
		a.failLogin(w, r, err, next)
		return
	}
	cookie := auth.Of(r.Context()).AttemptCookie(attempt.String())
	http.SetCookie(w, &cookie)
	http.Redirect(w, r, to, http.StatusFound)
}

// finishLogin lets somebody in who comes back from the provider.
func (a *api) finishLogin(w http.ResponseWriter, r *http.Request) {
	if a.Provider == nil {
		problem(http.StatusNotFound, "there is no provider to log in at").write(w)
		return
	}
	c := auth.Of(r.Context())
	attempt, _ := openid.ParseAttempt(c.KeptAttempt(r))
	used := c.AttemptCookie("")
	http.SetCookie(w, &used)
	session, err := a.welcome(r, c, attempt)
	if err != nil {
		a.failLogin(w, r, err, attempt.Next)
		return
	}
	http.SetCookie(w, &session)
	http.Redirect(w, r, inside(attempt.Next), http.StatusFound)
}

// welcome returns the cookie of a session for somebody who comes back from the provider.
func (a *api) welcome(r *http.Request, c auth.Caller, attempt openid.Attempt) (session http.Cookie, err error) {
	// What this browser has not begun costs no try: any site could send people here.
	back := func() {}
	if attempt.State != "" && attempt.State == r.URL.Query().Get("state") {
		if back, err = a.Gate.Attempt(c.From); err != nil {
			return session, err
		}
	}
	person, err := a.Provider.Finish(r.Context(), attempt, r.URL.Query())
	if refusal, ok := errors.AsType[*openid.Refusal](err); ok && refusal.Kind == openid.Unreachable {
		back() // it is no fault of theirs
	}
	if err != nil {
		return session, err
	}
	pass, secret, err := a.Gate.Welcome(r.Context(), auth.Guest{
		Subject: person.Subject, Name: person.Name, Role: person.Role, From: c.From, Life: a.Provider.Session,
	})
	if err != nil {
		return session, err
	}
	back()
	known, err := a.Gate.Known(r.Context(), secret)
	if err != nil {
		return session, err
	}
	known.From, known.Via = c.From, "provider"
	a.Gate.Note(r.Context(), known, freshet.Deed{What: "login", Method: http.MethodGet, Path: CallbackPath, Status: http.StatusFound, Subject: subjectUser(known.User)})
	return c.Cookie(secret, pass.Expires), nil
}

// failLogin sends somebody to the login, which has words for what went wrong. The details
// are for the log alone: the address of a page can be made up by anybody.
func (a *api) failLogin(w http.ResponseWriter, r *http.Request, err error, next string) {
	kind := "failed"
	refusal, known := errors.AsType[*openid.Refusal](err)
	many, tooMany := errors.AsType[*auth.TooManyError](err)
	switch {
	case known:
		kind = string(refusal.Kind)
	case tooMany:
		kind = "many"
		w.Header().Set("Retry-After", strconv.Itoa(many.Seconds()))
	case errors.Is(err, auth.ErrNoRole):
		kind = "role"
	case errors.Is(err, auth.ErrNoAdmin):
		kind = "first"
	case errors.Is(err, auth.ErrLastAdmin):
		kind = "last"
	}
	c := auth.Of(r.Context())
	a.Log.Warn("somebody could not log in at the provider", "why", kind, "err", err, "from", c.From)
	if r.URL.Path == CallbackPath {
		a.Gate.Note(r.Context(), auth.Caller{Via: "provider", From: c.From}, freshet.Deed{What: "login", Method: http.MethodGet, Path: CallbackPath, Status: http.StatusUnauthorized})
	}
	to := url.Values{"error": {kind}}
	if next = inside(next); next != "/" {
		to.Set("next", next)
	}
	http.Redirect(w, r, "/login?"+to.Encode(), http.StatusFound)
}

// inside returns an address of this page, whatever was asked for: nobody is led away from
// it by a link.
func inside(next string) string {
	u, err := url.Parse(next)
	switch {
	case err != nil || u.IsAbs() || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(u.Path, "/"):
	case strings.HasPrefix(u.Path, "//") || strings.ContainsAny(next, "\\\x7f") || strings.ContainsFunc(next, func(r rune) bool { return r < ' ' }):
	case strings.HasPrefix(u.Path, "/login") || strings.HasPrefix(u.Path, "/api/") || len(next) > 2000:
	default:
		return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
	}
	return "/"
}
