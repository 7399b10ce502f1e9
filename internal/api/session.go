package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	"freshet/ui"
)

func (a *authAPI) routeSession() {
	tags := []string{"session"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/api/v1/session", Tags: tags,
		Summary: "Show the current user and their rights",
	}, a.getSession)
	rest.Route(a.Server, huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/api/v1/session", Tags: tags,
		Summary: "Log in, with a password or a token, and get a session cookie",
		Description: "A wrong password and an unknown name get the same response. After five failures of a user from one address, or twenty of any, " +
			"the answer is 429 with Retry-After. A session ends after 7 days without a request, and after 30 days.",
	}, a.login)
	rest.Route(a.Server, huma.Operation{
		OperationID: "logout", Method: http.MethodDelete, Path: "/api/v1/session", Tags: tags,
		Summary: "End the session and its streams", DefaultStatus: http.StatusNoContent,
	}, a.logout)
	rest.Route(a.Server, huma.Operation{
		OperationID: "set-password", Method: http.MethodPut, Path: "/api/v1/session/password", Tags: tags,
		Summary: "Change your own password; all your other sessions end", DefaultStatus: http.StatusNoContent,
	}, a.setPassword)
}

// sessionOf returns a caller as the API tells it.
func (a *authAPI) sessionOf(c auth.Caller) client.Session {
	s := client.Session{
		Known: c.Known, User: c.User, Role: c.Role, Via: c.Via, Scopes: c.Limit.Scopes, Tag: c.Limit.Tag, Source: c.Limit.Source, Query: c.Limit.Query,
		Expires: rest.UTC(c.Credential.Expires), Open: a.gate.Open(), Secure: c.Secure, Guest: c.Guest,
	}
	if s.Scopes == nil {
		s.Scopes = []access.Right{}
	}
	if c.Known {
		s.Notice = a.gate.Notice()
	}
	if a.provider != nil {
		s.Provider = a.provider.Label()
	}
	return s
}

// reader says who looks at the page: it begins with what [api.getSession] would tell.
func (a *authAPI) reader(ctx context.Context) ui.Reader {
	c := auth.Of(ctx)
	if !c.Known {
		return ui.Reader{}
	}
	return ui.Reader{Session: a.sessionOf(c), Lists: c.May(access.Read) && !c.Share()}
}

func (a *authAPI) getSession(ctx context.Context, _ *struct{}) (*rest.Body[client.Session], error) {
	return rest.Reply(a.sessionOf(auth.Of(ctx))), nil
}

type loginOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   client.Session
}

func (a *authAPI) login(ctx context.Context, in *rest.Body[client.Login]) (*loginOutput, error) {
	c := auth.Of(ctx)
	said := in.Body
	var pass auth.Credential
	var secret string
	var err error
	switch {
	case said.Token != "" && said.User == "":
		pass, secret, err = a.gate.Enter(ctx, said.Token, c.From)
	case said.User != "":
		pass, secret, err = a.gate.Login(ctx, said.User, said.Password, c.From)
	default:
		return nil, rest.Invalid("body.user", "say who you are, or give a token", nil)
	}
	if err != nil {
		return nil, a.refuseLogin(ctx, c, said, err)
	}
	known, err := a.gate.Known(ctx, secret)
	if err != nil {
		return nil, err
	}
	known.From, known.Secure = c.From, c.Secure
	a.gate.Note(ctx, known, auth.AuditEntry{What: "login", Method: http.MethodPost, Path: "/api/v1/session", Status: http.StatusOK, Subject: subjectUser(known.User)})
	return &loginOutput{c.Cookie(secret, pass.Expires), a.sessionOf(known)}, nil
}

func subjectUser(name string) string {
	if name == "" {
		return ""
	}
	return "user " + name
}

// refuseLogin answers a failed login. The name is logged only if there is such a user: what was
// typed there may be a password.
func (a *authAPI) refuseLogin(ctx context.Context, c auth.Caller, said client.Login, err error) error {
	if many, ok := errors.AsType[*auth.TooManyError](err); ok {
		p := rest.NewProblem(http.StatusTooManyRequests, many.Error())
		p.Retry = many.Seconds()
		return p
	}
	if errors.Is(err, auth.ErrOverloaded) {
		p := rest.NewProblem(http.StatusServiceUnavailable, err.Error())
		p.Retry = 5
		return p
	}
	if !errors.Is(err, auth.ErrWrong) && !errors.Is(err, auth.ErrUnknown) {
		return err
	}
	subject := ""
	if u, err := a.gate.Store.User(ctx, said.User); err == nil {
		subject = subjectUser(u.Name)
	}
	a.gate.Note(ctx, c, auth.AuditEntry{What: "login", Method: http.MethodPost, Path: "/api/v1/session", Status: http.StatusUnauthorized, Subject: subject})
	if said.Token != "" {
		return rest.NewProblem(http.StatusUnauthorized, "this token or link is invalid or has expired")
	}
	return rest.NewProblem(http.StatusUnauthorized, auth.ErrWrong.Error())
}

type logoutInput struct {
	Everywhere bool `query:"everywhere" doc:"End all sessions of the user"`
}

type logoutOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
}

func (a *authAPI) logout(ctx context.Context, in *logoutInput) (*logoutOutput, error) {
	c := auth.Of(ctx)
	out := &logoutOutput{c.Cookie("", c.Credential.Expires)}
	if c.Credential.Kind != auth.SessionKind {
		return out, nil
	}
	which := auth.CredentialFilter{ID: c.Credential.ID}
	if in.Everywhere && c.User != "" {
		which = auth.CredentialFilter{User: c.User, Kind: auth.SessionKind}
	}
	if err := a.gate.Revoke(ctx, which); err != nil {
		return nil, err
	}
	a.gate.Note(ctx, c, auth.AuditEntry{What: "logout", Method: http.MethodDelete, Path: "/api/v1/session", Status: http.StatusNoContent, Subject: subjectUser(c.User)})
	return out, nil
}

func (a *authAPI) setPassword(ctx context.Context, in *rest.Body[client.NewPassword]) (*struct{}, error) {
	c := auth.Of(ctx)
	if c.User == "" || c.Credential.Kind != auth.SessionKind || c.Credential.Parent != "" {
		return nil, rest.Forbidden("only a user who logged in with a password can change it here")
	}
	u, err := a.gate.Verify(ctx, c.User, in.Body.Old, c.From)
	if errors.Is(err, auth.ErrWrong) {
		return nil, rest.Invalid("body.old", "this is not your password", nil)
	}
	if err != nil {
		return nil, a.refuseLogin(ctx, c, client.Login{User: c.User}, err)
	}
	if _, err := a.gate.EditUser(ctx, u, in.Body.New, c.Credential.ID); err != nil {
		return nil, err
	}
	a.gate.Note(ctx, c, auth.AuditEntry{What: "set-password", Method: http.MethodPut, Path: "/api/v1/session/password", Status: http.StatusNoContent, Subject: subjectUser(c.User)})
	return nil, nil
}

// CallbackPath is where a provider sends people back to.
const CallbackPath = "/login/oidc/callback"

// routeProvider adds the way to the provider and back. They are for a browser that goes
// there, and no part of the API.
func (a *authAPI) routeProvider() {
	a.HandleFunc("GET /login/oidc", a.beginLogin)
	a.HandleFunc("GET "+CallbackPath, a.finishLogin)
}

// beginLogin sends a browser to the provider.
func (a *authAPI) beginLogin(w http.ResponseWriter, r *http.Request) {
	if a.provider == nil {
		rest.NewProblem(http.StatusNotFound, "no login provider is configured").Write(w)
		return
	}
	next := inside(r.URL.Query().Get("next"))
	if base, err := url.Parse(a.base); err == nil && !strings.EqualFold(base.Host, r.Host) && !r.URL.Query().Has("here") {
		// The provider sends the browser back to the public name, which has other cookies.
		http.Redirect(w, r, strings.TrimSuffix(a.base, "/")+"/login/oidc?here=1&next="+url.QueryEscape(next), http.StatusFound)
		return
	}
	to, attempt, err := a.provider.Begin(r.Context(), next)
	if err != nil {
		a.failLogin(w, r, err, next)
		return
	}
	cookie := auth.Of(r.Context()).AttemptCookie(attempt.String())
	http.SetCookie(w, &cookie)
	http.Redirect(w, r, to, http.StatusFound)
}

// finishLogin opens a session for a user who returns from the provider.
func (a *authAPI) finishLogin(w http.ResponseWriter, r *http.Request) {
	if a.provider == nil {
		rest.NewProblem(http.StatusNotFound, "no login provider is configured").Write(w)
		return
	}
	c := auth.Of(r.Context())
	attempt, _ := openid.ParseAttempt(c.KeptAttempt(r))
	used := c.AttemptCookie("")
	http.SetCookie(w, &used)
	// Any site can send a browser here: what this one has not begun costs no try and leaves no
	// entry in the audit log, which a stranger could otherwise fill.
	begun := attempt.State != "" && attempt.State == r.URL.Query().Get("state")
	session, err := a.welcome(r, c, attempt, begun)
	if err != nil {
		_, tooMany := errors.AsType[*auth.TooManyError](err)
		if begun && !tooMany {
			a.gate.Note(r.Context(), auth.Caller{Via: "provider", From: c.From}, auth.AuditEntry{What: "login", Method: http.MethodGet, Path: CallbackPath, Status: http.StatusUnauthorized})
		}
		a.failLogin(w, r, err, attempt.Next)
		return
	}
	http.SetCookie(w, &session)
	http.Redirect(w, r, inside(attempt.Next), http.StatusFound)
}

// welcome returns the session cookie of a user who returns from the provider.
func (a *authAPI) welcome(r *http.Request, c auth.Caller, attempt openid.Attempt, begun bool) (session http.Cookie, err error) {
	back := func() {}
	if begun {
		if back, err = a.gate.Attempt(c.From); err != nil {
			return session, err
		}
	}
	person, err := a.provider.Finish(r.Context(), attempt, r.URL.Query())
	if refusal, ok := errors.AsType[*openid.Refusal](err); ok && refusal.Kind == openid.Unreachable {
		back() // it is no fault of theirs
	}
	if err != nil {
		return session, err
	}
	pass, secret, err := a.gate.Welcome(r.Context(), auth.Guest{
		Subject: person.Subject, Name: person.Name, Role: person.Role, From: c.From, Life: a.provider.Session,
	})
	if err != nil {
		return session, err
	}
	back()
	known, err := a.gate.Known(r.Context(), secret)
	if err != nil {
		return session, err
	}
	known.From, known.Via = c.From, "provider"
	a.gate.Note(r.Context(), known, auth.AuditEntry{What: "login", Method: http.MethodGet, Path: CallbackPath, Status: http.StatusFound, Subject: subjectUser(known.User)})
	return c.Cookie(secret, pass.Expires), nil
}

// failLogin redirects to the login page, which says what went wrong. Details go to the log alone:
// anybody can make up the address of a page.
func (a *authAPI) failLogin(w http.ResponseWriter, r *http.Request, err error, next string) {
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
