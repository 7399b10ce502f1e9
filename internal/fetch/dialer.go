package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
)

// Dialer returns a function that opens connections for protocols other than HTTP, by the
// same rules: addresses that the configuration does not open are refused, whatever the
// name of the server resolves to. The ports are those that the protocol is at home on;
// they may be connected to besides those of the configuration.
func (c Config) Dialer(ports ...uint16) func(ctx context.Context, network, address string) (net.Conn, error) {
	c = c.withDefaults()
	c.Ports = append(slices.Clone(c.Ports), ports...)
	return newDialer(c).dial
}

// TLS returns how a connection of a Dialer is made secure: the server has to show a
// certificate for its name, of an authority that polls would believe.
func (c Config) TLS(server string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs, ServerName: server}
}
