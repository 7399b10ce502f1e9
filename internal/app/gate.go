package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"freshet/internal/api"
	"freshet/internal/auth"
	"freshet/internal/auth/access"
	"freshet/internal/auth/openid"
	fetchauth "freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

// firstUser is the name of the user who is created at the first start.
const firstUser = "admin"

// openGate returns what authenticates requests. If other machines can reach the address, there must
// be a user who can log in; a standby leaves that check to the leader.
func (s *service) openGate(ctx context.Context, n *Node, follows bool) (*auth.Gate, error) {
	tcp, ok := s.listenAddr.(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	cfg := auth.Config{
		Store: auth.NewStore(n.stored.DB()), Mode: auth.Mode(s.settings.API.Login), Loopback: loopback, Local: s.address.Token, Follows: follows,
		Provider: s.settings.API.OIDC.Issuer, Proxies: s.settings.API.Proxies, Public: s.settings.API.URL, Keep: s.settings.Retention.Audit, Now: s.Now, Log: s.Log,
	}
	gate, err := auth.New(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("read the users: %w", err)
	}
	if n.gate.Store(gate); follows {
		return gate, nil
	}
	return gate, s.checkLogins(ctx, gate, loopback)
}

// addListedUsers adds the users of the configuration file that are not there.
func (s *service) addListedUsers(ctx context.Context, gate *auth.Gate) error {
	for _, u := range s.settings.Users {
		if _, err := gate.Store.User(ctx, u.Name); !errors.Is(err, freshet.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := gate.AddWithoutPassword(ctx, u); err != nil {
			return fmt.Errorf("add the user %s: %w", u.Name, err)
		}
		s.Log.Info("added a user who has no password yet", "name", u.Name, "role", u.Role, "hint", "freshet user edit "+u.Name+" --password sets one")
	}
	return nil
}

// checkLogins creates the first user, and checks and logs who has to log in.
func (s *service) checkLogins(ctx context.Context, gate *auth.Gate, loopback bool) error {
	at := s.listenAddr
	if s.Password != "" {
		added, err := gate.First(ctx, firstUser, s.Password)
		if err != nil {
			return err
		}
		if added {
			s.Log.Info("added the first user", "name", firstUser, "role", access.Admin)
		}
	}
	if err := s.addListedUsers(ctx, gate); err != nil {
		return err
	}
	switch {
	case gate.Mode == auth.Off:
		s.Log.Warn("no login is required: every client that reaches the API can do everything", "address", at.String(), "setting", "api.login: off")
	case gate.Open():
		s.Log.Warn("no login is required on this machine: every program and person on it can do everything", "address", at.String(),
			"hint", "freshet user add NAME --role admin asks for a password from then on")
	case !gate.HasUsers() && s.settings.API.OIDC.Issuer != "":
		if !s.settings.API.OIDC.Roles.Admits() {
			return freshet.WithHint(errors.New("there are no users, and nobody can become an admin by logging in at "+s.settings.API.OIDC.Issuer),
				"name the admins in api.oidc.admins, or add one with "+s.userAdd())
		}
		s.Log.Info("everybody has to log in at the provider", "address", at.String(), "provider", s.settings.API.OIDC.Issuer)
	case !gate.HasUsers():
		return freshet.WithHint(errors.New("other machines can reach "+at.String()+", and there is no user who could log in"),
			"set a password with FRESHET_ADMIN_PASSWORD or --admin-password-file, or add a user with "+s.userAdd()+"; or listen on 127.0.0.1")
	case !loopback && !s.settings.UsesTLS():
		s.Log.Info("other machines can reach the API; everybody has to log in", "address", at.String(),
			"hint", "passwords cross the network unencrypted unless a proxy with TLS stands in front")
	}
	return nil
}

// userAdd returns the command that adds an admin while the daemon is stopped.
func (s *service) userAdd() string {
	if store := s.settings.ShownStore(); store != "" {
		return "freshet user add NAME --role admin --store " + store
	}
	return "freshet user add NAME --role admin"
}

// maxAnswer is the largest accepted response of a provider.
const maxAnswer = 1 << 20

// provider returns the OpenID provider, or nil. Its address is a setting of the operator and may
// therefore be one that polls must not reach.
func (s *service) provider() *openid.Provider {
	set := s.settings.API.OIDC
	if set.Issuer == "" {
		return nil
	}
	out := s.settings.Fetch.Named(10*time.Second, maxAnswer)
	cfg := openid.Config{
		Settings: set, Redirect: strings.TrimSuffix(s.settings.API.URL, "/") + api.CallbackPath, Now: s.Now,
		Reach: func(ctx context.Context) context.Context { return oidc.ClientContext(ctx, out) },
	}
	if set.Secret != "" {
		vault := fetchauth.Secrets{Env: os.Getenv, Vault: secrets.Open(s.settings.SecretDir())}
		host := ""
		if u, err := url.Parse(set.Issuer); err == nil {
			host = u.Hostname()
		}
		cfg.ClientSecret = func() (string, error) { // read each time, to notice a new one
			return set.Secret.Expand(func(r profile.Reference) (string, error) { return vault.Look(r, host, false) })
		}
	}
	return openid.New(cfg)
}
