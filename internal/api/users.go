package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/auth/openid"
	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// authAPI serves users, their credentials and sessions, and the audit log.
type authAPI struct {
	*rest.Server
	store    freshet.Catalog // has what share links show
	queries  *queries.Store  // likewise
	gate     *auth.Gate
	provider *openid.Provider // nil means none
	base     string
}

func (a *authAPI) routes() {
	a.routeUsers()
	a.routePasses()
	a.routeSession()
	a.routeProvider()
	a.routeAudit()
}

func (a *authAPI) routeUsers() {
	tags := []string{"users"}
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/users" + path, Tags: tags, Summary: summary}
	}
	rest.Route(a.Server, op("list-users", http.MethodGet, "", "List the users"), a.listUsers)
	add := op("add-user", http.MethodPost, "", "Add a user")
	add.Description = "The first user must be an admin. From then on everybody has to log in, also on this machine."
	add.DefaultStatus = http.StatusCreated
	rest.Route(a.Server, add, a.addUser)
	rest.Route(a.Server, op("get-user", http.MethodGet, "/{name}", "Show a user"), a.getUser)
	rest.Route(a.Server, op("edit-user", http.MethodPatch, "/{name}", "Change the role or the password of a user"), a.editUser)
	remove := op("remove-user", http.MethodDelete, "/{name}", "Remove a user with all sessions, tokens and share links")
	remove.DefaultStatus = http.StatusNoContent
	rest.Route(a.Server, remove, a.removeUser)
}

// userOf returns a user as the API tells it, without the password.
func (a *authAPI) userOf(u auth.User) client.User {
	guest := a.gate.Guest(u)
	return client.User{Name: u.Name, Role: u.Role, Password: u.Password != "" && !guest, Provider: guest, Created: rest.UTC(u.Created), Set: rest.UTC(u.Set)}
}

func (a *authAPI) listUsers(ctx context.Context, in *rest.Paging) (*rest.Body[client.UserList], error) {
	users, err := a.gate.Store.Users(ctx)
	if err != nil {
		return nil, err
	}
	told := client.UserList{Items: []client.User{}}
	users, told.Next = rest.Page(*in, users, func(u auth.User) string { return u.Name })
	for _, u := range users {
		told.Items = append(told.Items, a.userOf(u))
	}
	return rest.Reply(told), nil
}

type userPath struct {
	Name string `path:"name" maxLength:"128" doc:"Name of the user"`
}

// A taggedUser is a user with the tag of its revision.
type taggedUser struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     client.User
}

func (a *authAPI) getUser(ctx context.Context, in *userPath) (*taggedUser, error) {
	u, err := a.gate.Store.User(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &taggedUser{ETag: rest.RevisionTag(u.Revision), Body: a.userOf(u)}, nil
}

func (a *authAPI) addUser(ctx context.Context, in *rest.Body[client.NewUser]) (*taggedUser, error) {
	n := in.Body
	u := auth.User{Name: n.Name, Role: n.Role}
	var err error
	if n.NoPassword && n.Password == "" {
		u, err = a.gate.AddWithoutPassword(ctx, u)
	} else {
		u, err = a.gate.AddUser(ctx, u, n.Password)
	}
	if err != nil {
		return nil, err
	}
	rest.Changed(ctx, nil, rest.Fields(a.userOf(u)))
	return &taggedUser{Location: "/api/v1/users/" + u.Name, ETag: rest.RevisionTag(u.Revision), Body: a.userOf(u)}, nil
}

type editUserInput struct {
	Name    string       `path:"name" maxLength:"128" doc:"Name of the user"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Edit only if the user still has this ETag; * means any"`
	Body    client.UserEdit
}

func (a *authAPI) editUser(ctx context.Context, in *editUserInput) (*taggedUser, error) {
	a.Edits.RLock()
	defer a.Edits.RUnlock()
	u, err := a.gate.Store.User(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.Check("user", in.Name, u.Revision); err != nil {
		return nil, err
	}
	if a.gate.Guest(u) {
		p := rest.NewProblem(http.StatusConflict, fmt.Sprintf("user %s logs in at %s, which manages the role and the password", u.Name, a.provider.Label()))
		p.Hint = "change the groups of the user there, or the settings api.oidc; the next login has the new role. Remove the user to end the current sessions"
		return nil, p
	}
	before := rest.Fields(a.userOf(u))
	if in.Body.Role != "" {
		u.Role = in.Body.Role
	}
	if u, err = a.gate.EditUser(ctx, u, in.Body.Password, auth.Of(ctx).Credential.ID); err != nil {
		return nil, err
	}
	rest.Changed(ctx, before, rest.Fields(a.userOf(u)))
	return &taggedUser{ETag: rest.RevisionTag(u.Revision), Body: a.userOf(u)}, nil
}

type removeUserInput struct {
	Name    string       `path:"name" maxLength:"128" doc:"Name of the user"`
	IfMatch rest.IfMatch `header:"If-Match" doc:"Remove only if the user still has this ETag; * means any"`
}

func (a *authAPI) removeUser(ctx context.Context, in *removeUserInput) (*struct{}, error) {
	if in.IfMatch != "" {
		a.Edits.Lock() // no edit comes between the look and the removal
		defer a.Edits.Unlock()
	}
	u, err := a.gate.Store.User(ctx, in.Name)
	switch {
	case err == nil:
		if err := in.IfMatch.Check("user", in.Name, u.Revision); err != nil {
			return nil, err
		}
		rest.Changed(ctx, rest.Fields(a.userOf(u)), nil)
	case in.IfMatch != "":
		return nil, err
	}
	if err := a.gate.MayRemove(ctx, in.Name); err != nil {
		p := rest.NewProblem(http.StatusConflict, fmt.Sprintf("user %s: %v", in.Name, err))
		p.Hint = "add another admin first"
		return nil, p
	}
	return nil, a.gate.RemoveUser(ctx, in.Name)
}
