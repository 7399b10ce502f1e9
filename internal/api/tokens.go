package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/units"
)

func (a *authAPI) routePasses() {
	tags := []string{"users"}
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/api/v1/tokens", Tags: tags,
		Summary: "List your tokens; admins see all tokens",
	}, a.listTokens)
	rest.Route(a.Server, huma.Operation{
		OperationID: "add-token", Method: http.MethodPost, Path: "/api/v1/tokens", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Create a token for a program",
		Description: "Only this response has the secret. A token never grants more than the rights of its creator.",
	}, a.addToken)
	rest.Route(a.Server, huma.Operation{
		OperationID: "remove-token", Method: http.MethodDelete, Path: "/api/v1/tokens/{id}", Tags: tags,
		Summary: "Revoke a token, and end the streams that use it", DefaultStatus: http.StatusNoContent,
	}, a.removeToken)
	rest.Route(a.Server, huma.Operation{
		OperationID: "list-shares", Method: http.MethodGet, Path: "/api/v1/shares", Tags: tags,
		Summary: "List the share links",
	}, a.listShares)
	rest.Route(a.Server, huma.Operation{
		OperationID: "add-share", Method: http.MethodPost, Path: "/api/v1/shares", Tags: tags, DefaultStatus: http.StatusCreated,
		Summary:     "Create a link that shows one source or one query without a login",
		Description: "Only this response has the secret.",
	}, a.addShare)
	rest.Route(a.Server, huma.Operation{
		OperationID: "remove-share", Method: http.MethodDelete, Path: "/api/v1/shares/{id}", Tags: tags,
		Summary: "Revoke a share link", DefaultStatus: http.StatusNoContent,
	}, a.removeShare)
}

func tokenOf(p auth.Credential) client.Token {
	return client.Token{ID: p.ID, Name: p.Name, User: p.User, Scopes: p.Limit.Scopes, Tag: p.Limit.Tag, Created: rest.UTC(p.Created), Expires: rest.UTC(p.Expires), Used: rest.UTC(p.Used)}
}

func shareOf(p auth.Credential) client.Share {
	return client.Share{ID: p.ID, Name: p.Name, User: p.User, Source: p.Limit.Source, Query: p.Limit.Query, Created: rest.UTC(p.Created), Expires: rest.UTC(p.Expires), Used: rest.UTC(p.Used)}
}

func (a *authAPI) listTokens(ctx context.Context, in *rest.Paging) (*rest.Body[client.TokenList], error) {
	passes, err := a.gate.Store.Credentials(ctx, auth.TokenKind)
	if err != nil {
		return nil, err
	}
	c := auth.Of(ctx)
	told := client.TokenList{Items: []client.Token{}}
	passes, told.Next = rest.Page(*in, slices.DeleteFunc(passes, func(p auth.Credential) bool { return !owns(c, p) }), newestFirst)
	for _, p := range passes {
		told.Items = append(told.Items, tokenOf(p))
	}
	return rest.Reply(told), nil
}

// owns reports whether a pass is the business of a caller.
func owns(c auth.Caller, p auth.Credential) bool {
	return c.May(access.Administer) || c.User != "" && c.User == p.User
}

// expiry reads when a pass ends.
func (a *authAPI) expiry(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := units.ParseDuration(text); err == nil {
		return a.Now().Add(d).UTC(), nil
	}
	t, err := freshet.ParseTime(text, a.Now(), time.UTC)
	if err != nil {
		return t, rest.Invalid("body.expires", fmt.Sprintf("%q is neither a length of time such as 90d nor a time such as 2027-01-31", text), text)
	}
	return t, nil
}

type madeToken struct {
	Location string `header:"Location"`
	Body     client.MadeToken
}

func (a *authAPI) addToken(ctx context.Context, in *rest.Body[client.NewToken]) (*madeToken, error) {
	c := auth.Of(ctx)
	if err := mayManage(c); err != nil {
		return nil, err
	}
	for _, right := range in.Body.Scopes {
		if !c.May(right) {
			return nil, rest.Forbidden(fmt.Sprintf("a token cannot grant %s, because you do not have that right", right))
		}
	}
	if c.Limit.Tag != "" && in.Body.Tag != c.Limit.Tag {
		return nil, rest.Forbidden("a token created with this one must be limited to the tag " + c.Limit.Tag)
	}
	expires, err := a.expiry(in.Body.Expires)
	if err != nil {
		return nil, err
	}
	if ends := c.Credential.Expires; c.Credential.Kind == auth.TokenKind && !ends.IsZero() && (expires.IsZero() || expires.After(ends)) {
		return nil, rest.Forbidden("a token created with this one cannot last longer than it: until " + ends.Format(time.RFC3339))
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(in.Body.Scopes)))
	p := auth.Credential{Kind: auth.TokenKind, User: c.User, Name: strings.TrimSpace(in.Body.Name), Expires: expires, Limit: auth.Limit{Scopes: scopes, Tag: in.Body.Tag}}
	p, secret, err := a.gate.Issue(ctx, p)
	if err != nil {
		return nil, err
	}
	return &madeToken{"/api/v1/tokens/" + p.ID, client.MadeToken{Token: tokenOf(p), Secret: secret}}, nil
}

type passPath struct {
	ID string `path:"id" maxLength:"64" doc:"ID of the token or link"`
}

// mayManage keeps a token that leaked from making or removing others.
func mayManage(c auth.Caller) error {
	if c.Credential.ID != "" && (c.Credential.Kind != auth.SessionKind || c.Credential.Parent != "") && !c.May(access.Administer) {
		return rest.Forbidden("log in with a password to manage tokens, or use a token with the scope admin")
	}
	return nil
}

func (a *authAPI) removeToken(ctx context.Context, in *passPath) (*struct{}, error) {
	if err := mayManage(auth.Of(ctx)); err != nil {
		return nil, err
	}
	return nil, a.removePass(ctx, auth.TokenKind, in.ID)
}

// removePass revokes a pass of a kind that the caller may revoke.
func (a *authAPI) removePass(ctx context.Context, kind auth.CredentialKind, id string) error {
	passes, err := a.gate.Store.Credentials(ctx, kind)
	if err != nil {
		return err
	}
	c := auth.Of(ctx)
	for _, p := range passes {
		if p.ID == id && (kind == auth.ShareKind || owns(c, p)) {
			return a.gate.Revoke(ctx, auth.CredentialFilter{ID: id})
		}
	}
	return fmt.Errorf("%s %s: %w", kind, id, freshet.ErrNotFound)
}

func (a *authAPI) listShares(ctx context.Context, in *rest.Paging) (*rest.Body[client.ShareList], error) {
	passes, err := a.gate.Store.Credentials(ctx, auth.ShareKind)
	if err != nil {
		return nil, err
	}
	told := client.ShareList{Items: []client.Share{}}
	passes, told.Next = rest.Page(*in, passes, newestFirst)
	for _, p := range passes {
		told.Items = append(told.Items, shareOf(p))
	}
	return rest.Reply(told), nil
}

type madeShare struct {
	Location string `header:"Location"`
	Body     client.MadeShare
}

func (a *authAPI) addShare(ctx context.Context, in *rest.Body[client.NewShare]) (*madeShare, error) {
	expires, err := a.expiry(in.Body.Expires)
	if err != nil {
		return nil, err
	}
	feed := "/api/v1/sources/" + string(in.Body.Source) + "/feed.atom"
	switch n := in.Body; {
	case n.Source != "" && n.Query == "":
		_, err = a.store.Source(ctx, n.Source)
	case n.Query != "" && n.Source == "":
		feed = "/api/v1/queries/" + n.Query + "/feed.atom"
		_, err = a.queries.Query(ctx, queries.ID(n.Query))
	}
	if err != nil {
		return nil, err
	}
	p, secret, err := a.gate.Issue(ctx, auth.Credential{
		Kind: auth.ShareKind, User: auth.Of(ctx).User, Name: strings.TrimSpace(in.Body.Name), Expires: expires,
		Limit: auth.Limit{Source: in.Body.Source, Query: in.Body.Query},
	})
	if err != nil {
		return nil, err
	}
	made := client.MadeShare{Share: shareOf(p), Secret: secret, Path: "/share/" + secret, Feed: feed + "?" + auth.ShareParam + "=" + secret}
	if a.base != "" {
		made.URL = strings.TrimSuffix(a.base, "/") + made.Path
	}
	return &madeShare{"/api/v1/shares/" + p.ID, made}, nil
}

func (a *authAPI) removeShare(ctx context.Context, in *passPath) (*struct{}, error) {
	return nil, a.removePass(ctx, auth.ShareKind, in.ID)
}

// newestFirst gives credentials their places in a list.
func newestFirst(p auth.Credential) string {
	return fmt.Sprintf("%020d-%s", math.MaxInt64-p.Created.UnixNano(), p.ID)
}
