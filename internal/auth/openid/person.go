package openid

import (
	"context"
	"strings"

	"golang.org/x/oauth2"

	"freshet/internal/auth/access"
	"freshet/internal/mask"
)

// A Person is a user as a provider describes them.
type Person struct {
	Subject string // of the issuer, and never anybody else's
	Name    string // as the person is called there; it may be anybody's
	Role    access.Role
}

// claims are what a provider says of a user.
type claims map[string]any

func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

// list returns the texts of a claim. A name with dots leads into nested claims, unless
// there is a claim of just that name.
func (c claims) list(name string) (found []string) {
	value, ok := c[name]
	for at := any(map[string]any(c)); !ok && name != ""; {
		m, is := at.(map[string]any)
		if !is {
			return nil
		}
		first, rest, more := strings.Cut(name, ".")
		if at, name = m[first], rest; !more {
			value = at
		}
	}
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				found = append(found, s)
			}
		}
	}
	return found
}

// complete asks the provider for what it says only at its other endpoint, if groups matter
// and the ID token has none.
func (p *Provider) complete(ctx context.Context, d *discovered, token *oauth2.Token, sub string, said claims) (claims, error) {
	if !p.Roles.byGroup() || said.list(p.Groups) != nil || d.UserInfoEndpoint() == "" {
		return said, nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return said, refuse(Unreachable, "ask the provider who this is: %s", mask.Shorten(err.Error(), 300))
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return said, refuse(Unreachable, "read who this is: %w", err)
	}
	if info.Subject != sub {
		return said, refuse(Unproven, "the provider speaks of two different people")
	}
	if _, has := said["email"]; has {
		delete(more, "email_verified") // it is said of another address, perhaps
	}
	for name, value := range more {
		if _, has := said[name]; !has {
			said[name] = value
		}
	}
	return said, nil
}

func (p *Provider) person(sub string, said claims) Person {
	email := said.text("email")
	if v := said["email_verified"]; v != true && v != "true" { // some providers send a text
		email = "" // anybody could have typed it
	}
	name := said.text("preferred_username")
	if name == "" {
		name = email
	}
	if name == "" {
		name = sub
	}
	return Person{Subject: SubjectOf(p.Issuer, sub), Name: name, Role: p.Roles.Of(said.list(p.Groups), email)}
}
