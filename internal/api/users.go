package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/freshet"
)

func (a *api) routeUsers(h huma.API) {
	tags := []string{"users"}
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: "/api/v1/users" + path, Tags: tags, Summary: summary}
	}
	route(h, a, op("list-users", http.MethodGet, "", "List the users"), a.listUsers)
	add := op("add-user", http.MethodPost, "", "Add a user")
	add.Description = "The first user must be an admin. From then on everybody has to log in, also on this machine."
	add.DefaultStatus = http.StatusCreated
	route(h, a, add, a.addUser)
	route(h, a, op("get-user", http.MethodGet, "/{name}", "Show a user"), a.getUser)
	route(h, a, op("edit-user", http.MethodPatch, "/{name}", "Change the role or the password of a user"), a.editUser)
	remove := op("remove-user", http.MethodDelete, "/{name}", "Remove a user with all sessions, tokens and share links")
	remove.DefaultStatus = http.StatusNoContent
	route(h, a, remove, a.removeUser)
}

// userOf returns a user as the API tells it, without the password.
func (a *api) userOf(u freshet.User) client.User {
	guest := a.Gate.Guest(u)
	return client.User{Name: u.Name, Role: u.Role, Password: u.Password != "" && !guest, Provider: guest, Created: utc(u.Created), Set: utc(u.Set)}
}

func (a *api) listUsers(ctx context.Context, in *paging) (*bodyOf[client.UserList], error) {
	users, err := a.Store.Users(ctx)
	if err != nil {
		return nil, err
	}
	told := client.UserList{Items: []client.User{}}
	users, told.Next = paged(*in, users, func(u freshet.User) string { return u.Name })
	for _, u := range users {
		told.Items = append(told.Items, a.userOf(u))
	}
	return &bodyOf[client.UserList]{told}, nil
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

func (a *api) getUser(ctx context.Context, in *userPath) (*taggedUser, error) {
	u, err := a.Store.User(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &taggedUser{ETag: tagOf(u.Revision), Body: a.userOf(u)}, nil
}

func (a *api) addUser(ctx context.Context, in *bodyOf[client.NewUser]) (*taggedUser, error) {
	n := in.Body
	u, err := a.Gate.AddUser(ctx, freshet.User{Name: n.Name, Role: n.Role}, n.Password)
	if err != nil {
		return nil, err
	}
	return &taggedUser{Location: "/api/v1/users/" + u.Name, ETag: tagOf(u.Revision), Body: a.userOf(u)}, nil
}

type editUserInput struct {
	Name    string  `path:"name" maxLength:"128" doc:"Name of the user"`
	IfMatch ifMatch `header:"If-Match" doc:"Edit only if the user still has this ETag; * means any"`
	Body    client.UserEdit
}

func (a *api) editUser(ctx context.Context, in *editUserInput) (*taggedUser, error) {
	a.edits.RLock()
	defer a.edits.RUnlock()
	u, err := a.Store.User(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if err := in.IfMatch.check("user", in.Name, u.Revision); err != nil {
		return nil, err
	}
	if a.Gate.Guest(u) {
		p := problem(http.StatusConflict, fmt.Sprintf("user %s logs in at %s, which says the role and knows the password", u.Name, a.Provider.Label()))
		p.Hint = "change the groups of the user there, or the settings api.oidc; the next login has the new role. To end what the user has now, remove the user"
		return nil, p
	}
	if in.Body.Role != "" {
		u.Role = in.Body.Role
	}
	if u, err = a.Gate.EditUser(ctx, u, in.Body.Password, auth.Of(ctx).Pass.ID); err != nil {
		return nil, err
	}
	return &taggedUser{ETag: tagOf(u.Revision), Body: a.userOf(u)}, nil
}

type removeUserInput struct {
	Name    string  `path:"name" maxLength:"128" doc:"Name of the user"`
	IfMatch ifMatch `header:"If-Match" doc:"Remove only if the user still has this ETag; * means any"`
}

func (a *api) removeUser(ctx context.Context, in *removeUserInput) (*struct{}, error) {
	if in.IfMatch != "" {
		a.edits.Lock() // no edit comes between the look and the removal
		defer a.edits.Unlock()
		u, err := a.Store.User(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		if err := in.IfMatch.check("user", in.Name, u.Revision); err != nil {
			return nil, err
		}
	}
	if err := a.Gate.MayRemove(ctx, in.Name); err != nil {
		p := problem(http.StatusConflict, fmt.Sprintf("user %s: %v", in.Name, err))
		p.Hint = "add another admin first"
		return nil, p
	}
	return nil, a.Gate.RemoveUser(ctx, in.Name)
}
