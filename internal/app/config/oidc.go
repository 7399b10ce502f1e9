package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	"freshet/internal/freshet/profile"
	"freshet/internal/suggest"
	"freshet/internal/units"
)

// noRole is the default role that refuses users who have no other.
const noRole = "none"

// oidcOptions say where people can log in besides.
var oidcOptions = []Option{
	{Key: "api.oidc.issuer", Flag: "oidc-issuer", Arg: "URL", Help: "OpenID provider to log in at, such as https://id.example.com; needs api.url",
		set: setIssuer, show: func(s Settings) any { return s.API.OIDC.Issuer }},
	{Key: "api.oidc.client_id", Flag: "oidc-client-id", Arg: "ID", Help: "client ID that the provider knows Freshet by",
		set: text(func(s *Settings) *string { return &s.API.OIDC.ClientID }), show: func(s Settings) any { return s.API.OIDC.ClientID }},
	{Key: "api.oidc.client_secret", Flag: "oidc-client-secret", Arg: "REF", Help: "secret of the client at the provider: ${file:/path}, ${env:NAME} or ${secret:NAME}",
		set: setClientSecret, show: func(s Settings) any { return showReference(s.API.OIDC.Secret) }},
	{Key: "api.oidc.name", Flag: "oidc-name", Arg: "NAME", Help: "name of the provider on the login page (default the host of the issuer)",
		set: text(func(s *Settings) *string { return &s.API.OIDC.Name }), show: func(s Settings) any { return s.API.OIDC.Name }},
	{Key: "api.oidc.scopes", Flag: "oidc-scopes", Arg: "LIST", Help: "scopes to ask the provider for, besides openid (default profile,email)", Many: true,
		set: setScopes, show: ofProvider(func(s Settings) any { return s.API.OIDC.Scopes })},
	{Key: "api.oidc.groups_claim", Flag: "oidc-groups-claim", Arg: "NAME", Help: "claim that lists the groups of a user, such as realm_access.roles (default groups)",
		set: text(func(s *Settings) *string { return &s.API.OIDC.Groups }), show: ofProvider(func(s Settings) any { return s.API.OIDC.Groups })},
	{Key: "api.oidc.admins", Flag: "oidc-admins", Arg: "WHO", Help: "who is an admin: group:NAME, email:ADDRESS or email:*@DOMAIN", Many: true,
		set: members(func(s *Settings) *[]string { return &s.API.OIDC.Roles.Admins }), show: func(s Settings) any { return s.API.OIDC.Roles.Admins }},
	{Key: "api.oidc.editors", Flag: "oidc-editors", Arg: "WHO", Help: "who is an editor", Many: true,
		set: members(func(s *Settings) *[]string { return &s.API.OIDC.Roles.Editors }), show: func(s Settings) any { return s.API.OIDC.Roles.Editors }},
	{Key: "api.oidc.viewers", Flag: "oidc-viewers", Arg: "WHO", Help: "who is a viewer", Many: true,
		set: members(func(s *Settings) *[]string { return &s.API.OIDC.Roles.Viewers }), show: func(s Settings) any { return s.API.OIDC.Roles.Viewers }},
	{Key: "api.oidc.default_role", Flag: "oidc-default-role", Arg: "ROLE", Help: "role of everybody else at the provider: viewer, editor, admin, or none to refuse them (default none)",
		set: setDefaultRole, show: ofProvider(showDefaultRole)},
	{Key: "api.oidc.session", Flag: "oidc-session", Arg: "TIME", Help: "longest time until people have to log in at the provider again, which renews their role (default 1d)",
		set: lengthIn(time.Minute, 30*units.Day, func(s *Settings) *time.Duration { return &s.API.OIDC.Session }), show: ofProvider(func(s Settings) any { return units.FormatDuration(s.API.OIDC.Session) })},
}

// ofProvider shows a value only if there is a provider.
func ofProvider(show func(Settings) any) func(Settings) any {
	return func(s Settings) any {
		if s.API.OIDC.Issuer == "" {
			return ""
		}
		return show(s)
	}
}

func setIssuer(s *Settings, v string) error {
	if err := openid.CheckURL(v); err != nil {
		return err
	}
	s.API.OIDC.Issuer = v
	return nil
}

func setClientSecret(s *Settings, v string) (err error) {
	if v == "" {
		return errors.New("must not be empty; leave it out if the client has none")
	}
	s.API.OIDC.Secret, err = parseSecret(v)
	return err
}

// parseSecret returns a secret, which can be a reference.
func parseSecret(v string) (profile.Value, error) {
	found, err := profile.Value(v).References()
	if err == nil && slices.ContainsFunc(found, func(r profile.Reference) bool { return r.Kind == profile.TakenValue }) {
		err = errors.New("only ${env:NAME}, ${file:/path} and ${secret:NAME} can be used here")
	}
	return profile.Value(v), err
}

// showReference returns where a secret is, and never what it is.
func showReference(v profile.Value) string {
	if found, err := v.References(); err != nil || len(found) != 1 || found[0].String() != string(v) {
		return ""
	}
	return string(v)
}

func setScopes(s *Settings, v string) error {
	scopes := SplitList(v)
	for _, scope := range scopes {
		if strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fmt.Errorf("%q is not a scope", scope)
		}
	}
	s.API.OIDC.Scopes = slices.DeleteFunc(scopes, func(s string) bool { return s == "openid" })
	return nil
}

func members(at func(*Settings) *[]string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		list := SplitList(v)
		for _, entry := range list {
			if err := openid.CheckMember(entry); err != nil {
				return err
			}
		}
		*at(s) = list
		return nil
	}
}

func setDefaultRole(s *Settings, v string) error {
	known := []string{noRole}
	for _, r := range access.Roles {
		known = append(known, string(r))
	}
	if !slices.Contains(known, v) {
		return fmt.Errorf("%q is not one of %s%s", v, strings.Join(known, ", "), suggest.DidYouMean(v, known))
	}
	if s.API.OIDC.Roles.Default = access.Role(v); v == noRole {
		s.API.OIDC.Roles.Default = ""
	}
	return nil
}

func showDefaultRole(s Settings) any {
	if s.API.OIDC.Roles.Default == "" {
		return noRole
	}
	return string(s.API.OIDC.Roles.Default)
}
