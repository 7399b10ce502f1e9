package openid

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet/profile"
	"freshet/internal/mask"
)

// Settings are what an operator says of a provider. None is used while Issuer is empty.
type Settings struct {
	Name     string // what people call it; "" means by the host of the issuer
	Issuer   string
	ClientID string
	Secret   profile.Value // of the client; "" means that it has none
	Scopes   []string      // besides openid
	Groups   string        // the claim that lists groups, with dots where it is nested
	Roles    Roles
	Session  time.Duration // the longest that a user stays logged in
}

// Roles say who gets which role. An entry is group:NAME, email:ADDRESS or email:*@DOMAIN.
type Roles struct {
	Admins, Editors, Viewers []string

	Default access.Role // of everybody else; "" means that they are refused
}

// CheckMember says what is wrong with an entry of Roles.
func CheckMember(entry string) error {
	kind, name, ok := strings.Cut(entry, ":")
	switch {
	case !ok || kind != "group" && kind != "email" || name == "":
		return fmt.Errorf("%q is not group:NAME, email:ADDRESS or email:*@DOMAIN", entry)
	case kind == "email" && (strings.Count(name, "@") != 1 || strings.HasSuffix(name, "@") || strings.HasPrefix(name, "@")):
		return fmt.Errorf("%q is not an e-mail address; use email:ada@example.com, or email:*@example.com for all of a domain", name)
	case kind == "email" && strings.Contains(strings.TrimPrefix(name, "*@"), "*"):
		return fmt.Errorf("%q: a star can only stand before the @", name)
	}
	return nil
}

// Of returns the highest role of a person; "" means none. The address must be one
// that the provider has verified.
func (r Roles) Of(groups []string, email string) access.Role {
	in := func(entry string) bool {
		kind, name, _ := strings.Cut(entry, ":")
		if kind == "group" {
			return slices.Contains(groups, name)
		}
		if domain, all := strings.CutPrefix(name, "*@"); all {
			at := strings.LastIndex(email, "@")
			return at > 0 && strings.EqualFold(email[at+1:], domain)
		}
		return email != "" && strings.EqualFold(email, name)
	}
	switch {
	case slices.ContainsFunc(r.Admins, in):
		return access.Admin
	case slices.ContainsFunc(r.Editors, in):
		return access.Editor
	case slices.ContainsFunc(r.Viewers, in):
		return access.Viewer
	}
	return r.Default
}

// Admits reports whether anybody can get the role of an admin.
func (r Roles) Admits() bool { return len(r.Admins) > 0 || r.Default == access.Admin }

// byGroup reports whether groups matter.
func (r Roles) byGroup() bool {
	return slices.ContainsFunc(slices.Concat(r.Admins, r.Editors, r.Viewers), func(e string) bool { return strings.HasPrefix(e, "group:") })
}

// Check says what is missing in settings with an issuer. The public URL is that of the API.
func (s Settings) Check(public string) error {
	switch {
	case s.ClientID == "":
		return errors.New("api.oidc.client_id: must be set if there is an issuer")
	case public == "":
		return errors.New("api.url: must be set if there is api.oidc.issuer; the provider sends people back there")
	}
	if err := CheckURL(s.Issuer); err != nil {
		return fmt.Errorf("api.oidc.issuer: %w", err)
	}
	if err := CheckURL(public); err != nil {
		return fmt.Errorf("api.url: %w", err)
	}
	return nil
}

// CheckURL says what is wrong with a URL that a login leads over: it has to be one of https,
// or of this machine.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Opaque != "":
		return fmt.Errorf("%q is not a URL such as https://id.example.com", mask.URL(raw))
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q must not have a query or a fragment", mask.URL(raw))
	case u.Scheme == "https" || u.Scheme == "http" && isHere(u.Host):
		return nil
	}
	return fmt.Errorf("%q must begin with https://; only on this machine can a login do without", raw)
}

func isHere(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}
