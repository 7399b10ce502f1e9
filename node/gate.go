package node

import (
	"context"
	"errors"
	"fmt"
	"net"

	"freshet"
	"freshet/who"
)

// firstUser is the name of the user who is added at the first start.
const firstUser = "admin"

// openGate sees to it that nobody gets in who may not, before anybody is served. On an
// address that other machines reach there has to be somebody who can log in.
func (s *service) openGate(ctx context.Context, at net.Addr) (err error) {
	tcp, ok := at.(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	s.gate, err = who.New(ctx, who.Config{
		Store: s.node.Store, Mode: who.Mode(s.settings.Login), Loopback: loopback, Local: s.where.Token,
		Proxies: s.settings.Proxies, Public: s.settings.PublicURL, Keep: s.settings.Audit, Now: s.Now, Log: s.Log,
	})
	if err != nil {
		return fmt.Errorf("read the users: %w", err)
	}
	s.node.gate.Store(s.gate)
	if s.Password != "" {
		added, err := s.gate.First(ctx, firstUser, s.Password)
		if err != nil {
			return err
		}
		if added {
			s.Log.Info("added the first user", "name", firstUser, "role", freshet.Admin)
		}
	}
	switch {
	case s.gate.Mode == who.Off:
		s.Log.Warn("nobody has to log in: whoever reaches the API can do everything", "address", at.String(), "setting", "api.login: off")
	case s.gate.Open():
		s.Log.Warn("nobody on this machine has to log in: every program and person on it can do everything", "address", at.String(),
			"hint", "freshet user add NAME --role admin asks for a password from then on")
	case !s.gate.HasUsers():
		return freshet.WithHint(errors.New("other machines can reach "+at.String()+", and there is no user who could log in"),
			"set a password with FRESHET_ADMIN_PASSWORD or --admin-password-file, or add a user with freshet user add NAME --role admin; or listen on 127.0.0.1")
	case !loopback:
		s.Log.Info("other machines can reach the API; everybody has to log in", "address", at.String(),
			"hint", "passwords cross the network unencrypted unless a proxy with TLS stands in front")
	}
	return nil
}
