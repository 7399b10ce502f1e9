package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/ui"
)

func (a *api) routeSession(h huma.API) {
	tags := []string{"session"}
	route(h, a, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/api/v1/session", Tags: tags,
		Summary: "Show who you are to the API, and what you may do",
	}, a.getSession)
	route(h, a, huma.Operation{
		OperationID: "login", Method: http.MethodPost, Path: "/api/v1/session", Tags: tags,
		Summary: "Log in, with a password or a token, and get a session cookie",
		Description: "A wrong password and a name that nobody has get the same answer. After five failures of a user from one address, or twenty of any, " +
			"the answer is 429 with Retry-After. A session ends after 7 days without a request, and after 30 days.",
	}, a.login)
	route(h, a, huma.Operation{
		OperationID: "logout", Method: http.MethodDelete, Path: "/api/v1/session", Tags: tags,
		Summary: "End the session, and all streams that were begun with it", DefaultStatus: http.StatusNoContent,
	}, a.logout)
	route(h, a, huma.Operation{
		OperationID: "set-password", Method: http.MethodPut, Path: "/api/v1/session/password", Tags: tags,
		Summary: "Change your own password; all your other sessions end", DefaultStatus: http.StatusNoContent,
	}, a.setPassword)
}

// sessionOf returns a caller as the API tells it.
func (a *api) sessionOf(c auth.Caller) client.Session {
	s := client.Session{
		Known: c.Known, User: c.User, Role: c.Role, Via: c.Via, Scopes: c.Limit.Scopes, Tag: c.Limit.Tag, Source: c.Limit.Source, Query: c.Limit.Query,
		Expires: utc(c.Pass.Expires), Open: a.Gate.Open(), Secure: c.Secure, Guest: c.Guest,
	}
	if s.Scopes == nil {
		s.Scopes = []freshet.Right{}
	}
	if c.Known {
		s.Notice = a.Gate.Notice()
	}
	if a.Provider != nil {
		s.Provider = a.Provider.Label()
	}
	return s
}

// reader says who looks at the page: it begins with what [api.getSession] would tell.
func (a *api) reader(ctx context.Context) ui.Reader {
	c := auth.Of(ctx)
	if !c.Known {
		return ui.Reader{}
	}
	return ui.Reader{Session: a.sessionOf(c), Lists: c.May(freshet.RightRead) && !c.Share()}
}

func (a *api) getSession(ctx context.Context, _ *struct{}) (*bodyOf[client.Session], error) {
	return &bodyOf[client.Session]{a.sessionOf(auth.Of(ctx))}, nil
}

type loginOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   client.Session
}

func (a *api) login(ctx context.Context, in *bodyOf[client.Login]) (*loginOutput, error) {
	c := auth.Of(ctx)
	said := in.Body
	var pass freshet.Pass
	var secret string
	var err error
	switch {
	case said.Token != "" && said.User == "":
		pass, secret, err = a.Gate.Enter(ctx, said.Token, c.From)
	case said.User != "":
		pass, secret, err = a.Gate.Login(ctx, said.User, said.Password, c.From)
	default:
		return nil, invalid("body.user", "say who you are, or give a token", nil)
	}
	if err != nil {
		return nil, a.refuseLogin(ctx, c, said, err)
	}
	known, err := a.Gate.Known(ctx, secret)
	if err != nil {
		return nil, err
	}
	known.From, known.Secure = c.From, c.Secure
	a.Gate.Note(ctx, known, freshet.Deed{What: "login", Method: http.MethodPost, Path: "/api/v1/session", Status: http.StatusOK, Subject: subjectUser(known.User)})
	return &loginOutput{c.Cookie(secret, pass.Expires), a.sessionOf(known)}, nil
}

func subjectUser(name string) string {
	if name == "" {
		return ""
	}
	return "user " + name
}

// refuseLogin says that somebody is not who they say they are. What they typed as a name
// is written down only if there is such a user: it may be a password.
func (a *api) refuseLogin(ctx context.Context, c auth.Caller, said client.Login, err error) error {
	if many, ok := errors.AsType[*auth.TooManyError](err); ok {
		p := problem(http.StatusTooManyRequests, many.Error())
		p.retry = many.Seconds()
		return p
	}
	if !errors.Is(err, auth.ErrWrong) && !errors.Is(err, auth.ErrUnknown) {
		return err
	}
	subject := ""
	if u, err := a.Store.User(ctx, said.User); err == nil {
		subject = subjectUser(u.Name)
	}
	a.Gate.Note(ctx, c, freshet.Deed{What: "login", Method: http.MethodPost, Path: "/api/v1/session", Status: http.StatusUnauthorized, Subject: subject})
	if said.Token != "" {
		return problem(http.StatusUnauthorized, "this token or link is not good, or not any more")
	}
	return problem(http.StatusUnauthorized, auth.ErrWrong.Error())
}

type logoutInput struct {
	Everywhere bool `query:"everywhere" doc:"End all sessions of the user"`
}

type logoutOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
}

func (a *api) logout(ctx context.Context, in *logoutInput) (*logoutOutput, error) {
	c := auth.Of(ctx)
	out := &logoutOutput{c.Cookie("", c.Pass.Expires)}
	if c.Pass.Kind != freshet.PassSession {
		return out, nil
	}
	which := freshet.Passing{ID: c.Pass.ID}
	if in.Everywhere && c.User != "" {
		which = freshet.Passing{User: c.User, Kind: freshet.PassSession}
	}
	if err := a.Gate.Revoke(ctx, which); err != nil {
		return nil, err
	}
	a.Gate.Note(ctx, c, freshet.Deed{What: "logout", Method: http.MethodDelete, Path: "/api/v1/session", Status: http.StatusNoContent, Subject: subjectUser(c.User)})
	return out, nil
}

func (a *api) setPassword(ctx context.Context, in *bodyOf[client.NewPassword]) (*struct{}, error) {
	c := auth.Of(ctx)
	if c.User == "" || c.Pass.Kind != freshet.PassSession || c.Pass.Parent != "" {
		return nil, forbidden("only somebody who has logged in with a password can change it here")
	}
	u, err := a.Gate.Verify(ctx, c.User, in.Body.Old, c.From)
	if errors.Is(err, auth.ErrWrong) {
		return nil, invalid("body.old", "this is not your password", nil)
	}
	if err != nil {
		return nil, a.refuseLogin(ctx, c, client.Login{User: c.User}, err)
	}
	if _, err := a.Gate.EditUser(ctx, u, in.Body.New, c.Pass.ID); err != nil {
		return nil, err
	}
	a.Gate.Note(ctx, c, freshet.Deed{What: "set-password", Method: http.MethodPut, Path: "/api/v1/session/password", Status: http.StatusNoContent, Subject: subjectUser(c.User)})
	return nil, nil
}
